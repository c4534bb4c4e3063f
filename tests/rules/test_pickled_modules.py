"""RM418: modules that cannot be pickled with a function."""

from pathlib import Path
from textwrap import indent

import pytest
from click.testing import CliRunner

from raymigrate.base.findings import Kind
from raymigrate.cli import main
from tests.rules.scripts import Outcome, converted

SCRIPT = """
import functools
import ray
import ray.train
import torch
import torch.backends.cudnn as cudnn
import torch.distributed as dist
from ray.train.torch import TorchTrainer
from torch import backends


{definitions}


def train_func(config):
{body}


if __name__ == "__main__":
    TorchTrainer({function}).fit()
"""
TORCH = "    import torch  # Ray cannot pickle torch.backends with the function\n"


def sent(body: str, definitions: str = "", function: str = "train_func") -> Outcome:
    return converted(SCRIPT.format(body=indent(body, "    "), definitions=definitions, function=function))


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("torch.backends.cuda.matmul.allow_tf32 = True", "import torch"),
        ("if torch.backends.mps.is_available():\n    pass", "import torch"),
        ("cudnn.benchmark = True", "import torch.backends.cudnn as cudnn"),
        ("backends.cuda.matmul.allow_tf32 = True", "from torch import backends"),
        ("dist.barrier()\nprint(model.config)", "import torch.distributed as dist"),
        ("torch.distributed.barrier()\nprint(model.config)", "import torch"),
        ("[torch.backends.mps.is_available() for _ in range(2)]", "import torch"),
        ("import torch.backends.cudnn as cudnn\ntorch.manual_seed(1)", "import torch"),
        ("def inner():\n    return dist.get_rank()\nprint(inner(), model.config)", "import torch.distributed as dist"),
    ],
)
def test_the_function_imports_it_itself(body: str, line: str) -> None:
    after = sent(body).text
    assert f"def train_func(config):\n    {line}  # Ray cannot pickle torch." in after
    assert not converted(after).findings


def test_an_import_of_its_own_may_need_another_one() -> None:
    """`import torch.backends.cudnn as cudnn` has the names by which a global torch takes torch.backends along."""
    after = sent("cudnn.benchmark = True\ntorch.manual_seed(1)").text
    assert f"def train_func(config):\n{TORCH}    import torch.backends.cudnn as cudnn  # Ray" in after


@pytest.mark.parametrize(
    "body",
    [
        "torch.cuda.empty_cache()",
        "import torch\ntorch.backends.cuda.matmul.allow_tf32 = True",
        "dist.barrier()\nconfig['backends']",
        "def inner():\n    torch.backends.cudnn.benchmark = True\ninner()",  # which is not looked at by itself
        "model.config",
    ],
)
def test_what_can_be_pickled_stays(body: str) -> None:
    assert not sent(body).findings


HELPER = "def seed():\n    torch.backends.cudnn.deterministic = True"
FACTORY = (
    "def make_loop(old=None):\n    def loop(config):\n        torch.backends.cudnn.benchmark = True\n    return loop"
)
OPTIONAL = "try:\n    import torch\nexcept ImportError:\n    torch = None\n\n\n"
CLASS = "class Job:\n    def run(self, config):\n        torch.backends.cudnn.benchmark = True"


@pytest.mark.parametrize(
    ("definitions", "body", "function"),
    [
        (HELPER, "seed()", "train_func"),
        (HELPER, "apply(seed)", "functools.partial(train_func)"),
        (CLASS, "Job().run(config)", "train_func"),
        (CLASS, "pass", "Job().run"),
        ("@ray.remote\n" + CLASS, "pass", "train_func"),
        ("@ray.remote(num_gpus=1)\n" + HELPER, "pass", "train_func"),
        (HELPER + "\n\n\nray.data.range(3).map(seed)", "pass", "train_func"),
        (HELPER + "\n\n\nHOOKS = {'seed': seed}", "HOOKS['seed']()", "train_func"),
        (HELPER + "\n\n\nseed_once = functools.partial(seed)", "seed_once()", "train_func"),
        (HELPER + "\n\n\nagain = seed", "again()", "train_func"),
        (CLASS + "\n\n\nJOB = Job()", "JOB.run(config)", "train_func"),
        (CLASS + "\n\n\nray.data.range(3).map_batches(Job, concurrency=1)", "pass", "train_func"),
        (FACTORY, "pass", "make_loop()"),
        (FACTORY + "\n\n\n@make_loop\ndef prepare():\n    pass", "prepare()", "train_func"),
        (OPTIONAL + HELPER, "seed()", "train_func"),
        ("class Callback:\n    def on_save(self):\n        seed()\n\n\n" + HELPER, "Callback()", "train_func"),
    ],
)
def test_so_does_every_function_that_goes_with_it(definitions: str, body: str, function: str) -> None:
    outcome = sent(body, definitions, function)
    assert TORCH.strip() in outcome.text
    assert [code for code, _, _ in outcome.findings] == ["RM418"]


def test_the_driver_keeps_its_imports() -> None:
    definitions = f"{HELPER}\n\n\nseed()\ntorch.backends.cuda.matmul.allow_tf32 = True"
    assert not sent("pass", definitions).findings


@pytest.mark.parametrize(
    ("definitions", "body", "line"),
    [
        ("ray.data.range(3).map(lambda row: {'x': torch.backends.mps.is_available()})", "pass", 11),
        ("CUDNN = torch.backends.cudnn", "CUDNN.benchmark = True", 15),
        ("def seed(module=torch.backends.cudnn):\n    module.benchmark = True", "seed()", 11),
        ("", "global torch\ntorch.backends.cudnn.benchmark = True", 16),
    ],
)
def test_where_there_is_no_place_for_an_import_it_is_told(definitions: str, body: str, line: int) -> None:
    outcome = sent(body, definitions)
    assert outcome.lines("RM418", Kind.MANUAL) == [line]
    assert len(outcome.findings) == 1


def test_what_a_function_is_only_given_is_not_sent_with_its_maker() -> None:
    assert not sent("print(ROWS)", f"{HELPER}\n\n\ndef rows(a):\n    seed()\n\n\nROWS = rows(1)").findings


def test_a_body_on_the_line_of_its_head_goes_below_it() -> None:
    after = sent("seed()", "def seed(): torch.backends.cudnn.benchmark = True  # as before").text
    assert f"def seed():\n{TORCH}\n    torch.backends.cudnn.benchmark = True  # as before\n" in after


def test_the_function_of_a_preprocessor_goes_to_tasks() -> None:
    script = f"""
import ray
import torch
from ray.data.preprocessors import BatchMapper
from ray.train.huggingface import TransformersTrainer


{HELPER.replace("seed()", "seed(batch)")}


TransformersTrainer(
    init, preprocessor=BatchMapper(seed, batch_format="numpy"), datasets={{"train": ray.data.range(3)}}
)
"""
    after = converted(script).text
    assert f"def seed(batch):\n{TORCH}" in after


PLAIN = """
import torch
from transformers import Trainer, TrainingArguments


def set_seed(seed):
    torch.backends.cudnn.deterministic = True


def main():
    torch.backends.cuda.matmul.allow_tf32 = True
    set_seed(1)
    trainer = Trainer(model=make_model(), args=TrainingArguments("out"), train_dataset=make_rows())
    trainer.train()


if __name__ == "__main__":
    main()
"""


def test_a_plain_script_gets_them_where_it_moves_to_workers() -> None:
    after = converted(PLAIN, to_ray=True, workers=2).text
    assert f"def set_seed(seed):\n{TORCH}\n    torch.backends.cudnn" in after
    assert f"def train_func():\n{TORCH}\n    torch.backends.cuda" in after, after
    assert not converted(PLAIN).findings


LOGGED = """
import sys
from loguru import logger
from transformers import Trainer, TrainingArguments
{first}

def report(trainer):
    logger.info(trainer.state.log_history)


def main():
    trainer = Trainer(model=make_model(), args=TrainingArguments("out"), train_dataset=make_rows())
    trainer.train()
    logger.info("trained")
    report(trainer)


if __name__ == "__main__":
    {last}
    main()
"""
OWN = "from loguru import logger  # Ray cannot pickle loguru.logger with the function\n"


@pytest.mark.parametrize(
    ("first", "last", "held"),
    [
        ('logger.add("a.log")', "pass", True),
        ("", 'logger.add(sink=f"{sys.argv[1]}/a.log", rotation="5 MB")', True),
        ("logger.remove()\nlogger.add(sys.stderr, level='INFO')", "pass", False),
        ("logger.add(lambda line: print(line))", "pass", False),
        ("def start():\n    logger.add('a.log')\n", "start()", True),
        ("def start():\n    logger.add(sys.stdout)\n", "start()", False),
        ("def start():\n    logger.add('a.log')\n", "pass", False),
        ("seen = set()\nseen.add('a.log')", "pass", False),
        ("import loguru\n\nloguru.logger.add('a.log')", "pass", True),
        ("", "pass", False),
    ],
)
def test_a_logger_that_holds_a_file_is_imported_where_it_is_used(first: str, last: str, held: bool) -> None:
    outcome = converted(LOGGED.format(first=first, last=last), to_ray=True, workers=2)
    compile(outcome.text, "after", "exec")
    assert (f"def report(trainer):\n    {OWN}" in outcome.text) is held
    assert (f"def train_func():\n    {OWN}" in outcome.text) is held
    assert any("a PicklingError, as the driver lets it write to a file" in m for m in outcome.messages) is held
    assert converted(outcome.text, to_ray=True, workers=2).text == outcome.text


def test_a_logger_whose_file_the_workers_open_themselves_is_sent() -> None:
    script = LOGGED.format(first="", last="pass").replace("def main():\n", 'def main():\n    logger.add("a.log")\n')
    text = converted(script, to_ray=True, workers=2).text
    assert text.index("def train_func():") < text.index("logger.add(") < text.index("def main():")
    assert OWN not in text


@pytest.mark.parametrize(
    ("helpers", "first", "held"),
    [
        ("def start(name):\n    logger.add(name)\n", "from helpers import start\n\nstart('a.log')", True),
        ("def start(name):\n    logger.add(name)\n", "import helpers\n\nhelpers.start('a.log')", True),
        (
            "def start(name):\n    one(name)\n\n\ndef one(n):\n    logger.add(n)\n",
            "from helpers import *\n\nstart(1)",
            True,
        ),
        ("logger.add('a.log')\n", "import helpers", True),
        ("def start(name):\n    logger.add(name)\n", "from helpers import start", False),
        ("def start():\n    logger.add(sys.stderr)\n", "from helpers import start\n\nstart()", False),
    ],
)
def test_a_file_that_another_module_gives_the_logger_is_seen(
    tmp_path: Path, helpers: str, first: str, held: bool
) -> None:
    (tmp_path / "helpers.py").write_text(f"import sys\nfrom loguru import logger\n\n\n{helpers}")
    (tmp_path / "train.py").write_text(LOGGED.format(first=first, last="pass"))
    (tmp_path / "pyproject.toml").write_text("")
    CliRunner().invoke(main, ["--to-ray", "--gpu", "--workers", "2", str(tmp_path)])
    text = (tmp_path / "train.py").read_text()
    assert "def train_func():" in text
    assert (f"def train_func():\n    {OWN}" in text) is held


@pytest.mark.parametrize(
    ("added", "first", "held"),
    [
        ('logger.add("a.log")', "", True),
        ("logger.remove()", "", False),
        ("logger.add(sys.stderr)", "", False),
        ("logger.remove()", 'logger.add("a.log")', True),
    ],
)
def test_a_logger_that_another_module_hands_on_is_imported_from_there(
    tmp_path: Path, added: str, first: str, held: bool
) -> None:
    (tmp_path / "helpers.py").write_text(f"import sys\nfrom loguru import logger\n\n{added}\n")
    script = LOGGED.format(first=first, last="pass").replace("from loguru import", "from helpers import")
    (tmp_path / "train.py").write_text(script)
    (tmp_path / "pyproject.toml").write_text("")
    CliRunner().invoke(main, ["--to-ray", "--gpu", "--workers", "2", str(tmp_path)])
    text = (tmp_path / "train.py").read_text()
    assert "def train_func():" in text
    own = "    from helpers import logger  # Ray cannot pickle loguru.logger with the function"
    assert (f"def report(trainer):\n{own}" in text and f"def train_func():\n{own}" in text) is held

"""RM831, and other settings of its process that a script makes: what of them is in force on Ray's workers."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from raymigrate.cli import main
from tests.rules.scripts import Outcome, converted

SCRIPT = """\
import logging
from logging import FileHandler, basicConfig

from job import model, rows
{imports}
from transformers import Trainer, TrainingArguments

{set_up}
trainer = Trainer(model=model, args=TrainingArguments("out"), train_dataset=rows)
trainer.train()
"""
HELPERS = """\
import logging
import random

import numpy as np
import torch
import transformers

logger = transformers.utils.logging.get_logger(__name__)


def draw(seed):
    np.random.seed(seed)


def seed_everything(seed):
    draw(seed)


def precision():
    torch.backends.cuda.matmul.allow_tf32 = True


def logs():
    logging.basicConfig(level=20)


def show(seed):
    transformers.utils.logging.get_logger("show").info(seed)
"""


def with_helpers(folder: Path, imports: str, set_up: str) -> tuple[str, str]:
    """The training function of a script with helpers beside it, and what is said of the script."""
    (folder / "pyproject.toml").write_text("")
    (folder / "helpers.py").write_text(HELPERS)
    script = folder / "train.py"
    script.write_text(SCRIPT.format(imports=imports, set_up=set_up))
    shown = CliRunner().invoke(main, ["--to-ray", "--workers", "2", "--gpu", "--isolated", str(folder)]).output
    return script.read_text().partition("def train_func")[2], shown


@pytest.mark.parametrize(
    ("imports", "set_up"),
    [
        ("from helpers import seed_everything", "seed_everything(7)"),
        ("from helpers import draw as seed", "seed(7)"),
        ("import helpers", "helpers.precision()"),
        ("import helpers", "if model:\n    helpers.seed_everything(7)"),
        ("from helpers import seed_everything", "def begin():\n    seed_everything(7)\n\n\nbegin()"),
    ],
)
def test_what_another_file_sets_is_set_on_the_workers(tmp_path: Path, imports: str, set_up: str) -> None:
    last = set_up.rpartition("\n")[2].strip()
    assert last in with_helpers(tmp_path, imports, set_up)[0]


def test_another_function_of_that_file_stays(tmp_path: Path) -> None:
    trains, _ = with_helpers(tmp_path, "from helpers import show", "show(7)")
    assert trains
    assert "show(7)" not in trains


def test_logging_that_another_file_sets_up_is_told(tmp_path: Path) -> None:
    trains, shown = with_helpers(tmp_path, "from helpers import logs", "logs()")
    assert "    logs()\n" in trains
    assert "RM831 note: logging.basicConfig() in " in shown


def with_logging(set_up: str, **options: object) -> Outcome:
    return converted(SCRIPT.format(imports="", set_up=set_up), to_ray=True, gpu=True, **options)


@pytest.mark.parametrize(
    ("set_up", "after"),
    [
        ("logging.basicConfig()", "logging.basicConfig(force=True)"),
        ("basicConfig(level=10)", "basicConfig(level=10, force=True)"),
        ("def begin():\n    basicConfig()\n\n\nbegin()", "basicConfig(force=True)"),
        ("logging.basicConfig(level=10, force=False)", "logging.basicConfig(level=10, force=False)"),
    ],
)
def test_basic_config_takes_effect_on_the_workers(set_up: str, after: str) -> None:
    outcome = with_logging(set_up, workers=2)
    assert after in outcome.text
    assert with_again(outcome.text) == outcome.text


def with_again(text: str) -> str:
    return converted(text, to_ray=True, gpu=True, workers=2).text


def test_basic_config_whose_arguments_are_not_seen_is_told() -> None:
    outcome = with_logging("from job import options\nlogging.basicConfig(**options)", workers=2)
    assert "force=True" not in outcome.text
    assert [message for message in outcome.messages if "unless it is given force=True" in message]


@pytest.mark.parametrize(
    ("set_up", "workers", "told"),
    [
        ('basicConfig(filename="a.log", filemode="w")', 2, True),
        ('basicConfig(filename="a.log", filemode="w")', 1, False),
        ('basicConfig(filename="a.log")', 2, False),
        ('basicConfig(handlers=[FileHandler("a.log", mode="w+")])', 2, True),
        ('basicConfig(handlers=[FileHandler("a.log", mode=os.environ["MODE"])])', 2, False),
        ('if int(os.environ["RANK"]) == 0:\n    basicConfig(filename="a.log", filemode="w")', 2, False),
    ],
)
def test_a_log_file_that_each_worker_opens_anew_is_told(set_up: str, workers: int, told: bool) -> None:
    messages = with_logging(f"import os\n{set_up}", workers=workers).messages
    assert any("opens this log file anew" in message for message in messages) is told


@pytest.mark.parametrize(
    ("set_up", "told"),
    [
        ("logger = logging.getLogger('a')\nlogger.setLevel(10)\n\n\ndef show():\n    logger.info(1)", True),
        ("log = logging.getLogger()\nlog.addHandler(FileHandler('a'))\n\n\ndef show():\n    log.info(1)", True),
        ("logging.getLogger('transformers').setLevel(40)", True),
        ("logger = logging.getLogger('a')\nlogger.setLevel(10)", False),
        ("logger = logging.getLogger('a')\nlogger.info(rows)", False),
        ("handler = FileHandler('a.log')\nhandler.setLevel(10)", False),
        ("from loguru import logger\nlogger.add('a')\n\n\ndef show():\n    logger.info(1)", True),
        ("import loguru\nloguru.logger.remove()\n\n\ndef show():\n    loguru.logger.info(1)", True),
        ("from loguru import logger\nlogger.add('a')", False),
        ("from loguru import logger\nlogger.remove()\n\n\ndef show():\n    logger.info(1)", False),
        ("import sys\nfrom loguru import logger\nlogger.add(sys.stderr)\n\n\ndef show():\n    logger.info(1)", False),
        ("from loguru import logger\nlogger.info('a')\n\n\ndef show():\n    logger.info(1)", False),
    ],
)
def test_a_logger_that_the_driver_alone_sets_up_is_told(set_up: str, told: bool) -> None:
    messages = with_logging(set_up, workers=2).messages
    assert any("is set up here for the driver alone" in message for message in messages) is told


@pytest.mark.parametrize(
    "setting",
    [
        "from tqdm.auto import tqdm\ntqdm.pandas()",
        "import tqdm as bar\nbar.tqdm.pandas(desc='rows')",
        "import sys\nsys.setrecursionlimit(9000)",
        "logging.disable(30)",
        "import logging.config\nlogging.config.fileConfig('/logging.ini')",
        "import nltk\nnltk.data.path.append('/data')",
    ],
)
def test_settings_of_other_libraries_are_made_on_the_workers(setting: str) -> None:
    trains = with_logging(setting, workers=2).text.partition("def train_func")[2]
    assert f"\n    {setting.rpartition(chr(10))[2]}\n" in trains


@pytest.mark.parametrize(
    ("added", "told"),
    [
        ('sys.path.append("../common")', True),
        ('sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))', True),
        ('sys.path += ["lib"]', True),
        ("sys.path = [os.environ['LIB'], *sys.path]", True),
        ('ROOT = os.path.abspath("..")\nif ROOT not in sys.path:\n    sys.path.append(ROOT)', True),
        ('sys.path.append(".")', False),
        ("sys.path.append(os.getcwd())", False),
        ("HERE = os.path.dirname(os.path.abspath(__file__))\nsys.path.insert(0, HERE)", False),
        ("sys.path.append(str(pathlib.Path(__file__).resolve().parent))", False),
        ("print(sys.path)", False),
    ],
)
def test_a_folder_that_only_the_driver_imports_from_is_told(added: str, told: bool) -> None:
    messages = with_logging(f"import os\nimport pathlib\nimport sys\n{added}", workers=1).messages
    assert any(message.startswith("sys.path is changed") for message in messages) is told


@pytest.mark.parametrize(
    ("end", "told"),
    [
        ("sys.exit()", True),
        ("sys.exit(0)", True),
        ("sys.exit(trainer.evaluate())", True),
        ("raise SystemExit", True),
        ("raise SystemExit(0)", True),
        ("exit()", True),
        ("sys.exit(1)", False),
        ('raise SystemExit("no data")', False),
        ("try:\n        trainer.evaluate()\n    except OSError:\n        sys.exit()", False),
        ("raise ValueError", False),
    ],
)
def test_an_end_of_the_process_is_a_failure_of_the_worker(end: str, told: bool) -> None:
    trains = f"\n    if not model:\n        pass\n    {end}\n    print(trainer.evaluate())\n"
    script = SCRIPT.format(imports="import sys", set_up="").replace(
        "\n\n\ntrainer = ", "\n\n\ndef main():\n    trainer = "
    )
    script = script.replace("\ntrainer.train()", f"\n    trainer.train(){trains}\n\nmain()")
    messages = converted(script, to_ray=True, gpu=True, workers=2).messages
    assert any(message.startswith("A worker takes SystemExit") for message in messages) is told


SAVES = "lambda *_: trainer.save_model('/x')"


@pytest.mark.parametrize(
    ("sets", "told"),
    [
        (f"signal.signal(signal.SIGTERM, {SAVES})", True),
        (f"from signal import SIGINT, signal as on\n    on(SIGINT, {SAVES})", True),
        (f"for number in (2, 15):\n        signal.signal(number, {SAVES})", True),
        ("install(trainer)", True),
        (f"try:\n        signal.signal(2, {SAVES})\n    except ValueError:\n        pass", False),
        (
            f"if threading.current_thread() is threading.main_thread():\n        signal.signal(2, {SAVES})",
            False,
        ),
        ("signal.alarm(60)", False),
    ],
)
def test_a_worker_trains_in_a_thread_that_can_set_no_handler_of_signals(sets: str, told: bool) -> None:
    helper = "def install(trainer):\n    signal.signal(15, lambda *_: trainer.save_model('/x'))\n\n"
    script = SCRIPT.format(imports="import signal\nimport threading", set_up=helper).replace(
        "\n\n\ntrainer = ", "\n\n\ndef main():\n    trainer = "
    )
    script = script.replace("\ntrainer.train()", f"\n    {sets}\n    trainer.train()\n\n\nmain()")
    messages = converted(script, to_ray=True, gpu=True, workers=2).messages
    assert any("signal.signal() raises a ValueError" in message for message in messages) is told


@pytest.mark.parametrize(("call", "told"), [("watch(trainer)", True), ("print(watch)", False)])
def test_a_function_of_another_file_sets_a_handler(tmp_path: Path, call: str, told: bool) -> None:
    (tmp_path / "helpers.py").write_text(f"import signal\n\n\ndef watch(trainer):\n    signal.signal(15, {SAVES})\n")
    script = SCRIPT.format(imports="from helpers import watch", set_up="").replace(
        "\n\n\ntrainer = ", "\n\n\ndef main():\n    trainer = "
    )
    (tmp_path / "train.py").write_text(
        script.replace("\ntrainer.train()", f"\n    {call}\n    trainer.train()\n\n\nmain()")
    )
    (tmp_path / "pyproject.toml").write_text("")
    result = CliRunner().invoke(main, ["--to-ray", "--gpu", "--check", "--verbose", str(tmp_path)])
    assert ("signal.signal() raises a ValueError" in result.output) is told
    assert "RM801 would convert" in result.output


def test_a_handler_that_the_driver_sets_stays_with_it() -> None:
    script = SCRIPT.format(imports="import signal", set_up="signal.signal(signal.SIGINT, signal.SIG_IGN)")
    outcome = converted(script, to_ray=True, gpu=True, workers=2)
    assert "\nsignal.signal(signal.SIGINT, signal.SIG_IGN)" in outcome.text
    assert not any("ValueError" in message for message in outcome.messages)


@pytest.mark.parametrize("last", ["sys.exit(main())", "raise SystemExit(main())", "exit(main())", "main()"])
def test_the_end_of_the_script_stays_with_the_driver(last: str) -> None:
    script = SCRIPT.format(imports="import sys", set_up="").replace(
        "\n\n\ntrainer = ", "\n\n\ndef main():\n    trainer = "
    )
    script = script.replace("\ntrainer.train()", f"\n    trainer.train()\n    return 0\n\n\n{last}")
    outcome = converted(script, to_ray=True, gpu=True, workers=2)
    assert outcome.text.endswith(f"    trainer.fit()\n    return 0\n\n\n{last}\n")
    assert not any("SystemExit" in message for message in outcome.messages)


@pytest.mark.parametrize(
    ("last", "returned", "end"),
    [
        ("sys.exit(main(sys.argv[1:]))", "main(sys.argv[1:])", "sys.exit(result.return_value)"),
        ("raise SystemExit(main(sys.argv[1:]))", "main(sys.argv[1:])", "raise SystemExit(result.return_value)"),
        ("exit(Tuner().run())", "Tuner().run()", "exit(result.return_value)"),
        (
            'if __name__ == "__main__":\n    sys.exit(int(Tuner().run()))',
            "int(Tuner().run())",
            "    sys.exit(result.return_value)",
        ),
    ],
)
def test_the_driver_ends_with_the_code_that_the_training_gives(last: str, returned: str, end: str) -> None:
    body = "\n    trainer = Trainer(model(), TrainingArguments('/out'))\n    trainer.train()\n    return 0\n"
    function = f"def main(argv):{body}\n\n"
    tuner = "class Tuner:\n    def run(self):" + body.replace("\n    ", "\n        ") + "\n\n"
    definition = tuner if "Tuner" in last else function
    script = f"import sys\nfrom transformers import Trainer, TrainingArguments\n\n\n{definition}{last}\n"
    outcome = converted(script, to_ray=True, gpu=True, workers=2)
    assert f"\n    return {returned}\n" in outcome.text
    assert outcome.text.endswith(f"result = trainer.fit()\n{end}\n")
    assert not any("SystemExit" in message for message in outcome.messages)
    assert any("is result.return_value on the driver" in message for message in outcome.messages)


def test_the_driver_ends_with_the_code_of_an_accelerate_script() -> None:
    body = "    accelerator = Accelerator()\n    model, optimizer, loader = accelerator.prepare(*make(argv))\n"
    loop = (
        "    for batch in loader:\n        accelerator.backward(model(batch))\n        optimizer.step()\n    return 3\n"
    )
    script = f"import sys\nfrom accelerate import Accelerator\n\n\ndef main(argv):\n{body}{loop}\n\n"
    outcome = converted(f"{script}sys.exit(main(sys.argv[1:]))\n", to_ray=True, gpu=True, workers=2)
    assert "\n    return main(sys.argv[1:])\n" in outcome.text
    assert outcome.text.endswith("result = trainer.fit()\nsys.exit(result.return_value)\n")
    assert not any("SystemExit" in message for message in outcome.messages)


LOGGER = "basicConfig(level=20)\nlogger = logging.getLogger(__name__)\nargs = TrainingArguments('/out')"
UNSEEN = "This line is not shown any more"


@pytest.mark.parametrize(
    ("set_up", "line", "told"),
    [
        (LOGGER, "logger.info(metrics)", True),
        (LOGGER, "print(metrics)\nlogger.info(metrics)", True),
        (f"log = logging.getLogger('job')\n{LOGGER}", "log.info(metrics)", True),
        (LOGGER, "logger.warning(metrics)", False),
        (LOGGER, "print(metrics)", False),
        (f"{LOGGER}\nlogger.addHandler(logging.StreamHandler())", "logger.info(metrics)", False),
        ("logger = logging.getLogger(__name__)", "logger.info(metrics)", False),
    ],
)
def test_a_line_of_the_driver_that_nobody_sees(set_up: str, line: str, *, told: bool) -> None:
    text = f"{SCRIPT.format(imports='', set_up=set_up)}metrics = trainer.evaluate()\n{line}\n"
    outcome = converted(text, to_ray=True, workers=2)
    assert ("metrics = result.return_value" in outcome.text) or not told
    assert any(message.startswith(UNSEEN) for message in outcome.messages) is told


FIND = "try:\n    nltk.data.find('punkt')\nexcept LookupError:\n    nltk.download('punkt')"
USE = "def compute(p):\n    return nltk.sent_tokenize(p)\n\ndata = rows.map(compute)"


@pytest.mark.parametrize(
    ("imports", "set_up", "told"),
    [
        ("import nltk", f"nltk.download('punkt')\n{USE}", True),
        ("import nltk as toolkit", f"toolkit.download('punkt')\n{USE}".replace("nltk.sent", "toolkit.sent"), True),
        ("import nltk\nfrom nltk import download", f"download('punkt')\n{USE}", True),
        ("import nltk", f"{FIND}\n{USE}", True),
        ("import nltk", "nltk.download('punkt')", False),
        ("import nltk", USE.replace("    return", "    nltk.download('punkt')\n    return"), False),
        ("from job import nltk", f"nltk.download('punkt')\n{USE}", False),
    ],
)
def test_a_download_of_the_driver_that_workers_need(imports: str, set_up: str, *, told: bool) -> None:
    outcome = converted(SCRIPT.format(imports=imports, set_up=set_up), to_ray=True, workers=2)
    assert "TorchTrainer(" in outcome.text
    assert any("downloads for the machine of the driver alone" in message for message in outcome.messages) is told


CONFIGURED = """\
import logging
import logging.config

from job import model, rows, settings
from transformers import Trainer, TrainingArguments

{before}
{set_up}
{behind}
trainer = Trainer(model=model, args=TrainingArguments("out"), train_dataset=rows)
logger.info("training")
trainer.train()
{end}
"""
MADE = 'logger = logging.getLogger("job")'


@pytest.mark.parametrize(
    ("set_up", "before", "behind", "end", "told"),
    [
        ('logging.config.fileConfig("logging.conf")', "", MADE, 'logger.info("all done")', True),
        ("logging.config.dictConfig(settings)", "", MADE, 'logger.info("all done")', True),
        (
            'logging.config.fileConfig("logging.conf", disable_existing_loggers=False)',
            "",
            MADE,
            'logger.info("all done")',
            False,
        ),
        (
            'logging.config.dictConfig({"version": 1, "disable_existing_loggers": False})',
            "",
            MADE,
            'logger.info("all done")',
            False,
        ),
        ('logging.config.fileConfig("logging.conf", None, False)', "", MADE, "", False),
        ('logging.config.fileConfig("logging.conf", disable_existing_loggers=True)', "", MADE, "", True),
        ("logging.config.dictConfig(CONFIG)", 'CONFIG = {"version": 1}', MADE, "", True),
        ("logging.config.dictConfig(CONFIG)", 'CONFIG = {"disable_existing_loggers": True}', MADE, "", True),
        ("logging.config.dictConfig(CONFIG)", 'CONFIG = {"disable_existing_loggers": False}', MADE, "", False),
        ("logging.config.dictConfig(CONFIG)", 'CONFIG = {"loggers": {"job": {"level": "INFO"}}}', MADE, "", False),
        (
            "logging.config.dictConfig(CONFIG)",
            'CONFIG = {"loggers": {"job": {"level": "INFO"}}}',
            MADE.replace('"job"', '"job.steps"'),
            "",
            False,
        ),
        ("logging.config.dictConfig(CONFIG)", 'CONFIG = {"loggers": {"jo": {"level": "INFO"}}}', MADE, "", True),
        ('logging.config.fileConfig("logging.conf")', MADE, "", "", False),  # the script disables it itself
    ],
)
def test_a_logger_that_what_sets_up_logging_disables_on_the_workers(
    set_up: str, before: str, behind: str, end: str, *, told: bool
) -> None:
    code = CONFIGURED.format(before=before, set_up=set_up, behind=behind, end=end)
    outcome = converted(code, to_ray=True)
    assert "trainer = TorchTrainer(" in outcome.text, outcome.messages
    assert any("`logger` goes to the workers" in message for message in outcome.messages) is told
    unseen = any("This line is not shown any more: logging.config." in message for message in outcome.messages)
    assert unseen is bool(end)

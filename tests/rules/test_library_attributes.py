"""RM723: attributes of objects that come from somewhere else."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from raymigrate.base.findings import Kind
from raymigrate.cli import main
from tests.rules.scripts import converted

HEAD = """
from dataclasses import dataclass
from ray.air.config import ScalingConfig
from ray.train.huggingface import TransformersTrainer
from transformers import HfArgumentParser, Trainer, TrainingArguments
from job import ds, given_elsewhere, make, Model

"""
JOB = """
{before}

def build(train_dataset, eval_dataset=None, {config}):
    {inside}
    args = TrainingArguments("out", evaluation_strategy=given.evaluation_strategy, no_cuda=given.no_cuda)
    return Trainer(model=make(), args=args, train_dataset=train_dataset)

TransformersTrainer(
    build,
    trainer_init_config={{"args": {given}}},
    scaling_config=ScalingConfig(num_workers=2, use_gpu=True),
    datasets={{"train": ds}},
)
"""
MADE = 'TrainingArguments("out", evaluation_strategy="epoch")'
PARSED = "model_args, parsed = HfArgumentParser((Model, TrainingArguments)).parse_args_into_dataclasses()\n"
NAMESPACE = "import argparse\n\noptions = argparse.Namespace(evaluation_strategy='no', no_cuda=True)\n"
PARSER = """
import argparse

parser = argparse.ArgumentParser()
parser.add_argument("--evaluation_strategy", default="no")
parser.add_argument("--no_cuda", action="store_true")
options = parser.parse_args()
"""
KNOWN = PARSER.replace("options = parser.parse_args()", "options, rest = parser.parse_known_args()")
FIRST = PARSER.replace("options = parser.parse_args()", "options = parser.parse_known_args()[0]")
DATACLASS = """
@dataclass
class Options:
    evaluation_strategy: str = "no"
    no_cuda: bool = False
"""


def job(given: str, before: str = "", inside: str = 'given = config["args"]', config: str = "**config") -> str:
    return HEAD + JOB.format(given=given, before=before, inside=inside, config=config)


@pytest.mark.parametrize(
    "script",
    [
        job(MADE),
        job("made", before=f"made = {MADE}"),
        job("make_args()", before=f"def make_args():\n    return {MADE}\n"),
        job(MADE, inside="given = args", config="*, args, **config"),
        job(MADE, inside='given = config.get("args")'),
        job("parsed", before=PARSED),
    ],
    ids=["config", "name", "function", "parameter", "get", "HfArgumentParser"],
)
def test_arguments_that_are_handed_over_are_read_by_their_new_names(script: str) -> None:
    outcome = converted(script)
    assert "eval_strategy=given.eval_strategy" in outcome.text
    assert "given.use_cpu" in outcome.text and "no_cuda" not in outcome.text
    assert not outcome.lines("RM723", Kind.MANUAL)


@pytest.mark.parametrize("given", ["given_elsewhere", "given_elsewhere.args"])
def test_what_may_be_arguments_is_told(given: str) -> None:
    outcome = converted(job(given))
    assert len(outcome.lines("RM723", Kind.MANUAL)) == 2
    assert "eval_strategy=given.evaluation_strategy" in outcome.text


@pytest.mark.parametrize(
    "script",
    [
        job("options", before=PARSER),
        job("options", before=KNOWN),
        job("options", before=FIRST),
        job("options", before=NAMESPACE),
        job("Options()", before=DATACLASS),
    ],
    ids=["argparse", "known", "first", "Namespace", "dataclass"],
)
def test_what_is_something_else_keeps_its_names(script: str) -> None:
    outcome = converted(script)
    assert "eval_strategy=given.evaluation_strategy" in outcome.text
    assert not outcome.lines("RM723", Kind.MANUAL) and not outcome.lines("RM723", Kind.CONVERTED)


OF_CONFIGURATION = """
import hydra
from omegaconf import DictConfig, OmegaConf

{0}
    return TrainingArguments("o", evaluation_strategy=cfg.train.evaluation_strategy)


made = {1}
"""


@pytest.mark.parametrize(
    ("head", "is_told"),
    [
        ("def arguments(given):\n    cfg = OmegaConf.create(given)", False),
        ("def arguments(cfg: DictConfig):", False),
        ("@hydra.main(config_name='c')\ndef arguments(cfg):", False),
        ("whole = OmegaConf.load('c.yaml')\n\n\ndef arguments():\n    cfg = whole.job", False),
        ("def arguments(cfg):", True),
    ],
    ids=["made", "declared", "hydra", "a part", "unknown"],
)
def test_what_is_read_out_of_a_configuration_is_no_arguments(head: str, *, is_told: bool) -> None:
    outcome = converted(job("made", before=OF_CONFIGURATION.format(head, MADE)))
    assert len(outcome.lines("RM723", Kind.MANUAL)) == is_told


EXTENDED = "from typing import Optional\n\n\n@dataclass\nclass More(TrainingArguments):\n    rows: int = 8\n"


@pytest.mark.parametrize("annotation", ["More", "Optional[More]", "More | None", "TrainingArguments"])
@pytest.mark.parametrize(
    "inside",
    [
        'given: {0} = config["args"]',
        "def read(given: {0}):\n        return given.evaluation_strategy\n    given = made",
    ],
    ids=["variable", "parameter"],
)
def test_an_annotation_says_that_it_is_arguments(annotation: str, inside: str) -> None:
    before = EXTENDED + "made = More('out')\n"
    outcome = converted(job("given_elsewhere", before=before, inside=inside.format(annotation)))
    assert ".evaluation_strategy" not in outcome.text
    assert not outcome.lines("RM723", Kind.MANUAL)


@pytest.mark.parametrize(
    ("imports", "annotation"),
    [
        ("import argparse", "argparse.Namespace"),
        ("from omegaconf import DictConfig", "DictConfig"),
        ("import pydantic\nclass Own(pydantic.BaseModel):\n    no_cuda: bool = True\n", "Own"),
    ],
)
def test_an_annotation_says_that_it_is_something_else(imports: str, annotation: str) -> None:
    outcome = converted(job("given_elsewhere", before=imports, inside=f'given: {annotation} = config["args"]'))
    assert not outcome.lines("RM723", Kind.MANUAL) and not outcome.lines("RM723", Kind.CONVERTED)


MODELS = """
from typing import Optional
from pydantic import BaseModel
from transformers import TrainingArguments


class Training(BaseModel):
    evaluation_strategy: str = "no"


class Own(TrainingArguments):
    evaluation_strategy = "no"


class Job(BaseModel):
    training: Optional[Training]
    own: Own
    library: TrainingArguments


class Base:
    def __init__(self, job: Job):
        self.job = job
"""
TUNING = """
from models import Base
from ray.air import session
from transformers import TrainingArguments


class Tuning(Base):
    def train(self):
        given = self.job.{field}
        session.report({{}})
        return TrainingArguments("out", evaluation_strategy=given.evaluation_strategy)
"""


@pytest.mark.parametrize(("field", "read"), [("training", "evaluation"), ("own", "evaluation"), ("library", "eval")])
def test_fields_of_classes_of_another_file_say_what_they_hold(tmp_path: Path, field: str, read: str) -> None:
    (tmp_path / "models.py").write_text(MODELS)
    script = tmp_path / "tuning.py"
    script.write_text(TUNING.format(field=field))
    outcome = CliRunner().invoke(main, ["--verbose", str(tmp_path)])
    assert f"eval_strategy=given.{read}_strategy" in script.read_text()
    assert "RM723 manual" not in outcome.stdout


@pytest.mark.parametrize(
    "reading",
    [
        'trainer_utils.IntervalStrategy("epoch").value',
        "trainer_utils.IntervalStrategy.EPOCH.name",
        'trainer_utils.SchedulerType("linear").value',
    ],
)
def test_an_enum_has_what_its_base_class_has(reading: str) -> None:
    imports = "from ray.air import session\nfrom transformers import trainer_utils\n\n"
    assert not converted(f"{imports}kind = {reading}\nsession.report({{}})\n").lines("RM723", Kind.MANUAL)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("pad = 8 if accelerator.use_fp16 else None", 'pad = 8 if accelerator.mixed_precision != "no" else None'),
        ("if accelerator.use_fp16:\n    pass", 'if accelerator.mixed_precision != "no":\n    pass'),
        ("half = accelerator.state.use_fp16", 'half = accelerator.state.mixed_precision != "no"'),
        ("half = accelerator.use_fp16", 'half = accelerator.mixed_precision != "no"'),
        ("print(accelerator.use_fp16)", 'print(accelerator.mixed_precision != "no")'),
        ("full = not accelerator.use_fp16", 'full = not (accelerator.mixed_precision != "no")'),
        ("both = accelerator.use_fp16 == other", 'both = (accelerator.mixed_precision != "no") == other'),
    ],
)
def test_parentheses_stand_only_where_they_are_needed(before: str, after: str) -> None:
    head = "import ray\nfrom accelerate import Accelerator\n\naccelerator = Accelerator()\n"
    assert converted(head + before).text == head + after


@pytest.mark.parametrize(
    "use",
    [
        'context = ray.init()\ncontext.address_info["node_id"], context.get("node_id"), context.items()',
        "ray.init().address_info",
        "def start():\n    return ray.init(num_cpus=2)\n\nstart().ray_commit",
        "from evaluate import evaluator\nevaluator('text-classification').compute(second_input_column='b')",
        "from transformers import pipeline\nwriter = pipeline('text-generation')\nwriter.XL_PREFIX",
    ],
    ids=["name", "call", "function", "argument", "pipeline"],
)
def test_what_a_library_declares_may_be_of_a_class_made_from_it(use: str) -> None:
    outcome = converted(f"import ray\n{use}\n")
    assert not outcome.lines("RM723", Kind.MANUAL) and not outcome.lines("RM693", Kind.MANUAL)


@pytest.mark.parametrize(
    "use",
    [
        "ray.init().node_ip_address",  # neither a RayContext nor a ClientContext has it
        "ray.data.range(3).aggregate_on",
        "from ray.client_builder import ClientContext\nClientContext('', '3', '2', 'c', 1, None).address_info",
    ],
    ids=["none of them", "dataset", "made here"],
)
def test_what_no_class_has_is_told(use: str) -> None:
    assert converted(f"import ray\n{use}\n").lines("RM723", Kind.MANUAL)


BASE = """
from transformers import Trainer


class Base(Trainer):
    level = 3

    def __init__(self, *args, words=None, **kwargs):
        super().__init__(*args, **kwargs)
        self.words = words
        {tokenizer}
"""
DERIVED = """
from base import Base


class Own(Base):
    def evaluate(self):
        return self.{name}
"""
JOB_OF_OWN = """
from derived import Own
from transformers import TrainingArguments

trainer = Own(args=TrainingArguments("/data/out"))
trainer.given = 1
trainer.train()
"""


@pytest.mark.parametrize(
    ("name", "told"),
    [("words", False), ("level", False), ("given", False), ("tokenizer", False), ("nothing", True)],
)
def test_other_files_give_a_trainer_attributes(tmp_path: Path, name: str, told: bool) -> None:
    tokenizer = "self.tokenizer = words" if name == "tokenizer" else ""
    (tmp_path / "base.py").write_text(BASE.format(tokenizer=tokenizer))
    derived = tmp_path / "derived.py"
    derived.write_text(DERIVED.format(name=name))
    (tmp_path / "job.py").write_text(JOB_OF_OWN)
    outcome = CliRunner().invoke(main, ["--to-ray", "--verbose", str(tmp_path)])
    assert "TorchTrainer" in (tmp_path / "job.py").read_text()
    assert ("derived.py:7:16: RM723 manual" in outcome.stdout) == told
    assert f"return self.{name}" in derived.read_text()


@pytest.mark.parametrize(("name", "told"), [("losses", False), ("nothing", True)])
def test_a_function_of_another_file_makes_a_trainer_with_attributes_of_its_own(
    tmp_path: Path, name: str, told: bool
) -> None:
    (tmp_path / "makers.py").write_text(
        "from transformers import Trainer\n\n\nclass Mine(Trainer):\n    def __init__(self, **kwargs):\n"
        "        super().__init__(**kwargs)\n        self.losses = []\n\n\ndef make():\n    return Mine(model=1)\n"
    )
    script = "from makers import make\nfrom ray.air import session\n\ntrainer = make()\nsession.report({})\n"
    (tmp_path / "job.py").write_text(f"{script}print(trainer.{name})\n")
    outcome = CliRunner().invoke(main, ["--verbose", str(tmp_path)])
    assert ("RM723 manual" in outcome.stdout) == told


@pytest.mark.parametrize(
    ("read", "advice"),
    [
        ("best_logdir", "Read best_trial.path of it"),
        ("get_best_logdir('a', 'max')", "Read path of what get_best_trial(metric, mode, scope) gives"),
        ("fetch_trial_dataframes()", "Read trial_dataframes of it."),
        ("get_trial_checkpoints_paths(trial)", "Read run_metadata.checkpoint_manager"),
        ("set_filetype('csv')", "Take it out"),
    ],
)
def test_where_an_analysis_has_today_what_it_had_is_said(read: str, advice: str) -> None:
    outcome = converted(f"from ray import tune\n\nanalysis = tune.run(f)\nprint(analysis.{read})\n")
    (message,) = outcome.messages
    assert outcome.lines("RM723", Kind.MANUAL) == [4] and f"no such attribute. {advice}" in message


TWO_PARSINGS = """
import sys

from transformers import HfArgumentParser, Trainer, TrainingArguments
from job import Others, model, rows

parser = HfArgumentParser((Others, TrainingArguments))
if sys.argv[1].endswith(".json"):
    others, args = parser.parse_json_file(sys.argv[1])
else:
    {other}
if args.overwrite_output_dir:
    print(others)
Trainer(model=model, args=args, train_dataset=rows).train()
"""


@pytest.mark.parametrize(
    ("other", "told"),
    [
        ("others, args = parser.parse_args_into_dataclasses()", True),
        ("others, args = parser.parse_yaml_file(sys.argv[1])", True),
        ("(others, args) = HfArgumentParser([Others, TrainingArguments]).parse_args_into_dataclasses()", True),
        ("args, others = parser.parse_args_into_dataclasses()", False),
        ("others, args = sys.argv[1:]", False),
    ],
)
def test_arguments_of_a_file_or_of_the_command_line(other: str, told: bool) -> None:
    outcome = converted(TWO_PARSINGS.format(other=other), to_ray=True)
    found = [message for message in outcome.messages if message.startswith("Reading overwrite_output_dir raises")]
    assert len(found) == told and all("Write False in its place" in message for message in found)


UNSEEN_CLASS = """
from transformers import HfArgumentParser, Trainer
from {home} import Arguments, Others

args, others = HfArgumentParser((Arguments, Others)).parse_args_into_dataclasses()
{read}
trainer = Trainer(model=make(), args=args, train_dataset=rows())
trainer.train()
"""


@pytest.mark.parametrize(
    ("read", "told"),
    [
        ("again = args.overwrite_output_dir", 1),
        ("print(args.group_by_length, args.warmup_ratio)", 2),
        ("again = hasattr(args, 'overwrite_output_dir') and args.overwrite_output_dir", 0),
        ("again = others.overwrite_output_dir", 0),
    ],
)
def test_what_a_trainer_is_given_may_declare_it_in_a_class_that_is_not_seen(read: str, told: int) -> None:
    outcome = converted(UNSEEN_CLASS.format(home="jobs.arguments", read=read), to_ray=True)
    found = [message for message in outcome.messages if message.startswith("Unless the class of args declares it")]
    assert len(found) == told == len(outcome.lines("RM723", Kind.MANUAL))


def test_a_class_of_the_project_that_declares_it_is_no_finding(tmp_path: Path) -> None:
    fields = "    overwrite_output_dir: bool = False\n"
    own = f"import transformers\n\n\nclass Arguments(transformers.TrainingArguments):\n{fields}"
    (tmp_path / "own.py").write_text(f"{own}\n\nclass Others:\n    x: int = 0\n")
    script = UNSEEN_CLASS.format(home="own", read="again = args.overwrite_output_dir")
    (tmp_path / "job.py").write_text(script)
    outcome = CliRunner().invoke(main, ["--to-ray", "--verbose", str(tmp_path)])
    assert "TorchTrainer" in (tmp_path / "job.py").read_text()
    assert "RM723" not in outcome.stdout


HANDS_OVER = """\
from accelerate import Accelerator
from helpers import half

accelerator = Accelerator()
model, loader = accelerator.prepare(make_model(), make_loader())
for batch in loader:
    accelerator.backward(model(batch))
{made}
half({given})
"""


@pytest.mark.parametrize(
    ("made", "given", "reads", "now"),
    [
        ("it = accelerator", "it", "def half(acc):\n    return acc.{}\n", True),
        ("", "acc=accelerator", "def half(model=None, acc=None):\n    return acc.state.{}\n", True),
        ("it = accelerator", "it", "class half:\n    def __init__(self, acc):\n        self.on = acc.{}\n", True),
        ("it = make()", "it", "def half(acc):\n    return acc.{}\n", False),
        ("", "accelerator.device", "def half(acc):\n    return acc.{}\n", False),
    ],
)
def test_an_accelerator_that_another_file_hands_over(
    tmp_path: Path, made: str, given: str, reads: str, now: bool
) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "train.py").write_text(HANDS_OVER.format(made=made, given=given))
    (tmp_path / "helpers.py").write_text(reads.format("use_fp16"))
    CliRunner().invoke(main, ["--to-ray", str(tmp_path)])
    text = (tmp_path / "helpers.py").read_text()
    assert text == reads.format('mixed_precision != "no"' if now else "use_fp16")


@pytest.mark.parametrize(
    ("made", "declared", "name"),
    [
        ("Run", "Trainer", "tokenizer"),
        ("Run(TrainerCallback)", "Trainer", "tokenizer"),
        ("Run(nn.Module)", "TrainingArguments", "no_cuda"),
        ("Run(object)", "TrainingArguments", "evaluation_strategy"),
    ],
)
def test_what_another_class_keeps_under_the_same_name_is_not_of_the_object(made: str, declared: str, name: str) -> None:
    """`self.tokenizer = trainer.tokenizer` was passed over: a class of the file has the name."""
    script = (
        "import ray\nfrom torch import nn\nfrom transformers import Trainer, TrainerCallback, TrainingArguments\n\n\n"
        f"class {made}:\n    def __init__(self, given: {declared}):\n        self.{name} = given.{name}\n"
    )
    outcome = converted(script)
    assert outcome.lines("RM723", Kind.CONVERTED) == [8]
    assert f"self.{name} = given.{name}" not in outcome.text and f"self.{name} = given." in outcome.text


@pytest.mark.parametrize("base", ["TrainingArguments", "Own"])
def test_an_object_that_may_be_of_a_class_of_the_file_has_what_that_declares(base: str) -> None:
    script = (
        "import ray\nfrom transformers import TrainingArguments\nfrom job import Own\n\n\n"
        f"class More({base}):\n    no_cuda: bool = True\n\n\n"
        "def run(args: TrainingArguments):\n    return args.no_cuda\n"
    )
    assert not converted(script).lines("RM723")


@pytest.mark.parametrize("base", ["Shared", "Between"])
def test_what_a_mixin_gives_a_class_of_a_library_is_its_own(base: str) -> None:
    script = (
        "import ray\nfrom transformers import Trainer\n\n\n"
        "class Shared:\n    @property\n    def tokenizer(self):\n        return 1\n\n\n"
        f"class Between(Shared):\n    pass\n\n\nclass Own({base}, Trainer):\n    pass\n\n\n"
        "own = Own()\nprint(own.tokenizer)\n"
    )
    assert not converted(script).lines("RM723")
    apart = script.replace(f"({base}, Trainer)", "(Trainer)")
    assert len(converted(apart).lines("RM723", Kind.CONVERTED)) == 1


def test_a_parameter_of_another_annotation_may_be_the_arguments() -> None:
    use = "def make(given: dict):\n    return TrainingArguments('o', no_cuda=given.no_cuda)\n"
    outcome = converted(f"import ray\nfrom transformers import TrainingArguments\n\n\n{use}")
    assert any(message.startswith("If given is a TrainingArguments") for message in outcome.messages)


def test_what_a_class_of_the_file_only_reads_is_not_its_own() -> None:
    script = (
        "import ray\nfrom transformers import Trainer\n\n\n"
        "class More(Trainer):\n    def words(self):\n        return self.tokenizer\n\n\n"
        "def run(trainer: Trainer):\n    return trainer.tokenizer\n"
    )
    assert converted(script).lines("RM723", Kind.CONVERTED) == [7, 11]

"""A name that something else takes later stands for its import until then: `pipeline = pipeline("text-generation")`."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from raymigrate.base.findings import Kind
from raymigrate.cli import main
from tests.rules.scripts import converted

IMPORTS = """
import ray
from datasets import load_dataset
from ray.air.config import ScalingConfig
from ray.train.huggingface import TransformersTrainer
from transformers import Trainer, TrainingArguments
from transformers.pipelines import pipeline

"""
JOB = """
def init(train_dataset, eval_dataset=None, **config):
    return Trainer(model=load(), args=TrainingArguments("out"), train_dataset=train_dataset)


{trainer} = TransformersTrainer(init, scaling_config=ScalingConfig(num_workers=2), datasets={{"train": rows}})
result = {trainer}.fit()
print(result.metrics["time_total_s"])
"""


def test_a_name_that_takes_the_value_of_its_own_call_is_seen_in_it() -> None:
    script = f"""{IMPORTS}
load_dataset = load_dataset("tiny_shakespeare")
TrainingArguments = TrainingArguments("out", evaluation_strategy="epoch")
pipeline = pipeline("text-generation", model=model, tokenizer=tokenizer)
print(load_dataset, TrainingArguments, pipeline("a"))
"""
    outcome = converted(script)
    assert 'TrainingArguments = TrainingArguments("out", eval_strategy="epoch")' in outcome.text
    assert 'load_dataset = load_dataset("karpathy/tiny_shakespeare"' in outcome.text
    assert len(outcome.lines("RM752", Kind.MANUAL)) == 1
    assert len(outcome.lines("RM714", Kind.CONVERTED)) == 1


def test_a_trainer_under_the_name_of_its_class_is_converted_as_under_another() -> None:
    plain, again = (converted(IMPORTS + JOB.format(trainer=name)) for name in ("trainer_1", "TransformersTrainer"))
    assert again.findings == plain.findings
    assert "import TransformersTrainer" not in again.text
    assert "TransformersTrainer = TorchTrainer(" in again.text
    assert converted(again.text).text == again.text


@pytest.mark.parametrize(
    "code",
    [
        "{use}\nTA = other",
        "{use}\ndel TA",
        "TA = other\nfrom transformers import TrainingArguments as TA\n{use}",
        "{use}\nTA = {{}}\nTA['a'] = 1\n\ndef f():\n    return TA['a']\n",
        "{use}\nfor TA in rows:\n    print(TA)",
        "{use}\ntry:\n    go()\nexcept ValueError as TA:\n    print(TA)",
        "{use}\nwith go() as TA:\n    print(TA)",
        "{use}\n\ndef TA():\n    pass\n",
        "if a:\n    {use}\n    TA = 1\nelse:\n    {use}\n    TA = 2",
        "if a:\n    TA = 1\n    raise ValueError\n{use}",
        "def f():\n    from transformers import TrainingArguments as TA\n    {use}\n    TA = 1\n    return TA\n",
        "TA = 1\nfrom transformers import TrainingArguments as TA\n\ndef f():\n    {use}\n",
        "print([TA for TA in rows])\n{use}",
        "match rows:\n    case [a] if a:\n        {use}\n    case TA:\n        print(TA)",
        "try:\n    {use}\nfinally:\n    TA = 1",
        "class Job:\n    TA = {call}\n\n    def f(self):\n        {use}\n",
        "class Job:\n    {use}\n    TA = 1\n",
        "class Job:\n    for TA in [{call}]:\n        print(TA)\n",
        "print(TA, x := {call})\nTA = 1",
    ],
)
def test_a_use_that_surely_sees_the_import_is_converted(code: str) -> None:
    call = 'TA("out", no_cuda=True)'
    script = "import ray\nfrom transformers import TrainingArguments as TA\n" + code.format(
        use=f"x = {call}", call=call
    )
    outcome = converted(script)
    assert "no_cuda" not in outcome.text
    assert outcome.text.count("use_cpu=True") == script.count("no_cuda")


@pytest.mark.parametrize(
    "code",
    [
        "TA = other\n{use}",
        "for a in b:\n    {use}\n    TA = other",
        "while a:\n    {use}\n    TA = other",
        "if a:\n    TA = other\n{use}",
        "def f():\n    {use}\n\nTA = other\nf()",
        "f = lambda: {call}\nTA = other\nf()",
        "def f():\n    global TA\n    TA = other\n\nf()\n{use}",
        "try:\n    TA = other\n    go()\nexcept ValueError:\n    {use}",
        "if TA := other:\n    {use}",
        "if a or (TA := other):\n    {use}",
        "match rows:\n    case TA if {call}:\n        pass",
        "match rows:\n    case [TA, 1]:\n        pass\n    case _:\n        {use}",
        "with go() as TA, {call}:\n    pass",
        "for a in b:\n    TA = other\nelse:\n    {use}",
        "del TA\ntry:\n    {use}\nexcept NameError:\n    pass",
        "def f(TA):\n    {use}\n",
        "class Job:\n    TA = 1\n    {use}\n",
        "class Job:\n    for a in b:\n        {use}\n        TA = 1\n",
        "class Job:\n    print(TA := 1, {call})\n",
        "print([{call} for TA in rows])",
    ],
)
def test_a_use_that_may_see_something_else_stays(code: str) -> None:
    call = 'TA("out", no_cuda=True)'
    script = "import ray\nfrom transformers import TrainingArguments as TA\n" + code.format(
        use=f"x = {call}", call=call
    )
    assert converted(script).text == script


def test_an_import_stays_that_a_function_may_see_before_its_name_is_taken() -> None:
    script = """
    from ray.air import session

    def later():
        session.report({"a": 1})

    session.report({"a": 2})
    session = open_session()
    """
    outcome = converted(script)
    assert "import session" in outcome.text
    assert 'ray.train.report({"a": 2})' in outcome.text
    assert 'session.report({"a": 1})' in outcome.text
    assert outcome.lines("RM302", Kind.MANUAL) == [1]


@pytest.mark.parametrize(
    ("second", "told"),
    [("ScalingConfig = ScalingConfig(num_workers=2)", False), ("if a:\n    ScalingConfig = b", True)],
)
def test_an_import_moves_whose_name_is_taken_for_good(second: str, told: bool) -> None:
    outcome = converted(f"from ray.air.config import ScalingConfig\n{second}\nprint(ScalingConfig)\n")
    assert ("from ray.train import ScalingConfig" in outcome.text) is not told
    assert bool(outcome.lines("RM301", Kind.MANUAL)) is told


def test_an_import_stays_that_a_class_body_reads_for_an_attribute_of_its_name() -> None:
    outcome = converted("from ray.air.config import ScalingConfig\nclass Job:\n    ScalingConfig = ScalingConfig()\n")
    assert outcome.text.startswith("from ray.train import ScalingConfig\n")


def test_an_import_behind_another_meaning_of_its_name_does_not_move() -> None:
    script = "ScalingConfig = None\nfrom ray.air.config import ScalingConfig\nprint(ScalingConfig())\n"
    outcome = converted(script)
    assert outcome.text == script
    assert outcome.lines("RM301", Kind.MANUAL) == [2]


@pytest.mark.parametrize("where", ["on the driver", "in the init function"])
def test_a_metric_under_the_name_of_load_metric_is_loaded_where_it_is_used(where: str) -> None:
    load = 'load_metric = load_metric("accuracy")'
    job = """
import ray
from datasets import load_metric
from ray.air.config import ScalingConfig
from ray.train.huggingface import TransformersTrainer
from transformers import Trainer, TrainingArguments
{driver}

def init(train_dataset, eval_dataset=None, **config):
    {init}
    return Trainer(
        model=load(),
        args=TrainingArguments("out"),
        train_dataset=train_dataset,
        compute_metrics=lambda p: {name}.compute(predictions=p.predictions, references=p.label_ids),
    )


TransformersTrainer(init, scaling_config=ScalingConfig(num_workers=2), datasets={{"train": rows}}).fit()
"""
    if where == "on the driver":
        outcome = converted(job.format(driver=load, init="print()", name="load_metric"))
        assert outcome.lines("RM481", Kind.CONVERTED) == [6]
        assert 'load_metric = evaluate.load("accuracy")' in outcome.text
    else:
        outcome = converted(job.format(driver="", init='metric = load_metric("accuracy")', name="metric"))
        assert not outcome.lines("RM481", Kind.CONVERTED)
    assert "datasets import" not in outcome.text
    assert converted(outcome.text).text == outcome.text


def test_a_function_of_another_file_is_found_under_a_name_that_its_value_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "common.py").write_text(
        "from ray.train.huggingface import AccelerateTrainer\n\n\ndef make():\n    return AccelerateTrainer(print)\n"
    )
    (tmp_path / "run.py").write_text(
        'from common import make\n\nmake = make()\nprint(make.fit().metrics["time_total_s"])\n'
    )
    monkeypatch.chdir(tmp_path)
    outcome = CliRunner().invoke(main, ["--check", "."])
    assert "run.py:4:7: RM604" in outcome.output


TWICE = """
import ray
from ray.train.torch import TorchPredictor
{between}
from ray.train.torch.torch_predictor import TorchPredictor

def load(checkpoint):
    return TorchPredictor.from_checkpoint(checkpoint)
"""


def test_an_import_that_another_one_replaces_at_once_goes() -> None:
    outcome = converted(TWICE.format(between=""))
    assert "from ray.train.torch import TorchPredictor" not in outcome.text
    assert not outcome.lines("RM692", Kind.MANUAL)
    assert len(outcome.lines("RM603", Kind.MANUAL)) == 1
    assert converted(outcome.text).text == outcome.text


@pytest.mark.parametrize(
    "between",
    [
        "print(TorchPredictor)",
        "def first():\n    return TorchPredictor\n\nfirst()",
        "if ray:\n    print(TorchPredictor)",
    ],
)
def test_an_import_that_is_read_before_another_one_replaces_it_stays(between: str) -> None:
    outcome = converted(TWICE.format(between=between))
    assert "from ray.train.torch import TorchPredictor" in outcome.text
    assert len(outcome.lines("RM692", Kind.MANUAL)) >= 1


OF_TRAINER = "from ray.train.huggingface import HuggingFaceTrainer"


@pytest.mark.parametrize(
    "imports",
    [
        f"{OF_TRAINER}\n{OF_TRAINER}",
        f"{OF_TRAINER}\nimport ray\n{OF_TRAINER}\n{OF_TRAINER}",
        f"{OF_TRAINER}, HuggingFaceTrainer",
        f"{OF_TRAINER}\nfrom ray.train.huggingface.huggingface_trainer import HuggingFaceTrainer",
        f"from ray.air import RunConfig, ScalingConfig\n{OF_TRAINER}\nfrom ray.air import ScalingConfig\n{OF_TRAINER}",
        f"{OF_TRAINER}\n_cell_2__\n{OF_TRAINER}\nfrom ray.air.config import ScalingConfig",
    ],
    ids=["twice", "three times", "in one statement", "out of two modules", "with others", "in two cells"],
)
def test_a_trainer_that_is_imported_again_is_converted_in_one_run(imports: str) -> None:
    job = "HuggingFaceTrainer(build, scaling_config=ScalingConfig(num_workers=2), datasets={'train': rows})\n"
    outcome = converted(f"{imports}\nfrom ray.air.config import ScalingConfig\n\ntrainer = {job}")
    assert outcome.lines("RM101", Kind.CONVERTED)
    assert "HuggingFaceTrainer" not in outcome.text and "ray.air" not in outcome.text
    assert converted(outcome.text).text == outcome.text

"""RM101, RM403: a trainer that goes on from the checkpoint of an earlier run of the same script."""

from pathlib import Path

import pytest

from raymigrate.base.findings import Kind
from tests.projects.files import convert, write
from tests.rules.scripts import converted

HEAD = """
import ray
from ray.air import session
from ray.air.checkpoint import Checkpoint
from ray.air.config import ScalingConfig
from ray.train.huggingface import HuggingFaceCheckpoint, HuggingFaceTrainer
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

def init(train_dataset, eval_dataset=None, **config):
    model = AutoModelForCausalLM.from_pretrained("gpt2")
    return Trainer(model=model, args=TrainingArguments("ray"), train_dataset=train_dataset)

scaling = ScalingConfig(num_workers=2)
rows = ray.data.read_parquet("rows")
"""
FIRST = "result = HuggingFaceTrainer(init, scaling_config=scaling, datasets={'train': rows}).fit()\n"
SECOND = (
    "HuggingFaceTrainer(init, scaling_config=scaling, datasets={{'train': rows}}, resume_from_checkpoint={}).fit()\n"
)

HANDED_OVER = {
    "of a result": FIRST + SECOND.format("result.checkpoint"),
    "with a configuration": FIRST + SECOND.format("result.checkpoint, trainer_init_config={'rate': 1}"),
    "with a configuration by name": f"rates = {{'rate': 1}}\n{FIRST}"
    + SECOND.format("result.checkpoint, trainer_init_config=rates"),
    "by a name": f"{FIRST}last = result.checkpoint\n{SECOND.format('last')}",
    "of the class that is gone": FIRST + SECOND.format("HuggingFaceCheckpoint.from_checkpoint(result.checkpoint)"),
    "or none": f"{FIRST}{SECOND.format('result.checkpoint if result.metrics else None')}",
    "of the best ones": FIRST + SECOND.format("result.best_checkpoints[0][0]"),
    "without datasets": "result = HuggingFaceTrainer(init, scaling_config=scaling).fit()\n"
    "HuggingFaceTrainer(init, scaling_config=scaling, resume_from_checkpoint=result.checkpoint).fit()\n",
    "of the run before": "last = None\nfor epoch in range(3):\n    result = "
    + SECOND.format("last")
    + "    last = result.checkpoint\n",
    "a lambda": FIRST + SECOND.format("result.checkpoint").replace("(init,", "(lambda a, b, **c: init(a, b, **c),"),
    "a function in partial()": "from functools import partial\n"
    + FIRST
    + SECOND.format("result.checkpoint").replace("(init,", "(partial(init, rate=1),"),
    "in a function": f"{FIRST}def go_on(last=None):\n    return {SECOND.format('last')}\ngo_on(result.checkpoint)\n",
    "in place of the init function": FIRST.replace("(init,", "(other_init,").replace(
        "result =", "def other_init(a, b, **c):\n    return Trainer(make(), train_dataset=a)\n\nresult ="
    )
    + SECOND.format("result.checkpoint"),
}
# What legacy Ray may have written, or nobody knows.
TOLD = {
    "of a folder": SECOND.format("Checkpoint.from_directory('old')"),
    "a parameter": f"{FIRST}def go_on(last):\n    return {SECOND.format('last')}",
    "one of several": f"{FIRST}for last in (result.checkpoint, *others):\n    {SECOND.format('last')}",
    "one that is loaded, or of a result": f"{FIRST}last = job.load()\nlast = last or result.checkpoint\n"
    + SECOND.format("last"),
    "one of the command line, or of a result": f"{FIRST}last = result.checkpoint\nif job.args:\n"
    f"    last = Checkpoint.from_directory(job.args[0])\n{SECOND.format('last')}",
    "a folder or a result": f"{FIRST}{SECOND.format('result.checkpoint if result.metrics else Checkpoint(folder)')}",
    "of a trainer that stays": "result = HuggingFaceTrainer(**given).fit()\n" + SECOND.format("result.checkpoint"),
    "of a trainer with a preprocessor, which the second one took over": FIRST.replace(
        "(init,", "(init, preprocessor=made,"
    )
    + SECOND.format("result.checkpoint"),
    "of a trainer that is restored": "result = HuggingFaceTrainer.restore('old').fit()\n"
    + SECOND.format("result.checkpoint"),
    "an init function that is not seen": FIRST + SECOND.format("result.checkpoint").replace("(init,", "(job.init,"),
    "an init function that may read it": f"found = session.get_checkpoint\n{FIRST}{SECOND.format('result.checkpoint')}",
}


@pytest.mark.parametrize("case", HANDED_OVER)
def test_the_checkpoint_goes_with_the_configuration(case: str) -> None:
    outcome = converted(HEAD + HANDED_OVER[case])
    assert not outcome.lines("RM403")
    assert 'old_checkpoint = config.pop("old_checkpoint")' in outcome.text.replace("(c.pop", "(config.pop")
    assert "checkpoint = ray.train.get_checkpoint() or old_checkpoint\n" in outcome.text
    assert '"old_checkpoint": ' in outcome.text
    assert "resume_from_checkpoint=os.path" in outcome.text
    assert outcome.text.count("resume_from_checkpoint=") == outcome.text.count("resume_from_checkpoint=os.path")
    assert converted(outcome.text).text == outcome.text


@pytest.mark.parametrize("case", TOLD)
def test_another_checkpoint_is_told(case: str) -> None:
    outcome = converted(HEAD + TOLD[case])
    assert len(outcome.lines("RM403", Kind.MANUAL)) == 1
    assert "old_checkpoint" not in outcome.text


@pytest.mark.parametrize("parameter", ["last", "result"])
@pytest.mark.parametrize("is_called", [True, False])
def test_another_file_may_give_a_checkpoint_that_legacy_ray_wrote(
    tmp_path: Path, parameter: str, is_called: bool
) -> None:
    read, given = (parameter, "result.checkpoint") if parameter == "last" else ("result.checkpoint", "result")
    job = f"{FIRST}def go_on({parameter}=None):\n    return {SECOND.format(read)}\ngo_on({given})\n"
    caller = f"from ray.air import Result\nfrom job import go_on, init\n\n{'go_on' if is_called else 'init'}(load())\n"
    write(tmp_path, {"job.py": HEAD + job, "again.py": caller})
    told = [finding for result in convert(tmp_path).results for finding in result.findings if finding.code == "RM403"]
    assert bool(told) is is_called
    assert ("old_checkpoint" in (tmp_path / "job.py").read_text()) is not is_called


BY_WAY = {
    "a function": "def run(last=None):\n    return go_on({})\nrun(result.checkpoint)\n",
    "a name in it": "def run(last=None):\n    own = {}\n    return go_on(own)\nrun(result.checkpoint)\n",
    "two": (
        "def again(last):\n    return go_on({})\ndef run(last=None):\n    return again(last)\nrun(result.checkpoint)\n"
    ),
}


@pytest.mark.parametrize("way", BY_WAY)
@pytest.mark.parametrize("given", ["run(load())", "run", "init(1)"])
def test_so_may_it_to_a_caller_of_the_function(tmp_path: Path, way: str, given: str) -> None:
    job = f"{FIRST}def go_on(last):\n    return {SECOND.format('last')}\n{BY_WAY[way].format('last')}"
    write(tmp_path, {"job.py": HEAD + job, "again.py": f"from job import init, run\n\nshow({given})\n"})
    told = [finding for result in convert(tmp_path).results for finding in result.findings if finding.code == "RM403"]
    assert bool(told) is given.startswith("run")
    assert ("old_checkpoint" in (tmp_path / "job.py").read_text()) is not given.startswith("run")


def test_each_of_two_functions_starts_from_its_own() -> None:
    outcome = converted(HEAD + FIRST + SECOND.format("result.checkpoint"))
    first, second = outcome.text.split("def train_func_2(config):")
    assert "get_checkpoint()\n" in first
    assert "get_checkpoint() or old_checkpoint\n" in second


def test_the_key_is_one_that_the_configuration_does_not_have() -> None:
    script = FIRST + SECOND.format("result.checkpoint, trainer_init_config={'old_checkpoint': 1}")
    assert '"earlier_checkpoint": result.checkpoint' in converted(HEAD + script).text


def test_in_the_form_of_the_guide_it_is_told() -> None:
    own = "def other_init(a, b=None, **c):\n    return Trainer(model, TrainingArguments('ray'), train_dataset=a)\n\n"
    script = HEAD + own + FIRST + SECOND.format("result.checkpoint").replace("(init,", "(other_init,")
    told = converted(script, guide=True)
    assert "RM121" in {code for code, _, _ in told.findings}
    assert len(told.lines("RM403", Kind.MANUAL)) == 1
    assert not converted(script).lines("RM403")


PREDICTED = """
from ray.train.batch_predictor import BatchPredictor
from ray.train.huggingface import HuggingFacePredictor

predictor = BatchPredictor.from_checkpoint(last.checkpoint, HuggingFacePredictor, task="text-generation")
print(predictor.predict(rows, batch_size=2).take_all())
"""


@pytest.mark.parametrize(("preprocessor", "kind"), [("", Kind.CONVERTED), ("preprocessor=made,", Kind.MANUAL)])
def test_the_second_run_had_the_preprocessor_of_the_first(preprocessor: str, kind: Kind) -> None:
    first, second = FIRST.replace("(init,", f"(init, {preprocessor}"), SECOND.format("result.checkpoint")
    outcome = converted(f"{HEAD}{first}last = {second}{PREDICTED}")
    assert kind in {found for code, found, _ in outcome.findings if code == "RM603"}
    assert converted(outcome.text).text == outcome.text

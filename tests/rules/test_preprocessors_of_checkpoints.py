"""RM603: whether a checkpoint held a preprocessor, by the construction of the trainer in whose result it is."""

from pathlib import Path

import pytest

from raymigrate.base.findings import Kind
from raymigrate.base.options import Options
from raymigrate.run.job import Job
from tests.projects.files import convert, write
from tests.rules.scripts import converted

HEAD = """
import asyncio
from concurrent.futures import ThreadPoolExecutor

import ray
from ray.data.preprocessors import StandardScaler
from ray.train.batch_predictor import BatchPredictor
from ray.train.huggingface import TransformersPredictor, TransformersTrainer
from builds import build
"""
TRAINER = 'TransformersTrainer(build, datasets={"train": ray.data.range(8)}%s)'
HELD = ', preprocessor=StandardScaler(["x"])'
PREDICTS = """
predictor = BatchPredictor.from_checkpoint(result.checkpoint, TransformersPredictor, task="text-generation")
print(predictor.predict(ray.data.read_text("s3://our-bucket/texts")).take(2))
"""
OWN = f"""
class Own(TransformersTrainer):
    def __init__(self, **more):
        super().__init__(build{HELD}, **more)


result = Own(datasets={{"train": ray.data.range(8)}}).fit()
"""
MAY_HOLD = "A preprocessor that the checkpoint may hold is not applied any more."
DID_HOLD = "It applied the preprocessor of the trainer"


@pytest.mark.parametrize(
    "fit",
    [
        "result = TransformersTrainer.restore('s3://our-bucket/run').fit()\n",
        OWN,
        "trainer: TransformersTrainer = make()\nresult = trainer.fit()\n",
    ],
)
def test_a_trainer_whose_construction_is_not_seen_may_have_had_one(fit: str) -> None:
    outcome = converted(HEAD + fit + PREDICTS, unsafe=True)
    assert [message for message in outcome.messages if MAY_HOLD in message]


def test_a_trainer_that_is_a_parameter_may_have_had_one() -> None:
    body = f"    result = trainer.fit(){PREDICTS}".replace("\n", "\n    ").rstrip()
    outcome = converted(f"{HEAD}\ndef predict(trainer: TransformersTrainer):\n{body}\n", unsafe=True)
    assert [message for message in outcome.messages if MAY_HOLD in message]


@pytest.mark.parametrize("given", ["", HELD])
@pytest.mark.parametrize(
    "fit",
    [
        "result = trainer.fit()\n",
        "with ThreadPoolExecutor() as pool:\n    result = pool.submit(trainer.fit).result()\n",
        "result = asyncio.run(asyncio.to_thread(trainer.fit))\n",
    ],
)
def test_it_is_seen_where_fit_runs_in_a_thread_too(fit: str, given: str) -> None:
    outcome = converted(f"{HEAD}trainer = {TRAINER % given}\n{fit}{PREDICTS}", unsafe=True)
    assert not [message for message in outcome.messages if MAY_HOLD in message]
    assert bool([message for message in outcome.messages if DID_HOLD in message]) is bool(given)


@pytest.mark.parametrize("given", ["", HELD])
def test_it_is_seen_where_another_file_makes_the_trainer(tmp_path: Path, given: str) -> None:
    predicts = f"from jobs import make\n{HEAD}\nresult = make().fit()\n{PREDICTS}"
    write(tmp_path, {"jobs.py": f"{HEAD}\ndef make():\n    return {TRAINER % given}\n", "predict.py": predicts})
    findings = convert(tmp_path, job=Job(Options(unsafe=True))).findings
    told = [f for f in findings if f.code == "RM603" and f.path.endswith("predict.py") and DID_HOLD in f.message]
    assert [f.kind for f in told] == ([Kind.MANUAL] if given else [])
    assert not [f for f in findings if MAY_HOLD in f"{f.message} {f.advice}"]

"""RM308 and RM603: checkpoints carried their files to other processes, and are paths now."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
import ray
from ray import serve
from ray.air import Checkpoint
from ray.air.checkpoint import Checkpoint as Other
from ray.train.batch_predictor import BatchPredictor
from ray.train.huggingface import TransformersCheckpoint
from ray.train.predictor import Predictor
from ray.train.torch import TorchTrainer
from own import Scorer, found, score


def use(checkpoint, path="exported"):
    if isinstance(checkpoint, str):
        checkpoint = {made}
    {sent}


use("old", "other")
"""
SENT = [
    "Scorer.remote(checkpoint)",
    "ray.remote(score).options(num_cpus=1).remote(rows=1, checkpoint=checkpoint)",
    "ray.put(checkpoint)",
    "ray.data.range(3).map_batches(Scorer, fn_constructor_kwargs={'checkpoint': checkpoint})",
    "ray.data.range(3).map_batches(Scorer, fn_constructor_args=(checkpoint,))",
    "ray.data.range(3).map_batches(score, fn_kwargs=dict(checkpoint=checkpoint))",
    "serve.run(Scorer.bind(checkpoint))",
    "TorchTrainer(score, resume_from_checkpoint=checkpoint).fit()",
    "TorchTrainer(score, train_loop_config={'lr': 1, 'start': checkpoint}).fit()",
]
MADE = "Checkpoint.from_directory(path)"
FOUND = "A checkpoint no longer carries its files along"
ABSOLUTE = "Give it an absolute path"


def told(made: str, sent: str) -> list[str]:
    outcome = converted(SCRIPT.format(made=made, sent=sent))
    again = converted(outcome.text)
    assert again.text == outcome.text
    return [text for text in outcome.messages if FOUND in text]


@pytest.mark.parametrize("sent", SENT)
def test_a_checkpoint_of_a_local_folder_that_goes_to_other_processes_is_noted(sent: str) -> None:
    [text] = told(MADE, sent)
    assert ABSOLUTE not in text
    assert "Checkpoint.from_directory(os.path.abspath(path))" in converted(SCRIPT.format(made=MADE, sent=sent)).text


@pytest.mark.parametrize(
    ("made", "is_open"),
    [
        ("Other(local_path='exported')", True),
        ("Other(path)", True),
        ("TransformersCheckpoint.from_model(load(), path='exported')", True),
        ("TransformersCheckpoint.from_directory('/data/exported')", False),
        ("Other.from_directory('/home/me/exported')", False),
        ("Other.from_directory('exported')", False),
        ("TransformersCheckpoint.from_checkpoint(Checkpoint.from_directory('exported'))", False),
    ],
)
def test_ways_to_make_one(made: str, *, is_open: bool) -> None:
    [text] = told(made, SENT[0])
    assert (ABSOLUTE in text) == is_open


@pytest.mark.parametrize(
    ("made", "now"),
    [
        ("Checkpoint.from_directory('exported')", "Checkpoint.from_directory(os.path.abspath('exported'))"),
        ("Other.from_directory(path=path)", "from_directory(path=os.path.abspath(path))"),
        ("TransformersCheckpoint.from_directory(path)", "Checkpoint.from_directory(os.path.abspath(path))"),
        ("Checkpoint.from_directory(ray.job.FOLDER)", "Checkpoint.from_directory(os.path.abspath(ray.job.FOLDER))"),
        ("Checkpoint.from_directory('/data/' + path)", "Checkpoint.from_directory('/data/' + path)"),
        ("Checkpoint.from_directory(os.path.abspath(path))", "Checkpoint.from_directory(os.path.abspath(path))"),
    ],
)
@pytest.mark.parametrize("sent", [SENT[0], "train(checkpoint)"])
def test_a_path_that_may_be_relative_is_made_absolute(made: str, now: str, sent: str) -> None:
    train = "def train(start):\n    TorchTrainer(score, resume_from_checkpoint=start or found()).fit()\n"
    outcome = converted(f"import os\n{SCRIPT.format(made=made, sent=sent)}\n\n{train}")
    assert now in outcome.text
    assert converted(outcome.text).text == outcome.text


@pytest.mark.parametrize(
    "use",
    [
        "print(Checkpoint.from_directory('exported').path)",
        "def loop(config):\n    ray.train.report({}, checkpoint=Checkpoint.from_directory('out'))\n\n\n"
        "TorchTrainer(loop, resume_from_checkpoint=found()).fit()",
        "with tempfile.TemporaryDirectory() as folder:\n    ray.put(Checkpoint.from_directory(folder))",
        "ray.put(ray.train.Checkpoint.from_directory('out'))",
        "ray.put(found().from_directory('out'))",
        "ray.put(Checkpoint.from_directory(*found()))",
    ],
)
def test_other_paths_stay(use: str) -> None:
    imports = "import ray\nimport tempfile\nfrom ray.air import Checkpoint\nfrom ray.train.torch import TorchTrainer\n"
    assert "abspath" not in converted(f"{imports}\n{use}\n").text


@pytest.mark.parametrize(
    ("made", "sent"),
    [
        (MADE, "score(checkpoint)"),
        (MADE, "Scorer.remote(path)"),
        (MADE, "trainer.train(resume_from_checkpoint=path)"),
        ("Checkpoint.from_directory('/dbfs/exported')", SENT[0]),
        ("Checkpoint.from_directory('/mnt/cluster_storage/exported')", SENT[0]),
        ("Checkpoint.from_uri('s3://bucket/exported')", SENT[0]),
        ("Checkpoint(uri='s3://bucket/exported')", SENT[0]),
        ("ray.train.Checkpoint.from_directory(path)", SENT[0]),  # of Ray >= 2.7: a path already
        ("found()", SENT[0]),
    ],
)
def test_what_stays_or_is_seen_by_all_is_left_alone(made: str, sent: str) -> None:
    assert not told(made, sent)


@pytest.mark.parametrize(("made", "count"), [(MADE, 1), ("Checkpoint(uri='s3://bucket/x')", 0), ("found()", 0)])
def test_a_batch_predictor_that_is_left_says_so_in_its_step(made: str, count: int) -> None:
    script = SCRIPT.format(made=made, sent="BatchPredictor.from_checkpoint(checkpoint, found()).predict(rows)")
    outcome = converted(script)
    assert outcome.lines("RM603", Kind.MANUAL)
    texts = [text for text in outcome.messages if FOUND in text]
    assert len(texts) == count
    assert [text for text in converted(outcome.text).messages if FOUND in text] == texts

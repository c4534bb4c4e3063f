"""RM205 beside a TorchTrainer: which datasets were split among the workers, and who reads their shards."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
import ray
import torch
from ray import train
from ray.air import session
{imports}
from ray.train.torch import TorchTrainer

def evaluate(shard):
    return sum(len(batch["id"]) for batch in shard.iter_batches())


def loop(config):
    shard = session.get_dataset_shard("valid")
    rank = session.get_world_rank()
    {reads}
    session.report({{}}, checkpoint={checkpoint})


trainer = TorchTrainer(
    loop,
    datasets={{"train": ray.data.range(40), "valid": ray.data.range(20)}},
    scaling_config={scaling},
    {more}
)
"""
WHOLE = 'dataset_config=DataConfig(datasets_to_split=["train"])'
READ_ALONE = "if rank == 0:\n        print(evaluate(shard))"


def script(
    reads: str = "print(evaluate(shard))",
    *,
    imports: str = "",
    checkpoint: str = "None",
    scaling: str = "train.ScalingConfig(num_workers=2)",
    more: str = "",
) -> str:
    scaling = scaling.replace("train.", "ray.air.")
    return SCRIPT.format(reads=reads, imports=imports, checkpoint=checkpoint, scaling=scaling, more=more)


@pytest.mark.parametrize(
    ("imports", "checkpoint"),
    [
        ("from ray.air.checkpoint import Checkpoint", 'Checkpoint.from_dict({"epoch": 1})'),
        ("from ray.air import Checkpoint", 'Checkpoint.from_dict({"epoch": 1})'),
        ("from ray.air import Checkpoint as C", 'C.from_directory("/tmp/folder")'),
        ("from ray import air", "air.Checkpoint.from_dict(dict(epoch=1))"),
        ("from ray.train.torch import TorchCheckpoint", 'TorchCheckpoint.from_dict({"model": 1})'),
        ("", "print(session.get_checkpoint().to_dict())"),
        ("from ray.train.batch_predictor import BatchPredictor", "BatchPredictor.from_checkpoint(a, b)"),
    ],
)
def test_what_ray_2_7_raised_for_shows_that_only_the_training_data_was_split(imports: str, checkpoint: str) -> None:
    outcome = converted(script(READ_ALONE, imports=imports, checkpoint=checkpoint))
    assert WHOLE in outcome.text
    assert not outcome.lines("RM205", Kind.MANUAL)  # also of the shard, which is whole now
    again = converted(outcome.text)
    assert not [code for code, _, _ in again.findings if code == "RM205"]


@pytest.mark.parametrize(
    ("imports", "checkpoint"),
    [
        ("from ray.air.checkpoint import Checkpoint", "None"),  # could be imported from Ray 2.7 too
        ("from ray.train.torch import TorchCheckpoint", 'TorchCheckpoint.from_directory("/tmp/folder")'),
        ("from mine import Checkpoint", "Checkpoint.from_dict({})"),
        ("", "print(settings.to_dict())"),
    ],
)
def test_where_nothing_tells_it_is_asked(imports: str, checkpoint: str) -> None:
    text = script(imports=imports, checkpoint=checkpoint)
    outcome = converted(text)
    assert WHOLE not in outcome.text
    assert len(outcome.lines("RM205", Kind.MANUAL)) == 1
    assert any("--from-ray 2.6" in message for message in outcome.messages)
    assert WHOLE in converted(text, from_ray="2.6").text
    assert not converted(text, from_ray="2.7").lines("RM205", Kind.MANUAL)


def test_a_tensorflow_trainer_is_asked_too() -> None:
    text = script().replace("TorchTrainer", "TensorflowTrainer").replace("ray.train.torch", "ray.train.tensorflow")
    assert len(converted(text).lines("RM205", Kind.MANUAL)) == 1


@pytest.mark.parametrize(
    "text",
    [
        script(scaling="train.ScalingConfig(num_workers=1)"),
        script().replace(', "valid": ray.data.range(20)', ""),
        script(imports="from ray.train import DataConfig", more='dataset_config=DataConfig(datasets_to_split="all")'),
        script().replace("ray.air", "ray.train").replace("from ray.train import session", "session = train"),
    ],
)
def test_nothing_is_asked_where_it_does_not_matter_or_is_said(text: str) -> None:
    assert not converted(text).lines("RM205", Kind.MANUAL)


@pytest.mark.parametrize(
    "reads",
    [
        READ_ALONE,
        "if rank == 0:\n        for batch in shard.iter_torch_batches():\n            print(batch)",
        "if train.get_context().get_world_rank() == 0:\n        print(list(shard.iter_rows()))",
        "if rank != 0:\n        return\n    print(evaluate(shard))",
        "if rank == 0:\n        print(1)\n    else:\n        print(sum(1 for _ in shard.iter_rows()))",
        "if rank == 0:\n        print(shard.materialize().count())",
        'if rank == 0:\n        print(list(session.get_dataset_shard("valid").iter_rows()))',
        'if rank == 0:\n        print(list(session.get_dataset_shard("train").iter_rows()))',
    ],
)
def test_a_shard_that_some_workers_read_is_told(reads: str) -> None:
    text = script(reads)
    told = "Only some workers read this shard."
    assert any(message.startswith(told) for message in converted(text, from_ray="2.7").messages)
    kept = any(message.startswith(told) for message in converted(text, from_ray="2.6").messages)
    assert kept == ('"train"' in reads)  # the other one is left whole
    alone = text.replace("num_workers=2", "num_workers=1")
    assert not any(message.startswith(told) for message in converted(alone, from_ray="2.7").messages)


@pytest.mark.parametrize(
    ("head", "given", "told"),
    [
        ('common = {"num_workers": 1}', "**common", False),
        ("common = dict(num_workers=1, use_gpu=True)", "**common", False),
        ('common = {}\ncommon["num_workers"] = 1', "use_gpu=True, **common", False),
        ('def common():\n    return {"num_workers": 1}\n', "**common()", False),
        ('common = {"num_workers": 1}\nif rows:\n    common["num_workers"] = 4', "**common", True),
        ('common = {"num_workers": 1} | load()', "**common", True),
        ("common = load()", "**common", True),
        ('common = {"use_gpu": True}', "num_workers=1, **common", False),
    ],
)
def test_the_workers_may_be_in_a_dict_that_the_scaling_config_unpacks(head: str, given: str, told: bool) -> None:
    text = script(READ_ALONE).replace("num_workers=2", given).replace("trainer = ", f"{head}\ntrainer = ")
    assert any(m.startswith("Only some") for m in converted(text, from_ray="2.7").messages) == told


@pytest.mark.parametrize(
    "reads",
    [
        "for batch in shard.iter_batches():\n        if rank == 0:\n            print(batch)",
        "if rank == 0:\n        print(evaluate(shard))\n    else:\n        evaluate(shard)",
        "if rank == 0:\n        print(shard.schema())",
        "if rank == 0:\n        print(list(mine.iter_rows()))",
        "if rank == 0:\n        print(evaluate(mine))\n    print(evaluate(shard))",
        "if config['evaluate']:\n        print(evaluate(shard))",
    ],
)
def test_a_shard_that_all_workers_read_is_not_told(reads: str) -> None:
    assert not any(m.startswith("Only some") for m in converted(script(reads), from_ray="2.7").messages)


def test_without_the_trainer_a_shard_is_told_in_a_note() -> None:
    text = script(READ_ALONE).partition("trainer = ")[0]
    outcome = converted(text, from_ray="2.7")
    assert len(outcome.lines("RM205", Kind.NOTE)) == 1
    assert not outcome.lines("RM205", Kind.MANUAL)


def unpacked(more: str, head: str = "options = load()") -> str:
    """A script in whose trainer call something is unpacked."""
    return script(more=more).replace("trainer = ", f"{head}\n\ntrainer = ")


@pytest.mark.parametrize("more", ["**options", "metadata=None, **options", "**{**options, 'metadata': None}"])
def test_what_is_unpacked_unseen_may_have_the_data_config(more: str) -> None:
    outcome = converted(unpacked(more))
    assert len(outcome.lines("RM205", Kind.MANUAL)) == 1
    assert any("dataset_config=ray.train.DataConfig" in message for message in outcome.messages)
    assert not converted(unpacked(more).replace("num_workers=2", "num_workers=1")).lines("RM205", Kind.MANUAL)


@pytest.mark.parametrize(
    "head",
    ["options = {'dataset_config': chosen}", "options = dict(dataset_config=chosen)"],
)
def test_one_that_is_unpacked_is_left_to_itself(head: str) -> None:
    assert not converted(unpacked("**options", head)).lines("RM205", Kind.MANUAL)


def test_what_is_unpacked_without_one_is_as_if_it_were_not() -> None:
    head = "from ray.air import Checkpoint\nuse(Checkpoint.from_dict({}))\noptions = {'train_loop_config': {}}"
    assert WHOLE in converted(unpacked("**options", head)).text


@pytest.mark.parametrize(
    ("more", "kept"),
    [
        ("preprocessor=mine.make(),", True),
        ("**{'preprocessor': mine.make()},", True),
        ("preprocessor=mine.FITTED,", False),
        ("**{'preprocessor': mine.FITTED},", False),
        ("preprocessor=None,", False),
        ("preprocessor=mine.make() if rank else None,", False),
    ],
)
def test_a_preprocessor_that_stays_tells_that_the_rest_was_whole(more: str, kept: bool) -> None:
    outcome = converted(script(imports="import mine", more=more))
    assert (WHOLE in outcome.text) == kept
    assert len(outcome.lines("RM205", Kind.CONVERTED if kept else Kind.MANUAL)) == 1


HANDED = """
import functools
import ray
from ray.air.config import ScalingConfig
from ray.train.torch import TorchTrainer

train, valid = ray.data.range(40), ray.data.range(20)
TWO = ScalingConfig(num_workers=2)

def loop(config):
    print(ray.air.session.get_dataset_shard("valid"){old})

{made}
"""
SETS = '{"train": train, "valid": valid}'
MADE = {
    "held by a class": f"""
class Job:
    trainer_cls = TorchTrainer

    def datasets(self):
        return {SETS}

    def fit(self):
        options = dict(scaling_config=TWO, datasets=self.datasets())
        if self.more:
            options["run_config"] = self.more
        return self.trainer_cls(loop, **options).fit()
""",
    "a default": f"def fit(data, cls=TorchTrainer):\n    return cls(loop, datasets={SETS}, scaling_config=TWO).fit()",
    "in a table": f'T = {{"torch": TorchTrainer}}\nT["torch"](loop, datasets={SETS}, scaling_config=TWO)',
    "one that says nothing of the split": (
        f'T = {{"torch": TorchTrainer}}\nT["torch"](loop, datasets={SETS}, dataset_config=None, scaling_config=TWO)'
    ),
    "partial": f"make = functools.partial(TorchTrainer, loop, datasets={SETS})\nmake(scaling_config=TWO)",
    "a subclass": f"class Own(TorchTrainer):\n    pass\n\nOwn(loop, datasets={SETS}, scaling_config=TWO)",
    "its constructor": f"""
class Own(TorchTrainer):
    def __init__(self):
        super().__init__(loop, datasets={SETS}, scaling_config=TWO)
""",
}


def handed(made: str, old: str = "") -> str:
    return HANDED.format(made=MADE.get(made, made), old=old)


@pytest.mark.parametrize("made", MADE)
def test_it_is_told_of_a_trainer_that_gets_them_in_another_way(made: str) -> None:
    open_one, sure = converted(handed(made)), converted(handed(made, ".get_checkpoint().to_dict()"))
    [line] = open_one.lines("RM205", Kind.MANUAL)
    assert sure.lines("RM205", Kind.MANUAL) == [line]
    assert "datasets=" in handed(made).lstrip().splitlines()[line - 1]
    assert any("If the job ran on Ray <= 2.6, give" in message for message in open_one.messages)


@pytest.mark.parametrize(
    ("part", "other"),
    [
        ('"valid": valid}', '"valid": valid}, dataset_config=ray.train.DataConfig(["train"])'),
        (', "valid": valid', ""),
        ("workers=2", "workers=1"),
        (": TorchTrainer}", ": pick()}"),
    ],
)
def test_nothing_is_told_where_all_or_nothing_is_split(part: str, other: str) -> None:
    assert part in handed("in a table")
    assert not converted(handed("in a table").replace(part, other)).lines("RM205", Kind.MANUAL)


@pytest.mark.parametrize(
    "constructor",
    [
        'super().__init__(loop, dataset_config=ray.train.DataConfig(["train"]), **given)',
        'given["dataset_config"] = ray.train.DataConfig(["train"])\n        super().__init__(loop, **given)',
        'given.update(dataset_config=ray.train.DataConfig(["train"]))\n        super().__init__(loop, **given)',
    ],
)
def test_a_constructor_may_say_what_is_split(constructor: str) -> None:
    own = f"class Own(TorchTrainer):\n    def __init__(self, **given):\n        {constructor}\n\n"
    assert not converted(handed(f"{own}Own(datasets={SETS}, scaling_config=TWO)")).lines("RM205", Kind.MANUAL)


def test_a_method_may_give_the_training_data_alone() -> None:
    assert not converted(handed("held by a class").replace(', "valid": valid', "")).lines("RM205", Kind.MANUAL)


def test_nothing_is_told_where_the_job_ran_on_ray_2_7() -> None:
    assert not converted(handed("held by a class"), from_ray="2.7").lines("RM205", Kind.MANUAL)


@pytest.mark.parametrize(
    "made",
    [
        f"options = dict(datasets={SETS}, scaling_config=TWO)\nTorchTrainer(loop, **options)",
        f"options = {{'scaling_config': TWO}}\noptions['datasets'] = {SETS}\nTorchTrainer(loop, **options)",
        f"def options():\n    return dict(datasets={SETS})\nTorchTrainer(loop, scaling_config=TWO, **options())",
    ],
)
def test_the_datasets_may_be_in_a_dict(made: str) -> None:
    assert len(converted(handed(made)).lines("RM205", Kind.MANUAL)) == 1
    assert WHOLE in converted(handed(made), from_ray="2.6").text


def test_what_others_may_bring_in_is_not_known() -> None:
    told = converted(handed(f"T = TorchTrainer\nT(loop, datasets={SETS}, scaling_config=TWO, **load())"))
    assert any("it cannot be seen whether what is unpacked" in message for message in told.messages)

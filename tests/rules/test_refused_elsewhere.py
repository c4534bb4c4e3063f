"""RM401, RM403 and RM502 where a refused argument reaches a class in another way than by a call of it."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

BEGIN = """
import dataclasses
from ray.data.preprocessors import StandardScaler
from ray.train import CheckpointConfig, RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer

def loop(config):
    print(config)

scaler = StandardScaler(["x"])
"""
MADE = "class Made({0}):\n    def __init__(self, name, **others):\n        super().__init__({1}**others)\n"
CASES = [
    (MADE.format("RunConfig", "local_dir='/a', "), "RM401"),
    (MADE.format("ScalingConfig", "trainer_resources={{}}, "), "RM401"),
    (MADE.format("RunConfig", "") + "Made('a', verbose=1)", "RM401"),
    (MADE.format("RunConfig", "") + "Made('a', **{'log_to_file': True})", "RM401"),
    (MADE.format("RunConfig", "stop=None, "), "RM401"),  # Ray 2.60 raises for None too
    ("RunConfig(**{'stop': None})", "RM401"),
    ("given = {'metadata': None}\ngiven['metadata'] = {'a': 1}\nTorchTrainer(loop, **given)", "RM403"),
    ("class Made(RunConfig):\n    pass\nMade(local_dir='/a')", "RM401"),
    ("class Made(RunConfig):\n    def __init__(self):\n        RunConfig.__init__(self, verbose=1)", "RM401"),
    ("dataclasses.replace(RunConfig(), local_dir='/a')", "RM401"),
    ("config = CheckpointConfig()\nconfig = dataclasses.replace(config, checkpoint_at_end=True)", "RM401"),
    ("class Job:\n    kind = RunConfig\n    def make(self):\n        return self.kind(verbose=1)", "RM401"),
    ("Kind = RunConfig\nKind(local_dir='/a')", "RM401"),
    (MADE.format("TorchTrainer", "loop, resume_from_checkpoint=name, "), "RM403"),
    (MADE.format("TorchTrainer", "loop, ") + "Made('a', metadata={'a': 1})", "RM403"),
    (MADE.format("TorchTrainer", "loop, preprocessor=scaler, "), "RM502"),
    (MADE.format("TorchTrainer", "loop, ") + "Made('a', preprocessor=scaler)", "RM502"),
    ("TorchTrainer(loop, **{'preprocessor': scaler})", "RM502"),
    ("TorchTrainer(loop, **{'preprocessor': None})", "RM502"),
    ("given = {}\ngiven['preprocessor'] = scaler\nTorchTrainer(loop, **given)", "RM502"),
    ("def make(**given):\n    return TorchTrainer(loop, **given)\nmake(preprocessor=scaler)", "RM502"),
    ("{'torch': TorchTrainer}['torch'](loop, preprocessor=scaler)", "RM502"),
]


@pytest.mark.parametrize(("use", "code"), CASES)
def test_a_refused_argument_is_told_once(use: str, code: str) -> None:
    outcome = converted(BEGIN + use.replace("{{}}", "{}") + "\n")
    assert [found for found, kind, *_ in outcome.findings if kind is Kind.MANUAL] == [code]


def test_each_of_several_refused_arguments_is_told() -> None:
    outcome = converted(f"{BEGIN}{MADE.format('RunConfig', '')}Made('a', verbose=1, local_dir='/a')\n")
    assert [message.partition("=")[0] for message in outcome.messages] == ["RunConfig(verbose", "RunConfig(local_dir"]


@pytest.mark.parametrize(
    "use",
    [
        MADE.format("RunConfig", "storage_path='/a', ") + "Made('a', name='b')",
        MADE.format("TorchTrainer", "loop, resume_from_checkpoint=None, metadata=None, "),
        MADE.format("RunConfig", "callbacks=[], "),
        MADE.format("ScalingConfig", "trainer_resources=None, "),
        "TorchTrainer(loop, **{'resume_from_checkpoint': None, 'metadata': None})",
        "NOTHING = None\ngiven = dict(resume_from_checkpoint=NOTHING)\nTorchTrainer(loop, **given)",
        "RunConfig(**{'callbacks': None})\nScalingConfig(**dict(trainer_resources=None))",
        MADE.format("dict", "local_dir='/a', ") + "Made('a', verbose=1, metadata={})",
        "class Made(RunConfig):\n    def __init__(self, verbose=1, **others):\n        super().__init__(**others)\n"
        "Made(verbose=2)",
        "class Made(TorchTrainer):\n    def __init__(self, preprocessor, **others):\n"
        "        super().__init__(loop, **others)\nMade(preprocessor=scaler)",
        "dataclasses.replace(scaler, verbose=1)",
        "dataclasses.replace(RunConfig(), storage_path='/a')",
        "given = {'datasets': {}}\nTorchTrainer(loop, **given)",
    ],
)
def test_others_are_not_told(use: str) -> None:
    outcome = converted(BEGIN + use + "\n")
    assert not [found for found, kind, *_ in outcome.findings if kind is Kind.MANUAL]


@pytest.mark.parametrize(
    ("resume", "outcome"),
    [
        (
            "resume = None\nif found:\n    resume = Checkpoint.from_directory(found)",
            "Ray >= 2.51 where it is not None.",
        ),
        ("resume = Checkpoint(found) if found else None", "Ray >= 2.51 where it is not None."),
        ("resume = Checkpoint(found)", "Ray >= 2.51."),
    ],
)
def test_none_is_no_checkpoint_to_begin_from(resume: str, outcome: str) -> None:
    script = (
        "from mine import found, loop\nfrom ray.train import Checkpoint\nfrom ray.train.torch import TorchTrainer\n"
        f"{resume}\nTorchTrainer(loop, resume_from_checkpoint=resume)\n"
    )
    (said,) = (text for text in converted(script).messages if "resume_from_checkpoint=) raises" in text)
    assert f"raises on {outcome}" in said


LEGACY = """
from ray.air import ScalingConfig
from ray.train.torch import TorchTrainer
from job import load

def loop(config):
    print(config)

SEEN = {{"scaling_config": ScalingConfig(num_workers=2)}}

def build(more, **rest):
    return {made}

{after}
"""


@pytest.mark.parametrize(
    ("made", "after"),
    [
        ("TorchTrainer(loop, **load())", ""),
        ("TorchTrainer(loop, **more)", "build(load())"),
        ("TorchTrainer(loop, **rest)", "build(1, **load())"),
        ("TorchTrainer(loop, **{{**SEEN, **load()}})".replace("{{", "{").replace("}}", "}"), ""),
    ],
)
def test_what_a_trainer_gets_unseen_is_told_in_legacy_scripts(made: str, after: str) -> None:
    outcome = converted(LEGACY.format(made=made, after=after))
    assert outcome.lines("RM401", Kind.MANUAL) == [11]
    told = next(message for message in outcome.messages if "cannot be seen here" in message)
    assert "preprocessor" in told and "RM205" in told and "RM406" in told


@pytest.mark.parametrize(
    ("made", "body", "told"),
    [
        ("partial(TorchTrainer, loop, **load())()", "pass", True),
        ("partial(print, loop, **load())()", "pass", False),
        ("Own(loop, **load())", "pass", True),
        ("Own(loop, **load())", "def __init__(self, *given, **more): super().__init__(*given, **more)", True),
        ("Own(loop, **load())", "def __init__(self, *given, **more): super().__init__(*given)", False),
        ("Own(loop, scaling_config=None)", "pass", False),
    ],
)
def test_so_is_what_it_gets_by_way_of_others(made: str, body: str, told: bool) -> None:
    head = f"from functools import partial\n\nclass Own(TorchTrainer):\n    {body}\n\nSEEN ="
    script = LEGACY.format(made=made, after="").replace("SEEN =", head)
    outcome = converted(script)
    assert bool(outcome.lines("RM401", Kind.MANUAL)) is told


def test_of_what_is_given_beside_it_nothing_is_said() -> None:
    made = 'TorchTrainer(loop, run_config=None, **{"datasets": more, **load()})'
    outcome = converted(LEGACY.format(made=made, after=""))
    told = next(message for message in outcome.messages if "TorchTrainer takes fewer" in message)
    assert "preprocessor" in told and "If a run_config" not in told and "If datasets" not in told


@pytest.mark.parametrize(
    "made",
    ["TorchTrainer(loop, **SEEN)", "TorchTrainer(loop, **dict(SEEN, datasets=more))", "TorchTrainer(loop, **{})"],
)
def test_what_is_seen_whole_is_not_told(made: str) -> None:
    assert not converted(LEGACY.format(made=made, after="")).lines("RM401", Kind.MANUAL)


def test_a_trainer_of_the_ray_of_today_may_take_what_it_likes() -> None:
    script = LEGACY.format(made="TorchTrainer(loop, **load())", after="").replace("ray.air", "ray.train")
    assert not converted(script).findings


@pytest.mark.parametrize("key", ["metadata", "resume_from_checkpoint"])
@pytest.mark.parametrize("made", ["TorchTrainer(loop, **{{'{}': more}})", "TorchTrainer(loop, **dict({}=more))"])
def test_what_a_trainer_refuses_out_of_a_dict_is_told(key: str, made: str) -> None:
    outcome = converted(LEGACY.format(made=made.format(key), after=""))
    assert outcome.lines("RM403", Kind.MANUAL) == [11]

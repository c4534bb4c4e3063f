"""RM606: the text of a checkpoint, which is taken apart or compared; and what checkpoints are made from by name."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
import re
import pytest
import ray.train
from ray.air import Checkpoint, session
from ray.train.huggingface import HuggingFaceCheckpoint
from ray.train.torch import TorchCheckpoint

made = TorchCheckpoint("/run")
old = Checkpoint.from_directory("/run")
"""
PARAMETRIZED = """
@pytest.mark.parametrize("checkpoint", [HuggingFaceCheckpoint(data_dict={"a": 1}), TorchCheckpoint(data_dict={"a": 1})])
def test_repr(checkpoint):
    representation = repr(checkpoint)
    assert len(representation) < 100
    pattern = re.compile(f"^{checkpoint.__class__.__name__}(.*)$")
    assert pattern.match(representation)
"""


@pytest.mark.parametrize(
    "use",
    [
        PARAMETRIZED,
        "assert repr(made).startswith(type(made).__name__)",
        "assert str(TorchCheckpoint.from_model(net)).endswith('checkpoint_0)')",
        "path = str(old).split('local_path=')[1][:-1]",
        "text = f'{session.get_checkpoint()}'\nassert 'local_path' in text",
        "if old.__repr__() == 'Checkpoint(local_path=/run)':\n    pass",
        "def read(given: Checkpoint):\n    return re.search('=(.*)', str(given))",
        "class Test(unittest.TestCase):\n    def test(self):\n        self.assertIn('Torch', str(made))",
        "text = str(old)\npath = text[22:-1]",
        "text = '{}'.format(old)\nassert text == 'Checkpoint(local_path=/run)'",
        "assert '%s is old' % made == 'TorchCheckpoint(local_path=/run) is old'",
    ],
)
def test_the_text_of_a_checkpoint_is_another_one(use: str) -> None:
    assert len(converted(SCRIPT + use).lines("RM606", Kind.MANUAL)) == 1


@pytest.mark.parametrize(
    "use",
    [
        "print(f'got {made}', str(old), repr(old))",
        "assert str(made) != str(old)",
        "names = {str(old): 1}\nprint(names[str(old)])",
        "assert str(old.path) == '/run'",
        "assert f'{old.path}'.startswith('/run')",
        "assert len(repr(old)) < 100",
        "other = read()\nassert str(other) == 'a'",
    ],
)
def test_a_text_that_is_shown_or_of_something_else_is_no_news(use: str) -> None:
    assert not converted(SCRIPT + use).lines("RM606", Kind.MANUAL)


def test_what_current_ray_wrote_is_read_as_before() -> None:
    script = "from ray.train import Checkpoint\n\npath = str(Checkpoint('/run')).split('path=')[1]\n"
    assert not converted(script).lines("RM606", Kind.MANUAL)


@pytest.mark.parametrize(
    ("made", "code", "advice"),
    [
        ("HuggingFaceCheckpoint(data_dict={'a': 1})", "RM601", "Use the dict itself."),
        ("HuggingFaceCheckpoint(None, {'a': 1})", "RM601", "Use the dict itself."),
        ("HuggingFaceCheckpoint.from_dict({'a': 1})", "RM601", "Use the dict itself."),
        (
            "HuggingFaceCheckpoint(data_dict=old.to_dict())",
            "RM601",
            "The dict of another checkpoint only carried its folder",
        ),
        (
            "HuggingFaceCheckpoint.from_dict(old.to_dict())",
            "RM601",
            "The dict of another checkpoint only carried its folder",
        ),
        ("HuggingFaceCheckpoint.from_bytes(data)", "RM601", "Hand the folder of the checkpoint on"),
        ("HuggingFaceCheckpoint(obj_ref=data)", "RM601", "Hand the checkpoint itself on"),
        ("TorchCheckpoint(data_dict={'a': 1})", "RM303", "kept by TorchCheckpoint.from_state_dict(state_dict)"),
        ("TorchCheckpoint(None, {'a': 1})", "RM303", "Use the dict itself"),
        ("TorchCheckpoint(**{'data_dict': d})", "RM303", "Use the dict itself"),
        ("HuggingFaceCheckpoint(**dict(data_dict=d))", "RM601", "Use the dict itself"),
        ("TorchCheckpoint(**{'local_path': d})", "RM308", "Name it path= in the dict that is unpacked."),
        ("ray.train.torch.torch_checkpoint.TorchCheckpoint(data_dict=d)", "RM303", "TorchCheckpoint.from_state_dict"),
        ("TorchCheckpoint(data_dict=old.to_dict())", "RM303", "Take the checkpoint itself that gives the dict"),
        ("ray.train.xgboost.XGBoostCheckpoint(data_dict=d)", "RM303", "kept by XGBoostCheckpoint.from_model(model)"),
    ],
)
def test_what_was_made_from_a_dict_is_said_how_to_make(made: str, code: str, advice: str) -> None:
    outcome = converted(f"{SCRIPT}print({made})")
    assert len(outcome.lines(code, Kind.MANUAL)) == 1
    assert not outcome.lines("RM693", Kind.MANUAL)
    assert bool(outcome.lines("RM304", Kind.MANUAL)) == ("to_dict()" in made)
    assert any(advice in text for text in outcome.messages)


@pytest.mark.parametrize(
    ("made", "now"),
    [
        ("TorchCheckpoint(local_path='/run')", "TorchCheckpoint(path='/run')"),
        ("TorchCheckpoint(uri='s3://run', data_dict=None)", "TorchCheckpoint(path='s3://run')"),
        ("TorchCheckpoint('/run')", "TorchCheckpoint('/run')"),
        ("TorchCheckpoint(path='/run')", "TorchCheckpoint(path='/run')"),
    ],
)
def test_a_checkpoint_of_a_framework_is_opened_by_its_path(made: str, now: str) -> None:
    assert f"print({now})" in converted(f"{SCRIPT}print({made})").text


def test_a_class_derived_from_a_checkpoint_class_derives_from_the_current_one() -> None:
    outcome = converted(f"{SCRIPT}class Own(HuggingFaceCheckpoint):\n    pass")
    assert any("Derive the class from ray.train.Checkpoint" in text for text in outcome.messages)


@pytest.mark.parametrize(
    ("use", "now"),
    [
        ("isinstance(old, HuggingFaceCheckpoint)", "isinstance(old, Checkpoint)"),
        ("isinstance(old, (HuggingFaceCheckpoint, TorchCheckpoint))", "isinstance(old, (Checkpoint, TorchCheckpoint))"),
        ("type(old) is HuggingFaceCheckpoint", "type(old) is Checkpoint"),
        ("type(old) != HuggingFaceCheckpoint", "type(old) != Checkpoint"),
    ],
)
def test_a_type_is_the_current_class(use: str, now: str) -> None:
    outcome = converted(f"{SCRIPT}print({use})")
    assert f"print({now})" in outcome.text
    assert not outcome.lines("RM601", Kind.MANUAL)


@pytest.mark.parametrize("use", ["load(HuggingFaceCheckpoint)", "kinds = [HuggingFaceCheckpoint]"])
def test_a_class_that_is_handed_on_is_told(use: str) -> None:
    outcome = converted(SCRIPT + use)
    assert outcome.lines("RM601", Kind.MANUAL)
    assert any("Take ray.train.Checkpoint" in message for message in outcome.messages)


def test_what_is_a_checkpoint_in_one_way_is_told() -> None:
    made = "found = kind.from_directory('/x') if kind else HuggingFaceCheckpoint.from_uri('s3://x')\n"
    assert converted(f"{SCRIPT}{made}print(found.get_model(model))").lines("RM601", Kind.MANUAL)


@pytest.mark.parametrize("use", ["old._local_path", "old.get_internal_representation()[1]", "old._data_dict['a']"])
def test_what_a_checkpoint_was_inside_is_told(use: str) -> None:
    assert converted(f"{SCRIPT}print({use})").lines("RM308", Kind.MANUAL)
    assert not converted(f"{SCRIPT}other = read()\nprint({use.replace('old', 'other')})").lines("RM308", Kind.MANUAL)

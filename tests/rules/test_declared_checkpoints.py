"""RM304, RM308, RM604 and RM607 of checkpoints and results that annotations declare, or of a class of a framework."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
from dataclasses import dataclass
from typing import Any, Dict, Optional, Union
from ray import air
from ray.air import Checkpoint, Result, ScalingConfig, session
from ray.train.torch import TorchCheckpoint, TorchTrainer
from ray.train.xgboost import XGBoostCheckpoint

"""
FIELD = "@dataclass\nclass Job:\n    {field}\n\n    def read(self):\n        return {read}\n"


def codes(script: str) -> set[str]:
    """The rules that leave something to a person."""
    return {code for code, kind, _ in converted(SCRIPT + script).findings if kind is Kind.MANUAL}


@pytest.mark.parametrize(
    "annotation", ["Checkpoint", "Optional[Checkpoint]", "Checkpoint | None", "Union[str, Checkpoint]"]
)
@pytest.mark.parametrize(("read", "code"), [("to_dict()", "RM304"), ("uri", "RM607"), ("to_bytes()", "RM308")])
def test_a_declared_checkpoint(annotation: str, read: str, code: str) -> None:
    assert code in codes(f"def load(one: {annotation}):\n    return use(one.{read})\n")
    assert code in codes(FIELD.format(field=f"one: {annotation}", read=f"use(self.one.{read})"))


@pytest.mark.parametrize(
    "annotation",
    ["Result", "Optional[Result]", "Result | None", "'Result'", "Optional['Result']", "'air.Result | None'"],
)
@pytest.mark.parametrize(
    ("read", "code"),
    [
        ("one.checkpoint.uri", "RM607"),
        ("one.checkpoint.to_dict()", "RM304"),
        ("one.best_checkpoints[0][0].to_dict()", "RM304"),
        ("one.log_dir", "RM604"),
    ],
)
def test_a_declared_result(annotation: str, read: str, code: str) -> None:
    assert code in codes(f"def load(one: {annotation}):\n    return use({read})\n")
    assert code in codes(FIELD.format(field=f"one: {annotation}", read=f"use(self.{read})"))


@pytest.mark.parametrize("several", ["List[Result]", "list[Result]", "Sequence['Result']", "tuple[Result, ...]"])
def test_the_items_of_what_is_declared(several: str) -> None:
    head = f"from typing import List, Sequence\n\ndef load(several: {several}):\n    "
    assert "RM604" in codes(f"{head}for one in several:\n        use(one.log_dir)\n")
    assert "RM607" in codes(f"{head}return [use(one.checkpoint.uri) for one in several]\n")
    other = head.replace(several, "dict[Result, Own]")
    assert not codes(f"{other}for one in several:\n        use(one.log_dir)\n")


@pytest.mark.parametrize("pair", ["tuple[Result, Own]", "Tuple[Result, 'Own']", "'tuple[Result, Own]'"])
def test_an_item_of_a_pair_is_of_the_class_at_its_index(pair: str) -> None:
    own = "from typing import Tuple\n\nclass Own:\n    log_dir = ''\n\n"
    head = f"{own}def load(pair: {pair}, n=0):\n    "
    assert "RM604" in codes(f"{head}use(pair[0].log_dir)\n")
    assert "RM604" in codes(f"{head}use(pair[-2].log_dir)\n")
    for item in ("pair[1]", "pair[-1]", "pair[n]", "pair[2]"):
        assert not codes(f"{head}use({item}.log_dir)\n")
    assert not codes(f"{head}for one in pair:\n        use(one.log_dir)\n")
    assert "RM604" in codes(f"{head.replace(pair, 'tuple[Result]')}for one in pair:\n        use(one.log_dir)\n")


def test_an_attribute_that_is_declared_where_it_is_set() -> None:
    script = (
        "class Job:\n    def __init__(self, one):\n        self.one: Result = one\n\n    def read(self):\n        {}\n"
    )
    assert codes(script.format("return use(self.one.log_dir, self.one.checkpoint.to_dict())")) == {"RM304", "RM604"}
    assert not codes(script.replace(": Result", ": Own").format("return use(self.one.log_dir)"))


def test_what_is_only_shown_is_converted() -> None:
    assert "print(one.path)" in converted(f"{SCRIPT}def show(one: Optional[Result]):\n    print(one.log_dir)\n").text


@pytest.mark.parametrize(
    "annotation", ["Any", "Optional[Dict]", "Own", "Optional[Own]", "Union[str, Own]", "'Own'", "'Optional[Own]'"]
)
def test_what_is_declared_to_be_something_else(annotation: str) -> None:
    own = "class Own:\n    uri = ''\n    log_dir = ''\n    def to_dict(self):\n        return {}\n\n"
    reads = "one.to_dict(), one.uri, one.log_dir, one.checkpoint.uri"
    assert not codes(f"{own}def load(one: {annotation}):\n    return use({reads})\n")


@pytest.mark.parametrize(
    "made",
    [
        "TorchCheckpoint(path)",
        "TorchCheckpoint.from_checkpoint(other)",
        "TorchCheckpoint.from_model(model)",
        "XGBoostCheckpoint.from_directory(path)",
    ],
)
@pytest.mark.parametrize(("read", "code"), [("to_dict()", "RM304"), ("uri", "RM607"), ("to_bytes()", "RM308")])
def test_a_checkpoint_of_a_framework(made: str, read: str, code: str) -> None:
    assert code in codes(f"one = {made}\nuse(one.{read})\n")
    assert code in codes(f"def load(one: {made.partition('Checkpoint')[0]}Checkpoint):\n    return use(one.{read})\n")


def test_what_a_framework_still_has_is_not_told() -> None:
    script = (
        "one = XGBoostCheckpoint(path)\nuse(one.get_model(), one.path, one.as_directory(), one.get_preprocessor())\n"
    )
    assert not codes(script)


def test_the_advice_names_the_file_that_the_class_writes() -> None:
    loop = "def loop(config):\n    session.report({{}}, checkpoint={made})\n\n"
    fit = "TorchTrainer(loop, scaling_config=ScalingConfig(num_workers=1)).fit()"
    read = f"result = {fit}\nuse(result.checkpoint.to_dict(1))\n"

    def advice(made: str) -> str:
        messages = converted(SCRIPT + loop.format(made=made) + read).messages
        return next(message for message in messages if message.startswith("Checkpoint.to_dict()"))

    assert "get_model(model)" in advice("TorchCheckpoint.from_state_dict(state)")
    assert "checkpoint.pt" not in advice("TorchCheckpoint.from_state_dict(state)")
    assert "get_model(model)" not in advice("Checkpoint.from_dict(state)")


@pytest.mark.parametrize("place", ['call.kwargs["checkpoint"]', 'call[1]["checkpoint"]', 'config["checkpoint"]'])
def test_an_item_that_is_called_so(place: str) -> None:
    check = f"kept = ScalingConfig()\n\ndef check(call, config):\n    assert {place}.to_dict() == {{}}\n"
    outcome = converted(SCRIPT + check)
    assert any(message.startswith("If this is a checkpoint of Ray") for message in outcome.messages)
    assert not codes(check.replace("checkpoint", "row"))


OF_TRAINER = """
from ray.train.torch import TorchTrainer


class Job(TorchTrainer):
    {method}
"""
ONE = "return one.fit().checkpoint.to_dict()"


@pytest.mark.parametrize(
    ("method", "is_sure"),
    [
        (f"def last(one):\n        {ONE}", True),
        (f"def last(one, /):\n        {ONE}", True),
        (f"@staticmethod\n    def last(one):\n        {ONE}", False),
        (f"@staticmethod\n    def last(one, /):\n        {ONE}", False),
        (f"def last(self, one):\n        {ONE}", False),
    ],
)
def test_a_static_method_gets_no_object_of_its_class(method: str, is_sure: bool) -> None:
    messages = [text for text in converted(OF_TRAINER.format(method=method)).messages if "to_dict()" in text]
    assert [text.startswith("If this is a checkpoint of Ray:") for text in messages] == [not is_sure]

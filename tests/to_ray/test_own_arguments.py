"""Classes of arguments that a script defines: what the workers get of them (RM808)."""

import copyreg
import dataclasses
import pickle
import sys
import typing
from types import ModuleType

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

HEAD = """\
import dataclasses
import transformers
import trl
from dataclasses import dataclass, field
from transformers import AutoModel, HfArgumentParser, Trainer, TrainingArguments
"""
PLAIN = """\
@dataclass
class Model:
    name: str
"""
OURS = """\
@dataclass
class Ours(TrainingArguments):
    extra: str = "e"
"""
SENT = 'copyreg.pickle(type(MISSING), lambda _: "MISSING")'
NAMED = 'sys.modules["__main__"].Ours = Ours'


def after(classes: str, arguments: str) -> str:
    """The converted script: classes of arguments, and a main that makes `args` by a piece of code."""
    main = f'def main():\n    {arguments}\n    Trainer(AutoModel.from_pretrained("bert"), args).train()\n'
    outcome = converted(f"{HEAD}{classes}{main}main()\n", to_ray=True)
    assert "trainer = TorchTrainer(" in outcome.text, outcome.messages
    return outcome.text


@pytest.mark.parametrize(
    ("classes", "arguments"),
    [
        (PLAIN, "model, args = HfArgumentParser((Model, TrainingArguments)).parse_args_into_dataclasses()"),
        (PLAIN, "model, args = HfArgumentParser(dataclass_types=[Model, TrainingArguments]).parse_json_file('a.json')"),
        (PLAIN, "model, args = trl.TrlParser((Model, trl.SFTConfig)).parse_args_and_config()"),
        (f"{PLAIN}KINDS = (Model, TrainingArguments)\n", "model, args = HfArgumentParser(KINDS).parse_yaml_file('a')"),
        (
            f"{PLAIN}KINDS = [TrainingArguments]\nKINDS.append(Model)\n",
            "args, model = HfArgumentParser(KINDS).parse_args_into_dataclasses()",
        ),
        (
            f"{PLAIN}def parse(kinds):\n    return HfArgumentParser(kinds).parse_args_into_dataclasses()\n",
            "model, args = parse((Model, TrainingArguments))",
        ),
        (
            PLAIN.replace("@dataclass", "@dataclasses.dataclass(frozen=True)"),
            "model, args = transformers.HfArgumentParser((Model, TrainingArguments)).parse_dict({'name': 'bert'})",
        ),
        (OURS, "[args] = HfArgumentParser(Ours).parse_args_into_dataclasses()"),
    ],
)
def test_what_a_parser_reads_is_sent_with_the_true_missing(classes: str, arguments: str) -> None:
    text = after(classes, arguments)
    assert text.count(SENT) == 1
    assert text.index(SENT) < text.index("def train_func")
    assert "MISSING, dataclass" in text


def test_missing_is_sent_by_its_name() -> None:
    copyreg.pickle(type(dataclasses.MISSING), lambda _: "MISSING")
    assert pickle.loads(pickle.dumps(dataclasses.MISSING)) is dataclasses.MISSING


@pytest.mark.parametrize(
    ("classes", "arguments"),
    [
        (PLAIN, "args = TrainingArguments('out'); model = Model('bert')"),
        (PLAIN, "[args] = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()"),
        ("", "[args] = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()"),
        (OURS, "args = Ours('out')"),
        ("class Model: pass\n", "types = [TrainingArguments]\n    [args] = HfArgumentParser(types).parse_dict({})"),
    ],
)
def test_a_class_that_no_parser_reads_needs_no_missing(classes: str, arguments: str) -> None:
    text = after(classes, arguments.replace("; ", "\n    "))
    assert "MISSING" not in text


@pytest.mark.parametrize(
    ("classes", "arguments"),
    [
        (OURS, "[args] = HfArgumentParser(Ours).parse_args_into_dataclasses()"),
        (OURS, "args = Ours('out')"),
        ("class Ours(transformers.TrainingArguments): pass\n", "args = Ours('out')"),
        ("@dataclass\nclass Ours(transformers.Seq2SeqTrainingArguments): pass\n", "args = Ours('out')"),
        (OURS.replace("TrainingArguments", "trl.SFTConfig"), "args = Ours('out')"),
        (f"{OURS.replace('Ours', 'Base')}class Ours(Base): pass\n", "args = Ours('out')"),
    ],
)
def test_pickle_finds_the_class_of_saved_arguments(classes: str, arguments: str) -> None:
    text = after(classes, arguments)
    assert text.count(NAMED) == 1
    assert text.index("def train_func") < text.index(NAMED)
    assert "Base = Base" not in text


def test_classes_of_others_need_no_name() -> None:
    text = after(PLAIN, "model, args = HfArgumentParser((Model, TrainingArguments)).parse_args_into_dataclasses()")
    assert 'sys.modules["__main__"]' not in text


def test_a_class_that_moves_is_told() -> None:
    script = f"""{HEAD}model = AutoModel.from_pretrained("bert")
class Ours(TrainingArguments):
    hidden: int = model.config.hidden_size
Trainer(model, Ours("out")).train()
"""
    outcome = converted(script, to_ray=True)
    assert outcome.lines("RM808", Kind.MANUAL) == [7]
    assert any("pickle does not find it" in message for message in outcome.messages)


def test_an_accelerate_script_needs_missing_and_saves_no_arguments() -> None:
    script = f"""{HEAD}from accelerate import Accelerator
{PLAIN}{OURS}
def main():
    model_args, args = HfArgumentParser((Model, Ours)).parse_args_into_dataclasses()
    accelerator = Accelerator()
    model, loader = accelerator.prepare(AutoModel.from_pretrained("bert"), [])
    for epoch in range(3):
        for batch in loader:
            accelerator.backward(model(**batch).loss)
        print(epoch)
main()
"""
    text = converted(script, to_ray=True).text
    assert SENT in text
    assert NAMED not in text


ROW = """\
import pickle
import joblib
import torch

@dataclass
class Row:
    text: str

"""


@pytest.mark.parametrize(
    ("saves", "named"),
    [
        ("torch.save([Row('a')], '/rows.pt')", True),
        ("with open('/rows', 'wb') as file:\n        pickle.dump({'a': Row('a')}, file)", True),
        ("joblib.dump(value=Row('a'), filename='/rows')", True),
        ("rows = []\n    rows.append(Row('a'))\n    torch.save(rows, '/rows.pt')", True),
        ("torch.save([Row('a').text], '/rows.pt')", False),
    ],
)
def test_objects_that_a_worker_saves_are_found_by_their_class(saves: str, named: bool) -> None:
    text = after(ROW, f"args = TrainingArguments('/out')\n    {saves}")
    assert ('    sys.modules["__main__"].Row = Row  # pickle looks for it there\n' in text) is named


def test_objects_that_the_driver_saves_are_found_as_before() -> None:
    text = after(f"{ROW}print(len(pickle.dumps([Row('a')])))\n", "args = TrainingArguments('/out')")
    assert "\nprint(len(pickle.dumps([Row('a')])))\n" in text and "sys.modules" not in text


def test_a_class_that_the_training_function_makes_is_told() -> None:
    script = f"""{HEAD}
import torch

model = AutoModel.from_pretrained("bert")


class Row:
    def embed(self):
        return model(self)


torch.save([Row()], "/rows.pt")
Trainer(model, TrainingArguments("/out")).train()
"""
    messages = converted(script, to_ray=True).messages
    assert any("which is made in the training function: a PicklingError" in message for message in messages)


FUTURE = "from __future__ import annotations\n"
PARSED = "model, args = HfArgumentParser((Model, TrainingArguments)).parse_args_into_dataclasses()"


@pytest.mark.parametrize(
    ("first", "annotation", "names"),
    [
        (FUTURE, "Optional[str]", ["Optional"]),
        (FUTURE, "str", []),
        (FUTURE, "typing.Optional[Kind]", ["Kind", "typing"]),
        ("", '"Optional[Kind]"', ["Kind", "Optional"]),
        ("", 'Optional["Kind"]', ["Kind"]),
        ("", "Optional[str]", []),
        ("", 'Literal["Kind", "no kind"]', []),
    ],
)
def test_types_that_are_text_are_put_where_the_parser_looks(first: str, annotation: str, names: list[str]) -> None:
    imports = f"{first}import typing\nfrom enum import Enum\nfrom typing import Literal, Optional\n"
    classes = f'class Kind(Enum):\n    A = "a"\n@dataclass\nclass Model:\n    kind: {annotation} = None\n'
    main = f'def main():\n    {PARSED}\n    Trainer(AutoModel.from_pretrained("bert"), args).train()\n'
    text = converted(f"{imports}{HEAD}{classes}{main}main()\n", to_ray=True).text
    lines = [line.strip() for line in text.splitlines() if "# the parser looks for types there" in line]
    assert lines == [f'sys.modules["__main__"].{name} = {name}  # the parser looks for types there' for name in names]


def test_a_parser_finds_them_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a worker, whose `__main__` is a script of Ray, has the class: by what is in it, and with the name of that."""
    transformers = pytest.importorskip("transformers")
    types = {"Optional": typing.Optional}
    made = dataclasses.make_dataclass("Model", [("kind", "Optional[str]", None)])
    made.__module__ = "__main__"
    main = ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", main)
    with pytest.raises(RuntimeError, match="Type resolution failed"):
        transformers.HfArgumentParser(made)
    vars(main).update(types)
    assert transformers.HfArgumentParser(made).parse_args_into_dataclasses(args=[])[0].kind is None


def test_types_of_the_class_that_another_is_made_from_are_put_there_too() -> None:
    imports = f"{FUTURE}from typing import Optional\n"
    classes = (
        "@dataclass\nclass Base:\n    kind: Optional[str] = None\n@dataclass\nclass Model(Base):\n    a: str = 1\n"
    )
    main = f'def main():\n    {PARSED}\n    Trainer(AutoModel.from_pretrained("bert"), args).train()\n'
    text = converted(f"{imports}{HEAD}{classes}{main}main()\n", to_ray=True).text
    assert 'sys.modules["__main__"].Optional = Optional' in text

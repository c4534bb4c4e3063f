"""RM505: what is a DatasetDict of Hugging Face, wherever it was made."""

from pathlib import Path
from textwrap import dedent

import pytest

from raymigrate.base.findings import Kind
from tests.projects.files import convert, write
from tests.rules.scripts import converted

MADE = {
    "in one case a smaller one": """
        def load(quick):
            raw = load_dataset("org/data")
            if quick:
                raw = DatasetDict({name: split.select(range(9)) for name, split in raw.items()})
            raw = raw.remove_columns(["id"])
            return ray.data.from_huggingface(raw)
        """,
    "by a method": """
        class Data:
            def raw(self):
                return load_dataset("org/data")

            def load(self):
                self.datasets = ray.data.from_huggingface(self.raw().map(encode).rename_column("a", "labels"))
        """,
    "by the method of a derived class": """
        import abc

        class Data(abc.ABC):
            @abc.abstractmethod
            def raw(self):
                ...

            def load(self):
                return ray.data.from_huggingface(self.raw())

        class Reviews(Data):
            def raw(self):
                return load_dataset("org/data").shuffle(1)
        """,
    "kept in an attribute": """
        class Data:
            def __init__(self):
                self.raw = load_dataset("org/data")

            def load(self):
                return ray.data.from_huggingface(self.raw)
        """,
    "by its annotation": """
        def load(raw: DatasetDict):
            return ray.data.from_huggingface(raw)
        """,
    "from a disk": """
        data = ray.data.from_huggingface(DatasetDict.load_from_disk("saved").sort("length"))
        """,
    "step by step": """
        raw = load_dataset("org/data")
        for step in steps:
            raw = raw.map(step)
        splits = ray.data.from_huggingface(raw)
        """,
    "out of a split that was mapped": """
        whole = load_dataset("org/data", split="train").map(encode)
        splits = ray.data.from_huggingface(whole.train_test_split(0.1))
        """,
}
IN_ONE_CASE = {
    "one split in the other": """
        raw = load_dataset("org/data")
        if quick:
            raw = raw["train"]
        data = ray.data.from_huggingface(raw)
        """,
    "given by a caller": """
        def load(raw=None):
            raw = raw or load_dataset("org/data")
            return ray.data.from_huggingface(raw)
        """,
}
NO_DICTS = {
    "one split of each": """
        data = ray.data.from_huggingface(load_dataset("org/data", split="a" if quick else "b"))
        """,
    "whatever it is": """
        def load(raw):
            return ray.data.from_huggingface(raw)
        """,
    "one split by a method": """
        class Data:
            def raw(self):
                return load_dataset("org/data")["train"]

            def load(self):
                return ray.data.from_huggingface(self.raw())
        """,
}
HEAD = "import ray\nfrom datasets import DatasetDict, load_dataset\n"


@pytest.mark.parametrize("body", MADE.values(), ids=MADE)
def test_a_dict_is_seen_wherever_it_was_made(body: str) -> None:
    outcome = converted(HEAD + dedent(body))
    assert outcome.lines("RM505", Kind.CONVERTED)
    assert "(split)" in outcome.text


def test_a_dict_that_gets_its_name_in_the_call_is_told() -> None:
    outcome = converted(
        f'{HEAD}data = ray.data.from_huggingface((raw := load_dataset("org/data")))\nprint(raw, data)\n'
    )
    assert outcome.lines("RM505", Kind.MANUAL) == [3]  # a comprehension cannot hold the walrus


def test_a_dict_whose_name_is_given_by_a_walrus_is_seen() -> None:
    made = 'print(raw := load_dataset("org/data"))\n(splits := ray.data.from_huggingface(raw))["train"].show()\n'
    assert "{name: ray.data.from_huggingface(split)" in converted(HEAD + made).text


@pytest.mark.parametrize("body", IN_ONE_CASE.values(), ids=IN_ONE_CASE)
def test_what_may_be_a_dict_is_told(body: str) -> None:
    outcome = converted(HEAD + dedent(body))
    assert outcome.lines("RM505", Kind.MANUAL)
    assert any("Where this is a DatasetDict" in message for message in outcome.messages)


@pytest.mark.parametrize("body", NO_DICTS.values(), ids=NO_DICTS)
def test_what_is_not_seen_to_be_a_dict_is_left_in_peace(body: str) -> None:
    assert "RM505" not in {code for code, _, _ in converted(HEAD + dedent(body)).findings}


@pytest.mark.parametrize(
    ("given", "kinds"),
    [
        (["raw"], [Kind.CONVERTED]),
        (["raw", "raw.shuffle(1)"], [Kind.CONVERTED]),
        (["raw", "raw['train']"], [Kind.MANUAL]),
        (["raw['train']"], []),
    ],
)
def test_a_dict_that_other_files_hand_over_is_seen(given: list[str], kinds: list[Kind], tmp_path: Path) -> None:
    calls = "\n".join(f"to_ray({each})" for each in given)
    write(
        tmp_path,
        {
            "helpers.py": "import ray\n\n\ndef to_ray(data):\n    return ray.data.from_huggingface(data)\n",
            "job.py": f"{HEAD}from helpers import to_ray\n\nraw = load_dataset('org/data')\n{calls}\n",
        },
    )
    found = convert(tmp_path).findings
    assert [finding.kind for finding in found if finding.code == "RM505"] == kinds


HELPERS = [
    "def to_ray(data):\n    return ray.data.from_huggingface(data)\n",
    "def to_ray(data=None):\n    rows = ray.data.from_huggingface(dataset=data)\n    return rows\n",
]


@pytest.mark.parametrize("helper", HELPERS)
@pytest.mark.parametrize("split", ["raw['train']", "load_dataset('org/data', split='train')", "read()"])
def test_a_function_that_is_given_a_dict_and_a_split_takes_both(helper: str, split: str) -> None:
    uses = f"raw = load_dataset('org/data')\nfirst = to_ray(raw)['train']\nsecond = to_ray({split}).count()\n"
    outcome = converted(f"{HEAD}{helper}{uses}")
    assert outcome.lines("RM505", Kind.CONVERTED)
    assert "if isinstance(data, dict)" in outcome.text
    assert "else ray.data.from_huggingface(data)" in outcome.text


@pytest.mark.parametrize("helper", HELPERS)
def test_a_function_that_is_given_dicts_alone_does_not_ask(helper: str) -> None:
    uses = "raw = load_dataset('org/data')\nfirst = to_ray(raw)['train']\nsecond = to_ray(raw.shuffle(1))['test']\n"
    assert "isinstance" not in converted(f"{HEAD}{helper}{uses}").text


def test_of_an_expression_that_may_be_either_nothing_is_written_twice() -> None:
    helper = "def to_ray(data):\n    return ray.data.from_huggingface(data.shuffle(1))\n"
    uses = "raw = load_dataset('org/data')\nfirst = to_ray(raw)['train']\nsecond = to_ray(raw['train']).count()\n"
    outcome = converted(f"{HEAD}{helper}{uses}")
    assert not outcome.lines("RM505", Kind.CONVERTED)


def test_a_name_that_is_only_given_from_itself_is_not_known() -> None:
    script = f"{HEAD}from own import *\nraw = raw.shuffle(seed=1)\n{{use}}\n"
    assert not converted(script.format(use="print(ray.data.from_huggingface(raw))")).lines("RM505", Kind.CONVERTED)
    assert converted(script.format(use="print(ray.data.from_huggingface(raw)['a'])")).lines("RM505", Kind.CONVERTED)

"""A dataset gets its namespace where its name is written, in whatever spelling; nothing is guessed from elsewhere."""

import pytest

from raymigrate.base.findings import Kind
from raymigrate.run.engine import convert

SCRIPT = """
import argparse, sys
from datasets import load_dataset
from ray.air import session
{head}
print(load_dataset({given}))
"""


def converted(given: str, head: str = "") -> tuple[str, list[tuple[Kind, str]]]:
    text = SCRIPT.format(head=head, given=given)
    result = convert(text)
    return result.after or text, [(f.kind, f.message) for f in result.findings if f.code == "RM714"]


@pytest.mark.parametrize(
    ("head", "given", "line"),
    [
        ("", "'glue', 'cola'", "print(load_dataset(\"nyu-mll/glue\", 'cola'))"),
        ("", "path='glue'", 'print(load_dataset(path="nyu-mll/glue"))'),
        ("NAME = 'glue'", "NAME", 'NAME = "nyu-mll/glue"'),
        ("NAME: str = 'glue'", "NAME", 'NAME: str = "nyu-mll/glue"'),
        ("NAME = 'glue'\nload_dataset(NAME, 'mrpc')", "NAME", 'NAME = "nyu-mll/glue"'),
        ("NAME = 'glue'\nprint(NAME)", "NAME", 'print(load_dataset(f"nyu-mll/{NAME}"))'),
        ("class C:\n    name = 'glue'", "C.name", 'print(load_dataset("nyu-mll/" + C.name))'),
        ("C = {'name': 'glue'}", "C['name']", "print(load_dataset(\"nyu-mll/\" + C['name']))"),
        ("NAME = 'imdb'\nNAME = 'glue'", "NAME", 'NAME = "nyu-mll/glue"'),
        ("def f(name='glue'):\n    return load_dataset(name)\nf()", "'csv'", 'def f(name="nyu-mll/glue"):'),
        ("def f(a, *, name='glue'):\n    return load_dataset(name, a)\nf(1)", "'csv'", 'name="nyu-mll/glue"):'),
        ("def f(name):\n    return load_dataset(path=name)\nf('glue')", "'csv'", 'f("nyu-mll/glue")'),
        ("def f(a, name):\n    return load_dataset(name)\nf(1, name='glue')", "'csv'", 'f(1, name="nyu-mll/glue")'),
        (
            "def f():\n    name = 'glue'\n    print(name)\n    load_dataset(name)",
            "'csv'",
            'load_dataset(f"nyu-mll/{name}")',
        ),
    ],
)
def test_a_name_that_is_known_gets_its_namespace(head: str, given: str, line: str) -> None:
    after, findings = converted(given, head)
    assert line in after
    assert {kind for kind, _ in findings} == {Kind.CONVERTED}


@pytest.mark.parametrize(
    ("head", "given", "name"),
    [
        ("NAME = 'scene_parse_150'", "NAME", "scene_parse_150"),
        ("NAME = 'scene-parse'", "NAME", "scene-parse"),
        ("NAME = 'imdb' if x else 'me/mine'", "NAME", "imdb"),
        ("p = argparse.ArgumentParser()\np.add_argument('--n', default='imdb')\na = p.parse_args()", "a.n", "imdb"),
        ("def f(name='imdb'):\n    return load_dataset(name)", "'csv'", "imdb"),
        ("for name in ['imdb', 'me/mine']:\n    load_dataset(name)", "'csv'", "imdb"),
        ("TASKS = {'a': 'imdb'}", "TASKS.get(sys.argv[1], 'imdb')", "imdb"),
    ],
)
def test_a_name_that_it_can_be_is_told(head: str, given: str, name: str) -> None:
    _, findings = converted(given, head)
    assert [kind for kind, _ in findings] == [Kind.MANUAL]
    assert f'"{name}"' in findings[0][1]


@pytest.mark.parametrize(
    "code",
    [
        "def f(name='glue'):\n    print(name)\n    return load_dataset(name)\nf()",
        "def f(name):\n    print(name)\n    return load_dataset(name)\nf('glue')",
        "class A:\n    def __init__(self, n='glue'):\n        self.n = n\n"
        "    def f(self):\n        load_dataset(self.n)\nA().f()",
        "class A:\n    n = 'glue'\n    def f(self):\n        name = self.n\n        load_dataset(name)\nA().f()",
        "from dataclasses import dataclass\n@dataclass\nclass A:\n    n: str = 'glue'\na = A()\nload_dataset(a.n)",
        "def f(config):\n    load_dataset(config['n'])\nf({'n': 'glue'})",
        "import types\na = types.SimpleNamespace(n='glue')\nload_dataset(a.n)",
    ],
)
def test_a_name_that_others_may_give_is_told_and_the_call_adds_nothing_to_it(code: str) -> None:
    after, findings = converted("'csv'", code)
    assert "nyu-mll" not in after
    assert [kind for kind, _ in findings] == [Kind.MANUAL]
    assert '"glue"' in findings[0][1]


@pytest.mark.parametrize(
    "code", ["def f(name='trec'):\n    load_dataset(name)\nf()", "def f(n):\n    load_dataset(n)\nf('trec')"]
)
def test_the_copy_of_a_script_is_not_asked_for_where_others_may_be_loaded(code: str) -> None:
    assert "revision" not in converted("'csv'", code)[0]


def test_a_name_of_which_nothing_is_known_is_told_and_none_is_guessed() -> None:
    _, findings = converted("sys.argv[1]", "print(load_dataset('imdb'))")
    message = "load_dataset raises an HfUriError today if this is a name without its namespace."
    assert findings == [
        (Kind.CONVERTED, 'load_dataset("imdb") raises an HfUriError today; now "stanfordnlp/imdb".'),
        (Kind.MANUAL, message),
    ]


@pytest.mark.parametrize(
    ("head", "given"),
    [
        ("", "'csv', data_files='a.csv'"),
        ("", "sys.argv[1].split('.')[-1], data_files=sys.argv[1]"),
        ("", "'me/mine'"),
        ("", "'./folder'"),
        ("NAME = 'me/mine'", "NAME"),
        ("NAME = 'me/mine'\nOTHER = 'imdb'", "NAME"),
        ("kind = 'json' if x else 'csv'", "kind, data_files=sys.argv[1]"),
    ],
)
def test_nothing_is_said_of_names_that_work(head: str, given: str) -> None:
    assert converted(given, head)[1] == []


def test_a_script_of_today_is_not_told_of_names_that_cannot_be_seen() -> None:
    text = "import sys\nimport ray.train\nfrom datasets import load_dataset\nload_dataset(sys.argv[1])\n"
    assert convert(text).findings == []

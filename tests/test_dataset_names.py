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
        ("def f(name='glue'):\n    return load_dataset(name)\nf()", "'csv'", 'load_dataset(f"nyu-mll/{name}")'),
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

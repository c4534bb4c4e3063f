"""What is found in a file is found once and goes with it; definitions are compared as their code would be."""

import ast
import itertools
from pathlib import Path

import pytest

from raymigrate.facts.projects.helpers import code_of, has_code_of
from raymigrate.facts.syntax.kept import forget, kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values.given import may_be_given
from tests.conftest import FIXTURES

DEFINITIONS = """
def a(x: int, y=0.0) -> None:
    "Says nothing."
    return x

def b(x, y=0.0):
    return x

def c(x, y=-0.0):
    return x

def d(x, y=0):
    return x

class e:
    x = 1

class f:
    "Says nothing."
    x = True
"""


def test_a_question_is_answered_once_for_each_module() -> None:
    asked: list[Module] = []

    @kept
    def names(module: Module, prefix: str) -> frozenset[str]:
        asked.append(module)
        return frozenset(name for name in module.names if name.startswith(prefix))

    one, other = Module("a = b = 1"), Module("a = 2")
    assert names(one, "a") == names(one, "a") == names(other, "a") == {"a"}
    assert names(one, "b") == {"b"}
    assert asked == [one, other, one]
    forget(one)
    assert names(one, "a") == {"a"}
    assert len(asked) == 4


def test_what_was_forgotten_is_found_again() -> None:
    module = Module("import ray\nx = ray.train\nx.report()\n")
    before = (
        [reference.qualified for reference in module.references],
        ast.dump(module.origins(module.reads("x")[0])[0].node),
    )
    forget(module)
    assert before == (
        [reference.qualified for reference in module.references],
        ast.dump(module.origins(module.reads("x")[0])[0].node),
    )


def _definitions(text: str) -> list[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return [node for node in ast.walk(ast.parse(text)) if isinstance(node, kinds)]


@pytest.mark.parametrize("path", [None, FIXTURES / "accelerate_trainer" / "bert_mrpc" / "after.py"])
def test_definitions_have_the_same_code_where_that_reads_the_same(path: Path | None) -> None:
    found = _definitions(DEFINITIONS if path is None else path.read_text() + DEFINITIONS)
    same = 0
    for one, other in itertools.product(found, found):
        assert has_code_of(one, other) == (code_of(one) == code_of(other)), (one.name, other.name)
        same += has_code_of(one, other)
    assert same == len(found) + 2  # a and b


@pytest.mark.parametrize(
    "text",
    [
        "class A:\n    name = 1\n",
        "class A:\n    def name(self): ...\n",
        "args.name = 1\n",
        "types.SimpleNamespace(name=1)\n",
        "parser.add_argument('--name', default=1)\n",
        "parser.add_argument(FLAG)\n",
    ],
)
def test_an_attribute_may_have_a_value_that_something_gives_it(text: str) -> None:
    assert may_be_given(Module(text), "name", elsewhere=False)
    assert not may_be_given(Module("x.name\nname = 1\n"), "name", elsewhere=False)

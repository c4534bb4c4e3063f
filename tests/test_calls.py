"""What a call calls, what calls a node, what an argument goes to: the questions that most rules ask."""

import ast
from pathlib import Path

import pytest

from raymigrate.base.words import few
from raymigrate.facts.projects.callees import functions_elsewhere, functions_run
from raymigrate.facts.projects.project import Project
from raymigrate.facts.syntax.functions import by_position, parameter_for
from raymigrate.facts.syntax.guards import is_condition
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import called_name, is_method_call, known_text
from raymigrate.facts.values.dicts import dicts_in
from raymigrate.facts.values.readers import readers

TEXT = """
import torch
from torch import save as keep

keep(model.state_dict(), "a", f=path, **more)
open("a", *rest)
saving = torch.save
"""
MODULE = Module(TEXT)
KEEP, STATE, OPEN = sorted(MODULE.of_type(ast.Call), key=lambda call: (call.lineno, call.col_offset))


def named(name: str) -> ast.Name:
    return next(node for node in MODULE.of_type(ast.Name) if node.id == name)


def test_a_call_of_a_method_is_one_by_its_name() -> None:
    assert is_method_call(STATE, "state_dict") and is_method_call(STATE, "load", "state_dict")
    assert not is_method_call(STATE, "load")
    assert not is_method_call(KEEP, "keep") and not is_method_call(STATE.func, "state_dict")
    assert not is_method_call(None, "state_dict")


def test_what_is_called_has_the_name_of_its_import() -> None:
    assert called_name(MODULE, KEEP) == "torch.save"
    assert [called_name(MODULE, node) for node in (STATE, OPEN, KEEP.func, None)] == [""] * 4


def test_a_node_is_called_or_an_argument() -> None:
    assert MODULE.calling(KEEP.func) is KEEP and MODULE.calling(STATE.func) is STATE
    assert MODULE.calling(STATE) is None and MODULE.calling(MODULE.tree) is None
    assert [MODULE.taking(part) for part in (STATE, named("path"), named("more"))] == [KEEP] * 3
    assert MODULE.taking(KEEP.func) is None
    assert MODULE.taking(named("rest")) is None  # it is unpacked
    assert MODULE.taking(KEEP) is None


def test_strings_are_found_by_their_word() -> None:
    assert [text.lineno for text in MODULE.texts("a")] == [5, 6]
    assert not MODULE.texts("path")  # a name


def test_a_text_is_known_or_empty() -> None:
    assert known_text(MODULE, KEEP.args[1]) == "a"
    assert known_text(MODULE, named("path")) == known_text(MODULE, None) == ""


@pytest.mark.parametrize(
    ("call", "parameters"),
    [
        ("f(x)", ["first"]),
        ("f(1, x)", ["second"]),
        ("f(1, 2, x)", [""]),
        ("f(second=x)", ["second"]),
        ("f(third=x)", ["third"]),
        ("f(first=x)", [""]),  # by position only
        ("f(other=x)", [""]),
        ("f(*rest, x)", [""]),
        ("f(x, *rest)", ["first"]),
        ("f(**x)", [""]),
    ],
)
def test_an_argument_goes_to_a_parameter(call: str, parameters: list[str]) -> None:
    function, made = ast.parse("def f(first, /, second, *, third, **more): ...\n" + call).body
    assert isinstance(function, ast.FunctionDef) and isinstance(made, ast.Expr) and isinstance(made.value, ast.Call)
    given = [node for node in ast.walk(made) if isinstance(node, ast.Name) and node.id == "x"]
    assert [parameter_for(function, made.value, node) for node in given] == parameters
    assert [parameter.arg for parameter in by_position(function)] == ["first", "second"]


def test_what_python_fills_takes_no_argument() -> None:
    function, made = ast.parse("def f(self, first): ...\nobject.f(x)").body
    assert isinstance(function, ast.FunctionDef) and isinstance(made, ast.Expr) and isinstance(made.value, ast.Call)
    assert parameter_for(function, made.value, made.value.args[0], 1) == "first"


@pytest.mark.parametrize("text", ["if x: ...", "y if x else z", "not x", "while x: ...", "if x and y: ..."])
def test_only_the_truth_of_a_condition_counts(text: str) -> None:
    module = Module(text)
    assert is_condition(module, next(node for node in module.of_type(ast.Name) if node.id == "x"))


@pytest.mark.parametrize("text", ["y = x or 1", "if y: x", "-x", "if x is None: ...", "x if y else z"])
def test_a_value_is_no_condition(text: str) -> None:
    module = Module(text)
    assert not is_condition(module, next(node for node in module.of_type(ast.Name) if node.id == "x"))


def test_of_many_names_the_first_are_said_once() -> None:
    assert few(["a", "b", "a"]) == "a and b"
    assert few("abcd") == "a, b, c and 1 more"
    assert few([]) == ""


def test_a_call_carries_out_functions_and_constructors_also_inherited_ones(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text(
        "class Base:\n    def __init__(self): ...\n\nclass Saver(Base): ...\n\ndef save(): ...\n"
    )
    (tmp_path / "train.py").write_text("from helper import Saver, save\n\ndef own(): ...\n\nSaver()\nsave()\nown()\n")
    project = Project()
    module = project.module(str(tmp_path / "train.py"))
    assert module is not None
    calls = module.of_type(ast.Call)
    found = [[getattr(function, "name", "") for _, function in functions_run(module, call)] for call in calls]
    assert found == [["__init__"], ["save"], ["own"]]
    assert [len(list(functions_elsewhere(module, call))) for call in calls] == [1, 1, 0]


def test_a_value_that_goes_into_the_other_arguments_has_no_reader_there() -> None:
    module = Module("def f(**more):\n    return more\n\n\nmade = {}\nf(made=made)\nf(more=made)\n")
    (made,) = module.of_type(ast.Dict)
    assert [node.lineno for node in readers(module, made)] == [5, 7, 6]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("{**a, 'k': 1}", ["a"]),
        ("a | {'k': 1}", ["a", "{'k': 1}"]),
        ("dict(a, k=1, **b)", ["a", "b"]),
        ("a.copy()", ["a"]),
        ("copy.deepcopy(a, memo)", ["a"]),
        ("a & b", []),
        ("list(a)", []),
        ("a.copy(b)", []),
        ("{k: v for k, v in a.items()}", []),
    ],
)
def test_the_dicts_that_a_dict_takes_over(text: str, parts: list[str]) -> None:
    module = Module(f"import copy\n{text}\n")
    statement = module.tree.body[1]
    assert isinstance(statement, ast.Expr)
    assert [module.source(part) for part in dicts_in(module, statement.value)] == parts

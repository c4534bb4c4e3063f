# ruff: noqa: PTH100, PTH113, PTH118 - works on strings, as discovery.py does
"""What pytest gives the parameters of tests and fixtures: what the fixture of that name returns or yields.

https://docs.pytest.org/en/stable/how-to/fixtures.html
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeGuard

from raymigrate.base.expressions import lazy_regex
from raymigrate.facts.syntax.functions import returns
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.packages import upwards
from raymigrate.facts.values.behind import UNKNOWN, Behind, Source

if TYPE_CHECKING:
    from raymigrate.facts.syntax.module import Module
    from raymigrate.facts.syntax.scopes import FunctionNode

FIXTURE = "pytest.fixture"
CONFTEST = "conftest.py"
IS_COLLECTED = lazy_regex(r"test_.*\.py|.*_test\.py|conftest\.py")


def of_fixture(module: Module, function: FunctionNode, parameter: ast.arg) -> Behind | None:
    """What the fixture gives that a parameter of a test or of another fixture names; None where the file has none."""
    if not _is_given_fixtures(function, module):
        return None
    fixtures = _seen_by(module, function, parameter.arg)
    if not fixtures:
        return None
    return _given(module, fixtures[0]) if len(fixtures) == 1 else UNKNOWN


def of_conftest(module: Module, parameter: ast.arg) -> Behind:
    """What a fixture of another file gives that a parameter names, where the file has none of that name."""
    function = module.parent_of[module.parent_of[parameter]]
    if not _is_given_fixtures(function, module):
        return UNKNOWN
    if _seen_by(module, function, parameter.arg):
        return UNKNOWN
    return next((_given(other, made) for other, made in _of_conftests(module, parameter.arg)), UNKNOWN)


def _is_given_fixtures(function: ast.AST, module: Module) -> TypeGuard[ast.FunctionDef]:
    if not isinstance(function, ast.FunctionDef):
        return False
    return function.name.startswith("test") or function in _fixtures(module).functions


def _seen_by(module: Module, function: ast.FunctionDef, name: str) -> list[ast.FunctionDef]:
    """The fixtures of a name that a function of a file sees there: those of its class go before those of the file.

    A fixture that takes one of its own name takes the one further out.
    """
    fixtures = _fixtures(module)
    for owner in (module.parent_of[function], None):
        found = fixtures.by_owner.get((owner, name), [])
        if found and function not in found:
            return found
    return []


def _of_conftests(module: Module, name: str) -> Iterator[tuple[Module, ast.FunctionDef]]:
    """The fixtures of a name in the files conftest.py that pytest reads for a file, the nearest first."""
    project, (folder, file) = module.project, os.path.split(os.path.abspath(module.path))
    if project is None or not module.path or not IS_COLLECTED.fullmatch(file):
        return
    for above in upwards(folder):
        path = os.path.join(above, CONFTEST)
        if os.path.isfile(path) and not (above == folder and file == CONFTEST):
            other = project.module(project.name(path))
            made = _fixtures(other).by_owner.get((None, name), []) if other is not None else []
            if other is not None and len(made) == 1:
                yield other, made[0]
        if above == project.folder(module.path):
            return


@dataclass(frozen=True)
class Fixtures:
    """The fixtures of a module.

    Args:
        by_owner: By the class that they are methods of, or None, and their names.
        functions: All of them.
        yields: What their functions yield.
    """

    by_owner: dict[tuple[ast.AST | None, str], list[ast.FunctionDef]]
    functions: frozenset[ast.FunctionDef]
    yields: dict[ast.FunctionDef, list[ast.Yield]]


@kept
def _fixtures(module: Module) -> Fixtures:
    found: dict[tuple[ast.AST | None, str], list[ast.FunctionDef]] = {}
    for function in module.of_type(ast.FunctionDef) if "fixture" in module.text else ():
        around = module.parent_of[function]
        for decorator in function.decorator_list:
            called = decorator.func if isinstance(decorator, ast.Call) else decorator
            if module.qualified(called) == FIXTURE:
                owner = around if isinstance(around, ast.ClassDef) else None
                found.setdefault((owner, _name(module, decorator) or function.name), []).append(function)
    functions = frozenset(function for made in found.values() for function in made)
    yields: dict[ast.FunctionDef, list[ast.Yield]] = {}
    for node in module.of_type(ast.Yield) if functions else ():
        home = module.function(node)
        if isinstance(home, ast.FunctionDef) and isinstance(node, ast.Yield):
            yields.setdefault(home, []).append(node)
    return Fixtures(found, functions, yields)


def _name(module: Module, decorator: ast.expr) -> str | None:
    """The name that a fixture is given, where it is not that of its function."""
    keywords = decorator.keywords if isinstance(decorator, ast.Call) else []
    named = next((keyword.value for keyword in keywords if keyword.arg == "name"), None)
    value = module.constant(named)
    return value if isinstance(value, str) else None


def _given(module: Module, fixture: ast.FunctionDef) -> Behind:
    yields = _fixtures(module).yields.get(fixture, [])
    values = [node.value for node in yields] if yields else [end.value for end in returns(module, fixture)]
    seen = [Source(module, value) for value in values if value is not None]
    return Behind(seen, whole=len(seen) == len(values)) if seen else UNKNOWN

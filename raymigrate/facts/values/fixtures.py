# ruff: noqa: PTH100, PTH113, PTH118 - works on strings, as discovery.py does
"""What pytest gives the parameters of tests and fixtures: what the fixture of that name returns or yields.

https://docs.pytest.org/en/stable/how-to/fixtures.html
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from raymigrate.facts.functions import returns
from raymigrate.facts.packages import upwards
from raymigrate.facts.values.behind import UNKNOWN, Behind, Source

if TYPE_CHECKING:
    from raymigrate.facts.module import Module
    from raymigrate.facts.scopes import FunctionNode

FIXTURE = "pytest.fixture"
CONFTEST = "conftest.py"
IS_COLLECTED = re.compile(r"test_.*\.py|.*_test\.py|conftest\.py")


def of_fixture(module: Module, function: FunctionNode, parameter: ast.arg) -> Behind | None:
    """What the fixture gives that a parameter of a test or of another fixture names; None where the file has none."""
    if not isinstance(function, ast.FunctionDef):
        return None
    known = _fixtures(module)
    if not (function.name.startswith("test") or function in known.values()):
        return None
    fixture = known.get(parameter.arg)
    return _given(module, fixture) if fixture is not None and fixture is not function else None


def of_conftest(module: Module, parameter: ast.arg) -> Behind:
    """What a fixture of another file gives that a parameter names, where the file has none of that name."""
    function, known = module.parent_of[module.parent_of[parameter]], _fixtures(module)
    if not isinstance(function, ast.FunctionDef) or known.get(parameter.arg) not in (None, function):
        return UNKNOWN
    if not (function.name.startswith("test") or function in known.values()):
        return UNKNOWN
    return next((_given(other, made) for other, made in _of_conftests(module, parameter.arg)), UNKNOWN)


def _of_conftests(module: Module, name: str) -> Iterator[tuple[Module, ast.FunctionDef]]:
    """The fixtures of a name in the files conftest.py that pytest reads for a file, the nearest first."""
    project, (folder, file) = module.project, os.path.split(os.path.abspath(module.path))
    if project is None or not module.path or not IS_COLLECTED.fullmatch(file):
        return
    for above in upwards(folder):
        path = os.path.join(above, CONFTEST)
        if os.path.isfile(path) and not (above == folder and file == CONFTEST):
            other = project.module(project.name(path))
            if other is not None and name in _fixtures(other):
                yield other, _fixtures(other)[name]
        if above == project.folder(module.path):
            return


@lru_cache(maxsize=8)
def _fixtures(module: Module) -> dict[str, ast.FunctionDef]:
    """The fixtures of a module by their names, less those of which there are several."""
    found: dict[str, list[ast.FunctionDef]] = {}
    for function in module.of_type(ast.FunctionDef) if "fixture" in module.text else ():
        assert isinstance(function, ast.FunctionDef)
        for decorator in function.decorator_list:
            called = decorator.func if isinstance(decorator, ast.Call) else decorator
            if module.qualified(called) == FIXTURE:
                found.setdefault(_name(module, decorator) or function.name, []).append(function)
    return {name: functions[0] for name, functions in found.items() if len(functions) == 1}


def _name(module: Module, decorator: ast.expr) -> str | None:
    """The name that a fixture is given, where it is not that of its function."""
    keywords = decorator.keywords if isinstance(decorator, ast.Call) else []
    named = next((keyword.value for keyword in keywords if keyword.arg == "name"), None)
    value = module.constant(named) if named is not None else None
    return value if isinstance(value, str) else None


def _given(module: Module, fixture: ast.FunctionDef) -> Behind:
    yields = [node for node in module.of_type(ast.Yield) if module.function(node) is fixture]
    values = [node.value for node in yields] if yields else [end.value for end in returns(module, fixture)]
    seen = [Source(module, value) for value in values if value is not None]
    return Behind(seen, whole=len(seen) == len(values)) if seen else UNKNOWN

"""Environment variables that a script sets for its own process: its workers are others, on a cluster anywhere."""

from __future__ import annotations

import ast

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.cache_variables import name_today
from raymigrate.codemods.to_ray.outline import Outline
from raymigrate.codemods.to_ray.script import executed
from raymigrate.codemods.to_ray.statements import Role
from raymigrate.codemods.to_ray.step_kinds import OF_LAUNCHER
from raymigrate.facts.projects.environment import all_variables_set, value_set
from raymigrate.facts.syntax.module import Module

GIVE = 'RunConfig(worker_runtime_env={"env_vars": {...}})'


def set_environment(context: Context, rule: Rule, outline: Outline) -> None:
    """Gives the workers the environment variables that the script sets for itself; says of the others that they lack.

    Args:
        context: The file.
        rule: The rule of the conversion.
        outline: What becomes of the script.
    """
    module = context.module
    for step in outline.roles.staying(Role.DRIVER):
        missing = dict[str, None]()
        for home, block in [(module, step), *called_functions(module, step)]:
            for place, name in _set_in(home, block):
                if name in OF_LAUNCHER:  # Ray says these
                    continue
                value = home.constant(value) if (value := value_set(home, place)) is not None else None
                if isinstance(value, str) and _is_sure(home, place, block):
                    outline.environment[name_today(context, name)] = value
                else:
                    missing[name] = None
        if missing:
            message = (
                f"{', '.join(missing)}: set here for the driver alone. Workers of a cluster that runs already, or of"
                f" another machine, have what {GIVE} says."
            )
            context.note(rule, step, message)


def called_functions(module: Module, step: ast.stmt) -> list[tuple[Module, ast.AST]]:
    """The functions that a step calls, itself or by one of them, in this file or in others, each with its file."""
    found: dict[ast.AST, Module] = {}
    waiting: list[tuple[Module, ast.AST]] = [(module, node) for node in executed(module, step)]
    while waiting:
        home, node = waiting.pop()
        if isinstance(node, ast.Call) and (called := _function(home, node.func)) is not None:
            if called[1] not in found:
                found[called[1]] = called[0]
                waiting += ((called[0], part) for part in ast.walk(called[1]))
    return [(home, function) for function, home in found.items()]


def _function(module: Module, name: ast.expr) -> tuple[Module, ast.FunctionDef] | None:
    """The function that a name stands for; of a method the one of that name, where the file has one alone."""
    function = module.definition(name)
    if isinstance(name, ast.Attribute) and not isinstance(function, ast.FunctionDef):
        own = [node for node in module.of_type(ast.FunctionDef) if node.name == name.attr]
        function = own[0] if len(own) == 1 and isinstance(module.parent_of[own[0]], ast.ClassDef) else None
    if isinstance(function, ast.FunctionDef):
        return module, function
    other = module.elsewhere(name)
    is_function = other is not None and isinstance(other.node, ast.FunctionDef)
    return (other.module, other.node) if is_function else None  # type: ignore[union-attr,return-value]


def _set_in(module: Module, block: ast.AST) -> list[tuple[ast.AST, str]]:
    return [(place, name) for place, name in all_variables_set(module) if module.inside(place, block)]


def _is_sure(module: Module, place: ast.AST, block: ast.AST) -> bool:
    """Whether a variable is set whenever a block runs, and whatever value it had: `os.environ["A"] = "b"`."""
    statement = module.parent_of[module.parent_of[place]]
    return isinstance(statement, ast.Assign) and (statement is block or module.parent_of[statement] is block)

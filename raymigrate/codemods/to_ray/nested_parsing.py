"""Steps that parse the command line within another call: `runner = Runner(parser.parse_args())`.

What is made so belongs to the workers. They make the parser too, and are given the command line of the script.
"""

import ast

from raymigrate.codemods.to_ray.script import DEFINITIONS, PARSE_METHODS, Script, called, executed
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import is_assignment
from raymigrate.facts.syntax.scopes import Scope
from raymigrate.facts.values import all_arguments, is_method_call


def parser_steps(script: Script, step: ast.stmt) -> list[ast.stmt]:
    """The steps that make the parser which a step asks within another call; none where anything else asks it too.

    Args:
        script: The script.
        step: The step.
    """
    parsers = [call.func.value for call in _parsing(script, step) if _is_given(script, call)]  # type: ignore[attr-defined]
    if len(parsers) != 1 or not isinstance(parsers[0], ast.Name):
        return []
    waiting = [(parsers[0].id, script.module.scope_of[parsers[0]].find(parsers[0].id))]
    found: dict[ast.stmt, None] = {}
    for name, scope in waiting:  # which grows meanwhile: by groups of arguments
        others = [] if scope is None else [*script.binders(name, scope), *script.readers(name, scope)]
        for other in dict.fromkeys(others):
            if other is step or other in found:
                continue
            if isinstance(other, DEFINITIONS) or _parsing(script, other):
                return []
            found[other] = None
            bound: list[tuple[str, Scope | None]] = [(name, script.scope(other)) for name in script.bound(other)]
            waiting += [entry for entry in bound if entry not in waiting]
    return [*found]


def fills_parser(script: Script, step: ast.stmt) -> bool:
    """Whether a step hands a parser to what adds options to it: `add_options(parser)`, and a later one asks it.

    Args:
        script: The script.
        step: The step.
    """
    if not (isinstance(step, ast.Expr) or is_assignment(step)):
        return False
    calls = (node for node in executed(script.module, step) if isinstance(node, ast.Call))
    given = {node.id: node for call in calls for node in all_arguments(call) if isinstance(node, ast.Name)}
    for name, node in given.items():
        scope = script.module.bound_in(node)
        if scope is not None and make_parser(script.module, script.binders(name, scope)):
            names = {name, *script.bound(step)}
            last = _last_asked(script.module, tuple(script.steps))
            return any(last.get(each, -1) > script.number(step) for each in names)
    return False


@kept
def _last_asked(module: Module, steps: tuple[ast.stmt, ...]) -> dict[str, int]:
    """The places of the steps that ask parsers for options last, by the names of the parsers."""
    calls = ((place, node) for place, step in enumerate(steps) for node in executed(module, step))
    asked = ((place, call.func.value) for place, call in calls if is_method_call(call, *PARSE_METHODS))
    return {parser.id: place for place, parser in asked if isinstance(parser, ast.Name)}


@kept
def make_parser(module: Module, steps: tuple[ast.stmt, ...]) -> bool:
    """Whether one of some steps makes a parser, or a group of its arguments; hundreds may bind one name."""
    calls = (node for step in steps for node in executed(module, step) if isinstance(node, ast.Call))
    return any(called(module, call) in ("argparse.ArgumentParser", ".add_argument_group") for call in calls)


def _parsing(script: Script, step: ast.stmt) -> list[ast.Call]:
    """The calls in a step that parse the command line."""
    calls = (node for node in executed(script.module, step) if isinstance(node, ast.Call))
    return [call for call in calls if is_method_call(call, *PARSE_METHODS)]


def _is_given(script: Script, call: ast.Call) -> bool:
    """Whether what a call gives is an argument of another one."""
    return script.module.taking(call) is not None and not call.args and not call.keywords

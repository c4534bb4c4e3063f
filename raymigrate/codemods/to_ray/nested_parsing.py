"""Steps that parse the command line within another call: `runner = Runner(parser.parse_args())`.

What is made so belongs to the workers. They make the parser too, and are given the command line of the script.
"""

import ast

from raymigrate.codemods.to_ray.script import DEFINITIONS, PARSE_METHODS, Script, called, executed
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.scopes import Scope
from raymigrate.facts.values import is_method_call


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

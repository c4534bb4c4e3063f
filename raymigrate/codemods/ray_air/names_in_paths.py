"""RM305: names in paths, which each trial had for itself, and a run whose RunConfig has a name has each time."""

import ast

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.facts.projects.places import Place
from raymigrate.facts.ray_tune.tuners import RUN_CONFIGS
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import argument, constants

# What takes a path, or the parts of one.
OF_PATHS = frozenset({"join", "joinpath", "Path", "open", "mkdir", "makedirs", "TrainingArguments"})


SAME_EACH_TIME = (
    "Each trial had a text of its own here; the name of the run is the one that RunConfig(name=) gives, each time: the"
    " next run finds what this one writes under it."
)
ASKED = ("get_trial_name", "get_trial_id")


def note_same_name(context: Context, rule: Rule, asked: list[ast.AST]) -> None:
    """Says once of a module that a path with the name of the run is the same each time, and was not.

    Args:
        context: The module.
        rule: The rule of the note.
        asked: Where the name or id of a trial was asked for, at least once if it was.
    """
    if (
        not asked
        or any(SAME_EACH_TIME in finding.message for finding in context.findings)
        or not _has_one_name(context)
    ):
        return
    nodes = [*asked, *context.module.attributes(*ASKED)]
    on_workers = (node for node in nodes if context.place_of(node) is not Place.TRIAL)
    found = [node for node in on_workers if _is_in_path(context.module, node)]
    if found:
        context.note(rule, min(found, key=context.module.start), SAME_EACH_TIME)


def _has_one_name(context: Context) -> bool:
    """Whether a RunConfig of the module, and not of a Tuner, has a name that is written out."""
    of_tune = context.tuned - context.undecided
    configs = (config for config in context.module.calls(*RUN_CONFIGS) if config not in of_tune)
    names = [name for config in configs if (name := argument(config, 0, "name")) is not None]
    found = [constants(context.module, name) for name in names]
    return any(values and all(isinstance(value, str) for _, value in values) for values in found)


def _is_in_path(module: Module, name: ast.AST) -> bool:
    """Whether a text is made part of a path, where it is read or under the name that it gets."""
    child: ast.AST = name
    slash = False
    for outer in module.ancestors(name):
        if isinstance(outer, ast.Call) and child is not outer.func:
            function = outer.func
            called = function.attr if isinstance(function, ast.Attribute) else ast.unparse(function)
            of_text = isinstance(function, ast.Attribute) and isinstance(function.value, ast.Constant)
            if not of_text or called != "format":
                return called in OF_PATHS and not of_text
            slash |= isinstance(function, ast.Attribute) and _has_slash(function.value)
        elif isinstance(outer, ast.BinOp):
            slash |= isinstance(outer.op, ast.Div) or _has_slash(outer.left) or _has_slash(outer.right)
        elif isinstance(outer, ast.JoinedStr):
            slash |= any(_has_slash(part) for part in outer.values)
        elif isinstance(outer, ast.stmt):
            return slash or any(_is_in_path(module, use) for use in _uses(module, outer))
        child = outer
    return False


def _has_slash(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and "/" in node.value


def _uses(module: Module, statement: ast.stmt) -> list[ast.Name]:
    """Where the one name is read that a statement gives a value."""
    return module.uses_of(module.name_of(statement.value)) if isinstance(statement, ast.Assign) else []

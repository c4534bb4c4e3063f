"""RM609: what is taken out of the path of a checkpoint as text, such as its number."""

import ast
from collections.abc import Iterator

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.results.checkpoint_numbers import RM609
from raymigrate.facts.ray_train.results import is_checkpoint, layout
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import is_assignment
from raymigrate.facts.values import called_name, free_name, is_method_call

CUTS = frozenset({"split", "rsplit", "partition", "rpartition", "removeprefix"})
TIDIES = frozenset({"absolute", "as_posix", "lower", "lstrip", "replace", "resolve", "rstrip", "strip"})
SEARCHES = frozenset({"findall", "finditer", "fullmatch", "match", "search", "sub"})  # of re, or of a pattern
NAMES = ("name", "stem")
PATHS = ("pathlib.Path", "pathlib.PurePath", "os.fspath", "os.path.abspath", "os.path.normpath")
BASENAMES = ("os.path.basename", "posixpath.basename")
OTHER_TEXT = (
    "What is taken out of the path of a checkpoint here differs today: Ray >= 2.51 names its folder by the"
    " time, checkpoint_2026-01-31_12-00-00.123456, and puts it right into the folder of the run; trials have none."
)
ASK_RESULT = (
    'Take a number from the metrics that were reported with the checkpoint (with a Transformers Trainer, "step" and'
    ' "epoch"), and the name of the run from RunConfig(name=).'
)


@codemod("path", "as_directory", phase=Phase.RESULTS)
def taken_out_of_paths(context: Context) -> None:
    """Reports numbers and names that are taken out of the path of a checkpoint."""
    if context.of_legacy_job:
        for node, checkpoint in _paths(context.module):
            if takes_text_out(context.module, node) and _is_of_run(context.module, checkpoint):
                context.manual(RM609, node, OTHER_TEXT, ASK_RESULT)


def _paths(module: Module) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What may be the path of a checkpoint, with the checkpoint; on this machine as_directory() gives it as it is."""
    for node in module.attributes("path"):
        yield node, node.value
    for call, method in module.method_calls("as_directory"):
        item = module.parent_of[call]
        if isinstance(item, ast.withitem) and isinstance(item.optional_vars, ast.Name):
            yield from ((use, method.value) for use in module.uses_of(item.optional_vars))


def _is_of_run(module: Module, checkpoint: ast.expr) -> bool:
    """Whether a checkpoint is one of a trainer's run; Tune still numbers those that a function of its reports."""
    return is_checkpoint(module, checkpoint) or layout(module, checkpoint) is not None


def is_asked_for_its_name(module: Module, path: ast.expr) -> bool:
    """Whether only text comes of a path at one use: its last part, or what is cut out of it; by a name at each use."""
    same = _same_path(module, path)
    name = module.name_of(same) if is_assignment(module.parent_of[same]) else None
    if name is None or not takes_text_out(module, path):
        return _last_part(module, same) is not None or takes_text_out(module, path)
    return all(
        _last_part(module, _same_path(module, use)) or takes_text_out(module, use) for use in module.uses_of(name)
    )


def takes_text_out(module: Module, path: ast.expr, seen: set[ast.AST] | None = None) -> bool:
    """Whether a part of a path is cut out, also by a name that it has: `int(path.split("_")[-1])`, `name[-6:]`.

    Args:
        module: The module.
        path: The path, at one use.
        seen: The uses that were looked at: `path = path.rstrip("/")`.
    """
    seen = set() if seen is None else seen
    if path in seen:
        return False
    seen.add(path)
    path = _same_path(module, path)
    outer = module.parent_of[path]
    if (last := _last_part(module, path)) is not None:
        return takes_text_out(module, last, seen)
    if isinstance(outer, ast.Call) and path in outer.args:
        return is_method_call(outer, *SEARCHES) or called_name(module, outer).startswith("re.")
    if isinstance(outer, ast.Attribute):
        return outer.attr == "parts" or (outer.attr in CUTS and isinstance(module.parent_of[outer], ast.Call))
    if isinstance(outer, ast.Subscript):
        return outer.value is path
    name = module.name_of(path) if is_assignment(outer) else None
    return name is not None and any(takes_text_out(module, use, seen) for use in module.uses_of(name))


def _same_path(module: Module, path: ast.expr) -> ast.expr:
    """A path with what is around it that gives the same one: `Path(path)`, `str(path)`, `path.rstrip("/")`."""
    outer = module.parent_of[path]
    if isinstance(outer, ast.Attribute) and outer.attr in TIDIES:
        outer = module.parent_of[outer]
        return _same_path(module, outer) if isinstance(outer, ast.Call) else path
    if isinstance(outer, ast.Call) and path in outer.args:
        is_same = module.qualified(outer.func) in PATHS or free_name(module, outer.func) == "str"
        return _same_path(module, outer) if is_same else path
    return path


def _last_part(module: Module, path: ast.expr) -> ast.expr | None:
    """`os.path.basename(path)` or `Path(path).name`; None where something else is done with a path."""
    outer = module.parent_of[path]
    if isinstance(outer, ast.Call) and path in outer.args:
        return outer if module.qualified(outer.func) in BASENAMES else None
    return outer if isinstance(outer, ast.Attribute) and outer.attr in NAMES else None

"""RM604, for folders: what goes up from the folder that a result names.

docs/semantics/results.md#files-of-a-run: result.path was the folder of a trial, in that of the run.
"""

import ast
from collections.abc import Iterator

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.results.results import RM604
from raymigrate.facts.ray_train.results import results as reads_of_results
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import targets_of
from raymigrate.facts.values import is_call_by_name

HIGHER = (
    "result.path was the folder of a trial, below that of the run. On Ray >= 2.51 it is that of the run itself, {}."
)
ALL, ONE = "which is not among those above it", "and one step above it is the folder of all runs"
ADVICE = "Go up one step less: where the folder of the run is meant, that is result.path."
# What gives the same folder in another form.
PATHS = tuple(f"pathlib.{name}" for name in ("Path", "PosixPath", "PurePath", "PurePosixPath"))
SAME = (
    *PATHS,
    *(f"os.{name}" for name in ("fspath", "path.abspath", "path.expanduser", "path.normpath", "path.realpath")),
)
SAME_METHODS = frozenset({"absolute", "as_posix", "expanduser", "resolve", "rstrip"})
JOINS = (*PATHS, "os.path.join")
SPLITS = frozenset({"rpartition", "rsplit", "split"})
UP = ".."


@codemod("parent", "parents", "dirname", *sorted(SPLITS), "path", phase=Phase.RESULTS)
def above_the_run(context: Context) -> None:
    """Reports what code of legacy jobs finds above `result.path`."""
    if not context.of_legacy_job:
        return
    for read, _ in reads_of_results(context.module, "path"):
        for higher in _above(context.module, read):
            every = isinstance(higher, ast.Attribute) and higher.attr == "parents"
            context.manual(RM604, higher, HIGHER.format(ALL if every else ONE), ADVICE)


def _above(module: Module, folder: ast.expr) -> Iterator[ast.expr]:
    """Where code goes up from a folder, under whatever name and in whatever form it has it."""
    outer = module.parent_of[folder]
    if isinstance(outer, ast.expr) and _goes_up(module, folder, outer):
        yield outer
    elif isinstance(outer, (ast.Assign, ast.AnnAssign)):
        for target in targets_of(outer):
            uses = module.reads(target.id) if isinstance(target, ast.Name) else []
            for use in uses:
                if module.definition(use) is target:
                    yield from _above(module, use)
    elif (same := _in_other_form(module, folder, outer)) is not None:
        yield from _above(module, same)


def _in_other_form(module: Module, folder: ast.expr, outer: ast.AST) -> ast.expr | None:
    """The same folder, as what stands around it gives it: `Path(folder)`, `str(folder)`, `folder.resolve()`."""
    if isinstance(outer, ast.Attribute):
        return module.calling(outer) if outer.attr in SAME_METHODS else None
    if not isinstance(outer, ast.Call) or outer.args != [folder]:
        return None
    is_text = is_call_by_name(outer, "str")
    return outer if is_text or module.qualified(outer.func) in SAME else None


def _goes_up(module: Module, folder: ast.expr, outer: ast.expr) -> bool:
    """Whether what stands around a folder is one above it, or all of these."""
    if isinstance(outer, ast.Attribute):
        return outer.attr in ("parent", "parents") or (
            outer.attr in SPLITS and _is_head(module, module.parent_of[outer])
        )
    if isinstance(outer, ast.BinOp):
        return outer.left is folder and _is_up(module.constant(outer.right))
    if not isinstance(outer, ast.Call) or outer.args[:1] != [folder]:
        return False
    name = module.qualified(outer.func)
    if name in JOINS:
        return len(outer.args) > 1 and _is_up(module.constant(outer.args[1]))
    return name == "os.path.dirname" or (name == "os.path.split" and _is_head(module, outer))


def _is_head(module: Module, split: ast.AST) -> bool:
    """Whether all but the last part is taken of a path that a call splits."""
    part = module.parent_of[split]
    if not isinstance(part, ast.Subscript):
        return isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Tuple)
    index = part.slice.upper if isinstance(part.slice, ast.Slice) else part.slice
    return module.constant(index) in ((-1,) if isinstance(part.slice, ast.Slice) else (0, -2))


def _is_up(part: object) -> bool:
    return isinstance(part, str) and part.lstrip("/").partition("/")[0] == UP

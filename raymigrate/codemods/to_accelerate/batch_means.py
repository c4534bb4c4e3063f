"""RM858: means of batches that are added up and divided by the number of rows: there are 1/N of the batches."""

import ast
from collections.abc import Iterable, Iterator

from raymigrate.codemods.to_accelerate.changes import Changes
from raymigrate.codemods.to_accelerate.gathering import Gathering
from raymigrate.codemods.to_accelerate.rules import RM858
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.torch.tensors import gives_mean
from raymigrate.facts.values import argument, free_name, is_method_call

AS_NUMBER = frozenset({"item", "detach", "cpu"})
FEWER = (
    "`{}` adds up the mean of each batch, and N processes go through 1/N of the batches, each with N times the rows:"
    " divided by the number of rows it is 1/N of what it was."
)


def tell_batch_means(changes: Changes, module: Module, gatherings: Iterable[Gathering]) -> None:
    """Tells where `total += loss.item()` of gathered rows is divided by `len(loader.dataset)`.

    Args:
        changes: The edits.
        module: The module.
        gatherings: The evaluation loops whose rows are gathered.
    """
    for found in gatherings:
        [(loader, _)] = found.loop.loaders
        for added in module.below(found.loop.node):
            total = added.target if isinstance(added, ast.AugAssign) and isinstance(added.op, ast.Add) else None
            if isinstance(total, ast.Name) and _is_mean(module, added.value, found):  # type: ignore[attr-defined]
                for division in _divisions(module, total, loader):
                    changes.note(RM858, division, FEWER.format(total.id))


def _is_mean(module: Module, value: ast.expr, found: Gathering) -> bool:
    if isinstance(value, ast.Call) and free_name(module, value.func) == "float" and value.args:
        value = value.args[0]
    while is_method_call(value, *AS_NUMBER):
        value = value.func.value
    made = module.value(value)
    return value in found.losses or made in found.losses or (isinstance(made, ast.Call) and gives_mean(module, made))


def _divisions(module: Module, total: ast.Name, loader: ast.expr) -> Iterator[ast.AST]:
    """The divisions of a sum by a number of rows, in its function."""
    for node in module.below(module.function(total) or module.tree):
        match node:
            case ast.BinOp(ast.Name(total.id), ast.Div(), by) | ast.AugAssign(ast.Name(total.id), ast.Div(), by):
                if _counts_rows(module, by, loader):
                    yield node


def _counts_rows(module: Module, node: ast.expr, loader: ast.expr) -> bool:
    """Whether a number is that of the rows of a loader: `len(loader.dataset)`, `len(rows)`."""
    length = module.value(node)
    if not isinstance(length, ast.Call) or free_name(module, length.func) != "len" or not length.args:
        return False
    made = module.value(loader)
    rows = argument(made, 0, "dataset") if isinstance(made, ast.Call) else None
    is_given = rows is not None and ast.dump(rows) == ast.dump(length.args[0])
    return is_given or getattr(length.args[0], "attr", "") == "dataset"

"""Where code shows a value, or makes text of it, and whether a Ray Dataset is read for that.

Measured on Ray 2.60: the text of a Dataset that has its rows, as from_pandas() and materialize() give it, holds some
of them, which are fetched (data/_internal/dataset_repr.py:54). That of any other names its columns or its plan, and
fetches nothing. A dict, list or tuple makes the text of its items; so do grouped rows and an iterator of theirs.
"""

import ast
from collections.abc import Iterator
from itertools import pairwise

from raymigrate.documents.cells import STAND_INS
from raymigrate.facts.ray_data.datasets import SPLITS, is_dataset, is_materialized
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import Source, all_arguments, free_name, is_method_call, seen_entries
from raymigrate.facts.values.items import DEEPEST, collected, items_of

TEXTS = ("print", "repr", "str", "format", "ascii")  # of Python itself
PRINTS = ("pprint.pprint", "pprint.pp", "pprint.pformat", "IPython.display.display")
DISPLAY = "display"  # what a notebook has without an import
HAVE_ITEMS = (ast.List, ast.Tuple, ast.Set, ast.ListComp, ast.SetComp, ast.GeneratorExp)
HOLDERS = ("groupby", "iterator")


def shown(module: Module, *, is_notebook: bool) -> Iterator[ast.expr]:
    """The expressions that code shows, or makes text of, where it does so in any case: not in the text of an error."""
    for call in [*_calls_of_builtins(module, is_notebook=is_notebook), *module.calls(*PRINTS)]:
        yield from (given for given in call.args if not isinstance(given, ast.Starred))
    texts = [part.value for part in module.of_type(ast.FormattedValue)]
    for call, method in module.method_calls("format"):
        if isinstance(method.value, ast.Constant):
            texts += all_arguments(call)
    for node in module.of_type(ast.BinOp):
        if isinstance(node.op, ast.Mod) and isinstance(node.left, ast.Constant) and isinstance(node.left.value, str):
            texts += node.right.elts if isinstance(node.right, ast.Tuple) else [node.right]
    yield from (text for text in texts if not isinstance(module.statement(text), (ast.Raise, ast.Assert)))
    if is_notebook:
        yield from ends_of_cells(module)


def _calls_of_builtins(module: Module, *, is_notebook: bool) -> Iterator[ast.Call]:
    calls = module.named_calls(*TEXTS, *([DISPLAY] if is_notebook else []))
    yield from (call for call in calls if free_name(module, call.func))


def ends_of_cells(module: Module) -> Iterator[ast.expr]:
    """The expressions at the ends of cells, which a notebook shows unless a semicolon follows."""
    for step, following in pairwise([*module.tree.body, None]):
        if not isinstance(step, ast.Expr) or (following is not None and not _is_edge(following)):
            continue
        line, column = module.end(step)
        if not module.lines[line - 1][column:].lstrip().startswith(";"):
            yield step.value


def _is_edge(step: ast.stmt) -> bool:
    name = step.value.id if isinstance(step, ast.Expr) and isinstance(step.value, ast.Name) else ""
    return STAND_INS.fullmatch(name) is not None and "mask" not in name


def fetches_rows(module: Module, node: ast.expr, depth: int = 0) -> bool:
    """Whether the text of an expression holds rows of a Dataset: it is one that has them, or something of such ones.

    Args:
        module: The module.
        node: The expression.
        depth: How many collections led here.
    """
    if is_dataset(module, node):
        return is_materialized(module, node)
    if depth >= DEEPEST:
        return False
    for source in _collections(module, node):
        if _is_made_of_dataset(source):
            return True
        items = [*items_of(source), *_of_keywords(source)]
        if any(fetches_rows(item.module, item.node, depth + 1) for item in items):
            return True
    return False


def _collections(module: Module, node: ast.expr) -> list[Source]:
    """The collections that an expression can be, with all that they hold: `list(found)` of a dict has its keys only."""
    for source in module.origins(node):
        call = source.node
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.args:
            copied = [origin.node for origin in source.module.origins(call.args[-1])]
            if not all(isinstance(one, HAVE_ITEMS) or is_method_call(one, "values") for one in copied):
                return [source]
    return [found for found in collected(Source(module, node)) if not isinstance(found.node, ast.GeneratorExp)]


def _is_made_of_dataset(source: Source) -> bool:
    """Whether a value is the parts of a split, or made by a method of a Dataset that keeps it."""
    module, call = source.module, source.node
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return False
    if call.func.attr in SPLITS:
        return is_dataset(module, call.func.value)
    return call.func.attr in HOLDERS and fetches_rows(module, call.func.value)


def _of_keywords(source: Source) -> list[Source]:
    """The values of `dict(train=rows)`."""
    if not isinstance(source.node, ast.Call):
        return []
    return [Source(source.module, value) for value in seen_entries(source.module, source.node).values()]

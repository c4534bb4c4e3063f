"""What a function given to map_batches or BatchMapper does with its batch."""

import ast
from collections.abc import Iterator
from functools import cached_property

from raymigrate.facts.projects.places import functions_behind
from raymigrate.facts.syntax.functions import is_static, parameter_for
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import BINDS, is_assignment, targets_of
from raymigrate.facts.values.arguments import all_arguments, has_starred
from raymigrate.facts.values.partials import function_of as partial_of

DEEPEST = 3  # functions that hand a batch on, one to the next

INDEXERS = ("loc", "iloc", "at", "iat")
VIEWS = (*INDEXERS, "values", "T", "flat")
METHODS_IN_PLACE = ("sort", "fill", "put", "partition", "resize", "itemset")
# A list of columns, or a condition on rows: no key of a dict.
ROWS_OR_COLUMNS = (ast.List, ast.ListComp, ast.Compare)
# What a DataFrame and a Series have, and a dict of arrays has not.
OF_A_FRAME = frozenset(
    [
        "apply",
        "applymap",
        "assign",
        "astype",
        "at",
        "columns",
        "describe",
        "drop",
        "drop_duplicates",
        "dropna",
        "dtypes",
        "explode",
        "fillna",
        "filter",
        "groupby",
        "head",
        "iat",
        "iloc",
        "index",
        "insert",
        "isna",
        "isnull",
        "iterrows",
        "itertuples",
        "join",
        "loc",
        "melt",
        "merge",
        "notna",
        "query",
        "reindex",
        "rename",
        "reset_index",
        "sample",
        "select_dtypes",
        "set_index",
        "shape",
        "sort_values",
        "to_dict",
        "to_numpy",
        "to_records",
    ]
)
OF_A_SERIES = frozenset(
    [
        "apply",
        "cat",
        "dropna",
        "dt",
        "eq",
        "fillna",
        "iloc",
        "index",
        "isin",
        "isna",
        "isnull",
        "loc",
        "map",
        "name",
        "notna",
        "replace",
        "str",
        "to_list",
        "to_numpy",
        "unique",
        "value_counts",
        "values",
        "where",
    ]
) - {"unique", "where"}

# Functions of pandas that take DataFrames, and no dicts of arrays: those that are in a list, or are arguments.
OF_LISTS = frozenset({"pandas.concat"})
OF_FRAMES = frozenset(
    f"pandas.{name}" for name in ("get_dummies", "melt", "merge", "merge_asof", "merge_ordered", "pivot", "pivot_table")
)


class BatchFunction:
    """A function of one batch, as far as its body can be seen.

    Args:
        module: The module.
        node: What is given as `fn`: a name, a lambda, or anything else; or the function itself.
        depth: How many functions handed the batch on to this one.
    """

    def __init__(self, module: Module, node: ast.expr | ast.FunctionDef, depth: int = 0) -> None:
        wrapped = self._out_of_partial(module, node)
        found = None if isinstance(wrapped, (ast.Lambda, ast.FunctionDef)) else module.elsewhere(wrapped)
        self.module = module if found is None else found.module
        self.given = node
        self._wrapped = wrapped
        self._depth = depth
        self.elsewhere = found is not None
        self.node = self._body_of(found.node if found is not None else self._definition(wrapped))

    def _out_of_partial(self, module: Module, node: ast.expr | ast.FunctionDef) -> ast.expr | ast.FunctionDef:
        """The function that `partial(function, ...)` fills arguments of, which are kept; anything else as it is."""
        self._filled: int | None = 0
        self._named = frozenset[str]()
        for _ in range(DEEPEST):  # `partial(partial(function, 1), 2)`
            call = None if isinstance(node, ast.FunctionDef) else module.value(node)
            function = partial_of(module, call) if isinstance(call, ast.Call) else None
            if function is None or not isinstance(call, ast.Call) or function is call.func:
                break
            is_seen = self._filled is not None and not has_starred(call.args)
            self._filled = (self._filled or 0) + len(call.args) - 1 if is_seen else None
            self._named |= frozenset(keyword.arg for keyword in call.keywords if keyword.arg)
            node = function
        return node

    def _definition(self, node: ast.expr | ast.FunctionDef) -> ast.AST | None:
        if isinstance(node, ast.FunctionDef):
            return node
        value = self.module.value(node)
        found = value if isinstance(value, ast.Lambda) else self.module.definition(node)
        if isinstance(found, (ast.Lambda, ast.FunctionDef, ast.ClassDef)):
            return found
        several = list(functions_behind(self.module, node))  # `self.encode`, an object that can be called
        return several[0] if len(several) == 1 else None

    def _body_of(self, found: ast.AST | None) -> ast.FunctionDef | ast.Lambda | None:
        if isinstance(found, ast.ClassDef):
            calls = [n for n in found.body if isinstance(n, ast.FunctionDef) and n.name == "__call__"]
            found = calls[0] if calls else None
        return found if isinstance(found, (ast.FunctionDef, ast.Lambda)) else None

    @property
    def described(self) -> str:
        """What to call it at the head of a sentence."""
        named = isinstance(self._wrapped, (ast.Name, ast.Attribute))
        return f"{ast.unparse(self._wrapped)}()" if named else "The function"

    @property
    def visible(self) -> bool:
        """Whether the body is in this module."""
        return self.node is not None and self.parameter is not None

    @cached_property
    def parameter(self) -> str | None:
        """The name of the batch."""
        assert self.node is not None
        names = [argument.arg for argument in (*self.node.args.posonlyargs, *self.node.args.args)]
        if self._filled is None:
            return None
        names = names[self._filled + self._is_method :]
        return names[0] if names and names[0] not in self._named else None

    @property
    def _is_method(self) -> bool:
        """Whether Python itself fills the first parameter."""
        is_in_class = self.node is not None and isinstance(self.module.parent_of.get(self.node), ast.ClassDef)
        return is_in_class and isinstance(self.node, ast.FunctionDef) and not is_static(self.node)

    @cached_property
    def _handed_on(self) -> list["BatchFunction"]:
        """The functions of the project that get the whole batch: `clean` of `lambda batch: clean(batch, "text")`."""
        calls = [node for node in self._body if isinstance(node, ast.Call)] if self._depth < DEEPEST else []
        found: list[BatchFunction] = []
        end = self._frozen_from("pandas")  # such a copy is not followed, whatever it shares
        for call in calls:
            for given in filter(self._is_batch, all_arguments(call)):
                other = BatchFunction(self.module, call.func, self._depth + 1)
                is_called = isinstance(other.node, ast.Lambda) or getattr(other.node, "name", "__call__") != "__call__"
                if other.node is None or not is_called or self.module.statement(call).lineno > end:
                    continue
                other.parameter = parameter_for(other.node, call, given, int(other._is_method)) or None
                found += [other] if other.visible else []
        return found

    @cached_property
    def _body(self) -> list[ast.AST]:
        return list(self.module.below(self.node)) if self.node is not None else []

    @cached_property
    def uses(self) -> list[ast.Name]:
        """The reads of the batch under its own name."""
        return [n for n in self._body if self._is_batch(n) and isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]

    @cached_property
    def returned(self) -> list[ast.expr]:
        """What the function returns, at each of its ends."""
        if isinstance(self.node, ast.Lambda):
            return [self.node.body]
        ends = [n for n in self._body if isinstance(n, ast.Return) and self.module.function(n) is self.node]
        return [end.value for end in ends if end.value is not None]

    @cached_property
    def _aliases(self) -> set[str]:
        """Names that stand for the batch or for a part of it that shares its memory."""
        names = {self.parameter or ""}
        for node in self._body:
            if isinstance(node, BINDS) and node.value is not None and self._shares(node.value, names):
                names |= {target.id for target in targets_of(node) if isinstance(target, ast.Name)}
        return names

    def _shares(self, node: ast.AST, names: set[str]) -> bool:
        """Whether an expression is the batch or a view of a part of it."""
        while not isinstance(node, ast.Name):
            if isinstance(node, ast.Subscript) or (isinstance(node, ast.Attribute) and node.attr in VIEWS):
                node = node.value
            else:
                return False
        return node.id in names

    def _is_batch(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Name) and node.id == self.parameter

    def _frozen_from(self, batch_format: str) -> int:
        """The line from which on the parameter's name stands for a copy: `frame = frame.copy()`."""
        lines = [
            node.lineno
            for node in self._body
            if is_assignment(node)
            and any(self._is_batch(target) for target in targets_of(node))
            and not self._shares(node.value, {self.parameter or ""})
            and not (batch_format == "numpy" and self._has_its_arrays(node.value))
            and self.module.parent_of[node] is self.node
        ]
        return min(lines, default=10**9)

    def _has_its_arrays(self, node: ast.expr) -> bool:
        """Whether an expression is another dict of the same arrays: `dict(batch)`, `batch.copy()`, `{**batch}`.

        One whose other values are made of the batch is not: `{**batch, "n": batch["n"].copy()}`.
        """
        others: list[ast.expr] = []
        match node:
            case ast.Call(func=ast.Name(id="dict"), args=[whole], keywords=keywords):
                others = [keyword.value for keyword in keywords]
            case ast.Call(func=ast.Attribute(value=whole, attr="copy"), args=[]):
                pass
            case ast.Dict(keys=[None, *_], values=[whole, *others]):
                pass
            case _:
                return False
        return self._is_batch(whole) and not any(self._is_batch(part) for other in others for part in ast.walk(other))

    def writes_to_arrays(self, batch_format: str) -> bool:
        """Whether the function changes the memory of its batch, which current Ray hands out read-only.

        A new column, `batch["length"] = ...`, is no such change: it goes into the batch's own dict or frame.

        Args:
            batch_format: "pandas" or "numpy".
        """
        end = self._frozen_from(batch_format)
        own = any(node.lineno < end and self._writes(node, batch_format) for node in self._changes)
        return own or any(other.writes_to_arrays(batch_format) for other in self._handed_on)

    @property
    def _changes(self) -> list[ast.Assign | ast.AugAssign | ast.Call]:
        return [n for n in self._body if isinstance(n, (ast.Assign, ast.AugAssign, ast.Call))]

    def _writes(self, node: ast.Assign | ast.AugAssign | ast.Call, batch_format: str) -> bool:
        if isinstance(node, ast.Call):
            return self._call_writes(node, batch_format)
        targets = targets_of(node)
        for target in targets:
            if isinstance(node, ast.AugAssign) and batch_format == "numpy" and not self._is_batch(target):
                if self._shares(target, self._aliases):
                    return True
            if isinstance(target, ast.Subscript) and self._shares(target.value, self._aliases):
                if self._is_batch(target.value):
                    continue  # a column as a whole
                if batch_format == "numpy" or not self.is_column(target.value):
                    return True
        return False

    def is_column(self, node: ast.AST) -> bool:
        """Whether an expression is `frame["column"]`: assigning to its elements is `lost_assignments`."""
        return isinstance(node, ast.Subscript) and self._is_batch(node.value)

    def _call_writes(self, node: ast.Call, batch_format: str) -> bool:
        out = [keyword.value for keyword in node.keywords if keyword.arg == "out"]
        if any(self._shares(value, self._aliases) for value in out):
            return True
        if not isinstance(node.func, ast.Attribute):
            return False
        owner = node.func.value
        if batch_format == "numpy":
            return (
                node.func.attr in METHODS_IN_PLACE and self._shares(owner, self._aliases) and not self._is_batch(owner)
            )
        return self._is_batch(owner) and _in_place(self.module, node)

    @cached_property
    def lost_assignments(self) -> list[ast.AST]:
        """Places that change a column of a DataFrame through a copy: without effect since pandas 3."""
        found: list[ast.AST] = []
        for node in self._body:
            if isinstance(node, (ast.Assign, ast.AugAssign)):
                inner = [t.value for t in targets_of(node) if isinstance(t, ast.Subscript)]
                inner = [i.value if isinstance(i, ast.Attribute) and i.attr in INDEXERS else i for i in inner]
                found += [node for i in inner if self.is_column(i)]
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                if self.is_column(node.func.value) and _in_place(self.module, node):
                    found.append(node)
        return found

    @cached_property
    def takes_a_frame(self) -> bool:
        """Whether the function uses its batch as a DataFrame, so that it fails with a dict of arrays."""
        for node in self._body:
            if isinstance(node, ast.Subscript) and self._is_batch(node.value):
                if isinstance(node.slice, ROWS_OR_COLUMNS):
                    return True
            if isinstance(node, ast.Call) and self._gives_frames(node):
                return True
            if not isinstance(node, ast.Attribute):
                continue
            if self._is_batch(node.value) and node.attr in OF_A_FRAME:
                return True
            if self.is_column(node.value) and node.attr in OF_A_SERIES:
                return True
        return any(other.takes_a_frame for other in self._handed_on)

    def _gives_frames(self, call: ast.Call) -> bool:
        """Whether a call hands the batch to pandas for a DataFrame, or one of its columns for a Series."""
        name = self.module.qualified(call.func)
        if name in OF_FRAMES:
            named = [keyword.value for keyword in call.keywords if keyword.arg in ("data", "frame", "left", "right")]
            return any(map(self._is_batch, (*call.args[:2], *named)))
        listed = [*call.args[:1], *(keyword.value for keyword in call.keywords if keyword.arg == "objs")]
        parts = _parts(listed) if name in OF_LISTS else ()
        return any(self._is_batch(part) or self.is_column(part) for part in parts)


def _parts(waiting: list[ast.expr]) -> Iterator[ast.expr]:
    """What is in lists, as far as they are written out: `[batch] * 2`, `[batch for _ in range(2)]`."""
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.BinOp):
            waiting += [node.left, node.right]
        elif isinstance(node, (ast.List, ast.Tuple)):
            yield from node.elts
        elif isinstance(node, (ast.ListComp, ast.GeneratorExp)):
            yield node.elt


def _in_place(module: Module, call: ast.Call) -> bool:
    return any(k.arg == "inplace" and module.constant(k.value) is True for k in call.keywords)

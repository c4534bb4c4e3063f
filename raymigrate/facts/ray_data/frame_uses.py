"""What is done with a DataFrame of Ray Data, and whether it comes out the same with columns of Arrow as of NumPy.

Ray 2.56 and later make DataFrames with Arrow's dtypes (2.60 data/_internal/arrow_block.py, `to_pandas`). What is
listed here was measured to give the same with both, for columns without gaps: docs/semantics/data.md#frames. Any other
use is taken to differ.
"""

import ast
from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from enum import Enum, auto
from functools import cached_property

from raymigrate.facts.projects.places import functions_behind
from raymigrate.facts.ray_data.batch_functions import OF_A_FRAME
from raymigrate.facts.ray_data.frame_lists import makes_lists, reads_of_column, splits_into_columns
from raymigrate.facts.ray_data.frame_texts import gives_the_same
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import targets_of
from raymigrate.facts.syntax.scopes import FUNCTIONS
from raymigrate.facts.values import all_arguments, argument, is_call_by_name, is_method_call, is_none, keyword_argument


class Kind(Enum):
    """What an expression is."""

    BATCHES = auto()  # an iterator over DataFrames
    FRAME = auto()
    COLUMN = auto()
    MASK = auto()  # a column of truth values, with which Arrow does not calculate
    LISTS = auto()  # a column of lists, which has no `.str` with Arrow
    CELL = auto()


Use = tuple[ast.expr, Kind]
SAME: list[Use] = []  # of a use after which nothing of the DataFrame is left

# Methods and attributes of DataFrames and of columns, by what they give: the same kind again, or something else.
OF_FRAMES = frozenset(
    [
        "assign",
        "copy",
        "drop",
        "drop_duplicates",
        "dropna",
        "head",
        "rename",
        "reset_index",
        "sample",
        "sort_values",
        "tail",
    ]
)
OF_COLUMNS = frozenset(["abs", "copy", "dropna", "head", "reset_index", "round", "sort_values", "tail"])
ENDS_OF_COLUMNS = frozenset(
    [
        "astype",
        "count",
        "isin",
        "isna",
        "isnull",
        "max",
        "mean",
        "min",
        "notna",
        "notnull",
        "nunique",
        "std",
        "sum",
        "to_list",
        "to_numpy",
        "tolist",
        "value_counts",
    ]
)
SHAPES = frozenset(["columns", "empty", "index", "is_unique", "name", "shape", "size"])
NO_COLUMNS = OF_A_FRAME | frozenset(["T", "dtypes", "eval", "map", "mask", "mod", "pop", "values", "where"])
# What an array has, and a list has not.
OF_ARRAYS = frozenset(
    [
        "T",
        "all",
        "any",
        "astype",
        "dtype",
        "item",
        "max",
        "mean",
        "min",
        "nbytes",
        "ndim",
        "reshape",
        "shape",
        "size",
        "sum",
        "tobytes",
        "tolist",
    ]
)
# Functions that a column goes to: those that make something else of it, and those that give its cells.
TAKES = frozenset(["len", "list", "print", "set", "sorted", "tuple", "type"])
ARRAYS = frozenset(f"numpy.{name}" for name in ("array", "asarray", "concatenate", "stack"))
GIVES_CELLS = frozenset(["enumerate", "zip"])
ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div)
OF_MASKS = (ast.BitAnd, ast.BitOr)
COMPARISONS = (ast.Eq, ast.Gt, ast.GtE, ast.Lt, ast.LtE)
OF_ROWS = (ast.BinOp, ast.BoolOp, ast.Call, ast.Compare, ast.List, ast.ListComp, ast.Slice, ast.UnaryOp)
LOOPS = (ast.For, ast.comprehension)


class FrameUses:
    """Follows DataFrames through the code of a module.

    Args:
        module: The module.
        of_batches: Functions that Ray calls with a batch: what they return goes back to it.
    """

    def __init__(self, module: Module, of_batches: Iterable[ast.AST] = ()) -> None:
        self.module = module
        self.of_batches = set(of_batches)
        # Of functions of the module that are given a part of a DataFrame: the calls, and what they give back.
        self._calls = defaultdict[ast.AST, list[ast.expr]](list)
        self._given_back = defaultdict[ast.AST, set[Kind]](set)

    def differing(self, start: Iterable[Use]) -> tuple[ast.expr, ...] | None:
        """The first use found that may come out differently, within what it is a part of; None where all are the same.

        Args:
            start: Where DataFrames come in.
        """
        waiting, seen = deque(start), set[Use]()
        while waiting:
            use = waiting.popleft()
            if use in seen:
                continue
            seen.add(use)
            following = self._following(*use)
            if following is None:
                return self._with_outer(use[0])
            waiting += following
        return None

    def _with_outer(self, node: ast.expr) -> tuple[ast.expr, ...]:
        outer = self.module.parent_of[node]
        if not isinstance(outer, ast.Attribute):
            return (outer, node) if isinstance(outer, ast.expr) else (node,)
        method = self.module.parent_of[outer] if outer.attr == "str" else outer
        whole = self.module.calling(method) or outer
        return tuple(dict.fromkeys([whole, *([outer] if outer.attr == "str" else []), node]))

    def of_parameter(self, function: ast.AST, name: str, kind: Kind) -> list[Use]:
        """The reads of a parameter."""
        return [(use, kind) for use in self.module.uses(name, self.module.scope(function))]

    def _following(self, node: ast.expr, kind: Kind) -> list[Use] | None:
        """What comes of one use; None where it is not known to be the same."""
        outer = self.module.parent_of[node]
        for kinds, step in self._steps.items():
            if isinstance(outer, kinds):
                return step(node, outer, kind)
        return None

    @cached_property
    def _steps(self) -> dict[tuple[type[ast.AST], ...], Callable[..., list[Use] | None]]:
        return {
            (ast.Delete, ast.Dict, ast.Expr, ast.FormattedValue): lambda *_: SAME,
            (ast.Assign, ast.AnnAssign): self._assigned,
            (ast.AugAssign,): self._calculated,
            (ast.Attribute,): self._attribute,
            (ast.BinOp,): self._calculated,
            (ast.Call,): self._argument,
            (ast.Compare,): self._compared,
            LOOPS: self._looped,
            (ast.Lambda, ast.Return, ast.Yield): self._returned,
            (ast.DictComp, ast.List, ast.ListComp, ast.GeneratorExp, ast.Set, ast.Starred, ast.Tuple): self._collected,
            (ast.Subscript,): self._subscript,
            (ast.UnaryOp,): lambda node, outer, kind: None if isinstance(outer.op, ast.Not) else [(outer, kind)],
            (ast.keyword,): self._keyword,
        }

    def _assigned(self, node: ast.expr, outer: ast.Assign | ast.AnnAssign, kind: Kind) -> list[Use] | None:
        found: list[Use] = []
        for target in targets_of(outer):
            if target is node:
                continue
            if isinstance(target, ast.Name):
                found += self._reads(target, kind)
            elif not isinstance(target, ast.Subscript) or isinstance(target.value, ast.Attribute):
                return None  # also frame.loc[...], which keeps the type of its column
            elif kind is Kind.LISTS:
                found += [(read, kind) for read in reads_of_column(self.module, target)]
        return found

    def _reads(self, target: ast.AST, kind: Kind) -> list[Use]:
        """The reads of every name that a target binds."""
        names = [part for part in ast.walk(target) if isinstance(part, ast.Name)]
        scopes = [(name, self.module.bound_in(name)) for name in names]
        return [(use, kind) for name, scope in scopes if scope for use in self.module.uses(name.id, scope)]

    def _calculated(self, node: ast.expr, outer: ast.BinOp | ast.AugAssign, kind: Kind) -> list[Use] | None:
        if kind is Kind.CELL:
            return SAME
        known = OF_MASKS if kind is Kind.MASK else (*ARITHMETIC, *OF_MASKS)
        if not isinstance(outer.op, known):
            return None
        return [(outer, kind)] if isinstance(outer, ast.BinOp) else SAME

    def _compared(self, node: ast.expr, outer: ast.Compare, kind: Kind) -> list[Use] | None:
        if all(isinstance(op, (ast.In, ast.NotIn)) for op in outer.ops):
            return SAME if kind in (Kind.CELL, Kind.FRAME) else None
        if kind is Kind.CELL:
            return None if any(is_none(side) for side in (outer.left, *outer.comparators)) else SAME
        same = kind is Kind.COLUMN and all(isinstance(op, COMPARISONS) for op in outer.ops)
        return [(outer, Kind.MASK)] if same else None

    def _looped(self, node: ast.expr, outer: ast.For | ast.comprehension, kind: Kind) -> list[Use] | None:
        if outer.iter is not node:
            return None
        if kind is Kind.FRAME:
            return SAME  # the names of its columns
        return self._reads(outer.target, Kind.FRAME if kind is Kind.BATCHES else Kind.CELL)

    def _returned(self, node: ast.expr, outer: ast.AST, kind: Kind) -> list[Use] | None:
        function = self.module.function(node)
        if function in self.of_batches or kind is Kind.CELL:
            return SAME
        if not isinstance(function, ast.FunctionDef) or function not in self._calls:
            return None
        self._given_back[function].add(kind)
        return [(call, kind) for call in self._calls[function]]

    def _collected(self, node: ast.expr, outer: ast.expr, kind: Kind) -> list[Use] | None:
        if isinstance(outer, ast.Tuple) and isinstance(self.module.parent_of[outer], ast.Subscript):
            return SAME
        call = self.module.parent_of[outer]
        if kind is Kind.FRAME and isinstance(call, ast.Call) and self.module.qualified(call.func) == "pandas.concat":
            return [(call, Kind.FRAME)]
        return SAME if kind is Kind.CELL else None

    def _subscript(self, node: ast.expr, outer: ast.Subscript, kind: Kind) -> list[Use] | None:
        if outer.value is not node or kind is Kind.CELL:
            return SAME  # a mask, or the key of something else
        if not isinstance(outer.ctx, ast.Load):
            return self._changed(outer) if kind is Kind.FRAME else None
        if kind is Kind.FRAME:
            key = self.module.value(outer.slice)
            return [(outer, Kind.FRAME if isinstance(key, OF_ROWS) else Kind.COLUMN)]
        return [(outer, Kind.CELL)] if isinstance(self.module.constant(outer.slice), int) else None

    def _changed(self, column: ast.Subscript) -> list[Use] | None:
        """`frame["x"] = ...`, `frame["x"] += 1`."""
        change = self.module.parent_of[column]
        return self._calculated(column, change, Kind.COLUMN) if isinstance(change, ast.AugAssign) else SAME

    def _attribute(self, node: ast.expr, outer: ast.Attribute, kind: Kind) -> list[Use] | None:
        if kind is Kind.CELL:
            return None if outer.attr in OF_ARRAYS else SAME
        if kind is Kind.BATCHES:
            return None
        if outer.attr in SHAPES:
            return SAME
        call = self.module.calling(outer)
        if kind is Kind.FRAME:
            return self._of_frame(outer, call)
        if call is not None:
            return self._method_of_column(outer.attr, call, kind)
        if outer.attr == "str":
            return self._of_texts(self.module.parent_of[outer]) if kind is not Kind.LISTS else None
        return [(outer, kind)] if outer.attr == "values" else None

    def _of_frame(self, attribute: ast.Attribute, call: ast.Call | None) -> list[Use] | None:
        above = self.module.parent_of[attribute]
        if attribute.attr == "loc" and isinstance(above, ast.Subscript) and isinstance(above.ctx, ast.Load):
            key = above.slice.elts[-1] if isinstance(above.slice, ast.Tuple) else None
            return [(above, Kind.COLUMN if isinstance(self.module.constant(key), str) else Kind.FRAME)]
        if call is None:
            return [(attribute, Kind.COLUMN)] if attribute.attr not in NO_COLUMNS else None
        if attribute.attr == "pop":
            return [(call, Kind.COLUMN)]
        given = all_arguments(call)
        is_plain = attribute.attr in OF_FRAMES and not any(isinstance(value, ast.Lambda) for value in given)
        return [(call, Kind.FRAME)] if is_plain else None

    def _method_of_column(self, name: str, call: ast.Call, kind: Kind) -> list[Use] | None:
        if name in ENDS_OF_COLUMNS:
            return SAME
        if name in OF_COLUMNS:
            return [(call, kind)]
        if name == "to_frame":
            return [(call, Kind.FRAME)]
        first = argument(call, 0, "func", "arg", "value")
        if name == "fillna" and isinstance(self.module.constant(first), str):
            return [(call, kind)]
        if name in ("apply", "map") and first is not None and not keyword_argument(call, "na_action"):
            cells = self._given_cells(first)
            made = Kind.LISTS if makes_lists(self.module, first) else Kind.COLUMN if kind is Kind.LISTS else kind
            return None if cells is None else [(call, made), *cells]
        return None

    def _given_cells(self, given: ast.expr) -> list[Use] | None:
        """The uses of a cell in a function that is called with each cell of a column."""
        if isinstance(given, ast.Name) and given.id in ("str", "int", "float", "len"):
            return SAME
        value = self.module.value(given)
        function = value if isinstance(value, ast.Lambda) else self.module.definition(given)
        if isinstance(value, ast.Dict):
            return SAME
        if not isinstance(function, FUNCTIONS) or not function.args.args:
            return None
        return self.of_parameter(function, function.args.args[0].arg, Kind.CELL)

    def _of_texts(self, above: ast.AST) -> list[Use] | None:
        """`.str.lower()`, `.str[0]`."""
        if isinstance(above, ast.Subscript):
            return [(above, Kind.COLUMN)]
        call = self.module.parent_of[above]
        if not isinstance(above, ast.Attribute) or not isinstance(call, ast.Call):
            return None
        if not gives_the_same(self.module, call, above.attr):
            return None
        expands = splits_into_columns(self.module, call, above.attr)
        return [(call, Kind.COLUMN if expands is None else Kind.FRAME if expands else Kind.LISTS)]

    def _keyword(self, node: ast.expr, outer: ast.keyword, kind: Kind) -> list[Use] | None:
        call = self.module.parent_of[outer]
        if not isinstance(call, ast.Call):  # `class Table(Base, rows=frame)`
            return None
        if is_method_call(call, "assign"):
            return SAME
        is_dict = is_call_by_name(call, "dict") and outer.arg is not None
        return SAME if is_dict or kind is Kind.CELL else self._handed(node, call, outer.arg, kind)

    def _argument(self, node: ast.expr, call: ast.Call, kind: Kind) -> list[Use] | None:
        if call.func is node:
            return None
        name = self.module.qualified(call.func) or (call.func.id if isinstance(call.func, ast.Name) else "")
        if kind is Kind.CELL:
            return None if name in ("torch.from_numpy", "bool") else SAME
        if kind is Kind.BATCHES:
            of_next = {"next": Kind.FRAME, "iter": kind, "enumerate": kind}.get(name)
            return [(call, of_next)] if of_next else None
        if name in ("len", "print", "type", "isinstance"):
            return SAME
        if kind is not Kind.FRAME and name in TAKES | ARRAYS:
            return SAME
        if kind is not Kind.FRAME and name in GIVES_CELLS:
            return [(call, kind)]
        return self._handed(node, call, call.args.index(node), kind)

    def _handed(self, node: ast.expr, call: ast.Call, place: int | str | None, kind: Kind) -> list[Use] | None:
        """The uses of what is handed to another function of the module; what that returns comes out of the call."""
        found = list(functions_behind(self.module, call.func))
        function = found[0] if len(found) == 1 else None
        if not isinstance(function, ast.FunctionDef) or place is None:
            return None
        is_method = isinstance(self.module.parent_of[function], ast.ClassDef)
        if is_method and function.decorator_list:
            return None
        names = [parameter.arg for parameter in (*function.args.posonlyargs, *function.args.args)][is_method:]
        given = "".join(names[place : place + 1]) if isinstance(place, int) else place
        if given not in {*names, *(parameter.arg for parameter in function.args.kwonlyargs)}:
            return None
        self._calls[function].append(call)
        return [*self.of_parameter(function, given, kind), *((call, back) for back in self._given_back[function])]

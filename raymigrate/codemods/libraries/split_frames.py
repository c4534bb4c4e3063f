"""RM523: DataFrames that NumPy splits.

`np.array_split()` turns axes with `swapaxes()`. pandas 3 has none, so that NumPy makes an array of the whole first; the
pieces of pandas 2 were DataFrames (docs/semantics/libraries.md#pandas).
"""

import ast

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.facts.module import Module
from raymigrate.facts.pandas_frames import is_pandas
from raymigrate.facts.ray_data import FROM_PANDAS
from raymigrate.facts.values import argument, has_unpacking

RM523 = Rule(
    "RM523",
    "a DataFrame that is given to np.split or np.array_split",
    "With pandas >= 3 the pieces are arrays of objects, without columns: ray.data.from_pandas() of them raises an"
    " AttributeError.",
    "The numbers of the rows are split, and iloc takes each piece.",
    "https://pandas.pydata.org/docs/whatsnew/v3.0.0.html",
    errors=("'numpy.ndarray' object has no attribute 'columns'",),
    unproven="The script ends where it uses a piece, before a job begins.",
)
SPLITTERS = ("numpy.array_split", "numpy.split")
MESSAGE = "Since pandas 3 the pieces that {name}() makes of a DataFrame are arrays, without its columns"
BY_ROWS = "[df.iloc[rows] for rows in {name}(np.arange(len(df)), ...)] gives DataFrames."
BY_COLUMNS = "df.iloc[:, columns] of the pieces of np.arange(df.shape[1]) gives DataFrames."


@codemod("array_split", "numpy", phase=Phase.LIBRARIES)
def split_frames(context: Context) -> None:
    """Splits the numbers of the rows in place of the DataFrame."""
    module = context.module
    for call in module.calls(*SPLITTERS):
        frame = argument(call, 0, "ary")
        if frame is None or not (is_pandas(module, frame) or _becomes_dataset(module, call)):
            continue
        name = ast.unparse(call.func)
        sections, axis = argument(call, 1, "indices_or_sections"), argument(call, 2, "axis")
        along = 0 if axis is None else module.constant(axis)
        advice = BY_ROWS.format(name=name) if along in (0, ...) else BY_COLUMNS
        if along != 0 or sections is None or has_unpacking(call) or not isinstance(call.func, ast.Attribute):
            context.manual(RM523, call, f"{MESSAGE.format(name=name)}.", advice)
        elif context.converts(RM523, call, f"{MESSAGE.format(name=name)}; now DataFrames."):
            _convert(context, call, frame, sections)


def _convert(context: Context, call: ast.Call, frame: ast.expr, sections: ast.expr) -> None:
    rows = context.fresh("rows", "part")
    whole, loop = "$frame", ""
    if not isinstance(frame, ast.Name):  # it is made once
        whole = context.fresh("frame", "whole")
        loop = f"for {whole} in [$frame] "
    assert isinstance(call.func, ast.Attribute)
    template = f"[{whole}.iloc[{rows}] {loop}for {rows} in $split($numpy.arange(len({whole})), $sections)]"
    context.plan.replace(call, template, frame=frame, split=call.func, numpy=call.func.value, sections=sections)


def _becomes_dataset(module: Module, call: ast.Call) -> bool:
    """Whether the pieces go into `ray.data.from_pandas()`, which takes DataFrames only."""
    outer = module.parent_of[call]
    return isinstance(outer, ast.Call) and outer.args[:1] == [call] and module.qualified(outer.func) == FROM_PANDAS

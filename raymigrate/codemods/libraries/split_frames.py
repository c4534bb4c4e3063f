"""RM523: DataFrames that NumPy splits.

`np.array_split()` turns axes with `swapaxes()`. pandas 3 has none, so that NumPy makes an array of the whole first; the
pieces of pandas 2 were DataFrames (docs/semantics/libraries.md#pandas).
"""

import ast

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.facts.ray_data.datasets import FROM_PANDAS
from raymigrate.facts.ray_data.pandas_frames import DATAFRAME, SERIES, dimensions
from raymigrate.facts.syntax.module import Module
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
MESSAGES = {
    DATAFRAME: "Since pandas 3 the pieces that {name}() makes of a DataFrame are arrays, without its columns",
    SERIES: "Since pandas 3 the pieces that {name}() makes of a Series are arrays, without its index",
}
NAMES = {DATAFRAME: "DataFrames", SERIES: "Series"}
BY_ROWS = "[df.iloc[rows] for rows in {name}(np.arange(len(df)), ...)] gives {pieces}."
OUTSIDE = "It has to stand outside of the class, whose names a comprehension does not see."
BY_COLUMNS = "df.iloc[:, columns] of the pieces of np.arange(df.shape[1]) gives DataFrames."


@codemod("array_split", "numpy", phase=Phase.LIBRARIES)
def split_frames(context: Context) -> None:
    """Splits the numbers of the rows in place of the DataFrame."""
    module = context.module
    for call in module.calls(*SPLITTERS):
        frame = argument(call, 0, "ary")
        kind = 0 if frame is None else DATAFRAME if _becomes_dataset(module, call) else dimensions(module, frame)
        if frame is None or not kind:
            continue
        name = ast.unparse(call.func)
        message = MESSAGES[kind].format(name=name)
        sections, axis = argument(call, 1, "indices_or_sections"), argument(call, 2, "axis")
        along = 0 if axis is None else module.constant(axis)
        advice = BY_ROWS.format(name=name, pieces=NAMES[kind]) if along in (0, ...) else BY_COLUMNS
        of_class = _reads_class(module, call)
        advice = f"{advice} {OUTSIDE}" if of_class else advice
        is_plain = along == 0 and isinstance(call.func, ast.Attribute) and not has_unpacking(call)
        if not is_plain or sections is None or of_class:
            context.manual(RM523, call, f"{message}.", advice)
        elif context.converts(RM523, call, f"{message}; now {NAMES[kind]}."):
            _convert(context, call, frame, sections)


def _reads_class(module: Module, call: ast.Call) -> bool:
    """Whether a call reads names of the class in whose body it is: a comprehension does not see them."""
    home = module.scope_of[call]
    names = (part for part in module.below(call) if isinstance(part, ast.Name))
    return isinstance(home.node, ast.ClassDef) and any(module.bound_in(part) is home for part in names)


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

"""RM723, RM701: methods of DataFrames and Series that pandas 2 and 3 took away, and `fillna(method=)`.

docs/semantics/libraries.md#pandas.
"""

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.argument_rules import RM701
from raymigrate.codemods.libraries.library_attributes import RM723
from raymigrate.codemods.phases import Phase
from raymigrate.facts.ray_data.pandas_frames import dimensions
from raymigrate.facts.values import keyword_argument

RENAMED = {"iteritems": "items", "applymap": "map", "pad": "ffill", "backfill": "bfill"}
INSTEAD = {
    "append": "pd.concat([df, other]) gives the same, with ignore_index= as it is; a row that is a dict goes in as"
    " pd.DataFrame([row]).",
    "mad": "(df - df.mean()).abs().mean() is the same number.",
    "lookup": "Take the places of the labels, and df.to_numpy() at these.",
}
FILLS = {"ffill": "ffill", "pad": "ffill", "bfill": "bfill", "backfill": "bfill"}
NOT_THERE = ("value", "downcast")  # arguments that ffill() and bfill() do not take
GONE = "Reading {} raises an AttributeError today: pandas has dropped it"


@codemod(*RENAMED, *INSTEAD, phase=Phase.LIBRARIES)
def frame_methods(context: Context) -> None:
    """Renames and reports methods of what surely is a DataFrame or a Series."""
    module = context.module
    for _, method in module.method_calls(*RENAMED, *INSTEAD):
        if not dimensions(module, method.value):
            continue
        message, new = GONE.format(method.attr), RENAMED.get(method.attr)
        if new is None:
            context.manual(RM723, method, f"{message}.", INSTEAD[method.attr])
        elif context.converts(RM723, method, f"{message}; now {new}."):
            context.plan.replace(method, f"$owner.{new}", owner=method.value)


@codemod("fillna", phase=Phase.LIBRARIES)
def filled_by_neighbours(context: Context) -> None:
    """Fills by ffill() and bfill(), which took the place of `fillna(method=)`."""
    module = context.module
    for call, function in module.method_calls("fillna"):
        given = keyword_argument(call, "method")
        if given is None or not dimensions(module, function.value):
            continue
        new = FILLS.get(str(module.constant(given)))
        message = "fillna(method=) raises a TypeError today"
        if new is None or call.args or any(keyword_argument(call, name) is not None for name in NOT_THERE):
            context.manual(RM701, given, f"{message}.", "Call ffill() or bfill() in its place.")
        elif context.converts(RM701, given, f"{message}; now {new}()."):
            edit = context.plan.call(call)
            edit.remove.add("method")
            context.plan.replace(function, f"$owner.{new}", owner=function.value)

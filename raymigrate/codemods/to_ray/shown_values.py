"""What a notebook or a script showed, and what nobody sees once the workers run it.

IPython shows the value of the last expression of a cell, and figures; a training function has no cells, and a worker no
screen. `display` is a name that IPython gives a notebook. Imported anywhere else, it prints.
"""

import ast
import re
from collections.abc import Collection, Iterable, Iterator

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.codemods.to_ray.arrivals import places
from raymigrate.codemods.to_ray.interactive import DISPLAY, SHOWS
from raymigrate.codemods.to_ray.outline import Outline
from raymigrate.codemods.to_ray.script import executed
from raymigrate.codemods.to_ray.step_kinds import stands_for_cell
from raymigrate.documents.cells import STAND_INS
from raymigrate.facts.ray_data.shown_data import ends_of_cells
from raymigrate.facts.syntax.functions import returned_values
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import free_name, last_name

# First words of the names of functions that are called for what they do, whatever they return.
ACTS = frozenset(
    {
        *("add", "append", "basic", "clear", "close", "collect", "compile", "cpu", "create", "cuda", "delete"),
        *(
            "disable",
            "download",
            "dump",
            "empty",
            "enable",
            "end",
            "eval",
            "export",
            "extend",
            "fill",
            "filterwarnings",
        ),
        *("finish", "fit", "free", "freeze", "gradient", "half", "init", "initialize", "insert", "kill", "load", "log"),
        *("login", "makedirs", "manual", "merge", "mkdir", "notebook", "pandas", "pop", "pprint", "prepare", "print"),
        *("push", "register", "remove", "requires", "reset", "resize", "rmtree", "save", "savefig", "seed", "set"),
        *("setup", "shuffle", "simplefilter", "sleep", "start", "step", "stop", "system", "tie", "train", "unfreeze"),
        *("update", "upgrade", "upload", "wait", "warn", "watch", "write", "zero"),
    }
)
MOVES = frozenset({"to", *(f"to_{kind}" for kind in ("csv", "excel", "json", "parquet", "pickle", "sql"))})
LONGEST = 50  # characters of what is named in a message
GONE = "Not shown any more, since the workers run it"
MOST = 6  # that are named


def ends(context: Context, steps: Iterable[ast.stmt]) -> set[ast.expr]:
    """The expressions whose values a notebook shows: the last of their cells, if they stand there for their values.

    Args:
        context: The module.
        steps: Its statements.
    """
    is_notebook = context.path.endswith(".ipynb") or any(map(stands_for_cell, steps))
    module = context.module
    return {value for value in ends_of_cells(module) if _is_result(module, value)} if is_notebook else set()


def is_display(module: Module, call: ast.AST) -> bool:
    """Whether something is a call of `display`, which notebooks have without an import."""
    return isinstance(call, ast.Call) and free_name(module, call.func) == DISPLAY


def tell_shown(context: Context, rule: Rule, outline: Outline, trains: Collection[ast.AST]) -> None:
    """Tells what was shown and is not any more, and gives the workers a `display`.

    Args:
        context: The module.
        rule: The rule of the conversion.
        outline: What becomes of the script.
        trains: What trains in it.
    """
    module = context.module
    moved = outline.roles.moved()
    staying = outline.behind | outline.displayed
    _give_display(context, outline, [step for step in moved if step not in staying])
    trained = max(places(outline.script, moved, trains), default=len(moved))
    lost = list(_lost(context, outline, moved, trains))
    before = [step for step in lost if moved.index(step) < trained]
    behind = [step for step in lost if moved.index(step) >= trained]  # one may train and show: a loop over folds
    if before:
        message = f"{GONE}: {named(module, before)}. Repeat it outside of the training function to see it."
        context.note(rule, before[0], message)
    if behind:
        message = f"{GONE}: {named(module, behind)}."
        advice = (
            "Return what it takes from the training function and show it after fit(), where it is result.return_value"
            " (from Ray 2.56 on); or print it, and save figures with savefig(), on one worker."
        )
        context.manual(rule, behind[0], message, advice)


def _give_display(context: Context, outline: Outline, moved: list[ast.stmt]) -> None:
    """Gives the workers a `display`; the driver keeps that of the notebook, which may be another than IPython's."""
    calls = [call for call in context.module.of_type(ast.Call) if is_display(context.module, call)]
    there = [call for call in calls if outline.script.step_of(call) in moved]
    if any(call.keywords for call in there):
        outline.start.append(f"from IPython.display import {DISPLAY}")
    elif there:
        outline.start.append(f"{DISPLAY} = print  # a worker has none")
    elif any(outline.script.step_of(call) in outline.roles.makers for call in calls):
        context.plan.need_import("IPython.display", DISPLAY)


def _lost(context: Context, outline: Outline, moved: list[ast.stmt], trains: Collection[ast.AST]) -> Iterator[ast.stmt]:
    """The steps that showed something and move, and that the driver does not show instead."""
    module, shown = context.module, ends(context, outline.script.steps)
    for step in moved:
        if step in outline.behind or step in outline.displayed:
            continue
        calls = [node for node in executed(module, step) if isinstance(node, ast.Call)]
        shows = any(is_display(module, call) or module.qualified(call.func) in SHOWS for call in calls)
        is_end = isinstance(step, ast.Expr) and step.value in shown and not any(call in trains for call in calls)
        if shows or is_end:
            yield step


def _is_result(module: Module, value: ast.expr) -> bool:
    """Whether an expression is there for its value, and not for what a call does."""
    if isinstance(value, ast.Constant) or (isinstance(value, ast.Name) and STAND_INS.fullmatch(value.id)):
        return False
    if not isinstance(value, ast.Call):
        return True
    name = last_name(value.func)
    definition = module.definition(value.func)
    if isinstance(definition, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return any(returned is not None for returned in returned_values(module, definition))
    return name not in MOVES and re.split(r"_|(?<=[a-z])(?=[A-Z])", name)[0] not in ACTS


def named(module: Module, steps: list[ast.stmt]) -> str:
    """The statements as source, shortened."""
    texts = [" ".join(module.source(step).split()) for step in steps]
    texts = list(dict.fromkeys(f"`{text}`" if len(text) <= LONGEST else f"`{text[:LONGEST]}...`" for text in texts))
    more = f" and {len(texts) - MOST} more" if len(texts) > MOST else ""
    return ", ".join(texts[:MOST]) + more

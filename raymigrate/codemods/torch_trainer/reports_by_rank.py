"""RM407: reports that only some of the workers make.

ray.train.report() is a collective of Train V2: it waits until every worker has called it. Measured on Ray 2.60 with two
workers: with rank 0 alone the job never ends, and warns once a minute (DEFAULT_COLLECTIVE_TIMEOUT_S is None).
"""

import ast
from collections.abc import Sequence
from itertools import takewhile

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.edits.plan import Code
from raymigrate.facts.projects.indirect import calls_of_held
from raymigrate.facts.projects.main_process import asks_for_main, is_for_first_rank
from raymigrate.facts.ray_train.ranks import (
    Condition,
    asked_of,
    asks_for_rank,
    asks_for_rank_alone,
    chosen_by_rank,
    decorated_by_rank,
    looped_by_rank,
    may_divide,
    rank_condition,
    side_that_leaves,
    sides_of,
    skipped_by_rank,
)
from raymigrate.facts.ray_train.reports import REPORTS
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.scopes import FUNCTIONS, LOOPS
from raymigrate.facts.values import is_method_call

RM407 = Rule(
    "RM407",
    "a report that only some workers make",
    "On Ray >= 2.51 report() waits until every worker has called it: the job hangs, and warns once a minute.",
    "Report on every worker, and make only the checkpoint depend on the rank: report(metrics, checkpoint=checkpoint if"
    " rank == 0 else None). The metrics of rank 0 count.",
    "https://docs.ray.io/en/latest/train/api/doc/ray.train.report.html",
)

HERE = "Only some workers report here, and report() waits for all: the job hangs."
AFTER = "Only some workers get here, and report() waits for all: the job hangs."
PERHAPS = "Some workers may have left before (`{}`), and report() waits for all: then the job hangs."
# Where the rank goes into what a condition asks for, and it is not seen whether the answer differs by it.
UNSEEN = (
    "If `{}` isn't the same on every worker, only some of them report here, and report() waits for all: the job hangs."
)

# Expressions that mean the same on every worker, and cost nothing there.
PLAIN = (
    ast.Name,
    ast.Constant,
    ast.Attribute,
    ast.Subscript,
    ast.Dict,
    ast.BinOp,
    ast.UnaryOp,
    ast.JoinedStr,
    ast.FormattedValue,
    ast.expr_context,
    ast.operator,
    ast.unaryop,
)
PLAIN_CALLS = frozenset({"item", "tolist"})
PLAIN_FUNCTIONS = frozenset({"float", "int", "len", "round", "str", "dict"})


@codemod("report", phase=Phase.TRIALS)
def reports_by_rank(context: Context) -> None:
    """Takes the condition away from a report that stands alone under it; names every other one."""
    module = context.module
    reports = _reports(module)
    uses = {call: _uses_of_function(module, call) for call in reports}
    of_all = _with_reports_on_each_side(module, [*reports, *(use for found in uses.values() for use in found)])
    for call in reports:
        condition = _condition(module, call)
        is_of_all = condition in of_all
        while condition is not None and condition in of_all:
            condition = _condition(module, condition)
        if condition is not None:
            _free_or_tell(context, condition, call)
        elif is_of_all:
            continue
        elif uses[call] and all(_condition(module, use) in of_all for use in uses[call]):
            continue  # the others report in another function, or without one
        elif is_for_first_rank(module, call) and not _is_in_both_sides(module, call):
            context.manual(RM407, call, HERE)  # `report() if first else None`, or in a function that it alone calls
        elif decorated_by_rank(module, call):
            context.manual(RM407, call, HERE)
        elif (asked := chosen_by_rank(module, call)) and not _is_in_both_sides(module, call):
            context.manual(RM407, call, _message(module, asked, HERE))
        elif (loop := looped_by_rank(module, call)) is not None:
            context.manual(RM407, call, UNSEEN.format(module.source(loop)))
        elif leaving := skipped_by_rank(module, call, perhaps=True):
            context.manual(RM407, call, PERHAPS.format(module.source(leaving.test)))


def _reports(module: Module) -> list[ast.expr]:
    """The calls of report(), also by a name that stands for nothing else, and where it is named to be called later."""
    held = [call for call, is_sure in calls_of_held(module, frozenset(REPORTS)) if is_sure]
    named = [found.node for found in module.references_within(*REPORTS) if found.qualified in REPORTS]
    handed = [node for node in named if isinstance(node, ast.expr) and module.calling(node) is None]
    return [*module.calls(*REPORTS), *held, *handed]


def _condition(module: Module, node: ast.AST) -> Condition | None:
    """What keeps some workers from a node in its function: a statement around it, or an `if` before it that leaves."""
    found = (rank_condition(module, node, may_divide), skipped_by_rank(module, node))
    return max((condition for condition in found if condition is not None), key=module.start, default=None)


def _free_or_tell(context: Context, condition: Condition, report: ast.expr) -> None:
    """Deals with a report that some workers do not make, or may not make."""
    module, asked = context.module, asked_of(condition)
    if isinstance(condition, ast.If) and isinstance(report, ast.Call) and _stands_alone(context, condition, report):
        if context.converts(
            RM407, report, "Only some workers reported; on Ray >= 2.51 the job would hang; now all do."
        ):
            _free(context, condition, report)
    else:
        message = HERE if condition in module.ancestors(report) else AFTER
        context.manual(RM407, report, _message(module, asked, message))


def _message(module: Module, asked: ast.expr, message: str) -> str:
    """What is said of a report, where it is sure that not all workers make it or not."""
    return message if asks_for_rank(module, asked) else UNSEEN.format(module.source(asked))


def _uses_of_function(module: Module, report: ast.expr) -> Sequence[ast.AST]:
    """The uses of the function around a report, where it is one of the module's own."""
    function = module.function(report)
    is_top = isinstance(function, ast.FunctionDef) and isinstance(module.parent_of[function], ast.Module)
    return module.uses_of(function) if is_top else ()


def _is_in_both_sides(module: Module, report: ast.expr) -> bool:
    """Whether a report is in an expression that reports either way: `report(a) if first else report(b)`."""
    choices = [parent for parent in module.ancestors(report) if isinstance(parent, ast.IfExp)]
    sides = [{module.qualified(part) for part in ast.walk(s)} for c in choices for s in (c.body, c.orelse)]
    return bool(sides) and all(not side.isdisjoint(REPORTS) for side in sides)


def _with_reports_on_each_side(module: Module, nodes: Sequence[ast.AST]) -> set[Condition]:
    """The conditions on the rank that reports follow either way: `if rank == 0: ... elif rank == 1: ... else: ...`.

    Args:
        module: The module.
        nodes: The reports, and the uses of functions that report.
    """
    inside: dict[Condition, list[ast.AST]] = {}
    for node in nodes:
        if (condition := _condition(module, node)) is not None:
            inside.setdefault(condition, []).append(node)
        while condition is not None and (condition := _condition(module, condition)) not in (None, *inside):
            inside[condition] = []
    found = set[Condition]()
    for condition in sorted(inside, key=module.start, reverse=True):  # the inner ones first
        if _is_on_each_side(module, condition, inside[condition]):
            found.add(condition)
            if (outer := _condition(module, condition)) is not None:
                inside[outer].append(condition)
    return found


def _is_on_each_side(module: Module, condition: Condition, nodes: Sequence[ast.AST]) -> bool:
    """Whether one of some nodes is on each way through a condition, or behind it where one side leaves."""
    left = side_that_leaves(condition) if isinstance(condition, ast.If) else []
    if left and (
        isinstance(left[-1], ast.Break) or (isinstance(left[-1], ast.Return) and _is_in_loop(module, condition))
    ):
        return False  # these workers come back to no report, the others do
    sides = sides_of(condition)
    behind = next((n for n, side in reversed([*enumerate(sides)]) if side is not left), len(sides) - 1)
    around = [{node, *module.ancestors(node)} for node in nodes]
    taken = [next((n for n, side in enumerate(sides) if not outer.isdisjoint(side)), behind) for outer in around]
    return len({*taken}) == len(sides)


def _is_in_loop(module: Module, node: ast.AST) -> bool:
    """Whether a node is in a loop of its function."""
    own = takewhile(lambda parent: not isinstance(parent, FUNCTIONS), module.ancestors(node))
    return any(isinstance(parent, LOOPS) for parent in own)


def _stands_alone(context: Context, condition: ast.If, call: ast.Call) -> bool:
    """Whether `if rank == 0: report(...)` is all there is, with metrics that other workers have too."""
    module = context.module
    body = condition.body
    if condition.orelse or len(body) != 1 or not isinstance(body[0], ast.Expr) or body[0].value is not call:
        return False
    if module.statement(condition) is not condition or len(call.args) > 2:
        return False
    if not (asks_for_rank_alone(module, condition.test) and asks_for_main(module, condition.test)):
        return False  # or another worker than rank 0 reported, whose metrics would no longer count
    if "#" in module.source(condition):
        return False  # a comment, which has a reader
    if any(keyword.arg not in ("metrics", "checkpoint") for keyword in call.keywords):
        return False
    metrics = call.args[:1] or [keyword.value for keyword in call.keywords if keyword.arg == "metrics"]
    return len(metrics) == 1 and _is_plain(context, metrics[0])


def _is_plain(context: Context, node: ast.expr) -> bool:
    module = context.module
    for part in ast.walk(node):
        if isinstance(part, ast.Call):
            method = is_method_call(part, *PLAIN_CALLS) and not part.args
            function = isinstance(part.func, ast.Name) and part.func.id in PLAIN_FUNCTIONS
            if not (method or function):
                return False
        elif not isinstance(part, (*PLAIN, ast.keyword)):
            return False
        elif isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load):
            bindings = module.scope_of[part].lookup(part.id)
            if any(
                rank_condition(module, binding.node) or skipped_by_rank(module, binding.node) for binding in bindings
            ):
                return False  # set on rank 0 only
    return True


def _free(context: Context, condition: ast.If, call: ast.Call) -> None:
    """Plans the report without its condition."""
    checkpoint = call.args[1] if len(call.args) > 1 else None
    for keyword in call.keywords:
        if keyword.arg == "checkpoint":
            checkpoint = keyword.value
    if checkpoint is not None and not isinstance(checkpoint, ast.Constant):
        context.plan.replace(
            checkpoint, "$checkpoint if $condition else None", checkpoint=checkpoint, condition=condition.test
        )
    context.plan.statement(condition).replacement = Code("$report", {"report": call})

"""RM407: reports that only some of the workers make.

ray.train.report() is a collective of Train V2: it waits until every worker has called it. Measured on Ray 2.60 with two
workers: with rank 0 alone the job never ends, and warns once a minute (DEFAULT_COLLECTIVE_TIMEOUT_S is None).
"""

import ast
from collections.abc import Sequence

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.edits.plan import Code
from raymigrate.facts.projects.main_process import asks_for_main, is_for_first_rank
from raymigrate.facts.ray_train.ranks import asks_for_rank, asks_for_rank_alone, rank_condition, skipped_by_rank
from raymigrate.facts.ray_train.reports import REPORTS
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import called_name, is_method_call

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
    conditions = {call: rank_condition(module, call) for call in module.calls(*REPORTS)}
    uses = {call: _uses_of_function(module, call) for call, condition in conditions.items() if condition is None}
    by_use = {use: rank_condition(module, use) for found in uses.values() for use in found}
    of_all = _with_reports_on_both_sides(module, [*conditions.items(), *by_use.items()])
    for call, condition in conditions.items():
        if condition is None:
            if (leaving := skipped_by_rank(module, call)) is not None:
                _tell(context, call, leaving, AFTER)
            elif uses[call] and all(by_use[use] in of_all for use in uses[call]):
                continue  # the others report in another function, or without one
            elif is_for_first_rank(module, call) and not _is_in_both_sides(module, call):
                context.manual(RM407, call, HERE)  # `report() if first else None`, or in a function that it alone calls
            continue
        if condition in of_all:
            continue
        if _stands_alone(context, condition, call):
            message = "Only some workers reported; on Ray >= 2.51 the job would hang; now all do."
            if context.converts(RM407, call, message):
                _free(context, condition, call)
        else:
            _tell(context, call, condition, HERE)


def _tell(context: Context, call: ast.Call, condition: ast.If, message: str) -> None:
    """Reports a report that some workers do not make, or may not make."""
    is_sure = asks_for_rank(context.module, condition.test)
    context.manual(RM407, call, message if is_sure else UNSEEN.format(context.module.source(condition.test)))


def _uses_of_function(module: Module, report: ast.Call) -> Sequence[ast.AST]:
    """The uses of the function around a report, where it is one of the module's own."""
    function = module.function(report)
    is_top = isinstance(function, ast.FunctionDef) and isinstance(module.parent_of[function], ast.Module)
    return module.uses_of(function) if is_top else ()


def _is_in_both_sides(module: Module, report: ast.Call) -> bool:
    """Whether a report is in an expression that reports either way: `report(a) if first else report(b)`."""
    choices = [parent for parent in module.ancestors(report) if isinstance(parent, ast.IfExp)]
    sides = [{called_name(module, part) for part in ast.walk(s)} for c in choices for s in (c.body, c.orelse)]
    return bool(sides) and all(not side.isdisjoint(REPORTS) for side in sides)


def _with_reports_on_both_sides(module: Module, conditions: Sequence[tuple[ast.AST, ast.If | None]]) -> set[ast.If]:
    """The conditions on the rank that reports follow either way: `if rank == 0: ... elif rank == 1: ... else: ...`.

    Args:
        module: The module.
        conditions: The innermost one around each report, and each use of a function that reports.
    """
    inside: dict[ast.If, list[ast.AST]] = {}
    for call, condition in conditions:
        if condition is not None:
            inside.setdefault(condition, []).append(call)
        outer = condition
        while outer is not None and (outer := rank_condition(module, outer)) is not None and outer not in inside:
            inside[outer] = []
    found = set[ast.If]()
    for condition in sorted(inside, key=module.start, reverse=True):  # the inner ones first
        after = module.start(condition.orelse[0]) if condition.orelse else None
        if after is not None and len({module.start(node) >= after for node in inside[condition]}) > 1:
            found.add(condition)
            if (outer := rank_condition(module, condition)) is not None:
                inside[outer].append(condition)
    return found


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

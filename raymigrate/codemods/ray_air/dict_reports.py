"""Checkpoints that are made from dicts, on their way to reports."""

import ast
from dataclasses import dataclass

from raymigrate.codemods.context import Context
from raymigrate.codemods.shared.import_cleanup import is_exported
from raymigrate.codemods.shared.torch_models import FROM_DICT
from raymigrate.facts.projects.callers import is_used_elsewhere
from raymigrate.facts.ray_train.reports import REPORTS
from raymigrate.facts.syntax.functions import is_generator_or_async, returned_values
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import is_assignment, only_target, targets_of
from raymigrate.facts.values import argument, called_name, has_starred, is_none, keyword_argument


@dataclass(frozen=True)
class Flow:
    """How checkpoints made from dicts get to reports.

    Args:
        made: The from_dict calls.
        reports: The reports.
        bindings: The variable that carries them, at each assignment; none where a report makes its own.
        optional: Whether there is not always a checkpoint.
    """

    made: list[ast.Call]
    reports: list[ast.Call]
    bindings: list[ast.Name]
    optional: bool


def checkpoint_argument(report: ast.Call) -> ast.expr | None:
    """What a report is given as its checkpoint."""
    named = keyword_argument(report, "checkpoint")
    return report.args[1] if len(report.args) == 2 else named


def metrics_argument(report: ast.Call) -> ast.expr | None:
    """What a report is given as its metrics."""
    return argument(report, 0, "metrics")


def _is_from_dict(context: Context, node: ast.expr) -> bool:
    name = called_name(context.module, node)
    return name in FROM_DICT and isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords


def _made_in(context: Context, value: ast.expr) -> tuple[list[ast.Call], bool] | None:
    """The from_dict calls that a value can come from, and whether it can be None; None if it can be more."""
    if is_none(value):
        return [], True
    if isinstance(value, ast.IfExp):
        first, second = _made_in(context, value.body), _made_in(context, value.orelse)
        return (first[0] + second[0], first[1] or second[1]) if first and second else None
    return ([value], False) if isinstance(value, ast.Call) and _is_from_dict(context, value) else None


def flow_of(context: Context, made: ast.Call) -> Flow | None:
    """Follows a checkpoint to its reports, directly or through a variable that holds nothing else."""
    module = context.module
    top: ast.expr = made
    while isinstance(parent := module.parent_of[top], ast.IfExp):
        top = parent
    if isinstance(parent, ast.Return):
        return _flow_of_helper(context, parent)
    if isinstance(parent, ast.keyword):
        parent = module.parent_of[parent]
    contents = _made_in(context, top)
    if isinstance(parent, ast.Call) and contents is not None:
        whole = _is_report(context, parent) and checkpoint_argument(parent) is top
        return Flow(contents[0], [parent], [], contents[1]) if whole else None
    target = targets_of(parent)[0] if is_assignment(parent) else None
    if not isinstance(target, ast.Name):
        return None
    return _flow_of_variable(context, target)


def _flow_of_helper(context: Context, end: ast.Return) -> Flow | None:
    """Follows what a function of the file returns, which then gives the dict, to the reports that call it."""
    module = context.module
    helper = module.function(end)
    if not isinstance(helper, ast.FunctionDef) or not _gives_to_this_file_alone(module, helper):
        return None
    given = [ast.Constant(None) if value is None else value for value in returned_values(module, helper)]
    contents = [_made_in(context, value) for value in given]
    reports = [_report_of(context, use) for use in module.uses_of(helper)]
    if None in contents or None in reports or not reports:
        return None
    optional = helper.body[-1] not in module.leaving or any(may_be_none for _, may_be_none in filter(None, contents))
    made = [call for calls, _ in filter(None, contents) for call in calls]
    return Flow(made, [report for report in reports if report is not None], [], optional)


def _gives_to_this_file_alone(module: Module, helper: ast.FunctionDef) -> bool:
    """Whether a function may return something else: nothing says what it gives, and only this file calls it."""
    return (
        isinstance(module.parent_of[helper], ast.Module)
        and len(module.bindings_of(helper)) == 1
        and not (helper.decorator_list or helper.returns or is_generator_or_async(module, helper))
        and not is_exported(module, helper.name)
        and not is_used_elsewhere(module, helper)
    )


def _report_of(context: Context, use: ast.expr) -> ast.Call | None:
    """The report that is given as its checkpoint what a call of a function returns."""
    module = context.module
    call = module.calling(use)
    report = module.taking(call) if call is not None else None
    is_given = report is not None and _is_report(context, report) and checkpoint_argument(report) is call
    return report if is_given else None


def _flow_of_variable(context: Context, target: ast.Name) -> Flow | None:
    module = context.module
    scope = module.bound_in(target)
    if scope is None or module.scope_of[target] is not scope:
        return None
    bindings, made, optional = [], list[ast.Call](), False
    for binding in scope.bindings[target.id]:
        assigned = module.parent_of.get(binding.node)
        simple = only_target(assigned) is binding.node
        contents = _made_in(context, assigned.value) if simple and is_assignment(assigned) else None
        if contents is None or not isinstance(binding.node, ast.Name):
            return None
        bindings.append(binding.node)
        made += contents[0]
        optional = optional or contents[1]
    reports = []
    for use in module.uses(target.id, scope):
        call = module.taking(use)
        if call is None or not _is_report(context, call) or checkpoint_argument(call) is not use:
            return None
        reports.append(call)
    return Flow(made, reports, bindings, optional) if reports else None


def _is_report(context: Context, call: ast.Call) -> bool:
    """Whether a call is a statement of its own that reports metrics and a checkpoint."""
    return (
        context.module.qualified(call.func) in REPORTS
        and len(call.args) + len(call.keywords) == 2
        and not has_starred(call.args)
        and metrics_argument(call) is not None
        and context.module.is_statement(call)
    )

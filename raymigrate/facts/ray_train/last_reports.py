"""Whether the last report of a run carries a checkpoint: then result.metrics are those of the last report, as ever."""

import ast
from itertools import takewhile

from raymigrate.facts.ray_train.reports import REPORTS, may_carry, only_rank, without_checkpoint
from raymigrate.facts.ray_train.training_code import TrainingCode
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import ENDS
from raymigrate.facts.syntax.scopes import FUNCTIONS

BLOCKS = (ast.For, ast.While, ast.With)


def last_carries_checkpoint(module: Module, code: TrainingCode | None) -> bool:
    """Whether each report without a checkpoint is seen to be followed by one that has one.

    Both are in one function, or a function that is called there makes the second one whenever it runs.

    Args:
        module: The module with the reports.
        code: The code whose reports are meant; None: all of them.
    """
    reports = [report for report in module.calls(*REPORTS) if code is None or code.may_run(module, report)]
    lacking = without_checkpoint(module, reports)
    carriers = [report for report in reports if report not in lacking and may_carry(module, report)]
    places = [place for carrier in carriers for place in (carrier, *_calls_for(module, carrier))]
    return all(any(_follows(module, place, report) for place in places) for report in lacking)


def _calls_for(module: Module, carrier: ast.Call) -> list[ast.Call]:
    """The calls, as statements, of a function of the file that makes a report whenever it runs."""
    home = module.function(carrier)
    if not isinstance(home, ast.FunctionDef) or not isinstance(module.parent_of[home], ast.Module):
        return []
    leaves = (leave for kind in (*ENDS, ast.Yield) for leave in module.of_type(kind))
    if any(module.function(leave) is home and module.start(leave) < module.start(carrier) for leave in leaves):
        return []
    around = takewhile(lambda outer: outer is not home, module.ancestors(module.statement(carrier)))
    is_always = all(_is_passed(module, outer, home) for outer in around)
    return [call for call in module.calls_of(home) if module.is_statement(call)] if is_always else []


def _follows(module: Module, carrier: ast.Call, report: ast.Call) -> bool:
    """Whether one report, or a call for it, always comes behind another report, whatever is done in between."""
    function = module.function(report)
    if function is None or module.function(carrier) is not function or module.start(carrier) < module.start(report):
        return False
    leaves = (leave for kind in ENDS for leave in module.of_type(kind) if module.function(leave) is function)
    if any(module.start(report) < module.start(leave) < module.start(carrier) for leave in leaves):
        return False
    around = takewhile(lambda outer: not isinstance(outer, FUNCTIONS), module.ancestors(module.statement(carrier)))
    return all(_is_passed(module, outer, report) for outer in around)


def _is_passed(module: Module, outer: ast.AST, report: ast.AST) -> bool:
    """Whether who makes a report gets into a block behind it: it is in there too, or all workers that count get in."""
    if isinstance(outer, ast.If):
        return only_rank(module, outer.test)
    return isinstance(outer, ast.With) or (isinstance(outer, BLOCKS) and module.inside(report, outer))

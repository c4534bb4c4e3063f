"""Whether the last report of a run carries a checkpoint: then result.metrics are those of the last report, as ever."""

import ast
from itertools import takewhile

from raymigrate.facts.ray_train.reports import REPORTS, may_carry, only_rank, without_checkpoint
from raymigrate.facts.ray_train.training_code import TrainingCode
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.scopes import FUNCTIONS

BLOCKS = (ast.For, ast.While, ast.With)
LEAVES = (ast.Return, ast.Break, ast.Continue)


def last_carries_checkpoint(module: Module, code: TrainingCode | None) -> bool:
    """Whether each report without a checkpoint is seen to be followed by one that has one, in the same function.

    Args:
        module: The module with the reports.
        code: The code whose reports are meant; None: all of them.
    """
    reports = [report for report in module.calls(*REPORTS) if code is None or code.may_run(module, report)]
    lacking = without_checkpoint(module, reports)
    carriers = [report for report in reports if report not in lacking and may_carry(module, report)]
    return all(any(_follows(module, carrier, report) for carrier in carriers) for report in lacking)


def _follows(module: Module, carrier: ast.Call, report: ast.Call) -> bool:
    """Whether one report always comes behind another one, whatever is done in between."""
    function = module.function(report)
    if function is None or module.function(carrier) is not function or module.start(carrier) < module.start(report):
        return False
    leaves = (leave for kind in LEAVES for leave in module.of_type(kind) if module.function(leave) is function)
    if any(module.start(report) < module.start(leave) < module.start(carrier) for leave in leaves):
        return False
    around = takewhile(lambda outer: not isinstance(outer, FUNCTIONS), module.ancestors(module.statement(carrier)))
    return all(_is_passed(module, outer, report) for outer in around)


def _is_passed(module: Module, outer: ast.AST, report: ast.Call) -> bool:
    """Whether who makes a report gets into a block behind it: it is in there too, or all workers that count get in."""
    if isinstance(outer, ast.If):
        return only_rank(module, outer.test)
    return isinstance(outer, ast.With) or (isinstance(outer, BLOCKS) and module.inside(report, outer))

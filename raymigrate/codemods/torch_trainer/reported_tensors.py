"""RM423: tensors among the metrics of a report.

Ray 2.0 took them; 2.3 already looked for them and raised a ValueError (2.3.1 train/_internal/session.py:330, 2.60
train/v2/_internal/execution/context.py:427). It looks into dicts, lists and tuples, and sees modules of torch too.
"""

import ast
from collections.abc import Iterator

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.facts.module import Module
from raymigrate.facts.reports import REPORTS
from raymigrate.facts.tensors import Kind, as_number, kinds_of
from raymigrate.facts.values import reaching

RM423 = Rule(
    "RM423",
    "a tensor in what is reported",
    "report() raises a ValueError for tensors of torch among the metrics, also in lists and dicts, which Ray 2.0 took.",
    "Report the number: loss.item(), or values.tolist() of a tensor that holds several.",
    "https://docs.ray.io/en/latest/train/api/doc/ray.train.report.html",
    errors=("Passing objects containing Torch tensors as metrics is not supported",),
    unproven="The report of one worker is enough to show the error: tests/error_snippets.py makes Ray say it.",
)
OF_TUNE = "ray.tune.report"
ARGUMENTS = ("checkpoint", "checkpoint_dir_name", "checkpoint_upload_mode", "checkpoint_upload_fn", "validation")
SHOWN_BY = frozenset({"print", "log", "info", "debug", "pprint"})  # what a dict is given to besides: numbers do there
IS_ONE = "report() raises a ValueError for a tensor"


@codemod("report")
def reported_tensors(context: Context) -> None:
    """Reports the numbers that losses hold; names other tensors."""
    if not context.is_ray_script:
        return
    for call in context.module.calls(*REPORTS, OF_TUNE):
        given = [*call.args[:1], *(keyword.value for keyword in call.keywords if keyword.arg not in ARGUMENTS)]
        for metrics in given:
            for value, elsewhere in _values(context.module, metrics):
                _value(context, value, elsewhere=elsewhere)


def _value(context: Context, value: ast.expr, *, elsewhere: bool) -> None:
    """Deals with one metric.

    Args:
        context: The module.
        value: The metric.
        elsewhere: Whether what holds it is read at other places too, where a tensor may be needed.
    """
    kinds = kinds_of(context.module, value)
    if value in context.plan.expressions or not kinds & {Kind.ONE, Kind.TENSOR}:
        return
    number = as_number(context.module, value)
    if elsewhere or number is None:
        context.manual(RM423, value, f"{IS_ONE}{'' if kinds <= {Kind.ONE, Kind.TENSOR} else ', which this may be'}.")
    elif context.converts(RM423, value, f"{IS_ONE}; now the number in it."):
        context.plan.replace(value, number, value=value)


def _values(module: Module, metrics: ast.expr, *, elsewhere: bool = False) -> Iterator[tuple[ast.expr, bool]]:
    """The metrics of a report, also in dicts and lists, and whether what holds them is read elsewhere."""
    parts = _parts(metrics)
    if parts is None and isinstance(metrics, ast.Name) and (parts := _named_parts(module, metrics)):
        elsewhere |= not _is_only_reported(module, metrics)
    if not parts:
        yield metrics, elsewhere
    for part in parts or ():
        yield from _values(module, part, elsewhere=elsewhere) if _parts(part) is not None else [(part, elsewhere)]


def _named_parts(module: Module, name: ast.Name) -> list[ast.expr]:
    """What a dict or list holds that has a name: where it is made, and what is put into it later."""
    made = [source.node for source in module.origins(name) if source.module is module]
    made += [value for binding in reaching(module, name) if (value := module.assigned(binding.node)) is not None]
    held = [part for display in dict.fromkeys(made) for part in _parts(display) or ()]
    return [*held, *_stored(module, name)]


def _parts(node: ast.expr) -> list[ast.expr] | None:
    """What a dict or list that is written out holds; None for other expressions."""
    if isinstance(node, ast.Dict):
        return list(node.values)
    if isinstance(node, (ast.List, ast.Tuple)):
        return node.elts
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dict":
        return [*node.args, *(keyword.value for keyword in node.keywords)]
    return None


def _stored(module: Module, name: ast.Name) -> Iterator[ast.expr]:
    """What is put into a dict later: `metrics["loss"] = loss`."""
    scope = module.scope_of[name].find(name.id)
    for use in module.uses(name.id, scope) if scope is not None else ():
        item = module.parent_of[use]
        statement = module.parent_of.get(item)
        if isinstance(item, ast.Subscript) and isinstance(statement, ast.Assign) and statement.targets == [item]:
            yield statement.value


def _is_only_reported(module: Module, name: ast.Name) -> bool:
    """Whether a dict is filled, shown and reported, and nothing else."""
    scope = module.scope_of[name].find(name.id)
    return scope is not None and all(_is_shown(module, use) for use in module.uses(name.id, scope))


def _is_shown(module: Module, use: ast.expr) -> bool:
    outer = module.parent_of[use]
    if isinstance(outer, ast.Subscript):
        return outer.value is use and isinstance(outer.ctx, ast.Store)
    call = module.parent_of[outer] if isinstance(outer, ast.keyword) else outer
    if isinstance(call, ast.FormattedValue):
        return True
    if not isinstance(call, ast.Call) or call.func is use:
        return False
    name = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
    return name in SHOWN_BY or module.qualified(call.func) in (*REPORTS, OF_TUNE)

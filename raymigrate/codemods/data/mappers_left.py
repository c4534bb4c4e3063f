"""RM501 for a BatchMapper that is not converted: what takes its place depends on what is done with it."""

import ast
from collections.abc import Iterator
from enum import Enum

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.data.preprocessors import RM501
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.shared.preprocessor_advice import applied_to_batch, over_dataset
from raymigrate.facts.projects.callers import users_of
from raymigrate.facts.ray_data.preprocessor_uses import is_preprocessor_argument
from raymigrate.facts.ray_data.preprocessors import BATCH_MAPPERS, CHAINS, Mapper
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.scopes import Reference

GONE = "BatchMapper is gone: the import raises an ImportError."


class Use(Enum):
    """What is done with a BatchMapper, with what to do instead."""

    TRAINER = (
        "Call {dataset}.materialize() on each dataset before the trainer is built; a helper that makes the BatchMapper"
        " can return a function that does so."
    )
    DATASET = "Call {dataset} in place of transform(dataset)."
    BATCH = "Call {batch} in place of transform_batch(batch)."
    PREDICTOR = "Apply it to the rows before the predictor gets them: {dataset}."
    UNKNOWN = (
        "{dataset} does what it did to a dataset, and {batch} what it did to one batch. Where a trainer gets it, do so"
        " with each dataset before the trainer is built, with .materialize() after it; a helper that makes the"
        " BatchMapper can return a function that does so."
    )


NOT_MADE = (
    "None is made here. Name what takes its place where one is made, such as a function of a dataset, or leave the"
    " name out."
)
USED_TOO = " What is done with it in {files} has to change too."
METHODS = {"transform": Use.DATASET, "fit_transform": Use.DATASET, "transform_batch": Use.BATCH}


@codemod("BatchMapper", phase=Phase.REST)
def report_batch_mappers(context: Context) -> None:
    """Reports every BatchMapper that is left: made for a trainer in another file, or for something else."""
    context.settle_removed_arguments()
    for reference in context.references(*BATCH_MAPPERS):
        context.leave(RM501, reference, GONE, _advice(context, reference))


def _advice(context: Context, reference: Reference) -> str:
    """What to do about a BatchMapper, or about a name of the class: in an annotation, an isinstance()."""
    call = context.module.calling(reference.node)
    if call is None:
        return NOT_MADE
    mapper, found = Mapper(call), set(_uses(context, call))
    known = [use for use in Use if use in found] if found and Use.UNKNOWN not in found else [Use.UNKNOWN]
    texts = {"dataset": over_dataset(context, mapper), "batch": applied_to_batch(context, mapper)}
    return " ".join(use.value.format(**texts) for use in known) + _elsewhere(context.module, call)


def _elsewhere(module: Module, mapper: ast.Call) -> str:
    """A sentence that names the other files which use the function that makes a BatchMapper; none where none does."""
    function = module.function(mapper)
    if module.project is None or function is None or not isinstance(module.parent_of[function], ast.Module):
        return ""
    files = sorted(module.project.name(user.path) for user in users_of(module, mapper))
    return USED_TOO.format(files=" and ".join(files)) if files else ""


def _uses(context: Context, mapper: ast.expr, depth: int = 0) -> Iterator[Use]:
    """What is done with a BatchMapper, or with a Chain of several: with each name that it gets, too."""
    module = context.module
    outer = module.parent_of[mapper]
    name = module.name_of(mapper)
    if name is not None and depth < len(Use):
        for use in module.uses_of(name):
            yield from _uses(context, use, depth + 1)
    elif isinstance(outer, ast.Call) and module.qualified(outer.func) in CHAINS and mapper in outer.args:
        yield from _uses(context, outer, depth + 1)
    elif is_preprocessor_argument(module, mapper):
        edit = context.plan.calls.get(module.parent_of[outer])  # type: ignore[call-overload]
        if edit is None or "preprocessor" not in edit.remove:  # else the datasets are transformed there now
            yield Use.TRAINER
    elif isinstance(outer, ast.Attribute):
        yield METHODS.get(outer.attr, Use.UNKNOWN)
    else:
        call = module.parent_of[outer] if isinstance(outer, ast.keyword) else outer
        method = call.func.attr if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) else ""
        yield Use.PREDICTOR if method == "set_preprocessor" else Use.UNKNOWN

"""RM50x: the `preprocessor=` of a trainer becomes explicit transforms of its datasets."""

import ast

from raymigrate.context import Context
from raymigrate.edits.plan import Part
from raymigrate.error_texts import gone_names, refused_arguments
from raymigrate.facts.trainers import TrainerCall
from raymigrate.findings import Rule

DATA = "https://docs.ray.io/en/latest/train/user-guides/data-loading-preprocessing.html#preprocessing-data"

RM501 = Rule(
    "RM501",
    "a BatchMapper given to a trainer as preprocessor",
    "TorchTrainer has no preprocessor argument (TypeError), and Ray >= 2.13 has no BatchMapper.",
    "The function is applied to each dataset with map_batches before the trainer is built.",
    DATA,
    errors=gone_names("ray.data.preprocessors", "BatchMapper"),
)
RM502 = Rule(
    "RM502",
    "a preprocessor given to a trainer",
    "TorchTrainer has no preprocessor argument: this raises a TypeError.",
    "Apply it to the datasets before the trainer is built: fit it on the training data if it is not fitted, then"
    " call transform() on each dataset.",
    DATA,
    errors=refused_arguments("TorchTrainer", "preprocessor"),
)

BATCH_MAPPERS = frozenset({"ray.data.preprocessors.BatchMapper", "ray.data.preprocessors.batch_mapper.BatchMapper"})
CHAINS = frozenset({"ray.data.preprocessors.Chain", "ray.data.preprocessors.chain.Chain"})
PREPROCESSOR_REFUSED = "TorchTrainer has no preprocessor argument: this raises a TypeError."
BATCH_MAPPER_PARAMETERS = ("fn", "batch_format", "batch_size")


def batch_mappers(context: Context, call: TrainerCall) -> list[tuple[str, dict[str, Part]]]:
    """The `map_batches` arguments, as templates with parts, that do what the trainer's preprocessor did.

    Empty where there is no preprocessor, or none that can be followed to BatchMappers; the latter is reported.
    """
    given = call.arguments.get("preprocessor")
    if given is None or (isinstance(given, ast.Constant) and given.value is None):
        return []
    steps = _steps(context, given)
    if not steps:
        return []  # reported by train_v2_arguments, which also finds it in converted scripts
    if not context.converts(RM501, given, "The preprocessor is applied to each dataset with map_batches."):
        return []
    return [_arguments(context, step, number) for number, step in enumerate(steps)]


def _steps(context: Context, node: ast.expr) -> list[ast.Call]:
    """The BatchMapper calls that an expression stands for, in order; empty if it stands for anything else."""
    value = context.module.value(node)
    if not isinstance(value, ast.Call):
        return []
    name = context.module.qualified(value.func)
    if name in BATCH_MAPPERS and not any(keyword.arg is None for keyword in value.keywords):
        return [value]
    if name in CHAINS and not value.keywords:
        parts = [_steps(context, argument) for argument in value.args]
        return [step for part in parts for step in part] if all(parts) else []
    return []


def _arguments(context: Context, step: ast.Call, number: int) -> tuple[str, dict[str, Part]]:
    given = dict(zip(BATCH_MAPPER_PARAMETERS, step.args, strict=False))
    given.update({keyword.arg: keyword.value for keyword in step.keywords if keyword.arg})
    letter = "abcdefghijklmnopqrstuvwxyz"[number]
    parts: dict[str, Part] = {f"fn_{letter}": given["fn"]}
    template = f"$fn_{letter}"
    for name in ("batch_format", "batch_size"):
        if name in given:
            parts[f"{name}_{letter}"] = given[name]
            template += f", {name}=${name}_{letter}"
    if context.module.constant(given.get("batch_format")) == "numpy":
        template += ", zero_copy_batch=False"  # current Ray hands out read-only arrays, legacy Ray did not
    return template, parts


def remove_definitions(context: Context, call: TrainerCall) -> None:
    """Takes away `preprocessor = BatchMapper(...)` lines that only the trainer used."""
    _remove(context, call.arguments["preprocessor"])


def _remove(context: Context, node: ast.expr) -> None:
    module = context.module
    value = module.value(node)
    if not isinstance(value, ast.Call):
        return
    if isinstance(node, ast.Name):
        scope = module.scope_of[node].find(node.id)
        statement = module.parent_of[value]
        if scope is None or len(module.uses(node.id, scope)) > 1 or not isinstance(statement, ast.stmt):
            return
        context.plan.statement(statement).removed = True
    reference = module.reference_at.get(value.func)
    if reference is not None:
        context.handle(reference, gone=True)
    if module.qualified(value.func) in CHAINS:
        for argument in value.args:
            _remove(context, argument)

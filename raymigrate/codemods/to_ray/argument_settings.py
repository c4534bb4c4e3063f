"""RM806: what the TrainingArguments of a plain script mean on Ray that they did not mean before."""

import ast
from collections.abc import Iterator
from types import EllipsisType

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.codemods.to_ray.outline import Outline
from raymigrate.codemods.to_ray.trainer_calls import arguments_made
from raymigrate.facts.hugging_face.argument_objects import is_arguments_object, may_be_arguments_object
from raymigrate.facts.hugging_face.later_settings import BATCH, Setting, later_settings, unseen_settings
from raymigrate.facts.projects.callees import calls_within, functions_run, reached_elsewhere
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import all_arguments, argument, has_unpacking, last_name

BEST_AT_END = "load_best_model_at_end"
NOTES: dict[tuple[str | None, object], str] = {
    ("save_strategy", "no"): "Nothing is saved, so nothing is reported: result.metrics and result.checkpoint are None,"
    " and a run that fails starts anew.",
    (BEST_AT_END, True): "result.checkpoint is the last checkpoint, not the best: take the model that the script saves"
    " at its end.",
}
BEST_UNSAVED = (
    "result.checkpoint is the last checkpoint, not the best, and the script saves none at its end:"
    " trainer.save_model() behind train() does."
)
CPUS = (
    "Ray gives each worker one CPU, and one thread: for loaders of their own ScalingConfig needs"
    ' resources_per_worker={"CPU": n}.'
)
BEST_CHECKPOINT = "best_model_checkpoint"  # its folder, which a script may copy
SAVING = ("push", "export", "upload", "log_model")
SAVE_NO_MODEL = frozenset({"save_metrics", "save_state", "savefig", "save_to_disk"})
DEFAULT_BATCH = 8  # transformers/training_args.py
OLD_BATCH = "per_gpu_train_batch_size"  # in force up to transformers 4 where it was given and true
FP16, LOADER_PROCESSES = "fp16", "dataloader_num_workers"
TOLD = (*dict.fromkeys(str(name) for name, _ in NOTES), FP16, LOADER_PROCESSES)


def tell_settings(context: Context, rule: Rule, outline: Outline) -> None:
    """Tells of such settings.

    Args:
        context: The module.
        rule: The rule that tells.
        outline: What becomes of the script.
    """
    module = context.module
    for name, place, given in _settings(module):
        value = module.constant(given)
        if isinstance(value, (str, bool)) and (name, value) in NOTES:
            if value == "no" and len(arguments_made(module)) > 1:
                continue  # another training may save
            is_lost = name == BEST_AT_END and not _saves(module)
            context.note(rule, place, BEST_UNSAVED if is_lost else NOTES[name, value])
        elif name == FP16 and value is True and not outline.use_gpu:
            context.note(rule, place, "fp16=True does nothing on workers without a GPU: they train in float32.")
        elif name == LOADER_PROCESSES and value != 0:
            context.note(rule, place, CPUS)


def _settings(module: Module) -> Iterator[tuple[str | None, ast.AST, ast.expr]]:
    """What fields are given, as arguments or later: their names, where, and the values."""
    for call in arguments_made(module):
        yield from ((keyword.arg, keyword, keyword.value) for keyword in call.keywords)
    for name in TOLD:
        for setting in later_settings(module, name):
            if setting.value is not None and is_arguments_object(module, setting.owner):
                yield name, setting.place, setting.value


def batch_size(module: Module) -> int | None:
    """The per_device_train_batch_size of a script; None where it is not a literal, or not seen."""
    old, size = _literal(module, OLD_BATCH), _literal(module, BATCH)
    size = old or (DEFAULT_BATCH if size is None else size)
    return size if isinstance(size, int) else None


def _literal(module: Module, name: str) -> object:
    """What a field is given in the end, as given_at_last() tells it, but for the literal in place of its code."""
    given = given_at_last(module, name)
    return given if given is None or given is ... else module.constant(given)


def _saves(module: Module) -> bool:
    """Whether something may save a model: `trainer.save_model()`, an unseen function that gets a Trainer.

    What the script calls in other files of its project counts too.
    """
    if any(module.attributes(BEST_CHECKPOINT)) or any(module.named_calls("getattr")):
        return True
    calls = [*module.of_type(ast.Call)]
    takers = [call for call in calls if any(_is_trainer(module, given) for given in all_arguments(call))]
    if any(not any(functions_run(module, call)) for call in takers):
        return True
    elsewhere = (call for _, code in reached_elsewhere(module, calls) for call in calls_within(code))
    names = {last_name(call.func) for call in (*calls, *elsewhere)} - SAVE_NO_MODEL
    return any("save" in name or name.startswith(SAVING) for name in names)


def _is_trainer(module: Module, given: ast.expr) -> bool:
    made = module.origins(given) if isinstance(given, (ast.Name, ast.Attribute)) else []
    return any(isinstance(one.node, ast.Call) and last_name(one.node.func).endswith("Trainer") for one in made)


def given_at_last(module: Module, name: str) -> ast.expr | EllipsisType | None:
    """What a field of the only TrainingArguments of a script is given in the end; `...` where that is not seen.

    Args:
        module: The module.
        name: The field.

    Returns:
        The value, None for that of the library.
    """
    calls, later = arguments_made(module), set_later(module, name)
    if len(calls) != 1 or has_unpacking(calls[0]) or len(later) > 1 or unseen_settings(module):
        return ...
    if not later:
        return argument(calls[0], len(calls[0].args), name)
    is_beside = module.parent_of[module.statement(later[0].place)] is module.parent_of[module.statement(calls[0])]
    is_known = is_beside and is_arguments_object(module, later[0].owner)
    return later[0].value if is_known and (later[0].is_default or later[0].value) else ...


def set_later(module: Module, name: str) -> list[Setting]:
    """The places where a field is set of what is, or may be, TrainingArguments.

    Args:
        module: The module.
        name: The field.
    """
    kinds = (is_arguments_object, may_be_arguments_object)
    return [one for one in later_settings(module, name) if any(is_kind(module, one.owner) for is_kind in kinds)]

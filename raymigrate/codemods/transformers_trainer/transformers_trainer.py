"""RM1xx: TransformersTrainer and HuggingFaceTrainer become a TorchTrainer with a training function.

https://docs.ray.io/en/latest/train/getting-started-transformers.html#transformerstrainer-migration-guide shows the
form; docs/semantics/traps.md says where it has to do more to train as before.
"""

import ast

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.data.trainer_arguments import convert_trainer_arguments
from raymigrate.codemods.libraries.freeze_numerics import keep_loss_mean
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.shared.class_uses import ARGUMENTS, other_use, tell_calls_of_stored
from raymigrate.codemods.shared.cpu_workers import train_together_on_cpu
from raymigrate.codemods.shared.functions_not_found import OF_INIT, WITH_ITS_BLOCK, report_not_found
from raymigrate.codemods.shared.loss_scale import keep_loss_scale
from raymigrate.codemods.shared.trainer_annotations import name_as_type, name_quoted_types
from raymigrate.codemods.shared.written_out import write_out
from raymigrate.codemods.tracking.tracking import report_logs
from raymigrate.codemods.transformers_trainer.earlier_runs import start_from_earlier_run
from raymigrate.codemods.transformers_trainer.function_elsewhere import FunctionElsewhere, train_function
from raymigrate.codemods.transformers_trainer.reports_to import (
    check_use_of_datasets,
    silence_loggers,
    tell_loader_processes,
)
from raymigrate.facts.hugging_face.datasets import is_hf_dataset
from raymigrate.facts.ray_train.trainers import TrainerCall, is_no_trainer, trainer_calls
from raymigrate.facts.syntax.functions import parameters, returned_values
from raymigrate.facts.syntax.guards import expecting
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import entries, is_none
from raymigrate.knowledge.error_texts import gone_names, refused_arguments
from raymigrate.knowledge.legacy import HF, TRANSFORMERS_TRAINERS

GUIDE = "https://docs.ray.io/en/latest/train/getting-started-transformers.html#transformerstrainer-migration-guide"

RM101 = Rule(
    "RM101",
    "TransformersTrainer or HuggingFaceTrainer",
    "Ray 2.8 raises when the class is constructed, and Ray >= 2.9 has no such name: the import fails.",
    "The init function becomes a training function for TorchTrainer, which saves, reports and resumes as before.",
    GUIDE,
    errors=(
        *gone_names(HF, "TransformersTrainer", "HuggingFaceTrainer"),
        *gone_names(f"{HF}.transformers", "TransformersTrainer"),
        f"No module named '{HF}.huggingface_trainer'",
        f"No module named '{HF}.transformers.transformers_trainer'",
        "No module named 'ray.ml'",
        *refused_arguments("TorchTrainer", "trainer_init_per_worker", "trainer_init_config"),
        "The TransformersTransformers will be hard deprecated in Ray 2.8",  # so Ray 2.7 and 2.8 spell it
        "`HuggingFaceTrainer`, `HuggingFacePredictor` and `HuggingFaceCheckpoint` have been renamed",
    ),
)
RM102 = Rule(
    "RM102",
    "a TransformersTrainer call with arguments that cannot be seen",
    "The class is gone, and arguments passed as *args or **kwargs cannot be rewritten one by one.",
    "Arguments from a dict that only this call reads are written into the call. Write any others out as keywords,"
    " and run raymigrate again.",
    GUIDE,
)
RM103 = Rule(
    "RM103",
    "a use of the class other than constructing it",
    "Ray >= 2.9 has no such name. In an annotation it is TorchTrainer now; subclasses, restore() and other uses of the"
    " class have no direct successor.",
    "Call the class by its name where its arguments are given, and run raymigrate again; or write TorchTrainer by hand."
    " restore() needs no successor: fit() goes on under the same RunConfig(name=, storage_path=).",
    GUIDE,
    errors=(
        "The `restore` and `can_restore` APIs are deprecated",
        "'TorchTrainer' object has no attribute 'as_trainable'",
    ),
)
RM108 = Rule(
    "RM108",
    "a dataset that was never read",
    'The legacy trainer read the datasets "train" and "evaluation" only; Ray 2.0 to 2.5 refused any other key, later'
    " versions ignored it.",
    'Rename the key to "evaluation" if it is meant to be evaluated, or drop it.',
    GUIDE,
    errors=("Dataset shard for '*' not found", "Dataset shard * not found", "KeyError: 'evaluation'"),
)
RM911 = Rule(
    "RM911",
    "an init function that Ray never accepted",
    "The legacy trainer called the function with the two datasets and the configuration as keywords, and refused one"
    " with fewer than three parameters: this script cannot have run.",
    "Give it the signature (train_dataset, eval_dataset=None, **config) and run raymigrate again.",
    GUIDE,
    errors=("should take in at least 3 arguments, but it accepts",),
)
RM912 = Rule(
    "RM912",
    "an init function that returns no Trainer",
    "The legacy trainer trained what the function returned, and failed where that was not a transformers.Trainer.",
    "Return the Trainer instead of calling train() on it, and run raymigrate again.",
    GUIDE,
)
RM913 = Rule(
    "RM913",
    "TransformersTrainer called with the arguments of TorchTrainer",
    "TransformersTrainer never had train_loop_per_worker: this call raised a TypeError.",
    "The class becomes TorchTrainer, which the arguments belong to.",
    GUIDE,
    errors=refused_arguments("TransformersTrainer", "train_loop_per_worker", "train_loop_config"),
)

RM914 = Rule(
    "RM914",
    "Hugging Face datasets given as datasets=",
    "Ray accepted Ray Datasets only: this script cannot have run.",
    "Wrap each in ray.data.from_huggingface(...), or load the data in the init function, and run raymigrate again.",
    "https://docs.ray.io/en/latest/data/loading-data.html",
)

FIRST = "trainer_init_per_worker"
WRITE_OUT = "Write them out as keywords, and run raymigrate again."
ALONE = "Give the trainer a function that returns the Trainer only, and run raymigrate again."


@codemod("HuggingFaceTrainer", "TransformersTrainer", phase=Phase.POSITIONS)
def write_out_arguments(context: Context) -> None:
    """Lets the calls take their arguments one by one, where they unpack a dict of their own."""
    for call in context.module.calls(*TRANSFORMERS_TRAINERS):
        write_out(context, call, RM102)


@codemod("HuggingFaceTrainer", "TransformersTrainer", phase=Phase.TRAINERS)
def convert(context: Context) -> None:
    """Converts every construction, and reports every other use."""
    for call in trainer_calls(context.module, TRANSFORMERS_TRAINERS, FIRST):
        reference = context.module.reference_at[call.node.func]
        converted = _convert_call(context, call)
        if converted:
            context.plan.call(call.node).function = "TorchTrainer"
            context.plan.need_import("ray.train.torch", "TorchTrainer", near=reference.binding.statement)
        context.handle(reference, gone=converted)
    for reference in context.references(*TRANSFORMERS_TRAINERS):
        name = next(n for n in TRANSFORMERS_TRAINERS if f"{reference.qualified}.".startswith(f"{n}.")).rpartition(".")[
            2
        ]
        if name_as_type(context, RM103, reference, name):
            continue
        context.leave(RM103, reference, *other_use(context, reference, TRANSFORMERS_TRAINERS, name))
    name_quoted_types(context, RM103, TRANSFORMERS_TRAINERS)


@codemod(*ARGUMENTS, "TransformersTrainer", phase=Phase.TRAINERS)
def tell_stored(context: Context) -> None:
    """Tells of calls of the class by a name, an attribute or an entry of a dict that stores it."""
    tell_calls_of_stored(context, RM103, TRANSFORMERS_TRAINERS)


def _convert_call(context: Context, call: TrainerCall) -> bool:
    """Converts one construction; returns whether it was."""
    name = context.module.source(call.node.func)
    if call.unpacked:
        message = f"{name} is gone from Ray >= 2.9, and its arguments cannot be seen here."
        context.manual(RM102, call.node, message, WRITE_OUT)
        return False
    if "train_loop_per_worker" in call.arguments:
        return context.converts(RM913, call.node, f"{name} never took train_loop_per_worker; now TorchTrainer.")
    if _never_ran(context, call) or _hugging_face_datasets(context, call) or FIRST not in call.arguments:
        return False
    if not context.converts(RM101, call.node, f"{name} is gone from Ray >= 2.9; now TorchTrainer."):
        return False
    function = train_function(context, call, FIRST)
    report_not_found(context, call, function.shown.unfound, OF_INIT)
    _report_unread_datasets(context, call)
    if function.init is not None:
        check_use_of_datasets(context, function)
    if not isinstance(function, FunctionElsewhere):  # else these are the other file's business
        train_together_on_cpu(context, call, function)
        silence_loggers(context, function)
        tell_loader_processes(context, function)
        keep_loss_scale(context, call, function)
        report_logs(context, call, function)
        keep_loss_mean(context, call, function)
        start_from_earlier_run(context, call, function, RM101)
    convert_trainer_arguments(context, call, function)
    function.emit()
    edit = context.plan.call(call.node)
    if call.node.args:
        edit.first = function.reference
    else:
        edit.rename[FIRST] = "train_loop_per_worker"
        edit.values["train_loop_per_worker"] = function.reference
    edit.rename["trainer_init_config"] = "train_loop_config"
    return True


def _never_ran(context: Context, call: TrainerCall) -> bool:
    """Reports functions that the legacy trainer refused or could not use."""
    module, function = context.module, call.function
    if FIRST in call.arguments and is_none(module.value(call.arguments[FIRST])):
        advice = WITH_ITS_BLOCK if expecting(module, call.node) else None
        context.manual(RM911, call.node, "None is given for the init function: Ray refused it.", advice)
        return True
    place, where = function, ""
    if not isinstance(function, (ast.FunctionDef, ast.Lambda)) and call.imported is not None:
        module, function = call.imported.module, call.imported.node
        place, where = call.node, f" ({module.path})"
    return _refused(context, module, function, place, where) or _gives_twice(context, call, module, function)


def _gives_twice(context: Context, call: TrainerCall, module: Module, function: ast.AST | None) -> bool:
    """Reports a configuration that names the parameters in which the init function gets the two datasets."""
    config = call.arguments.get("trainer_init_config")
    if config is None or not isinstance(function, (ast.FunctionDef, ast.Lambda)):
        return False
    method = isinstance(module.parent_of[function], ast.ClassDef)
    first = [parameter.arg for parameter in function.args.args[method : method + 2 - len(function.args.posonlyargs)]]
    twice = [name for name in first if name in (entries(context.module, config) or {})]
    if twice:
        label = function.name if isinstance(function, ast.FunctionDef) else "the lambda"
        named = " and ".join(twice)
        message = (
            f"{label} gets the two datasets as its first arguments, and {named} again from here: this raises a"
            " TypeError."
        )
        advice = "Let its parameters begin with (train_dataset, eval_dataset=None, ...) and run raymigrate again."
        context.manual(RM911, config, message, advice)
    return bool(twice)


def _refused(context: Context, module: Module, function: ast.AST | None, place: ast.AST | None, where: str) -> bool:
    if isinstance(function, (ast.FunctionDef, ast.Lambda)):
        label = function.name if isinstance(function, ast.FunctionDef) else "the lambda"
        method = isinstance(module.parent_of[function], ast.ClassDef)
        given = len(parameters(function)) - method
        if given < 3:
            context.manual(
                RM911, place or function, f"{label}{where} takes {given} parameters; Ray refused fewer than 3."
            )
            return True
        values = returned_values(module, function)
        if all(value is None or is_no_trainer(module, value) for value in values):
            packed = any(isinstance(value, (ast.Tuple, ast.List)) for value in values)
            message = f"{label}{where} returns no Trainer{' by itself' if packed else ''}"
            message += ", so the legacy trainer failed with it."
            context.manual(RM912, place or function, message, ALONE if packed else None)
            return True
    return False


def _hugging_face_datasets(context: Context, call: TrainerCall) -> bool:
    """Reports datasets of the datasets library handed over as they are: `load_dataset(...)["train"]`."""
    for value in (call.datasets.keys or {}).values():
        if is_hf_dataset(context.module, value):
            context.manual(RM914, value, "The legacy trainer refused this: it is not a Ray Dataset.")
            return True
    return False


def _report_unread_datasets(context: Context, call: TrainerCall) -> None:
    for key, value in (call.datasets.keys or {}).items():
        if key not in ("train", "evaluation"):
            context.manual(
                RM108, value, f'The dataset "{key}" was never read: the legacy trainer knew "evaluation" only.'
            )

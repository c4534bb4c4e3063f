"""RM2xx: AccelerateTrainer becomes TorchTrainer; `accelerate_settings.py` converts its accelerate_config.

https://docs.ray.io/en/latest/train/huggingface-accelerate.html#acceleratetrainer-migration-guide
"""

import ast

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.accelerate_trainer.accelerate_settings import convert_settings, leave_settings
from raymigrate.codemods.accelerate_trainer.config_values import read_settings
from raymigrate.codemods.accelerate_trainer.loop_elsewhere import is_wrapped, report_loss_scale
from raymigrate.codemods.context import Context
from raymigrate.codemods.data.split_datasets import SPLIT_ALL_SINCE, keep_whole, leaves_split_open, tell_open
from raymigrate.codemods.data.trainer_arguments import prepare_datasets
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.shared.class_uses import ARGUMENTS, other_use, tell_calls_of_stored
from raymigrate.codemods.shared.functions_not_found import WITH_ITS_BLOCK, report_loop_not_found
from raymigrate.codemods.shared.loss_scale import keep_loss_scale
from raymigrate.codemods.shared.trainer_annotations import name_as_type, name_quoted_types
from raymigrate.codemods.shared.written_out import write_out
from raymigrate.facts.ray_train.trainers import TrainerCall, trainer_calls
from raymigrate.facts.syntax.functions import is_static, parameters
from raymigrate.facts.syntax.guards import expecting
from raymigrate.facts.values import is_none
from raymigrate.knowledge.error_texts import gone_names
from raymigrate.knowledge.legacy import ACCELERATE_TRAINERS, HF, TORCH_TRAINERS

GUIDE = "https://docs.ray.io/en/latest/train/huggingface-accelerate.html#acceleratetrainer-migration-guide"

RM201 = Rule(
    "RM201",
    "AccelerateTrainer",
    "Ray 2.8 raises when the class is constructed, and Ray >= 2.9 has no such name: the import fails.",
    "TorchTrainer runs the same training function; the accelerate_config goes to Accelerator(...).",
    GUIDE,
    errors=(
        *gone_names(HF, "AccelerateTrainer"),
        f"No module named '{HF}.accelerate'",
        "The AccelerateTrainer will be hard deprecated in Ray 2.8",
    ),
)
RM204 = Rule(
    "RM204",
    "a training function whose config parameter has a default",
    "Ray >= 2.51 passes train_loop_config only to a required parameter: a function whose parameter has a default"
    " is called without it, and no error says so.",
    "The default is dropped, or the function is called by one that requires the config.",
    "https://docs.ray.io/en/latest/train/api/doc/ray.train.torch.TorchTrainer.html",
    errors=(
        "config[* TypeError: 'NoneType' object is not subscriptable",
        "config.get(* AttributeError: 'NoneType' object has no attribute 'get'",
    ),
)
RM209 = Rule(
    "RM209",
    "a use of AccelerateTrainer other than constructing it, or with arguments that cannot be seen",
    "Ray >= 2.9 has no such name.",
    "Write the arguments of AccelerateTrainer(...) out as keywords and run raymigrate again. TorchTrainer takes no"
    " accelerate_config=: what it holds goes to Accelerator(...).",
    GUIDE,
)

FIRST = "train_loop_per_worker"
GIVE_IT_ONE = "Give it a training function and run raymigrate again."


@codemod("AccelerateTrainer", phase=Phase.POSITIONS)
def write_out_arguments(context: Context) -> None:
    """Lets the calls take their arguments one by one, where they unpack a dict of their own."""
    for call in context.module.calls(*ACCELERATE_TRAINERS):
        write_out(context, call, RM209)


@codemod("AccelerateTrainer", phase=Phase.TRAINERS)
def convert(context: Context) -> None:
    """Converts every construction, and reports every other use."""
    for call in trainer_calls(context.module, ACCELERATE_TRAINERS, FIRST):
        reference = context.module.reference_at[call.node.func]
        if call.unpacked or FIRST not in call.arguments:
            context.manual(RM209, call.node, "AccelerateTrainer is gone from Ray >= 2.9; its arguments cannot be seen.")
            context.handle(reference, gone=False)
        elif is_none(context.module.value(call.arguments[FIRST])):
            advice = WITH_ITS_BLOCK if expecting(context.module, call.node) else GIVE_IT_ONE
            context.manual(RM209, call.node, "None is given for the training function: Ray refused it.", advice)
            context.handle(reference, gone=False)
        elif (settings := read_settings(context, call)) is None:
            leave_settings(context, call)
            context.handle(reference, gone=False)
        elif context.converts(RM201, call.node, "AccelerateTrainer is gone from Ray >= 2.9; now TorchTrainer."):
            near = reference.binding.statement
            context.plan.call(call.node).function = "TorchTrainer"
            context.plan.need_import("ray.train.torch", "TorchTrainer", near=near)
            context.handle(reference, gone=True)
            convert_settings(context, call, settings)
            keep_loss_scale(context, call)
            report_loss_scale(context, call)
            report_loop_not_found(context, call)
            _require_config(context, call)
            _convert_datasets(context, call)
    for reference in context.references(*ACCELERATE_TRAINERS):
        if name_as_type(context, RM209, reference, "AccelerateTrainer"):
            continue
        use = other_use(context, reference, ACCELERATE_TRAINERS, "AccelerateTrainer")
        context.leave(RM209, reference, *use)
    name_quoted_types(context, RM209, ACCELERATE_TRAINERS)


@codemod(*ARGUMENTS, "AccelerateTrainer", phase=Phase.TRAINERS)
def tell_stored(context: Context) -> None:
    """Tells of calls of the class by a name, an attribute or an entry of a dict that stores it."""
    tell_calls_of_stored(context, RM209, ACCELERATE_TRAINERS)


@codemod("TorchTrainer", phase=Phase.TRAINERS)
def required_config(context: Context) -> None:
    """Makes sure that the training functions of TorchTrainers get their config, in scripts that use ray.air."""
    if not context.module.references_within("ray.air"):
        return
    for call in trainer_calls(context.module, TORCH_TRAINERS, FIRST):
        if FIRST in call.arguments and not call.unpacked:
            _require_config(context, call)


# -- the training function and its data --------------------------------------------------------------


def _require_config(context: Context, call: TrainerCall) -> None:
    """Makes sure that the training function gets its config (docs/semantics/traps.md#t13)."""
    function = call.imported.function if call.imported is not None else call.function
    if is_wrapped(context, call):
        return
    if not isinstance(function, ast.FunctionDef) and len(call.functions) == 1 and _is_bare(context, call):
        function = call.functions[0]
    if not isinstance(function, ast.FunctionDef) or not function.args.defaults:
        return
    is_method = call.imported is None and isinstance(context.module.parent_of[function], ast.ClassDef)
    taken = parameters(function)[int(is_method and not is_static(function)) :]
    if len(taken) != 1:
        return
    name = taken[0].arg
    message = f"{function.name}({name}=...) would be called without the config by Ray >= 2.51; now with it."
    if not context.converts(RM204, function if call.imported is None else call.node, message):
        return
    if call.imported is None and len(context.module.uses_of(function)) == 1:
        context.plan.function(function).undefault.add(name)
    else:
        edit = context.plan.call(call.node)
        given = call.arguments[FIRST]
        name = context.module.source(given)
        if not _stays_the_same(context, given):
            source = f"lambda config, loop={name}: loop(config)"
        elif name.partition(".")[0] != "config":
            source = f"lambda config: {name}(config)"
        else:
            source = f"lambda train_loop_config: {name}(train_loop_config)"
        if call.node.args:
            edit.set_first(source)
        else:
            edit.set(FIRST, source)


def _is_bare(context: Context, call: TrainerCall) -> bool:
    """Whether a trainer is given a method or a function as it is: partial() may fill the place of the config."""
    found = context.module.origins(call.arguments[FIRST])
    return all(isinstance(source.node, (ast.Name, ast.Attribute)) for source in found)


def _stays_the_same(context: Context, given: ast.expr) -> bool:
    """Whether an expression gives a worker, which reads it later, what it gives here: a function, one of a class.

    A name may be given another object before fit(), as that of a `for` is, and a call would make one on each worker.
    """
    while isinstance(given, ast.Attribute):
        given = given.value
    bound = context.module.definition(given)
    kept = (ast.FunctionDef, ast.ClassDef, ast.alias, ast.arg)
    return isinstance(bound, kept) and isinstance(given, ast.Name) and context.module.is_bound_once(given)


def _convert_datasets(context: Context, call: TrainerCall) -> None:
    if call.datasets.node is None:
        return
    if {"preprocessor", "dataset_config"} & call.arguments.keys():
        prepare_datasets(context, call)
    # With a preprocessor Ray 2.7 split the training data only, too.
    if not leaves_split_open(context, call):
        return
    if "preprocessor" in call.arguments or context.from_ray.version < SPLIT_ALL_SINCE:
        keep_whole(context, call)
    elif context.from_ray.by_moved_names:
        tell_open(context, call)

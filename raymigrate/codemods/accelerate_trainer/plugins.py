"""RM210 and RM211: what the FSDP and DeepSpeed plugins of an Accelerator did otherwise before accelerate 1.

Sources: accelerate/accelerator.py, `_prepare_fsdp` and `_prepare_deepspeed`, of 0.17.1 to 0.25.0 and 1.15.0.
"""

import ast
from pathlib import Path

from raymigrate.base.findings import Rule
from raymigrate.codemods.accelerate_trainer.script_plugins import (
    CLASSES,
    home_of,
    may_be_unpacked,
    own_plugins,
    place_of,
)
from raymigrate.codemods.context import Context
from raymigrate.codemods.shared.cpu_workers import with_gpu
from raymigrate.codemods.shared.emitted import ON_GPU
from raymigrate.facts.accelerate.accelerate_config import Destination, read_file
from raymigrate.facts.accelerate.plugins import given_as, is_made
from raymigrate.facts.projects.files import file_named
from raymigrate.facts.ray_train.trainers import TrainerCall
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.torch.optimizers import are_of_prepared_models, has_groups, is_of_prepared_model, optimizers
from raymigrate.facts.values import Source, argument, is_none, keyword_argument
from raymigrate.facts.values.keys import is_unpacked
from raymigrate.knowledge.legacy import ACCELERATORS, TRAINING_ARGUMENTS

RM210 = Rule(
    "RM210",
    "an optimizer made before FSDP wraps its model",
    "accelerate 0.17 to 0.24 made the optimizer anew over the parameters that FSDP had wrapped, as one group."
    " Since then, without use_orig_params=True in the plugin, the optimizer holds parameters that get no gradient:"
    " nothing is trained, and nothing says so.",
    "use_orig_params=True keeps the parameters, and with them the groups that the script made.",
    "https://huggingface.co/docs/accelerate/package_reference/fsdp"
    "#accelerate.FullyShardedDataParallelPlugin.use_orig_params",
)
RM211 = Rule(
    "RM211",
    "gradient accumulation of Accelerator and DeepSpeed",
    "Where the two name different numbers, accelerate 0.17 to 0.22 took that of the Accelerator, 1 by default; since"
    " 0.23 that of DeepSpeed's plugin or file counts.",
    "The plugin's number is deleted, so that the Accelerator's counts; a file needs \"auto\" for it.",
    "https://huggingface.co/docs/accelerate/usage_guides/deepspeed",
)

STEPS = "gradient_accumulation_steps"
STEPS_PLUGIN = "gradient_accumulation_plugin"
NEWER = (2, 7)  # the Ray that came out with accelerate 0.23, in September 2023
KEPT = "use_orig_params"
GROUPS = (
    "accelerate 0.17 to 0.24 put all parameters of an FSDP model into one group, with the optimizer's own arguments;"
    " today each group keeps what it is given here"
)
AS_BEFORE = "To train as before, give the optimizer model.parameters(); else leave it: the groups now do what they say."


def give_on_gpus(context: Context, call: TrainerCall, accelerator: ast.Call, places: Destination, name: str) -> bool:
    """Gives an Accelerator an argument that CPU workers did not get.

    Returns:
        Whether CPU workers do not get it now: that cannot be told where the code runs without workers too.
    """
    source = places.arguments[name]
    condition = with_gpu(context, call, accelerator) if call.use_gpu is None else None
    if condition is not None:
        own = keyword_argument(accelerator, name)
        other = "None" if name != STEPS else "1" if own is None else context.module.source(own)
        if other == source:
            return True  # the Accelerator says the same by itself
        if condition == ON_GPU:
            context.plan.need_import("ray.train.torch")
        source = f"{source} if {condition} else {other}"
    context.give(accelerator, name, source)
    return call.use_gpu is not None or condition is not None


def wraps_first(call: TrainerCall) -> bool:
    """Whether FSDP wraps the model before each optimizer is made.

    A transformers.Trainer that is given none makes it then (5.23, trainer.py, `delay_optimizer_creation`).
    """
    module = home_of(call)
    if optimizers(module):
        return are_of_prepared_models(module)
    return any(module.calls(*TRAINING_ARGUMENTS)) and not any(module.calls(*ACCELERATORS))


def keep_parameters(context: Context, call: TrainerCall, accelerators: list[ast.Call], places: Destination) -> None:
    """Keeps the parameters that optimizers hold from FSDP's own, and tells of their groups (RM210)."""
    if call.use_gpu is False or not places.keeps_parameters:
        return
    plugins = own_plugins(call, accelerators, "fsdp_plugin")
    for plugin in plugins:
        _keep_in(context, call, plugin)
    if plugins or "fsdp_plugin" in places.arguments:
        _tell_groups(context, call)


def _keep_in(context: Context, call: TrainerCall, plugin: Source) -> None:
    module, node = plugin.module, plugin.node
    message = "Without use_orig_params=True FSDP leaves an optimizer that was made before prepare() without gradients"
    given = given_as(module, node, KEPT) if isinstance(node, ast.Call) else None
    known = None if given is None else module.constant(given)
    if known is True or (isinstance(node, ast.Call) and module.constant(given_as(module, node, "fsdp_version")) == 2):
        return
    sure = module is context.module and is_made(plugin, CLASSES["fsdp_plugin"]) and known in (None, False)
    if not isinstance(node, ast.Call) or not sure or may_be_unpacked(module, node, KEPT):
        place, where = place_of(context, call, plugin)
        context.manual(RM210, place, f"{message}{where}.", f"Give the plugin {KEPT}=True.")
    elif context.converts(RM210, node, f"{message}; now the plugin has it."):
        context.give(node, KEPT, "True")


def _tell_groups(context: Context, call: TrainerCall) -> None:
    """Tells where groups of parameters were one group, in the file of the training function."""
    module = home_of(call)
    made = optimizers(module)
    if not made:
        context.manual(RM210, call.node, f"If the optimizer, which is not seen here, has groups: {GROUPS}.", AS_BEFORE)
    for optimizer in made:
        groups = has_groups(module, optimizer)
        if groups is not False and not is_of_prepared_model(module, optimizer):
            place, where = place_of(context, call, Source(module, optimizer))
            message = GROUPS if groups else f"If this optimizer gets its parameters in groups: {GROUPS}"
            context.manual(RM210, place, f"{message}{where}.", AS_BEFORE)


def keep_steps(
    context: Context, call: TrainerCall, accelerators: list[ast.Call], places: Destination, file: object
) -> None:
    """Lets the Accelerator's number of batches to a step count, and not DeepSpeed's (RM211).

    Args:
        context: The module.
        call: The trainer call.
        accelerators: The Accelerators that the training function makes.
        places: Where the accelerate_config goes.
        file: Its deepspeed_config_file; None where it has none that counts.
    """
    if call.use_gpu is False:
        return
    numbers = {_steps(context.module, accelerator, places) for accelerator in accelerators}
    steps = numbers.pop() if len(numbers) == 1 else ...
    plugins = own_plugins(call, accelerators, "deepspeed_plugin")
    for plugin in plugins:
        _keep_in_plugin(context, call, plugin, steps, file)
    if file is not None and not plugins:
        _tell_file(context, accelerators[0] if accelerators else call.node, _beside(context, file), str(file), steps)


def _beside(context: Context, file: object) -> object:
    return _read_file(context, Path(context.path).parent / str(file))


def _keep_in_plugin(context: Context, call: TrainerCall, plugin: Source, steps: object, file: object) -> None:
    module, node = plugin.module, plugin.node
    place, where = place_of(context, call, plugin)
    if not isinstance(node, ast.Call) or not is_made(plugin, CLASSES["deepspeed_plugin"]):
        context.manual(RM211, place, f"{_before(steps)}; this plugin cannot be seen.", f"Give it no {STEPS}=.")
        return
    own, config = keyword_argument(node, STEPS), argument(node, 0, "hf_ds_config")
    in_config = "auto" if config is None or is_none(config) else _read(context, module, config)
    is_absent = is_none(own) and not may_be_unpacked(module, node, STEPS)
    if file is not None and is_none(config) and not may_be_unpacked(module, node, "hf_ds_config"):
        _tell_file(context, place, _beside(context, file), str(file), steps)
    if config is not None and in_config != "auto":
        _tell_file(context, place, in_config, f"{module.source(config)}{where}", steps)
    elif is_absent or (own is not None and _number(module, own) in ("auto", steps)):
        return
    elif own is None or module is not context.module or context.from_ray.version >= NEWER:
        context.manual(RM211, place, f"{_before(steps)}{where}.", f"Give the plugin no {STEPS}=.")
    elif context.converts(RM211, node, f"{_before(steps)}; now {STEPS}= of the plugin is deleted."):
        context.plan.call(node).remove.add(STEPS)


def _tell_file(context: Context, node: ast.AST, found: object, name: str, steps: object) -> None:
    """Tells of the number of a DeepSpeed configuration, unless it is the Accelerator's own."""
    if found == "auto" or (found is not ... and found == steps):
        return
    number = "number" if found is ... else f"{found}"
    advice = f'Write "{STEPS}": "auto" there, and the Accelerator\'s number counts.'
    context.manual(RM211, node, f"{_before(steps)}; today the {number} in {name} counts.", advice)


def _before(steps: object) -> str:
    number = "the Accelerator's number" if steps is ... else f"the Accelerator's number, {steps},"
    return f"For {STEPS} accelerate 0.17 to 0.22 took {number} and not DeepSpeed's"


def _steps(module: Module, accelerator: ast.Call, places: Destination) -> object:
    """The number of batches to a step that an Accelerator has, 1 by default; `...` where that is not known."""
    if STEPS in places.arguments:
        return ast.literal_eval(places.arguments[STEPS])
    of_plugin = not is_none(keyword_argument(accelerator, STEPS_PLUGIN))
    if of_plugin or is_unpacked(module, accelerator, STEPS, STEPS_PLUGIN) is not False:
        return ...
    given = keyword_argument(accelerator, STEPS)
    return 1 if given is None else _number(module, given)


def _number(module: Module, node: ast.expr) -> object:
    """A number, or the expression whose value is not known."""
    known = module.constant(node)
    return ast.unparse(node) if known is ... else known


def _read(context: Context, module: Module, config: ast.expr) -> object:
    """The number of batches to a step in a DeepSpeed configuration, 1 by default; `...` where it cannot be read."""
    entries = module.entries(config)
    if entries is not None:
        return module.constant(entries[STEPS]) if STEPS in entries else 1
    path = file_named(module, config, module.path)
    return _read_file(context, path) if path is not None else ...


def _read_file(context: Context, path: Path) -> object:
    try:
        return read_file(path, context.written_settings).get(STEPS, 1)
    except (OSError, ValueError):
        return ...

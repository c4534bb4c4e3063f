"""Plugins that a script gives its Accelerator: what they are not given, they took from the accelerate_config.

The launcher exported the config as variables, which `__post_init__` of FullyShardedDataParallelPlugin,
DeepSpeedPlugin and TorchDynamoPlugin reads for each argument that is None
(accelerate/utils/dataclasses.py of 0.17.1 to 1.15.0).
"""

import ast
from collections.abc import Iterable, Mapping

from raymigrate.base.findings import Rule
from raymigrate.codemods.accelerate_trainer.plugins import KEPT, STEPS
from raymigrate.codemods.accelerate_trainer.script_plugins import CLASSES, may_be_unpacked, place_of
from raymigrate.codemods.context import Context
from raymigrate.codemods.shared.cpu_workers import with_gpu
from raymigrate.codemods.shared.emitted import ON_GPU
from raymigrate.facts.accelerate.accelerate_config import Destination
from raymigrate.facts.accelerate.accelerate_fields import plugin_source
from raymigrate.facts.accelerate.plugins import given_as, is_made
from raymigrate.facts.ray_train.trainers import TrainerCall
from raymigrate.facts.values import Source, argument, constants, is_none, keyword_argument

POSITIONS = {"fsdp_plugin": (), "deepspeed_plugin": ("hf_ds_config", STEPS, "gradient_clipping", "zero_stage")}
# What counts for nothing where a plugin has a policy of its own, which may be a function.
OF_THE_POLICY = ("transformer_cls_names_to_wrap", "min_num_params")
BACKEND = "dynamo_backend"


def fill_plugins(
    context: Context, rule: Rule, call: TrainerCall, accelerators: list[ast.Call], places: Destination
) -> None:
    """Gives plugins of the script what the config set and the script leaves open.

    Args:
        context: The module.
        rule: The rule of a config's keys.
        call: The trainer call.
        accelerators: The Accelerators of the training function.
        places: Where the config's values go.
    """
    for name in CLASSES:
        values = {key: source for key, source in places.plugins.get(name, {}).items() if key != STEPS}
        if places.keeps_parameters:
            values.pop(KEPT, None)  # which is told, and given, by itself
        given = [own for own in (given_as(context.module, made, name) for made in accelerators) if not is_none(own)]
        sources = [source for own in given if own is not None for source in context.module.origins(own)]
        has_own = [_fill(context, rule, call, source, name, values) for source in dict.fromkeys(sources)]
        if given and len(given) == len(accelerators):
            _say(places, name, set.intersection(*has_own) if has_own else set())


def _fill(
    context: Context, rule: Rule, call: TrainerCall, plugin: Source, name: str, values: dict[str, str]
) -> set[str]:
    """Gives one plugin what it lacks, or tells of it.

    Returns:
        The arguments that it has itself, and that came first.
    """
    node = plugin.node
    place, where = place_of(context, call, plugin)
    if is_none(node):
        message = f"Where {name}= is None, the Accelerator made the plugin from accelerate_config"
        advice = f"Give it {CLASSES[name]}({_written(values, values)}) there."
        context.manual(rule, place, f"{message}{where}.", advice)
        return set()
    if not values:
        return set()
    message = f"What {name}= leaves open came from accelerate_config"
    if not isinstance(node, ast.Call) or not is_made(plugin, CLASSES[name]) or len(node.args) > len(POSITIONS[name]):
        advice = f"Give it whichever of these it lacks: {_written(values, values)}."
        context.manual(rule, place, f"{message}; this plugin cannot be seen{where}.", advice)
        return set()
    own = {key: argument(node, _position(name, key), key) for key in values}
    has = {key for key, value in own.items() if not is_none(value)}
    if "auto_wrap_policy" in has:
        has |= {key for key in OF_THE_POLICY if key in values}
    lacks = [key for key in values if key not in has]
    here = plugin.module is context.module
    condition = (with_gpu(context, call, node) if call.use_gpu is None else "") if here else None
    left = [key for key in lacks if condition is None or may_be_unpacked(plugin.module, node, key)]
    if left:
        advice = f"Give it these, unless it gets them already: {_written(values, left)}."
        context.manual(rule, place, f"{message}{where}.", advice)
    for key in lacks:
        if key not in left:
            context.give(node, key, f"{values[key]} if {condition} else None" if condition else values[key])
            if condition == ON_GPU:
                context.plan.need_import("ray.train.torch")
    for key in sorted(has):
        given = own.get(key)
        if given is not None and any(found is None for _, found in constants(plugin.module, given)):
            message = f"Where {key}= of this plugin is None, accelerate_config gave it {values[key]}"
            context.manual(rule, given if here else place, f"{message}{where}.", f"Give it {values[key]} there.")
    return has


def _written(values: dict[str, str], keys: Iterable[str]) -> str:
    return ", ".join(f"{key}={values[key]}" for key in keys)


def _position(name: str, key: str) -> int:
    """The place of an argument; beyond all that are given where it has none."""
    positions: tuple[str, ...] = POSITIONS[name]
    return positions.index(key) if key in positions else len(positions)


def _say(places: Destination, name: str, has: set[str]) -> None:
    """Says in the rows of a config what came of its keys, where every Accelerator has a plugin of the script."""
    for index, (key, value, became) in enumerate(places.rows):
        parameter = became.removeprefix(f"{CLASSES[name]}(").partition("=")[0]
        if became.startswith(f"{CLASSES[name]}(") and parameter in has:
            places.rows[index] = (key, value, f"dropped: {parameter}= of the script's {CLASSES[name]} came first")
        elif became.startswith(f"{CLASSES[name]}({STEPS}="):
            places.rows[index] = (key, value, became.replace(CLASSES[name], "Accelerator"))


def with_own_backend(
    context: Context, accelerator: ast.Call, places: Destination
) -> tuple[str, Mapping[str, ast.expr]]:
    """The plugin that compiles as the config says, with the backend that the Accelerator is given: it came first.

    Returns:
        Its source, and what stands in the place of `$backend` there.
    """
    source, own = places.arguments["dynamo_plugin"], keyword_argument(accelerator, BACKEND)
    if own is None or is_none(own):
        return source, {}
    context.plan.call(accelerator).remove.add(BACKEND)
    known = context.module.constant(own)
    text = "$backend"
    if known is ... or known is None:
        text = f"$backend or {places.plugins['dynamo_plugin']['backend']}"
    return plugin_source("TorchDynamoPlugin", {**places.plugins["dynamo_plugin"], "backend": text}), {"backend": own}

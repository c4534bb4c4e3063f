"""RM202, RM203, RM206 to RM208: the accelerate_config of an AccelerateTrainer goes to Accelerator(...).

What each key of the config did is in `raymigrate.facts.accelerate.accelerate_config`.
"""

import ast
import os.path
from pathlib import Path

from raymigrate.base.findings import Rule
from raymigrate.codemods.accelerate_trainer.config_values import AsWritten, Settings
from raymigrate.codemods.accelerate_trainer.filled_plugins import fill_plugins, with_own_backend
from raymigrate.codemods.accelerate_trainer.loop_elsewhere import set_environment
from raymigrate.codemods.accelerate_trainer.plugins import give_on_gpus, keep_parameters, keep_steps, wraps_first
from raymigrate.codemods.accelerate_trainer.precision import (
    PRECISION,
    Own,
    by_hand,
    own_precision,
    send_precision,
    with_fallback,
)
from raymigrate.codemods.accelerate_trainer.script_plugins import package_of
from raymigrate.codemods.context import Context
from raymigrate.codemods.shared.cpu_workers import is_told, set_cpu, states_before
from raymigrate.codemods.shared.definitions import drop_definition
from raymigrate.codemods.shared.functions_not_found import on_its_config
from raymigrate.facts.accelerate.accelerate_config import Destination, destination
from raymigrate.facts.projects.files import file_named
from raymigrate.facts.ray_train.trainers import TrainerCall
from raymigrate.facts.syntax.literals import shortened, string_literal
from raymigrate.facts.values import constants, is_none
from raymigrate.facts.values.keys import unpacked_value
from raymigrate.knowledge.error_texts import refused_arguments
from raymigrate.knowledge.legacy import ACCELERATORS, TRAINING_ARGUMENTS
from raymigrate.knowledge.libraries import look_up, parameters

GUIDE = "https://docs.ray.io/en/latest/train/huggingface-accelerate.html#acceleratetrainer-migration-guide"

RM202 = Rule(
    "RM202",
    "a key of accelerate_config",
    "TorchTrainer has no accelerate_config argument: it raises a TypeError.",
    "Each key goes where it has the effect and the precedence that it had; the finding says where.",
    GUIDE,
    errors=refused_arguments("TorchTrainer", "accelerate_config"),
)
RM203 = Rule(
    "RM203",
    "accelerate on CPU workers without cpu=True",
    "accelerate >= 1.0 joins CPU workers only when told to: with a plain Accelerator() every worker trains a model of"
    " its own, and nothing says so.",
    "Accelerator(cpu=True) where the workers have no GPU.",
    "https://huggingface.co/docs/accelerate/package_reference/accelerator#accelerate.Accelerator.cpu",
)
RM207 = Rule(
    "RM207",
    "an accelerate_config that cannot be read",
    "TorchTrainer has no accelerate_config argument: it raises a TypeError, so the values have to be known now.",
    "Write the values here as a dict, or the name of the file as a string, and run raymigrate again: it takes each to"
    " where it belongs."
    " Where the training function gives them to Accelerator(...) itself, write accelerate_config={}.",
    GUIDE,
)
RM208 = Rule(
    "RM208",
    "an AccelerateTrainer without accelerate_config",
    "AccelerateTrainer then used ~/.cache/huggingface/accelerate/default_config.yaml of the user who ran the script,"
    " if there was one.",
    "Compare that file with the converted script, and give Accelerator(...) what it set.",
    GUIDE,
)

IN_ONE_CELL = "Write it whole in one cell, or its values here as a dict, and run raymigrate again."
NOT_FOUND = "Put the file at {path}, or write its values here as a dict, and run raymigrate again."


def convert_settings(context: Context, call: TrainerCall, settings: Settings) -> None:
    """Gives the values of an accelerate_config to the Accelerator, or to the environment of the workers."""
    given = call.arguments.get("accelerate_config")
    if given is None or context.module.constant(given) is None:
        message = "Without accelerate_config a default_config.yaml of the user applied, where there was one."
        context.manual(RM208, call.node, message)
    known = settings.known
    accelerators = _accelerators(call)
    arguments = [] if call.imported is not None else _inside(call, list(context.module.calls(*TRAINING_ARGUMENTS)))
    places = destination(known, use_gpu=call.use_gpu, keeps_parameters=not wraps_first(call))
    unseen = sorted(settings.unknown.items())
    places.unknown.extend((key, value, "its value is not known here") for key, value in unseen)
    if given is not None:
        context.plan.call(call.node).remove.add("accelerate_config")
        drop_definition(context, given)
    send_precision(context, call, settings, places, accelerators)
    for accelerator in accelerators:
        _edit_accelerator(context, call, accelerator, places)
    _join(context, call, accelerators)
    if not accelerators:
        _set_variables(context, call, arguments, places)
    fill_plugins(context, RM202, call, accelerators, places)
    keep_parameters(context, call, accelerators, places)
    section = known.get("deepspeed_config") if "deepspeed_plugin" in places.arguments else None
    keep_steps(context, call, accelerators, places, (section or {}).get("deepspeed_config_file"))
    if given is not None:
        _report_rows(context, given, places, accelerators)


def leave_settings(context: Context, call: TrainerCall) -> None:
    """Reports an accelerate_config that cannot be read, and joins the CPU workers all the same."""
    gone = "TorchTrainer takes none, so AccelerateTrainer stays, which Ray >= 2.9 does not have"
    given = call.arguments["accelerate_config"]
    named = sorted({text for _, text in constants(context.module, given) if isinstance(text, str)})
    one = named[0] if len(named) == 1 else None
    shown = f"`raymigrate config {one or 'FILE'}` shows what each key of a file did."
    module, value = context.module.followed(given)
    path = file_named(module, value, context.path if module is context.module else module.path)
    name = shortened(one or path.name) if path is not None else ""
    written = context.written_settings.get(os.path.normpath(path), ...) if path is not None else ...
    if written is None:
        several = "of which cells of this notebook write a part (-a) or more than one form"
        message = f"accelerate_config names the file {name}, {several}."
        advice = f"{IN_ONE_CELL} {shown}"
    elif path is not None and context.path and written is ... and not path.exists():
        place = _place_of(context, module.path, path)
        message = f"accelerate_config names the file {name}, which was not found{place}."
        advice = f"{NOT_FOUND.format(path=os.path.normpath(path))} {shown}"
    else:
        if one is not None and (Path(context.path).parent / one).is_file():
            shown = f"{string_literal(one)} is its default here, and can be written as it is. {shown}"
        message, advice = "This accelerate_config cannot be read here.", f"{RM207.fix} {shown}"
    advice += on_its_config(context.module, call.arguments.get(call.first))
    context.manual(RM207, given, f"{message} {gone}.", advice)
    _join(context, call, _accelerators(call))


def _join(context: Context, call: TrainerCall, accelerators: list[ast.Call]) -> None:
    """Lets the CPU workers train together."""
    told = (*accelerators, *call.module.calls(*TRAINING_ARGUMENTS))
    states = [] if call.imported is not None else _inside(call, states_before(call.module, told))
    for made in (*states, *accelerators):
        if not is_told(context, call, made, "cpu"):
            set_cpu(context, RM203, call, made, "cpu")


def _place_of(context: Context, script: str, path: Path) -> str:
    """Where a file was looked for, in words: beside the script, or beside another one of its project that names it."""
    if path.parent.absolute() == Path(script).absolute().parent:
        return " beside the script" if script == context.path else f" beside {Path(script).name}"
    return ""


def _report_rows(context: Context, given: ast.expr, places: Destination, accelerators: list[ast.Call]) -> None:
    nodes = _key_nodes(context, given)
    for key, value, became in places.rows:
        if not accelerators and not became.startswith("dropped"):
            became = f"{became}, through the workers' environment"
        place = nodes.get(key.partition(".")[0], given)
        context.converts(RM202, place, f"accelerate_config {key} = {shortened(value)}: {became}.")
    for key, value, reason in places.unknown:
        place = nodes.get(key.partition(".")[0], given)
        context.manual(
            RM202,
            place,
            f"accelerate_config {key} = {shortened(value)}: {reason}.",
            _by_hand(context, key, value, accelerators),
        )


def _by_hand(context: Context, key: str, value: object, accelerators: list[ast.Call]) -> str:
    """What to do with a key that is not carried over: the converted code no longer reads the file or dict."""
    given = parameters(look_up("accelerate.Accelerator"))
    how = "give it to Accelerator(...) by hand"
    plugin = key.partition(".")[0].replace("_config", "_plugin")
    if given is not None and "." in key and plugin in given:
        how = f"give it to {plugin}= of Accelerator(...) by hand"
    elif given is not None and key in given and isinstance(value, AsWritten):
        how = by_hand(context, key, accelerators)
    elif given is not None and key in given and isinstance(value, (bool, int, float, str)):
        how = f"write Accelerator({key}={value!r})"
    return f"Converted code no longer reads it. If you need it, {how}."


def _key_nodes(context: Context, given: ast.expr) -> dict[str, ast.expr]:
    value = context.module.value(given)
    if not isinstance(value, ast.Dict):
        return {}
    return {k.value: k for k in value.keys if isinstance(k, ast.Constant) and isinstance(k.value, str)}


def _set_variables(context: Context, call: TrainerCall, arguments: list[ast.Call], places: Destination) -> None:
    """Gives the values to the workers' environment, where no Accelerator is made in sight.

    Args:
        arguments: The TrainingArguments in the training function.
        places: Where the values go.
    """
    environment = dict(places.environment)
    if call.use_gpu is not True and not arguments:
        environment["ACCELERATE_USE_CPU"] = "true"
    for node in arguments:  # a transformers.Trainer in the training function makes its own Accelerator
        if not is_told(context, call, node, "use_cpu", "no_cuda"):
            name = "use_cpu" if context.current_transformers else "no_cuda"
            set_cpu(context, RM203, call, node, name)
    if environment:
        set_environment(context, call, environment, places.on_gpus)


def _accelerators(call: TrainerCall) -> list[ast.Call]:
    """The Accelerators of the training function; what this file makes beside an imported one is for something else."""
    return [] if call.imported is not None else _inside(call, list(call.module.calls(*ACCELERATORS)))


def _inside(call: TrainerCall, nodes: list[ast.Call]) -> list[ast.Call]:
    """Those of the calls that are in the training function; all of them if none does."""
    return [node for node in nodes if call.module.inside(node, call.function)] or nodes


def _edit_accelerator(context: Context, call: TrainerCall, accelerator: ast.Call, places: Destination) -> None:
    module = context.module
    given = {keyword.arg for keyword in accelerator.keywords if not is_none(keyword.value)}
    overrides = {"gradient_accumulation_steps"}  # the only value of the config that beat an argument
    sources = list[str]()
    for name, value in places.arguments.items():
        is_dynamo = name == "dynamo_plugin"
        source, parts = with_own_backend(context, accelerator, places) if is_dynamo else (value, {})
        if name == PRECISION and own_precision(module, accelerator) is Own.PERHAPS:
            context.give(accelerator, name, with_fallback(module, accelerator, places))
            continue
        if name not in overrides and (name in given or unpacked_value(module, accelerator, name) is not None):
            continue
        sources.append(source)
        if name in places.on_gpus:
            if not give_on_gpus(context, call, accelerator, places, name):
                message = f"The legacy trainer gave CPU workers no {name}; now all workers get it."
                context.manual(RM202, accelerator, message, "Give it to the Accelerator of workers with a GPU only.")
        else:
            context.give(accelerator, name, source, **parts)
    near = module.import_of(accelerator.func)
    for plugin in sorted(name for name in places.imports if any(name in source for source in sources)):
        context.plan.need_import(package_of(module, plugin), plugin, near=near)

"""RM202, RM203, RM206 to RM208: the accelerate_config of an AccelerateTrainer goes to Accelerator(...).

What each key of the config did is in `raymigrate.facts.accelerate_config`.
"""

import ast
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from raymigrate.base.findings import Rule
from raymigrate.codemods.accelerate_trainer.loop_elsewhere import RM206, wrap_loop
from raymigrate.codemods.context import Context
from raymigrate.codemods.shared.cpu_workers import can_be_read, is_told, set_cpu
from raymigrate.codemods.shared.definitions import drop_definition
from raymigrate.facts.accelerate_config import Destination, destination, is_ignored, read_file
from raymigrate.facts.files import file_named
from raymigrate.facts.legacy import ACCELERATORS, TRAINING_ARGUMENTS
from raymigrate.facts.literals import shortened, string_literal
from raymigrate.facts.module import Module
from raymigrate.facts.trainers import TrainerCall
from raymigrate.facts.tuners import config_names, made
from raymigrate.facts.values import constants, fillings, is_none
from raymigrate.knowledge.error_texts import refused_arguments
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
    "It used a file of the user who ran it, ~/.cache/huggingface/accelerate/default_config.yaml, if there was one.",
    "Compare that file with the converted script, and give Accelerator(...) what it set.",
    GUIDE,
)

NOT_FOUND = "Put the file there, or write its values here as a dict, and run raymigrate again."
# Keys that Accelerator takes as they are.
EXPRESSIONS = frozenset({"mixed_precision"})
FP16 = "fp16"  # of accelerate 0.x: if true, it beat mixed_precision


class AsWritten(str):
    """Source of an expression whose value is not known, in place of the value."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True)
class Settings:
    """What is known of an accelerate_config.

    Args:
        values: The values, or AsWritten, by key.
        nodes: The expressions of the values in this module; none where it is a file, or another module's.
    """

    values: dict[str, Any] = field(default_factory=dict)
    nodes: dict[str, ast.expr] = field(default_factory=dict)


def read_settings(context: Context, call: TrainerCall) -> Settings | None:
    """The accelerate_config of a trainer; None where it cannot be read."""
    given = call.arguments.get("accelerate_config")
    if given is None or context.module.constant(given) is None:
        return Settings()
    return _entries(context, given) or _file(context, given)


def _entries(context: Context, given: ast.expr) -> Settings | None:
    """A dict, which may be in another file of the project that the script imports it from."""
    module = context.module
    entries = module.entries(given)
    if entries is None and (found := module.elsewhere(given)) is not None and isinstance(found.node, ast.Name):
        module, entries = found.module, found.module.entries(found.node)
    if entries is None:
        entries = _returned(module, given) if isinstance(given, ast.Call) else _but_ignored(module, given)
    if entries is None:
        return None
    values = {key: module.constant(node) for key, node in entries.items()}
    values = {k: AsWritten(" ".join(module.source(entries[k]).split())) if v is ... else v for k, v in values.items()}
    if isinstance(values.get("distributed_type"), AsWritten):
        return None  # which decides what the others meant
    return Settings(values, entries if module is context.module else {})


def _but_ignored(module: Module, given: ast.expr) -> dict[str, ast.expr] | None:
    """The entries of a dict with a second name, by which only what Ray decides is set: `c["num_processes"] = 4`."""
    target = module.definition(given)
    first = module.assigned(target) if isinstance(target, ast.Name) else None
    if not isinstance(target, ast.Name) or not isinstance(first, ast.Name):
        return None
    if not all(is_ignored(str(key)) for key in map(partial(_key_set_by, module), fillings(module, target))):
        return None
    return module.entries(first)


def _returned(module: Module, given: ast.Call) -> dict[str, ast.expr] | None:
    """The entries of the one dict that a function of the file returns."""
    sources = module.origins(given, elsewhere=False)
    return module.entries(sources[0].node) if len(sources) == 1 else None


def _key_set_by(module: Module, statement: ast.stmt) -> object:
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    return module.constant(target.slice) if isinstance(target, ast.Subscript) else None


def _file(context: Context, given: ast.expr) -> Settings | None:
    """A file that is named, looked up beside the script."""
    module, value = context.module.followed(given)
    path = file_named(module, value, context.path if module is context.module else module.path)
    if path is None:
        return None
    try:
        return Settings(read_file(path))
    except (OSError, ValueError):
        return None


def convert_settings(context: Context, call: TrainerCall, settings: Settings) -> None:
    """Gives the values of an accelerate_config to the Accelerator, or to the environment of the workers."""
    given = call.arguments.get("accelerate_config")
    if given is None or context.module.constant(given) is None:
        message = "Without accelerate_config a default_config.yaml of the user applied, where there was one."
        context.manual(RM208, call.node, message)
    known = {k: v for k, v in settings.values.items() if not isinstance(v, AsWritten) or is_ignored(k)}
    places = destination(known, use_gpu=call.use_gpu)
    unseen = sorted(settings.values.keys() - known.keys())
    places.unknown.extend((key, settings.values[key], "its value is not known here") for key in unseen)
    if given is not None:
        context.plan.call(call.node).remove.add("accelerate_config")
        drop_definition(context, given)
    by_environment = _apply(context, call, places, settings)
    if given is not None:
        _report_rows(context, given, places, by_environment)


def leave_settings(context: Context, call: TrainerCall) -> None:
    """Reports an accelerate_config that cannot be read, and joins the CPU workers all the same."""
    gone = "TorchTrainer takes none, so AccelerateTrainer stays, which Ray >= 2.9 does not have"
    given = call.arguments["accelerate_config"]
    named = sorted({text for _, text in constants(context.module, given) if isinstance(text, str)})
    shown = f"`raymigrate config {named[0] if len(named) == 1 else 'FILE'}` shows what each key of a file did."
    module, value = context.module.followed(given)
    path = file_named(module, value, context.path if module is context.module else module.path)
    if path is not None and context.path and not path.exists():
        name = shortened(named[0] if len(named) == 1 else path.name)
        message = f"accelerate_config names the file {name}, which was not found beside the script."
        advice = f"{NOT_FOUND} {shown}"
    else:
        message, advice = "This accelerate_config cannot be read here.", f"{RM207.fix} {shown}"
    context.manual(RM207, given, f"{message} {gone}.", advice)
    for accelerator in _inside(call, list(context.module.calls(*ACCELERATORS))):
        if call.imported is None and not is_told(context, call, accelerator, "cpu"):
            set_cpu(context, RM203, call, accelerator, "cpu")


def _report_rows(context: Context, given: ast.expr, places: Destination, by_environment: bool) -> None:
    nodes = _key_nodes(context, given)
    for key, value, became in places.rows:
        if by_environment and not became.startswith("dropped"):
            became = f"{became}, through the workers' environment"
        place = nodes.get(key.partition(".")[0], given)
        context.converts(RM202, place, f"accelerate_config {key} = {shortened(value)}: {became}.")
    for key, value, reason in places.unknown:
        place = nodes.get(key.partition(".")[0], given)
        context.manual(RM202, place, f"accelerate_config {key} = {shortened(value)}: {reason}.", _by_hand(key, value))


def _by_hand(key: str, value: object) -> str:
    """What to do with a key that is not carried over: the converted code no longer reads the file or dict."""
    given = parameters(look_up("accelerate.Accelerator"))
    if given is not None and key in given and isinstance(value, (bool, int, float, str)):
        return f"Converted code no longer reads it. If you need it, write Accelerator({key}={value!r})."
    return "Converted code no longer reads it. If you need it, give it to Accelerator(...) by hand."


def _key_nodes(context: Context, given: ast.expr) -> dict[str, ast.expr]:
    value = context.module.value(given)
    if not isinstance(value, ast.Dict):
        return {}
    return {k.value: k for k in value.keys if isinstance(k, ast.Constant) and isinstance(k.value, str)}


def _apply(context: Context, call: TrainerCall, places: Destination, settings: Settings) -> bool:
    """Gives the values to the Accelerator calls of this file, or to the workers' environment.

    Returns:
        Whether they went to the environment.
    """
    module = context.module
    accelerators = _inside(call, list(module.calls(*ACCELERATORS)))
    arguments = _inside(call, list(module.calls(*TRAINING_ARGUMENTS)))
    if call.imported is not None:  # what this file makes is for something else
        accelerators, arguments = [], []
    _keep_expressions(context, settings, places, accelerators)
    for accelerator in accelerators:
        _edit_accelerator(context, call, accelerator, places)
    if accelerators:
        return False
    environment = dict(places.environment)
    if call.use_gpu is not True and not arguments:
        environment["ACCELERATE_USE_CPU"] = "true"
    for node in arguments:  # a transformers.Trainer in the training function makes its own Accelerator
        if not is_told(context, call, node, "use_cpu", "no_cuda"):
            name = "use_cpu" if context.current_transformers else "no_cuda"
            set_cpu(context, RM203, call, node, name)
    if environment:
        _set_environment(context, call, environment)
    return True


def _inside(call: TrainerCall, nodes: list[ast.Call]) -> list[ast.Call]:
    """Those of the calls that are in the training function; all of them if none does."""
    inside = [node for node in nodes if call.module.inside(node, call.function)]
    return inside or nodes


def _keep_expressions(context: Context, settings: Settings, places: Destination, accelerators: list[ast.Call]) -> None:
    """Gives an Accelerator the expression of a value, and not what it is now, where it can be read there."""
    for key in EXPRESSIONS & settings.values.keys():
        node = settings.nodes.get(key)
        if settings.values[key] is not None and accelerators and all(_gives(made, key) for made in accelerators):
            _say(places, key, settings.values[key], f"dropped: {key}= of the Accelerator came first")
        elif node is None or isinstance(node, ast.Constant) or not accelerators or settings.values[key] is False:
            continue
        elif all(can_be_read(context, node, accelerator) for accelerator in accelerators):
            source = places.arguments[key] = context.module.source(node)
            _say(places, key, AsWritten(source), f"Accelerator({key}={source})")
        elif all(_gives(made, FP16) for made in accelerators):
            reason = f"{FP16}= of the Accelerator came first where it is true, and this elsewhere"
            places.unknown[:] = [(name, value, reason if name == key else why) for name, value, why in places.unknown]


def _say(places: Destination, key: str, value: object, became: str) -> None:
    """Says of a key what became of it, in place of what was said before."""
    places.unknown[:] = [row for row in places.unknown if row[0] != key]
    places.rows[:] = [row for row in places.rows if row[0] != key]
    places.rows.append((key, value, became))


def _gives(accelerator: ast.Call, name: str) -> bool:
    """Whether an Accelerator is given an argument that is not None in plain sight."""
    return any(keyword.arg == name and not is_none(keyword.value) for keyword in accelerator.keywords)


def _edit_accelerator(context: Context, call: TrainerCall, accelerator: ast.Call, places: Destination) -> None:
    module = context.module
    given = {keyword.arg for keyword in accelerator.keywords}
    overrides = {"gradient_accumulation_steps"}  # the only value of the config that beat an argument
    for name, source in places.arguments.items():
        if name not in given or name in overrides:
            context.give(accelerator, name, source)
    near = module.reference_at[accelerator.func].binding.statement
    for plugin in places.imports:
        context.plan.need_import("accelerate.utils", plugin, near=near)
    if not is_told(context, call, accelerator, "cpu"):
        set_cpu(context, RM203, call, accelerator, "cpu")


def _set_environment(context: Context, call: TrainerCall, environment: dict[str, str]) -> None:
    """Passes variables to the workers through the RunConfig."""
    given = call.arguments.get("run_config")
    run_config = made(context.module, given, *config_names("RunConfig"))
    listed = ", ".join(sorted(environment))
    use_gpu = _use_gpu_source(context, call)
    quoted = {name: string_literal(value) for name, value in environment.items()}
    if "ACCELERATE_USE_CPU" in quoted and call.use_gpu is None and use_gpu:
        quoted["ACCELERATE_USE_CPU"] = f"str(not {use_gpu}).lower()".replace("not not ", "")
    entries = ", ".join(f'"{name}": {value}' for name, value in quoted.items())
    source = f'{{"env_vars": {{{entries}}}}}'
    unseen = run_config is None and not is_none(given)
    undecided = call.use_gpu is None and "ACCELERATE_USE_CPU" in environment and not use_gpu
    if (unseen or undecided) and wrap_loop(context, call, environment):
        return
    message = "No Accelerator is made in this file"
    advice = f"Give the workers an environment, RunConfig(worker_runtime_env={source})"
    if undecided:
        advice += ", with ACCELERATE_USE_CPU only where they have no GPU"
        context.manual(RM206, call.node, f"{message}, and use_gpu is not known.", f"{advice}.")
    elif unseen or (run_config is not None and "worker_runtime_env" in {k.arg for k in run_config.keywords}):
        context.manual(RM206, call.node, f"{message}.", f"{advice}.")
    elif context.converts(RM206, call.node, f"{message}; now the environment of the workers has {listed}."):
        if run_config is not None:
            context.plan.call(run_config).set("worker_runtime_env", source)
        else:
            near = context.module.reference_at[call.node.func].binding.statement
            context.plan.need_import("ray.train", "RunConfig", near=near)
            context.plan.call(call.node).set("run_config", f"RunConfig(worker_runtime_env={source})")


def _use_gpu_source(context: Context, call: TrainerCall) -> str:
    """The expression that decides whether workers have a GPU, where it can be written a second time at the call."""
    source, module = call.gpus.decided_by, context.module
    repeatable = (ast.Name, ast.Attribute, ast.UnaryOp, ast.Not, ast.Load)
    if source is None or source.module is not module:
        return ""
    parts = list(ast.walk(source.node))
    names = [part for part in parts if isinstance(part, ast.Name)]
    if not all(isinstance(part, repeatable) for part in parts) or not all(_reads_same(call, name) for name in names):
        return ""
    return module.source(source.node)


def _reads_same(call: TrainerCall, name: ast.Name) -> bool:
    """Whether a name stands for the same at a trainer call as where it is written."""
    module = call.module
    scope = module.scope_of[name].find(name.id)
    if scope is None or module.inside(name, call.node):
        return scope is not None
    return scope is module.scope_of[call.node].find(name.id) and len(scope.bindings[name.id]) == 1

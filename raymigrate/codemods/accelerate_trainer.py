"""RM2xx: AccelerateTrainer becomes TorchTrainer, and its accelerate_config arguments of Accelerator.

https://docs.ray.io/en/latest/train/huggingface-accelerate.html#acceleratetrainer-migration-guide; what each key of the
config did stands in `raymigrate.facts.accelerate_config`.
"""

import ast
from typing import Any

from raymigrate.codemods import codemod
from raymigrate.codemods.cpu_workers import ALONE, is_told, set_cpu
from raymigrate.codemods.loop_elsewhere import RM206, is_wrapped, report_loss_scale, wrap_loop
from raymigrate.codemods.loss_scale import keep_loss_scale
from raymigrate.codemods.split_datasets import SPLIT_ALL_SINCE, keep_whole, leaves_split_open
from raymigrate.codemods.trainer_annotations import name_as_type
from raymigrate.codemods.trainer_arguments import prepare_datasets
from raymigrate.context import Context
from raymigrate.error_texts import gone_names, refused_arguments
from raymigrate.facts.accelerate_config import Destination, destination, read_file
from raymigrate.facts.files import file_named
from raymigrate.facts.functions import parameters
from raymigrate.facts.legacy import ACCELERATE_TRAINERS, ACCELERATORS, HF, TORCH_TRAINERS, TRAINING_ARGUMENTS
from raymigrate.facts.literals import shortened, string_literal
from raymigrate.facts.trainers import TrainerCall, trainer_calls
from raymigrate.findings import Rule

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
RM204 = Rule(
    "RM204",
    "a training function whose config parameter has a default",
    "Ray >= 2.51 passes train_loop_config only to a required parameter: a function with a defaulted one is called"
    " without it, in silence.",
    "The default is taken away, or the function is called by one that requires the config.",
    "https://docs.ray.io/en/latest/train/api/doc/ray.train.torch.TorchTrainer.html",
    errors=(
        "config[* TypeError: 'NoneType' object is not subscriptable",
        "config.get(* AttributeError: 'NoneType' object has no attribute 'get'",
    ),
)
RM207 = Rule(
    "RM207",
    "an accelerate_config that cannot be read",
    "TorchTrainer has no accelerate_config argument: it raises a TypeError, so the values have to be known now.",
    "Give the values to Accelerator(...) in the training function.",
    GUIDE,
)
RM208 = Rule(
    "RM208",
    "an AccelerateTrainer without accelerate_config",
    "It used a file of the user who ran it, ~/.cache/huggingface/accelerate/default_config.yaml, if there was one.",
    "Compare that file with the converted script, and give Accelerator(...) what it set.",
    GUIDE,
)
RM209 = Rule(
    "RM209",
    "a use of AccelerateTrainer other than constructing it, or with arguments that cannot be seen",
    "Ray >= 2.9 has no such name.",
    "Write a TorchTrainer call with keyword arguments and run raymigrate again.",
    GUIDE,
)

FIRST = "train_loop_per_worker"


@codemod("AccelerateTrainer", order=10)
def convert(context: Context) -> None:
    """Converts every construction, and reports every other use."""
    for call in trainer_calls(context.module, ACCELERATE_TRAINERS, FIRST):
        reference = context.module.reference_at[call.node.func]
        if call.unpacked or FIRST not in call.arguments:
            context.manual(RM209, call.node, "AccelerateTrainer is gone from Ray >= 2.9; its arguments cannot be seen.")
            context.handle(reference, gone=False)
        elif context.converts(RM201, call.node, "AccelerateTrainer is gone from Ray >= 2.9; now TorchTrainer."):
            near = reference.binding.statement
            context.plan.call(call.node).function = "TorchTrainer"
            context.plan.need_import("ray.train.torch", "TorchTrainer", near=near)
            context.handle(reference, gone=True)
            _convert_config(context, call)
            keep_loss_scale(context, call)
            report_loss_scale(context, call)
            _require_config(context, call)
            _convert_datasets(context, call)
    for reference in list(context.references(*ACCELERATE_TRAINERS)):
        if name_as_type(context, RM209, reference, "AccelerateTrainer"):
            continue
        context.manual(RM209, reference.node, "Ray >= 2.9 has no AccelerateTrainer, and this does not construct one.")
        context.handle(reference, gone=False)


@codemod("TorchTrainer", order=11)
def required_config(context: Context) -> None:
    """Makes sure that the training functions of TorchTrainers get their config, in scripts that use ray.air."""
    if not any(reference.is_within("ray.air") for reference in context.module.references):
        return
    for call in trainer_calls(context.module, TORCH_TRAINERS, FIRST):
        if FIRST in call.arguments and not call.unpacked:
            _require_config(context, call)


# -- accelerate_config -----------------------------------------------------------------------------


def _convert_config(context: Context, call: TrainerCall) -> None:
    given = call.arguments.get("accelerate_config")
    config = _read(context, given)
    if given is None or (isinstance(given, ast.Constant) and given.value is None):
        context.manual(RM208, call.node, "Without accelerate_config a default_config.yaml of the user applied.")
        config = {}
    if config is None:
        context.manual(
            RM207, given or call.node, "This accelerate_config cannot be read here; TorchTrainer refuses it."
        )
        return
    places = destination(config, use_gpu=call.use_gpu)
    if given is not None:
        context.plan.call(call.node).remove.add("accelerate_config")
        _remove_definition(context, given)
    by_environment = _apply(context, call, places)
    if given is not None:
        _report_rows(context, given, places, by_environment)


def _read(context: Context, given: ast.expr | None) -> dict[str, Any] | None:
    """The config as a dict: a literal, or the file that it names, looked up beside the script.

    Either may stand in another file of the project, which the script imports it from.
    """
    if given is None:
        return None
    module, value = context.module.followed(given)
    literal = module.constant(value)
    if isinstance(literal, dict):
        return literal
    path = file_named(module, value, context.path if module is context.module else module.path)
    if path is None:
        return None
    try:
        return read_file(path)
    except (OSError, ValueError):
        return None


def _remove_definition(context: Context, given: ast.expr) -> None:
    """Takes away `accelerate_config = {...}` where nothing else reads it."""
    module = context.module
    scope = module.scope_of[given].find(given.id) if isinstance(given, ast.Name) else None
    if scope is None or len(module.uses(given.id, scope)) > 1:  # type: ignore[attr-defined]
        return
    statement = module.parent_of[module.value(given)]
    if isinstance(statement, (ast.Assign, ast.AnnAssign)):
        context.plan.statement(statement).removed = True


def _report_rows(context: Context, given: ast.expr, places: Destination, by_environment: bool) -> None:
    nodes = _key_nodes(context, given)
    for key, value, became in places.rows:
        if by_environment and not became.startswith("dropped"):
            became = f"{became}, through the workers' environment"
        place = nodes.get(key.partition(".")[0], given)
        context.converts(RM202, place, f"accelerate_config {key} = {shortened(value)}: {became}.")
    for key, value, reason in places.unknown:
        place = nodes.get(key.partition(".")[0], given)
        message = f"accelerate_config {key} = {shortened(value)}: {reason}."
        context.manual(RM202, place, message, "Set it on Accelerator(...) by hand.")


def _key_nodes(context: Context, given: ast.expr) -> dict[str, ast.expr]:
    value = context.module.value(given)
    if not isinstance(value, ast.Dict):
        return {}
    return {k.value: k for k in value.keys if isinstance(k, ast.Constant) and isinstance(k.value, str)}


def _apply(context: Context, call: TrainerCall, places: Destination) -> bool:
    """Gives the values to the Accelerator calls of this file, or to the workers' environment.

    Returns:
        Whether they went to the environment.
    """
    module = context.module
    accelerators = _inside(call, list(module.calls(*ACCELERATORS)))
    arguments = _inside(call, list(module.calls(*TRAINING_ARGUMENTS)))
    if call.imported is not None:  # what this file makes is for something else
        accelerators, arguments = [], []
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
            set_cpu(context, RM203, ALONE, call, node, name)
    if environment:
        _set_environment(context, call, environment)
    return True


def _inside(call: TrainerCall, nodes: list[ast.Call]) -> list[ast.Call]:
    """Those of the calls that stand in the training function; all of them if none does."""
    inside = [node for node in nodes if call.module.inside(node, call.function)]
    return inside or nodes


def _edit_accelerator(context: Context, call: TrainerCall, accelerator: ast.Call, places: Destination) -> None:
    module = context.module
    given = {keyword.arg for keyword in accelerator.keywords}
    edit = context.plan.call(accelerator)
    overrides = {"gradient_accumulation_steps"}  # the only value of the config that beat an argument
    for name, source in places.arguments.items():
        if name not in given or name in overrides:
            edit.set(name, source)
    near = module.reference_at[accelerator.func].binding.statement
    for plugin in places.imports:
        context.plan.need_import("accelerate.utils", plugin, near=near)
    if not is_told(context, call, accelerator, "cpu"):
        set_cpu(context, RM203, f"{ALONE} unless Accelerator(cpu=True) is given", call, accelerator, "cpu")


def _set_environment(context: Context, call: TrainerCall, environment: dict[str, str]) -> None:
    """Passes variables to the workers through the RunConfig."""
    given = call.arguments.get("run_config")
    run_config = context.module.value(given) if given is not None else None
    listed = ", ".join(sorted(environment))
    use_gpu = _use_gpu_source(context, call)
    quoted = {name: string_literal(value) for name, value in environment.items()}
    if "ACCELERATE_USE_CPU" in quoted and call.use_gpu is None and use_gpu:
        quoted["ACCELERATE_USE_CPU"] = f"str(not {use_gpu}).lower()".replace("not not ", "")
    entries = ", ".join(f'"{name}": {value}' for name, value in quoted.items())
    source = f'{{"env_vars": {{{entries}}}}}'
    if given is not None and not isinstance(run_config, ast.Call) and wrap_loop(context, call, environment):
        return
    if call.use_gpu is None and "ACCELERATE_USE_CPU" in environment and not use_gpu:
        context.manual(
            RM206, call.node, f"No Accelerator is made here, and use_gpu is not known: set {listed} on the workers."
        )
    elif run_config is None:
        if context.converts(RM206, call.node, f"No Accelerator is made in this file: {listed} go to the workers."):
            near = context.module.reference_at[call.node.func].binding.statement
            context.plan.need_import("ray.train", "RunConfig", near=near)
            context.plan.call(call.node).set("run_config", f"RunConfig(worker_runtime_env={source})")
    elif isinstance(run_config, ast.Call) and "worker_runtime_env" not in {k.arg for k in run_config.keywords}:
        if context.converts(RM206, call.node, f"No Accelerator is made in this file: {listed} go to the workers."):
            context.plan.call(run_config).set("worker_runtime_env", source)
    else:
        context.manual(RM206, call.node, f"No Accelerator is made in this file: set {listed} on the workers.")


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


# -- the training function and its data --------------------------------------------------------------


def _require_config(context: Context, call: TrainerCall) -> None:
    """Makes sure that the training function gets its config (SEMANTICS.md T13)."""
    function = call.imported.function if call.imported is not None else call.function
    if is_wrapped(context, call):
        return
    if not isinstance(function, ast.FunctionDef) or len(parameters(function)) != 1 or not function.args.defaults:
        return
    name = function.args.args[0].arg
    message = f"{function.name}({name}=...) would be called without the config by Ray >= 2.51."
    if not context.converts(RM204, function if call.imported is None else call.node, message):
        return
    if call.imported is None and len(context.module.uses(function.name, context.module.scope_of[function])) == 1:
        context.plan.function(function).undefault.add(name)
    else:
        edit = context.plan.call(call.node)
        name = context.module.source(call.arguments[FIRST])
        source = f"lambda train_loop_config: {name}(train_loop_config)"
        if name.partition(".")[0] != "config":
            source = f"lambda config: {name}(config)"
        if call.node.args:
            edit.set_first(source)
        else:
            edit.set(FIRST, source)


def _convert_datasets(context: Context, call: TrainerCall) -> None:
    if call.datasets.node is None:
        return
    if {"preprocessor", "dataset_config"} & call.arguments.keys():
        prepare_datasets(context, call)
    # With a preprocessor Ray 2.7 split the training data only, too.
    if leaves_split_open(context, call) and (
        "preprocessor" in call.arguments or context.from_ray.version < SPLIT_ALL_SINCE
    ):
        keep_whole(context, call)

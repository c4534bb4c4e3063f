"""RM827: what a plain script asks of the process group, which Ray makes before the script's code runs."""

import ast
import json

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.codemods.to_ray.driver_ranks import OPTION, numbers_of_driver, ranks_of_option
from raymigrate.codemods.to_ray.outline import Outline
from raymigrate.codemods.to_ray.roles import Role
from raymigrate.codemods.to_ray.trainer_calls import arguments_made
from raymigrate.edits.plan import Part
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import only_target
from raymigrate.facts.torch.launchers import MAKES_GROUP
from raymigrate.facts.values import argument, has_unpacking
from raymigrate.facts.values.given import options

RM827 = Rule(
    "RM827",
    "a process group that accelerate no longer makes",
    "Ray makes the process group before the training function starts: the timeout and the backend that accelerate or"
    " the Trainer is given come too late, and nothing says so; init_process_group in the function raises a ValueError."
    " Ray's timeout is 1800 s.",
    "With --to-ray they become TorchTrainer(torch_config=TorchConfig(timeout_s=..., backend=...)), where their values"
    " are seen; else give them yourself. A group that the script makes goes, with its timeout."
    " What shards over GPUs and keeps tensors on the CPU needs both:"
    ' TorchConfig(backend="cpu:gloo,cuda:nccl").',
    "https://docs.ray.io/en/latest/train/api/doc/ray.train.torch.TorchConfig.html",
    errors=("trying to initialize the default process group twice", "No backend type associated with device type cpu"),
)
ENDS_GROUP = ("torch.distributed.destroy_process_group",)
HANDLERS = ("accelerate.InitProcessGroupKwargs", "accelerate.utils.InitProcessGroupKwargs")
# The parameters of datetime.timedelta, in their order, in seconds.
UNITS = {"days": 86400, "seconds": 1, "microseconds": 1e-6, "milliseconds": 1e-3, "minutes": 60, "hours": 3600}
OF_TRAINER = {"ddp_timeout": "timeout_s", "ddp_backend": "backend"}
ADVICE = "Give TorchTrainer a torch_config=TorchConfig(timeout_s=, backend=) instead."


def hand_group_to_ray(context: Context, outline: Outline) -> None:
    """Gives Ray's TorchConfig what a script asks of the process group.

    Args:
        context: The module.
        outline: What is planned for it.
    """
    module = context.module
    _drop_own_group(context, outline)
    _tell_rank_option(context, outline)
    _tell_numbers_of_driver(context, outline)
    for call in module.calls(*HANDLERS):
        given = {"backend": argument(call, 0, "backend"), "timeout_s": argument(call, 2, "timeout")}
        known = {name: _setting(module, name, value) for name, value in given.items() if value is not None}
        rest = argument(call, 1, "init_method") is not None or has_unpacking(call)
        if _hand_over(context, outline, call, known, "InitProcessGroupKwargs", sure=not rest):
            _drop_handler(context, call)
    for call in arguments_made(module):
        for keyword in call.keywords:
            name = OF_TRAINER.get(keyword.arg or "")
            if name is not None:
                known = {name: _setting(module, name, keyword.value)}
                if _hand_over(context, outline, keyword, known, f"{keyword.arg}=", sure=True):
                    context.plan.call(call).remove.add(keyword.arg or "")


def makes_own_group(module: Module) -> bool:
    """Whether a script joins a group of processes by itself: torchrun started it, since python starts one process."""
    return any(module.calls(*MAKES_GROUP))


def _drop_own_group(context: Context, outline: Outline) -> None:
    """Takes the group that a script makes itself out of what the workers run; Ray gets its timeout."""
    module = context.module
    for call in module.calls(*MAKES_GROUP, *ENDS_GROUP):
        name = module.source(call.func)
        timeout = argument(call, 2, "timeout") if module.qualified(call.func) == MAKES_GROUP[0] else None
        if timeout is not None:
            known = {"timeout_s": _setting(module, "timeout_s", timeout)}
            _hand_over(context, outline, call, known, f"timeout= of {name}", sure=True)
        if not outline.is_for_workers(call) or _asks_whether_there_is_one(module, call):
            continue
        statement = module.statement(call)
        if not module.is_statement(call):
            message = f"{name} raises a ValueError on a worker: Ray has made the process group already."
            context.manual(RM827, call, message, "Take the call out of the statement.")
        elif context.converts(RM827, call, f"{name} goes: Ray makes the process group of its workers, and ends it."):
            context.plan.statement(statement).removed = True
            context.take_out(call)


def _tell_rank_option(context: Context, outline: Outline) -> None:
    """Says that nobody gives the workers the `--local_rank` of torch.distributed.launch."""
    for node in ranks_of_option(outline)[:1]:
        read = context.module.source(node)
        message = (
            f"A launcher gave each process its --local_rank; no worker of Ray gets one: `{read}` is what the driver"
            " parsed, the same on every worker: every worker does what is meant for one process, or none does."
        )
        advice = f'Write int(os.environ["LOCAL_RANK"]) in place of {read} in what the workers run.'
        context.manual(RM827, node, message, advice)


def _tell_numbers_of_driver(context: Context, outline: Outline) -> None:
    """Says where workers read their numbers from what the driver asked for, which no launcher has numbered."""
    place, names = numbers_of_driver(outline)
    if options(context.module, OPTION):
        names = [name for name in names if name != OPTION]  # told as an option
    if names:
        message = (
            f"{', '.join(names)}: asked for on the driver, where no launcher sets RANK or WORLD_SIZE. Every worker gets"
            " the same values: each takes itself for the first one, and what they should share out is not shared."
        )
        advice = 'Set it anew in what the workers run, with int(os.environ["RANK"]) and "LOCAL_RANK", "WORLD_SIZE".'
        context.manual(RM827, place or outline.roles.staying(Role.DRIVER)[0], message, advice)


def _asks_whether_there_is_one(module: Module, call: ast.Call) -> bool:
    """Whether a call stands below a question for the group, by which it is left out on Ray or finds one to end."""
    tests = (around.test for around in module.ancestors(call) if isinstance(around, ast.If))
    parts = (part for test in tests for part in ast.walk(test))
    return any(module.qualified(part) == "torch.distributed.is_initialized" for part in parts)


def _setting(module: Module, name: str, value: ast.expr) -> str | None:
    """An argument of TorchConfig as source; None where its value is not seen."""
    if name == "backend":
        backend = module.constant(value)
        return json.dumps(backend) if isinstance(backend, str) else None
    seconds = _seconds(module, value)
    return None if seconds is None or seconds != int(seconds) else str(int(seconds))


def _seconds(module: Module, value: ast.expr) -> float | None:
    """What a number or a timedelta of numbers comes to; None where that is not seen."""
    found = module.value(value)
    if not isinstance(found, ast.Call):
        number = module.constant(value)
        return number if isinstance(number, (int, float)) and not isinstance(number, bool) else None
    if module.qualified(found.func) != "datetime.timedelta" or has_unpacking(found):
        return None
    given = dict(zip(UNITS, found.args, strict=False)) | {
        keyword.arg or "": keyword.value for keyword in found.keywords
    }
    numbers = {unit: module.constant(node) for unit, node in given.items()}
    if not all(unit in UNITS and isinstance(number, (int, float)) for unit, number in numbers.items()):
        return None
    return sum(UNITS[unit] * number for unit, number in numbers.items())  # type: ignore[misc, operator]


def _hand_over(
    context: Context, outline: Outline, node: ast.AST, known: dict[str, str | None], what: str, *, sure: bool
) -> bool:
    """Sets arguments of TorchConfig, or tells that a person has to; whether they are set, so that `what` can go."""
    by_itself = json.dumps("nccl" if outline.use_gpu else "gloo")  # what Ray chooses without a backend
    if "nccl" in (known.get("backend") or "") and not outline.use_gpu:
        known = {**known, "backend": by_itself}  # workers without a GPU have no nccl
    told = ", ".join(f"{name}={value or '...'}" for name, value in known.items())
    if not sure or None in known.values():
        context.manual(RM827, node, f"{what} has no effect: Ray made the process group already.", ADVICE)
        return False
    message = f"{what} has no effect, since Ray makes the process group: now TorchConfig({told})."
    if known and not context.converts(RM827, node, message):
        return False
    for name, value in known.items():
        if value is not None and value != by_itself:
            outline.torch_config.setdefault(name, value)
    return True


def _drop_handler(context: Context, call: ast.Call) -> None:
    """Takes a handler out of the list that an Accelerator is given, where it is seen to be in no other place."""
    module = context.module
    node: ast.expr = call
    statement = module.parent_of[call]
    target = only_target(statement)
    if isinstance(target, ast.Name):
        uses = list(module.uses(target.id, module.scope_of[statement]))
        if len(uses) != 1:
            return
        node = uses[0]
    handlers = module.parent_of[node]
    keyword = module.parent_of[handlers]
    if not (isinstance(handlers, ast.List) and isinstance(keyword, ast.keyword) and keyword.arg == "kwargs_handlers"):
        return
    accelerator = module.parent_of[keyword]
    assert isinstance(accelerator, ast.Call)
    others: dict[str, Part] = {f"a{n}": each for n, each in enumerate(handlers.elts) if each is not node}
    if others:
        context.plan.replace(handlers, f"[{', '.join(f'${name}' for name in others)}]", **others)
    else:
        context.plan.call(accelerator).remove.add("kwargs_handlers")
    if node is not call and isinstance(statement, ast.stmt):
        context.plan.statement(statement).removed = True
    context.take_out(call)

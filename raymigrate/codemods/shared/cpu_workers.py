"""RM104 and RM203: CPU workers that would train alone (docs/semantics/traps.md#t3).

accelerate >= 1.0 wraps a model in DistributedDataParallel on CPU only when it gets `cpu=True`; TrainingArguments
gives it that with `use_cpu=True`. Without, every worker trains its own model and no error says so.
"""

import ast
from collections.abc import Iterable, Iterator, Set

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.codemods.shared.emitted import ON_CPU, ON_GPU
from raymigrate.codemods.shared.train_function import TrainFunction
from raymigrate.facts.ray_train.trainers import TrainerCall
from raymigrate.facts.syntax.attribute_chains import root_of_chain
from raymigrate.facts.syntax.calls import calls_in
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import is_negation
from raymigrate.facts.syntax.scopes import LOOPS
from raymigrate.facts.values import Source, called_name, constant, has_unpacking, keyword_argument, unpacked_dicts
from raymigrate.facts.values.carried import carried
from raymigrate.facts.values.keys import is_unpacked, unpacked_value
from raymigrate.knowledge.legacy import PARTIAL_STATES, TRAINING_ARGUMENTS

RM104 = Rule(
    "RM104",
    "Transformers on CPU workers without use_cpu=True",
    "accelerate >= 1.0 joins CPU workers only when told to: without use_cpu=True every worker trains a model of its"
    " own, and nothing says so.",
    "use_cpu is set where the workers have no GPU.",
    "https://huggingface.co/docs/transformers/main_classes/trainer#transformers.TrainingArguments.use_cpu",
)

ALONE = "On CPU workers accelerate >= 1.0 trains one model per worker"
VARIABLE = "ACCELERATE_USE_CPU"
ENVIRONMENT = "# Without it accelerate would train one model per CPU worker.\n"
SEES_GPUS = "Current Ray does not hide the GPUs of a machine from CPU workers, so torch may find some there"
WITHOUT_TRAINER = (
    "This also runs without a trainer: there ray.train.torch.get_device(), which tells the device, raises a"
    " RuntimeError."
)
HAND_OVER = "Give it {argument}= by an argument or an entry of the configuration: True on workers without a GPU."
OLD_NAMES = ("no_cuda",)
HARDWARE = ("torch.cuda.", "torch.backends.")


def train_together_on_cpu(context: Context, call: TrainerCall, function: TrainFunction) -> None:
    """Sets `use_cpu` in the TrainingArguments of an init function, or accelerate's environment where there are none."""
    if call.use_gpu is True:
        return
    module = context.module
    inside = calls_in(module, function.init, *TRAINING_ARGUMENTS)
    others = [c for c in function.training_arguments if c not in inside]
    left = [made for made in others if not _is_decided(function.body_module, call, made, "use_cpu", "no_cuda")]
    if function.inline and inside and not any(has_unpacking(c) for c in inside):
        for arguments in inside:
            set_use_cpu(context, call, arguments, near=function.nested_import)
    else:
        left += [made for made in inside if not _is_decided(module, call, made, "use_cpu", "no_cuda")]
    if not left and (inside or others):
        return
    if context.converts(RM104, call.node, f"{ALONE}; now {VARIABLE} is set."):
        context.plan.need_import("os", near=function.nested_import)
        line = f'os.environ["{VARIABLE}"] = "true"'
        if call.use_gpu is None:
            context.plan.need_import("ray.train.torch", near=function.nested_import)
            line = f"if {ON_CPU}:\n    {line}"
        function.start.append(ENVIRONMENT + line)


def set_use_cpu(context: Context, call: TrainerCall, arguments: ast.Call, near: ast.stmt | None = None) -> None:
    """Sets `use_cpu` in TrainingArguments, unless the user did."""
    if not _is_decided(context.module, call, arguments, "use_cpu", "no_cuda"):
        name = "use_cpu" if context.current_transformers else "no_cuda"
        set_cpu(context, RM104, call, arguments, name, near)


def states_before(module: Module, joined: Iterable[ast.Call]) -> list[ast.Call]:
    """The PartialStates that may be the first to join the workers: what is made later takes over how they did.

    accelerate 1.15, state.py:179: without cpu=True each CPU worker is the only one, and an Accelerator(cpu=True) that
    is made then does not change that. ACCELERATE_USE_CPU means nothing to a PartialState.

    Args:
        module: The module.
        joined: Calls that tell accelerate of the CPU; a PartialState behind one in the same function only asks.
    """
    told: dict[ast.AST | None, list[ast.stmt]] = {}
    for call in joined:
        told.setdefault(module.function(call), []).append(module.statement(call))
    states = (state for state in module.calls(*PARTIAL_STATES) if not state.args)
    return [state for state in states if not _runs_after(module, state, told.get(module.function(state), []))]


def _runs_after(module: Module, node: ast.expr, statements: list[ast.stmt]) -> bool:
    """Whether one of some statements ran for sure when the code comes to a node: it is above it, in no other branch."""
    above = (one for one in statements if one.lineno < node.lineno and not module.inside(node, one))
    return any(module.is_in_block_of(node, one) for one in above)


def _runs_elsewhere(context: Context, call: TrainerCall, made: ast.AST) -> bool:
    """Whether code that no trainer runs comes to a node too."""
    function = context.module.function(made)
    if isinstance(function, ast.FunctionDef) and function is call.function:
        if context.module.uses_of(function) == [call.arguments[call.first]]:
            return False  # it is only handed over, as most are; to follow all calls of a long file takes a while
    return function in context.also_elsewhere


def set_cpu(
    context: Context, rule: Rule, call: TrainerCall, made: ast.Call, argument: str, near: ast.stmt | None = None
) -> None:
    """Sets an argument to whether the workers have no GPU.

    Args:
        context: The module.
        rule: The rule that is met.
        call: The trainer call.
        made: The call that gets the argument.
        argument: Its name.
        near: An import statement whose place a new one takes.
    """
    source = _without_gpu(context, call, made)
    given = _given(context.module, made, argument, *OLD_NAMES)
    by_name = keyword_argument(made, argument, *OLD_NAMES) is not None
    held = not by_name and is_unpacked(context.module, made, argument, *OLD_NAMES)
    why = SEES_GPUS if given is not None and _asks_the_hardware(context.module, given) else ALONE
    value = source if source != ON_CPU else "..."
    now = f"now {context.module.source(made.func)}({argument}={value})"
    if source == ON_CPU:
        now += " where Ray gave the worker no GPU"
    if held is None:
        now += ", unless what is unpacked there says it"
    if source == ON_CPU and not held and _runs_elsewhere(context, call, made):
        context.manual(rule, made, f"{why}. {WITHOUT_TRAINER}", HAND_OVER.format(argument=argument))
        return
    on_driver = source == ON_CPU and context.module.function(made) is None  # which has no such device
    if on_driver or held:
        context.manual(rule, made, f"{why}.", f"Give it {argument}= as the workers have it.")
    elif context.converts(rule, made, f"{why}; {now}."):
        if source == ON_CPU:
            context.plan.need_import("ray.train.torch", near=near)
        context.give(made, argument, source)


def is_told(context: Context, call: TrainerCall, made: ast.Call, *names: str) -> bool:
    """Whether TrainingArguments or an Accelerator are given the CPU: the arguments hold for all workers.

    Args:
        context: The module.
        call: The trainer call.
        made: The call that makes them.
        names: The arguments that tell it.
    """
    return call.use_gpu is True or _is_decided(context.module, call, made, *names)


def _is_decided(module: Module, call: TrainerCall, made: ast.Call, *names: str) -> bool:
    """Whether the user decides about the CPU, in a way that is right on current Ray too.

    Legacy Ray hid the GPUs of a machine from workers without one; current Ray does not (2.60, `_private/utils.py`,
    set_visible_accelerator_ids), so torch.cuda.is_available() may be True there.
    """
    present = _given(module, made, *names)
    if present is None:
        return _is_given_without_gpus(module, call, made, names)
    if isinstance(present, ast.Constant):
        return present.value is True
    wrong = call.use_gpu is False and module.constant(present) is False
    return not wrong and not _asks_the_hardware(module, present)


def _is_given_without_gpus(module: Module, call: TrainerCall, made: ast.Call, names: tuple[str, ...]) -> bool:
    """Whether a dict that is unpacked gets it as True just where the option is off that decides about the GPUs.

    `ScalingConfig(use_gpu=args.gpu)`, and `if not args.gpu: options["use_cpu"] = True`.
    """
    decides = call.gpus.decided_by
    if decides is None or call.other_workers:
        return False
    option, is_turned = _without_not(decides.node)
    around = {*module.ancestors(made)}
    entries = [entry for given in unpacked_dicts(made) for entry in carried(module, given).entries]
    for entry in (one for one in entries if one.name in names and constant(one.module, one.value) is True):
        conditions = [*_conditions(entry.module, entry.key, around)]
        if len(conditions) != 1 or not isinstance(conditions[0][0], ast.expr):
            continue  # another one, or a loop, may keep it from being given
        tested, is_off = _without_not(conditions[0][0])
        sources = [] if isinstance(tested, ast.BoolOp) else [*entry.module.origins(tested)]
        if len(sources) != 1:
            continue
        asked, again = _without_not(sources[0].node)
        if _is_same(Source(decides.module, option), Source(sources[0].module, asked)):
            return (conditions[0][1] ^ is_off ^ again) is is_turned
    return False


def _is_same(option: Source, other: Source) -> bool:
    """Whether two expressions of one function read the same."""
    module = option.module
    return (
        other.module is module
        and ast.unparse(other.node) == ast.unparse(option.node)
        and module.function(other.node) is module.function(option.node)
    )


def _without_not(node: ast.expr) -> tuple[ast.expr, bool]:
    """An expression without the `not` in front of it, and whether there was one."""
    is_turned = is_negation(node)
    return (node.operand, True) if is_turned else (node, False)  # type: ignore[attr-defined]


def _conditions(module: Module, node: ast.AST, shared: Set[ast.AST]) -> Iterator[tuple[ast.AST, bool]]:
    """The conditions of the branches around a node, each with whether it holds there; a loop or a `try` itself.

    Args:
        shared: What does not count.
    """
    child = node
    for outer in module.ancestors(node):
        if outer not in shared and isinstance(outer, (ast.If, ast.Try, *LOOPS)):
            is_branch = isinstance(outer, ast.If) and child is not outer.test
            yield (outer.test, child in outer.body) if is_branch else (outer, False)  # type: ignore[union-attr]
        child = outer


def _given(module: Module, made: ast.Call, *names: str) -> ast.expr | None:
    """What an argument is given, by name or in a dict that is unpacked."""
    return keyword_argument(made, *names) or unpacked_value(module, made, *names)


def _asks_the_hardware(module: Module, node: ast.expr) -> bool:
    """Whether a value comes from what torch finds on the machine."""
    found = [part for part in ast.walk(node) if isinstance(part, ast.expr)]
    found += [source.node for part in found for source in module.origins(part)]
    calls = [part for node in found for part in ast.walk(node) if isinstance(part, ast.Call)]
    return any(called_name(module, call).startswith(HARDWARE) for call in calls)


def _without_gpu(context: Context, call: TrainerCall, place: ast.AST) -> str:
    """Source of an expression that is true on workers without a GPU.

    The expression that decides it in the ScalingConfig, where it can be read at `place` too; else the device that Ray
    gave to the worker, which is right on a machine with GPUs as well (air/_internal/device_manager, Ray 2.60).
    """
    if call.use_gpu is not None:
        return str(not call.use_gpu)
    decides = _decides(context, call, place)
    if decides is None:
        return ON_CPU
    text = context.module.source(decides)
    return text.removeprefix("not ").strip() if isinstance(decides, ast.UnaryOp) else f"not {text}"


def with_gpu(context: Context, call: TrainerCall, place: ast.AST) -> str | None:
    """Source of an expression that is true on workers with a GPU; None where `place` may run without workers."""
    decides = _decides(context, call, place)
    if decides is not None:
        return context.module.source(decides)
    if context.module.function(place) is None or _runs_elsewhere(context, call, place):
        return None
    return ON_GPU


def _decides(context: Context, call: TrainerCall, place: ast.AST) -> ast.expr | None:
    """The expression of the ScalingConfig that decides whether workers have a GPU, if it can be read at `place`."""
    source = call.gpus.decided_by
    readable = source is not None and source.module is context.module and can_be_read(context, source.node, place)
    return source.node if source is not None and readable else None


def can_be_read(context: Context, node: ast.expr, place: ast.AST) -> bool:
    """Whether an expression means the same in a training function, which runs on another machine.

    So do names of the module, and of the functions around it, that are bound once and not to what the machine has. An
    attribute takes its whole object along: only where the function has that already.
    """
    if is_negation(node):
        node = node.operand
    root = root_of_chain(node)
    if root is None:
        return False
    module = context.module
    scope = module.bound_in(root)
    if scope is None or scope is not module.scope_of[place].find(root.id) or len(scope.bindings[root.id]) != 1:
        return False
    value = module.value(root)
    if any(isinstance(part, ast.Call) for part in ast.walk(value)) and root is node:
        return False
    if _changes(module, scope.bindings[root.id][0].node, place):
        return False
    function = module.function(place)
    return root is node or any(module.inside(use, function) for use in module.uses(root.id, scope))


def _changes(module: Module, bound: ast.AST, place: ast.AST) -> bool:
    """Whether a loop gives a name one value after the other, and what reads it stands outside of the loop."""
    return any(isinstance(outer, LOOPS) and not module.inside(place, outer) for outer in module.ancestors(bound))

"""Which modules have a native training loop, and what such a loop may hold that accelerate has no equal for."""

import ast
from collections.abc import Iterable

from raymigrate.codemods.to_accelerate.item_givers import held
from raymigrate.codemods.to_accelerate.rules import Refusal
from raymigrate.codemods.to_accelerate.training import Training
from raymigrate.facts.projects.project_uses import importing_modules
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import is_assignment, targets_of
from raymigrate.facts.syntax.scopes import import_bindings
from raymigrate.facts.values import called_name, free_name, reaching
from raymigrate.knowledge.legacy import ACCELERATORS, GONE_MODULES

ASSIGNMENTS = (ast.Assign, ast.AnnAssign, ast.AugAssign)
# Modules whose unused imports are dropped.
LEGACY = ("ray.air.", *(f"{name}." for name in GONE_MODULES))
# Libraries that bring a training loop of their own, or that train on Ray already.
OTHER_LOOPS = {
    "ray": "trains on Ray already",
    "lightning": "uses Lightning",
    "pytorch_lightning": "uses Lightning",
    "fastai": "uses fastai",
    "keras": "uses Keras",
    "ignite": "uses Ignite",
    "deepspeed": "uses DeepSpeed by itself",
    "fairscale": "uses FairScale",
    "apex": "uses apex.amp, which cannot be expressed with accelerator.backward",
    "torch_xla": "trains on TPUs through torch_xla",
    "horovod": "trains with Horovod",
}

# What takes the steps of such a loop in the place of an optimizer.
OTHER_STEPS = ("deepspeed.initialize", "torch_xla.core.xla_model.optimizer_step")

# What of accelerate has nothing to do with processes, devices and what is prepared.
APART = ("accelerate.utils.set_seed", "accelerate.utils.random.", "accelerate.logging.", "accelerate.__version__")
# What accelerate has for calls of torch.distributed that are left: none of them is the same call under another name.
EQUALS = {
    "broadcast": "accelerate.utils.broadcast",
    "broadcast_object_list": "accelerate.utils.broadcast_object_list",
    "all_gather": "accelerator.gather",
    "all_gather_into_tensor": "accelerator.gather",
    "all_gather_object": "accelerate.utils.gather_object",
    "gather": "accelerator.gather",
    "gather_object": "accelerate.utils.gather_object",
    "reduce": "accelerator.reduce",
    "is_initialized": "accelerator.use_distributed",
    "monitored_barrier": "accelerator.wait_for_everyone",
}
# Functions that get a class to compare with.
TESTS = frozenset({"cast", "isinstance", "issubclass"})


def is_native(training: Training) -> bool:
    """Whether a module works out gradients for the steps of an optimizer, or an engine, without an Accelerator."""
    roots = {root for root, _ in imported(training.module)}
    if "torch" not in roots or training.module.references_within(*ACCELERATORS):
        return False
    if training.backwards and any(training.module.calls(*OTHER_STEPS)):
        return True
    # `anything.backward(loss)` may be of an Accelerator that comes from another file.
    if not any("accelerate" not in roots or not call.args for call in training.backwards):
        return False
    return bool(
        training.method_calls("zero_grad") or training.module.references_within("torch.optim") or training.optimizers
    )


def mentions_accelerator(nodes: Iterable[ast.AST]) -> bool:
    """Whether a name within some nodes says that it is of an Accelerator: `accelerator`, `self.accelerator`."""
    names = (_name_of(inner) for node in nodes for inner in ast.walk(node))
    return any("accelerator" in name.lower() for name in names)


def _name_of(node: ast.AST) -> str:
    """The name that a node reads, takes as a parameter or gives as a keyword; empty for others."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.arg or "" if isinstance(node, (ast.arg, ast.keyword)) else ""


def imported(module: Module) -> list[tuple[str, ast.Import | ast.ImportFrom]]:
    """The packages that a module imports, each with the statement that does."""
    found: list[tuple[str, ast.Import | ast.ImportFrom]] = []
    for statement in module.imports:
        if isinstance(statement, ast.ImportFrom):
            if not statement.level and statement.module:
                found.append((statement.module.partition(".")[0], statement))
        else:
            found += [(alias.name.partition(".")[0], statement) for alias in statement.names]
    return found


def check(training: Training) -> None:
    """Looks for what stands in the way of any conversion.

    Raises:
        Refusal: If there is such a thing.
    """
    module = training.module
    for root, statement in imported(module):
        if root in OTHER_LOOPS and not _goes(module, statement):
            raise Refusal(statement, f"the file {OTHER_LOOPS[root]}")
    for reference in module.references_within("accelerate"):
        if not reference.qualified.startswith(APART):
            raise Refusal(reference.node, f"the file uses `{reference.qualified}` by itself")
    for call in module.calls("torch.autograd.grad", "torch.autograd.backward"):
        name = called_name(module, call).removeprefix("torch.")
        raise Refusal(call, f"{name} cannot be expressed with accelerator.backward")
    for call in training.method_calls("step"):
        assert isinstance(call.func, ast.Attribute)
        closures = [*call.args, *(k.value for k in call.keywords if k.arg == "closure")]
        if closures and training.variables.of(call.func.value) & set(training.optimizers):
            raise Refusal(call, "optimizer.step(closure) cannot be expressed with accelerator.backward")
    if not training.optimizers:
        raise Refusal(training.backwards[0], _without_optimizer(training))


def _goes(module: Module, statement: ast.Import | ast.ImportFrom) -> bool:
    """Whether an import is of legacy Ray and nothing reads it: it is dropped in the same run."""
    source = f"{getattr(statement, 'module', None) or statement.names[0].name}."
    is_legacy = source.startswith(LEGACY) and statement.names[0].name != "*"
    return is_legacy and not any(module.reads(name) for name, _ in import_bindings(statement))


def _without_optimizer(training: Training) -> str:
    """Why a loop is left whose optimizer is not seen: who knows of it."""
    if not training.method_calls("step"):
        return "the step of its optimizer cannot be seen in this file"
    reason = "where its optimizer is made cannot be seen in this file"
    module, function = training.module, training.module.function(training.backwards[0])
    if not isinstance(function, ast.FunctionDef):
        return reason
    owners = [parent.name for parent in module.ancestors(function) if isinstance(parent, ast.ClassDef)]
    name = owners[-1] if owners else function.name
    callers = [other for other in importing_modules(module) if name in other.names]
    return f"{reason}; `{name}` is used by {callers[0].path}" if callers else reason


def without_name(training: Training, backward: ast.Call) -> ast.expr | None:
    """What a loop around a call goes over where that makes a DataLoader without a name; None where none does."""
    for parent in training.module.ancestors(backward):
        if isinstance(parent, ast.For):
            iterated = training.unwrapped(parent.iter)
            if isinstance(iterated, ast.Call) and ast.unparse(iterated.func) == "enumerate" and iterated.args:
                iterated = training.unwrapped(iterated.args[0])
            sources = training.module.origins(iterated) if isinstance(iterated, ast.Call) else []
            if sources and all(training.makes_loader(end.node) for end in sources):
                return iterated
    return None


def drawn_one_by_one(training: Training, backward: ast.Call) -> ast.Call | None:
    """What draws, in a loop around a call, what its loss is made of, without going over it: `x, y = next(batches)`."""
    module = training.module
    loop = next((parent for parent in module.ancestors(backward) if isinstance(parent, (ast.For, ast.While))), None)
    waiting, seen = [*ast.walk(backward)], set[ast.AST]()
    while waiting and loop is not None:
        part = waiting.pop()
        if isinstance(part, ast.Call) and free_name(module, part.func) == "next":
            return part
        if not isinstance(part, ast.Name) or not isinstance(part.ctx, ast.Load):
            continue
        for statement in (module.statement(binding.node) for binding in reaching(module, part)):
            if isinstance(statement, ASSIGNMENTS) and statement not in seen and module.inside(statement, loop):
                seen.add(statement)
                waiting += ast.walk(statement)
    return None


def gone_over(training: Training, drawn: ast.Call) -> str:
    """How a loop goes over its loader that draws each batch of it by its number; empty where it does otherwise.

    Drawn one by one, a prepared loader is not told where an epoch ends.

    Args:
        training: What is trained.
        drawn: What draws a batch: `next(batches)`, of `batches = iter(loader)`.
    """
    module = training.module
    made = held(module, drawn.args[0]) if drawn.args else None
    statement = module.statement(drawn)
    loop = next((parent for parent in module.ancestors(drawn) if isinstance(parent, ast.For)), None)
    if loop is None or not isinstance(made, ast.Call) or free_name(module, made.func) != "iter" or not made.args:
        return ""
    source = module.source(made.args[0])
    is_by_number = module.source(training.unwrapped(loop.iter)) == f"range(len({source}))"
    if not is_by_number or not is_assignment(statement) or statement.value is not drawn:
        return ""
    number, batch = module.source(loop.target), module.source(targets_of(statement)[0])
    batch = f"({batch})" if isinstance(targets_of(statement)[0], ast.Tuple) else batch
    return f"; write `for {number}, {batch} in enumerate({source}):` in its place"


def check_only_called(module: Module, *names: str) -> None:
    """Looks for classes and functions that go where they are called, and are used in another way: those uses stay.

    Args:
        module: The module.
        names: Their qualified names.

    Raises:
        Refusal: If there is such a use. A test of the type of an object is none.
    """
    for reference in module.references_within(*names):
        node, parent = reference.node, module.parent_of[reference.node]
        if reference.qualified in names and not (isinstance(parent, ast.Call) and parent.func is node):
            if not _only_tests(module, node):
                short = reference.qualified.rpartition(".")[2]
                reason = f"`{short}` is used here without being called, so that its call cannot be seen"
                raise Refusal(node, f"{reason}; write {short}(...) in its place")


def _only_tests(module: Module, node: ast.expr, above: frozenset[ast.AST] = frozenset()) -> bool:
    """Whether a class only says what type something has: in `isinstance()`, a comparison, an annotation.

    Args:
        above: The assignments that led to it.
    """
    child: ast.AST = node
    for parent in module.ancestors(node):
        if isinstance(parent, (ast.Compare, ast.MatchClass)):
            return True
        if isinstance(parent, ast.Call):
            return isinstance(parent.func, ast.Name) and parent.func.id in TESTS and child in parent.args
        if isinstance(parent, (ast.arg, ast.AnnAssign, ast.FunctionDef, ast.AsyncFunctionDef)):
            return child in (getattr(parent, "annotation", None), getattr(parent, "returns", None))
        if is_assignment(parent):  # CLASSES = (DataParallel, DistributedDataParallel)
            scope = module.scope_of[parent]
            targets = [target for target in targets_of(parent) if isinstance(target, ast.Name)]
            reads = [read for target in targets for read in module.uses(target.id, scope)]
            is_new = parent not in above and len(targets) == len(targets_of(parent))
            return is_new and all(_only_tests(module, read, above | {parent}) for read in reads)
        if not isinstance(parent, (ast.Tuple, ast.List, ast.Set, ast.Subscript, ast.BinOp)):
            return False
        child = parent
    return False


def not_converted(name: str) -> str:
    """Why a loop is left that calls a function of torch.distributed.

    Args:
        name: The function.
    """
    equal = EQUALS.get(name.rpartition(".")[2])
    by_hand = f"is not converted; {equal} can take its place where the loop is moved by hand"
    way = by_hand if equal else "has no equal in accelerate"
    return f"`{name}` {way}"

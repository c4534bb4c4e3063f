"""RM858: options and settings by which somebody chooses the device: the Accelerator does not read them."""

import ast
import re
from collections.abc import Iterable, Iterator
from functools import partial

from raymigrate.base.expressions import lazy_regex
from raymigrate.codemods.to_accelerate.changes import Changes
from raymigrate.codemods.to_accelerate.devices import Devices
from raymigrate.codemods.to_accelerate.process_numbers import MAKER, number_in
from raymigrate.codemods.to_accelerate.rules import RM858
from raymigrate.facts.projects.environment import OF_PROCESSES, variable_read
from raymigrate.facts.projects.project import with_imported
from raymigrate.facts.syntax.known_tests import truth_of
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.scopes import FUNCTIONS
from raymigrate.facts.values import all_arguments, argument, is_call_by_name, last_name

MACHINE = "torch."  # what torch says of a machine is no choice: the Accelerator asks it too
NUMBERED = lazy_regex(r"cuda:[1-9]\d*")
OF_RANKS = lazy_regex(r"rank|world|distributed|ddp", re.IGNORECASE)
BUILTINS = ("bool", "int", "len", "hasattr", "getattr", "any", "all")
TO_CPU = "Accelerator(cpu=True) stays on the CPU."
TO_GPU = "CUDA_VISIBLE_DEVICES says which GPUs a run has."
JOINED = (ast.BoolOp, ast.Compare, ast.UnaryOp)


def tell_choices(changes: Changes, devices: Devices) -> None:
    """Tells once of an option that chose the device, as `--no-cuda`, and once of one that chose the GPU, as `--gpu 1`.

    Args:
        changes: The edits of the conversion.
        devices: The devices, which have told already of what they take apart.
    """
    module = devices.module
    if devices.tells_of_choice:
        return
    tests = sorted(_tests(devices), key=module.start)
    number = next(iter(sorted(filter(partial(_chooses, devices), _numbers(devices)), key=module.start)), None)
    chosen = next((choice for test in tests if (choice := _chosen(module, test)) is not None), None)
    for found, advice in ((chosen, TO_CPU), (number, TO_GPU)):
        if found is not None:
            message = f"The Accelerator chooses the device: `{ast.unparse(found)}` has no effect on it any more."
            changes.note(RM858, found, f"{message} {advice}")


def _chosen(module: Module, node: ast.expr, seen: frozenset[ast.AST] = frozenset()) -> ast.expr | None:
    """The part of a condition by which somebody chooses; None where it asks only for what the machine has.

    Args:
        node: The condition, or a part of it.
        seen: The names that led here.
    """
    if node in seen or truth_of(node) is not None or OF_RANKS.search(ast.unparse(node)):
        return None
    called = node.func if isinstance(node, ast.Call) else node
    if f"{module.qualified(called) or ''}.".startswith(MACHINE):
        return None
    if isinstance(called, ast.Name) and called.id == "isinstance":  # what is moved, and not where it goes
        return None
    if isinstance(node, JOINED):
        parts = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
        return _first(module, parts, seen)
    if is_call_by_name(node, *BUILTINS):
        return _first(module, node.args, seen)
    sources = module.origins(node)
    if any(source.node is node for source in sources):
        return node
    is_off = any(isinstance(source.node, ast.Constant) and not source.node.value for source in sources)
    inner = (_chosen(source.module, source.node, seen | {node}) for source in sources)
    return node if is_off or any(inner) else None


def _first(module: Module, parts: Iterable[ast.expr], seen: frozenset[ast.AST]) -> ast.expr | None:
    return next(filter(None, (_chosen(module, part, seen) for part in parts)), None)


def _tests(devices: Devices) -> Iterator[ast.expr]:
    """The conditions by which a device gets its name, or something is moved to one."""
    module = devices.module
    yield from (test for place in _places(devices) for test in _tests_in(place))
    for variable in devices.held:
        for binding in devices.variables.bindings(variable):
            yield from _tests_around(module, module.statement(binding))
    for move in devices.moves():
        yield from (parent.test for parent in module.ancestors(move) if isinstance(parent, ast.IfExp))
        yield from (test for test in _tests_around(module, module.statement(move)) if _only_moves(devices, test))


def _places(devices: Devices) -> Iterator[ast.AST]:
    """What devices are made of: the values of names, the functions that give them, and what things are moved to."""
    for variable in devices.held:
        for binding in devices.variables.bindings(variable):
            value = devices.module.assigned(binding)
            function = devices.variables.called(value) if isinstance(value, ast.Call) else None
            yield from (part for part in (value, function) if part is not None)
    for move in devices.moves():
        yield from all_arguments(move)


def _numbers(devices: Devices) -> Iterator[ast.expr]:
    """What says which GPU it is: `args.gpu` of `f"cuda:{args.gpu}"` and of `model.cuda(args.gpu)`, or `"cuda:1"`."""
    module = devices.module
    given = (argument(call, 0, "device") for call in module.calls("torch.cuda.set_device"))
    places = [place for place in given if not isinstance(place, ast.Name)]  # which may be a device that stays
    places += [move.args[0] for move in devices.moves() if last_name(move.func) == "cuda" and move.args]
    for part in (part for place in _places(devices) for part in ast.walk(place)):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            places += [part] if NUMBERED.fullmatch(part.value) else []
        elif isinstance(part, ast.Call) and module.qualified(part.func) == MAKER:
            places.append(argument(part, 1, "index"))
        elif isinstance(part, ast.expr):
            places.append(number_in(part))
    for place in filter(None, places):
        yield place.args[0] if is_call_by_name(place, "int", "str") and place.args else place


def _chooses(devices: Devices, number: ast.expr) -> bool:
    """Whether somebody chooses a GPU by a number: it is no rank, which a process has, and not the first GPU."""
    module = devices.module
    value = module.constant(number)
    if value is not ...:
        return (isinstance(value, str) and NUMBERED.fullmatch(value) is not None) or (type(value) is int and value > 0)
    read = variable_read(module, number)
    if devices.variables.of(number) & devices.ranks or (read is not None and OF_PROCESSES.fullmatch(read)):
        return False
    # args.gpu = rank, perhaps by a helper of another file
    is_set = isinstance(number, ast.Attribute) and any(file.stores(number.attr) for file in with_imported(module))
    return not is_set and _chosen(module, number) is number


def _tests_in(node: ast.AST) -> Iterator[ast.expr]:
    yield from (part.test for part in ast.walk(node) if isinstance(part, (ast.If, ast.IfExp)))


def _tests_around(module: Module, statement: ast.stmt) -> Iterator[ast.expr]:
    for parent in module.ancestors(statement):
        if isinstance(parent, FUNCTIONS):
            return
        if isinstance(parent, ast.If) and "__name__" not in ast.unparse(parent.test):
            yield parent.test


def _only_moves(devices: Devices, test: ast.expr) -> bool:
    """Whether what runs under a condition does nothing but move things to a device."""
    branch = devices.module.parent_of[test]
    moves = set(devices.moves())
    return isinstance(branch, ast.If) and all(
        isinstance(statement, (ast.Assign, ast.Expr)) and any(part in moves for part in ast.walk(statement))
        for statement in branch.body
    )

"""RM856: numbers of processes, and what each use of one becomes, as a rank is often the number of a device as well."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping

from raymigrate.codemods.to_accelerate.changes import Changes
from raymigrate.codemods.to_accelerate.variables import Variable, Variables
from raymigrate.facts.projects.environment import GETTERS, key_read
from raymigrate.facts.projects.main_process import COMPARES
from raymigrate.facts.syntax.functions import parameter_for
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import compared_with, is_negation
from raymigrate.facts.values import argument, called_name, every_origin, is_call_by_name, is_method_call, last_name

DEVICE = "accelerator.device"
MAKER = "torch.device"
RANK = "accelerator.process_index"
LOCAL_RANK = "accelerator.local_process_index"
SIZE = "accelerator.num_processes"
DISTRIBUTED = "accelerator.use_distributed"
MAIN = {RANK: "accelerator.is_main_process", LOCAL_RANK: "accelerator.is_local_main_process"}
MOVES = ("to", "cuda")
# Keyword arguments that say where something shall be.
PLACES = frozenset({"device", "map_location"})
OF_DEVICES = ("torch.cuda.", "torch.device")


def replace_number(changes: Changes, node: ast.expr, number: str) -> None:
    """Lets the Accelerator give a number; where that is compared with 0, it says whether this is the main process.

    Args:
        changes: The edits.
        node: What reads the number.
        number: The attribute that has it now.
    """
    module = changes.module
    parent = module.parent_of[node]
    if _asks_for_launcher(module, node):
        if isinstance(parent, ast.Compare) and not _is_of_environment(module, node):  # an option, which goes
            is_there = bool(_outcome(module, parent, node, 0))
            changes.replace(parent, DISTRIBUTED if is_there else f"not {DISTRIBUTED}")
        return
    if number in MAIN and isinstance(parent, ast.Compare) and len(parent.ops) == 1:
        op, [right] = parent.ops[0], parent.comparators
        compared = module.constant(right if parent.left is node else parent.left)
        if compared in (0, "0") and isinstance(op, (ast.Eq, ast.NotEq)):
            changes.replace(parent, MAIN[number] if isinstance(op, ast.Eq) else f"not {MAIN[number]}")
            return
    if number in MAIN and is_negation(parent):
        changes.replace(parent, MAIN[number])
        return
    is_text = every_origin(module, node, _reads_text) and not _takes_numbers(module, node)
    changes.replace(node, f"str({number})" if is_text else number)


def _asks_for_launcher(module: Module, node: ast.expr) -> bool:
    """Whether a number is asked only whether a launcher gave it: `rank is None`, `rank != -1`, `if rank:` of a text.

    Launchers tell accelerate so by the same environment variables: what reads one may stay.
    """
    parent = module.parent_of[node]
    if is_call_by_name(parent, "int"):
        node, parent = parent, module.parent_of[parent]
    if isinstance(parent, ast.Compare):
        without = {_outcome(module, parent, node, value) for value in _where_alone(module, node)}
        as_given: type = str if every_origin(module, node, _reads_text) else int
        several = {_outcome(module, parent, node, as_given(n)) for n in range(4)}
        return len(several) == 1 and not without <= several | {None}
    if not every_origin(module, node, _reads_text):
        return False
    inner: ast.AST = node
    while isinstance(parent, ast.BoolOp) or is_negation(parent):
        inner, parent = parent, module.parent_of[parent]
    is_tested = isinstance(parent, (ast.If, ast.IfExp, ast.While)) and parent.test is inner
    return is_tested or is_negation(inner) or is_call_by_name(parent, "bool")


def _outcome(module: Module, compare: ast.Compare, node: ast.expr, number: object) -> bool | None:
    """What a comparison says if a number is this one; None where that is not known."""
    if len(compare.ops) != 1:
        return None
    is_left = compare.left is node
    other = module.constant(compare.comparators[0] if is_left else compare.left)
    if other is ...:
        return None
    try:
        return bool(COMPARES[type(compare.ops[0])](*((number, other) if is_left else (other, number))))
    except TypeError:
        return None


def _where_alone(module: Module, node: ast.expr) -> set[object]:
    """What a number is in a script that no launcher starts: the default of a variable, or that of an option."""
    found: set[object] = set()
    for end in module.origins(node):
        place = end.node.args[0] if is_call_by_name(end.node, "int") and end.node.args else end.node
        if called_name(end.module, place) in GETTERS:
            default = argument(place, 1, "default")  # type: ignore[arg-type]
            value = end.module.constant(default)
            found.add(int(value) if place is not end.node and isinstance(value, str) and _is_int(value) else value)
        elif isinstance(place, ast.Attribute) and place.attr == "local_rank":
            found |= {-1, None}  # whatever the parser says
    return found - {...}


def _is_int(text: str) -> bool:
    return text.removeprefix("-").isdigit()


def _is_of_environment(module: Module, node: ast.expr) -> bool:
    """Whether a number comes from variables of the environment alone."""
    return not any(isinstance(end.node, ast.Attribute) for end in module.origins(node))


def _reads_text(module: Module, node: ast.expr) -> bool:
    """Whether a number is read as the text that an environment variable holds: `os.environ["RANK"]`."""
    is_default = isinstance(module.constant(node), str)  # `os.getenv("RANK", "0")`
    return is_default or key_read(module, node) is not None


def _takes_numbers(module: Module, node: ast.expr) -> bool:
    """Whether a number does where a text stood: in `int(rank)`, in a text, compared with numbers."""
    parent = module.parent_of[node]
    if isinstance(parent, ast.Compare):
        others = compared_with(parent, node)
        return bool(others) and all(isinstance(module.constant(other), int) for other in others)
    return isinstance(parent, ast.FormattedValue) or is_call_by_name(parent, "int", "float", "str", "print")


def replace_use(changes: Changes, variables: Variables, read: ast.Name, number: str | None) -> None:
    """Replaces one use of what is a device and perhaps a number: `x.to(rank)` and `if rank == 0`.

    Args:
        changes: The edits.
        variables: Those of the module.
        read: The use.
        number: What the number is; None where that is not known, as of `args.gpu`.
    """
    if number is not None and not is_place(variables, read):
        replace_number(changes, read, number)
    elif number is None and is_counted(variables, read):
        replace_number(changes, read, LOCAL_RANK)
    else:
        changes.replace(device_named(variables.module, read), DEVICE)


def device_named(module: Module, read: ast.expr) -> ast.expr:
    """The device that a number is part of: `torch.device("cuda", rank)`, `f"cuda:{rank}"`; the number where none is."""
    text = _text_around(module, read)
    outer = module.parent_of[text or read]
    if isinstance(outer, ast.Call) and module.qualified(outer.func) == MAKER:
        if text in outer.args or outer.args[1:] == [read]:
            return outer
    return text or read


def _text_around(module: Module, read: ast.expr) -> ast.expr | None:
    """The name of a device that a number is put into: `f"cuda:{rank}"`, `"cuda:%d" % rank`, `"cuda:" + str(rank)`."""
    parent = module.parent_of[read]
    is_text = isinstance(parent, ast.Call) and last_name(parent.func) == "str"
    whole = module.parent_of[parent] if is_text or isinstance(parent, ast.FormattedValue) else parent
    return whole if isinstance(whole, ast.expr) and is_numbered_name(whole) else None


def is_numbered_name(text: ast.expr) -> bool:
    """Whether an expression puts a number into the name of a device: `f"cuda:{gpu}"`, `"cuda:" + str(gpu)`.

    Args:
        text: The expression.
    """
    return number_in(text) is not None


def number_in(text: ast.expr) -> ast.expr | None:
    """The number that an expression puts into the name of a device, as `gpu` of `f"cuda:{gpu}"`.

    Args:
        text: The expression.
    """
    match text:
        case ast.JoinedStr(values=[ast.Constant(value=start), ast.FormattedValue(value=number)]):
            pass
        case ast.BinOp(op=ast.Mod() | ast.Add(), left=ast.Constant(value=start), right=number):
            pass
        case ast.Call(func=ast.Attribute(value=ast.Constant(value=start), attr="format"), args=[number]):
            pass
        case _:
            return None
    return number if isinstance(start, str) and start.startswith("cuda:") else None


def is_counted(variables: Variables, read: ast.expr) -> bool:
    """Whether something is compared with integers, or calculated with: no device is."""
    parent = variables.module.parent_of[read]
    if isinstance(parent, ast.BinOp):
        other = parent.right if parent.left is read else parent.left
        return not isinstance(other, ast.JoinedStr) and not isinstance(variables.module.constant(other), str)
    if not isinstance(parent, ast.Compare):
        return False
    parts = compared_with(parent, read)
    return bool(parts) and all(type(variables.module.constant(part)) is int for part in parts)


def is_place(variables: Variables, read: ast.expr, seen: frozenset[ast.AST] = frozenset()) -> bool:
    """Whether a rank says where something shall be: `x.to(rank)`, `torch.zeros(1, device=rank)`."""
    module = variables.module
    whole = device_named(module, read)
    if called_name(module, whole) == MAKER:
        return True
    read = whole
    parent = module.parent_of[read]
    call = module.taking(read)
    if call is None:
        return False
    function = variables.called(call)
    if function is not None:
        given = parameter_for(function, call, read)
        if not given or function in seen:
            return False
        reads = variables.reads(Variable(module.scope(function), given))
        return bool(reads) and all(is_place(variables, other, seen | {function}) for other in reads)
    if isinstance(parent, ast.keyword):
        return parent.arg in PLACES
    name = module.qualified(call.func)
    if name is not None:
        return name.startswith(OF_DEVICES) and call.args[0] is read and len(call.args) == 1
    return is_method_call(call, *MOVES) and call.args[0] is read


def number_given(variables: Variables, numbers: Mapping[Variable, str], values: Iterable[ast.expr]) -> str | None:
    """The number that all calls of a function give for a parameter of it; None where they give no known one."""
    found: set[str | None] = set()
    for value in values:
        if isinstance(value, ast.Attribute):
            found.add(LOCAL_RANK if value.attr == "local_rank" else None)
        else:
            found |= {numbers.get(home) for home in variables.of(value)} or {None}
    return found.pop() if len(found) == 1 else None

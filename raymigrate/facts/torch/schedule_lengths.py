"""Whether the length of a schedule is worked out from rows or batches, or is a number of steps that somebody gives."""

import ast
from collections.abc import Iterator

from raymigrate.facts.projects.main_process import is_size
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.scopes import Scope
from raymigrate.facts.values import is_call_by_name, last_name

MEMBERS = (ast.Attribute, ast.Subscript)
GROUPS = "param_groups"  # of an optimizer, for each of which a schedule may have a function
COUNTS = ("shape", "num_rows", "__len__")  # of frames, arrays, data sets and loaders

Place = tuple[Module, ast.AST]


def counts_rows(module: Module, node: ast.AST) -> bool:
    """Whether rows or batches are counted in an expression, or in what its names, attributes and items lead to.

    Args:
        module: The module.
        node: The expression.
    """
    return any(_is_length(part) for _, part in reached(module, node))


def reached(module: Module, node: ast.AST) -> Iterator[Place]:
    """The parts of an expression, and what its names, attributes and items lead to, each with its module."""
    waiting: list[Place] = [(module, node)]
    seen = set[ast.AST]()
    while waiting:
        home, current = waiting.pop()
        if current in seen:
            continue
        seen.add(current)
        yield home, current
        behind = _behind(home, current)
        waiting += [*behind, *_put_in(home, current)]
        if not (behind and isinstance(current, MEMBERS)):  # else what else its owner holds does not count
            waiting += ((home, child) for child in ast.iter_child_nodes(current))


def divided_counts(module: Module, node: ast.AST) -> Iterator[tuple[Module, ast.expr]]:
    """What is counted for a length and divided by the number of processes: `len(rows) // (batch_size * world_size)`.

    Args:
        module: The module.
        node: The length of a schedule.
    """
    for home, part in reached(module, node):
        if isinstance(part, ast.BinOp) and isinstance(part.op, (ast.Div, ast.FloorDiv)):
            if any(is_size(home, factor) for factor in _factors(home, part.right)):
                lengths = ((place, each) for place, each in reached(home, part.left) if _is_length(each))
                yield from ((place, _counted(each)) for place, each in lengths)


def _factors(module: Module, node: ast.expr) -> Iterator[ast.expr]:
    """The factors of a product, such as `batch_size` and `world_size`; names of products are followed."""
    value = module.value(node)
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult):
        yield from _factors(module, value.left)
        yield from _factors(module, value.right)
    elif is_call_by_name(value, "max", "float"):
        for given in value.args:
            yield from _factors(module, given)
    else:
        yield value if is_size(module, value) else node


def _counted(length: ast.AST) -> ast.expr:
    """What an expression counts: `loader` of `len(loader)`."""
    if isinstance(length, ast.Call) and length.args:
        return length.args[0]
    assert isinstance(length, (ast.Attribute, ast.Call))
    return length.value if isinstance(length, ast.Attribute) else length


def given_instead(module: Module, node: ast.expr) -> ast.expr | None:
    """The number that somebody may give in place of one that is counted: `args.steps or len(loader)`.

    Args:
        module: The module.
        node: The length of a schedule.
    """
    for part in ast.walk(node):
        if not isinstance(part, (ast.Name, ast.IfExp, ast.BoolOp, *MEMBERS)):
            continue
        sources = [source for source in module.origins(part) if source.module is module]
        counted = [source.node for source in sources if counts_rows(module, source.node)]
        others = [source.node for source in sources if source.node not in counted and source.node is not part]
        others = [other for other in others if isinstance(other, (ast.Name, *MEMBERS))]
        if counted and others:
            return others[0]
        if isinstance(part, MEMBERS) and any(_is_kept_if_given(module, value, part) for value in counted):
            return part
    return None


def _is_kept_if_given(module: Module, value: ast.AST, member: ast.expr) -> bool:
    """Whether a value is put into an attribute or item only where a test finds none there: `if args.steps is None`."""
    tests = (parent.test for parent in module.ancestors(value) if isinstance(parent, (ast.If, ast.IfExp)))
    return any(ast.unparse(part) == ast.unparse(member) for test in tests for part in ast.walk(test))


def _is_length(node: ast.AST) -> bool:
    """Whether an expression counts the rows or the batches of something: `len(loader)`, `frame.shape[0]`."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id == "len" and not (node.args and last_name(node.args[0]) == GROUPS)
    return isinstance(node, ast.Attribute) and node.attr in COUNTS


def _behind(module: Module, node: ast.AST) -> list[Place]:
    """The function that an expression stands for, and the values that it may have, in this file or in another."""
    if not isinstance(node, (ast.Name, ast.Call, *MEMBERS)):
        return []
    found: list[Place] = [
        *((source.module, source.node) for source in module.origins(node)),
        (module, module.value(node)),
    ]
    if isinstance(node, ast.Name) and isinstance(function := module.definition(node), ast.FunctionDef):
        found.append((module, function))
    return [(home, value) for home, value in found if value is not node]


def _put_in(module: Module, node: ast.AST) -> Iterator[Place]:
    """What is added to a variable, or put into an attribute or item by its name: `setattr(args, "steps", n)`."""
    if isinstance(node, ast.Name):
        yield from ((module, value) for value in _added(module).get((node.id, module.scope_of.get(node)), ()))
    name = _name_of_member(node)
    if isinstance(node, ast.Attribute) and module.project is not None:  # which other files of the project store there
        others = (module.project.module(path) for path, _ in module.project.imported_files(module))
        for other in filter(None, others):
            values = (other.assigned(stored) for stored in other.stores(node.attr))
            yield from ((other, value) for value in values if value is not None)
    yield from ((module, value) for value in _given_by_name(module).get(name or "", ()))


@kept
def _added(module: Module) -> dict[tuple[str, Scope | None], list[ast.expr]]:
    """What is added to variables, by their names and scopes."""
    found: dict[tuple[str, Scope | None], list[ast.expr]] = {}
    for added in module.of_type(ast.AugAssign):
        if isinstance(target := added.target, ast.Name):
            found.setdefault((target.id, module.scope_of.get(target)), []).append(added.value)
    return found


@kept
def _given_by_name(module: Module) -> dict[str, list[ast.expr]]:
    """What is put into attributes and items by their names: `setattr(args, "steps", n)`, `args.update(steps=n)`."""
    found: dict[str, list[ast.expr]] = {}
    for call in module.named_calls("setattr"):
        name = module.constant(call.args[1]) if len(call.args) == 3 else None
        if isinstance(name, str):
            found.setdefault(name, []).append(call.args[2])
    for call, _ in module.method_calls("update"):
        for word in call.keywords:
            found.setdefault(word.arg or "", []).append(word.value)
    found.pop("", None)
    return found


def _name_of_member(node: ast.AST) -> str | None:
    """The name of an attribute, or of an item."""
    if isinstance(node, ast.Attribute):
        return node.attr
    key = node.slice.value if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) else None
    return key if isinstance(key, str) else None

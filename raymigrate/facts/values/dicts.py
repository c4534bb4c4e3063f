"""The entries of a dict, and the items of a list, that are written out, at once or piece by piece."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from raymigrate.facts.syntax.nodes import is_assignment, targets_of
from raymigrate.facts.values.arguments import is_call_by_name, is_method_call, unpacked_dicts
from raymigrate.facts.values.own_classes import COPIES

if TYPE_CHECKING:
    from raymigrate.facts.syntax.definitions import Definition
    from raymigrate.facts.syntax.module import Module
    from raymigrate.facts.syntax.scopes import Scope

# Constants of Ray that name a dataset.
WELL_KNOWN_KEYS = {
    "ray.train.constants.TRAIN_DATASET_KEY": "train",
    "ray.train.constants.EVALUATION_DATASET_KEY": "evaluation",
    "ray.train.TRAIN_DATASET_KEY": "train",
}
TAKING = frozenset(["pop", "popitem", "clear", "remove", "discard"])
FILLERS = TAKING | {"append", "extend", "insert", "add", "update", "setdefault"}


def entries(module: Module, node: ast.expr, above: tuple[ast.expr, ...] = ()) -> dict[str, ast.expr] | None:
    """The entries of a dict by key; None where not all of them can be seen.

    Understands `{...}` and `dict(...)`, also with other such dicts unpacked in them, `a | b`, `a.copy()`, one whose
    values are mapped in a comprehension, and a name of one that gets more entries in statements right after it:
    `d["key"] = value`, `d.update(key=value)`.

    Args:
        module: The module.
        node: The dict, or a name of it; the name that is assigned to stands for what it holds in the end.
        above: The dicts that are being looked through.
    """
    if node in above:
        return None
    above = (*above, node)
    if isinstance(node, ast.Name):
        target = module.definition(node)
        made = module.assigned(target) if isinstance(target, ast.Name) else None
        whole = entries(module, made, above) if made is not None else None
        if whole is None or not isinstance(target, ast.Name):
            return None
        if isinstance(made, ast.Name) and fillings(module, target):
            return None  # of a dict that has two names
        return _with_fillings(module, node, target, whole)
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        return _merged([_pair(module, key, value, above) for key, value in pairs])
    if is_call_by_name(node, "dict"):
        return _merged(_given(module, node, above))
    if (parts := _parts(node)) is not None:
        return _merged([entries(module, part, above) for part in parts])
    return _mapped(module, node, above) if isinstance(node, ast.DictComp) else None


def _parts(node: ast.expr) -> list[ast.expr] | None:
    """The dicts of `a | b` and of `a.copy()`; None for anything else."""
    match node:
        case ast.BinOp(op=ast.BitOr()):
            return [node.left, node.right]
        case ast.Call(func=ast.Attribute(attr="copy"), args=[], keywords=[]):
            assert isinstance(node.func, ast.Attribute)
            return [node.func.value]
    return None


def _mapped(module: Module, node: ast.DictComp, above: tuple[ast.expr, ...]) -> dict[str, ast.expr] | None:
    """The entries of `{name: f(value) for name, value in dict.items()}`: the keys are those of the dict."""
    loop = node.generators[0]
    items = loop.iter.func if isinstance(loop.iter, ast.Call) and not loop.iter.args else None
    target = loop.target
    if len(node.generators) != 1 or loop.ifs or not isinstance(items, ast.Attribute) or items.attr != "items":
        return None
    if not isinstance(target, ast.Tuple) or [ast.unparse(name) for name in target.elts[:1]] != [ast.unparse(node.key)]:
        return None
    whole = entries(module, items.value, above)
    if whole is None or ast.unparse(target.elts[-1]) == ast.unparse(node.value):
        return whole
    return dict.fromkeys(whole, node.value)


def _given(module: Module, call: ast.Call, above: tuple[ast.expr, ...]) -> list[dict[str, ast.expr] | None]:
    """The entries that the arguments of dict() or update() give."""
    given = [entries(module, argument, above) for argument in call.args]
    for keyword in call.keywords:
        given.append({keyword.arg: keyword.value} if keyword.arg else entries(module, keyword.value, above))
    return given


def seen_entries(module: Module, node: ast.expr, above: tuple[ast.expr, ...] = ()) -> dict[str, ast.expr]:
    """The entries that a dict has for sure, although there may be others: see `entries`, and `carried.py`."""
    known = entries(module, node)
    made = module.value(node)
    if known is not None or node in above:
        return known or {}
    above = (*above, node)
    found: dict[str, ast.expr] = {}
    if isinstance(made, ast.Dict):
        for key, value in zip(made.keys, made.values, strict=True):
            name = key_name(module, key) if key is not None else None
            found |= {name: value} if name is not None else {}
            found |= seen_entries(module, value, above) if key is None else {}
    elif is_call_by_name(made, "dict"):
        found |= {name: value for part in made.args for name, value in seen_entries(module, part, above).items()}
        for keyword in made.keywords:
            found |= {keyword.arg: keyword.value} if keyword.arg else seen_entries(module, keyword.value, above)
    for part in _parts(made) or ():
        found |= seen_entries(module, part, above)
    return found


def given_by_name(module: Module, call: ast.Call) -> dict[str, ast.expr]:
    """What a call is seen to be given by name, in a dict that is unpacked too."""
    given: dict[str, ast.expr] = {}
    for keyword in call.keywords:
        given |= {keyword.arg: keyword.value} if keyword.arg else seen_entries(module, keyword.value)
    return given


def seen_items(module: Module, node: ast.expr) -> list[ast.expr]:
    """The items of a list or tuple that can be seen, although there may be others: see `all_items`."""
    return _items(module, node, ())[0]


def all_items(module: Module, node: ast.expr) -> list[ast.expr] | None:
    """The items that a list or tuple may hold; None where not all of them can be seen.

    Understands displays, sums and `list(...)`, a name or attribute of such a list, and what is put into that by
    `append`, `insert`, `extend` and assignments to its items.
    """
    items, whole = _items(module, node, ())
    return items if whole else None


def _items(module: Module, node: ast.expr, above: tuple[ast.expr, ...]) -> tuple[list[ast.expr], bool]:
    """The items of a list that can be seen, and whether they are all."""
    if node in above:
        return [], False
    above = (*above, node)

    def of(*parts: ast.expr) -> list[tuple[list[ast.expr], bool]]:
        return [_items(module, part, above) for part in parts]

    found: list[tuple[list[ast.expr], bool]] = [([], False)]
    if isinstance(node, ast.Name):
        target = module.definition(node)
        made = module.assigned(target) if isinstance(target, ast.Name) else None
        if made is not None and isinstance(target, ast.Name):
            found = [*of(made), *(_added(module, statement, above) for statement in fillings(module, target))]
    elif isinstance(node, ast.Attribute):
        filled = attribute_fillings(module, node.attr)
        made_of = [source.node for source in module.origins(node, elsewhere=False) if source.node is not node]
        if made_of:
            found = [*of(*made_of), *(_added(module, statement, above) for statement in filled)]
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        found = of(node.left, node.right)
    elif isinstance(node, (ast.List, ast.Tuple)):
        found = [of(item.value)[0] if isinstance(item, ast.Starred) else ([item], True) for item in node.elts]
    elif is_call_by_name(node, "list"):
        found = of(*node.args)
    return [item for items, _ in found for item in items], all(whole for _, whole in found)


def _added(module: Module, statement: ast.stmt, above: tuple[ast.expr, ...]) -> tuple[list[ast.expr], bool]:
    """The items that one statement adds to a list, and whether it adds no others."""
    if isinstance(statement, ast.Assign) and isinstance(target := statement.targets[0], ast.Subscript):
        several = isinstance(target.slice, ast.Slice)
        return _items(module, statement.value, above) if several else ([statement.value], True)
    if isinstance(statement, ast.AugAssign):
        return _items(module, statement.value, above)
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return [], False
    if call.func.attr in ("append", "insert", "extend") and call.args and not call.keywords:
        return _items(module, call.args[-1], above) if call.func.attr == "extend" else ([call.args[-1]], True)
    return [], call.func.attr in TAKING


def dicts_in(module: Module, node: ast.expr) -> list[ast.expr]:
    """The dicts whose entries another takes over: of `{**a}`, `a | b`, `dict(a, **b)`, `a.copy()`, `copy.copy(a)`."""
    if isinstance(node, ast.Dict):
        return [value for key, value in zip(node.keys, node.values, strict=True) if key is None]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return [node.left, node.right]
    if is_method_call(node, "copy") and not node.args:
        return [node.func.value]
    if not isinstance(node, ast.Call):
        return []
    takes_over = module.qualified(node.func) in COPIES or is_call_by_name(node, "dict")
    return [*node.args[:1], *unpacked_dicts(node)] if takes_over else []


def _merged(parts: list[dict[str, ast.expr] | None]) -> dict[str, ast.expr] | None:
    found: dict[str, ast.expr] = {}
    for part in parts:
        if part is None:
            return None
        found |= part
    return found


def _pair(
    module: Module, key: ast.expr | None, value: ast.expr, above: tuple[ast.expr, ...]
) -> dict[str, ast.expr] | None:
    if key is None:
        return entries(module, value, above)
    name = key_name(module, key)
    return None if name is None else {name: value}


def key_name(module: Module, key: ast.expr) -> str | None:
    """The string that a key of a dict is."""
    name = WELL_KNOWN_KEYS.get(module.qualified(key) or "") or module.constant(key)
    return name if isinstance(name, str) else None


def value_of_key(module: Module, key: ast.AST) -> ast.expr | None:
    """What a key has where a dict is written out; None where it is no key of one."""
    home = module.parent_of[key]
    entries = zip(home.keys, home.values, strict=True) if isinstance(home, ast.Dict) else ()
    return next((value for entry, value in entries if entry is key), None)


def held_at(module: Module, name: str, scope: Scope) -> list[ast.expr]:
    """Where a name gives what it holds: its uses, and `(name := value)`, on which a method may be called at once."""
    bound = (module.parent_of.get(binding.node) for binding in scope.bindings.get(name, ()))
    return [*module.uses(name, scope), *(named for named in bound if isinstance(named, ast.NamedExpr))]


def fillings(module: Module, target: ast.Name) -> list[ast.stmt]:
    """The statements that change what a list or dict holds by a name of it: `d["key"] = value`, `d.update(...)`."""
    scope = module.bound_in(target)
    if scope is None:
        return []
    known = module.asked.fillings
    if (scope, target.id) not in known:
        known[scope, target.id] = _fillings(module, held_at(module, target.id, scope))
    return known[scope, target.id]


def attribute_fillings(module: Module, name: str) -> list[ast.stmt]:
    """The `fillings` of an attribute, of whatever object: `self.x.append(1)`, `self.x += [1]`, `self.x.pop()`."""
    known = module.asked.filled_attributes
    if name not in known:
        uses = module.attributes(name)
        around = [(use, module.parent_of[use]) for use in uses]
        known[name] = [node for use, node in around if isinstance(node, ast.AugAssign) and node.target is use]
        known[name] += _fillings(module, uses)
        for target in (targets_of(node)[0] for use, node in around if is_assignment(node) and node.value is use):
            known[name] += fillings(module, target) if isinstance(target, ast.Name) else []
    return known[name]


def _fillings(module: Module, uses: Sequence[ast.expr]) -> list[ast.stmt]:
    found = []
    for use in uses:
        outer = module.parent_of[use]
        stored = isinstance(outer, ast.Subscript) and outer.value is use and not isinstance(outer.ctx, ast.Load)
        if stored or (isinstance(outer, ast.Attribute) and outer.attr in FILLERS):
            found.append(module.statement(use))
    return found


def imported_value(found: Definition) -> ast.expr | None:
    """The expression that another file assigns to a name; the name there, if it is of a list or dict that is filled."""
    name = found.node
    return name if isinstance(name, ast.Name) and fillings(found.module, name) else found.value


def holds_items(node: ast.expr) -> bool:
    """Whether an expression makes a list, dict or set."""
    if isinstance(node, ast.Call):
        is_copy = is_method_call(node, "copy")
        return is_copy or (isinstance(node.func, ast.Name) and node.func.id in ("dict", "list", "set"))
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.BitOr)
    return isinstance(node, (ast.List, ast.Dict, ast.Set))


def _with_fillings(
    module: Module, use: ast.Name, target: ast.Name, whole: dict[str, ast.expr]
) -> dict[str, ast.expr] | None:
    """Adds what is filled in between an assignment and a use, where it is in the same block."""
    block = module.parent_of[module.statement(target)]
    in_order = use is not target and module.function(use) is module.function(target)
    filled = dict(whole)
    statements = fillings(module, target)
    if in_order and any(statement.lineno > use.lineno for statement in reversed(statements)):  # mostly the last is
        return None
    for statement in statements:
        if module.parent_of[statement] is not block:
            return None
        added = _filled(module, statement)
        if added is None:
            return None
        filled |= added
    return filled


def _filled(module: Module, statement: ast.stmt) -> dict[str, ast.expr] | None:
    """The entries that one statement adds."""
    if isinstance(statement, ast.Assign) and isinstance(target := statement.targets[0], ast.Subscript):
        return _pair(module, target.slice, statement.value, ()) if len(statement.targets) == 1 else None
    call = statement.value if isinstance(statement, ast.Expr) else None
    if is_method_call(call, "update"):
        return _merged(_given(module, call, ()))
    return None

"""What code changes: something that a name stands for, by the name or by methods of an object of the project's own.

A worker gets a copy of what the driver made. `best = Best()`, `Trainer(..., callbacks=[best])`: what training does to
it is to be read where it trained. So it is with a list that such an object is given: `callbacks=[History(losses)]`.
"""

import ast

from raymigrate.codemods.to_ray.step_kinds import FILLING
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.scopes import Scope
from raymigrate.facts.values import class_named, holds_items
from raymigrate.facts.values.lineages import lineage

CHANGING = FILLING | {"sort", "reverse", "popitem", "discard", "appendleft", "popleft", "extendleft"}
HANDED = (ast.List, ast.Tuple, ast.Set, ast.Dict, ast.Starred, ast.keyword, ast.IfExp)


def is_changed(module: Module, node: ast.Name) -> bool:
    """Whether something is put into what a name stands for: `args.lr = 1`, `settings["a"]["b"] = 1`, `.append`.

    Or a method is called that changes its object: `meter.update(loss)`, where the project has the class.
    """
    method = module.parent_of[node]
    if isinstance(method, ast.Attribute) and module.calling(method) is not None:
        if any(method.attr in changing for changing, _ in _objects(module, node)):
            return True
    return bool(_put_into(module, node))


def is_filled(module: Module, name: str, scope: Scope) -> bool:
    """Whether something is put into what a name stands for: a list of losses, a dict of results."""
    for use in module.uses(name, scope):
        parent = module.parent_of[use]
        filled = isinstance(parent, ast.Attribute) and parent.attr in FILLING
        if filled or (isinstance(parent, ast.Subscript) and not isinstance(parent.ctx, ast.Load)):
            return True
    return False


def is_handed_on(module: Module, node: ast.Name) -> bool:
    """Whether a name gives away what who gets it may change: to a call, or in a list.

    It may be an object of the project whose methods change it, or a list or dict for one that fills what it holds.
    """
    call = module.taking(node)
    if call is None and not isinstance(module.parent_of[node], HANDED):
        return False
    if any(changing for changing, _ in _objects(module, node)):
        return True
    made = class_named(module, call.func) if call is not None else None
    return made is not None and _changing(*made)[1] and _is_container(module, node)


def _put_into(module: Module, node: ast.expr) -> int:
    """How many attributes and items deep something is put into what a name stands for; 0 where nothing is."""
    depth, parent = 1, module.parent_of[node]
    while isinstance(parent, (ast.Attribute, ast.Subscript)) and parent.value is node:
        if not isinstance(parent.ctx, ast.Load):
            return depth
        if isinstance(parent, ast.Attribute) and module.calling(parent) is not None:
            in_place = parent.attr.endswith("_") and not parent.attr.startswith("_")  # of a tensor
            return depth if in_place or parent.attr in CHANGING else 0
        node, parent, depth = parent, module.parent_of[parent], depth + 1
    return 0


def _objects(module: Module, node: ast.Name) -> tuple[tuple[frozenset[str], bool], ...]:
    """What methods change, of the classes of the project that a name is given objects of."""
    scope = module.bound_in(node)
    return _objects_of(module, scope, node.id) if scope is not None else ()


@kept
def _objects_of(module: Module, scope: Scope, name: str) -> tuple[tuple[frozenset[str], bool], ...]:
    """The same for a name of a scope, which may be given hundreds of objects and used as often."""
    made = (module.assigned(binding.node) for binding in scope.bindings[name])
    classes = [class_named(module, value.func) for value in made if isinstance(value, ast.Call)]
    return tuple(dict.fromkeys(_changing(*found) for found in classes if found is not None))


def _is_container(module: Module, node: ast.Name) -> bool:
    values = (module.assigned(binding.node) for binding in module.bindings_of(node))
    return any(value is not None and holds_items(value) for value in values)


@kept
def _changing(module: Module, made: ast.ClassDef) -> tuple[frozenset[str], bool]:
    """The methods of a class that change their object, and whether one puts something into what that holds."""
    changing, fills = set[str](), False
    for line in lineage(module, made):
        for method in line.body:
            if not isinstance(method, ast.FunctionDef) or method.name == "__init__":
                continue
            for own in method.args.args[:1]:
                depths = [_put_into(module, use) for use in module.uses(own.arg, module.scope(method))]
                changing |= {method.name} if any(depths) else set()
                fills |= max(depths, default=0) > 1
    return frozenset(changing), fills

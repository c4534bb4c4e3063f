"""The keys that a dict has for sure as a loop or a comprehension over known names fills it."""

import ast

from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import ENDS, only_target
from raymigrate.facts.values import Source, constants, entries, fillings, key_name


def looped_keys(source: Source) -> set[str]:
    """The keys of `{name: f(name) for name in ("train", "dev")}`, or of a dict that such a loop fills.

    Args:
        source: The dict, or a name of it.
    """
    module, node = source.module, source.node
    if isinstance(node, ast.DictComp):
        loop = node.generators[0]
        if len(node.generators) > 1 or loop.ifs:
            return set()
        return _named(module, node.key, loop.target, loop.iter)
    target = module.definition(node)
    if isinstance(node, (ast.Dict, ast.Call)):
        made = module.parent_of[node]
        target = only_target(made)
        target = made.target if isinstance(made, ast.AnnAssign) else target
    if not isinstance(target, ast.Name):
        return set()
    found = set[str]()
    for statement in fillings(module, target):
        if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Subscript):
            return set()  # it may take some out
        found |= _filled(module, statement, statement.targets[0].slice, module.statement(target))
    return found


def _filled(module: Module, statement: ast.Assign, key: ast.expr, made: ast.stmt) -> set[str]:
    """The keys that a statement is sure to fill: in the block in which the dict is made, or in a loop there."""
    outer = module.parent_of[statement]
    if outer is module.parent_of[made]:
        name = key_name(module, key)
        return set() if name is None else {name}
    if not isinstance(outer, ast.For) or module.parent_of[outer] is not module.parent_of[made]:
        return set()
    if statement not in outer.body or any(isinstance(node, ENDS) for node in module.below(outer)):
        return set()
    return _named(module, key, outer.target, outer.iter)


def _named(module: Module, key: ast.expr, target: ast.expr, several: ast.expr) -> set[str]:
    """What a key is in the passes of a loop: `name` for `name in ("a", "b")`, or for `name, path in paths.items()`."""
    parts = target.elts if isinstance(target, ast.Tuple) else [target]
    if not isinstance(key, ast.Name) or key.id not in [ast.unparse(part) for part in parts]:
        return set()
    names = {name for _, name in constants(module, key)}
    if names and all(isinstance(name, str) for name in names):
        return {str(name) for name in names}
    of_items = isinstance(target, ast.Tuple)
    if isinstance(several, ast.Call) and isinstance(several.func, ast.Attribute) and not several.args:
        if several.func.attr != ("items" if of_items else "keys"):
            return set()
        several = several.func.value
    elif of_items:
        return set()
    return set(entries(module, several) or {}) if ast.unparse(parts[0]) == key.id else set()

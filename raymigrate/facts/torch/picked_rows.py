"""Random numbers that share out no rows: they pick what is shown, or mix the rows of a batch in a step."""

import ast

from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import targets_of
from raymigrate.facts.values import free_name, last_name, reaching

# What shows pictures or prints: rows that end there are trained on by nobody.
SHOWS = ("matplotlib.", "torchvision.utils.", "PIL.", "wandb.Image", "IPython.display.")
SHOWING = frozenset({"imshow", "add_image", "add_images", "add_figure", "savefig", "print", "display"})
BUILTINS = frozenset({"list", "tuple", "enumerate", "zip", "range", "len", "int", "sorted", "str"})
OF_MODELS = ("parameters", "eval", "state_dict")
LOOPS = (ast.For, ast.While)
INSIDE = (ast.Subscript, ast.Attribute, ast.Tuple, ast.List, ast.Starred, ast.BinOp, ast.ListComp, ast.GeneratorExp)
DEPTH = 12


def is_in_step(module: Module, node: ast.AST, depth: int = 4) -> bool:
    """Whether code runs in a loop that works out gradients, itself or in a function that is called there.

    Args:
        module: The module.
        node: The code.
        depth: How many functions are followed.
    """
    for parent in module.ancestors(node):
        if isinstance(parent, LOOPS) and _is_innermost_training(module, parent):
            return True
        if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef)):
            calls = [module.parent_of[use] for use in module.uses_of(parent)]
            return bool(depth and calls) and all(is_in_step(module, call, depth - 1) for call in calls)
    return False


def _is_innermost_training(module: Module, loop: ast.AST) -> bool:
    """Whether a loop goes over the steps, and not over epochs, which may each share out rows anew."""
    inside = [*module.below(loop)]
    trains = [n for n in inside if isinstance(n, ast.Attribute) and n.attr == "backward"]
    return bool(trains) and not any(
        isinstance(other, LOOPS) and any(module.inside(node, other) for node in trains)
        for other in inside
        if other is not loop
    )


def is_only_shown(module: Module, node: ast.AST, depth: int = DEPTH) -> bool:
    """Whether all that is made of a value is shown, and nothing is trained on it.

    Args:
        module: The module.
        node: The value.
        depth: How far it is followed.
    """
    parent = module.parent_of[node]
    if not depth or isinstance(parent, ast.Return):
        return False
    if isinstance(parent, ast.Expr):
        return True
    if isinstance(parent, ast.keyword):
        return is_only_shown(module, parent, depth)
    if isinstance(parent, ast.Call):
        return _shows(module, parent) or (_hands_on(module, parent, node) and is_only_shown(module, parent, depth - 1))
    if isinstance(parent, INSIDE):
        return is_only_shown(module, parent, depth - 1)
    if isinstance(parent, ast.comprehension):
        whole = module.parent_of[parent]
        return is_only_shown(module, whole, depth - 1)
    if isinstance(parent, (ast.Assign, ast.For)):
        targets = targets_of(parent)
        return all(_are_only_shown(module, target, depth - 1) for target in targets)
    return False


def _are_only_shown(module: Module, target: ast.expr, depth: int) -> bool:
    """Whether that holds for all reads of the names that get a value."""
    names = [part for part in ast.walk(target) if isinstance(part, (ast.Name, ast.Attribute, ast.Subscript))]
    if not all(isinstance(name, ast.Name) for name in names):
        return False
    found = [
        use
        for name in names
        if isinstance(name, ast.Name)
        for use in module.uses_of(name)
        if any(binding.node is name for binding in reaching(module, use))
    ]
    return all(is_only_shown(module, use, depth) for use in found)


def _shows(module: Module, call: ast.Call) -> bool:
    name = module.qualified(call.func)
    own = last_name(call.func)
    return name.startswith(SHOWS) if name is not None else own in SHOWING


def _hands_on(module: Module, call: ast.Call, node: ast.AST) -> bool:
    """Whether what a call gives is made of a value: a method of it, a builtin, what torch computes, a model."""
    name = module.qualified(call.func)
    if name is not None:
        return name.startswith(("torch.", "numpy.")) and not name.startswith("torch.utils.data")
    if call.func is node:
        return True
    if not isinstance(call.func, ast.Name):
        return False
    models = {ast.unparse(read.value) for attr in OF_MODELS for read in module.attributes(attr)}
    return call.func.id in models or free_name(module, call.func) in BUILTINS

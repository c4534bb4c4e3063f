"""Whether a step of a model uses all of its parameters, as far as the class of the model shows it.

DistributedDataParallel raises a RuntimeError in the step after one that left parameters without a gradient.
"""

import ast

from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import is_assignment, targets_of
from raymigrate.facts.values import called_name, is_method_call

MAX_STEPS = 5  # from a model to a part of a part of it
BRANCHES = (ast.If, ast.IfExp, ast.Match, ast.While, ast.Try, ast.Return)
CONTAINERS = ("torch.nn.Sequential", "torch.nn.ModuleList", "torch.nn.ModuleDict")


def uses_all_parameters(module: Module, model: ast.expr, depth: int = MAX_STEPS) -> bool:
    """Whether each step of a model surely uses all of its parameters: it is made of layers, used one after the other.

    Args:
        module: The module.
        model: The expression that makes the model.
        depth: How many steps may still be followed.
    """
    while is_method_call(model, "to", "cuda"):
        model = model.func.value
    if model not in module.scope_of:  # made in another file
        return False
    sources = [source.node for source in module.origins(model)]
    return bool(sources) and all(_uses_all(module, node, depth) for node in sources)


def _uses_all(module: Module, node: ast.AST, depth: int) -> bool:
    if not depth or not isinstance(node, ast.Call) or node not in module.scope_of:
        return False
    name = called_name(module, node)
    if name in CONTAINERS:
        return bool(node.args) and all(uses_all_parameters(module, value, depth - 1) for value in node.args)
    if name.startswith("torch.nn."):
        return True
    definition = module.definition(node.func)
    return isinstance(definition, ast.ClassDef) and _is_straight(module, definition, depth)


def _is_straight(module: Module, definition: ast.ClassDef, depth: int) -> bool:
    """Whether `forward` of a class uses every part that its constructor makes, whatever it is given."""
    methods = {node.name: node for node in definition.body if isinstance(node, ast.FunctionDef)}
    bases = [module.qualified(base) or "" for base in definition.bases]
    if set(methods) != {"__init__", "forward"} or bases != ["torch.nn.Module"]:
        return False
    forward = list(ast.walk(methods["forward"]))
    if sum(isinstance(node, BRANCHES) for node in forward) > 1:  # the one return at its end
        return False
    read = {node.attr for node in forward if isinstance(node, ast.Attribute)}
    for statement in methods["__init__"].body:
        for target in targets_of(statement) if is_assignment(statement) else ():
            if isinstance(target, ast.Attribute) and not _is_used(module, target, statement, read, depth):
                return False
    return True


def _is_used(module: Module, target: ast.Attribute, statement: ast.stmt, read: set[str], depth: int) -> bool:
    value = statement.value  # type: ignore[attr-defined]
    if not isinstance(value, ast.Call):
        return True
    return target.attr in read and uses_all_parameters(module, value, depth - 1)


def finds_unused(module: Module) -> bool:
    """Whether a script lets DistributedDataParallel look for parameters that a step left out, or says that none are."""
    return any(module.keywords("find_unused_parameters"))

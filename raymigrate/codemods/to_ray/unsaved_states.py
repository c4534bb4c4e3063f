"""RM823: what epochs change that save_state() does not save: numbers of an object, and what prepare() never got.

accelerate 1.15 saves what prepare() and register_for_checkpointing() were given, and the states of random numbers
(accelerator.py, `save_state`). A run that goes on after a failure has all else as it was made: the schedule of another
scheduler begins again, and so does an average of the weights.
"""

import ast
from collections.abc import Iterable, Iterator

from raymigrate.codemods.to_ray.carried_values import BRANCHES, is_number_or_none
from raymigrate.codemods.to_ray.own_states import code_of_epochs
from raymigrate.facts.syntax.attribute_chains import is_of_self
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import is_assignment, targets_of
from raymigrate.facts.torch.optimizers import is_scheduler
from raymigrate.facts.values import Source, called_name, has_starred, methods_of_object

KEEPS = ("prepare", "prepare_model", "prepare_optimizer", "prepare_scheduler", "register_for_checkpointing")
AVERAGES = "torch.optim.swa_utils.AveragedModel"
RESET = "reset"  # of what counts an epoch or a step anew


def unsaved_numbers(module: Module, loop: ast.For) -> list[str]:
    """Attributes of the object that trains which begin as a number or None, and hand on what an epoch made of them."""
    owner = module.class_around(loop)
    if owner is None:
        return []
    own = [node for home, node in code_of_epochs(module, loop) if home is module and module.inside(node, owner)]
    found = []
    for name in sorted(_carried(module, own)):
        stores = [store for store in module.stores(name) if module.inside(store, owner)]
        before = [store for store in stores if not any(module.inside(store, node) for node in own)]
        values = [module.assigned(store) for store in before if ast.unparse(store) == f"self.{name}"]
        if values and all(value is not None and is_number_or_none(module, value) for value in values):
            found.append(f"self.{name}")
    return found


def unsaved_objects(module: Module, loop: ast.For) -> list[str]:
    """What the epochs change by its methods, and the Accelerator does not know: a scheduler, an average of weights."""
    code = list(code_of_epochs(module, loop))
    kept = _kept(module)
    if kept is None:
        return []
    calls = [(home, call.func) for home, node in code for call in ast.walk(node) if isinstance(call, ast.Call)]
    used = [(home, func.value, func.attr) for home, func in calls if isinstance(func, ast.Attribute)]
    used += [(home, func, "__call__") for home, func in calls]  # `stopping(loss)`
    reset = {ast.unparse(owner) for _, owner, method in used if method == RESET}
    found: dict[ast.AST, str] = {}
    for home, owner, method in used:
        name, makers = ast.unparse(owner), home.origins(owner)
        is_made_before = all(isinstance(maker.node, ast.Call) for maker in makers) and not any(
            maker.module is place and place.inside(maker.node, node) for maker in makers for place, node in code
        )
        if name != "self" and name not in reset and is_made_before and not kept.intersection(m.node for m in makers):
            if _changes(home, owner, method, makers):
                found.setdefault(makers[0].node, _given_name(module, makers[0]) or name)
    return list(dict.fromkeys(found.values()))


def _given_name(module: Module, maker: Source) -> str:
    """The name that the script gives an object where it is made; empty elsewhere."""
    statement = module.statement(maker.node) if maker.module is module else None
    if is_assignment(statement) and statement.value is maker.node:
        return ast.unparse(targets_of(statement)[0])
    return ""


def _kept(module: Module) -> set[ast.AST] | None:
    """What makes the things that the Accelerator saves; None where that cannot be seen."""
    given = [value for call, _ in module.method_calls(*KEEPS) for value in call.args]
    if has_starred(given):
        return None
    return {source.node for value in given for source in module.origins(value)}


def _changes(module: Module, owner: ast.expr, method: str, makers: Iterable[Source]) -> bool:
    """Whether a method changes its object for good."""
    names = [called_name(m.module, m.node) for m in makers if isinstance(m.node, ast.Call)]
    if names and all(map(is_scheduler, names)):
        return method == "step"
    if names and all(name.startswith(AVERAGES) for name in names):
        return method == "update_parameters"
    own = methods_of_object(module, owner, method) or []
    return any(_carried(home, [function]) or any(_in_place(function)) for home, function in own)


def _in_place(function: ast.FunctionDef) -> Iterator[ast.Call]:
    """Calls that change a tensor: `average.mul_(decay)`."""
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr.endswith("_"):
            if not node.func.attr.startswith("_"):
                yield node


def _carried(module: Module, code: Iterable[ast.AST]) -> set[str]:
    """Attributes of `self` that may keep what they were before this code ran, and never begin anew in it."""
    carried, anew = set[str](), set[str]()
    for node in (part for each in code for part in ast.walk(each)):
        if is_of_self(node) and isinstance(node.ctx, ast.Store):
            (carried if _is_carried(module, node, code) else anew).add(node.attr)
    return carried - anew


def _is_carried(module: Module, store: ast.Attribute, code: Iterable[ast.AST]) -> bool:
    """Whether a store adds to what was there, or stands in a branch."""
    statement = module.statement(store)
    if isinstance(statement, ast.AugAssign):
        return True
    value = statement.value if isinstance(statement, (ast.Assign, ast.AnnAssign)) else None
    if value is not None and any(ast.unparse(part) == ast.unparse(store) for part in ast.walk(value)):
        return True
    for parent in module.ancestors(statement):
        if parent in code:
            return False
        if isinstance(parent, BRANCHES):
            return True
    return False

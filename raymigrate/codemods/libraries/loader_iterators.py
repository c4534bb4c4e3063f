"""RM723: `next()` as a method of the iterator of a DataLoader, which went from torch 1.13."""

import ast

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.library_attributes import RM723
from raymigrate.codemods.phases import Phase
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import every_origin, free_name

METHOD = "next"
LOADERS = ("torch.utils.data.DataLoader", "torch.utils.data.dataloader.DataLoader")
# What gives a loader that goes through the batches of another one.
WRAPPED = ("ray.train.torch.prepare_data_loader",)


@codemod(METHOD, phase=Phase.LIBRARIES)
def convert(context: Context) -> None:
    """Calls the builtin next() for what is surely an iterator of a DataLoader."""
    module = context.module
    for call, method in module.method_calls(METHOD):
        is_plain = not call.args and not call.keywords and not module.scope_of[call].lookup(METHOD)
        if (
            is_plain
            and every_origin(module, method.value, _is_made_by_iter)
            and context.converts(
                RM723,
                method,
                f"Reading next raises an AttributeError today: iterators of a DataLoader have none; now {METHOD}(...).",
            )
        ):
            context.plan.replace(call, f"{METHOD}($iterator)", iterator=method.value)


def _is_made_by_iter(module: Module, node: ast.expr) -> bool:
    if not isinstance(node, ast.Call) or free_name(module, node.func) != "iter":
        return False
    return len(node.args) == 1 and _is_loader(module, node.args[0])


def _is_loader(module: Module, node: ast.expr) -> bool:
    return every_origin(module, node, _makes_loader)


def _makes_loader(module: Module, node: ast.expr) -> bool:
    if not isinstance(node, ast.Call) or node not in module.scope_of:
        return False
    name = module.qualified(node.func)
    if name in WRAPPED and node.args:
        return _is_loader(module, node.args[0])
    return name in LOADERS

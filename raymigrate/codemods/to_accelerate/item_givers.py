"""Calls that give the items of another iterable, in its order: by a function, or by a method of a progress bar."""

import ast

from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import called_name, free_name, reaching

# Over and over, only the first of them, or with a bar of another library than tqdm.
FUNCTIONS = (
    *("itertools.cycle", "itertools.islice", "fastprogress.progress_bar", "fastprogress.fastprogress.progress_bar"),
    *("rich.progress.track", "alive_progress.alive_it", "progressbar.progressbar"),
)
# Objects whose method does so: `with Progress() as progress: for batch in progress.track(loader)`. That of the first
# takes the iterable as its first argument; a ProgressBar is called with it.
METHODS = {"rich.progress.Progress": "track"}
CALLED = ("progressbar.ProgressBar",)
# What asks a loader for an iterator where it is called, and is used up by one loop.
ITERATORS = ("iter", "enumerate", "zip")


def gives_items(module: Module, call: ast.Call) -> bool:
    """Whether a call gives the items of its first argument.

    Args:
        module: The module.
        call: The call.
    """
    if module.qualified(call.func) in FUNCTIONS or (free_name(module, call.func) == "iter" and len(call.args) == 1):
        return True
    if isinstance(call.func, ast.Attribute):
        return any(METHODS.get(name) == call.func.attr for name in _classes(module, call.func.value))
    return any(name in CALLED for name in _classes(module, call.func))


def held(module: Module, node: ast.expr) -> ast.expr:
    """What a name holds where it is read, as the object of a `with` statement too; the node itself where that is open.

    An iterator that something else reads too may have given some of its items before.

    Args:
        module: The module.
        node: What is read.
    """
    found = reaching(module, node) if isinstance(node, ast.Name) else []
    if len(found) != 1:
        return module.value(node)
    item = module.parent_of.get(found[0].node)
    value = item.context_expr if isinstance(item, ast.withitem) else module.assigned(found[0].node)
    if value is None or isinstance(value, ast.Name):
        return module.value(node)
    others = (read for read in module.uses_of(found[0].node) if read is not node)
    is_iterator = isinstance(value, ast.Call) and free_name(module, value.func) in ITERATORS
    return node if is_iterator and any(found[0] in reaching(module, read) for read in others) else value


def _classes(module: Module, node: ast.expr) -> list[str]:
    """The qualified names of what made an object."""
    name = called_name(module, held(module, node))
    return [name] if name else []

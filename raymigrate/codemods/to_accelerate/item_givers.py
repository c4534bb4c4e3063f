"""Calls that give the items of another iterable, in its order: by a function, or by a method of a progress bar."""

from __future__ import annotations

import ast

from raymigrate.facts.syntax.module import Module

# Over and over, only the first of them, or with a bar of another library than tqdm.
FUNCTIONS = (
    *("itertools.cycle", "itertools.islice", "fastprogress.progress_bar", "fastprogress.fastprogress.progress_bar"),
    *("rich.progress.track", "alive_progress.alive_it", "progressbar.progressbar"),
)
# Objects whose method does so: `with Progress() as progress: for batch in progress.track(loader)`. That of the first
# takes the iterable as its first argument; a ProgressBar is called with it.
METHODS = {"rich.progress.Progress": "track"}
CALLED = ("progressbar.ProgressBar",)


def gives_items(module: Module, call: ast.Call) -> bool:
    """Whether a call gives the items of its first argument.

    Args:
        module: The module.
        call: The call.
    """
    if module.qualified(call.func) in FUNCTIONS:
        return True
    if isinstance(call.func, ast.Attribute):
        return any(METHODS.get(name) == call.func.attr for name in _classes(module, call.func.value))
    return any(name in CALLED for name in _classes(module, call.func))


def _classes(module: Module, node: ast.expr) -> list[str]:
    """The qualified names of what made an object, as the object of a `with` statement too."""
    value = module.value(node)
    if isinstance(value, ast.Name) and isinstance(target := module.definition(value), ast.Name):
        item = module.parent_of[target]
        value = item.context_expr if isinstance(item, ast.withitem) else value
    name = module.qualified(value.func) if isinstance(value, ast.Call) else None
    return [name] if name is not None else []

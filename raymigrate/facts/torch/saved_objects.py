"""Objects of classes of the project that are written to a file, whole: pickle names their class."""

import ast
from collections.abc import Iterator

from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import argument, class_named, last_name
from raymigrate.facts.values.items import items_of

SAVE = "torch.save"
PICKLERS = {SAVE: "obj", "pickle.dump": "obj", "pickle.dumps": "obj", "joblib.dump": "value"}
DICTS = "TypedDict"  # base of classes whose objects are dicts


def saved_classes(module: Module, *names: str) -> Iterator[tuple[ast.Call, Module, ast.ClassDef]]:
    """The calls that pickle objects of classes of the project, each with such a class and its module.

    Args:
        module: The module.
        *names: Of `PICKLERS`, all of them by default.
    """
    for call in module.calls(*(names or PICKLERS)):
        saved = argument(call, 0, PICKLERS[module.qualified(call.func) or SAVE])
        for home, definition in _classes_in(module, saved) if saved is not None else ():
            yield call, home, definition


def _classes_in(module: Module, saved: ast.expr) -> Iterator[tuple[Module, ast.ClassDef]]:
    """The classes of what may be saved, alone or in a list or dict."""
    within = module.entries(saved)
    for value in [saved] if within is None else within.values():
        for made in module.origins(value):
            items = [source for item in items_of(made) for source in item.module.origins(item.node)]
            for source in (made, *items):
                node = source.node
                named = class_named(source.module, node.func) if isinstance(node, ast.Call) else None
                if named is not None and not any(last_name(base) == DICTS for base in named[1].bases):
                    yield named

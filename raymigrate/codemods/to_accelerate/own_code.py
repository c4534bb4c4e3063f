"""Methods of the project that run where no call shows it: a property, `str(report)`, `report.get()` of any object."""

import ast
from collections.abc import Iterator

from raymigrate.facts.projects.project import with_imported
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import free_name, methods_of_object

Method = tuple[Module, ast.FunctionDef]
# What Python calls where an object is shown, gone through or asked for an item.
SPECIAL = (
    *("__str__", "__repr__", "__format__", "__iter__", "__next__", "__len__", "__getitem__", "__getattr__"),
    *("__contains__", "__bool__", "__enter__", "__fspath__"),
)
UNKNOWN = (ast.Name, ast.Attribute, ast.Subscript)  # an origin of which no value was found


def methods_behind(module: Module, part: ast.expr) -> Iterator[Method]:
    """The methods that may run where a name or an attribute is read.

    Args:
        module: The module.
        part: The name or the attribute.
    """
    if module.qualified(part) is not None:
        return
    if isinstance(part, ast.Attribute):
        known = methods_of_object(module, part.value, part.attr)
        is_any = known is None and _is_unknown(module, part.value)
        yield from _methods(module).get(part.attr, ()) if is_any else known or ()
    if not isinstance(module.parent_of[part], ast.Attribute):
        for name in SPECIAL:
            yield from methods_of_object(module, part, name) or ()


def _is_unknown(module: Module, owner: ast.expr) -> bool:
    """Whether an object may be one of the project's: nothing shows what makes it, or a function of the project does."""
    for source in module.origins(owner):
        made = source.node.func if isinstance(source.node, ast.Call) else source.node
        is_library = source.module.qualified(made) is not None and source.module.elsewhere(made) is None
        if isinstance(made, UNKNOWN) and not is_library and not free_name(source.module, made):
            return True
    return False


@kept
def _methods(module: Module) -> dict[str, list[Method]]:
    """The methods of the classes of a module, and of those that it imports, by their names."""
    found: dict[str, list[Method]] = {}
    for home in with_imported(module):
        for function in home.of_type(ast.FunctionDef):
            if isinstance(home.parent_of[function], ast.ClassDef):
                found.setdefault(function.name, []).append((home, function))
    return found

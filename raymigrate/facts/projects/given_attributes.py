"""Attributes that another file of a project gives to the objects of a class."""

import ast

from raymigrate.facts.projects.declared import Declared, declared_class, own_lineage
from raymigrate.facts.projects.project_uses import importing_modules
from raymigrate.facts.syntax.module import Module


def is_given_elsewhere(module: Module, node: ast.Attribute) -> bool:
    """Whether an object of a class of the project has an attribute from a base class, or from who imports the class.

    Args:
        module: The module.
        node: The attribute, `self.name` in a method for example.
    """
    if is_given_by_base(module, node.value, node.attr):
        return True
    declared = declared_class(module, node.value)
    if declared is None or not isinstance(declared.node, ast.ClassDef):
        return False
    return any(other.stores(node.attr) for other in importing_modules(module, node.attr))


def is_given_by_base(module: Module, owner: ast.expr, name: str) -> bool:
    """Whether a class of another file, from which that of an object is made, has an attribute or gives it to `self`."""
    return any(
        home is not module
        and (name in home.scope(base).bindings or any(home.inside(store, base) for store in home.stores(name)))
        for declared in _classes(module, owner)
        for home, base in own_lineage(declared)
    )


def _classes(module: Module, node: ast.expr) -> list[Declared]:
    """The classes of the project of which an object may be, also where a function of another file makes it."""
    declared = declared_class(module, node)
    made = module.origins(node) if declared is None else []
    calls = [(source.module, source.node) for source in made if isinstance(source.node, ast.Call)]
    return [one for one in (declared, *(declared_class(*call) for call in calls)) if one is not None]

"""Whether a module was written for an older Ray, as its names show."""

import ast

from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.scopes import import_bindings
from raymigrate.knowledge.libraries import look_up


def is_for_older_ray(module: Module) -> bool:
    """Whether a module names something of ray.air, or what is gone from Ray."""
    imported = {binding.qualified or "" for statement in module.imports for _, binding in import_bindings(statement)}
    plain = {  # of which "ray" alone is bound
        alias.name for statement in module.imports for alias in statement.names if isinstance(statement, ast.Import)
    }
    used = {reference.qualified for reference in module.references}
    return any(_is_of_older_ray(name) for name in imported | plain | used)


def _is_of_older_ray(name: str) -> bool:
    return f"{name}.".startswith("ray.air.") or (name.startswith("ray.") and look_up(name).gone is not None)

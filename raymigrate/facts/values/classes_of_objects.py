"""The classes of the project that an object is of, for its fields."""

import ast
from collections.abc import Iterator

from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import Source, class_named
from raymigrate.facts.values.own_classes import classes_made

Known = dict[ast.expr, list[tuple[Module, ast.ClassDef]]]
DEEPEST = 12  # attributes of attributes


def classes_of_object(
    module: Module, node: ast.expr, known: Known, depth: int = 0
) -> list[tuple[Module, ast.ClassDef]]:
    """The classes of the project that an object is of, by the call that makes it or by annotations on the way.

    Args:
        module: The module of the expression.
        node: The expression.
        known: What was found of others: many attributes may be of one object, whose own way is long.
        depth: How many attributes were gone through.
    """
    if depth >= DEEPEST:
        return []
    if node not in known:
        known[node] = []  # an object that leads back to itself says nothing more
        known[node] = [found for source in module.origins(node) for found in _classes_of(source, known, depth)]
    return known[node]


def _classes_of(source: Source, known: Known, depth: int) -> Iterator[tuple[Module, ast.ClassDef]]:
    """The classes of what one expression stands for; see `classes_of_object`."""
    home, made = source.module, source.node
    if isinstance(made, ast.Call):
        found = class_named(home, made.func)
        yield from [found] if found is not None else [(home, own) for own in classes_made(home, made)]
    elif isinstance(made, ast.Name):
        bound = home.definition(made)
        around = home.parent_of.get(bound) if bound is not None else None
        annotated = bound if isinstance(bound, ast.arg) else around
        yield from _annotated(home, getattr(annotated, "annotation", None))
    elif isinstance(made, ast.Attribute):
        for owner, definition in dict.fromkeys(classes_of_object(home, made.value, known, depth + 1)):
            for field in definition.body:
                if isinstance(field, ast.AnnAssign) and ast.unparse(field.target) == made.attr:
                    yield from _annotated(owner, field.annotation)


def _annotated(module: Module, annotation: ast.expr | None) -> Iterator[tuple[Module, ast.ClassDef]]:
    """The classes of the project in an annotation: `Settings`, `Optional[Settings]`, `Settings | None`."""
    for part in ast.walk(annotation) if annotation is not None else ():
        found = class_named(module, part) if isinstance(part, (ast.Name, ast.Attribute)) else None
        yield from [found] if found is not None else []

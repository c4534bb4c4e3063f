"""Classes of the user's own that are made from ray.data.preprocessor.Preprocessor."""

import ast
from collections.abc import Iterator

from raymigrate.facts.ray_data.batch_functions import BatchFunction
from raymigrate.facts.ray_train.trainers import library_bases
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import is_assignment, targets_of
from raymigrate.facts.values import class_named
from raymigrate.facts.values.members import is_empty
from raymigrate.knowledge.libraries import lineage, look_up

PREPROCESSOR = "ray.data.preprocessor.Preprocessor"
BEFORE_RAY_2 = ("ray.ml.Preprocessor", "ray.ml.preprocessor.Preprocessor")
FITTABLE = "_is_fittable"  # Ray 2.0 to 2.60: the attribute of a class that says whether it has a state


def is_own_preprocessor(module: Module, home: ast.ClassDef) -> bool:
    """Whether a class is made from Preprocessor, or from one of Ray's that is."""
    return any(_is_preprocessor(base) for base in library_bases(module, home))


def own_preprocessor(module: Module, made: ast.Call) -> tuple[Module, ast.ClassDef] | None:
    """The class of the project, made from Preprocessor, of which a call makes an object that works today.

    One that writes into its batch does not: transform() of current Ray hands out read-only arrays (2.60
    data/preprocessor.py, `zero_copy_batch=True`).
    """
    found = class_named(module, made.func)
    line = list(own_line(*found)) if found is not None else []
    if not line or not _is_base(*line[-1]):
        return None
    methods = ((place, node) for place, home in line for node in home.body if isinstance(node, ast.FunctionDef))
    writes = any(
        node.name == f"_transform_{kind}" and BatchFunction(place, node).writes_to_arrays(kind)
        for place, node in methods
        for kind in ("numpy", "pandas")
    )
    return None if writes else found


def _is_base(module: Module, last: ast.ClassDef) -> bool:
    """Whether the last of a line of classes is made from Preprocessor alone."""
    above = bases(module, last)
    name = module.qualified(above[0]) if len(above) == 1 else None
    return name is not None and (name in BEFORE_RAY_2 or look_up(name).place == PREPROCESSOR)


def _is_preprocessor(name: str) -> bool:
    return name in BEFORE_RAY_2 or PREPROCESSOR in lineage(look_up(name).place)


def is_fittable(module: Module, home: ast.ClassDef) -> bool:
    """Whether objects of a class have a state, which fit() makes."""
    for place, line in own_line(module, home):
        for made in line.body:
            if is_assignment(made):
                targets = targets_of(made)
                if any(isinstance(target, ast.Name) and target.id == FITTABLE for target in targets):
                    return place.constant(made.value) is not False
    return True


def own_line(module: Module, home: ast.ClassDef) -> Iterator[tuple[Module, ast.ClassDef]]:
    """A class, and those of the project that it is made from, the nearest first; several bases end the line."""
    seen = set[ast.ClassDef]()
    found: tuple[Module, ast.ClassDef] | None = (module, home)
    while found is not None and found[1] not in seen:
        seen.add(found[1])
        yield found
        above = bases(*found)
        found = class_named(found[0], above[0]) if len(above) == 1 else None


def bases(module: Module, home: ast.ClassDef) -> list[ast.expr]:
    """The bases of a class, without those that have nothing in them."""
    return [base for base in home.bases if not is_empty(module, base)]

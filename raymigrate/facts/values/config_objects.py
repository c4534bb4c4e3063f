"""Objects that are given as a dict: `asdict(Config())`, `OmegaConf.to_container(OmegaConf.load("accelerate.yaml"))`."""

import ast

from raymigrate.facts.syntax.functions import decorators_of
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import argument, class_named, has_unpacking

AS_DICT = ("dataclasses.asdict",)
TO_CONTAINER = "omegaconf.OmegaConf.to_container"
CREATE, LOAD = "omegaconf.OmegaConf.create", "omegaconf.OmegaConf.load"
DATACLASS, FIELD = "dataclasses.dataclass", "dataclasses.field"
CLASS_VARIABLE = "typing.ClassVar"  # no field
NOT_READ = ("dataclasses.InitVar", "dataclasses.KW_ONLY")
OWN = ("__post_init__", "__init__", "__new__", "__setattr__")  # by which a class gives its fields other values


def object_given(module: Module, given: ast.expr) -> ast.Call | None:
    """What makes the object whose dict a value is; None where it is none, or something else is done with the object.

    Args:
        module: The module.
        given: The value, followed to where it is made.
    """
    call = module.value(given)
    if not isinstance(call, ast.Call) or module.qualified(call.func) not in (*AS_DICT, TO_CONTAINER):
        return None
    one = argument(call, 0, "obj", "cfg")
    made = module.value(one) if one is not None else None
    if not isinstance(made, ast.Call):
        return None
    name = module.name_of(made)
    is_alone = name is None or (module.is_bound_once(name) and module.uses_of(name) == [one])
    return made if is_alone else None


def fields_given(module: Module, made: ast.Call) -> dict[str, ast.expr] | None:
    """The fields of a new object of a dataclass of the module, or the dict of OmegaConf.create().

    Args:
        module: The module.
        made: What makes the object.

    Returns:
        The values by their names, those of the class where the call gives none; None where not all is seen.
    """
    if module.qualified(made.func) == CREATE:
        return module.entries(made.args[0]) if len(made.args) == 1 and not made.keywords else None
    found = class_named(module, made.func)
    if found is None or found[0] is not module or has_unpacking(made) or not is_bare_dataclass(module, found[1]):
        return None
    values: dict[str, ast.expr | None] = {}
    for statement in found[1].body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            annotation = statement.annotation
            kind = module.qualified(annotation.value if isinstance(annotation, ast.Subscript) else annotation)
            if kind in NOT_READ or isinstance(annotation, ast.Constant):
                return None
            if kind == CLASS_VARIABLE:
                continue
            values[statement.target.id] = _default(module, statement.value)
    given = dict(zip(values, made.args, strict=False)) | {k.arg: k.value for k in made.keywords if k.arg}
    if len(made.args) > len(values) or not given.keys() <= values.keys():
        return None
    whole = {name: given.get(name, value) for name, value in values.items()}
    is_seen = not any(value is None or _is_object(module, value) for value in whole.values())
    return whole if is_seen else None  # type: ignore[return-value]


def _is_object(module: Module, node: ast.expr) -> bool:
    """Whether a value is an object of a class of the project, which asdict() turns into a dict of its own fields."""
    made = module.value(node)
    return isinstance(made, ast.Call) and class_named(module, made.func) is not None


def file_given(module: Module, made: ast.Call) -> ast.expr | None:
    """The file that an object is loaded from: `OmegaConf.load("accelerate.yaml")`."""
    return argument(made, 0, "file_") if module.qualified(made.func) == LOAD else None


def is_bare_dataclass(module: Module, home: ast.ClassDef) -> bool:
    """Whether a class is a dataclass whose fields have the values that are written: without a base, or own code."""
    heads = decorators_of(home)
    parts = [part for s in home.body for part in (s, *getattr(s, "targets", ()))]
    own = {getattr(part, "name", "") or getattr(part, "id", "") for part in parts}
    is_plain = not home.bases and not home.keywords and own.isdisjoint(OWN)
    return is_plain and [module.qualified(head) for head in heads] == [DATACLASS]


def _default(module: Module, value: ast.expr | None) -> ast.expr | None:
    """The value that a field has by itself: `1`, `field(default=1)`, `field(default_factory=lambda: {})`."""
    if not isinstance(value, ast.Call) or module.qualified(value.func) != FIELD:
        return value
    given = {keyword.arg: keyword.value for keyword in value.keywords}
    factory = given.get("default_factory")
    return factory.body if isinstance(factory, ast.Lambda) else given.get("default")

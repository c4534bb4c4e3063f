"""The classes that files declare objects to be of: by annotations of parameters, variables and fields."""

import ast
import re
import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from raymigrate.base.expressions import lazy_regex
from raymigrate.facts.ray_train.trainers import library_bases
from raymigrate.facts.syntax.functions import is_static
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import is_none
from raymigrate.facts.values.items import COPIES, looped_over
from raymigrate.knowledge.legacy import TRAINING_ARGUMENTS

PREPARE_TRAINER = "ray.train.huggingface.transformers.prepare_trainer"
DEEPEST = 12  # attributes of attributes
# Libraries of which no class is made from those of transformers.
OTHERS = sys.stdlib_module_names | {"attr", "attrs", "ml_collections", "msgspec", "omegaconf", "pydantic", "yacs"}
OPTIONAL = ("typing.Optional", "typing.Annotated")
UNION = "typing.Union"
# What holds objects of the class that stands first in it, which a loop goes through.
OF_ITEMS = lazy_regex(
    r"(typing\.|collections\.abc\.)?(list|set|tuple|frozenset|Sequence|Iterable|Iterator|Collection)", re.I
)
TUPLE = lazy_regex(r"(typing\.)?tuple", re.I)
# What holds them as its values.
OF_VALUES = lazy_regex(r"(typing\.|collections\.(abc\.)?)?(dict|Mapping|MutableMapping|OrderedDict|defaultdict)", re.I)


@dataclass(frozen=True)
class Declared:
    """A class.

    Args:
        module: The module that names it, or that it is in.
        node: Its definition, if it is one of the project; else what names it.
        named: The name of one of a library, where a text names it: `"Result"`.
    """

    module: Module
    node: ast.ClassDef | ast.expr
    named: str = ""

    @property
    def qualified(self) -> str:
        """The name of a class of a library; empty for one of the project."""
        return self.named or ("" if isinstance(self.node, ast.ClassDef) else self.module.qualified(self.node) or "")

    @property
    def is_training_arguments(self) -> bool | None:
        """Whether it is TrainingArguments or made from it; None where that cannot be seen."""
        if not isinstance(self.node, ast.ClassDef):
            names = [self.qualified]
        else:
            names = list(library_bases(self.module, self.node))
        if not TRAINING_ARGUMENTS.isdisjoint(names):
            return True
        return False if all(name.partition(".")[0] in OTHERS for name in names) else None

    def binds(self, name: str) -> bool:
        """Whether it, or a class of the project that it is made from, has something of a name in its body."""
        return any(name in module.scope(node).bindings for module, node in own_lineage(self))


def declared_class(module: Module, node: ast.expr, depth: int = 0) -> Declared | None:
    """The class that an object is declared to be of, here or in another file of the project.

    Args:
        module: The module.
        node: The object.
        depth: How many steps led here.

    Returns:
        The class; None where nothing declares one.
    """
    if depth > DEEPEST:
        return None
    if isinstance(node, ast.Attribute):
        owner = declared_class(module, node.value, depth + 1)
        return _of_field(owner, node.attr, depth + 1) if owner is not None else None
    if isinstance(node, ast.Call):
        if node.args and module.qualified(node.func) == PREPARE_TRAINER:  # which gives what it gets
            return declared_class(module, node.args[0], depth + 1)
        made = named_class(module, node.func)
        return made if made is not None and isinstance(made.node, ast.ClassDef) else None
    if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Slice):
        return _of_items(module, node.value, depth + 1, by_key=True, index=module.constant(node.slice))
    bound = module.definition(node)
    if isinstance(bound, ast.arg):
        owner = _class_around(module, bound)
        return owner if owner is not None else named_class(module, bound.annotation)
    if bound is None:
        return None
    statement = module.parent_of[bound]
    if isinstance(statement, ast.AnnAssign):
        return named_class(module, statement.annotation)
    if (several := looped_over(module, bound)) is not None:
        read = module.parent_of[several]
        return _of_items(module, several, depth + 1, by_key=isinstance(read, ast.Attribute) and read.attr == "items")
    value = module.assigned(bound)
    return declared_class(module, value, depth + 1) if value is not None else None


def is_declared(module: Module, node: ast.expr, names: Collection[str]) -> bool:
    """Whether an object is declared to be of a class of a library.

    Args:
        module: The module.
        node: The object.
        names: The names of the class, or of several.
    """
    found = declared_class(module, node)
    return found is not None and found.qualified in names


def is_declared_item(module: Module, node: ast.expr, names: Collection[str]) -> bool:
    """Whether an object is one of several that are declared to be of a class of a library: `several[0]`."""
    bound = module.definition(node)
    taken_out = isinstance(node, ast.Subscript) or (bound is not None and looped_over(module, bound) is not None)
    return taken_out and is_declared(module, node, names)


def _of_items(module: Module, several: ast.expr, depth: int, *, by_key: bool, index: object = None) -> Declared | None:
    """The class of the items of what is declared to hold some: `results: list[Result]`, `runs: dict[str, Result]`.

    Args:
        several: What holds them.
        depth: How many steps led here.
        by_key: Whether of a dict a value is taken, and no key.
        index: The index that one item is taken by, where it is written out.
    """
    while isinstance(several, ast.Call):
        function, index = several.func, None  # what sorts them has others there
        if isinstance(function, ast.Attribute) and function.attr == "values":
            several, by_key = function.value, True
        elif isinstance(function, ast.Name) and function.id in COPIES and several.args:
            several = several.args[0]
        else:
            return None
    home, annotation = _annotation(module, several, depth)
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        text = re.fullmatch(r"([\w.]+)\[(?:[^\[\]]*,)?([^\[\],]+)(?:, *\.\.\.)?\]", annotation.value.strip())
        if text is not None and TUPLE.fullmatch(text[1]):
            named = [part.strip() for part in annotation.value.strip()[len(text[1]) + 1 : -1].split(",")]
            place = _place_in_tuple(len(named), index, is_long=named[1:] == ["..."])
            return _by_text(home, ast.Constant(named[place])) if place is not None else None
        holder = OF_VALUES if by_key and text is not None and OF_VALUES.fullmatch(text[1]) else OF_ITEMS
        return _by_text(home, ast.Constant(text[2])) if text is not None and holder.fullmatch(text[1]) else None
    annotation = _present(home, annotation)
    if not isinstance(annotation, ast.Subscript):
        return None
    name = home.naming(annotation.value)
    parts = annotation.slice.elts if isinstance(annotation.slice, ast.Tuple) else [annotation.slice]
    if TUPLE.fullmatch(name):
        is_long = len(parts) == 2 and isinstance(parts[1], ast.Constant) and parts[1].value is ...
        place = _place_in_tuple(len(parts), index, is_long=is_long)
        return named_class(home, parts[place]) if place is not None else None
    if OF_ITEMS.fullmatch(name):
        return named_class(home, parts[0])
    return named_class(home, parts[-1]) if by_key and OF_VALUES.fullmatch(name) else None


def _place_in_tuple(parts: int, index: object, *, is_long: bool) -> int | None:
    """Which part of the annotation of a tuple an item is of; None where it is not seen.

    Args:
        parts: How many parts it has.
        index: The index of the item; None where it is whichever.
        is_long: Whether it has any number of items of one class: `tuple[Result, ...]`.
    """
    if is_long or (parts == 1 and index is None):
        return 0
    return index if type(index) is int and -parts <= index < parts else None


def _present(module: Module, annotation: ast.expr | None) -> ast.expr | None:
    """What an annotation names besides None: `Optional[List[Own]]`, `list[Own] | None`."""
    if isinstance(annotation, ast.BinOp):
        parts = [annotation.left, annotation.right]
        return next((part for part in parts if not is_none(part)), None)
    if isinstance(annotation, ast.Subscript) and module.qualified(annotation.value) in OPTIONAL:
        inner = annotation.slice
        return inner.elts[0] if isinstance(inner, ast.Tuple) else inner
    return annotation


def _annotation(module: Module, several: ast.expr, depth: int) -> tuple[Module, ast.expr | None]:
    """What a name or a field is declared to be, and the file that says so."""
    if isinstance(several, ast.Attribute):
        owner = declared_class(module, several.value, depth)
        fields = _fields_of(owner, several.attr) if owner is not None else ()
        return next(iter(fields), (module, None))
    bound = module.definition(several)
    place = module.parent_of.get(bound) if bound is not None else None
    holder = bound if isinstance(bound, ast.arg) else place
    return module, holder.annotation if isinstance(holder, (ast.arg, ast.AnnAssign)) else None


def _by_text(module: Module, text: ast.Constant) -> Declared | None:
    """The class that an annotation names which is written as a text: `"Result"`, `"air.Result | None"`."""
    for name in re.findall(r"[\w.]+", str(text.value)):
        root, _, rest = name.partition(".")
        for binding in module.scope(module.tree).lookup(root):
            if isinstance(binding.node, ast.ClassDef) and not rest:
                return Declared(module, binding.node)
            if binding.qualified is not None and binding.qualified not in (*OPTIONAL, UNION):
                return Declared(module, text, f"{binding.qualified}.{rest}".rstrip("."))
    return None


def _class_around(module: Module, parameter: ast.arg) -> Declared | None:
    """The class whose method has a parameter as its `self`."""
    function = module.function(parameter)
    owner = module.parent_of.get(function) if function is not None else None
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) or is_static(function):
        return None
    is_self = function.args.args[:1] == [parameter]
    return Declared(module, owner) if is_self and isinstance(owner, ast.ClassDef) else None


def named_class(module: Module, annotation: ast.expr | None) -> Declared | None:
    """The class that an annotation names: `Own`, `library.Class`, `Optional[Own]`, `Own | None`, `Union[str, Own]`."""
    if isinstance(annotation, ast.Subscript) and module.qualified(annotation.value) == UNION:
        several = annotation.slice.elts if isinstance(annotation.slice, ast.Tuple) else [annotation.slice]
        return next((each for one in several if (each := named_class(module, one)) is not None), None)
    if isinstance(annotation, ast.Subscript) and module.qualified(annotation.value) in OPTIONAL:
        inner = annotation.slice
        return named_class(module, inner.elts[0] if isinstance(inner, ast.Tuple) else inner)
    if isinstance(annotation, ast.BinOp):
        return named_class(module, annotation.left) or named_class(module, annotation.right)
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return _by_text(module, annotation)
    if not isinstance(annotation, (ast.Name, ast.Attribute)):
        return None
    found = module.definition(annotation)
    if isinstance(found, ast.ClassDef):
        return Declared(module, found)
    other = module.elsewhere(annotation)
    if other is not None:
        return Declared(other.module, other.node) if isinstance(other.node, ast.ClassDef) else None
    return Declared(module, annotation) if module.qualified(annotation) is not None else None


def _of_field(owner: Declared, name: str, depth: int) -> Declared | None:
    """The class of an attribute: of a field that a class of the project declares, or of what its methods store."""
    for module, annotation in _fields_of(owner, name):
        return named_class(module, annotation)
    for module, node in own_lineage(owner):
        for stored in module.stores(name):
            value, place = module.assigned(stored), module.parent_of[stored]
            if isinstance(place, ast.AnnAssign) and module.inside(stored, node):
                return named_class(module, place.annotation)
            if value is not None and module.inside(stored, node):
                return declared_class(module, value, depth)
    return None


def _fields_of(owner: Declared, name: str) -> Iterator[tuple[Module, ast.expr]]:
    """The annotations of a field in the bodies of a class and of those that it is made from."""
    for module, node in own_lineage(owner):
        for statement in node.body:
            target = statement.target if isinstance(statement, ast.AnnAssign) else None
            if isinstance(statement, ast.AnnAssign) and isinstance(target, ast.Name) and target.id == name:
                yield module, statement.annotation


def own_lineage(found: Declared) -> Iterator[tuple[Module, ast.ClassDef]]:
    """A class of the project and those of the project that it is made from."""
    waiting, seen = [found], set[ast.AST]()
    while waiting:
        current = waiting.pop(0)
        if isinstance(current.node, ast.ClassDef) and current.node not in seen:
            seen.add(current.node)
            yield current.module, current.node
            waiting += filter(None, (named_class(current.module, base) for base in current.node.bases))

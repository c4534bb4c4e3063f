"""What attributes and items come from: of modules, classes and their objects, parsed arguments, dicts and lists."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from raymigrate.facts.syntax.functions import returns
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.values.arguments import (
    argument,
    called_name,
    has_starred,
    has_unpacking,
    is_method_call,
    keyword_argument,
)
from raymigrate.facts.values.behind import UNKNOWN, Behind, Source, joined
from raymigrate.facts.values.bindings import reaching
from raymigrate.facts.values.calls import given_back, is_drawn, returned_by
from raymigrate.facts.values.dicts import attribute_fillings, holds_items, imported_value
from raymigrate.facts.values.given import may_be_given, may_be_member, options
from raymigrate.facts.values.just_stored import just_stored
from raymigrate.facts.values.lineages import MOST_BASES, derived, lineage
from raymigrate.facts.values.own_classes import class_of_cls, class_of_self, classes_made, is_property
from raymigrate.facts.values.parsers import parsed_into

if TYPE_CHECKING:
    from raymigrate.facts.syntax.module import Module

NAMESPACES = ("argparse.Namespace", "types.SimpleNamespace")
PARSING = ("parse_args", "parse_known_args", "parse_intermixed_args")
# What describes a field of a dataclass in its body, each with the position of the default.
FIELDS = {
    "dataclasses.field": None,
    "transformers.hf_argparser.HfArg": None,
    "attr.ib": 0,
    "attrs.field": None,
    "pydantic.Field": 0,
    "metaflow.Parameter": 1,  # the command line may give another value (metaflow 2.19, parameters.py)
}
EMPTY_BASES = ("abc.ABC", "typing.Generic", "typing.Protocol")
ENVIRONMENT = ("os.environ.get", "os.getenv")
READERS = ("get", "pop", "setdefault")
MOST_STORED = 100  # values of one attribute, of any object: each read of it may give any of them


def attribute(module: Module, node: ast.Attribute, *, elsewhere: bool) -> Behind:
    """What is behind `owner.name`."""
    if not may_be_given(module, node.attr, elsewhere=elsewhere):
        return UNKNOWN
    found = module.elsewhere(node) if elsewhere else None
    value = imported_value(found) if found is not None else None
    if found is not None and value is not None:
        return Behind([Source(found.module, value)], whole=True)
    home, own = _class_of(module, node.value, elsewhere=elsewhere), class_of_cls(module, node.value)
    home = (module, own) if home is None and own is not None else home
    if home is not None and (stored := _stored_before(module, home[1], node)) is not None:
        return Behind([stored], not _is_filled(module, node.attr, [stored]))
    if home is not None:
        behind = _of_class(*home, node.attr, elsewhere=elsewhere)
        if home[1] in (own, class_of_self(module, node.value)):
            below = _of_kin(module, home[1], node.attr)
            behind = Behind([*behind.found, *below.found], behind.whole and below.whole)
    elif homes := _classes_of_branches(module, node.value):
        behind = joined([_of_class(module, each, node.attr, elsewhere=elsewhere) for each in homes])
    else:
        owners = module.origins(node.value, elsewhere=elsewhere)
        behind = joined([_of_object(owner, node.attr, elsewhere=elsewhere) for owner in owners])
        home = None if behind.whole else _annotated_class(module, node.value, elsewhere=elsewhere)
        if home is not None:  # its objects may have another value than the default
            behind = Behind([*behind.found, *_of_class(*home, node.attr, elsewhere=elsewhere).found])
    outside = _stored(module, node.attr)
    if len(outside) > MOST_STORED:
        return Behind(behind.found)
    whole = behind.whole and not _is_filled(module, node.attr, behind.found)
    return Behind([*outside, *behind.found], whole)


def _stored_before(module: Module, home: ast.ClassDef, node: ast.Attribute) -> Source | None:
    """What a method of a class has stored in an attribute that it reads, where that is there for sure."""
    if class_of_self(module, node.value) is not home:
        return None  # of another object, maybe of a class in another file
    in_body = (binding.node for binding in module.scope(home).bindings.get(node.attr, []))
    stored = None if any(isinstance(found, ast.FunctionDef) for found in in_body) else just_stored(module, node)
    return Source(module, stored) if stored is not None else None


def _classes_of_branches(module: Module, owner: ast.expr) -> list[ast.ClassDef]:
    """The classes of a name that several branches define: `if GPU: class Config: ...`, `else: class Config: ...`."""
    found = [binding.node for binding in reaching(module, owner)] if isinstance(owner, ast.Name) else []
    homes = [node for node in found if isinstance(node, ast.ClassDef)]
    return homes if len(homes) == len(found) else []


def _is_filled(module: Module, name: str, given: Sequence[Source]) -> bool:
    """Whether what an attribute is given is a list or dict that gets more items later: `self.callbacks = []`."""
    homes = [module, *(source.module for source in given if holds_items(source.node))]
    return len(homes) > 1 and any(attribute_fillings(home, name) for home in dict.fromkeys(homes))


@kept
def _stored(module: Module, name: str) -> list[Source]:
    """What is stored in attributes of this name from outside, of any object: `args.name = ...`."""
    outside = (node for node in module.stores(name) if class_of_self(module, node.value) is None)
    return [Source(module, module.assigned(node) or node) for node in outside]


def _class_of(module: Module, owner: ast.expr, *, elsewhere: bool) -> tuple[Module, ast.ClassDef] | None:
    """The class that an expression is, or whose method has it as `self`."""
    home = class_of_self(module, owner)
    return (module, home) if home is not None else class_named(module, owner, elsewhere=elsewhere)


def _annotated_class(module: Module, owner: ast.expr, *, elsewhere: bool) -> tuple[Module, ast.ClassDef] | None:
    """The class that a variable is annotated with: `args: Settings = config["args"]`."""
    statement = module.parent_of.get(module.definition(owner) or owner)
    if not isinstance(statement, ast.AnnAssign):
        return None
    return _class_of(module, statement.annotation, elsewhere=elsewhere)


def _of_class(
    module: Module, home: ast.ClassDef, name: str, below: tuple[ast.ClassDef, ...] = (), *, elsewhere: bool
) -> Behind:
    """What a class gives an attribute, in its body and its methods; its base classes may do so too."""
    targets = _targets(module, home, name)
    if len(targets) == 1 and isinstance(targets[0], ast.FunctionDef) and is_property(targets[0]):
        return returned_by(module, targets[0])
    bases = [base for base in home.bases if not is_empty(module, base)]
    for base in bases if not targets else ():
        parent = class_named(module, base, elsewhere=elsewhere)
        if parent is not None and parent[1] not in (home, *below) and len(below) < MOST_BASES:
            behind = _of_class(*parent, name, (home, *below), elsewhere=elsewhere)
            if behind.found or len(bases) == 1:
                return Behind(behind.found, behind.whole and len(bases) == 1)
    behind = _assigned_to(module, targets)
    return Behind(behind.found, bool(behind.found) and behind.whole and not bases)


def _targets(module: Module, home: ast.ClassDef, name: str) -> list[ast.AST]:
    """Where a class itself binds an attribute: in its body, and in its methods."""
    in_body = [binding.node for binding in module.scope(home).bindings.get(name, [])]
    return [*in_body, *(node for node in module.stores(name) if class_of_self(module, node.value) is home)]


def _assigned_to(module: Module, targets: list[ast.AST]) -> Behind:
    given = [module.assigned(target) for target in targets]
    found = [Source(module, value) for node in given if (value := field_default(module, node)) is not None]
    varies = any(called_name(module, n) == "metaflow.Parameter" for n in given)
    return Behind(found, len(found) == len(targets) and not varies)


def _of_kin(module: Module, home: ast.ClassDef, name: str) -> Behind:
    """What an attribute of `self` is given by classes that are derived from its class, and by others they come from."""
    kin = [line for child in derived(module).get(home, []) for line in lineage(module, child)]
    others = [line for line in dict.fromkeys(kin) if line not in lineage(module, home)]
    return _assigned_to(module, [target for line in others for target in _targets(module, line, name)])


def class_named(module: Module, node: ast.expr, *, elsewhere: bool = True) -> tuple[Module, ast.ClassDef] | None:
    """The class of the project that an expression names, with its module; of this module only without `elsewhere`."""
    found = module.definition(node)
    if isinstance(found, ast.ClassDef):
        return module, found
    other = module.elsewhere(node) if elsewhere else None
    return (other.module, other.node) if other is not None and isinstance(other.node, ast.ClassDef) else None


def _method(module: Module, home: ast.ClassDef, name: str, *, elsewhere: bool) -> tuple[Module, ast.FunctionDef] | None:
    """The method of a class, or of the nearest of its base classes that has one; None where that has several."""
    line = [(module, home)]
    for owner, current in line:  # which grows meanwhile
        if bindings := owner.scope(current).bindings.get(name):
            function = bindings[0].node if len(bindings) == 1 else None
            return (owner, function) if isinstance(function, ast.FunctionDef) else None
        if len(line) <= MOST_BASES:
            parents = (class_named(owner, base, elsewhere=elsewhere) for base in current.bases)
            line += [parent for parent in parents if parent is not None and parent not in line]
    return None


def is_empty(module: Module, base: ast.expr) -> bool:
    """Whether a base class gives its objects no attributes."""
    named = base.value if isinstance(base, ast.Subscript) else base
    return module.qualified(named) in EMPTY_BASES or (isinstance(named, ast.Name) and named.id == "object")


def field_default(module: Module, value: ast.expr | None) -> ast.expr | None:
    """The value of an attribute; where the body of a dataclass describes a field, its default."""
    name = called_name(module, value)
    if not isinstance(value, ast.Call) or name not in FIELDS:
        return value
    place = FIELDS[name]
    default = argument(value, len(value.args) if place is None else place, "default")
    factory = keyword_argument(value, "default_factory")
    return factory.body if default is None and isinstance(factory, ast.Lambda) else default


def returned_by_method(module: Module, call: ast.Call, *, elsewhere: bool) -> Behind | None:
    """What a call of a method returns, where the class is known; None where it is none."""
    if not isinstance(call.func, ast.Attribute):
        return None
    found = methods_of_object(module, call.func.value, call.func.attr, elsewhere=elsewhere)
    if found is None:
        return None
    return joined([given_back(*method) for method in found])


def methods_of_object(
    module: Module, owner: ast.expr, name: str, *, elsewhere: bool = True
) -> list[tuple[Module, ast.FunctionDef]] | None:
    """The methods that `owner.name` can be, in whatever file its class is; None where a class or method is unknown."""
    if not may_be_member(module, name, elsewhere=elsewhere):
        return None
    homes = [_class_of(module, owner, elsewhere=elsewhere)]
    if homes == [None]:
        origins = module.origins(owner, elsewhere=elsewhere)
        homes = [home for made in origins for home in _classes_of_object(made, elsewhere=elsewhere)]
    found = [_method(*home, name, elsewhere=elsewhere) if home is not None else None for home in homes]
    if homes[0] is not None and class_of_self(module, owner) is homes[0][1]:  # may be one of a derived class
        children = [(module, child) for child in derived(module).get(homes[0][1], [])]
        found += [_method(*home, name, elsewhere=elsewhere) for home in children]
    if len(found) > 1:
        made = [one for one in found if one is None or not _is_abstract(*one)]
        found = list(dict.fromkeys(made)) or found
    known = [one for one in found if one is not None]
    return known if len(known) == len(found) else None


def _is_abstract(module: Module, function: ast.FunctionDef) -> bool:
    """Whether a method is there to be overridden."""
    decorators = [ast.unparse(decorator).rpartition(".")[2] for decorator in function.decorator_list]
    raises = isinstance(function.body[-1], ast.Raise) and not returns(module, function)
    return "abstractmethod" in decorators or raises


def methods(module: Module, node: ast.Attribute) -> list[ast.FunctionDef]:
    """The methods of classes of the module that `owner.name` can be; none where the class of the owner is unknown.

    A method of `self` may be that of any class of the module derived from this one.
    """
    if not may_be_member(module, node.attr, elsewhere=False):
        return []
    home = _class_of(module, node.value, elsewhere=False)
    if home is None and (own := class_of_cls(module, node.value)) is not None:
        homes = derived(module).get(own, [own])
    elif home is None:
        owners = module.origins(node.value, elsewhere=False)
        made = [_class_of_object(owner, elsewhere=False) for owner in owners]
        homes = [found[1] for found in made if found is not None]
    elif class_of_self(module, node.value) is home[1]:
        homes = derived(module).get(home[1], [home[1]])
    else:
        homes = [home[1]]
    return list(dict.fromkeys(function for home in homes for function in method_of(module, home, node.attr)))


def method_of(module: Module, home: ast.ClassDef, name: str) -> list[ast.FunctionDef]:
    """The method of a class, or of the nearest of its base classes in the module that has one."""
    for line in lineage(module, home):
        if bindings := module.scope(line).bindings.get(name):
            return [binding.node for binding in bindings if isinstance(binding.node, ast.FunctionDef)]
    return []


def _classes_of_object(source: Source, *, elsewhere: bool) -> list[tuple[Module, ast.ClassDef] | None]:
    """The classes that an expression may make an object of; None among them where one is not known."""
    own = classes_made(source.module, source.node) if isinstance(source.node, ast.Call) else []
    several = [(source.module, home) for home in own]
    return [*several] or [_class_of_object(source, elsewhere=elsewhere)]


def _class_of_object(source: Source, *, elsewhere: bool) -> tuple[Module, ast.ClassDef] | None:
    """The class that an expression makes an object of, or that a parameter is annotated with."""
    module, made = source.module, source.node
    if isinstance(made, ast.Call):
        own = classes_made(module, made)
        return (module, own[0]) if len(own) == 1 else _class_of(module, made.func, elsewhere=elsewhere)
    parameter = module.definition(made)
    annotation = parameter.annotation if isinstance(parameter, ast.arg) else None
    if isinstance(made, ast.Attribute) and (declared := _declared(module, made, elsewhere=elsewhere)) is not None:
        return declared
    if isinstance(made, (ast.Name, ast.Attribute)) and annotation is None:
        return _class_of(module, made, elsewhere=elsewhere)  # see `parsed_into`
    return _class_of(module, annotation, elsewhere=elsewhere) if annotation is not None else None


def _declared(module: Module, node: ast.Attribute, *, elsewhere: bool) -> tuple[Module, ast.ClassDef] | None:
    """The class that the body of a class says an attribute is of: `self.config`, where it has `config: Config`."""
    owner = _class_of(module, node.value, elsewhere=elsewhere)
    for line in lineage(*owner) if owner is not None else ():
        for binding in owner[0].scope(line).bindings.get(node.attr, []):  # type: ignore[index]
            statement = owner[0].parent_of.get(binding.node)  # type: ignore[index]
            if isinstance(statement, ast.AnnAssign):
                return _class_of(owner[0], statement.annotation, elsewhere=elsewhere)  # type: ignore[index]
    return None


def _of_object(source: Source, name: str, *, elsewhere: bool) -> Behind:
    """What the expression that makes an object gives one of its attributes."""
    module, made = source.module, source.node
    home = _class_of_object(source, elsewhere=elsewhere)
    if not isinstance(made, ast.Call):  # annotated: its objects may have another value than the default
        return Behind(_of_class(*home, name, elsewhere=elsewhere).found) if home is not None else UNKNOWN
    if is_method_call(made, *PARSING):
        return _parsed(module, name)
    if module.qualified(made.func) in NAMESPACES:
        given = argument(made, len(made.args), name)
        return Behind([Source(module, given)], whole=True) if given is not None else UNKNOWN
    if home is None:
        return UNKNOWN
    fields = [
        node.target.id for node in home[1].body if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    ]
    given = argument(made, fields.index(name), name) if name in fields else None
    if given is not None:
        return Behind([Source(module, given)], whole=True)
    behind = _of_class(*home, name, elsewhere=elsewhere)
    return Behind(behind.found) if has_unpacking(made) else behind  # which may give it another value


def _parsed(module: Module, name: str) -> Behind:
    """The default of an option of the command line, on which another value may be given."""
    defaults = [argument(call, len(call.args), "default") for call in options(module, name)]
    return Behind([Source(module, default) for default in defaults if default is not None])


def item(module: Module, node: ast.Subscript, *, elsewhere: bool) -> Behind:
    """What is behind `owner[key]`."""
    key = module.constant(node.slice)
    return _read(module, node.value, key, elsewhere=elsewhere) if isinstance(key, (str, int)) else UNKNOWN


def read_by_method(module: Module, call: ast.Call, *, elsewhere: bool) -> Behind | None:
    """What is behind `owner.get(key, default)`; None where a call is none of a dict or of the environment."""
    if module.qualified(call.func) in ENVIRONMENT:
        return Behind([Source(module, default) for default in call.args[1:2]])
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in READERS or not call.args or call.keywords:
        return None
    if module.qualified(call.func) == "ray.get" or (elsewhere and module.elsewhere(call.func) is not None):
        return None  # `registry.get(name)`, where that is a file of the project
    key = module.constant(call.args[0])
    found = _read(module, call.func.value, key, elsewhere=elsewhere) if isinstance(key, str) else UNKNOWN
    return found if found.whole else Behind([*found.found, *(Source(module, given) for given in call.args[1:2])])


def unpacked(module: Module, target: ast.AST, *, elsewhere: bool) -> Behind:
    """What is behind one of the targets of `a, b = value`."""
    several = module.parent_of.get(target)
    statement = module.parent_of.get(several) if isinstance(several, (ast.Tuple, ast.List)) else None
    if not isinstance(several, (ast.Tuple, ast.List)) or not isinstance(statement, ast.Assign):
        return UNKNOWN
    if several not in statement.targets or has_starred(several.elts):
        return UNKNOWN
    return _read(module, statement.value, several.elts.index(target), elsewhere=elsewhere)  # type: ignore[arg-type]


def _read(module: Module, owner: ast.expr, key: str | int, *, elsewhere: bool) -> Behind:
    """What an item of a dict, list or tuple comes from."""
    return joined([entry(source, key) for source in module.origins(owner, elsewhere=elsewhere)])


def entry(source: Source, key: str | int) -> Behind:
    """What is behind an item of a dict, list or tuple that is written out, or behind one of the objects of a parser.

    Args:
        source: The dict, list or tuple.
        key: The key or position of the item.
    """
    module, node = source.module, source.node
    if isinstance(key, str):
        found = (module.entries(node) or {}).get(key)
    elif isinstance(node, ast.Call):
        found = parsed_into(module, node, key)
        found = found if found is not None and _class_of(module, found, elsewhere=True) is not None else None
    elif isinstance(node, (ast.List, ast.Tuple)) and not has_starred(node.elts):
        found = node.elts[key] if -len(node.elts) <= key < len(node.elts) else None
    else:
        found = None
    return Behind([Source(module, found)], whole=True) if found is not None and not is_drawn(module, found) else UNKNOWN

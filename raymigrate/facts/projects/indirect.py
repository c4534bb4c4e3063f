"""Objects that are made by the name of their class, or out of a dict, a file or the command line."""

import ast
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from raymigrate.facts.hugging_face.own_arguments import is_training_arguments
from raymigrate.facts.projects.command_lines import makes_parser_of_dataclasses
from raymigrate.facts.projects.settings import TARGET
from raymigrate.facts.ray_train.trainers import library_bases
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import only_target
from raymigrate.facts.values import argument, class_named, is_call_by_name, keyword_argument, reaching
from raymigrate.facts.values.carried import carried
from raymigrate.facts.values.constructors import derived_calls, fields, reaches
from raymigrate.facts.values.dicts import value_of_key
from raymigrate.facts.values.lineages import MOST_BASES
from raymigrate.facts.values.members import EMPTY_BASES
from raymigrate.facts.values.parsers import HF_PARSING
from raymigrate.facts.values.partials import PARTIAL, function_of
from raymigrate.knowledge.libraries import constructor, look_up

# A class that a parser makes objects of: its module, its definition in the project if that is seen, its name.
ParsedClass = tuple[Module, ast.AST | None, str | None]
OF_OTHER_PARSERS = ("parse",)  # of classes made from HfArgumentParser
# Functions that give a class by its dotted name.
LOOKS_UP = ("hydra.utils.get_class", "hydra.utils.get_object", "hydra.utils.get_method", "pydoc.locate")
# Functions that make an object of the class that the key `_target_` of a configuration names.
INSTANTIATES = ("hydra.utils.instantiate", "hydra.utils.call")


def calls_by_name(module: Module, names: frozenset[str]) -> Iterator[ast.Call]:
    """Calls of classes that are looked up by their names, and calls of partial() that are given one."""
    for lookup in module.calls(*LOOKS_UP):
        if lookup.args and module.constant(lookup.args[0]) in names:
            yield from _calls_of(module, lookup)
    for lookup in module.named_calls("getattr"):
        if len(lookup.args) > 1 and f"{module.qualified(lookup.args[0])}.{module.constant(lookup.args[1])}" in names:
            yield from _calls_of(module, lookup)
    for call in module.calls(PARTIAL):
        if module.qualified(function_of(module, call)) in names:
            yield call


def calls_of_held(module: Module, names: frozenset[str]) -> Iterator[tuple[ast.Call, bool]]:
    """Calls of classes that a variable or a parameter holds: `cls(**arguments)`, `(First if new else Second)()`.

    Args:
        module: The module.
        names: The classes.

    Returns:
        Each call, and whether it calls one of these in any case.
    """
    held = (found.node for found in module.references_within(*names) if found.qualified in names)
    if all(module.calling(node) is not None for node in held):
        return  # most files only call them
    for call, found in _calls_of_values(module):
        if not names.isdisjoint(found):
            yield call, names.issuperset(found)


@kept
def _calls_of_values(module: Module) -> list[tuple[ast.Call, frozenset[str]]]:
    """The calls of what something holds that may be a class, and the names of all that it may be; empty for others."""
    calls = (call for call in module.of_type(ast.Call) if module.qualified(call.func) is None)
    held = [(call, module.origins(call.func)) for call in calls if _may_hold_class(module, call.func)]
    return [(call, frozenset(one.module.qualified(one.node) or "" for one in found)) for call, found in held]


def _may_hold_class(module: Module, function: ast.expr) -> bool:
    """Whether what is called may be a class that something holds: to follow everything would cost more."""
    if isinstance(function, ast.Name):
        bindings = reaching(module, function)
        if len(bindings) != 1:
            return bool(bindings or module.names_of_files)  # what nothing binds is Python's own: print()
        return isinstance(bindings[0].node, (ast.Name, ast.arg))
    if isinstance(function, ast.Attribute):
        return bool(module.stores(function.attr)) or function.attr in module.assigned_names
    return isinstance(function, (ast.IfExp, ast.Subscript))


def _calls_of(module: Module, function: ast.expr) -> Iterator[ast.Call]:
    """The calls of what an expression gives, at once or by a name of it."""
    outer = module.parent_of[function]
    if isinstance(outer, ast.Call) and outer.func is function:
        yield outer
    elif isinstance(target := only_target(outer), ast.Name):
        calls = (module.parent_of[use] for use in module.uses_of(target))
        yield from (c for c in calls if isinstance(c, ast.Call) and module.value(c.func) is function)


def partial_calls(module: Module, names: frozenset[str]) -> Iterator[tuple[ast.Call, ast.Call]]:
    """The calls of what partial() makes of one of these classes, each with the call of partial()."""
    for made in module.calls(PARTIAL):
        if module.qualified(function_of(module, made)) in names:
            yield from ((call, made) for call in _calls_of(module, made))


@kept
def calls_in_other_ways(
    module: Module, names: frozenset[str], arguments: tuple[str, ...]
) -> list[tuple[ast.Call, ...]]:
    """The calls by which arguments reach one of these classes, where none is a call of it by its name.

    Of what something holds, of partial() with that of what it makes, and of the constructors of classes made from it.

    Args:
        module: The module.
        names: The classes.
        arguments: The arguments that are asked for: constructors have to hand them on.
    """
    found: list[tuple[ast.Call, ...]] = [(call,) for call, _ in calls_of_held(module, names)]
    found += ((made, call) for call, made in partial_calls(module, names))
    for call, line in derived_calls(module, names.__contains__, arguments, ()):
        if all(reaches(line, argument, names.__contains__) for argument in arguments):
            found.append((call,))
    return list(dict.fromkeys(found))


def configurations(module: Module, names: frozenset[str]) -> Iterator[ast.expr]:
    """The dicts, written out or made by dict(), whose key `_target_` names one of these classes; or names of them."""
    for made in _with_target(module, names):
        target = only_target(module.parent_of[made])
        uses = module.uses_of(target) if isinstance(target, ast.Name) else []
        yield next((use for use in uses if module.value(use) is made), made)


def _with_target(module: Module, names: frozenset[str]) -> Iterator[ast.Dict | ast.Call]:
    for key in module.spelling(TARGET):
        outer, named = module.parent_of[key], value_of_key(module, key)
        if isinstance(outer, ast.Dict) and named is not None and module.constant(named) in names:
            yield outer
    for call, keyword in module.keywords(TARGET):
        if is_call_by_name(call, "dict") and module.constant(keyword.value) in names:
            yield call


def instantiated(module: Module, value: ast.expr) -> list[ast.Call]:
    """The calls of hydra in this module that make a value, or an object that has it: `instantiate(config).args`."""
    found = []
    for source in module.origins(value):
        node = source.node
        while isinstance(node, (ast.Attribute, ast.Subscript)):
            node = source.module.value(node.value)
        if source.module is module and isinstance(node, ast.Call) and module.qualified(node.func) in INSTANTIATES:
            found.append(node)
    return found


@dataclass(frozen=True)
class Parsing:
    """A call of an HfArgumentParser that makes objects, of one of the classes that were asked for among them.

    Args:
        call: The call.
        method: The method that is called.
        given: The dict, the file or the list of arguments that it is given; None for the command line.
        fields: What the dataclasses of the project take: a key of theirs is not one of the library.
        taken: What all classes together take today; None where not all of them can be seen.
        is_lenient: Whether keys that no class takes are passed over.
    """

    call: ast.Call
    method: str
    given: ast.expr | None
    fields: frozenset[str]
    taken: frozenset[str] | None
    is_lenient: bool


def parsings(module: Module, names: frozenset[str], sure: Collection[ast.Call] = ()) -> Iterator[Parsing]:
    """The calls by which parsers of transformers and trl make objects of one of these classes, or of one made from it.

    Args:
        module: The module.
        names: The classes.
        sure: Calls that do so for sure, though their classes may not be seen.
    """
    for call, method in module.method_calls(*HF_PARSING, *OF_OTHER_PARSERS):
        classes = [found for source in module.origins(method.value) for found in _classes(source.module, source.node)]
        own = [(home, node) for home, node, _ in classes if isinstance(node, ast.ClassDef)]
        known = [name for _, _, name in classes] + [base for home, node in own for base in library_bases(home, node)]
        if not names.isdisjoint(known) or call in sure or any(is_training_arguments(name) for name in known if name):
            given = argument(call, 0, "args", "json_file", "yaml_file")
            own_fields = frozenset(field for _, node in own for field in fields(node))
            yield Parsing(call, method.attr, given, own_fields, _taken(classes), _is_lenient(module, call))


def _is_lenient(module: Module, call: ast.Call) -> bool:
    """Whether a parser passes over what no class takes, or hands it back."""
    lenient = keyword_argument(call, "allow_extra_keys", "return_remaining_strings")
    strict = keyword_argument(call, "fail_with_unknown_args")  # of trl's
    return module.constant(lenient) not in (None, False) or (strict is not None and module.constant(strict) is not True)


def _taken(classes: Collection[ParsedClass]) -> frozenset[str] | None:
    """What some classes take today, by keyword; None where one of them cannot be seen as a whole."""
    taken = set[str]()
    for module, node, name in classes:
        lines = list(_lines(module, node)) if isinstance(node, ast.ClassDef) else []
        bases = library_bases(module, node) if isinstance(node, ast.ClassDef) else [name or ""]
        given = [constructor(look_up(base).place) for base in bases if base not in EMPTY_BASES]
        if None in given or None in lines:
            return None
        taken.update(name for of in given for name in of or ())
        taken.update(field for line in lines if line is not None for field in fields(line))
    return frozenset(taken) if classes else None


def _lines(module: Module, node: ast.ClassDef, deep: int = 0) -> Iterator[ast.ClassDef | None]:
    """A class of the project with those that it is made from; None for a base that cannot be seen."""
    yield node
    for base in node.bases:
        made = class_named(module, base)
        if made is not None and deep < MOST_BASES:
            yield from _lines(*made, deep + 1)
        elif made is not None or module.qualified(base) is None:
            yield None


def unseen_makers(module: Module, trainers: frozenset[str], names: frozenset[str]) -> Iterator[ast.Call]:
    """The calls that make objects of these classes of what is not seen, for one of these trainers or by a parser.

    Args:
        module: The module.
        trainers: Classes whose argument `args` is such an object.
        names: The classes.
    """
    for trainer in module.calls(*trainers):
        given = argument(trainer, 1, "args")
        for call in instantiated(module, given) if given is not None else ():
            if not call.args or module.entries(call.args[0]) is None:
                yield call
    for parsing in parsings(module, names):
        if parsing.method != "parse_dict" or parsing.given is None or not carried(module, parsing.given).whole:
            yield parsing.call


def _makes_parser(module: Module, call: ast.Call) -> bool:
    """Whether a call makes a parser of the classes that it is given; one of a class that is not seen, by its name."""
    is_named = isinstance(call.func, (ast.Name, ast.Attribute)) and ast.unparse(call.func).endswith("Parser")
    return (is_named and bool(call.args)) or makes_parser_of_dataclasses(module, call)


def _classes(module: Module, parser: ast.expr) -> list[ParsedClass]:
    """The classes that a parser makes objects of: the definition of each in the project, or its name in a library."""
    if not isinstance(parser, ast.Call) or not _makes_parser(module, parser):
        return []
    given = argument(parser, 0, "dataclass_types")
    several = module.value(given) if given is not None else None
    items = several.elts if isinstance(several, (ast.List, ast.Tuple)) else [given] if given is not None else []
    found: list[ParsedClass] = []
    for item in items:
        home, other = module.definition(item), module.elsewhere(item)
        owner, node = (module, home) if isinstance(home, ast.ClassDef) or other is None else (other.module, other.node)
        found.append((owner, node, module.qualified(item)))
    return found

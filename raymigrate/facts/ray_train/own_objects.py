"""Objects that pickle cannot save on a worker: of a class of the script itself, a function of it, a lambda.

pickle and torch.save write the name of a class, which has to be found in its module. On a worker of Ray `__main__` is
no script: "attribute lookup Net on __main__ failed" (measured on Ray 2.60 with torch 2.13). Lambdas, and what a
function defines, are found in no module. cloudpickle saves all of them by what is in them, and pickle reads that; so
checkpoints of legacy Ray were written (Ray 2.6.3 air/checkpoint.py, `to_directory`).
"""

import ast
from collections.abc import Iterable
from functools import cached_property

from raymigrate.facts.projects.handed_on import handed_on
from raymigrate.facts.projects.helpers import is_in_helper
from raymigrate.facts.projects.places import functions_behind
from raymigrate.facts.projects.project_uses import importing_modules, is_imported
from raymigrate.facts.ray_train.pickling import given_functions
from raymigrate.facts.ray_train.trainers import library_bases
from raymigrate.facts.syntax.functions import by_position, default_of
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.scopes import DEFINITIONS, FUNCTIONS
from raymigrate.facts.values import Source, all_arguments, class_named, fillings, is_none, reaching
from raymigrate.facts.values.dicts import attribute_fillings
from raymigrate.knowledge.legacy import TORCH_TRAINERS, TRAINERS

CLASS_MAKERS = ("collections.namedtuple", "dataclasses.make_dataclass", "type", "typing.NamedTuple")
PICKLERS = ("cloudpickle", "dill", "pickle", "ray.cloudpickle")
# What gives back any object that was saved or sent.
READ_BACK = frozenset(
    {
        f"{pickler}.{name}"
        for pickler in ("cloudpickle", "dill", "pickle", "ray.cloudpickle")
        for name in ("load", "loads")
    }
    | {"hydra.utils.instantiate", "joblib.load", "pandas.read_pickle", "ray.get", "torch.load"}
)
# Methods that give numbers, texts, arrays, tensors, or dicts of them, whatever they are called on.
PLAIN = frozenset(
    {"compute", "evaluate", "gather", "gather_for_metrics", "get_weights", "item", "named_parameters", "numpy"}
    | {"parameters", "state_dict", "to_dict", "tolist"}
)
PLAIN_FUNCTIONS = ("dataclasses.asdict", "dataclasses.astuple")
PLAIN_BUILTINS = frozenset(
    {"abs", "bool", "bytes", "float", "hash", "id", "int", "len", "range", "repr", "round", "str", "sum"}
)
PLAIN_TYPES = frozenset({"bool", "bytes", "float", "int", "str"})
OF_SEVERAL = frozenset({"iter", "list", "reversed", "set", "sorted", "tuple", "zip"})
CONFIGURATION = "config"  # as Ray's documents call what a training function gets


def may_hold_own(module: Module, node: ast.expr) -> bool:
    """Whether a value may be or hold an object that pickle cannot save on a worker.

    Where a value cannot be followed, it may where the script, or one that imports it, defines classes.

    Args:
        module: The module.
        node: The value.
    """
    return _Search(module).finds_own(node)


def is_sent_by_name(module: Module) -> bool:
    """Whether other files import a module, and it is not seen to run as a script as well."""
    trains_at_once = any(module.function(call) is None for call in module.calls(*TRAINERS, *TORCH_TRAINERS))
    if trains_at_once or any(isinstance(node, ast.Constant) for node in module.spelling("__main__")):
        return False  # as nearly every script: the files of its project are not read for it
    return module.project is not None and bool(module.path) and is_imported(module.project, module.path)


class _Search:
    """Follows a value to all that it may hold.

    Args:
        module: The module that the value is in.
    """

    def __init__(self, module: Module) -> None:
        self.module = module

    def finds_own(self, node: ast.expr) -> bool:
        """Whether an own object is found, or may be where the search ends."""
        waiting, seen = [Source(self.module, node)], set[Source]()
        while waiting:
            value = waiting.pop()
            if value in seen:
                continue
            seen.add(value)
            if _is_own(value):
                return True
            parts = _held(value)
            if parts is None and self._has_classes:
                return True
            waiting += parts or ()
        return False

    @cached_property
    def _has_classes(self) -> bool:
        """Whether what nothing is known of may be an object of a class of the script, or of one that imports it."""
        module = self.module
        if any(_has_no_name(module, found) for found in _own_classes(module)):
            return True
        return any(_own_classes(other) for other in importing_modules(module, "class "))


def _own_classes(module: Module) -> list[ast.ClassDef]:
    """The classes of a script, without those that an earlier run of raymigrate wrote, such as callbacks."""
    return [found for found in module.of_type(ast.ClassDef) if not is_in_helper(module, found)]


def _has_no_name(module: Module, definition: ast.AST) -> bool:
    """Whether pickle finds a class or function by no name on a worker."""
    return module.function(definition) is not None or not is_sent_by_name(module)


def _is_own(value: Source) -> bool:
    """Whether a value is such an object, class or function itself."""
    module, node = value.module, value.node
    if isinstance(node, ast.Call):
        return any(_is_own_class(made) for made in module.origins(node.func))
    if isinstance(node, ast.Lambda):
        return True
    if isinstance(node, ast.Attribute):  # Kind.FIRST
        found = class_named(module, node.value)
        is_member = found is not None and any(name.startswith("enum.") for name in library_bases(*found))
        return found is not None and is_member and _has_no_name(*found)
    if not isinstance(node, ast.Name):
        return False
    definition = module.definition(node)
    if isinstance(definition, ast.arg):
        home = _owner(module, definition)
        annotated = class_named(module, definition.annotation) if definition.annotation is not None else None
        classes = [(module, home)] if home is not None else [annotated] if annotated is not None else []
        return any(_has_no_name(*found) for found in classes)
    return isinstance(definition, DEFINITIONS) and _has_no_name(module, definition)


def _is_own_class(called: Source) -> bool:
    """Whether what is called is a class that pickle finds by no name."""
    module, node = called.module, called.node
    if isinstance(node, ast.Call):  # Point = namedtuple("Point", "x y")
        maker = module.qualified(node.func) or (node.func.id if isinstance(node.func, ast.Name) else "")
        return maker in CLASS_MAKERS and _has_no_name(module, node)
    parameter = module.definition(node)
    home = _owner(module, parameter) if isinstance(parameter, ast.arg) else None
    found = (module, home) if home is not None else class_named(module, node)
    return found is not None and _has_no_name(*found)


def _owner(module: Module, parameter: ast.arg) -> ast.ClassDef | None:
    """The class of whose method a parameter is `self` or `cls`."""
    function = module.parent_of[module.parent_of[parameter]]
    home = module.parent_of[function]
    is_first = isinstance(function, FUNCTIONS) and by_position(function)[:1] == [parameter]
    return home if is_first and isinstance(home, ast.ClassDef) and parameter.arg in ("self", "cls") else None


def _held(value: Source) -> list[Source] | None:
    """What has to be looked at for what a value may hold; None where it may be anything."""
    module, node = value.module, value.node
    others = [source for source in module.origins(node) if source.node is not node]
    if isinstance(node, ast.Name):
        known = others and all(source.node is not node for source in module.origins(node))
        found = [] if known else _bound(module, node)
        return None if found is None else [*others, *found]
    if isinstance(node, (ast.Attribute, ast.Subscript)):
        filled = attribute_fillings(module, node.attr) if isinstance(node, ast.Attribute) else []
        filled = [] if _is_counted(others) else filled
        others += [Source(module, part) for statement in filled for part in _filled_in(statement)]
        known = module.qualified(node) is not None or any(not is_none(source.node) for source in others)
        parts: list[ast.expr] | None = [] if known else [node.value]
    elif isinstance(node, ast.Call):
        parts = [] if others else _given_back(module, node)
    else:
        parts = None if isinstance(node, (ast.Yield, ast.YieldFrom)) else _parts(node)
    return None if parts is None else [*others, *(Source(module, part) for part in parts)]


def _parts(node: ast.AST) -> list[ast.expr]:
    """The parts of an expression that are in its value."""
    match node:
        case ast.Dict(keys=keys, values=values):
            return [*filter(None, keys), *values]
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
            return parts
        case ast.ListComp(elt=part) | ast.SetComp(elt=part) | ast.GeneratorExp(elt=part):
            return [part]
        case ast.DictComp(key=left, value=right) | ast.BinOp(left, ast.Add() | ast.BitOr(), right):
            return [left, right]
        case ast.Starred(value=part) | ast.Await(value=part):
            return [part]
    return []


def _given_back(module: Module, call: ast.Call) -> list[ast.expr] | None:
    """What a call that cannot be followed may give back: what it is called on or with; None if it may be anything."""
    given = all_arguments(call)
    name = module.qualified(call.func)
    if name is not None:
        return None if name in READ_BACK else [] if name in PLAIN_FUNCTIONS else given
    if isinstance(call.func, ast.Attribute):
        return [] if call.func.attr in PLAIN else [call.func.value, *given]
    if isinstance(call.func, ast.Name) and not reaching(module, call.func):
        return [] if call.func.id in PLAIN_BUILTINS else given
    if class_named(module, call.func) is not None:
        return given
    called = [source.node for source in module.origins(call.func)]
    if all(isinstance(node, ast.Call) for node in called):
        return []  # of an object, such as a model: numbers, or tensors
    return None if isinstance(call.func, ast.Name) else [call.func, *given]


def _bound(module: Module, node: ast.Name) -> list[Source] | None:
    """What a name may stand for, by each of its bindings and by what fills it; None where it may be anything."""
    found = [Source(module, part) for statement in fillings(module, node) for part in _filled_in(statement)]
    is_counted = _is_counted(module.origins(node))
    for binding in reaching(module, node):
        target: ast.AST = binding.node
        if isinstance(target, ast.arg):
            given = _given_for(module, node, target)
            if given is None:
                return None
            found += given
            continue
        while isinstance(parent := module.parent_of.get(target), (ast.Tuple, ast.List, ast.Starred)):
            target = parent
        if is_counted and isinstance(parent, ast.AugAssign):
            continue
        parts = _of_target(module, parent, target, binding.node) if parent is not None else None
        if parts is None:
            return None
        found += [Source(module, part) for part in parts]
    return found


def _of_target(module: Module, parent: ast.AST, target: ast.AST, name: ast.AST) -> list[ast.expr] | None:
    """What a statement may give to a target of it, or to a part of one; None where that is not known."""
    if isinstance(target, (ast.alias, ast.ExceptHandler, *DEFINITIONS)):
        return []
    if isinstance(parent, (ast.For, ast.AsyncFor, ast.comprehension)):
        first = target.elts[:1] if isinstance(target, ast.Tuple) else []
        return _items(module, parent.iter, is_first=first == [name])
    if isinstance(parent, ast.withitem):
        return [parent.context_expr]
    if isinstance(parent, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr)):
        return [parent.value] if parent.value is not None else []
    return None


def _items(module: Module, several: ast.expr, *, is_first: bool) -> list[ast.expr]:
    """What the items of an iterable may be; those that a library makes are batches and numbers.

    Args:
        is_first: Whether it is asked for the first part of each item: a number of enumerate().
    """
    found: list[ast.expr] = []
    for source in module.origins(several, elsewhere=False):
        call = source.node
        if not isinstance(call, ast.Call):
            found.append(call)
        elif isinstance(call.func, ast.Attribute):
            found += [call.func.value] if call.func.attr in ("items", "keys", "values") else []
        elif isinstance(call.func, ast.Name) and (
            call.func.id in OF_SEVERAL or (call.func.id == "enumerate" and not is_first)
        ):
            found += [item for given in call.args for item in _items(module, given, is_first=False)]
    return found


def _is_counted(values: Iterable[Source]) -> bool:
    """Whether a value begins as a number or text: what `+=` adds to it makes another one."""
    return any(isinstance(value.node, ast.Constant) and value.node.value is not None for value in values)


def _given_for(module: Module, use: ast.Name, parameter: ast.arg) -> list[Source] | None:
    """What callers may give for a parameter, those in other files too; None where that is not known."""
    if parameter.arg == CONFIGURATION or _is_configuration(module, parameter):
        return []
    if isinstance(parameter.annotation, ast.Name) and parameter.annotation.id in PLAIN_TYPES:
        return []
    given, arguments = handed_on(module, use), module.parent_of[parameter]
    default = default_of(parameter, arguments) if isinstance(arguments, ast.arguments) else None
    return given if any(source.node is not default for source in given) else None  # unknown callers may give another


def _is_configuration(module: Module, parameter: ast.arg) -> bool:
    """Whether a parameter is the one by which a training function gets its configuration."""
    arguments = module.parent_of[parameter]
    first = [*arguments.posonlyargs, *arguments.args][:1] if isinstance(arguments, ast.arguments) else []
    handed = (function for given in given_functions(module) for function in functions_behind(module, given))
    return first == [parameter] and module.parent_of[arguments] in set(handed)


def _filled_in(statement: ast.stmt) -> list[ast.expr]:
    """What a statement puts into a list or dict that it changes."""
    if isinstance(statement, (ast.Assign, ast.AugAssign)):
        return [statement.value]
    call = statement.value if isinstance(statement, ast.Expr) else None
    return all_arguments(call) if isinstance(call, ast.Call) else []

"""Trainers and results that other functions and files make or hand on: of which class a trainer is, what a value was.

A trainer is known by the class that makes it, by the class of the project that is derived from one, by the classes that
are looked up in a dict, or by what a function says that it returns.
"""

import ast
from collections.abc import Iterator

from raymigrate.facts.projects.project_uses import uses_of
from raymigrate.facts.ray_train.trainers import library_bases
from raymigrate.facts.syntax.definitions import Definition
from raymigrate.facts.syntax.functions import by_position, default_of, is_static
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import Source, argument, class_named, has_unpacking, is_method_call, is_none, sources
from raymigrate.facts.values.calls import called_function, returned_by
from raymigrate.facts.values.items import collections_of, items_behind, items_of
from raymigrate.facts.values.members import methods, methods_of_object
from raymigrate.knowledge.legacy import GONE_TORCH_TRAINERS, TORCH_TRAINERS, TRAINERS
from raymigrate.knowledge.libraries import look_up

# What a function may say that it returns: the classes from which the trainers of Ray 2.0 to 2.9 are derived.
BASES = frozenset(
    {
        "ray.train.base_trainer.BaseTrainer",
        "ray.train.trainer.BaseTrainer",
        "ray.train.data_parallel_trainer.DataParallelTrainer",
    }
)
KNOWN = TRAINERS | TORCH_TRAINERS | BASES | GONE_TORCH_TRAINERS  # which become TorchTrainers
HOMES = frozenset(name.rpartition(".")[0] for name in TRAINERS)
READERS = ("get", "pop")


def handed_on(module: Module, value: ast.expr) -> list[Source]:
    """What a value was before other files handed it on; nothing where it is not seen to come from any.

    Args:
        module: The module.
        value: The value, which cannot be followed any further in its module.
    """
    found = [source for source in module.origins(value) if source.node is not value and not is_none(source.node)]
    if isinstance(value, ast.Call):
        found += _before_decorators(module, value)
    parameter = module.definition(value)
    return [*found, *(_given_elsewhere(module, parameter) if isinstance(parameter, ast.arg) else ())]


def origins_anywhere(module: Module, node: ast.expr) -> list[Source]:
    """The expressions that a value can come from, through the calls of other files too."""
    found: list[Source] = []
    for source in module.origins(node):
        given = handed_on(source.module, source.node) if isinstance(source.node, ast.Name) else []
        found += [behind for one in given for behind in one.module.origins(one.node)] or [source]
    return found


def _before_decorators(module: Module, call: ast.Call) -> list[Source]:
    """What a function returns whose decorators are not known: a flow, a timer and a retry give it on as it is."""
    home, function = called_function(module, call, elsewhere=True)
    found = [(home, function)] if isinstance(function, ast.FunctionDef) else []
    if not found and isinstance(call.func, ast.Attribute):
        found = methods_of_object(module, call.func.value, call.func.attr) or []
    decorated = [(home, one) for home, one in found if one.decorator_list]
    return [source for home, one in decorated for source in returned_by(home, one).found]


def _given_elsewhere(module: Module, parameter: ast.arg) -> list[Source]:
    """What other files give for a parameter of a function that they import, or any for one of a method; found once."""
    known = module.asked.given_elsewhere
    if parameter not in known:
        known[parameter] = []  # meanwhile: it may be handed back
        known[parameter] = [*_arguments_elsewhere(module, parameter), *_arguments_of_method(module, parameter)]
    return known[parameter]


def _arguments_elsewhere(module: Module, parameter: ast.arg) -> Iterator[Source]:
    """What calls in other files give for a parameter of a function, or of a class that they make an object of."""
    project, function = module.project, module.parent_of[module.parent_of[parameter]]
    if project is None or not isinstance(function, ast.FunctionDef):
        return
    home = module.parent_of[function]
    called = home if isinstance(home, ast.ClassDef) and function.name == "__init__" else function
    if not isinstance(module.parent_of[called], ast.Module) or function.decorator_list:
        return
    project.read_others(module.path)
    positional = by_position(function)[0 if called is function else 1 :]
    place = positional.index(parameter) if parameter in positional else len(positional)
    for user, call in _calls_anywhere(module, called):
        given = argument(call, place, parameter.arg) or default_of(parameter, function.args)
        if given is not None:
            yield Source(user if given in user.parent_of else module, given)


@kept
def _calls_anywhere(module: Module, called: ast.FunctionDef | ast.ClassDef) -> list[tuple[Module, ast.Call]]:
    """The calls of what a module defines at its top whose arguments are seen: found once for all of its parameters."""
    assert module.project is not None
    reads = uses_of(module.project, Definition(module, called, called.name)).reads
    calls = [(user, call) for user, read in reads if (call := user.calling(read)) is not None]
    return [(user, call) for user, call in calls if not has_unpacking(call)]


def _arguments_of_method(module: Module, parameter: ast.arg) -> Iterator[Source]:
    """What calls of a method give for one of its parameters: `self._report(result)`, `Reporter().report(result)`."""
    function = module.parent_of[module.parent_of[parameter]]
    home = module.parent_of.get(function)
    if not isinstance(function, ast.FunctionDef) or not isinstance(home, ast.ClassDef):
        return
    bound = [] if is_static(function) else by_position(function)[:1]
    if parameter in bound or function.name == "__init__":
        return
    positional = by_position(function)[len(bound) :]
    place = positional.index(parameter) if parameter in positional else len(positional)
    for user in (module, *_users_of_class(module, home)):
        for call in _calls_of_methods(user, function.name).get(function, ()):
            given = argument(call, place, parameter.arg) or default_of(parameter, function.args)
            if given is not None and not has_unpacking(call):
                yield Source(user if given in user.parent_of else module, given)


@kept
def _calls_of_methods(module: Module, name: str) -> dict[ast.FunctionDef, list[ast.Call]]:
    """The calls of a module of what has a name, `owner.name(...)`, for each method that they may call in any file."""
    found: dict[ast.FunctionDef, list[ast.Call]] = {}
    for call, read in module.method_calls(name):
        called = [function for _, function in methods_of_object(module, read.value, name) or ()]
        for function in dict.fromkeys([*methods(module, read), *called]):
            found.setdefault(function, []).append(call)
    return found


@kept
def _users_of_class(module: Module, home: ast.ClassDef) -> list[Module]:
    """The other files that name a class of a module."""
    if module.project is None or not isinstance(module.parent_of[home], ast.Module):
        return []
    module.project.read_others(module.path)
    reads = uses_of(module.project, Definition(module, home, home.name)).reads
    return list(dict.fromkeys(user for user, _ in reads if user is not module))


def trainer_classes(module: Module, trainer: ast.expr) -> set[str | None]:
    """The classes of Ray Train of which a value may be a trainer, wherever it is made; None where it may be another."""
    found: set[str | None] = set()
    for source in module.origins(trainer):
        if not is_none(source.node):  # `self.trainer = None`, before there is one
            classes = _classes_of_made(source) or _classes_of_item(source)
            found |= classes or ({None} if not _is_stored(source) else set())
    makers = [source.func for source in sources(module, trainer) if isinstance(source, ast.Call)]
    declared = {name for maker in makers for name in _declared(*_returned(module, maker))} if None in found else set()
    return found - {None} | declared if declared else found


def _is_stored(source: Source) -> bool:
    """Whether a value is an attribute of which it is seen what it is given, if not by every class of its object."""
    return isinstance(source.node, ast.Attribute) and bool(handed_on(source.module, source.node))


def _classes_of_made(made: Source) -> set[str | None]:
    """The classes of which an expression makes an object; of a parameter, the one that it is declared to be."""
    module, node = made.module, made.node
    if isinstance(node, ast.Call):
        maker = node.func.value if is_method_call(node, "restore") else node.func  # or from an earlier run
        classes = {name for source in module.origins(maker) for name in named_trainers(source)}
        return {*classes, *(() if classes else _declared(*_returned(module, node.func)))}
    parameter = module.definition(node)
    return {*_of_self(module, parameter), *_declared(module, getattr(parameter, "annotation", None))}


def _classes_of_item(picked: Source) -> set[str | None]:
    """The classes of the trainers among which one is picked: `for one in trainers.values()`, `trainers[name]`."""
    items = (origin for item in items_behind(picked) for origin in item.module.origins(item.node))
    return {name for made in items if not is_none(made.node) for name in _classes_of_made(made) or {None}}


def named_trainers(function: Source) -> Iterator[str]:
    """The trainer classes that an expression stands for: one, or those of a dict or list that it is looked up in."""
    module, node = function.module, function.node
    if isinstance(node, ast.Name) and node.id == "super":
        yield from _of_class(module, node)
    if (name := _trainer_class(module, node)) is not None:
        yield name
        return
    yield from _looked_up(function)
    for collection in collections_of(function) or _asked(function):
        for item in items_of(collection):
            for source in item.module.origins(item.node):
                if (name := _trainer_class(source.module, source.node)) is not None:
                    yield name


def _looked_up(function: Source) -> Iterator[str]:
    """The trainer classes that `getattr(ray.train.huggingface, name)` may give; all of it for an unknown name."""
    module, call = function.module, function.node
    if not isinstance(call, ast.Call) or len(call.args) < 2 or not isinstance(call.func, ast.Name):
        return
    if call.func.id != "getattr" or module.qualified(call.args[0]) not in HOMES:
        return
    home, name = module.qualified(call.args[0]), module.constant(call.args[1])
    names = sorted(TRAINERS) if name is ... else [f"{home}.{name}"]
    yield from (found for found in names if found.rpartition(".")[0] == home and _is_trainer(found))


def _asked(function: Source) -> list[Source]:
    """The dicts of `trainers.get(kind)`."""
    call = function.node
    if not is_method_call(call, *READERS):
        return []
    return function.module.origins(call.func.value)


def _trainer_class(module: Module, node: ast.expr) -> str | None:
    """The class of Ray Train that an expression names, or that the class of the project is made from which it names."""
    if _is_trainer(name := module.qualified(node)):
        return name
    home = class_named(module, node)
    return next(_bases(*home), None) if home is not None else None


def _is_trainer(name: str | None) -> bool:
    """Whether a class gives such results. What took the place of others, such as RLTrainer, gives other ones."""
    if name is None or name in KNOWN:
        return name is not None
    return name.startswith("ray.train.") and name.endswith("Trainer") and look_up(name).gone is None


def _bases(module: Module, home: ast.ClassDef) -> Iterator[str]:
    yield from (base for base in library_bases(module, home) if _is_trainer(base))


def _of_self(module: Module, parameter: ast.AST | None) -> Iterator[str]:
    """The trainer class from which a class is made whose method has a parameter as its `self`."""
    function = module.parent_of[module.parent_of[parameter]] if isinstance(parameter, ast.arg) else None
    is_method = isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) and not is_static(function)
    if is_method and by_position(function)[:1] == [parameter]:  # type: ignore[arg-type]
        yield from _of_class(module, function)  # type: ignore[arg-type]


def _of_class(module: Module, node: ast.AST) -> Iterator[str]:
    """The trainer class from which the class is made that a node is part of."""
    home = module.class_around(node)
    yield from _bases(module, home) if home is not None else ()


def _returned(module: Module, function: ast.expr) -> tuple[Module, ast.expr | None]:
    """What a function of the project says that it returns."""
    made: ast.AST | None = module.definition(function)
    if not isinstance(made, ast.FunctionDef) and (other := module.elsewhere(function)) is not None:
        module, made = other.module, other.node
    return module, made.returns if isinstance(made, ast.FunctionDef) else None


def _declared(module: Module, annotation: ast.expr | None) -> Iterator[str]:
    name = module.qualified(annotation) if annotation is not None else None
    if name is not None and name in KNOWN:
        yield name

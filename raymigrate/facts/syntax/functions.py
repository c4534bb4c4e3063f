"""The parameters of functions, and what they return."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from raymigrate.facts.syntax.module import Module

DefinitionNode = ast.FunctionDef | ast.AsyncFunctionDef
# Words in the name of a function that trains, and in that of one that only prepares it.
TRAINS = frozenset(["finetune", "finetuning", "pretrain", "train", "training", "tune", "tuning"])
MAKES = frozenset(
    ["build", "builder", "create", "factory", "get", "init", "initialize", "load", "make", "new", "prepare", "setup"]
)

PREPARES = "prepare_trainer"  # the function of Ray that a training function gives its Trainer to
INIT_DATASETS = 2  # parameters of an init function that take its datasets, before the configuration


def parameters(function: DefinitionNode | ast.Lambda) -> list[ast.arg]:
    """All parameters of a function as `inspect.signature` counts them, `*args` and `**kwargs` included."""
    arguments = function.args
    return [
        *arguments.posonlyargs,
        *arguments.args,
        *([arguments.vararg] if arguments.vararg else []),
        *arguments.kwonlyargs,
        *([arguments.kwarg] if arguments.kwarg else []),
    ]


def by_position(function: DefinitionNode | ast.Lambda) -> list[ast.arg]:
    """The parameters of a function that a call can fill by position, but for `*args`."""
    return [*function.args.posonlyargs, *function.args.args]


def by_name(function: DefinitionNode | ast.Lambda) -> list[ast.arg]:
    """The parameters of a function that a call can fill by name, but for `**kwargs`."""
    return [*function.args.args, *function.args.kwonlyargs]


def parameter_for(function: DefinitionNode | ast.Lambda, call: ast.Call, given: ast.expr, filled: int = 0) -> str:
    """The name under which a function gets an argument of a call; empty where it has none, or it cannot be seen.

    Args:
        function: The function.
        call: The call.
        given: The argument.
        filled: How many parameters Python itself fills: 1 for `self`.
    """
    if given not in call.args:
        named = {parameter.arg for parameter in (*function.args.args, *function.args.kwonlyargs)}
        words = (keyword.arg for keyword in call.keywords if keyword.value is given)
        return next((word for word in words if word in named), None) or ""  # `**options` takes others
    place = call.args.index(given)
    is_seen = not any(isinstance(before, ast.Starred) for before in call.args[:place])
    taking = by_position(function)[filled:] if is_seen else []
    return taking[place].arg if place < len(taking) else ""


def decorators_of(definition: DefinitionNode | ast.ClassDef) -> list[ast.expr]:
    """What decorates a function or a class, without the arguments it is made with: `remote` of `@remote(cpus=1)`."""
    return [d.func if isinstance(d, ast.Call) else d for d in definition.decorator_list]


def is_static(method: DefinitionNode) -> bool:
    """Whether a method of a class gets neither the object nor the class."""
    return any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in method.decorator_list)


def default_of(parameter: ast.arg, arguments: ast.arguments) -> ast.expr | None:
    """The default of one of the parameters of a function; None where it has none."""
    positional = [*arguments.posonlyargs, *arguments.args]
    if parameter in positional:
        place = positional.index(parameter) - len(positional)
        return arguments.defaults[place] if -place <= len(arguments.defaults) else None
    if parameter in arguments.kwonlyargs:
        return arguments.kw_defaults[arguments.kwonlyargs.index(parameter)]
    return None


def returns(module: Module, function: DefinitionNode) -> list[ast.Return]:
    """The return statements of a function, not those of functions inside it."""
    return module.returns_of.get(function, [])


def returned_values(module: Module, function: DefinitionNode | ast.Lambda) -> list[ast.expr | None]:
    """What a function returns, at each of its ends; None stands for a bare `return`."""
    if isinstance(function, ast.Lambda):
        return [function.body]
    return [end.value for end in returns(module, function)]


def assigns_first(function: ast.FunctionDef, name: str) -> bool:
    """Whether a function gives a parameter a value of its own before it reads it."""
    for statement in function.body:
        names = [node for node in ast.walk(statement) if isinstance(node, ast.Name) and node.id == name]
        if names:
            gives = isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value is not None
            return gives and all(isinstance(node.ctx, ast.Store) for node in names)
    return False


def is_generator_or_async(module: Module, function: DefinitionNode) -> bool:
    """Whether calling the function does not run it."""
    if isinstance(function, ast.AsyncFunctionDef):
        return True
    yields = [*module.of_type(ast.Yield), *module.of_type(ast.YieldFrom)]
    return any(module.function(node) is function for node in yields)


def trains(name: str) -> bool:
    """Whether the name of an init function fits a training function too: `train_fn`, but not `get_train_setup`."""
    words = name.lower().strip("_").split("_")
    return any(word in TRAINS for word in words) and not MAKES.intersection(words)


def has_inline_form(module: Module, init: ast.FunctionDef) -> bool:
    """Whether an init function is written in a way that lets it become a training function."""
    arguments = init.args
    ends = returns(module, init)
    return (
        not init.decorator_list
        and not is_generator_or_async(module, init)
        and isinstance(module.parent_of[init], (ast.Module, ast.FunctionDef, ast.If, ast.Try, ast.With))
        and len([*arguments.posonlyargs, *arguments.args]) == INIT_DATASETS
        and arguments.kwarg is not None
        and not arguments.vararg
        and not arguments.kwonlyargs
        and ends == [init.body[-1]]
        and ends[0].value is not None
        and not (isinstance(ends[0].value, ast.Name) and ends[0].value.id == PREPARES)
    )


def on_every_way(
    node: ast.AST,
    holds: Callable[[ast.AST], bool],
    function_of: Callable[[ast.AST], ast.FunctionDef | None],
    uses_of: Callable[[ast.FunctionDef], Sequence[ast.AST]],
) -> bool:
    """Whether something holds where code stands, or at each use of the function around it, and so on.

    Each function is asked about once: there may be exponentially many ways to one.

    Args:
        node: The code.
        holds: Whether it holds in a place, as its function alone shows.
        function_of: The function around a place; None where its uses say nothing.
        uses_of: The uses of a function.
    """
    known: dict[ast.FunctionDef, bool] = {}

    def asked(place: ast.AST) -> bool:
        if holds(place):
            return True
        function = function_of(place)
        if function is None:
            return False
        if function not in known:
            known[function] = False  # meanwhile: it may call itself
            uses = uses_of(function)
            known[function] = bool(uses) and all(map(asked, uses))
        return known[function]

    return asked(node)

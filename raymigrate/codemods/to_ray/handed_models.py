"""RM829 where a prepared model is handed to code of another file, which asks it for what its wrapper lacks."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from raymigrate.codemods.context import Context
from raymigrate.codemods.to_ray.launched import LaunchedOutline
from raymigrate.codemods.to_ray.prepared import MODEL_ATTRIBUTES, RM829, prepares
from raymigrate.codemods.to_ray.wrapped import (
    TRAINED_BY,
    accelerator_at,
    asked,
    is_called,
    is_model,
    is_trained_by,
    is_wrapped,
    lack_of,
    of_wrapper,
    prepared_by,
    where_wrapped,
)
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import argument, origins, reaching
from raymigrate.facts.values.constructors import constructor_of

OUT_OF_FILE = "Hand over {inner} for that too, or the Accelerator."


@dataclass(frozen=True)
class _Ask:
    """Where a function asks one of its parameters for something.

    Args:
        module: The file of the function.
        model: What is asked.
        name: The attribute; empty where it is asked for its class.
    """

    module: Module
    model: ast.expr
    name: str

    @property
    def function(self) -> str:
        """The function that asks."""
        return getattr(self.module.function(self.model), "name", "a lambda")


def tell_handed_models(context: Context, outline: LaunchedOutline) -> None:
    """Tells of functions and classes in other files that ask a prepared model for what its wrapper lacks.

    Args:
        context: The module.
        outline: What is planned for it.
    """
    module = context.module
    found = list(prepares(module))
    if not found or not is_wrapped(context, outline):
        return
    told = set[tuple[str, str]]()
    for call in module.of_type(ast.Call):
        for home, parameter, given in _handed(module, call):
            ends = origins(module, given)
            used = [prepare for end in ends if (prepare := prepared_by(end, found, given)) is not None]
            if not used:
                continue
            is_sure = is_model(module, [given, *(end.node for end in ends)], used[0])
            inner = f"{accelerator_at(module, given, used) or 'accelerator'}.unwrap_model({module.source(given)})"
            by_place: dict[tuple[str, str], list[_Ask]] = {}
            for ask in _asks(home, parameter, of_wrapper(outline)):
                if is_sure or ask.name in MODEL_ATTRIBUTES or is_called(ask.module, ask.model):
                    by_place.setdefault((ask.module.path, ask.function), []).append(ask)
            for place in [place for place in by_place if place not in told]:
                _tell(context, outline, given, by_place[place], inner)
            told |= by_place.keys()


def _tell(context: Context, outline: LaunchedOutline, given: ast.expr, asks: list[_Ask], inner: str) -> None:
    names = ", ".join(dict.fromkeys(f".{ask.name}" if ask.name else "its class" for ask in asks))
    lacks = dict.fromkeys(lack_of(ask.name) or "does not have that" for ask in asks)
    message = (
        f"{asks[0].function}() in {asks[0].module.path} asks this model for {names}."
        f" It is wrapped in DistributedDataParallel {where_wrapped(outline)}, which {' and '.join(lacks)}."
    )
    is_trained = any(is_trained_by(ask.module, ask.model) for ask in asks)
    context.manual(RM829, given, message, (TRAINED_BY if is_trained else OUT_OF_FILE).format(inner=inner))


def _handed(module: Module, call: ast.Call) -> Iterator[tuple[Module, ast.arg, ast.expr]]:
    """What a call hands to a function or class of another file: its module, the parameter, and the value."""
    found = module.elsewhere(call.func)
    function, skipped = (found.node, 0) if found is not None else (None, 0)
    if isinstance(function, ast.ClassDef):
        function, skipped = constructor_of(function), 1
    if found is None or not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return
    positional = [*function.args.posonlyargs, *function.args.args][skipped:]
    for place, parameter in enumerate([*positional, *function.args.kwonlyargs]):
        given = argument(call, place if place < len(positional) else len(call.args), parameter.arg)
        if isinstance(given, (ast.Name, ast.Attribute)):
            yield found.module, parameter, given


def _asks(home: Module, parameter: ast.arg, wrapper: frozenset[str]) -> Iterator[_Ask]:
    """Where a parameter is asked for what is not in the wrapper, in the functions too that it is handed on to."""
    waiting, seen = [(home, parameter)], set[ast.arg]()
    while waiting:
        module, taken = waiting.pop()
        if taken in seen:
            continue
        seen.add(taken)
        for model, name in asked(module, wrapper):
            if taken in _given_as(module, model):
                yield _Ask(module, model, name)
        for call in module.of_type(ast.Call):
            for other, further, given in _handed(module, call):
                if taken in _given_as(module, given):
                    waiting.append((other, further))


def _given_as(module: Module, model: ast.expr) -> set[ast.AST]:
    """The parameters that an object comes from."""
    ends = [model, *(source.node for source in origins(module, model, elsewhere=False))]
    return {binding.node for end in ends if isinstance(end, ast.Name) for binding in reaching(module, end)}

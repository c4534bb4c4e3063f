"""Which calls make a pipeline of transformers, or call one."""

import ast
from collections.abc import Collection, Iterator

from raymigrate.facts.hugging_face.models import PIPELINES
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import called_name
from raymigrate.facts.values.partials import function_of


def calls_pipeline(module: Module, call: ast.Call, classes: Collection[str] = ()) -> bool:
    """Whether a call makes a pipeline, or calls one that was made before: `pipeline(task)`, `pipe(text)`.

    So does `partial(pipe, ...)`, later.

    Args:
        module: The module.
        call: The call.
        classes: The classes of pipelines that count, besides `pipeline()` itself.
    """
    return any(name in PIPELINES or name in classes for name in _made_by(module, call))


def _made_by(module: Module, call: ast.Call) -> Iterator[str]:
    """The names of what a call calls, and of what made that, in other files too."""
    function = function_of(module, call)
    if (name := module.qualified(function)) is not None:
        yield name
    else:
        yield from (called_name(made.module, made.node) for made in module.origins(function))

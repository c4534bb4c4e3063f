"""RM418: what Ray cannot pickle with what it sends to workers: modules of torch, loguru (facts/ray_train/pickling.py).

`torch.backends.cuda.matmul.allow_tf32 = True` in a training function ran up to torch 2.8, where torch.backends was a
plain package; torch.backends.cudnn was none before either, which matters to plain scripts that move to Ray. Measured on
Ray 2.60 with torch 2.13: fit() raises the error before any worker starts.
"""

import ast
from collections.abc import Sequence

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.edits.plan import Code
from raymigrate.facts.ray_train.loguru_files import LOGURU
from raymigrate.facts.ray_train.own_objects import is_sent_by_name
from raymigrate.facts.ray_train.pickling import defaults_not_pickled, local_imports, sent_functions, values_not_pickled
from raymigrate.facts.syntax.scopes import FunctionNode

RM418 = Rule(
    "RM418",
    "a module that cannot be pickled with a function",
    "Ray pickles the functions of a script or notebook with the modules that they name. torch.backends, and some others"
    " of torch 2.9 and later, are objects of classes of their own: fit() raises a TypeError before it trains. So is the"
    " logger of loguru: once it writes to a file, fit() raises a PicklingError.",
    "The function imports the module itself, so that none is pickled with it.",
    "https://docs.ray.io/en/latest/ray-core/objects/serialization.html",
    errors=(
        "cannot pickle 'GenericModule' object",
        "cannot pickle 'CudnnModule' object",
        "cannot pickle 'ConfigModuleInstance' object",
        "Cannot pickle files that are not opened for reading: a",
    ),
)
MESSAGE = "Ray cannot pickle {} with this function: {}"
ERRORS = {LOGURU: "a PicklingError, as the driver lets it write to a file"}


@codemod("torch", phase=Phase.LIBRARIES)
def pickled_modules(context: Context) -> None:
    """Lets functions that are sent to workers import for themselves what cannot be pickled with them."""
    module = context.module
    if not context.imports_ray or is_sent_by_name(context.module):
        return
    sent = sorted(sent_functions(module, context.places), key=module.start)
    for function in sent:
        import_inside(context, function, sent)


def import_inside(context: Context, function: FunctionNode, sent: Sequence[ast.AST]) -> None:
    """Adds to a function the imports that it needs of its own, and tells where there is no place for one.

    Args:
        context: The file.
        function: The function.
        sent: All code that is sent with it.
    """
    for place, name in defaults_not_pickled(context.module, function):
        _taken_from_outside(context, place, name)
    if isinstance(function, ast.Lambda):
        for needed in local_imports(context.module, [function.body], sent):
            advice = f"Write a function, with `{needed.source}` in it."
            context.manual(RM418, needed.place, f"{_message(needed.not_pickled)}.", advice)
    elif lines := imports_of(context, function.body, sent):
        context.plan.function(function).body_start.insert(0, Code("\n".join(lines)))


def imports_of(context: Context, body: Sequence[ast.stmt], sent: Sequence[ast.AST]) -> list[str]:
    """The lines at the start of a function by which it imports for itself what cannot be pickled with its body."""
    for place, name in values_not_pickled(context.module, body):
        _taken_from_outside(context, place, name)
    lines = []
    for needed in local_imports(context.module, body, sent):
        name, place = needed.not_pickled, needed.place
        if place.id in context.module.scope_of[place].elsewhere:  # `global torch`: an import would be one of the module
            context.manual(RM418, place, f"{_message(name)}.", f"Import {name} there under a name of its own.")
        elif context.converts(RM418, place, f"{_message(name)}; now the function imports it itself."):
            lines.append(f"{needed.source}  # Ray cannot pickle {name} with the function")
            context.rewritten.update(needed.reads)  # where these are all, the import of the module is not needed
    return lines


def _message(name: str) -> str:
    return MESSAGE.format(name, ERRORS.get(name, "a TypeError"))


def _taken_from_outside(context: Context, place: ast.expr, name: str) -> None:
    context.manual(RM418, place, f"{_message(name)}.", f"Import {name} in the function, and use it there.")

"""RM418: modules of torch that Ray cannot pickle with what it sends to workers (facts/ray_train/pickling.py).

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
from raymigrate.facts.ray_train.own_objects import is_sent_by_name
from raymigrate.facts.ray_train.pickling import defaults_not_pickled, local_imports, sent_functions, values_not_pickled
from raymigrate.facts.syntax.scopes import FunctionNode

RM418 = Rule(
    "RM418",
    "a module that cannot be pickled with a function",
    "Ray pickles the functions of a script or notebook with the modules that they name. torch.backends, and some others"
    " of torch 2.9 and later, are objects of classes of their own: fit() raises a TypeError before it trains.",
    "The function imports the module itself, so that none is pickled with it.",
    "https://docs.ray.io/en/latest/ray-core/objects/serialization.html",
    errors=(
        "cannot pickle 'GenericModule' object",
        "cannot pickle 'CudnnModule' object",
        "cannot pickle 'ConfigModuleInstance' object",
    ),
)
MESSAGE = "Ray cannot pickle {} with this function: a TypeError"


@codemod("torch", phase=Phase.LIBRARIES)
def pickled_modules(context: Context) -> None:
    """Lets functions that are sent to workers import for themselves what cannot be pickled with them."""
    module = context.module
    if not context.imports_ray or is_sent_by_name(context.module):
        return
    for function in sorted(sent_functions(module, context.places), key=module.start):
        import_inside(context, function)


def import_inside(context: Context, function: FunctionNode) -> None:
    """Adds to a function the imports that it needs of its own, and tells where there is no place for one."""
    for place, name in defaults_not_pickled(context.module, function):
        _taken_from_outside(context, place, name)
    if isinstance(function, ast.Lambda):
        for needed in local_imports(context.module, [function.body]):
            advice = f"Write a function, with `{needed.source}` in it."
            context.manual(RM418, needed.place, f"{MESSAGE.format(needed.not_pickled)}.", advice)
    elif lines := imports_of(context, function.body):
        context.plan.function(function).body_start.insert(0, Code("\n".join(lines)))


def imports_of(context: Context, body: Sequence[ast.stmt]) -> list[str]:
    """The lines at the start of a function by which it imports for itself what cannot be pickled with its body."""
    for place, name in values_not_pickled(context.module, body):
        _taken_from_outside(context, place, name)
    lines = []
    for needed in local_imports(context.module, body):
        name, place = needed.not_pickled, needed.place
        if place.id in context.module.scope_of[place].elsewhere:  # `global torch`: an import would be one of the module
            context.manual(RM418, place, f"{MESSAGE.format(name)}.", f"Import {name} there under a name of its own.")
        elif context.converts(RM418, place, f"{MESSAGE.format(name)}; now the function imports it itself."):
            lines.append(f"{needed.source}  # Ray cannot pickle {name} with the function")
            context.rewritten.update(needed.reads)  # where these are all, the import of the module is not needed
    return lines


def _taken_from_outside(context: Context, place: ast.expr, name: str) -> None:
    context.manual(RM418, place, f"{MESSAGE.format(name)}.", f"Import {name} in the function, and use it there.")

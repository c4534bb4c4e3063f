"""RM517: one iterator of Ray Data that is gone over again, or asked for its next batch."""

import ast

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.facts.ray_data.batch_iterators import METHODS, batch_iterators, called_next, later_passes

STARTS_ANEW = (2, 7)
RM517 = Rule(
    "RM517",
    "an iterator of Ray Data that is used twice",
    "Until Ray 2.6 what iter_batches(), iter_rows(), iter_torch_batches() and iter_tf_batches() gave was a generator: a"
    " second loop over it had no batches. Since Ray 2.7 every loop starts anew, and training takes more steps than it"
    " did; next() of it raises a TypeError.",
    "Where next() asks for a batch, iter() around the call makes it an iterator again. Do the same to keep one pass"
    " over the data in all; for a pass in each epoch, call the method inside the loop over the epochs.",
    "https://docs.ray.io/en/latest/data/iterating-over-data.html",
    errors=("'_IterableFromIterator' object is not an iterator",),
    unproven="The tests make the libraries say it; the number of steps was measured on Ray 2.6 and 2.60.",
)


@codemod(*METHODS)
def used_twice(context: Context) -> None:
    """Makes what next() is called with an iterator, and reports those that are gone over again."""
    module = context.module
    made = batch_iterators(module) if context.is_ray_script else []
    asked = called_next(module) if made else {}
    for call in made:
        message = f"next() of what {_method(call)}() gives raises a TypeError since Ray 2.7; now iter() of it."
        if call in asked and context.converts(RM517, call, message):
            context.plan.replace(call, "iter($batches)", batches=call)
    others = [call for call in made if call not in asked]
    if others and context.of_legacy_job and context.from_ray.lowest < STARTS_ANEW:
        for place, call in later_passes(module, others).items():
            context.manual(RM517, place, *_told(context, call, _method(call)))


def _method(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""


def _owner(context: Context, call: ast.Call) -> str:
    """What the method is called on, under a name that is still there after this run."""
    module = context.module
    owner = call.func.value if isinstance(call.func, ast.Attribute) else call.func
    names = (module.qualified(part) or "" for part in ast.walk(owner) if isinstance(part, (ast.Name, ast.Attribute)))
    is_renamed = any(f"{name}.".startswith("ray.air.") for name in names)
    return "shard" if is_renamed else module.source(owner)


def _told(context: Context, call: ast.Call, method: str) -> tuple[str, str]:
    """What happens where an iterator is gone over again, and what to do."""
    return (
        f"This iterates again over what {method}() returned before: until Ray 2.6 it got the batches that were left,"
        " none after a whole pass; since Ray 2.7 it starts anew.",
        f"For the steps that Ray 2.6 took, write iter({_owner(context, call)}.{method}(...)). For a pass in each"
        f" epoch, call {method}() where the loop over the batches begins.",
    )

"""RM110 for plain scripts that were written for transformers 4: their loss is no larger on Ray.

As for what legacy Ray trained (`shared/loss_scale.py`): `model_accepts_loss_kwargs = False` lets the Trainer divide by
the accumulated steps and take the mean over the workers. A model that counts tokens itself needs neither.
"""

import ast
from collections.abc import Iterator

from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.old_transformers import COUNT, is_for_old_transformers, takes_no_count
from raymigrate.codemods.shared.loss_scale import ACCUMULATED, MESSAGE, RM110, SET_IT, STEPS, SWITCH, may_accumulate
from raymigrate.codemods.to_ray.launched import LaunchedOutline
from raymigrate.codemods.to_ray.trainer_calls import Training, arguments_made
from raymigrate.facts.hugging_face.causal_models import count_their_tokens
from raymigrate.facts.ray_train.trainers import classes_behind, library_bases
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import lineage, method_of
from raymigrate.knowledge.legacy import HF_TRAINERS

LINE = f"{{trainer}}.{SWITCH} = False  # else some losses grow with {{what}}\n"


def keep_loss_scale(context: Context, training: Training, outline: LaunchedOutline) -> str:
    """Says that the loss of an old script would grow, and what keeps it.

    Args:
        context: The module.
        training: What it does with Trainers.
        outline: What is planned for it.

    Returns:
        The line that each Trainer needs before it trains, with `{trainer}` in it; empty if none.
    """
    module = context.module
    if not context.current_transformers or any(True for _ in module.spelling(SWITCH)):
        return ""
    overrides = [(home, method) for call in training.makes for home, method in _overrides(module, call)]
    is_old = is_for_old_transformers(context) or any(takes_no_count(method) for _, method in overrides)
    kinds = {is_one for call in training.makes for is_one in _are_of_transformers(module, call)}
    if not is_old or True not in kinds:
        return ""
    own = [method for home, method in overrides if takes_no_count(method) or not _counts(home, method)]
    if not own and count_their_tokens([module]):
        return ""
    made = arguments_made(module)
    if not made or any(may_accumulate(module, call) for call in made):
        happens, what = ACCUMULATED, STEPS
    elif outline.known_workers != 1 and not all(_computes_alone(module, call) for call in training.makes):
        happens, what = MESSAGE, "the number of workers"
    else:
        return ""
    if False in kinds:  # the script chooses the class
        context.manual(RM110, training.trains[0], happens, f"{SET_IT[:-1]}, unless it is one of trl's.")
        return ""
    if not context.converts(RM110, training.trains[0], f"{happens[:-1]}; now {SWITCH} = False."):
        return ""
    return LINE.replace("{what}", what)


def _are_of_transformers(module: Module, call: ast.Call) -> Iterator[bool]:
    """Of each class that a call may make a Trainer of, whether it is one of transformers: those of trl count tokens."""
    for made in classes_behind(module, call.func):
        names = [made] if isinstance(made, str) else list(library_bases(*made))
        yield not HF_TRAINERS.isdisjoint(names)


def _overrides(module: Module, call: ast.Call) -> Iterator[tuple[Module, ast.FunctionDef]]:
    """The methods by which the class of a Trainer computes a loss of its own, in whatever file it is."""
    for made in classes_behind(module, call.func):
        for home in lineage(*made) if not isinstance(made, str) else ():
            for method in home.body:
                if isinstance(method, ast.FunctionDef) and method.name == "compute_loss":
                    yield made[0], method  # type: ignore[misc]


def _computes_alone(module: Module, call: ast.Call) -> bool:
    """Whether a Trainer's loss is never that of the library, which alone multiplies by the number of workers.

    That makes up for a count of all workers' tokens: a loss that is divided by it is not meant.
    """
    classes = list(classes_behind(module, call.func))
    return bool(classes) and all(not isinstance(made, str) and _is_own_loss(*made) for made in classes)


def _is_own_loss(module: Module, home: ast.ClassDef) -> bool:
    methods = method_of(module, home, "compute_loss")
    parts = (part for method in methods for part in ast.walk(method) if isinstance(part, ast.Attribute))
    asks = any(part.attr == "compute_loss" for part in parts)
    return bool(methods) and not asks and not any(_counts(module, method) for method in methods)


def _counts(module: Module, method: ast.FunctionDef) -> bool:
    """Whether a method does something with the count, or hands it on."""
    names = {COUNT, method.args.kwarg.arg if method.args.kwarg is not None else COUNT}
    return any(module.uses(name, module.scope(method)) for name in names)

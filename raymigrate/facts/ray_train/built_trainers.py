"""The TrainingArguments of the Trainers that an init function returns, wherever it has them made."""

import ast

from raymigrate.facts.projects.places import Places
from raymigrate.facts.ray_train.trainers import is_transformers_trainer
from raymigrate.facts.syntax.functions import returned_values
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import Source, argument, class_named, keyword_argument
from raymigrate.facts.values.keys import is_unpacked, unpacked_value
from raymigrate.knowledge.legacy import HF_TRAINERS, TRAINING_ARGUMENTS


def training_arguments(places: Places, init: ast.FunctionDef) -> list[ast.Call]:
    """The calls that make the TrainingArguments of every Trainer that a function returns.

    Those that are made before it runs do not count, whatever they say of the CPU: they have asked for their device
    then, and do not do so on the worker (transformers 5.23, training_args.py:1661, a cached property).

    Args:
        places: Those of the module that the function is in.
        init: The function, which may call others to build the Trainer.

    Returns:
        Them, none unless all are seen, and all are made by the function and those of the module that it calls.
    """
    module, reached = places.module, places.reached_from(init)
    values = returned_values(module, init)
    trainers = [source for value in values if value is not None for source in module.origins(value)]
    found = dict[ast.Call, None]()
    for trainer in trainers:
        given = _given(trainer)
        made = given.module.origins(given.node) if given is not None else []
        if not made:
            return []
        for source in made:
            call, home = source.node, source.module
            if not isinstance(call, ast.Call) or home.qualified(call.func) not in TRAINING_ARGUMENTS:
                return []
            if home is not module or module.function(call) not in reached:
                return []
            found[call] = None
    return list(found)


def _given(trainer: Source) -> Source | None:
    """What a Trainer is given for its arguments; None where that is not seen, or this is no Trainer that takes them."""
    module, call = trainer.module, trainer.node
    if not isinstance(call, ast.Call) or not _takes_arguments(module, call.func):
        return None
    args = argument(call, 1, "args")
    return Source(module, args) if args is not None else None


def _takes_arguments(module: Module, made: ast.expr) -> bool:
    """Whether a class is transformers.Trainer, or one derived from it that is constructed in the same way."""
    if module.qualified(made) in HF_TRAINERS:
        return True
    own = class_named(module, made)
    if own is None or not is_transformers_trainer(*own):
        return False
    home, node = own
    is_direct = all(home.qualified(base) in HF_TRAINERS for base in node.bases)
    return is_direct and "__init__" not in home.scope(node).bindings


def may_evaluate_by_steps(module: Module, arguments: ast.Call) -> bool:
    """Whether TrainingArguments may ask for an evaluation every so many steps: they do, or what they ask is not seen.

    Args:
        module: The module in which they are made.
        arguments: The call that makes them.
    """
    names = ("eval_strategy", "evaluation_strategy")
    given = next(filter(None, (keyword_argument(arguments, name) for name in names)), None)
    given = given or unpacked_value(module, arguments, *names)
    if given is not None:
        return module.constant(given) not in ("no", "epoch")
    return is_unpacked(module, arguments, *names) is None

"""Whether a module was written for transformers 4, as its arguments and the names that it imports show.

What transformers 5 still heeds shows nothing: `torch_dtype=` is another name of `dtype=` there (5.23,
modeling_utils.py:4147).
"""

import ast
from collections.abc import Collection, Iterator

from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.argument_changes import (
    ACCELERATOR_CHANGES,
    BITS,
    FROM_PRETRAINED_CHANGES,
    IGNORED_BY_MODELS,
    TRAINER_CHANGES,
    TRAINING_ARGUMENTS_CHANGES,
    TRL_CHANGES,
)
from raymigrate.codemods.libraries.trainer_subclasses import give_old_tokenizer
from raymigrate.facts.hugging_face.own_arguments import own_arguments
from raymigrate.facts.ray_train.trainers import is_transformers_trainer
from raymigrate.facts.syntax.functions import parameters
from raymigrate.facts.syntax.guards import is_guarded, is_ready
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import called_name
from raymigrate.knowledge.legacy import ACCELERATORS, HF_TRAINERS, TRAINING_ARGUMENTS
from raymigrate.knowledge.libraries import constructor, look_up, takes

# Arguments of methods of transformers that it refuses today, or does nothing with.
OF_METHODS: dict[str, Collection[str]] = {
    "from_pretrained": {*BITS, *FROM_PRETRAINED_CHANGES, *IGNORED_BY_MODELS},
    "save_pretrained": {"save_function"},
}
ARGUMENTS_OF_TRL = {*TRAINING_ARGUMENTS_CHANGES, *TRL_CHANGES, *TRAINER_CHANGES}
COUNT = "num_items_in_batch"
ALIKE = "diffusers"  # whose models have such methods too, and still heed these arguments


@kept
def has_old_arguments(module: Module) -> bool:
    """Whether TrainingArguments, a Trainer or what loads a model have arguments that transformers 5 no longer takes.

    Once the module is converted they are gone, so that a second run does not find them.
    """
    loads = (call for call, _ in module.method_calls("from_pretrained"))
    if any(keyword.arg in BITS for call in loads for keyword in call.keywords):
        return True
    own = own_arguments(module, TRAINING_ARGUMENTS_CHANGES)
    if any(keyword.arg in TRAINING_ARGUMENTS_CHANGES for call, _ in own for keyword in call.keywords):
        return True
    if _has_old_arguments_of_trl(module) or give_old_tokenizer(module):
        return True
    return any(
        keyword.arg in changes
        for names, changes in ((TRAINING_ARGUMENTS, TRAINING_ARGUMENTS_CHANGES), (HF_TRAINERS, TRAINER_CHANGES))
        for call in module.calls(*names)
        for keyword in call.keywords
    )


def _has_old_arguments_of_trl(module: Module) -> bool:
    """Whether classes of trl have arguments that they lost before trl went with transformers 5."""
    calls = module.calls(*{reference.qualified for reference in module.references_within("trl")})
    taken = [(call, constructor(look_up(called_name(module, call)).place)) for call in calls if call.keywords]
    return any(
        given is not None
        and keyword.arg in ARGUMENTS_OF_TRL
        and not takes(given, str(keyword.arg))
        and not is_guarded(module, keyword, str(keyword.arg))
        for call, given in taken
        for keyword in call.keywords
    )


@kept
def has_late_arguments(module: Module) -> bool:
    """Whether models are loaded with `dtype=`, which transformers takes since 4.56 (modeling_utils.py:4751 there).

    Its Trainer averaged the loss as that of transformers 5 does (4.56.0, training_args.py:1569; trainer.py:4049). The
    dtype float32 shows nothing: RM751 asks for it, perhaps before a script is converted.
    """
    given = (
        keyword.value
        for call in _calls_of_method(module, "from_pretrained")
        for keyword in call.keywords
        if keyword.arg == "dtype" and not is_guarded(module, keyword, "dtype")
    )
    return any(
        module.qualified(dtype) != "torch.float32" and module.constant(dtype) != "float32"
        for dtype in map(module.value, given)
    )


def has_old_losses(module: Module) -> bool:
    """Whether a class made from Trainer computes its loss by a method that the Trainer of today cannot call."""
    methods = (node for node in module.of_type(ast.FunctionDef) if node.name == "compute_loss")
    return any(
        isinstance(owner := module.parent_of[method], ast.ClassDef)
        and takes_no_count(method)
        and is_transformers_trainer(module, owner)
        for method in methods
    )


def takes_no_count(method: ast.FunctionDef) -> bool:
    """Whether a method `compute_loss` has no parameter for the number of items that Trainer gives since 4.46."""
    given = method.args
    return not (given.kwarg or given.vararg) and COUNT not in {parameter.arg for parameter in parameters(method)}


def is_for_old_transformers(context: Context) -> bool:
    """Whether a module ran with transformers 4: it is of a legacy job, or its arguments or names show it."""
    return (
        context.of_legacy_job
        or has_old_arguments(context.module)
        or _has_arguments_without_effect(context.module)
        or has_old_names(context.module)
    )


def _has_arguments_without_effect(module: Module) -> bool:
    """Whether methods or an Accelerator have arguments that the libraries do not heed today."""
    given = [(call, arguments) for name, arguments in OF_METHODS.items() for call in _calls_of_method(module, name)]
    # accelerate 1 refuses its own, and transformers 5 needs that.
    given += [(call, ACCELERATOR_CHANGES.keys()) for call in module.calls(*ACCELERATORS)]
    return any(keyword.arg in arguments for call, arguments in given for keyword in call.keywords)


def _calls_of_method(module: Module, name: str) -> Iterator[ast.Call]:
    """The calls of a method of a class of transformers, or of an object of which nothing else is known."""
    is_sure = not module.references_within(ALIKE)
    for call, method in module.method_calls(name):
        qualified = module.qualified(method)
        if qualified.startswith("transformers.") if qualified is not None else is_sure:
            yield call


def has_old_names(module: Module) -> bool:
    """Whether a module uses a name that transformers does not have today, and does not reckon with that."""
    for reference in module.references_within("transformers"):
        gone = look_up(reference.qualified).gone
        if gone is not None and not is_ready(module, reference, gone.rpartition(".")[2]):
            return True
    return False

"""RM858: random numbers and parameters of a loop that a prepared loader and several processes change."""

import ast
import sys
from collections.abc import Collection

from raymigrate.codemods.shared import second_backwards
from raymigrate.codemods.to_accelerate.changes import Changes
from raymigrate.codemods.to_accelerate.device_maps import tell_device_maps
from raymigrate.codemods.to_accelerate.processes import SET_UP
from raymigrate.codemods.to_accelerate.rules import RM858
from raymigrate.codemods.to_accelerate.training import Loop, Training
from raymigrate.codemods.to_accelerate.variables import Variable, in_order
from raymigrate.codemods.to_accelerate.wrappers import DDP
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.torch.random_draws import drawn_in, drawn_while_read, shared_seed
from raymigrate.facts.torch.unused_parameters import finds_unused, uses_all_parameters
from raymigrate.facts.values import argument

WITH_DROPOUT = ("Transformer", "MultiheadAttention")  # layers of torch that drop by default, or are given a rate

# Packages whose models may drop, wherever one is made: in a function that gives it, or for an attribute of a class.
OF_MODELS = ("transformers.", "peft.", "timm.", "sentence_transformers.", "diffusers.", "torchvision.models.")
WITHOUT_MODELS = frozenset({"torch", "torchvision", "numpy", *sys.stdlib_module_names})


def tell_draws(changes: Changes, training: Training, loaders: Collection[Variable], loops: list[Loop]) -> None:
    """Plans the findings.

    Args:
        changes: The edits of the conversion.
        training: What is trained.
        loaders: The loaders that are prepared.
        loops: The loops that train.
    """
    _augmented(changes, training, loaders, loops)
    tell_device_maps(changes, training, loops[0])
    module = training.module
    if any(module.calls(*DDP, *SET_UP)):  # it had several processes before
        return
    losses = {call: call.func.value for call in training.backwards if isinstance(call.func, ast.Attribute)}
    models = frozenset(training.models)
    again = second_backwards.second_backwards(module, losses, lambda called: training.variables.of(called) & models)
    for later in again:
        changes.manual(RM858, later, second_backwards.MESSAGE, second_backwards.ADVICE)
    seed = shared_seed(module)
    if seed is not None:
        changes.note(
            RM858,
            seed,
            "Several processes all set this seed: dropout masks and random augmentation of the same step draw the same"
            " numbers in each of them. accelerate's set_seed(..., device_specific=True) draws others, for other"
            " results.",
        )
    makers = _model_makers(training)
    if not finds_unused(module) and not (makers and all(uses_all_parameters(module, maker) for maker in makers)):
        changes.note(
            RM858,
            loops[0].node,
            "Several processes raise a RuntimeError where a step leaves parameters of the model without a gradient,"
            " unless the Accelerator has"
            " kwargs_handlers=[DistributedDataParallelKwargs(find_unused_parameters=True)].",
        )


def _augmented(changes: Changes, training: Training, loaders: Collection[Variable], loops: list[Loop]) -> None:
    """Tells of data that draws random numbers in the main process, a batch ahead of what the loop draws."""
    trained = training.loaders_of(*loops)
    drawn = {kind for loop in loops for kind in drawn_in(training.module, loop.node)}
    if _drops(training):
        drawn.add("torch")
    for loader in in_order(trained & set(loaders)):
        for maker in training.variables.makers(loader):
            if not isinstance(maker, ast.Call) or maker not in training.module.scope_of:
                continue
            both = sorted(drawn & drawn_while_read(training.module, maker))
            if both:
                workers, rows = argument(maker, 5, "num_workers"), "The rows"
                if workers is not None and training.module.constant(workers) is ...:
                    rows = f"Where `{training.module.source(workers)}` is 0, the rows"
                changes.note(
                    RM858,
                    maker,
                    f"{rows} of `{loader.name}` draw random numbers of {' and '.join(both)} in the main process, and"
                    " so does the loop, as for dropout. A prepared loader fetches a batch ahead: with one process too"
                    " both get other numbers than before, and the training is as good, and not the same. With"
                    " num_workers=1 rows draw in a process of their own.",
                )


def _drops(training: Training) -> bool:
    """Whether a model may draw random numbers for dropout: it is seen to do so, or it is not seen."""
    makers = _model_makers(training)
    return not makers or any(_holds_dropout(training.module, maker, set()) for maker in makers)


def _model_makers(training: Training) -> list[ast.expr]:
    """The expressions that make the models."""
    return [maker for model in training.models for maker in training.variables.makers(model)]


def _holds_dropout(module: Module, node: ast.AST, seen: set[ast.AST]) -> bool:
    if node not in module.scope_of or node in seen:
        return node not in seen
    seen.add(node)
    for part in ast.walk(node):
        word = getattr(part, "attr", getattr(part, "id", getattr(part, "arg", None)))
        if isinstance(word, str) and ("dropout" in word.lower() or word.startswith(WITH_DROPOUT)):
            return True
        if not isinstance(part, ast.Call):
            continue
        definition, name = module.definition(part.func), module.qualified(part.func)
        if definition is not None and not isinstance(definition, ast.alias):
            if _holds_dropout(module, definition, seen):
                return True
            continue
        if name is None:
            continue
        is_class = name.rpartition(".")[2][0].isupper() and name.partition(".")[0] not in WITHOUT_MODELS
        if name.startswith(OF_MODELS) or is_class or (part is node and not name.startswith("torch.")):
            return True  # a model of a library, or of another file, in whatever layers: `nn.Sequential(Net(), ...)`
    return False

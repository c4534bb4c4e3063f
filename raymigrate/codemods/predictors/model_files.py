"""What a pipeline is made with where a predictor is left: the files of its model, and what is called in its place."""

import ast

from raymigrate.codemods.context import Context
from raymigrate.codemods.predictors.instead import READY
from raymigrate.codemods.shared.checkpoint_files import in_words, layout_after
from raymigrate.facts.ray_train.results import Layout
from raymigrate.facts.syntax.calls import calls_on
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import argument, called_name, sources
from raymigrate.knowledge.legacy import BATCH_PREDICTORS

LOADED = "The model is in {files}, inside `with checkpoint.as_directory() as folder:`."
OF_CHECKPOINT = "Load a transformers pipeline with the model of the checkpoint in its place."
ITS_PIPELINE = "That is what its attribute pipeline was."


def of_checkpoint(module: Module, call: ast.Call) -> str:
    """What to do where one predictor is made of a checkpoint, and a script asks it itself.

    Args:
        module: The module.
        call: What makes it: `TransformersPredictor.from_checkpoint(checkpoint, task=...)`.
    """
    is_taken = any(call in sources(module, node.value) for node in module.attributes("pipeline"))
    is_asked = bool(calls_on(module, call, "predict"))
    said = [OF_CHECKPOINT, ITS_PIPELINE if is_taken else "", READY if is_asked or not is_taken else ""]
    return " ".join(filter(None, said))


def of_files(context: Context, made: ast.Call | None, *, of_pipeline: bool) -> str:
    """Where the files of the model are; empty where nothing shows that it is one of Transformers.

    Args:
        context: The module.
        made: The call that gets the checkpoint as its first argument, if it is one.
        of_pipeline: Whether a predictor of a pipeline surely loads it.
    """
    checkpoint = argument(made, 0, "checkpoint") if made is not None else None
    place = layout_after(context, checkpoint) if checkpoint is not None else None
    if place is None and not of_pipeline:
        return ""
    return in_words(LOADED, place or Layout.UNKNOWN)


def is_of_batch_predictor(module: Module, node: ast.expr) -> bool:
    """Whether a class is an argument of a BatchPredictor, whose own finding says the rest.

    Args:
        module: The module.
        node: What names the class.
    """
    return called_name(module, module.taking(node)).startswith(BATCH_PREDICTORS)

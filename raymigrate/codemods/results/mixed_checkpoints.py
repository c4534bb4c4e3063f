"""RM602 where the trainer of a run is chosen at run time, and may be one of Transformers or another one."""

import ast

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.results.checkpoint_readers import EITHER, RM602, readers
from raymigrate.codemods.results.handed_checkpoints import is_handed_a_model
from raymigrate.codemods.shared.checkpoint_files import layout_after
from raymigrate.facts.hugging_face.model_folders import leads_to_model
from raymigrate.facts.ray_train.checkpoint_folders import name_of_folder
from raymigrate.facts.ray_train.results import trainers_of
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import sources
from raymigrate.knowledge.legacy import TRANSFORMERS_TRAINERS

METHODS = ("as_directory", "to_directory", "path")
MESSAGE = (
    "Where this is the run of a Transformers trainer, and not of another one, the files of Transformers lie in the"
    ' folder "checkpoint" of its checkpoint.'
)


@codemod(*METHODS, phase=Phase.RESULTS, after=[readers])
def mixed_checkpoints(context: Context) -> None:
    """Tells of models that are loaded from the checkpoint of a run that may be of one of several trainers."""
    module = context.module
    for read in module.attributes(*METHODS):
        is_open = _loads_model(module, read) and layout_after(context, read.value) is None
        if is_open and _is_mixed(module, read.value) and not is_handed_a_model(module, read):
            context.manual(RM602, read, MESSAGE, EITHER)


def _is_mixed(module: Module, checkpoint: ast.expr) -> bool:
    """Whether a checkpoint is that of a run whose trainer may be one of Transformers, or another one."""
    reads = [source for source in sources(module, checkpoint) if isinstance(source, ast.Attribute)]
    names = {name for read in reads if read.attr == "checkpoint" for name in trainers_of(module, read.value)}
    others = names - TRANSFORMERS_TRAINERS - {None}  # None: perhaps of a trial, of which RM602 tells by itself
    return bool(others) and not names.isdisjoint(TRANSFORMERS_TRAINERS)


def _loads_model(module: Module, read: ast.Attribute) -> bool:
    """Whether a model is loaded from the folder of a checkpoint, under its name or where it stands."""
    named = module.uses_of(name_of_folder(module, read))
    return any(leads_to_model(module, use) for use in (*named, read, module.parent_of[read]))

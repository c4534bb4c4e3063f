"""RM858: a trained model that is spread over several devices, which several processes cannot train.

accelerate 1.15, accelerator.py:1815, prepare_model: "You can't train a model that has been loaded with
`device_map='auto'` in any distributed mode."
"""

import ast

from raymigrate.codemods.to_accelerate.changes import Changes
from raymigrate.codemods.to_accelerate.rules import RM858
from raymigrate.codemods.to_accelerate.training import Loop, Training
from raymigrate.facts.hugging_face.spread_models import makers_of, spread_by

SPREADS = (
    'device_map="{}" spreads the model over all GPUs that a process sees: with several processes prepare() raises a'
    " ValueError."
)
OWN_GPU = (
    'Write device_map={"": PartialState().local_process_index}, with PartialState from accelerate: each process has the'
    " model on its own GPU."
)


def tell_device_maps(changes: Changes, training: Training, loop: Loop) -> None:
    """Tells of trained models that are spread over GPUs.

    Args:
        changes: The edits of the conversion.
        training: What is trained.
        loop: The first loop that trains: what is loaded behind it under the same name is another model.
    """
    module = training.module
    spread = [word for word in module.of_type(ast.keyword) if spread_by(module, word)]
    makers = [maker for model in training.models for maker in training.variables.makers(model)] if spread else []
    made = makers_of(module, [maker for maker in makers if maker in module.scope_of]) if spread else None
    for word in spread:
        is_later = module.function(word) is module.function(loop.node) and module.start(word) > module.start(loop.node)
        if not is_later and (made is None or module.parent_of[word] in made):
            changes.manual(RM858, word, SPREADS.format(spread_by(module, word)), OWN_GPU)

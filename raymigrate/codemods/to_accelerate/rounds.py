"""RM858: a training that runs several times with one Accelerator, over folds or settings.

accelerate 1.15 keeps what prepare() was given in lists of the Accelerator, until free_memory() empties them
(accelerator.py): "You should call this method between two trainings with different models/optimizers."
"""

from raymigrate.codemods.to_accelerate.access import Access
from raymigrate.codemods.to_accelerate.changes import Changes
from raymigrate.codemods.to_accelerate.rules import RM858
from raymigrate.codemods.to_accelerate.training import Training
from raymigrate.facts.syntax.named_lines import own_lines

KEPT = (
    "Each round of the loop in {line} prepares another model here, and the Accelerator keeps those before it, with"
    " their optimizers: the memory of the GPU fills up."
)
FREE = "Call accelerator.free_memory() at the end of each round."


def tell_rounds(changes: Changes, training: Training, access: Access) -> None:
    """Tells where models are prepared in a loop around which the Accelerator is made.

    Args:
        changes: The edits.
        training: What is trained.
        access: Says where the Accelerator is made.
    """
    prepared, made = access.home.block[access.home.setup], access.block[access.place]
    outside = set(training.variables.loops_around(made))
    rounds = [loop for loop in training.variables.loops_around(prepared) if loop not in outside]
    if rounds:
        changes.manual(RM858, prepared, KEPT.format(line=own_lines(training.module, rounds[0])), FREE)

"""RM858: `loader.batch_size`, which is None of a prepared loader: its batch_sampler has the number.

accelerate 1.15 makes the loader anew with a batch_sampler (data_loader.py, `prepare_data_loader`), beside which torch
keeps no batch_size; a loader of an iterable dataset has no batch_sampler, and keeps its own.
"""

from __future__ import annotations

import ast
from collections.abc import Collection

from raymigrate.codemods.to_accelerate.changes import Changes
from raymigrate.codemods.to_accelerate.order import Order
from raymigrate.codemods.to_accelerate.rules import RM858
from raymigrate.codemods.to_accelerate.training import Training
from raymigrate.codemods.to_accelerate.variables import Variable
from raymigrate.facts.torch.iterable_datasets import gives_rows_in_turn
from raymigrate.facts.values import argument

SIZE = "batch_size"
NONE = "The batch_size of a prepared loader is None; that of its batch_sampler is the number."


def convert_batch_sizes(changes: Changes, training: Training, order: Order, loaders: Collection[Variable]) -> None:
    """Asks the batch_sampler of prepared loaders for the size of their batches.

    Args:
        changes: The edits.
        training: What is trained.
        order: Says what code runs after the loaders were prepared.
        loaders: The loaders that are prepared.
    """
    sized = {loader for loader in loaders if not _comes_in_turn(training, loader)}
    for node in training.module.attributes(SIZE):
        owner = training.container(node.value)
        if isinstance(node.ctx, ast.Load) and training.variables.of(owner) & sized and order.holds(node):
            if not changes.is_gone(node):
                changes.converted(RM858, node, NONE)
                changes.replace(node, "$loader.batch_sampler.batch_size", loader=node.value)


def _comes_in_turn(training: Training, loader: Variable) -> bool:
    """Whether a loader gives the rows of an iterable dataset."""
    makers = training.variables.makers(loader)
    given = [argument(maker, 0, "dataset") for maker in makers if isinstance(maker, ast.Call)]
    datasets = [dataset for dataset in given if dataset is not None and dataset in training.module.scope_of]
    return any(gives_rows_in_turn(training.module, dataset) for dataset in datasets)

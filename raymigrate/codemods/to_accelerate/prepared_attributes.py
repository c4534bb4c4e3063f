"""RM858: attributes that loaders, optimizers and schedulers have, and the prepared ones have not.

accelerate 1.15 makes a loader anew with a batch_sampler (data_loader.py, `prepare_data_loader`), beside which torch
keeps no batch_size; a loader of an iterable dataset has no batch_sampler, and keeps its own. AcceleratedOptimizer and
AcceleratedScheduler have the methods that train, and nothing else of what they wrap (optimizer.py, scheduler.py).
"""

import ast
from collections.abc import Collection

from raymigrate.codemods.to_accelerate.changes import Changes
from raymigrate.codemods.to_accelerate.order import Order
from raymigrate.codemods.to_accelerate.rules import RM858
from raymigrate.codemods.to_accelerate.sides import Side
from raymigrate.codemods.to_accelerate.training import Training
from raymigrate.codemods.to_accelerate.variables import Variable
from raymigrate.facts.torch.iterable_datasets import gives_rows_in_turn
from raymigrate.facts.values import argument

SIZE = "batch_size"
NONE = "The batch_size of a prepared loader is None; that of its batch_sampler is the number."
LACKS = "A prepared {kind} has no `{name}`, which would raise an AttributeError; asked is the one that it wraps."
OF_BOTH = ("step", "state_dict", "load_state_dict")
KNOWN = {
    "optimizer": frozenset(
        {*OF_BOTH, "zero_grad", "param_groups", "state", "defaults", "add_param_group", "train", "eval", "optimizer"}
    ),
    "scheduler": frozenset({*OF_BOTH, "get_last_lr", "get_lr", "print_lr", "scheduler"}),
}


class PreparedAttributes(Side):
    """What is asked of prepared things.

    Args:
        training: What is trained.
        order: Says what code runs after they were prepared.
    """

    def __init__(self, training: Training, order: Order) -> None:
        super().__init__(training)
        self.order = order

    def convert(self, changes: Changes, loaders: Collection[Variable], schedulers: Collection[Variable]) -> None:
        """Asks what is inside where a prepared thing has no answer of its own.

        Args:
            changes: The edits.
            loaders: The loaders that are prepared.
            schedulers: The schedulers that are.
        """
        self._sizes(changes, loaders)
        wrapped = {"optimizer": frozenset(self.training.optimizers), "scheduler": frozenset(schedulers)}
        for node in self.module.of_type(ast.Attribute):
            homes = self.variables.of(node.value) if isinstance(node.value, (ast.Name, ast.Attribute)) else frozenset()
            kind = next((kind for kind, known in wrapped.items() if homes and homes <= known), None)
            if kind is not None and node.attr not in KNOWN[kind] and self._is_asked(changes, node):
                changes.converted(RM858, node, LACKS.format(kind=kind, name=node.attr))
                changes.replace(node.value, f"$owner.{kind}", owner=self.module.source(node.value))

    def _sizes(self, changes: Changes, loaders: Collection[Variable]) -> None:
        sized = {loader for loader in loaders if not self._comes_in_turn(loader)}
        for node in self.module.attributes(SIZE):
            owner = self.training.container(node.value)
            if isinstance(node.ctx, ast.Load) and self.variables.of(owner) & sized and self._is_asked(changes, node):
                changes.converted(RM858, node, NONE)
                changes.replace(node, "$loader.batch_sampler.batch_size", loader=node.value)

    def _is_asked(self, changes: Changes, node: ast.Attribute) -> bool:
        return self.order.holds(node) and not changes.is_gone(node)

    def _comes_in_turn(self, loader: Variable) -> bool:
        """Whether a loader gives the rows of an iterable dataset."""
        given = [
            argument(maker, 0, "dataset") for maker in self.variables.makers(loader) if isinstance(maker, ast.Call)
        ]
        datasets = [dataset for dataset in given if dataset is not None and dataset in self.module.scope_of]
        return any(gives_rows_in_turn(self.module, dataset) for dataset in datasets)

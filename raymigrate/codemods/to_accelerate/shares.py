"""RM858: what it means for the rest of a script that a prepared loader gives each process its share of the rows."""

import ast
from collections.abc import Collection, Iterator
from functools import cached_property

from raymigrate.codemods.to_accelerate.changes import Changes
from raymigrate.codemods.to_accelerate.order import Order
from raymigrate.codemods.to_accelerate.rules import RM858
from raymigrate.codemods.to_accelerate.sides import Side
from raymigrate.codemods.to_accelerate.training import Training
from raymigrate.codemods.to_accelerate.variables import Variable, in_order
from raymigrate.facts.projects.environment import gpus_shown
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.torch.iterable_datasets import gives_rows_in_turn
from raymigrate.facts.torch.random_splits import unseeded_splits
from raymigrate.facts.values import argument, called_name, free_name, sources_here

READS_ALL = frozenset({"list", "tuple", "sorted", "set"})
MODES = frozenset({"train", "eval", "parameters", "zero_grad"})
# tqdm.asyncio.tqdm calls iter() on what it is given while it is made; tqdm.auto.tqdm is one.
EAGER_BARS = ("tqdm.auto.", "tqdm.asyncio.")
HIDES_DEVICES = "This hides the other GPUs from every process: {what}, and NCCL raises an error."
CHOOSE_THEM = "Drop it, and choose with `accelerate launch --gpu_ids`."


def hidden_devices(module: Module) -> Iterator[tuple[ast.AST, str, str]]:
    """Where a module says which GPUs its process sees, with what happens and what to do."""
    for place, are_several in gpus_shown(module):
        what = "more processes than these cannot train" if are_several else "several of them cannot train on one GPU"
        yield place, HIDES_DEVICES.format(what=what), CHOOSE_THEM


class Shares(Side):
    """Tells what changes for readers of prepared loaders.

    Args:
        training: What is trained.
        order: Says what code runs after the loaders were prepared.
        loaders: The loaders that are prepared.
        understood: The loops over them that train, or whose rows are gathered.
    """

    def __init__(
        self, training: Training, order: Order, loaders: Collection[Variable], understood: Collection[ast.For]
    ) -> None:
        super().__init__(training)
        self.order = order
        self.loaders = frozenset(loaders)
        self.understood = understood

    def tell(self, changes: Changes) -> None:
        """Plans the findings."""
        self._rows_in_turn(changes)
        for told in hidden_devices(self.module):
            changes.manual(RM858, *told)
        self._other_evaluations(changes)
        for call in unseeded_splits(self.module):
            changes.manual(
                RM858,
                call,
                "No seed is set before this: under several processes each of them splits or shuffles these rows in its"
                " own way. Some come twice in an epoch and others never, and what one holds out for"
                " validation another may train on.",
                "Set a seed before, the same in all processes: accelerate.utils.set_seed(42).",
            )
        for loop in self.training.loops:
            homes = self.training.loaders_of(loop)
            is_share = homes & self.loaders and loop.node not in self.understood and self.order.holds(loop.node)
            if is_share and not self.training.trains(loop.node):
                changes.manual(
                    RM858,
                    loop.node,
                    "Under several processes each of them goes through its own share of the rows here, and what it"
                    " makes of them is that of a part.",
                    "Collect what all processes make of them with accelerator.gather_for_metrics(...), or loop over a"
                    " DataLoader that is not prepared.",
                )
        for call in self._reads():
            changes.note(
                RM858,
                call,
                f"`{ast.unparse(call.args[0])}` is prepared: under several processes each of them gets batches of its"
                " own share here.",
            )
        self._second_loaders(changes)
        self._eager_bar(changes)

    def _rows_in_turn(self, changes: Changes) -> None:
        for loader in in_order(self.loaders):
            for maker in self.variables.makers(loader):
                dataset = argument(maker, 0, "dataset") if isinstance(maker, ast.Call) else None
                known = dataset is not None and dataset in self.module.scope_of
                if known and dataset is not None and gives_rows_in_turn(self.module, dataset):
                    changes.manual(
                        RM858,
                        maker,
                        f"The rows of `{loader.name}` come one after the other, from an iterable or streaming dataset."
                        " Under several processes the main one alone reads them, a batch for each, and sends the"
                        " others theirs: batches of different shapes raise a RuntimeError, and a dataset that gives"
                        " each process its share by itself is shared out twice.",
                        "Pad to a fixed length, or pass DataLoaderConfiguration(dispatch_batches=False) as"
                        " dataloader_config=: then each process reads all rows and keeps its own.",
                    )

    def _other_evaluations(self, changes: Changes) -> None:
        """Tells of loops over all rows that use the model otherwise than by calling it, as to generate."""
        for loop in self.training.loops:
            homes = self.training.loaders_of(loop)
            if homes & self.loaders or self.training.trains(loop.node) or not self.order.holds(loop.node):
                continue
            reads = [node for node in self.module.below(loop.node) if isinstance(node, ast.Attribute)]
            calls = [node.func for node in self.module.below(loop.node) if isinstance(node, ast.Call)]
            models = set(self.training.models)
            if any(self.variables.of(call) & models for call in calls if isinstance(call, ast.Name)):
                continue  # which is told where loaders are chosen
            if any(self.variables.of(r.value) & models for r in reads if r in calls and r.attr not in MODES):
                changes.note(
                    RM858,
                    loop.node,
                    "The rows of this loop are not split: under several processes each of them goes through all of"
                    " them.",
                )

    def _is_share(self, node: ast.expr | None) -> bool:
        homes = self.variables.of(node) if isinstance(node, (ast.Name, ast.Attribute)) else frozenset()
        return bool(homes) and homes <= self.loaders

    def _reads(self) -> Iterator[ast.Call]:
        """Calls such as `next(iter(loader))` and `list(loader)`, after the loader is prepared."""
        for call in self.module.of_type(ast.Call):
            reads = bool(call.args) and free_name(self.module, call.func) in {"iter", *READS_ALL}
            if reads and self._is_share(call.args[0]) and self.order.holds(call) and not self._is_gone_over(call):
                yield call

    def _is_gone_over(self, call: ast.Call) -> bool:
        """Whether a loop that is looked at by itself goes over what a call gives: `for batch in iter(loader)`."""
        iterated = {part for loop in self.training.loops for part in ast.walk(loop.node.iter)}
        name = self.module.name_of(call)
        return call in iterated or (name is not None and not iterated.isdisjoint(self.module.uses_of(name)))

    def _second_loaders(self, changes: Changes) -> None:
        """Tells of loaders beside that of a training loop, of which it takes a batch at a time: `next(batches)`."""
        told = set[str]()
        for call in self.module.named_calls("next"):
            if not call.args or not free_name(self.module, call.func) or not self._is_in_training_loop(call):
                continue
            for name in sorted(self._asked(call.args[0]) - told):
                told.add(name)
                changes.manual(
                    RM858,
                    call,
                    f"`{name}` is not prepared: under several processes each of them takes its batches from all of its"
                    " rows here, and the same ones where all set the same seed.",
                    f"If they are trained on, prepare it too, where it is made: accelerator.prepare({name}).",
                )

    def _asked(self, iterator: ast.expr) -> set[str]:
        """The unprepared loaders behind an iterator: `iter(loader)`, `endless(loader)`, `Endless(DataLoader(...))`."""
        sources = sources_here(self.module, iterator)
        given = [part for node in (iterator, *sources) for part in ast.walk(node) if part in self.module.scope_of]
        homes = [self.variables.of(part) for part in given if isinstance(part, (ast.Name, ast.Attribute))]
        named = {v.name for found in homes if self.training.is_loaders(found) for v in found - self.loaders}
        return named | {ast.unparse(part) for part in given if self.training.makes_loader(part)}  # type: ignore[arg-type]

    @cached_property
    def _training_loops(self) -> frozenset[ast.AST]:
        return frozenset(loop.node for loop in self.training.loops if self.training.trains(loop.node))

    def _is_in_training_loop(self, node: ast.AST) -> bool:
        """Whether code runs for the batches of a loop that trains, perhaps in a function that is called there."""
        return not self._training_loops.isdisjoint(self.variables.loops_around(node))

    def _eager_bar(self, changes: Changes) -> None:
        """Tells of the first bar that draws a random number from a loader of torch, and none from a prepared one."""
        for call in self.module.of_type(ast.Call):
            name = called_name(self.module, call)
            if name.startswith(EAGER_BARS) and call.args and self._is_share(call.args[0]) and self.order.holds(call):
                changes.note(
                    RM858,
                    call,
                    "The bar of tqdm.auto asks the loader for an iterator once more: a DataLoader of torch draws a"
                    " random number for it, a prepared one does not. So dropout and shuffling draw other numbers than"
                    " before from here on, with one process too; the training is as good, and not the same.",
                )
                return

"""RM806, RM828: what several workers make of data that comes row by row or is split at random."""

import ast
from collections.abc import Iterator

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.codemods.to_ray.trainer_calls import makes_trainer
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.torch.iterable_datasets import gives_rows_in_turn
from raymigrate.facts.torch.random_splits import unseeded_splits
from raymigrate.facts.values import argument

LOADERS = ("torch.utils.data.DataLoader", "torch.utils.data.dataloader.DataLoader")
MESSAGE = (
    "These rows come one after the other, from an iterable or streaming dataset. With several workers the first one"
    " alone reads them, a batch for each, and sends the others theirs: batches of different shapes raise a"
    " RuntimeError, and a dataset that gives each process its share by itself is shared out twice."
)
ADVICE = "Pad to a fixed length, or let each worker read all rows and keep its own:"
# How a worker is made to read all rows, and what that means for its steps.
BY_ARGUMENTS = (
    'TrainingArguments(accelerator_config={"dispatch_batches": False}). A step of max_steps takes a batch of every'
    " worker."
)
BY_ACCELERATOR = (
    "Accelerator(dataloader_config=DataLoaderConfiguration(dispatch_batches=False)). len(loader) raises a TypeError"
    " where the dataset has no length."
)


def tell_data(context: Context, rule: Rule, reads_all: str) -> None:
    """Tells of data without an index or that each worker splits anew.

    Args:
        context: The module.
        rule: The rule that tells.
        reads_all: `BY_ARGUMENTS` or `BY_ACCELERATOR`.
    """
    module = context.module
    for call in unseeded_splits(module):
        context.manual(
            rule,
            call,
            "No seed is set before this: each worker splits or shuffles these rows in its own way. Some come twice in"
            " an epoch and others never, and what one holds out for validation another may train on.",
            "Set a seed before: transformers.set_seed(42), or accelerate.utils.set_seed(42).",
        )
    for given in _trained_on(module):
        if gives_rows_in_turn(module, given):
            context.manual(rule, given, MESSAGE, f"{ADVICE} {reads_all}")


def _trained_on(module: Module) -> Iterator[ast.expr]:
    for call in module.of_type(ast.Call):
        if makes_trainer(module, call):
            given = [k.value for k in call.keywords if k.arg in ("train_dataset", "eval_dataset")]
        elif module.qualified(call.func) in LOADERS:
            given = [value for value in (argument(call, 0, "dataset"),) if value is not None]
        else:
            continue
        yield from given

"""RM205, RM501, RM502 and RM504 in scripts whose trainer is still there: TorchTrainer and its siblings.

`preprocessor=` and a dict as `dataset_config=` show that such a script was written for Ray 2.0 to 2.8. Where they are
missing nothing shows it: which datasets were split is then kept only where the Ray it was written for is known, and
asked where a script for an older Ray leaves it open.
"""

import ast

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.data.handed_datasets import handed, is_surely_one
from raymigrate.codemods.data.preprocessors import RM502
from raymigrate.codemods.data.split_datasets import (
    SPLIT_ALL_SINCE,
    keep_whole,
    leaves_split_open,
    split_train_only,
    tell_unknown,
    tell_unseen,
)
from raymigrate.codemods.data.trainer_arguments import prepare_datasets
from raymigrate.codemods.data.trainer_classes import SIBLINGS, SPLIT_ALL, TRAINERS_WITH_DATA
from raymigrate.codemods.phases import Phase
from raymigrate.facts.ray_train.trainers import TRAIN_LOOP, TrainerCall, trainer_calls
from raymigrate.facts.values import Source


@codemod(*sorted({name.rpartition(".")[2] for name in TRAINERS_WITH_DATA}), phase=Phase.CONFIGURATION)
def convert_data(context: Context) -> None:
    """Applies the preprocessor before the trainer is built, and makes a DataConfig of a dict."""
    for call in trainer_calls(context.module, TRAINERS_WITH_DATA, TRAIN_LOOP):
        convert_data_of(context, call)


def convert_data_of(context: Context, call: TrainerCall) -> None:
    """Does what `convert_data` does for one trainer; a Tuner asks for it first, as its function builds a second one."""
    given, edit = call.arguments.get("preprocessor"), context.plan.call(call.node)
    name = context.module.qualified(call.node.func)
    if call.unpacked:
        if name not in SPLIT_ALL:
            _keep_split_of_unpacked(context, call)
        return
    if "preprocessor" in edit.remove:
        return
    if given is None and name not in SPLIT_ALL and leaves_split_open(context, call):
        _keep_split(context, call)
    if given is None and "dataset_config" not in call.arguments:
        return
    if call.datasets.node is not None:
        prepare_datasets(context, call)
    if "preprocessor" not in edit.remove:
        if given is not None and name in SIBLINGS and context.module.constant(given) is not None:
            context.manual(RM502, given, f"{context.module.source(call.node.func)} has no preprocessor argument.")
        if given is not None and name not in SPLIT_ALL and leaves_split_open(context, call):
            _keep_split(context, call, beside=Source(context.module, given))
        return
    if leaves_split_open(context, call) and name not in SPLIT_ALL:
        split_train_only(context, call)  # with a preprocessor only the training data was split, up to Ray 2.8


def _keep_split_of_unpacked(context: Context, call: TrainerCall) -> None:
    """The same as `_keep_split` for a call in which a dict is unpacked: it may have datasets and DataConfig."""
    given = handed(call.module, call.node)
    shown = "dataset_config" in call.arguments
    if not (leaves_split_open(context, call) if shown else given.leaves_split_open()):
        return
    place = given.places.get("datasets")
    if given.whole:
        _keep_split(context, call, given.values.get("preprocessor"), place)
    elif not context.options.guide and context.of_legacy_job and context.from_ray.lowest < SPLIT_ALL_SINCE:
        tell_unseen(context, call, place)


def _keep_split(
    context: Context, call: TrainerCall, beside: Source | None = None, place: ast.AST | None = None
) -> None:
    """Lets only the training data be split, where that is how it was; asks where that is open.

    Args:
        beside: A preprocessor that a person has to apply: with one it was so up to Ray 2.8.
        place: Where the datasets are written, if not in the call.
    """
    if context.options.guide:
        return
    if context.from_ray.surely_before(SPLIT_ALL_SINCE) or is_surely_one(beside):
        keep_whole(context, call, place)
    elif context.of_legacy_job and context.from_ray.lowest < SPLIT_ALL_SINCE:
        tell_unknown(context, call, place)

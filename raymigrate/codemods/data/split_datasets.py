"""RM205: datasets that every worker saw whole, where Ray <= 2.6 split only the training data among the workers.

The Ray that the code was written for decides: from 2.7 on DataConfig splits all datasets by default, as today. Ray
2.6.3, train/_internal/data_config.py: `datasets_to_split` is ["train"] unless another list is given.
"""

import ast

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.edits.plan import Code
from raymigrate.facts.ray_train.scaling import has_one_worker
from raymigrate.facts.ray_train.trainers import TrainerCall
from raymigrate.facts.values import is_none, named_arguments, unpacked_dicts

RM205 = Rule(
    "RM205",
    "datasets that every worker saw whole",
    "Ray <= 2.6 split only the training data among the workers; Ray >= 2.7 splits all datasets. The shard of a dataset"
    " that is split waits until every worker reads its own: forever, where one reads alone.",
    'DataConfig(datasets_to_split=["train"]) keeps it. If the code was written for Ray 2.7, give --from-ray 2.7.',
    "https://docs.ray.io/en/latest/train/api/doc/ray.train.DataConfig.html",
)
SPLIT_ALL_SINCE = (2, 7)
OPEN = (
    "The imports are of Ray >= 2.7, which split every dataset; but an earlier run may have written them, and Ray <= 2.6"
    " split the training data only."
)
SAY = (
    "If the job ran on Ray <= 2.6, run raymigrate --from-ray 2.6 on this file. If the imports are your own, there is"
    " nothing to do; --from-ray 2.7 says so."
)
TRAIN_DATA_ONLY = (
    "Ray <= 2.6 split the training data only, Ray >= 2.7 splits every dataset: each worker now reads a part of the"
    " others, and one that reads its part alone waits for ever."
)
UNKNOWN = (
    "Ray <= 2.6 split the training data only, Ray >= 2.7 splits every dataset, and nothing tells for which this was"
    " written: each worker now reads a part of the others, and one that reads its part alone waits for ever."
)
IF_OLDER = (
    'If the job ran on Ray <= 2.6, run raymigrate --from-ray 2.6 on this file: it writes datasets_to_split=["train"].'
    " Else there is nothing to do; --from-ray 2.7 says so."
)
UNSEEN = (
    "Ray <= 2.6 split the training data only, Ray >= 2.7 splits every dataset, and it cannot be seen whether what is"
    " unpacked here has a dataset_config: without one each worker now reads a part of the others, and one that reads"
    " its part alone waits for ever."
)
GIVE_ONE = (
    "If the job ran on Ray <= 2.6 and it has none, give dataset_config=ray.train.DataConfig(datasets_to_split="
    '["train"]) here. Else there is nothing to do.'
)
TRAIN_ONLY = '["train"]'


def leaves_split_open(context: Context, call: TrainerCall) -> bool:
    """Whether a trainer has datasets besides the training data, and does not say which ones are split."""
    others = call.datasets.keys is None or call.datasets.keys.keys() - {"train"}
    given = call.arguments.get("dataset_config")
    says_nothing = given is None or is_none(context.module.value(given))
    return bool(others) and (says_nothing or open_data_config(context, call) is not None)


def open_data_config(context: Context, call: TrainerCall) -> ast.Call | None:
    """The DataConfig of a trainer, if that does not say which datasets are split."""
    given = call.arguments.get("dataset_config")
    made = context.module.value(given) if given is not None else None
    if not isinstance(made, ast.Call) or context.module.qualified(made.func) != "ray.train.DataConfig" or made.args:
        return None
    split = named_arguments(made)
    is_open = context.module.constant(split.get("datasets_to_split")) is None  # None meant the default in Ray 2.6
    return made if is_open and not unpacked_dicts(made) else None


def keep_whole(context: Context, call: TrainerCall, place: ast.AST | None = None) -> None:
    """Lets only the training data be split.

    Args:
        context: The module.
        call: The trainer call.
        place: Where the datasets are written, if not in the call.
    """
    message = "Ray >= 2.7 would split every dataset; now only the training data, as before."
    if context.converts(RM205, _place(call, place), message):
        split_train_only(context, call)


def tell_open(context: Context, call: TrainerCall) -> None:
    """Tells that nothing shows which datasets were split, where an earlier run may have written the imports."""
    assert call.datasets.node is not None
    context.manual(RM205, call.datasets.node, OPEN, SAY)


def tell_unknown(context: Context, call: TrainerCall, place: ast.AST | None) -> None:
    """Tells that nothing shows which datasets were split; one worker reads all of them in either case."""
    if not has_one_worker(call.module, call.node):
        context.manual(RM205, _place(call, place), UNKNOWN, IF_OLDER)


def tell_unseen(context: Context, call: TrainerCall, place: ast.AST | None) -> None:
    """Tells of a trainer whose DataConfig may be among what is unpacked in its call."""
    if not has_one_worker(call.module, call.node):
        context.manual(RM205, _place(call, place), UNSEEN, GIVE_ONE)


def _place(call: TrainerCall, place: ast.AST | None) -> ast.AST:
    """Where the datasets are written: the place that is given, or the argument of the call."""
    found = place if place is not None else call.datasets.node
    assert found is not None
    return found


def split_train_only(context: Context, call: TrainerCall, options: str = "") -> None:
    """Writes that only the training data is split.

    Args:
        context: The module.
        call: The trainer call.
        options: More arguments for a DataConfig that is not there yet.
    """
    made = open_data_config(context, call)
    if made is not None:
        edit = context.plan.call(made)
        edit.values = {"datasets_to_split": Code(TRAIN_ONLY), **edit.values}  # what is split comes first
        return
    near = context.module.import_of(call.node.func)
    context.plan.need_import("ray.train", "DataConfig", near=near)
    context.plan.call(call.node).set("dataset_config", f"DataConfig(datasets_to_split={TRAIN_ONLY}{options})")

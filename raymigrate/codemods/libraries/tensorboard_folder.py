"""Where TensorBoard writes what a Trainer logs, which `logging_dir=` said up to transformers 4.

transformers 5.23, integrations/integration_utils.py:602: TENSORBOARD_LOGGING_DIR, else a folder below output_dir/runs.
"""

import ast

from raymigrate.codemods.context import Context
from raymigrate.facts.ray_train.removed_trackers import TrackerUse
from raymigrate.facts.values import Source, keyword_argument

WITH_TENSORBOARD = ("tensorboard", "all", None)  # None meant "all" up to transformers 4
ELSEWHERE = (
    "TensorBoard does not write into logging_dir any more, but below output_dir/runs: the environment variable"
    " TENSORBOARD_LOGGING_DIR with the same folder, set where the Trainer runs, keeps it."
)


def writes_elsewhere(context: Context, call: ast.Call) -> bool:
    """Whether TrainingArguments that lose their logging_dir= surely log there, by what report_to= says.

    Args:
        context: The module.
        call: What makes them.
    """
    asked = keyword_argument(call, "report_to")
    ends = context.module.origins(asked) if asked is not None else []
    named = all(_names_tensorboard(end) for end in ends)  # of each branch: `[..., "wandb"] if args.wandb else [...]`
    return bool(ends) and named and not TrackerUse(context.places).had_none(call)


def _names_tensorboard(end: Source) -> bool:
    """Whether one value of report_to= surely has TensorBoard among its trackers."""
    parts = end.node.elts if isinstance(end.node, (ast.List, ast.Tuple)) else [end.node]
    return any(end.module.constant(part) in WITH_TENSORBOARD for part in parts)


def without_folder(context: Context, call: ast.Call) -> str:
    """What to say of TrainingArguments that lose their logging_dir=: nothing if they surely never log there.

    Args:
        context: The module.
        call: What makes them.
    """
    asked = keyword_argument(call, "report_to")
    named = context.module.constant(asked) if asked is not None else ...
    several = named if isinstance(named, (list, tuple, set)) else [named]
    may_log = any(tracker is ... or tracker in WITH_TENSORBOARD for tracker in several)
    if not may_log or TrackerUse(context.places).had_none(call):
        return ""
    return ": if report_to= asks for TensorBoard, it writes below output_dir/runs or where TENSORBOARD_LOGGING_DIR says"

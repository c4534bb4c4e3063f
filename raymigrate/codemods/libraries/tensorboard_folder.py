"""Where TensorBoard writes what a Trainer logs, which `logging_dir=` said up to transformers 4.

transformers 5.23, integrations/integration_utils.py:602: TENSORBOARD_LOGGING_DIR, else a folder below output_dir/runs.
"""

import ast

from raymigrate.codemods.context import Context
from raymigrate.facts.removed_trackers import TrackerUse
from raymigrate.facts.values import keyword_argument

WITH_TENSORBOARD = ("tensorboard", "all")


def without_folder(context: Context, call: ast.Call) -> str:
    """What to say of TrainingArguments that lose their logging_dir=: nothing if they surely never log there.

    Args:
        context: The module.
        call: What makes them.
    """
    asked = keyword_argument(call, "report_to")
    named = context.module.constant(asked) if asked is not None else ...
    may_log = named is ... or any(tracker in str(named) for tracker in WITH_TENSORBOARD)
    if not may_log or TrackerUse(context.places).had_none(call):
        return ""
    return ": if report_to= asks for TensorBoard, it writes below output_dir/runs or where TENSORBOARD_LOGGING_DIR says"

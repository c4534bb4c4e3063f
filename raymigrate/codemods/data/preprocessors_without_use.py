"""RM502: the preprocessor of a trainer whose DatasetConfigs say of each dataset that it is not transformed.

Legacy Ray put it into the checkpoints, and did nothing else with it (Ray 2.6.3, train/_internal/dataset_spec.py,
`preprocess_datasets`). The run that takes the DatasetConfigs away has to take it too: a later one could not tell.
"""

import ast

from raymigrate.codemods.context import Context
from raymigrate.codemods.data.dataset_config import transforms_nothing
from raymigrate.codemods.data.preprocessors import RM502
from raymigrate.codemods.shared.preprocessor_advice import KEPT_IN_FILE, is_gone, stages_of
from raymigrate.edits.plan import Code
from raymigrate.facts.ray_data.preprocessors import class_name
from raymigrate.facts.ray_train.trainers import TrainerCall
from raymigrate.facts.values import is_none

DROPPED = "No dataset was transformed with this preprocessor, it was only kept in the checkpoints; dropped."
NOTE = f"What read the preprocessor from a checkpoint can take it itself; {KEPT_IN_FILE}."


def drop_without_use(context: Context, call: TrainerCall) -> bool:
    """Takes away a preprocessor that transformed no dataset; returns whether it did."""
    given = call.arguments.get("preprocessor")
    if given is None or is_none(given) or not transforms_nothing(context, call.node):
        return False
    if is_gone(stages_of(context.module, given)) or not context.converts(RM502, given, DROPPED):
        return False
    context.note(RM502, given, NOTE)
    context.plan.call(call.node).remove.add("preprocessor")
    if not isinstance(given, (ast.Name, ast.Attribute)) and class_name(context.module, given) is None:
        # It may do more than make one: `scaler.fit(dataset)`.
        context.plan.statement(call.statement).before.append(Code("$given", {"given": given}))
    return True

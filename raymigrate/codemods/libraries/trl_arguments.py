"""RM701, RM702 and RM705 for the configurations of trl, which are made from TrainingArguments.

What that lost they lost too: SFTConfig(warmup_ratio=) is a TypeError as TrainingArguments(warmup_ratio=) is. A class
that has an argument of the old name itself keeps it. What else they refuse, rescan.py tells (RM693).
"""

from collections.abc import Mapping

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.argument_changes import TRAINING_ARGUMENTS_CHANGES, TRL_CHANGES, VALUES, Change
from raymigrate.codemods.libraries.argument_edits import change_argument
from raymigrate.codemods.libraries.refused_values import change_value
from raymigrate.codemods.libraries.transformers_arguments import keyword_arguments
from raymigrate.codemods.phases import Phase
from raymigrate.facts.hugging_face.instances import TRAINING_ARGUMENTS
from raymigrate.facts.syntax.guards import is_guarded
from raymigrate.facts.values import called_name
from raymigrate.knowledge.libraries import constructor, lineage, look_up, takes

CHANGES: Mapping[str, Change] = {**TRAINING_ARGUMENTS_CHANGES, **TRL_CHANGES}


@codemod("trl", phase=Phase.LIBRARIES, after=[keyword_arguments])
def trl_arguments(context: Context) -> None:
    """Renames and deletes arguments of SFTConfig, DPOConfig and their like."""
    for call in context.module.calls_if(lambda name: name.startswith("trl.")):
        place = look_up(called_name(context.module, call)).place
        if TRAINING_ARGUMENTS not in lineage(place):
            continue
        given = constructor(place) or ()
        for keyword in call.keywords:
            change = CHANGES.get(keyword.arg or "")
            if keyword.arg in VALUES:
                change_value(context, call, keyword)
            elif change is not None and not takes(given, str(keyword.arg)):
                has_new = change.name is None or takes(given, change.name)
                if has_new and not is_guarded(context.module, keyword, str(keyword.arg)):
                    change_argument(context, call, keyword, change)

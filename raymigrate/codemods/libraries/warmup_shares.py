"""RM705 for warmup_steps= below 1: less than a step with transformers 4, a share of all steps since transformers 5.

transformers 4.30, training_args.py: get_warmup_steps() gave what was there if it was above 0, and a schedule of
optimization.py had a rate of 0 as long as the number of the step was below it; 5.23, training_args.py:2154.
"""

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.argument_changes import TRAINING_ARGUMENTS_CHANGES
from raymigrate.codemods.libraries.argument_rules import RM705
from raymigrate.codemods.libraries.transformers_arguments import keyword_arguments
from raymigrate.codemods.phases import Phase
from raymigrate.facts.hugging_face.own_arguments import calls_without_own
from raymigrate.facts.values import constants, keyword_argument
from raymigrate.facts.values.keys import unpacked_value

STEPS = "warmup_steps"
# What a conversion takes out of a call, whatever its value: a call with one of them was written for transformers 4.
# Without that the share may be meant, and a conversion of warmup_ratio= writes it.
OLD = frozenset(name for name, change in TRAINING_ARGUMENTS_CHANGES.items() if change.only_if(...))
MESSAGE = (
    "warmup_steps={} was less than one step, in which the rate was 0; since transformers 5 it is a share of all steps."
)
ADVICE = "Write 1 for what the script did, or leave it for a share of the steps, and verify the job."


@codemod(STEPS, phase=Phase.LIBRARIES, after=[keyword_arguments])
def warmup_shares(context: Context) -> None:
    """Reports `warmup_steps=0.1` beside arguments of transformers 4."""
    module = context.module
    for call in calls_without_own(module, STEPS):
        given = keyword_argument(call, STEPS) or unpacked_value(module, call, STEPS)
        is_old = any(keyword.arg in OLD for keyword in call.keywords) or unpacked_value(module, call, *OLD) is not None
        if given is None or not is_old:
            continue
        for _, value in constants(module, given):
            if isinstance(value, float) and 0 < value < 1:
                context.manual(RM705, given, MESSAGE.format(value), ADVICE)

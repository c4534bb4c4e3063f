"""RM753: TrainingArguments that leave the default of report_to, which was "all" and is "none".

transformers 5.23, training_args.py:395. ray[train] brings tensorboardX, which is enough for a TensorBoardCallback (run:
`TrainingArguments("x").report_to` was ["tensorboard"] with transformers 4.30.2, and is []).
"""

import ast

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.old_transformers import is_for_old_transformers
from raymigrate.codemods.libraries.transformers_arguments import keyword_arguments
from raymigrate.codemods.phases import Phase
from raymigrate.facts.callers import called_elsewhere
from raymigrate.facts.own_arguments import calls_without_own
from raymigrate.facts.removed_trackers import TrackerUse

RM753 = Rule(
    "RM753",
    "TrainingArguments without report_to=",
    "transformers 4 logged to every tracker that was installed, and Ray itself brings what TensorBoard takes."
    " transformers 5 logs to none unless report_to= says so.",
    'report_to="all" logs as before.',
    "https://github.com/huggingface/transformers/blob/main/MIGRATION_GUIDE_V5.md",
)

MESSAGE = 'TrainingArguments without report_to= logged to all trackers up to transformers 4; "all" keeps that.'
SHARED = (
    "This is also called without Ray: there TrainingArguments without report_to= logged to all trackers up to"
    ' transformers 4; "all" for that way alone keeps that, as Ray\'s legacy trainer had removed them.'
)


@codemod("TrainingArguments", "Seq2SeqTrainingArguments", phase=Phase.LIBRARIES, after=[keyword_arguments])
def default_trackers(context: Context) -> None:
    """Notes the arguments of transformers 4 that name no tracker, unless the legacy trainer got them.

    Of those that no Trainer gets in sight one is enough.
    """
    if not is_for_old_transformers(context):
        return
    trackers, told = TrackerUse(context.places), False
    for call in calls_without_own(context.module, "report_to"):
        getting = trackers.getting(call)
        if not {keyword.arg for keyword in call.keywords}.isdisjoint({"report_to", None}) or (told and not getting):
            continue
        if not trackers.had_none(call):
            context.note(RM753, call, MESSAGE)
            told = True
        elif any(_runs_without_ray(context, trainer) for trainer in getting):
            context.note(RM753, call, SHARED)
            told = True


def _runs_without_ray(context: Context, trainer: ast.Call) -> bool:
    """Whether a Trainer is made in a function that is also called where no trainer of Ray runs it."""
    module, function = context.module, context.module.function(trainer)
    if function in context.also_elsewhere:
        return True
    return bool(module.path) and module.project is not None and called_elsewhere(module.project, module, function)

"""RM753: TrainingArguments that leave the default of report_to, which was "all" and is "none".

transformers 5.23, training_args.py:395. ray[train] brings tensorboardX, which is enough for a TensorBoardCallback (run:
`TrainingArguments("x").report_to` was ["tensorboard"] with transformers 4.30.2, and is []).
"""

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.old_transformers import has_old_arguments
from raymigrate.codemods.libraries.transformers_arguments import keyword_arguments
from raymigrate.codemods.phases import Phase
from raymigrate.facts.legacy import TRAINING_ARGUMENTS, TRANSFORMERS_TRAINERS

RM753 = Rule(
    "RM753",
    "TrainingArguments without report_to=",
    "transformers 4 logged to every tracker that was installed, and Ray itself brings what TensorBoard takes."
    " transformers 5 logs to none unless report_to= says so.",
    'report_to="all" logs as before.',
    "https://github.com/huggingface/transformers/blob/main/MIGRATION_GUIDE_V5.md",
)


@codemod("TrainingArguments", "Seq2SeqTrainingArguments", phase=Phase.LIBRARIES, after=[keyword_arguments])
def default_trackers(context: Context) -> None:
    """Notes the first arguments of transformers 4 that name no tracker.

    The legacy trainer removed all trackers, so where it is used there is nothing to say.
    """
    module = context.module
    if context.options.part_of_job or any(module.references_within(*TRANSFORMERS_TRAINERS)):
        return
    silent = [
        call
        for call in module.calls(*TRAINING_ARGUMENTS)
        if {keyword.arg for keyword in call.keywords}.isdisjoint({"report_to", None})
    ]
    if silent and (context.is_legacy_script or has_old_arguments(context)):
        message = 'TrainingArguments without report_to= logged to all trackers up to transformers 4; "all" keeps that.'
        context.note(RM753, silent[0], message)

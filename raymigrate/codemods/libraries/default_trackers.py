"""RM753: TrainingArguments, made or parsed, that leave the default of report_to, which was "all" and is "none".

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
from raymigrate.facts.hugging_face.own_arguments import calls_without_own
from raymigrate.facts.projects.callers import called_elsewhere
from raymigrate.facts.projects.indirect import Parsing, parsings
from raymigrate.facts.ray_train.removed_trackers import TrackerUse
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import argument, called_name, is_method_call, is_none, unpacked_dicts
from raymigrate.facts.values.carried import carried
from raymigrate.facts.values.keys import keys_of
from raymigrate.knowledge.legacy import TRAINING_ARGUMENTS

RM753 = Rule(
    "RM753",
    "TrainingArguments without report_to=",
    "transformers 4 logged to every tracker that was installed, and Ray itself brings what TensorBoard takes."
    " transformers 5 logs to none unless report_to= says so.",
    'report_to="all" logs as before.',
    "https://github.com/huggingface/transformers/blob/main/MIGRATION_GUIDE_V5.md",
)

MESSAGE = '{name} without report_to= logged to all trackers up to transformers 4; "all" keeps that.'
UNSEEN = (
    "Where no report_to is behind **, {name} logged to all trackers up to transformers 4; report_to all there"
    " keeps that."
)
INTO = (
    " TensorBoard then writes below output_dir/runs, and no longer into logging_dir, unless the environment variable"
    " TENSORBOARD_LOGGING_DIR names that where the Trainer runs."
)
SHARED = (
    "This is also called without Ray: there TrainingArguments without report_to= logged to all trackers up to"
    ' transformers 4; "all" for that way alone keeps that, as Ray\'s legacy trainer had removed them.'
)
PARSED = (
    "TrainingArguments that are parsed without report_to logged to all trackers up to transformers 4; report_to all"
    " among what is parsed keeps that."
)
WITHOUT = (
    "{name} without args= logged to all trackers up to transformers 4;"
    ' args={arguments} with report_to="all" keeps that.'
)
ARGUMENT, FOLDER = "report_to", "logging_dir"


@codemod("TrainingArguments", "Seq2SeqTrainingArguments", "trl", phase=Phase.LIBRARIES, after=[keyword_arguments])
def default_trackers(context: Context) -> None:
    """Notes the arguments of transformers 4 that name no tracker, made or parsed, unless the legacy trainer got them.

    Of those that no Trainer gets in sight one is enough, and so is one Trainer that is given none.
    """
    if not is_for_old_transformers(context):
        return
    trackers, told = TrackerUse(context.places), False
    for call in calls_without_own(context.module, ARGUMENT):
        getting = trackers.getting(call)
        unpacked = [carried(context.module, given) for given in unpacked_dicts(call)]
        names = {keyword.arg for keyword in call.keywords} | {entry.name for part in unpacked for entry in part.entries}
        # A class that hands on to its base what those who make its objects give: it is told where they do.
        if ARGUMENT in names or (told and not getting) or (unpacked and is_method_call(call, "__init__")):
            continue
        if not trackers.had_none(call):
            message = MESSAGE if all(part.whole for part in unpacked) else UNSEEN
            into = INTO if FOLDER in names else ""
            context.note(RM753, call, f"{message.format(name=_class_of(context.module, call))}{into}")
            told = True
        elif any(_runs_without_ray(context, trainer) for trainer in getting):
            context.note(RM753, call, SHARED)
            told = True
    for trainer in trackers.trainers:
        name = called_name(context.module, trainer)
        if name and not told and not trackers.had_none(trainer) and not _has_arguments(trainer):
            context.note(RM753, trainer, WITHOUT.format(name=name.rpartition(".")[2], arguments=_arguments_of(name)))
            told = True
    for parsing in parsings(context.module, TRAINING_ARGUMENTS):
        if not _says(context.module, parsing) and not trackers.had_none(parsing.call):
            context.note(RM753, parsing.call, PARSED)
            break  # the others are branches of the same `if`: a file in place of the command line


def _has_arguments(trainer: ast.Call) -> bool:
    """Whether a Trainer is given arguments, as far as its call shows."""
    return not is_none(argument(trainer, 1, "args")) or bool(unpacked_dicts(trainer))


def _arguments_of(trainer: str) -> str:
    """The class of the arguments of a Trainer, which is given by name."""
    if not trainer.startswith("trl."):
        return "TrainingArguments(...)"
    return trainer.rpartition(".")[2].removesuffix("Trainer") + "Config(...)"


def _class_of(module: Module, call: ast.Call) -> str:
    """The class of trl that a call makes an object of; else the one that all are made from."""
    name = called_name(module, call)
    return name.rpartition(".")[2] if name.startswith("trl.") else "TrainingArguments"


def _runs_without_ray(context: Context, trainer: ast.Call) -> bool:
    """Whether a Trainer is made in a function that is also called where no trainer of Ray runs it."""
    module, function = context.module, context.module.function(trainer)
    if function in context.also_elsewhere:
        return True
    return bool(module.path) and module.project is not None and called_elsewhere(module.project, module, function)


def _says(module: Module, parsing: Parsing) -> bool:
    """Whether report_to is among what is parsed, as far as the module shows it, or has a default of the project."""
    if ARGUMENT in parsing.fields:
        return True
    if parsing.given is None:
        return False
    if parsing.method == "parse_dict":
        return ARGUMENT in keys_of(module, parsing.given).names
    parts = (part for source in module.origins(parsing.given) for part in ast.walk(source.node))
    return any(isinstance(part, ast.Constant) and f"--{ARGUMENT}" in str(part.value) for part in parts)

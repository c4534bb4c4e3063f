"""RM702, for `load_dataset(name, task=...)`: the task renamed columns of the dataset, and took the others away.

Read in datasets 2.14 (arrow_dataset.py, prepare_for_task, and the folder tasks). Without it the columns are those of
the dataset: a folder of images has `label`, where the script reads `labels`.
"""

import ast

from raymigrate.base.words import listed
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.argument_changes import LOAD_DATASET
from raymigrate.codemods.libraries.argument_rules import RM702
from raymigrate.codemods.libraries.transformers_arguments import keyword_arguments
from raymigrate.codemods.phases import Phase
from raymigrate.facts.syntax.guards import is_asked_for
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import constants
from raymigrate.facts.values.carried import carried

TASK = "task"
UNSET = (None, "deprecated")  # the defaults that the parameter had
COLUMNS = {
    "audio-classification": ("audio", "labels"),
    "automatic-speech-recognition": ("audio", "transcription"),
    "image-classification": ("image", "labels"),
    "language-modeling": ("text",),
    "question-answering-extractive": ("question", "context", "answers"),
    "summarization": ("text", "summary"),
    "text-classification": ("text", "labels"),
}


@codemod("load_dataset", phase=Phase.LIBRARIES, after=[keyword_arguments])
def dataset_tasks(context: Context) -> None:
    """Tells which columns a task gave, where the argument goes."""
    module = context.module
    for call in module.calls(*LOAD_DATASET):
        for keyword in call.keywords:
            if keyword.arg == TASK and not is_asked_for(module, keyword, TASK):
                _tell(context, keyword, module, keyword.value)
            elif keyword.arg is None:
                for entry in carried(module, keyword.value).entries:
                    if entry.name == TASK:
                        place = entry.value if entry.module is module else keyword
                        _tell(context, place, entry.module, entry.value)


def _tell(context: Context, place: ast.AST, home: Module, value: ast.expr) -> None:
    tasks = {task for _, task in constants(home, value)}
    if tasks <= set(UNSET):
        return
    columns = COLUMNS.get(str(tasks.pop()), ()) if len(tasks) == 1 else ()
    given = f"the columns {listed(columns)}, under these names" if len(columns) > 1 else "the columns of the task"
    message = (
        f"{TASK}= gave {given}, and dropped the others: now the columns are those of the dataset, under its own names."
    )
    advice = 'Rename what it calls otherwise, as in dataset.rename_column("label", "labels"); '
    context.manual(RM702, place, message, f"{advice}select_columns() takes the others away.")

"""RM715, RM717 and RM724: what cannot be loaded any more.

Measured on datasets 5.2 ("Dataset scripts are no longer supported"), huggingface_hub 2.4 (no attribute) and
transformers 5.23 ("The task ... has been removed from transformers");
tests/test_library_drift.py asks the installed ones again.
"""

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.dataset_names import LOADERS, RM715
from raymigrate.codemods.libraries.transformers_arguments import GUIDE
from raymigrate.codemods.phases import Phase
from raymigrate.facts.values import argument

RM717 = Rule(
    "RM717",
    "a name of huggingface_hub that is gone",
    "The import fails on huggingface_hub >= 1, which transformers >= 5 needs.",
    "Repository: upload_folder(); HfFolder: get_token() and login(); cached_download: hf_hub_download().",
    "https://huggingface.co/docs/huggingface_hub/concepts/migration",
)
RM724 = Rule(
    "RM724",
    "a pipeline, or an argument of one, that is gone",
    "transformers >= 5 raises a KeyError for the task, and ignores return_all_scores.",
    "For the tasks call model.generate() and the tokenizer yourself; return_all_scores=True became top_k=None, which"
    " sorts by score.",
    GUIDE,
)

GONE_FROM_HUB = ("Repository", "HfFolder", "cached_download")
TASKS = frozenset(
    ["summarization", "text2text-generation", "question-answering", "conversational", "visual-question-answering"]
)
PIPELINES = ("transformers.pipeline", "transformers.pipelines.pipeline")


@codemod("load_dataset", "load_dataset_builder", phase=Phase.LIBRARIES)
def dataset_scripts(context: Context) -> None:
    """Reports `load_dataset("my_dataset.py")`."""
    for call in context.module.calls(*LOADERS):
        given = argument(call, 0, "path")
        path = context.module.constant(given)
        if given is not None and isinstance(path, str) and path.endswith(".py"):
            context.manual(RM715, given, f'"{path}" is a script: load_dataset raises a RuntimeError today.')


@codemod(*GONE_FROM_HUB, phase=Phase.LIBRARIES)
def hub_names(context: Context) -> None:
    """Reports what huggingface_hub no longer has."""
    for reference in list(context.references(*(f"huggingface_hub.{name}" for name in GONE_FROM_HUB))):
        context.manual(RM717, reference.node, f"{reference.qualified} is gone from huggingface_hub >= 1.")
        context.handle(reference, gone=False)


@codemod("pipeline", phase=Phase.LIBRARIES)
def pipelines(context: Context) -> None:
    """Reports pipelines of tasks that are gone."""
    for call in context.module.calls(*PIPELINES):
        task = context.module.constant(argument(call, 0, "task"))
        if isinstance(task, str) and (task in TASKS or task.startswith("translation")):
            context.manual(RM724, call, f'pipeline("{task}") raises a KeyError today.')
        for keyword in call.keywords:
            if keyword.arg == "return_all_scores" and context.module.constant(keyword.value) is not False:
                context.manual(RM724, keyword, "return_all_scores has no effect today: only the best label comes back.")

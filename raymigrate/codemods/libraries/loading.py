"""RM715, RM717 and RM724: what cannot be loaded any more.

Measured on datasets 5.2 ("Dataset scripts are no longer supported"), huggingface_hub 2.4 (no attribute) and
transformers 5.23 ("The task ... has been removed from transformers");
tests/test_library_drift.py asks the installed ones again.
"""

import ast
from collections.abc import Iterator

from raymigrate.base.expressions import lazy_regex
from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.argument_rules import GUIDE
from raymigrate.codemods.libraries.dataset_names import NAMESPACES, RM715, SCRIPTS
from raymigrate.codemods.libraries.pipeline_calls import calls_pipeline
from raymigrate.codemods.libraries.settled_names import LOADERS
from raymigrate.codemods.phases import Phase
from raymigrate.facts.hugging_face.models import PIPELINES
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import argument, called_name, constants, is_method_call, keyword_argument
from raymigrate.facts.values.partials import function_of

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
    "Call the model of the task and its tokenizer yourself; return_all_scores=True became top_k=None, which sorts by"
    " score.",
    GUIDE,
)

GONE_FROM_HUB = ("Repository", "HfFolder", "cached_download")
NO_SCORES = "return_all_scores has no effect today: only the best label comes back"
ALL_SCORES = "Give top_k=None, which sorts by score."
ALL_SCORES_OF_CALL = f"{ALL_SCORES} The scores of a single text then come back by themselves, not in a list of one."
CLASSIFIER = "TextClassificationPipeline"
CLASSIFIERS = tuple(f"transformers.{module}{CLASSIFIER}" for module in ("", "pipelines."))
GENERATES = "Call model.generate() and the tokenizer yourself."
OF_AN_IMAGE = (
    "Call the model and its processor yourself: a classifier gives the logits of the answers, a model that writes has"
    " generate()."
)
# The tasks that are gone, with what to do instead; those of translation name their languages.
TASKS = {
    "summarization": GENERATES,
    "text2text-generation": GENERATES,
    "translation": GENERATES,
    "question-answering": "Call AutoModelForQuestionAnswering and the tokenizer yourself: the answer is the best span"
    " of start_logits and end_logits.",
    "visual-question-answering": OF_AN_IMAGE,
    "vqa": OF_AN_IMAGE,
    "image-to-image": "Call the model and its image processor yourself: the image is its reconstruction.",
    "conversational": 'Use pipeline("text-generation"), which takes a list of messages.',
}
# Measured with mlflow 3.17: an MlflowException for a dict of components, a KeyError for a folder.
REPOSITORY = lazy_regex(r"[\w-][\w.-]*/[\w.-]+")
TRUSTED = (
    'If "{path}" is a script, whose code trust_remote_code=True let datasets run, load_dataset raises a RuntimeError'
    " today."
)
LOGS_PIPELINES = ("mlflow.transformers.log_model", "mlflow.transformers.save_model")
LOG_FILES = (
    "Log the files instead, mlflow.log_artifacts(folder) after save_pretrained(folder); or mlflow.pyfunc.log_model()"
    " with a PythonModel of your own that loads them and calls the model and its tokenizer."
)


@codemod("load_dataset", "load_dataset_builder", phase=Phase.LIBRARIES)
def dataset_scripts(context: Context) -> None:
    """Reports `load_dataset("my_dataset.py")`, and datasets whose code a script trusts."""
    for call in context.module.calls(*LOADERS):
        given = argument(call, 0, "path")
        path = context.module.constant(given)
        if given is not None and isinstance(path, str) and path.endswith(".py"):
            context.manual(RM715, given, f'"{path}" is a script: load_dataset raises a RuntimeError today.')
        elif given is not None and isinstance(path, str) and _may_have_code(context, call, path):
            context.manual(RM715, given, TRUSTED.format(path=path))


def _may_have_code(context: Context, call: ast.Call, path: str) -> bool:
    """Whether the code of a repository is trusted of which it is not known whether it holds data instead."""
    trusted = context.module.constant(keyword_argument(call, "trust_remote_code")) is True
    known = path in SCRIPTS or path in (f"{namespace}/{name}" for name, namespace in NAMESPACES.items())
    given = {keyword.arg for keyword in call.keywords}
    is_of_hub = REPOSITORY.fullmatch(path) is not None
    return trusted and not known and is_of_hub and given.isdisjoint({"data_files", "revision"})


@codemod(*GONE_FROM_HUB, phase=Phase.LIBRARIES)
def hub_names(context: Context) -> None:
    """Reports what huggingface_hub no longer has."""
    for reference in context.references(*(f"huggingface_hub.{name}" for name in GONE_FROM_HUB)):
        context.leave(RM717, reference, f"{reference.qualified} is gone from huggingface_hub >= 1.")


@codemod("pipeline", phase=Phase.LIBRARIES)
def pipelines(context: Context) -> None:
    """Reports pipelines of tasks that are gone."""
    for call in context.module.calls(*PIPELINES):
        _tell_tasks(context, call)


@codemod("return_all_scores", phase=Phase.LIBRARIES)
def all_scores(context: Context) -> None:
    """Reports return_all_scores= where a pipeline is made or called, also by a predictor of Ray."""
    module = context.module
    for call, keyword in module.keywords("return_all_scores"):
        if module.constant(keyword.value) in (False, None):
            continue
        makes = module.qualified(function_of(module, call)) in (*PIPELINES, *CLASSIFIERS)
        if makes or _goes_to_predictor(module, call):
            context.manual(RM724, keyword, f"{NO_SCORES}.", ALL_SCORES)
        elif calls_pipeline(module, call, CLASSIFIERS):
            context.manual(RM724, keyword, f"{NO_SCORES}.", ALL_SCORES_OF_CALL)
        elif _is_unseen(module, call):
            context.manual(RM724, keyword, f"If this is a pipeline of transformers: {NO_SCORES}.", ALL_SCORES_OF_CALL)


def _goes_to_predictor(module: Module, call: ast.Call) -> bool:
    """Whether a predictor of Ray gets the arguments, for the pipeline that it makes or calls."""
    made = module.origins(call.func.value) if is_method_call(call, "predict") else []
    return any(name.startswith("ray.") for name in (called_name(module, call), *(called_name(*one) for one in made)))


def _is_unseen(module: Module, call: ast.Call) -> bool:
    """Whether what is called is none of the project's functions and classes, which do as they like with arguments."""
    is_known = module.qualified(call.func) is not None or module.elsewhere(call.func) is not None
    return not is_known and not isinstance(module.definition(call.func), (ast.FunctionDef, ast.ClassDef))


@codemod("log_model", "save_model", phase=Phase.LIBRARIES)
def logged_pipelines(context: Context) -> None:
    """Reports models that MLflow is to make a pipeline of, for a task that is gone."""
    for call in context.module.calls(*LOGS_PIPELINES):
        for task, where in _gone_tasks(context, keyword_argument(call, "task")):
            name = context.module.qualified(call.func)
            message = f'{name}(task="{task}"){where} raises an error today: transformers makes no such pipeline.'
            context.manual(RM724, call, message, LOG_FILES)


def _tell_tasks(context: Context, call: ast.Call) -> None:
    for task, where in _gone_tasks(context, argument(call, 0, "task")):
        message = f'pipeline("{task}"){where} raises a KeyError today.'
        context.manual(RM724, call, message, TASKS[_kind(task)])


def _gone_tasks(context: Context, given: ast.expr | None) -> Iterator[tuple[str, str]]:
    """The tasks that are gone, of those that a pipeline may get, with words for one of several."""
    found = context.module.constant(given) if given is not None else ...
    tasks = [found] if found is not ... or given is None else [value for _, value in constants(context.module, given)]
    for task in dict.fromkeys(task for task in tasks if isinstance(task, str)):
        if _kind(task) in TASKS:
            yield task, "" if len(tasks) == 1 else ", one of the tasks that it may get here,"


def _kind(task: str) -> str:
    """The task without what follows in it: translation_en_to_de."""
    return task.partition("_")[0]

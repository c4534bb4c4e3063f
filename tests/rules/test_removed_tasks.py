"""RM724: pipelines of tasks that are gone."""

import pytest

from raymigrate.base.findings import Kind
from raymigrate.codemods.libraries.loading import TASKS
from tests.rules.scripts import converted

IMPORTS = "import ray\nfrom transformers import pipeline\n\n"


@pytest.mark.parametrize(
    ("call", "advice"),
    [
        ('pipeline("summarization")', "model.generate()"),
        ('pipeline(task="translation_en_to_de", model=path)', "model.generate()"),
        ('TASK = "question-answering"\npipeline(TASK, model=path)', "start_logits"),
        ('pipeline("visual-question-answering")', "logits of the answers"),
        ('pipeline("vqa")', "logits of the answers"),
        ('pipeline("image-to-image")', "reconstruction"),
        ('pipeline("conversational")', "list of messages"),
    ],
)
def test_the_advice_is_that_of_the_task(call: str, advice: str) -> None:
    outcome = converted(IMPORTS + call)
    assert len(outcome.lines("RM724", Kind.MANUAL)) == 1
    assert any(advice in message for message in outcome.messages)


@pytest.mark.parametrize(
    "call", ['pipeline("text-classification")', 'pipeline("ner")', "pipeline(task)", "pipeline(model=path)"]
)
def test_other_tasks_are_left(call: str) -> None:
    assert not converted(IMPORTS + call).lines("RM724", Kind.MANUAL)


@pytest.mark.parametrize(
    ("script", "number"),
    [
        ('task = "summarization" if ray else "fill-mask"\npipeline(task)', 1),
        ('for task in ("vqa", "fill-mask", "translation_en_to_fr"):\n    pipeline(task)', 2),
        ('def load(task):\n    return pipeline(task)\n\n\nload("ner")\nload("summarization")', 1),
        ('def load(task):\n    return pipeline(task=task)\n\n\nload("ner")\nload("fill-mask")', 0),
        ('def load(task):\n    return pipeline(task)\n\n\nload(given)\nload("vqa")', 1),
        (
            "@ray.serve.deployment\nclass A:\n    def __init__(self, task):\n        self.p = pipeline(task=task)\n\n\n"
            'A.bind(task="translation_en_to_fr")\nA.bind(task="translation_fr_to_en")',
            2,
        ),
    ],
)
def test_each_of_several_tasks_is_told(script: str, number: int) -> None:
    outcome = converted(IMPORTS + script)
    assert len(outcome.lines("RM724", Kind.MANUAL)) == number


@pytest.mark.ray
def test_no_task_is_missing_that_transformers_says_is_gone() -> None:
    from transformers import pipelines  # noqa: PLC0415 - takes seconds

    assert pipelines.REMOVED_TASKS.keys() <= TASKS.keys()


BRANCHES = """
import ray
from transformers import pipeline

{defined}
{used}
"""


@pytest.mark.parametrize(
    ("defined", "used", "told"),
    [
        (
            "if ray:\n    class Model:\n        def __init__(self, task):\n            self.pipe = pipeline(task)\n"
            "else:\n    class Model:\n        def __init__(self, task, n=1):\n            self.pipe = pipeline(task)",
            "Model('summarization')",
            [7, 11],
        ),
        (
            "try:\n    import x\n    def make(task): return pipeline(task)\n"
            "except ImportError:\n    def make(task): return pipeline(task)",
            "make(task='summarization')",
            [6, 8],
        ),
        (
            "if ray:\n    class Tasks:\n        own = 'vqa'\nelse:\n    class Tasks:\n        own = 'ner'",
            "pipeline(Tasks.own)",
            [10],
        ),
        ("class Tasks:\n    own = 'vqa'\nclass Tasks:\n    own = 'ner'", "pipeline(Tasks.own)", []),
        (
            "def make(task): return pipeline(task)\ndef make(task): return print(task)",
            "make('summarization')",
            [],
        ),
    ],
)
def test_what_several_branches_define_is_followed(defined: str, used: str, told: list[int]) -> None:
    assert converted(BRANCHES.format(defined=defined, used=used)).lines("RM724", Kind.MANUAL) == told


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ('mlflow.transformers.log_model({"model": m, "tokenizer": t}, artifact_path="m", task="summarization")', True),
        ('mlflow.transformers.save_model(transformers_model=m, path="m", task="translation_en_to_de")', True),
        ('flavor.log_model(m, "m", task="text2text-generation")', True),
        ('task = "question-answering" if qa else "fill-mask"\nmlflow.transformers.log_model(m, "m", task=task)', True),
        ('mlflow.transformers.log_model(m, "m", task="text-classification")', False),
        ('mlflow.transformers.log_model(m, "m", task="llm/v1/chat")', False),
        ('mlflow.transformers.log_model(m, "m")', False),
        ('mlflow.transformers.log_model(m, "m", task=task_of(m))', False),
        ('own.log_model(m, "m", task="summarization")', False),
        ('mlflow.pyfunc.log_model("m", python_model=m, task="summarization")', False),
    ],
)
def test_models_that_mlflow_makes_a_pipeline_of(call: str, told: bool) -> None:
    outcome = converted(
        f"import mlflow\nimport ray\nimport transformers\nfrom mlflow import transformers as flavor\n{call}\n"
    )
    assert bool(outcome.lines("RM724", Kind.MANUAL)) is told

"""RM752: how much a text-generation pipeline writes, and how it chooses tokens, where nothing says so."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

LEGACY = """
import transformers
from ray.air import session
from transformers import TextGenerationPipeline, pipeline

"""
BOTH = "writes 256 new tokens and samples at temperature 0.7"


@pytest.mark.parametrize(
    ("use", "told"),
    [
        ('print(pipeline("text-generation", model="gpt2")("x"))', BOTH),
        ('p = pipeline(task="text-generation", model="gpt2")\nprint(p("x"), p("y", max_length=9))', BOTH),
        ('p = transformers.pipeline("text-generation", "gpt2")', BOTH),
        ("p = TextGenerationPipeline(model=m, tokenizer=t)", BOTH),
        ('def make(task):\n    return pipeline(task, "gpt2")\n\n\nmake("text-generation")("x")', BOTH),
        ('p = pipeline("text-generation", "gpt2", max_new_tokens=9)\np("x")', "samples at temperature 0.7 since"),
        ('p = pipeline("text-generation", "gpt2")\np("x", max_length=9, do_sample=True)', "Before, it did so at 1.0"),
        ('p = pipeline("text-generation", "gpt2", do_sample=False)\np("x")', "this writes 256 new tokens since"),
        (
            'class G:\n    def __init__(self):\n        self.p = pipeline("text-generation", "gpt2")\n\n'
            '    def __call__(self, batch):\n        return self.p(list(batch["t"]), do_sample=True, temperature=1)',
            "this writes 256 new tokens since",
        ),
    ],
)
def test_what_a_pipeline_is_not_told_it_decides_otherwise_today(use: str, told: str) -> None:
    outcome = converted(LEGACY + use)
    assert len(outcome.lines("RM752", Kind.MANUAL)) == 1
    assert any(told in message for message in outcome.messages)


@pytest.mark.parametrize(
    "use",
    [
        'p = pipeline("text-generation", "gpt2", max_length=9, do_sample=False)\np("x")',
        'p = pipeline("text-generation", "gpt2")\np("x", max_new_tokens=9, do_sample=True, temperature=0.5)',
        'p = pipeline("text-generation", "gpt2", do_sample=False)\np("x", max_length=9)\np("y", max_new_tokens=9)',
        'how = {"max_length": 9, "do_sample": False}\np = pipeline("text-generation", "gpt2")\np("x", **how)',
        'p = pipeline("text-classification")\np("x")',
        "p = pipeline(model=m)\np('x')",
        'from own import pipeline\np = pipeline("text-generation", "gpt2")\np("x")',
    ],
)
def test_what_is_said_and_other_pipelines_are_no_news(use: str) -> None:
    assert not converted(LEGACY + use).lines("RM752", Kind.MANUAL)


def test_a_script_that_was_not_written_for_legacy_ray_is_left() -> None:
    script = 'import ray\nfrom transformers import pipeline\n\np = pipeline("text-generation", "gpt2")\n'
    assert not converted(script).lines("RM752", Kind.MANUAL)


@pytest.mark.parametrize(
    ("of_ray", "is_legacy"),
    [
        ("from ray.train.huggingface import TransformersPredictor", True),
        ("from ray.train.huggingface import HuggingFacePredictor\n\nprint(HuggingFacePredictor)", True),
        ("from ray.train.batch_predictor import BatchPredictor\n\nprint(BatchPredictor)", True),
        ("import ray.train.predictor\n\nprint(ray.train.predictor.Predictor)", True),
        ("from ray import train\n\nprint(train.torch.TorchPredictor)", True),
        ("import ray.ml", True),
        ("import os, ray.air", True),
        ("import ray.train", False),
        ("from ray.train.huggingface.transformers import TransformersCheckpoint", True),
        ("from ray.ml.predictors.integrations.huggingface import HuggingFacePredictor", True),
        ("from ray.data.preprocessors import BatchMapper", True),
        ("from ray.serve import PredictorDeployment", True),
        ("import ray.air as air\n\nprint(air.session)", True),
        ("from ray.train import Checkpoint, RunConfig\n\nprint(Checkpoint.from_directory('/x'))", False),
        ("from ray.train.huggingface.transformers import RayTrainReportCallback", False),
        ("from ray import serve, tune\n\nprint(serve.deployment, tune.Tuner)", False),
        ("import ray\nfrom mine.ray.train import TransformersPredictor", False),
    ],
)
def test_a_script_is_legacy_by_any_name_that_ray_has_no_more(of_ray: str, is_legacy: bool) -> None:
    loaded = 'm = AutoModelForCausalLM.from_pretrained("EleutherAI/gpt-j-6B")'
    use = (
        f'from transformers import AutoModelForCausalLM, pipeline\n\n{loaded}\np = pipeline("text-generation", model=m)'
    )
    outcome = converted(f"{of_ray}\n{use}\n")
    assert bool(outcome.lines("RM752", Kind.MANUAL)) == is_legacy
    assert bool(outcome.lines("RM751", Kind.NOTE)) == is_legacy


PREDICTOR = """
import pandas as pd
from ray.train.batch_predictor import BatchPredictor
from ray.train.huggingface import HuggingFaceCheckpoint, HuggingFacePredictor
from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained("gpt2")
checkpoint = HuggingFaceCheckpoint.from_model(model, path="/model")
"""
DEFAULTS = "        model.generation_config.update(defaults_only=True, {})\n"
ALL = "do_sample=False, max_length=20, temperature=1.0"
FROM = "HuggingFacePredictor.from_checkpoint(checkpoint, task='text-generation'{})"
BATCH = "BatchPredictor.from_checkpoint(checkpoint, HuggingFacePredictor, task='text-generation'{})"


@pytest.mark.parametrize(
    ("use", "defaults"),
    [
        (f"p = {FROM.format('')}\np.predict(df)", ALL),
        (f"{BATCH.format('')}.predict(ds)", ALL),
        (f"p = {FROM.format('')}\nshare(p)", ALL),
        (f"p = {FROM.format('')}\np.predict(df, max_length=9)", "do_sample=False, temperature=1.0"),
        (f"{BATCH.format(', max_new_tokens=9')}.predict(ds)", "do_sample=False, temperature=1.0"),
        (f"{BATCH.format('')}.predict(ds, do_sample=True, temperature=0.9)", "max_length=20"),
        (f"{BATCH.format('')}.predict(ds, do_sample=True, max_length=99)", "temperature=1.0"),
        (f"p = {BATCH.format('')}\np.predict(ds, do_sample=False)\np.predict(ds, max_length=9)", ALL),
    ],
)
def test_a_predictor_generates_as_before(use: str, defaults: str) -> None:
    outcome = converted(PREDICTOR + use)
    assert DEFAULTS.format(defaults) in outcome.text
    assert bool(outcome.lines("RM752", Kind.NOTE)) == ("max_length=20" in defaults)
    assert not outcome.lines("RM603", Kind.MANUAL)


@pytest.mark.parametrize(
    "use",
    [
        f"p = {FROM.format('')}\np.predict(df, max_length=9, do_sample=False)",
        f"{BATCH.format(', do_sample=True')}.predict(ds, temperature=0.9, max_length=128, min_length=32)",
        FROM.format("").replace("text-generation", "text-classification"),
    ],
)
def test_a_predictor_that_is_told_how_to_generate_or_does_not_is_plain(use: str) -> None:
    outcome = converted(PREDICTOR + use)
    assert "class PipelinePredictor" in outcome.text and "generation_config" not in outcome.text
    assert not outcome.lines("RM752", Kind.NOTE)


def test_a_predictor_of_several_tasks_asks_which_one_it_has() -> None:
    classifier = FROM.format("").replace("text-generation", "text-classification")
    outcome = converted(f"{PREDICTOR}one = {FROM.format('')}\nother = {classifier}\n")
    assert '        if self.pipeline.task == "text-generation":\n            # Where nothing says' in outcome.text


def test_arguments_of_transformers_4_show_it_too() -> None:
    script = (
        "import ray\nfrom ray.train.torch import TorchTrainer\nfrom transformers import TrainingArguments, pipeline\n\n"
        'args = TrainingArguments("out", evaluation_strategy="epoch")\np = pipeline("text-generation", "gpt2")\n'
    )
    assert converted(script).lines("RM752", Kind.MANUAL) == [6]


MODEL = """
from ray.air import session
from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig
from transformers import T5ForConditionalGeneration, WhisperProcessor

t = AutoTokenizer.from_pretrained("gpt2")
m = AutoModelForCausalLM.from_pretrained("gpt2")
"""


@pytest.mark.parametrize(
    ("use", "kind"),
    [
        ('print(t.decode(m.generate(**t("x", return_tensors="pt"))[0]))', Kind.MANUAL),
        ('ids = t("x", return_tensors="pt").input_ids\nm.to("cuda").generate(ids)', Kind.MANUAL),
        (
            'inputs = t("x", return_tensors="pt").to(m.device)\nm.generate(**inputs, do_sample=True, top_k=5)',
            Kind.MANUAL,
        ),
        ('how = {"do_sample": True, "num_beams": 2}\nm.eval()\nm.generate(input_ids=ids, **how)', Kind.MANUAL),
        ('how = dict(num_beams=2)\nhow["top_p"] = 0.5\nm.generate(ids, **how)', Kind.MANUAL),
        (
            "class G:\n    def __init__(self):\n        self.t, self.m = t, m\n\n    def __call__(self, batch):\n"
            "        tokens = self.t(list(batch['text']), padding=True)\n        return self.m.generate(**tokens)",
            Kind.MANUAL,
        ),
        ('s = T5ForConditionalGeneration.from_pretrained("t5-small")\ns.generate(**t("x"))', Kind.NOTE),
        ('p = WhisperProcessor.from_pretrained("x")\ns = T5ForConditionalGeneration(c)\ns.generate(**p(x))', Kind.NOTE),
    ],
)
def test_where_no_length_is_given_a_model_writes_more_today(use: str, kind: Kind) -> None:
    outcome = converted(MODEL + use)
    assert len(outcome.lines("RM752", kind)) == 1
    assert any("this writes up to 20 new tokens since transformers 5" in message for message in outcome.messages)


@pytest.mark.parametrize(
    "use",
    [
        "m.generate(ids, max_length=20)",
        "m.generate(ids, max_new_tokens=9)",
        "m.generate(ids, generation_config=GenerationConfig())",
        "m.generate(ids, settings)",
        "m.generate(*given)",
        'how = {"max_length": 20}\nm.generate(ids, **how)',
        'how = dict(num_beams=2)\nhow["max_new_tokens"] = 5\nm.generate(ids, **how)',
        "def write(**how):\n    return m.generate(ids, **how)\n\n\nwrite(max_length=3)",
        "from own import settings\n\nm.generate(ids, **settings())",
        "m.generation_config.max_length = 50\nm.generate(ids)",
        "m.generation_config = GenerationConfig(max_new_tokens=5)\nm.generate(ids)",
        "m.config.max_length = 50\nm.generate(ids)",
        "from own import Model\n\nw = Model.from_pretrained('x')\nw.generate(ids)",
        "def write(model):\n    return model.generate(ids)",
        "import uuid\n\nuuid.generate(ids)",
    ],
)
def test_a_length_that_is_given_or_not_seen_and_other_generators_are_no_news(use: str) -> None:
    outcome = converted(MODEL + use)
    assert not outcome.lines("RM752", Kind.MANUAL) + outcome.lines("RM752", Kind.NOTE)


def test_a_model_of_a_script_for_current_libraries_writes_what_it_wrote() -> None:
    script = MODEL.replace("from ray.air import session", "import ray") + "m.generate(ids)\n"
    outcome = converted(script)
    assert not outcome.lines("RM752", Kind.MANUAL)

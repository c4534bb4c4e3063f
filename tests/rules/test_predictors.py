"""RM603: predictions are made while the checkpoint that they need is there."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

IMPORTS = """
import os
import shutil
import tempfile

import ray
from ray.train.batch_predictor import BatchPredictor
from ray.train.huggingface import HuggingFaceCheckpoint, HuggingFacePredictor
from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained("gpt2")
rows = ray.data.read_text("s3://our-bucket/texts")
"""
MADE = "{0}predictor = BatchPredictor.from_checkpoint({1}, HuggingFacePredictor, task='text-generation')\n"
PREDICTED = "{0}predictions = predictor.predict(rows)\n"
FROM_MODEL = "HuggingFaceCheckpoint.from_model(model=model, path={0})"
ENDS = {
    "with block": "with tempfile.TemporaryDirectory() as folder:\n"
    + MADE.format("    ", FROM_MODEL.format("folder"))
    + PREDICTED.format("    "),
    "checkpoint in a name": "with tempfile.TemporaryDirectory() as folder:\n"
    f"    checkpoint = {FROM_MODEL.format('folder')}\n" + MADE.format("    ", "checkpoint") + PREDICTED.format("    "),
    "folder in the folder": "with tempfile.TemporaryDirectory() as top:\n"
    "    folder = os.path.join(top, 'model')\n"
    + MADE.format("    ", "HuggingFaceCheckpoint.from_directory(folder)")
    + PREDICTED.format("    "),
    "object": "top = tempfile.TemporaryDirectory()\n"
    + MADE.format("", FROM_MODEL.format("top.name"))
    + PREDICTED.format(""),
    "removed": "folder = tempfile.mkdtemp()\n"
    + MADE.format("", FROM_MODEL.format("folder"))
    + PREDICTED.format("")
    + "shutil.rmtree(folder)\n",
    "chained": "with tempfile.TemporaryDirectory() as folder:\n    predictions = BatchPredictor.from_checkpoint("
    f"{FROM_MODEL.format('folder')}, HuggingFacePredictor, task='text-generation').predict(rows)\n",
}
LASTS = {
    "another with block": "with open('log') as log:\n"
    + MADE.format("    ", FROM_MODEL.format("'/models'"))
    + PREDICTED.format("    "),
    "a folder": MADE.format("", FROM_MODEL.format("'/models'")) + PREDICTED.format(""),
    "rows by name": MADE.format("", FROM_MODEL.format("'/models'")) + PREDICTED.format("").replace("rows", "data=rows"),
    "mkdtemp": "folder = tempfile.mkdtemp()\n" + MADE.format("", FROM_MODEL.format("folder")) + PREDICTED.format(""),
}


@pytest.mark.parametrize("body", ENDS.values(), ids=ENDS)
def test_predictions_are_made_before_the_folder_of_their_checkpoint_goes(body: str) -> None:
    outcome = converted(IMPORTS + body, unsafe=True)
    assert outcome.lines("RM603", Kind.CONVERTED)
    assert ".materialize()" in outcome.text


@pytest.mark.parametrize("body", LASTS.values(), ids=LASTS)
def test_predictions_stay_lazy_where_the_folder_lasts(body: str) -> None:
    outcome = converted(IMPORTS + body, unsafe=True)
    assert outcome.lines("RM603", Kind.CONVERTED)
    assert ".materialize()" not in outcome.text


def test_a_folder_of_the_driver_is_told() -> None:
    outcome = converted(IMPORTS + LASTS["a folder"])
    assert outcome.lines("RM603", Kind.NOTE)
    remote = MADE.format("", "HuggingFaceCheckpoint.from_directory('s3://our-bucket/model')") + PREDICTED.format("")
    assert not converted(IMPORTS + remote, unsafe=True).lines("RM603", Kind.NOTE)


MAPPED = """
import ray
from ray.air.config import ScalingConfig
from ray.data.preprocessors import BatchMapper, Chain, StandardScaler
from ray.train.batch_predictor import BatchPredictor
from ray.train.huggingface import HuggingFacePredictor, HuggingFaceTrainer
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
from prep import encode, join, make, rows


def build(train_dataset, eval_dataset=None, **config):
    model = AutoModelForCausalLM.from_pretrained("gpt2")
    return Trainer(model=model, args=TrainingArguments("out"), train_dataset=train_dataset)


def trainer_for(rows):
    return HuggingFaceTrainer(
        build,
        scaling_config=ScalingConfig(num_workers=2, use_gpu=True),
        datasets={{"train": rows}},
        preprocessor={preprocessor},
    )


{fit}
{predict}
"""


@pytest.mark.parametrize(
    "preprocessor",
    [
        'BatchMapper(encode, batch_format="pandas")',
        'Chain(BatchMapper(join, batch_format="pandas"), BatchMapper(encode, batch_format="pandas"))',
        'StandardScaler(["x"])',
        "make(rows)",
    ],
)
@pytest.mark.parametrize(
    "fit", ["result = trainer_for(rows).fit()", "trainer = trainer_for(rows)\nresult = trainer.fit()"]
)
@pytest.mark.parametrize(
    "predict",
    [
        'BatchPredictor.from_checkpoint(result.checkpoint, HuggingFacePredictor, task="text-generation").predict(rows)',
        'HuggingFacePredictor.from_checkpoint(result.checkpoint, task="text-generation").predict(rows)',
    ],
)
def test_what_a_predictor_applied_first_is_for_a_person_in_later_runs_too(
    preprocessor: str, fit: str, predict: str
) -> None:
    first = converted(MAPPED.format(preprocessor=preprocessor, fit=fit, predict=predict))
    assert "TorchTrainer(" in first.text and predict in first.text
    assert first.lines("RM603", Kind.MANUAL) and not first.lines("RM603", Kind.CONVERTED)
    again = converted(first.text)
    assert again.text == first.text and len(again.lines("RM603", Kind.MANUAL)) == len(first.lines("RM603", Kind.MANUAL))


def test_predictors_of_other_frameworks_have_their_own_advice() -> None:
    outcome = converted(
        "from ray.train.batch_predictor import BatchPredictor\n"
        "from ray.train.xgboost import XGBoostPredictor\n"
        "predictor = BatchPredictor.from_checkpoint(checkpoint, XGBoostPredictor)\n"
    )
    assert "pipeline" not in "".join(outcome.messages)
    assert any("RayTrainReportCallback.get_model(checkpoint) of ray.train.xgboost" in m for m in outcome.messages)


@pytest.mark.parametrize(
    ("task", "given", "now"),
    [
        ("image-segmentation", "feature_extractor=one", "image_processor"),
        ("image-segmentation", "feature_extractor=one, image_processor=other", "feature_extractor"),
        ("audio-classification", "feature_extractor=one", "feature_extractor"),
    ],
)
def test_pipelines_of_images_get_what_was_a_feature_extractor(task: str, given: str, now: str) -> None:
    arguments = f"HuggingFaceCheckpoint.from_directory('/m'), {{0}}task={task!r}, {given}"
    batches = (
        f"predictions = BatchPredictor.from_checkpoint({arguments.format('HuggingFacePredictor, ')}).predict(rows)\n"
    )
    outcome = converted(IMPORTS + batches, unsafe=True)
    assert f'"{now}": one' in outcome.text
    outcome = converted(
        f"{IMPORTS}predictor = HuggingFacePredictor.from_checkpoint({arguments.format('')})\n", unsafe=True
    )
    assert f"{now}=one" in outcome.text


READY = """
import pandas as pd
from ray.data.preprocessors import BatchMapper
from ray.train.huggingface import HuggingFacePredictor, TransformersPredictor
from ray.train.torch import TorchPredictor
from transformers import pipeline
from job import model, prep

pipe = pipeline("text-classification")
frame = pd.DataFrame({"text": ["fine"]})
"""
ITSELF = "Call the pipeline itself where predict() is called"


@pytest.mark.parametrize(
    ("use", "told", "untold"),
    [
        (
            "p = TransformersPredictor(pipeline=pipe, preprocessor=prep)\np.predict(frame)\np.get_preprocessor()",
            [ITSELF, "prep.transform_batch(data)", "get_preprocessor() of the predictor: use prep itself"],
            ["map_batches", "set_preprocessor", "feature_columns"],
        ),
        (
            "class A:\n    def __init__(self):\n        self.p = HuggingFacePredictor(pipe, prep)\n\n"
            "    def ask(self):\n        self.p.set_preprocessor(None)\n"
            "        return self.p.predict(frame, feature_columns=['text'], top_k=2)",
            [ITSELF, "prep.transform_batch(data)", "set_preprocessor()", "The pipeline's own call takes top_k= too."],
            ["map_batches", "get_preprocessor"],
        ),
        ("TransformersPredictor(pipe).predict(frame)", [ITSELF], ["map_batches", "transform_batch"]),
        ("p = TransformersPredictor(**given)\np.predict(frame)", [ITSELF], ["map_batches", "Delete it"]),
        (
            "p = TransformersPredictor(pipe, BatchMapper(trim, batch_format='pandas'))",
            [ITSELF, "That is gone too: call dataset.map_batches(trim,", "trim(batch) in place of transform_batch"],
            [],
        ),
        ("print(repr(TransformersPredictor()))", ["Delete it: without a pipeline"], ["map_batches"]),
        (
            "TorchPredictor(model=model, preprocessor=prep).predict(frame)",
            ["call the model itself under torch.no_grad()", "prep.transform_batch(data)"],
            ["map_batches"],
        ),
        (
            "p = TorchPredictor.from_checkpoint(checkpoint, model=model)\np.predict(frame)",
            ["call the model itself under torch.no_grad()", "TorchCheckpoint(checkpoint.path, checkpoint.filesystem)"],
            ["map_batches"],
        ),
    ],
)
def test_a_predictor_of_what_is_there_is_that_itself(use: str, told: list[str], untold: list[str]) -> None:
    outcome = converted(READY + use)
    assert len(outcome.lines("RM603", Kind.MANUAL)) == 1
    said = next(message for message in outcome.messages if "Predictor is gone: current Ray" in message)
    assert all(part in said for part in told)
    assert not any(part in said.partition("That is gone too")[0] for part in untold)


BATCHES = """
import ray
from ray.train.batch_predictor import BatchPredictor
from ray.train.huggingface import TransformersPredictor
from ray.train.torch import TorchPredictor
from job import checkpoint, kind, model

rows = ray.data.read_text("s3://our-bucket/texts")
"""
UNSEEN = "predictor = BatchPredictor.from_checkpoint(checkpoint, TransformersPredictor, task=kind)\n"


@pytest.mark.parametrize(
    ("use", "told", "untold"),
    [
        (
            f"{UNSEEN}predictor.predict(rows, num_gpus_per_worker=1, num_cpus_per_worker=2, batch_size=8)",
            ["map_batches takes num_gpus_per_worker= as num_gpus=; num_cpus_per_worker= as num_cpus=; batch_size=."],
            ["keep_columns", "fn_kwargs", "Drop"],
        ),
        (
            f"{UNSEEN}predictor.predict(rows, min_scoring_workers=1, max_scoring_workers=4, max_new_tokens=9, top_k=2)",
            [
                "min_scoring_workers= and max_scoring_workers= as compute=ray.data.ActorPoolStrategy(min_size=...,",
                'max_new_tokens= and top_k= as fn_kwargs={"max_new_tokens": ..., "top_k": ...}, which __call__ gets',
            ],
            ["num_gpus", "feature_columns"],
        ),
        (
            "class Job:\n    def __init__(self):\n        self.p = BatchPredictor(checkpoint, TorchPredictor)\n\n"
            "    def run(self):\n"
            "        return self.p.predict(rows, feature_columns=['a'], keep_columns=['b'], batch_size=None)",
            [
                "__call__ takes the feature_columns= from the batch and puts the keep_columns= of the batch",
                "batch_size=",
            ],
            ["num_gpus", "Drop"],
        ),
        (
            f"{UNSEEN}predictor.predict_pipelined(rows, blocks_per_window=2, ray_remote_args={{'resources': r}})",
            ["Drop blocks_per_window=.", "map_batches takes the entries of ray_remote_args=."],
            ["num_gpus"],
        ),
        (
            "predictor = BatchPredictor.from_pandas_udf(lambda df: df)\npredictor.predict(rows, keep_columns=['b'])",
            ['Give the function to ds.map_batches, with batch_format="pandas". The function puts the keep_columns='],
            ["pipeline in a class", "__call__"],
        ),
        (
            f"{UNSEEN}predictor.predict(rows, num_gpus_per_worker=None)",
            ["Load a transformers pipeline"],
            ["map_batches takes"],
        ),
        (
            "def predict(name):\n    return BatchPredictor.from_checkpoint(checkpoint, model[name]).predict(rows)",
            ["Load the model, or a transformers pipeline with it, in a class"],
            [],
        ),
    ],
)
def test_the_arguments_of_predict_are_said_in_terms_of_map_batches(
    use: str, told: list[str], untold: list[str]
) -> None:
    outcome = converted(BATCHES + use)
    said = next(message for message in outcome.messages if "batch_predictor.BatchPredictor is gone" in message)
    assert all(part in said for part in told)
    assert not any(part in said for part in untold)


WITH_USE = """
import numpy as np
import pandas as pd
import ray
from ray import serve
from ray.data.preprocessors import BatchMapper
from ray.train.batch_predictor import BatchPredictor
from ray.train.huggingface import TransformersPredictor
from ray.train.predictor import Predictor
from ray.train.torch import TorchCheckpoint, TorchPredictor


{use}
"""
ACTOR = """
{decorator}
class Server:
    def __init__(self, checkpoint):
        self.predictor = TransformersPredictor.from_checkpoint(checkpoint, task="ner")

    {method}
"""


@pytest.mark.parametrize("decorator", ["", "@ray.remote(num_gpus=1)", "@serve.deployment(num_replicas=2)"])
@pytest.mark.parametrize(
    ("method", "told"),
    [
        (
            "def ask(self):\n        return self.predictor.get_preprocessor()",
            "Its get_preprocessor has no counterpart.",
        ),
        (
            "async def ask(self, p):\n        self.predictor.set_preprocessor(p)",
            "Its set_preprocessor has no counterpart.",
        ),
        (
            "@app.post('/')\n    async def ask(self, x):\n        return self.predictor.predict({'a': x})",
            "given arrays",
        ),
        ("def ask(self, x):\n        return self.predictor.predict(np.array(x))", "It is given arrays"),
    ],
)
def test_an_object_that_is_asked_for_more_stays_wherever_it_is_kept(decorator: str, method: str, told: str) -> None:
    outcome = converted(WITH_USE.format(use=ACTOR.format(decorator=decorator, method=method)), unsafe=True)
    assert "class PipelinePredictor" not in outcome.text
    assert any(told in message for message in outcome.messages)


@pytest.mark.parametrize(
    ("given", "step"),
    [
        ("None", "Delete set_preprocessor(None)"),
        ("preprocessor=None", "Delete set_preprocessor(None)"),
        ("p", "Apply the preprocessor that it is given here"),
        ("None if p else p", "Apply the preprocessor that it is given here"),
    ],
)
def test_a_preprocessor_is_applied_by_hand_only_where_one_is_given(given: str, step: str) -> None:
    method = f"def ask(self, p):\n        self.predictor.set_preprocessor({given})"
    outcome = converted(WITH_USE.format(use=ACTOR.format(decorator="", method=method)), unsafe=True)
    (told,) = (message for message in outcome.messages if "Its set_preprocessor has no counterpart." in message)
    assert step in told and told.count("preprocessor that it is given") == ("Apply" in step)


@pytest.mark.parametrize(
    ("data", "noted"),
    [
        ("pd.DataFrame({'a': ['x']})", False),
        ("pd.read_csv('x')[['text']].head(1)", False),
        ("frame", True),
        ("json.loads(text)", True),
    ],
)
def test_data_that_may_be_arrays_is_noted(data: str, noted: bool) -> None:
    ask = f"def ask(self, frame):\n        return self.predictor.predict({data})"
    outcome = converted(WITH_USE.format(use=ACTOR.format(decorator="", method=ask)), unsafe=True)
    assert "class PipelinePredictor" in outcome.text
    assert bool(outcome.lines("RM603", Kind.NOTE)) == noted


@pytest.mark.parametrize(
    ("use", "told"),
    [
        ("class P(TorchPredictor):\n    pass", "calls call_model() or the model under torch.no_grad()"),
        ("class P(TransformersPredictor):\n    pass", "make the pipeline in __init__"),
        ("class P(Predictor):\n    pass", "let __init__ load the model"),
        ("class P(BatchPredictor):\n    pass", "Remove the class: what it adds goes to where ds.map_batches is called"),
        ("def f(p: Predictor):\n    return p", "Name what takes its place here"),
        ("def f(p: type[Predictor]) -> BatchPredictor:\n    return p", "Name what takes its place here"),
        ("print(isinstance(other, TorchPredictor))", "Name what takes its place here"),
        ("p = Predictor.from_pandas_udf(lambda df: df)", "Call the function itself"),
        (
            "b = BatchPredictor(c, TorchPredictor)\nb.set_preprocessor(scaler)\nb.predict(rows)",
            "Apply the preprocessor to the rows before that: scaler.transform(dataset).",
        ),
        (
            "b = BatchPredictor(c, TorchPredictor)\nb.set_preprocessor(BatchMapper(f, batch_format='pandas'))",
            "before that: dataset.map_batches(f, ",
        ),
        (
            "c = TorchCheckpoint.from_model(m, preprocessor=p)\nBatchPredictor(c, TorchPredictor).predict(rows)",
            "predict() applied the preprocessor of the checkpoint first",
        ),
        ("BatchPredictor(c, TorchPredictor).predict(rows, num_gpus_per_worker=1)", "also turned use_gpu=True on"),
        ("BatchPredictor(c, TorchPredictor, **{'b': 1}).predict(rows, num_gpus_per_worker=1)", "also turned use_gpu="),
        ("class P(TorchPredictor):\n    pass", 'returns {"predictions": output.cpu().numpy()}, or {name: value.cpu()'),
        (
            "class P(TorchPredictor):\n    def call_model(self, inputs):\n        return {'a': self.model(inputs)}",
            "returns {name: value.cpu().numpy() for name, value in output.items()}.",
        ),
        (
            "class P(TorchPredictor):\n    def call_model(self, inputs):\n        return self.model(inputs)",
            'returns {"predictions": output.cpu().numpy()}, or {name',
        ),
        ("TorchPredictor(m, use_gpu=True).predict(x, dtype=d)", 'on "cuda". dtype= is that of the tensors.'),
    ],
)
def test_each_use_of_a_predictor_has_its_own_advice(use: str, told: str) -> None:
    outcome = converted(WITH_USE.format(use=use))
    assert any(told in message for message in outcome.messages)


OWN = """
class P(TorchPredictor):
    @classmethod
    def from_checkpoint(cls, checkpoint, threshold=1, **kwargs):
        return cls(load(checkpoint), **kwargs)


"""


@pytest.mark.parametrize(
    "use",
    [
        "BatchPredictor(c, TorchPredictor, use_gpu=False).predict(rows, num_gpus_per_worker=1)",
        "BatchPredictor.from_checkpoint(c, TorchPredictor, use_gpu=g).predict(rows, num_gpus_per_worker=n)",
        "BatchPredictor(c, TorchPredictor, **{'use_gpu': True}).predict(rows, num_gpus_per_worker=1)",
        f"{OWN}BatchPredictor(c, P).predict(rows, num_gpus_per_worker=1)",
    ],
)
def test_gpus_of_a_batch_predictor_set_use_gpu_only_where_it_is_not_given(use: str) -> None:
    assert not any("turned use_gpu=True on" in message for message in converted(WITH_USE.format(use=use)).messages)


def test_a_preprocessor_that_is_taken_out_is_not_to_be_applied() -> None:
    use = "b = BatchPredictor(c, TorchPredictor)\nb.set_preprocessor(None)\nb.predict(rows)"
    assert not any("applied the preprocessor" in text for text in converted(WITH_USE.format(use=use)).messages)


LEFT = """
from ray.train.batch_predictor import BatchPredictor
from ray.train.huggingface import HuggingFacePredictor

def write(folder, rows, task, **kwargs):
    predictor = {made}
    return predictor.predict(rows, **kwargs)
"""
BY_BATCH = "BatchPredictor.from_checkpoint(folder, HuggingFacePredictor, {0})"
ALONE = "HuggingFacePredictor.from_checkpoint(folder, {0}, **kwargs)"


@pytest.mark.parametrize("made", [BY_BATCH, ALONE])
@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            'task="text-generation"',
            "give it max_length=20 and do_sample=False: without that, it writes 256 new tokens and",
        ),
        ('**{"task": "text-generation"}', "give it max_length=20 and do_sample=False: without"),
        (
            'task="text-generation", do_sample=True, max_new_tokens=4',
            "give it temperature=1.0: without that, it samples at",
        ),
        ("task=task, max_length=30", 'Where its task is "text-generation", give it do_sample=False'),
        ('task="text-generation", max_length=30, do_sample=False', ""),
        ('task="fill-mask"', ""),
    ],
)
def test_a_person_is_told_what_keeps_the_texts_as_they_were(made: str, given: str, said: str) -> None:
    messages = [text for text in converted(LEFT.format(made=made.format(given))).messages if "Load a transf" in text]
    assert messages
    told = ["give it " in text.lower() for text in messages]
    assert all(said.lower() in text.lower() for text in messages) if said else not any(told)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("", "max_length=20 and do_sample=False"),
        (", max_new_tokens=8, do_sample=True", "temperature=1.0"),
        (", max_new_tokens=8", "do_sample=False"),
        (", max_new_tokens=8, do_sample=True, temperature=0.9", ""),
    ],
)
def test_what_the_class_says_to_its_pipeline_need_not_be_said_again(given: str, said: str) -> None:
    script = f"""
from ray.train.huggingface import HuggingFacePredictor


class Writer(HuggingFacePredictor):
    def _predict_pandas(self, data, **kwargs):
        return self.pipeline(data["text"].tolist(){given})


Writer.from_checkpoint(checkpoint, task="text-generation")
"""
    told = [text for text in converted(script).messages if "Remove the base class" in text]
    assert told
    assert all(f"give it {said}: without" in text if said else "without, it" not in text for text in told)

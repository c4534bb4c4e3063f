"""RM429: models of transformers that go to another process, or to a file, by pickle."""

import pytest

from raymigrate.base.findings import Kind
from raymigrate.codemods.torch_trainer.pickled_models import CAPTURED, FAILS, NONE, REFUSED, SAVED
from raymigrate.knowledge.pickled_models import Pickling, pickling
from tests.rules.scripts import converted

HEAD = """
import pickle
import ray
import torch
from ray import tune
from ray.train import ScalingConfig
from ray.train.torch import TorchTrainer
from transformers import AutoModel, AutoModelForSemanticSegmentation, AutoModelForSequenceClassification, BertConfig
from transformers import BertModel, SegformerForSemanticSegmentation, Wav2Vec2ForCTC, pipeline
"""
SEGFORMER = 'model = SegformerForSemanticSegmentation.from_pretrained("nvidia/segformer-b0-finetuned-ade-512-512")\n'
STATES = 'model = AutoModel.from_pretrained("bert-base-uncased", output_hidden_states=True)\n'
BERT = 'model = AutoModelForSequenceClassification.from_pretrained("bert-base-uncased")\n'
PUT = "ray.put(model)\n"


def told(text: str, head: str = HEAD) -> list[str]:
    outcome = converted(head + text)
    places = len(outcome.lines("RM429", Kind.MANUAL))
    found = [m for m in outcome.messages if m.startswith((CAPTURED, FAILS, NONE, REFUSED))]
    assert len(found) == places
    return [next(text for text in (CAPTURED, FAILS, NONE, REFUSED) if message.startswith(text)) for message in found]


@pytest.mark.parametrize(
    "made",
    [
        SEGFORMER,
        "import transformers\nmodel = transformers.SegformerForSemanticSegmentation(config)\n",
        "C = SegformerForSemanticSegmentation\nmodel = C.from_pretrained(name).to('cuda').eval()\n",
        'model = AutoModelForSemanticSegmentation.from_pretrained("nvidia/mit-b0")\n',
        "model = AutoModelForSemanticSegmentation.from_pretrained(name)\n",
        "def make():\n    return SegformerForSemanticSegmentation.from_pretrained(name)\nmodel = make()\n",
        "model = checkpoint.get_model(SegformerForSemanticSegmentation)\n",
        'model = pipeline("depth-estimation")\n',
        'model = pipeline("image-segmentation", model="nvidia/segformer-b0-finetuned-ade-512-512")\n',
        f'{SEGFORMER}model = pipeline("image-segmentation", model=model)\n',
        f"{SEGFORMER}model = {{'model': model}}\n",
    ],
)
def test_a_model_that_needs_its_states_fails_elsewhere(made: str) -> None:
    assert told(made + PUT) == [FAILS]


@pytest.mark.parametrize(
    "made",
    [
        STATES,
        "config = BertConfig(output_attentions=True)\nmodel = BertModel(config)\n",
        "model = BertModel(BertConfig())\nmodel.config.output_hidden_states = True\n",
        "options = {'output_hidden_states': True}\nmodel = AutoModel.from_pretrained('bert-base-uncased', **options)\n",
        f"{BERT}def use(model):\n    return model(rows, output_attentions=True).attentions\n",
    ],
)
def test_states_that_are_asked_for_are_none_elsewhere(made: str) -> None:
    assert told(made + PUT) == [NONE]


@pytest.mark.parametrize(
    "called",
    [
        "model(images)\n",
        "with torch.no_grad():\n    model(images)\n",
        "def predict(m):\n    return m(images)\npredict(model)\n",
        "def predict(m):\n    return m(images)\ndef main():\n    predict(model)\nmain()\n",
        'pipe = pipeline("image-segmentation", model=model)\npipe(images)\n',
        "model.forward(images)\n",
    ],
)
def test_a_model_that_has_captured_some_cannot_be_pickled(called: str) -> None:
    assert told(SEGFORMER + called + PUT) == [CAPTURED]
    assert told(SEGFORMER + PUT + called) == [FAILS]


FIT = "TorchTrainer(loop, scaling_config=ScalingConfig(num_workers=2))\n"
USES = {
    "task": "@ray.remote\ndef f(m):\n    return m(rows)\nf.remote(model)\n",
    "actor": "@ray.remote\nclass A:\n    def __init__(self, m):\n        self.m = m\nA.options().remote(m=model)",
    "udf arguments": "ray.data.range(3).map_batches(P, fn_constructor_kwargs={'m': model})",
    "positional udf arguments": "ray.data.range(3).map_batches(P, fn_constructor_args=[model])",
    "udf": "def f(batch):\n    return {'x': model(batch['id'])}\nray.data.range(3).map_batches(f)",
    "lambda": "ray.data.range(3).map_batches(lambda batch: model(batch['id']))",
    "closure": "def main(m=model):\n    def f(row):\n        return m(row)\n    ray.data.range(3).map(f)\nmain()",
    "class attribute": "class P:\n    own = model\n    def __call__(self, b):\n        return self.own(b)\n"
    "ray.data.range(3).map_batches(P)",
    "train function": f"def loop(config):\n    model(rows)\n{FIT}",
    "helper": f"def step():\n    model(rows)\ndef loop(config):\n    step()\n{FIT}",
    "configuration": "TorchTrainer(loop, train_loop_config={'m': model}, scaling_config=ScalingConfig(num_workers=2))",
    "remote task": "@ray.remote\ndef f():\n    return model(rows)\nf.remote()",
    "partial": "from functools import partial\nTorchTrainer(partial(loop, m=model), scaling_config=ScalingConfig())",
    "trainable": "tune.Tuner(tune.with_parameters(trial, m=model)).fit()",
    "own method": "class P:\n    def __init__(self):\n        self.m = model\n    def f(self, b):\n        pass\n"
    "    def run(self):\n        ray.data.range(3).map(self.f)\n",
    "bound method": "class P:\n    def __init__(self, m):\n        self.m = m\n    def f(self, b):\n        pass\n"
    "p = P(model)\nray.data.range(3).map(p.f)",
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_every_way_to_another_process(use: str) -> None:
    assert told(STATES + use) == [NONE]
    assert not told(BERT + use)


@pytest.mark.parametrize(
    "made",
    [
        'model = Wav2Vec2ForCTC.from_pretrained("facebook/wav2vec2-base-960h")\n',
        'model = AutoModel.from_pretrained("facebook/hubert-base-ls960")\n',
        'model = pipeline("automatic-speech-recognition")\n',
    ],
)
def test_parametrized_weights_are_never_pickled(made: str) -> None:
    assert told(made + PUT + "torch.save(model, path)\n") == [REFUSED, REFUSED]


def test_saving_a_model_that_has_captured_some() -> None:
    assert told(f"{STATES}model(rows)\ntorch.save({{'model': model}}, path)\n") == [CAPTURED]
    outcome = converted(f"{HEAD}{STATES}model(rows)\npickle.dumps(model)\n")
    assert any(message.endswith(SAVED) for message in outcome.messages)
    assert not told(f"{STATES}torch.save(model, path)\n")
    assert not told(f"{STATES}model(rows)\ntorch.save(model.state_dict(), path)\n")
    in_worker = f"def loop(config):\n    {SEGFORMER}    model(rows)\n"
    assert told(f"{in_worker}    torch.save(model, path)\nTorchTrainer(loop)\n") == [CAPTURED]


@pytest.mark.parametrize(
    "text",
    [
        BERT + "model(rows)\n" + PUT,
        'model = AutoModel.from_pretrained("microsoft/deberta-v3-base", output_hidden_states=True)\n' + PUT,
        'model = AutoModelForSemanticSegmentation.from_pretrained("apple/deeplabv3-mobilevit-small")\n' + PUT,
        BERT + "model(rows, output_attentions=False)\n" + PUT,
        BERT + "model.config.output_attentions = False\n" + PUT,
        BERT + 'other = AutoModel.from_pretrained("x", output_hidden_states=True)\n' + PUT,  # another one
        BERT + "other = BertModel(BertConfig(output_hidden_states=True))\n" + PUT,
        SEGFORMER + "ray.put(model.config)\nray.put(model.state_dict())\n",
        "def loop(config):\n    " + SEGFORMER + "    model(rows)\nTorchTrainer(loop)\n",
        "@ray.remote\nclass A:\n    def __init__(self):\n        self." + SEGFORMER + "a = A.remote()\n",
    ],
)
def test_else_there_is_nothing_to_say(text: str) -> None:
    assert not told(text)


def test_a_user_who_keeps_transformers_4_is_told_nothing() -> None:
    assert not converted(HEAD + SEGFORMER + PUT, ignore=("RM7",)).lines("RM429", Kind.MANUAL)
    assert converted(HEAD + SEGFORMER + PUT, select=("RM429",)).lines("RM429", Kind.MANUAL)


@pytest.mark.parametrize(
    ("name", "checkpoint", "kind"),
    [
        ("Wav2Vec2BertModel", "", Pickling.USUAL),
        ("AutoModel", "facebook/w2v-bert-2.0", Pickling.USUAL),
        ("AutoModelForCTC", "me/finetuned-wav2vec2-large", Pickling.REFUSED),
        ("GPTNeoXForCausalLM", "", Pickling.USUAL),
        ("AutoModelForCausalLM", "EleutherAI/gpt-neo-125m", Pickling.COLLECTS),
        ("SegformerForImageClassification", "", Pickling.USUAL),
        ("AutoModelForDepthEstimation", "Intel/dpt-large", Pickling.NEEDS_STATES),
        ("AutoModelForDepthEstimation", "vinvino02/glpn-nyu", Pickling.COLLECTS),
        ("AutoModelForUniversalSegmentation", "facebook/mask2former-swin-small-coco-instance", Pickling.CAPTURES),
        ("XLMRobertaModel", "", Pickling.USUAL),
        ("SpeechT5ForTextToSpeech", "", Pickling.USUAL),
    ],
)
def test_kinds_of_models(name: str, checkpoint: str, kind: Pickling) -> None:
    assert pickling(name, checkpoint) is kind


DICT = """
from ray.air import Checkpoint
from transformers import SegformerForSemanticSegmentation

segformer = SegformerForSemanticSegmentation.from_pretrained("nvidia/segformer-b0-finetuned-ade-512-512")
data = {entries}
checkpoint = Checkpoint.from_dict(data)


def load(checkpoint):
    return checkpoint.to_dict()["model"]
"""


@pytest.mark.parametrize(("entries", "of_a_model"), [('{"model": segformer, "x": 1}', True), ('{"model": 1}', False)])
def test_a_dict_with_a_model_is_not_handed_over(entries: str, of_a_model: bool) -> None:
    outcome = converted(DICT.replace("{entries}", entries))
    assert outcome.lines("RM303", Kind.MANUAL) == [6]
    assert outcome.lines("RM304", Kind.MANUAL) == [10]
    of_dicts = [message for message in outcome.messages if "_dict()" in message]
    assert [("save_pretrained" in message) for message in of_dicts] == [of_a_model] * 2

"""RM701 for image processors: what they ignore today is given under its new name."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
import ray
import transformers
from ray.air.config import ScalingConfig
from transformers import AutoFeatureExtractor, DetrImageProcessor, SegformerFeatureExtractor

{code}
print(ScalingConfig, ray)
"""


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (
            'p = SegformerFeatureExtractor.from_pretrained("x", reduce_labels=True)',
            'SegformerImageProcessor.from_pretrained("x", do_reduce_labels=True)',
        ),
        ("p = SegformerFeatureExtractor(reduce_labels=flag)", "SegformerImageProcessor(do_reduce_labels=flag)"),
        (
            'p = transformers.AutoImageProcessor.from_pretrained("x", reduce_labels=True)',
            'from_pretrained("x", do_reduce_labels=True)',
        ),
        (
            'p = DetrImageProcessor.from_pretrained("x", pad_and_return_pixel_mask=False)',
            'from_pretrained("x", do_pad=False)',
        ),
        (
            'p = AutoFeatureExtractor.from_pretrained("x")\np(images, maps, reduce_labels=True)',
            "p(images, maps, do_reduce_labels=True)",
        ),
        (
            "class Batches:\n"
            '    def __init__(self):\n        self.p = AutoFeatureExtractor.from_pretrained("x")\n\n'
            "    def __call__(self, batch):\n        return self.p(batch, reduce_labels=True)",
            "self.p(batch, do_reduce_labels=True)",
        ),
    ],
)
def test_an_argument_that_is_ignored_gets_its_new_name(code: str, expected: str) -> None:
    outcome = converted(SCRIPT.format(code=code))
    assert expected in outcome.text
    assert len(outcome.lines("RM701", Kind.CONVERTED)) == 1


@pytest.mark.parametrize(
    "code", ["p = dict(reduce_labels=True)", "p = load(reduce_labels=True)", "p = options.copy(reduce_labels=True)"]
)
def test_an_argument_of_something_else_stays(code: str) -> None:
    outcome = converted(SCRIPT.format(code=code))
    assert code in outcome.text and not outcome.lines("RM701", Kind.CONVERTED)


def test_two_values_for_one_thing_are_for_a_person() -> None:
    code = 'p = SegformerFeatureExtractor.from_pretrained("x", reduce_labels=a, do_reduce_labels=b)'
    assert len(converted(SCRIPT.format(code=code)).lines("RM701", Kind.MANUAL)) == 1


LEGACY = """
import transformers
from ray.air import session
from transformers import AutoFeatureExtractor, AutoImageProcessor, CLIPFeatureExtractor, ViTImageProcessor
from transformers import ViTFeatureExtractor as Extractor

p = {call}
session.report({{}})
"""


@pytest.mark.parametrize(
    ("call", "frozen"),
    [
        ('ViTImageProcessor.from_pretrained("x")', 'ViTImageProcessorPil.from_pretrained("x")'),
        ("ViTImageProcessor(size=32)", "ViTImageProcessorPil(size=32)"),
        ('CLIPFeatureExtractor.from_pretrained("x")', 'CLIPImageProcessorPil.from_pretrained("x")'),
        ("Extractor()", "p = ViTImageProcessorPil()"),
        ("transformers.SegformerFeatureExtractor()", "transformers.SegformerImageProcessorPil()"),
        ('AutoImageProcessor.from_pretrained("x")', 'AutoImageProcessor.from_pretrained("x", backend="pil")'),
        ('AutoFeatureExtractor.from_pretrained("a/vit")', 'AutoImageProcessor.from_pretrained("a/vit", backend="pil")'),
    ],
)
def test_images_that_are_resized_otherwise_are_noted_or_resized_as_before(call: str, frozen: str) -> None:
    script = LEGACY.format(call=call)
    assert len(converted(script).lines("RM751", Kind.NOTE)) == 1
    outcome = converted(script, freeze_numerics=True)
    assert frozen in outcome.text
    assert len(outcome.lines("RM751", Kind.CONVERTED)) == 1
    assert not converted(outcome.text, freeze_numerics=True).findings


@pytest.mark.parametrize(
    "call",
    [
        'AutoImageProcessor.from_pretrained("x", use_fast=False)',
        'AutoImageProcessor.from_pretrained("x", backend="torchvision")',
        "transformers.ViTImageProcessorFast()",
        "transformers.ViTImageProcessorPil()",
        "transformers.Wav2Vec2FeatureExtractor()",
        'AutoFeatureExtractor.from_pretrained("facebook/wav2vec2-base")',
    ],
)
@pytest.mark.parametrize("frozen", [False, True])
def test_a_script_that_chose_a_backend_is_left(call: str, frozen: bool) -> None:
    outcome = converted(LEGACY.format(call=call), freeze_numerics=frozen)
    assert "RM751" not in [code for code, _, _ in outcome.findings]


FOR_TODAYS_RAY = """
from ray.train.torch import TorchTrainer
from transformers import AutoImageProcessor, Trainer, TrainingArguments, ViTImageProcessor

p = {call}
args = TrainingArguments("out", {strategy}="steps")
TorchTrainer(loop)
"""


@pytest.mark.parametrize("call", ['ViTImageProcessor.from_pretrained("x")', 'AutoImageProcessor.from_pretrained("x")'])
def test_a_script_for_todays_ray_is_told_by_its_arguments_of_transformers_4(call: str) -> None:
    outcome = converted(FOR_TODAYS_RAY.format(call=call, strategy="evaluation_strategy"))
    assert outcome.lines("RM751", Kind.NOTE) == [4]
    assert not converted(outcome.text).findings
    assert not converted(FOR_TODAYS_RAY.format(call=call, strategy="eval_strategy")).findings

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

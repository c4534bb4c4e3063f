"""RM765: sizes and paddings of Donut's images."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

HEAD = """
import ray
import transformers
from given import config, page, rows
from transformers import AutoProcessor, DonutImageProcessor, DonutProcessor

image_size = [1280, 960]
processor = DonutProcessor.from_pretrained("naver-clova-ix/donut-base")
alone = DonutImageProcessor(size={"height": 5, "width": 4})

"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("processor.image_processor.size = image_size[::-1]", '{"height": image_size[0], "width": image_size[1]}'),
        ("processor.feature_extractor.size = image_size[::-1]", '{"height": image_size[0], "width": image_size[1]}'),
        ("alone.size = (960, 1280)", '{"height": 1280, "width": 960}'),
        ("alone.size = [config.w, config.h]", '{"height": config.h, "width": config.w}'),
        ("alone.size = (next(rows), next(rows))", '{"width": next(rows), "height": next(rows)}'),
        ("alone.size = [rows.pop(), 5]", '{"width": rows.pop(), "height": 5}'),
        ("alone.size = (w := 960, w * 2)", '{"width": (w := 960), "height": w * 2}'),
        ("alone.size = (*rows, 5)", 'dict(zip(("width", "height"), (*rows, 5)))'),
        ("pair = (960, 1280)\nalone.size = pair", 'dict(zip(("width", "height"), pair))'),
        ("alone.size = config.size[::-1]", 'dict(zip(("width", "height"), config.size[::-1]))'),
        (
            "p = AutoProcessor.from_pretrained('me/donut-cord')\np.image_processor.size = (2, 3)",
            '{"height": 3, "width": 2}',
        ),
        (
            "p = transformers.AutoImageProcessor\nq = transformers.DonutFeatureExtractor()\nq.size = (2, 3)",
            '{"height": 3, "width": 2}',
        ),
        (
            "class Data:\n    def __init__(self):\n        self.p = DonutProcessor.from_pretrained('x')\n"
            "        self.p.image_processor.size = (2, 3)",
            '{"height": 3, "width": 2}',
        ),
    ],
)
def test_a_pair_that_is_set_is_turned_into_a_dict(old: str, new: str) -> None:
    outcome = converted(HEAD + old)
    assert len(outcome.lines("RM765", Kind.CONVERTED)) == 1
    assert f".size = {new}\n" in f"{outcome.text}\n"
    assert not converted(outcome.text).lines("RM765", Kind.CONVERTED)


@pytest.mark.parametrize(
    "line",
    [
        "alone.size = config.size",
        "alone.size = other = (960, 1280)",
        "config.size = alone.size = (960, 1280)",
        "alone.size: tuple = (960, 1280)",
        "alone.size, other = (960, 1280), 5",
        "for alone.size in rows:\n    print(alone(page))",
    ],
)
def test_a_size_that_is_not_seen_or_set_elsewhere_too_is_told(line: str) -> None:
    outcome = converted(HEAD + line)
    assert len(outcome.lines("RM765", Kind.MANUAL)) == 1 and outcome.text.endswith(line)


@pytest.mark.parametrize(
    "use",
    [
        'alone.size = {"height": 3, "width": 2}',
        "alone.size = 5",
        "alone.size: dict = {'height': 3, 'width': 2}",
        "alone.size = other = {'height': 3, 'width': 2}",
        "alone.size: int",
        "config.size = other = (960, 1280)",
        "alone(page, size=(20, 40))",
        "DonutImageProcessor(size=(20, 40))",
        "config.size = (20, 40)",
        "print(alone.size)",
        "processor(page, random_padding=False)",
        "config(page, random_padding=True)",
    ],
)
def test_others_are_left_alone(use: str) -> None:
    assert not [code for code, _, _ in converted(HEAD + use).findings if code == "RM765"]


@pytest.mark.parametrize(
    ("call", "happens"),
    [
        ("processor(page, random_padding=True)", "is ignored"),
        ("processor(page, random_padding=config.split == 'train', return_tensors='pt')", "is ignored"),
        ("alone(page, random_padding=True)", "raises a TypeError"),
        ("processor.image_processor(page, random_padding=True)", "raises a TypeError"),
    ],
)
def test_a_padding_at_random_is_told(call: str, happens: str) -> None:
    outcome = converted(HEAD + call)
    assert outcome.lines("RM765", Kind.MANUAL)
    assert any(f"random_padding= {happens}" in message for message in outcome.messages)

"""RM731: images of containers with a Ray, or a Python, that converted code does not run on."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
from ray.air import session


def loop(config):
    session.report({{"loss": 1.0}})


CLUSTER = {text}
"""
PLACE = 8


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('"rayproject/ray:2.6.3"', "excludes ray >="),
        ('dict(image="registry.hub.docker.com/rayproject/ray:2.40.0-py311-gpu")', "excludes ray >="),
        ('["quay.io/project-codeflare/ray:2.20.0-py39-cu118"]', "excludes ray >="),
        ('"rayproject/ray-ml:2.6.3-py310-gpu"', "install them in it"),
        ('"localhost:5000/rayproject/ray:latest-py39-cu118"', "excludes python >="),
        ('"rayproject/ray:nightly-py38"', "excludes python >="),
    ],
)
def test_an_image_that_is_too_old(text: str, told: str) -> None:
    outcome = converted(SCRIPT.format(text=text))
    assert outcome.lines("RM731", Kind.MANUAL) == [PLACE]
    assert any(told in message for message in outcome.messages)


@pytest.mark.parametrize(
    ("tag", "today"),
    [
        ("2.6.3", "-py310"),
        ("2.40.0-py311-gpu", "-py311-gpu"),
        ("2.6.3-py38-cu118", "-py310-gpu"),  # which CUDA there is depends on the Ray
        ("2.6.3-gpu", "-py310-gpu"),
    ],
)
def test_the_example_is_of_the_same_kind(tag: str, today: str) -> None:
    outcome = converted(SCRIPT.format(text=f'"rayproject/ray:{tag}"'))
    assert any(f"rayproject/ray:2.51.0{today};" in message for message in outcome.messages)


@pytest.mark.parametrize(
    "text",
    [
        '"rayproject/ray:2.60.0-py312-gpu"',
        '"rayproject/ray:latest"',
        '"rayproject/ray:nightly-py310"',
        '"s3://bucket/ray:1.0"',
        '"see rayproject/ray:2.6.3 for what was used"',
        '"rayproject/array:1.0"',
    ],
)
def test_others_are_left(text: str) -> None:
    assert not converted(SCRIPT.format(text=text)).lines("RM731", Kind.MANUAL)


def test_a_script_of_current_ray_is_left() -> None:
    assert not converted('import ray\n\nIMAGE = "rayproject/ray:2.40.0"\n').findings

"""RM513: gray images among others."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
import ray


def is_coloured(row):
    image = row["image"]
    return {test}


def has_name(row):
    return row["name"].ndim == 3 or len(row["image"]) == 3


images = ray.data.read_images("/images", {arguments}).limit(200)
images = images.union(ray.data.read_images("/more", mode="RGB"))
images.filter({function}).filter(has_name)
"""


def told(test: str = "True", *, function: str = "is_coloured", arguments: str = "include_paths=True") -> list[int]:
    script = SCRIPT.format(test=test, function=function, arguments=arguments)
    return converted(script).lines("RM513", Kind.MANUAL)


@pytest.mark.parametrize("test", ["image.ndim == 3", "len(image.shape) > 2", 'row["image"].ndim == 3'])
def test_who_asks_for_the_number_of_dimensions_is_told(test: str) -> None:
    assert told(test) == [6]


def test_so_is_a_lambda() -> None:
    assert told(function='lambda record: record["image"].ndim == 3') == [15]


@pytest.mark.parametrize("arguments", ['mode="L"', "**options"])
def test_a_mode_makes_all_images_alike(arguments: str) -> None:
    assert not told("image.ndim == 3", arguments=arguments)


@pytest.mark.parametrize("test", ["len(image) == 3", "image.shape[2] == 3", 'row["mask"].ndim == 3'])
def test_what_asks_for_something_else_is_not(test: str) -> None:
    assert not told(test)

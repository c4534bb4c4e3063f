"""RM519: classes that are made from Ray's Preprocessor."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

HEAD = """
import abc
from dataclasses import dataclass
import ray.ml.preprocessor
from ray.data import preprocessor
from ray.data.preprocessor import Preprocessor
from ray.data.preprocessors import StandardScaler

"""


@pytest.mark.parametrize(
    "base",
    ["Preprocessor", "preprocessor.Preprocessor", "ray.data.preprocessor.Preprocessor", "Preprocessor, abc.ABC"],
)
@pytest.mark.parametrize(
    ("body", "after"),
    [
        ("self.n = ds.count()", "self.n = ds.count()\n        return self\n"),
        ("pass", "return self\n"),
        ("return None  # nothing", "return self  # nothing\n"),
        ("if self.n:\n            return\n        raise ValueError", "    return self\n        raise ValueError\n"),
        ("for n in ds:\n            self.n = n", "self.n = n\n        return self\n"),
    ],
)
def test_fit_returns_its_object(base: str, body: str, after: str) -> None:
    outcome = converted(f"{HEAD}class Own({base}):\n    def _fit(self, ds):\n        {body}\n")
    assert outcome.text.endswith(after)
    assert len(outcome.lines("RM519", Kind.CONVERTED)) == 1
    assert converted(outcome.text).text == outcome.text


@pytest.mark.parametrize(
    "body",
    [
        "return self",
        "return super()._fit(ds)",
        "raise NotImplementedError",
        "if ds:\n            return self\n        else:\n            raise ValueError",
    ],
)
def test_what_returns_something_or_never_stays(body: str) -> None:
    text = f"{HEAD}class Own(Preprocessor):\n    def _fit(self, ds):\n        {body}\n"
    assert not converted(text).lines("RM519", Kind.CONVERTED)


def test_something_else_that_fit_returns_is_left_to_a_person() -> None:
    text = f"{HEAD}class Own(StandardScaler):\n    def _fit(self, ds):\n        return {{'n': 1}}\n"
    assert len(converted(text).lines("RM519", Kind.MANUAL)) == 1


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("class Own(Preprocessor):\n    def __init__(self, n):\n        self.n = n\n", Kind.CONVERTED),
        ("@dataclass\nclass Own(Preprocessor):\n    def __post_init__(self):\n        self.n = 1\n", Kind.CONVERTED),
        (
            "class Base(Preprocessor):\n    pass\nclass Own(Base):\n    def __init__(self, n):\n        self.n = n\n",
            Kind.CONVERTED,
        ),
        ("class Own(StandardScaler):\n    def __init__(self, n):\n        self.n = n\n", Kind.MANUAL),
        ("class Own(Preprocessor, Other):\n    def __init__(self, n):\n        self.n = n\n", Kind.MANUAL),
        ("@dataclass\nclass Own(Preprocessor):\n    n: int = 1\n", Kind.MANUAL),
        (
            "class Own(Preprocessor):\n    def __init__(self, n):\n        self.n = n\n"
            "    @property\n    def stats_(self):\n        return {}\n",
            Kind.MANUAL,
        ),
        (
            "class Base(Preprocessor):\n    def __init__(self, n):\n        super().__init__()\n"
            "class Own(Base):\n    def __init__(self):\n        self.n = 1\n",
            Kind.MANUAL,
        ),
    ],
)
def test_the_constructor_of_ray_runs(text: str, kind: Kind) -> None:
    outcome = converted(HEAD + text)
    assert [len(outcome.lines("RM519", found)) for found in (Kind.CONVERTED, Kind.MANUAL)] == [
        kind is Kind.CONVERTED,
        kind is Kind.MANUAL,
    ]
    assert ("\n        super().__init__()\n        self.n" in outcome.text) is (kind is Kind.CONVERTED)


@pytest.mark.parametrize(
    "text",
    [
        "class Own(Preprocessor):\n    def __init__(self):\n        Preprocessor.__init__(self)\n",
        "class Own(Preprocessor):\n    def __init__(self):\n        super(Own, self).__init__()\n",
        "class Own(Preprocessor):\n    _is_fittable: bool = False\n    def __init__(self, n):\n        self.n = n\n",
        "class Own(Preprocessor):\n    def __init__(self):\n        self.n = 1\n    def fit(self, ds):\n        pass\n",
        "class Own(Other):\n    def __init__(self, n):\n        self.n = n\n    def _fit(self, ds):\n        pass\n",
        "class Own(Preprocessor):\n    @abc.abstractmethod\n    def _fit(self, ds):\n        pass\n",
    ],
)
def test_classes_that_need_nothing(text: str) -> None:
    assert not [code for code, _, _ in converted(HEAD + text).findings if code == "RM519"]

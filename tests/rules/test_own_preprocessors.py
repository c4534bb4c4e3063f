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


TRAINED = """
import ray
from ray.air.config import ScalingConfig
from ray.data.preprocessor import Preprocessor
from ray.data.preprocessors import BatchMapper, Chain
from ray.train.huggingface import TransformersTrainer
from job import build, ds


class Base(Preprocessor):
    {fittable}


class Tokenize(Base):
    def __init__(self, name):
        super().__init__()
        self.name = name

    def _transform_{kind}(self, batch):
        {body}
        return batch


{before}
TransformersTrainer(
    build, scaling_config=ScalingConfig(num_workers=2), datasets={{"train": ds}}, preprocessor={given}
).fit()
"""


def _trained(given: str, before: str = "", fittable: str = "_is_fittable = False", body: str = "pass") -> str:
    outcome = converted(TRAINED.format(given=given, before=before, fittable=fittable, body=body, kind="numpy"))
    return outcome.text if outcome.lines("RM502", Kind.CONVERTED) or outcome.lines("RM501", Kind.CONVERTED) else ""


@pytest.mark.parametrize(
    ("given", "before"),
    [
        ('Tokenize("gpt2")', ""),
        ("tokenize", 'tokenize = Tokenize("gpt2")'),
        ("made()", 'def made():\n    return Tokenize("gpt2")\n'),
    ],
)
def test_one_of_the_users_own_is_applied_to_each_dataset(given: str, before: str) -> None:
    text = _trained(given, before)
    assert ".transform(dataset).materialize()" in text and "preprocessor=" not in text
    assert ".fit(" not in text.replace(").fit()", "").replace("trainer.fit()", "")


def test_one_with_a_state_is_fitted_first() -> None:
    assert 'preprocessor.fit(datasets["train"])' in _trained('Tokenize("gpt2")', fittable="size = 1")


def test_one_that_is_made_from_one_of_ray_is_left_to_a_person() -> None:
    own = "from ray.data.preprocessors import StandardScaler\n\n\nclass Scaler(StandardScaler):\n    pass\n"
    assert not _trained('Scaler(["x"])', own)


def test_one_behind_a_batch_mapper_follows_its_function() -> None:
    text = _trained('Chain(BatchMapper(len, batch_format="numpy"), Tokenize("gpt2"))')
    assert text.index("map_batches(len") < text.index(".transform(dataset)")


@pytest.mark.parametrize("body", ['batch["x"][0] = 1', 'batch["x"] += 1', 'batch["x"].sort()'])
def test_one_that_writes_into_its_batch_is_left_to_a_person(body: str) -> None:
    assert not _trained('Tokenize("gpt2")', body=body)

"""RM692 where a gone name is imported under a name that something else in the file has, too."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

OWN_CLASS = "class HuggingFacePredictor:\n    pass\n\n\nprint(HuggingFacePredictor)\n"


@pytest.mark.parametrize(
    ("script", "line"),
    [
        (
            f"import ray\n{OWN_CLASS}from ray.train.huggingface import HuggingFacePredictor\nHuggingFacePredictor()\n",
            7,
        ),
        ("import ray\nfrom transformers import AdamW\nclass AdamW(AdamW):\n    pass\nprint(AdamW, ray)\n", 2),
        (
            "import ray\ndef load():\n    from ray.air import Checkpoint\n    Checkpoint = wrapped(Checkpoint)\n"
            "    return Checkpoint\nload()\n",
            3,
        ),
        ("import ray\nfrom datasets import load_metric as load\nload = cached(load)\nload('f1')\n", 2),
    ],
)
def test_an_import_that_fails_is_told_although_its_name_means_several_things(script: str, line: int) -> None:
    assert converted(script).lines("RM692", Kind.MANUAL) == [line]


@pytest.mark.parametrize(
    "script",
    [
        "try:\n    from ray.air import Checkpoint\nexcept ImportError:\n    from ray.train import Checkpoint\n",
        "if ray.__version__ < '2.7':\n    from ray.air import Checkpoint\nelse:\n    from mine import Checkpoint\n",
        "if OLD:\n    from ray.air import Checkpoint\nelse:\n    Checkpoint = None\n",
    ],
)
def test_an_import_that_runs_on_a_condition_is_left_alone(script: str) -> None:
    assert not converted(f"import ray\n{script}print(Checkpoint)\n").lines("RM692", Kind.MANUAL)


@pytest.mark.parametrize("target", ["ray.data.context.gone", "data.context.gone"])
def test_what_is_set_and_no_longer_read_is_told(target: str) -> None:
    outcome = converted(f"import ray.data.context\nfrom ray import data\n\n{target} = 1\nray.init()\n")
    assert any("may no longer read what is set here" in message for message in outcome.messages)

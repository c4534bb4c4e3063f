"""RM692: modules of Ray that fail themselves when they are imported."""

import pytest

from raymigrate.base.findings import Kind
from raymigrate.codemods.gone.broken_modules import BROKEN
from raymigrate.knowledge.libraries import is_module, look_up
from tests.rules.scripts import converted

FOLDER = "ray.tune.examples.pbt_transformers"


@pytest.mark.parametrize("module", BROKEN)
def test_it_is_there_and_what_it_imports_is_not(module: str) -> None:
    assert is_module(module)
    assert look_up(BROKEN[module]).gone == BROKEN[module]


@pytest.mark.parametrize(
    "statement",
    [
        f"from {FOLDER}.utils import build_compute_metrics_fn, download_data",
        f"from {FOLDER}.utils import *",
        f"from {FOLDER} import utils",
        f"import {FOLDER}.utils",
        f"import {FOLDER}.pbt_transformers as example",
        "from ray.train.examples.tf.tensorflow_autoencoder_example import train_func",
    ],
)
def test_its_import_is_told(statement: str) -> None:
    outcome = converted(f"{statement}\n")
    assert outcome.lines("RM692", Kind.MANUAL) == [1]
    assert "Copy what you need of the module." in outcome.messages[0]


@pytest.mark.parametrize(
    "script",
    [
        f"from {FOLDER.replace('ray', 'own')}.utils import download_data",
        "from ray.tune.examples.pbt_function import pbt_function  # pbt_transformers",
        f"try:\n    from {FOLDER}.utils import download_data\nexcept ImportError:\n    download_data = None",
    ],
)
def test_another_one_is_not(script: str) -> None:
    assert not converted(f"{script}\n").lines("RM692", Kind.MANUAL)


def test_with_the_old_transformers_it_is_there() -> None:
    script = f"from {FOLDER}.utils import download_data\n"
    assert not converted(script, ignore=("RM7",)).lines("RM692", Kind.MANUAL)

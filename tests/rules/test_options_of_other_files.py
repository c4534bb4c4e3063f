"""RM693, RM701, RM702, RM705: what other files give for `**options` of a function that hands them on."""

from pathlib import Path

import pytest

from raymigrate.base.findings import Kind
from tests.projects.files import convert, write

HELPERS = """
import ray.train
from ray.train.torch import prepare_model
from transformers import AutoModel, TrainingArguments


def make_args(out, **options):
    return TrainingArguments(out, **options)


def prepare(model, **given):
    return prepare_model(model, **given)


def load(name, **options):
    return AutoModel.from_pretrained(name, **options)


class Settings:
    def __init__(self, lr=1e-3, **options):
        self.args = TrainingArguments("out", learning_rate=lr, **options)


def popped(**options):
    options.pop("no_cuda", None)
    return TrainingArguments("out", **options)


def own(**options):
    return dict(options)
"""
TOLD = {
    "make_args('out', no_cuda=True)": "RM701",
    "helpers.make_args('out', no_cuda=True)": "RM701",
    "make_args('out', **{'no_cuda': True})": "RM701",
    "Settings(no_cuda=True, lr=2)": "RM701",
    "make_args('out', push_to_hub_token='x')": "RM701",
    "make_args('out', mp_parameters='x')": "RM702",
    "make_args('out', lr_scheduler_type='linear', optim='adamw_hf')": "RM705",
    "Settings(optim='adamw_hf')": "RM705",
    "prepare(model, wrap_ddp=False)": "RM693",
    "prepare(model, ddp_kwargs={})": "RM693",
}
NOT_TOLD = (
    "make_args('out', learning_rate=1)",
    "popped(no_cuda=True)",
    "own(no_cuda=True, wrap_ddp=True)",
    "make_args(no_cuda)",
    "prepare(model, parallel_strategy='ddp')",
    "Settings(no_cuda)",
)


def found(folder: Path, call: str) -> list[tuple[str, str, str]]:
    job = f"import helpers\nfrom helpers import *\nfrom ray.train.torch import TorchTrainer\n\n{call}\n"
    write(folder, {"helpers.py": HELPERS, "job.py": job.replace("import *", f"import {names(call)}")})
    findings = [finding for result in convert(folder).results for finding in result.findings]
    return [(f.code, Path(f.path).name, f.message) for f in findings if f.kind is Kind.MANUAL]


def names(call: str) -> str:
    return call.removeprefix("helpers.").partition("(")[0]


@pytest.mark.parametrize("call", TOLD)
def test_what_another_file_gives_is_told_where_it_is_handed_on(tmp_path: Path, call: str) -> None:
    told = found(tmp_path, call)
    assert [(code, name) for code, name, _ in told] == [(TOLD[call], "helpers.py")]
    assert "which line 5 of " in told[0][2] and "job.py writes," in told[0][2]


@pytest.mark.parametrize("call", NOT_TOLD)
def test_what_is_taken_still_or_goes_elsewhere_is_not(tmp_path: Path, call: str) -> None:
    assert not found(tmp_path, call)

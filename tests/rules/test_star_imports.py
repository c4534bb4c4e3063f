"""RM701 and RM693 under star imports."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from raymigrate.base.findings import Kind
from raymigrate.cli import main
from tests.rules.scripts import converted

SCRIPT = """
{imports}
from ray.air.config import ScalingConfig
from ray.train.huggingface import TransformersTrainer
from job import ds


def build(train_dataset, eval_dataset=None, **config):
    model = AutoModelForCausalLM.from_pretrained("gpt2", use_auth_token=True)
    args = TrainingArguments("out", evaluation_strategy="epoch", no_cuda=True)
    return Trainer(model=model, args=args, train_dataset=train_dataset, tokenizer=config["tokenizer"])


TransformersTrainer(build, scaling_config=ScalingConfig(num_workers=2), datasets={{"train": ds}}).fit()
"""
NAMED = "from transformers import AutoModelForCausalLM, Trainer, TrainingArguments"


@pytest.mark.parametrize("imports", [NAMED, "from transformers import *", "import torch\nfrom transformers import *"])
def test_what_a_star_import_brings_in_is_converted_as_if_it_were_named(imports: str) -> None:
    outcome = converted(SCRIPT.format(imports=imports))
    assert 'eval_strategy="epoch"' in outcome.text and "use_cpu=True" in outcome.text
    assert 'processing_class=config["tokenizer"]' in outcome.text and "token=True" in outcome.text
    assert len(outcome.lines("RM701", Kind.CONVERTED)) == 4
    assert not outcome.lines("RM693", Kind.MANUAL)


@pytest.mark.parametrize(
    "imports", ["from transformers import *\nfrom job import *", "from job import *\nfrom transformers import *"]
)
def test_where_several_star_imports_may_bring_it_in_the_new_name_is_told(imports: str) -> None:
    outcome = converted(SCRIPT.format(imports=imports))
    assert "evaluation_strategy" in outcome.text
    assert any("eval_strategy= took its place" in message for message in outcome.messages)
    assert not any("use_auth_token" in m and "evaluation" in m for m in outcome.messages)


def test_a_name_that_the_file_binds_is_its_own() -> None:
    own = "from transformers import *\n\nclass TrainingArguments:\n    pass\n"
    assert "evaluation_strategy" in converted(SCRIPT.format(imports=own)).text


@pytest.mark.parametrize(
    ("script", "count"),
    [
        ("scaler = StandardScaler(columns=['x'])\nChain(scaler, OneHotEncoder(columns=['y'])).fit(ds)", 0),
        ("def scaled(ds):\n    return MinMaxScaler(['x']).fit_transform(ds)", 0),
        ("print('nothing of it')", 0),
        ("BatchMapper(change, batch_format='pandas')", 1),
        ("StandardScaler(columns=['x'])\nMapper(change)", 1),
        ("Concatenator(columns=['x'])", 1),
        ("from job import *\nStandardScaler(columns=['x'])", 1),
        ("from transformers import *\nStandardScaler(columns=['x'])\nAutoTokenizer.from_pretrained('t5')", 0),
    ],
)
def test_preprocessors_that_are_there_are_no_legacy_names(script: str, count: int) -> None:
    head = "import ray\nfrom job import change, ds\nfrom ray.data.preprocessors import *\n\n"
    assert len(converted(head + script + "\n").lines("RM694", Kind.MANUAL)) == count


@pytest.mark.parametrize("module", ["ray.air", "ray.train.huggingface", "ray.ml.preprocessors"])
def test_other_star_imports_of_legacy_ray_are_told(module: str) -> None:
    assert converted(f"import ray\nfrom {module} import *\n").lines("RM694", Kind.MANUAL) == [2]


TRAIN = "import ray\nfrom ray.air import session\nfrom ray.tune import *\nprint(prepare(grid_search([1])), session)\n"
RUNS = ["%run ./helpers", "%store -r prepare", "%pylab inline", "  %run -i helpers.py"]


def shown_of(path: Path, text: str) -> str:
    path.write_text(text)
    return CliRunner().invoke(main, ["--check", str(path)]).stdout


@pytest.mark.parametrize("line", [*RUNS, "print(1)", "%pip install ray", "%store prepare"])
def test_names_of_what_a_notebook_runs_are_not_called_undefined(tmp_path: Path, line: str) -> None:
    cells = [{"cell_type": "code", "source": text.splitlines(keepends=True)} for text in (line, TRAIN)]
    notebook = {"cells": [{"metadata": {}, "outputs": [], **cell} for cell in cells], "nbformat": 4, "metadata": {}}
    shown = shown_of(tmp_path / "train.ipynb", json.dumps(notebook))
    assert "RM302" in shown or "RM301" in shown or "RM691" in shown
    assert ("Nothing here defines prepare" in shown) == (line not in RUNS)


@pytest.mark.parametrize("line", ["# MAGIC %run ./helpers", "# MAGIC %run $path", "# MAGIC %sql", "# %run ./helpers"])
def test_a_source_of_databricks_runs_others_too(tmp_path: Path, line: str) -> None:
    text = f"# Databricks notebook source\n{line}\n\n# COMMAND ----------\n\n{TRAIN}"
    shown = shown_of(tmp_path / "train.py", text)
    assert ("Nothing here defines prepare" in shown) == ("MAGIC %run" not in line)


def test_exec_may_bind_anything() -> None:
    assert any("Nothing here defines prepare" in message for message in converted(TRAIN).messages)
    assert not any("Nothing here" in message for message in converted(f"{TRAIN}exec(open('a.py').read())\n").messages)


@pytest.mark.parametrize("use", ["setup_ray_cluster(2)", "setup_ray_cluster(num_worker_nodes=2)"])
def test_a_cluster_on_spark_behind_a_star_is_told(use: str) -> None:
    outcome = converted(f"import ray\nfrom ray.util.spark import *\n{use}\nray.init()\n")
    assert outcome.lines("RM694", Kind.MANUAL) == [2]
    assert any(message.startswith("The names that ray.util.spark brings in here") for message in outcome.messages)


ASKED = """
import torch
{imports}
from ray.air import session
{use}
session.report({{}})
"""


@pytest.mark.parametrize("name", ["BertTokenizerFast", "ElectraTokenizer", "ViTImageProcessorFast"])
@pytest.mark.parametrize(
    "imports", ["from transformers import *", "from transformers import *\nfrom ray.train.torch import *"]
)
def test_what_transformers_makes_on_request_only_is_imported_by_name(imports: str, name: str) -> None:
    outcome = converted(ASKED.format(imports=imports, use=f"tokenizer = {name}.from_pretrained('x')"))
    assert f"from transformers import {name}\n" in outcome.text
    assert not [message for message in outcome.messages if "Nothing here defines" in message]
    assert not converted(outcome.text).messages


@pytest.mark.parametrize(
    ("imports", "use"),
    [
        ("from transformers import *", "PreTrainedTokenizerFast(tokenizer_file='x')"),
        ("from transformers import *", "BertTokenizer.from_pretrained('x')"),
        ("from transformers import *\nfrom transformers import BertTokenizerFast", "BertTokenizerFast()"),
        ("from transformers import *\nclass BertTokenizerFast:\n    pass", "BertTokenizerFast()"),
        ("from transformers import AutoTokenizer\nfrom job import *", "BertTokenizerFast()"),
    ],
)
def test_what_a_star_import_still_brings_in_stays(imports: str, use: str) -> None:
    outcome = converted(ASKED.format(imports=imports, use=use))
    assert not outcome.lines("RM692", Kind.MANUAL) and imports in outcome.text


def test_another_star_import_may_bring_in_what_is_made_on_request() -> None:
    imports = "from transformers import *\nfrom job import *"
    outcome = converted(ASKED.format(imports=imports, use="BertTokenizerFast()"))
    assert outcome.lines("RM692", Kind.MANUAL) and "import BertTokenizerFast" not in outcome.text


def test_a_class_that_is_written_into_the_file_is_defined_there() -> None:
    outcome = converted(ASKED.format(imports="from transformers import *", use="AdamW(session.weights)"))
    assert "class AdamW(torch.optim.Optimizer):" in outcome.text
    assert not outcome.lines("RM692", Kind.MANUAL)


def test_of_several_star_imports_none_is_blamed() -> None:
    imports = "from transformers import *\nfrom ray.train.torch import *"
    messages = converted(ASKED.format(imports=imports, use="AdamW([])")).messages
    assert any("Nothing here defines AdamW, and the star imports do not bring it in" in text for text in messages)


TUNED = """
{imports}
from ray.air import session
from transformers import Trainer, TrainingArguments


def train_func(config):
    Trainer(args=TrainingArguments("out", evaluation_strategy="no")).train()
    {report}


run(train_func, config={{"lr": loguniform(1e-5, 1e-3)}}, local_dir="x", scheduler={scheduler})
"""
ONE, TWO = "from ray.tune import *", "from ray.tune import *\nfrom ray.tune.schedulers import *"


@pytest.mark.parametrize("imports", [ONE, TWO])
def test_names_of_tune_are_those_of_its_star_import(imports: str) -> None:
    scheduler = "ASHAScheduler()" if imports == TWO else "None"
    outcome = converted(TUNED.format(imports=imports, report='session.report({"a": 1})', scheduler=scheduler))
    assert 'eval_strategy="no"' in outcome.text and 'ray.tune.report({"a": 1})' in outcome.text
    assert len(outcome.lines("RM697", Kind.MANUAL)) == 1  # local_dir=


def test_its_report_takes_a_dict_today() -> None:
    text = converted(TUNED.format(imports=ONE, report="report(loss=1)", scheduler="None")).text
    assert 'report({"loss": 1})' in text


def test_beside_a_star_import_of_the_project_they_may_be_others() -> None:
    imports = f"{ONE}\nfrom mine import *"
    outcome = converted(TUNED.format(imports=imports, report="report(loss=1)", scheduler="None"))
    assert "report(loss=1)" in outcome.text and not outcome.lines("RM697", Kind.MANUAL)

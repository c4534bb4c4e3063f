"""RM731: versions that a part of Ray excludes are told beside scripts that use this part, and only there."""

import json
from pathlib import Path

import pytest

from raymigrate.base.findings import Kind
from raymigrate.knowledge.integrations import INTEGRATIONS, is_used
from tests.rules.scripts import converted
from tests.test_pins import LEGACY, MODERN, pins_in, project, run

USES = {
    "ray.util.dask": [
        "from ray.util.dask import ray_dask_get\n",
        "import ray.util.dask\n",
        "import ray.util.dask as rd\n",
        "from ray.util import (\n    ActorPool,\n    dask,\n)\n",
        "from ray.util import dask as on_ray\n",
        "import ray\nray.util.dask.enable_dask_on_ray()\n",
        "import ray.data\nrows = ray.data.from_dask(frame)\n",
        "import ray\nframe = ray.data.read_csv(path).to_dask()\n",
    ],
    "ray.train.xgboost": [
        "from ray.train.xgboost import XGBoostTrainer\n",
        "from ray.train import xgboost, ScalingConfig\n",
        "from ray import train\ntrain.xgboost.XGBoostTrainer(loop)\n",
        "from ray.train.xgboost.config import XGBoostConfig as C\n",
    ],
    "ray.tune.search.optuna": [
        "from ray.tune.search.optuna import OptunaSearch\n",
        "from ray.tune.search import optuna\n",
        "from ray import tune\ntune.search.optuna.OptunaSearch()\n",
        "from ray import tune\ntune.create_searcher('optuna', metric='loss')\n",
        "from ray.tune.suggest.optuna import OptunaSearch\nfrom ray import tune\ntune.suggest.optuna\n",
    ],
    "ray.util.spark": [
        "from ray.util.spark import setup_ray_cluster\n",
        "from ray.util import spark\n",
        "import ray\nray.util.spark.setup_ray_cluster(max_worker_nodes=2)\n",
    ],
    "ray.data.from_daft": [
        "import ray\nray.data.from_daft(frame)\n",
        "from ray.data import from_daft\n",
        "from ray import data\ndata.from_daft(frame)\n",
    ],
}
OTHERS = [
    "import dask.dataframe as dd\ndd.read_csv(path).compute()\n",
    "import intake\nframe = intake.open_csv(path).to_dask()\n",
    "import xgboost as xgb\nxgb.train(params, rows)\n",
    "from xgboost_ray import RayDMatrix, train\n",
    "from ray.train import ScalingConfig\nimport xgboost\n",
    "import optuna\nstudy = optuna.create_study()\n",
    "from ray.tune.search import ConcurrencyLimiter\nimport optuna\n",
    "from ray import tune\ntune.create_searcher('hyperopt')\n",
    "from pyspark.sql import SparkSession\nimport ray\n",
    "import daft\ndaft.from_pydict({})\n",
]
OLD = {"dask": "2023.1.0", "distributed": "2023.1.0", "xgboost": "1.6.2", "optuna": "2.10.1", "pyspark": "3.2.1"}
OLD["daft"] = "0.5.2"
LIST = "".join(f"{name}=={version}\n" for name, version in OLD.items())


@pytest.mark.parametrize(("part", "script"), [(part, script) for part, scripts in USES.items() for script in scripts])
def test_a_part_of_ray_is_used(part: str, script: str) -> None:
    assert [other for other in INTEGRATIONS if is_used(other, [script])] == [part]


@pytest.mark.parametrize("script", OTHERS)
def test_others_use_no_part_of_ray(script: str) -> None:
    assert [part for part in INTEGRATIONS if is_used(part, [script])] == []


@pytest.mark.parametrize("part", USES)
@pytest.mark.parametrize("in_legacy_script", [True, False])
def test_what_a_part_of_ray_excludes(tmp_path: Path, part: str, *, in_legacy_script: bool) -> None:
    script = USES[part][0]
    legacy, other = (script + LEGACY, MODERN) if in_legacy_script else (LEGACY, script + MODERN)
    project(tmp_path, nb__train_py=legacy, nb__other_py=other, nb__x_py=OTHERS[0], environment__requirements_txt=LIST)
    (tmp_path / "environment").rename(tmp_path / "nb" / "environment")
    told = run("--check", tmp_path).stdout
    assert [name for name in OLD if f"{name}=={OLD[name]} excludes" in told] == [*INTEGRATIONS[part]]
    for name, version in INTEGRATIONS[part].items():
        assert f"excludes {name} >= {version}, the first that goes with {part}." in told


def test_a_notebook_that_uses_it(tmp_path: Path) -> None:
    source = ["import torch\n", "from ray.train import (\n", "    RunConfig,\n", "    xgboost)\n"]
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": source}
    notebook = json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    project(tmp_path, train_py=LEGACY, x_ipynb=notebook, requirements_txt="xgboost==1.6.2\n")
    assert pins_in(run("--check", tmp_path)) == {"requirements.txt:1"}


def test_in_a_named_list_that_pins_ray(tmp_path: Path) -> None:
    project(tmp_path, job_py="import ray.util.dask\n" + MODERN, requirements_txt="ray==2.9.3\ndask==2023.1.0\n")
    told = run("--check", tmp_path / "job.py", tmp_path / "requirements.txt")
    assert pins_in(told) == {"requirements.txt:1", "requirements.txt:2"}


def test_scripts_of_another_folder_do_not_count(tmp_path: Path) -> None:
    project(tmp_path, a__train_py=LEGACY, a__requirements_txt=LIST, b__on_dask_py="import ray.util.dask\n" + MODERN)
    assert pins_in(run("--check", tmp_path)) == set()


def test_beside_scripts_that_are_neither_legacy_nor_converted(tmp_path: Path) -> None:
    project(tmp_path, job_py="import ray.util.dask\n" + MODERN, requirements_txt=LIST)
    assert pins_in(run("--check", tmp_path)) == set()
    assert pins_in(run("--check", "--select", "RM731", tmp_path)) == {"requirements.txt:1", "requirements.txt:2"}
    named = run("--check", tmp_path / "job.py", tmp_path / "requirements.txt")
    assert pins_in(named) == set()  # it pins no Ray
    run("--unsafe", "--select", "RM731", tmp_path)
    assert (tmp_path / "requirements.txt").read_text().startswith("dask>=2024.11\ndistributed>=2024.11\nxgboost==1.6.2")


@pytest.mark.parametrize(("script", "told"), [("from ray.train.xgboost import XGBoostTrainer\n", 1), ("", 0)])
def test_in_a_runtime_environment(script: str, told: int) -> None:
    code = f'import ray\n{script}{LEGACY}\nray.init(runtime_env={{"pip": ["xgboost==1.6.2", "dask==2023.1"]}})\n'
    assert len(converted(code).lines("RM731", Kind.UNSAFE)) == told


@pytest.mark.parametrize(("script", "told"), [("from ray.train.xgboost import XGBoostTrainer\n", 1), ("", 0)])
def test_in_a_notebook(tmp_path: Path, script: str, told: int) -> None:
    sources = ["!pip install xgboost==1.6.2 dask==2023.1", "# !pip install optuna==2.0", script + LEGACY]
    cells = [
        {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": s} for s in sources
    ]
    path = tmp_path / "x.ipynb"
    path.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    assert run("--check", path).stdout.count(": RM731 ") == told


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("mlflow==1.30.0", "mlflow >= 2.16, the first that goes with pyarrow >= 17.0."),
        ("mlflow~=2.15.0", "mlflow >= 2.16, the first that goes with pyarrow >= 17.0."),
        ("modin[ray]==0.22.1", "modin >= 0.27, the first that goes with pandas >= 2.2.2."),
        ("tensorflow==2.11.1", "tensorflow >= 2.18, the first that goes with numpy >= 2.0."),
        ("wandb==0.13.4", "wandb >= 0.17.2, the first that goes with numpy >= 2.0."),
        ("scipy==1.10.1", "scipy >= 1.13, the first that goes with numpy >= 2.0."),
        ("scikit-learn==1.2.1", "scikit-learn >= 1.4.2, the first that goes with numpy >= 2.0."),
    ],
)
def test_libraries_that_the_packages_of_ray_exclude(tmp_path: Path, line: str, why: str) -> None:
    project(tmp_path, train_py=LEGACY, requirements_txt=f"{line}\n")
    assert f"{line} excludes {why}" in run("--check", tmp_path).stdout

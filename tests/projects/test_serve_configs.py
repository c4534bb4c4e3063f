"""Configuration files of Ray Serve beside legacy code."""

from pathlib import Path

import pytest

from raymigrate.base.findings import Kind
from raymigrate.run.outcome import Summary
from tests.projects.files import convert, write

APP = """
from ray import serve
from ray.train.huggingface import TransformersPredictor


@serve.deployment
class Model:
    def __init__(self, checkpoint):
        self.predictor = TransformersPredictor.from_checkpoint(checkpoint, **kwargs)


app = Model.bind(checkpoint)
"""
SINGLE = "import_path: app:app\nruntime_env: {working_dir: .}\nhost: 0.0.0.0\nport: 8000\ndeployments:\n"
SEVERAL = "applications:\n- name: one\n  route_prefix: /\n  import_path: app:app\n  deployments:\n"
DEPLOYMENT = "  - name: Model\n    {}\n"


def told(summary: Summary) -> list[tuple[str, str, int]]:
    return [(f.code, f.message, f.line) for f in summary.findings if f.path.endswith((".yaml", ".yml", ".json"))]


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("import_path: app:app\n", ""),
        ("runtime_env:\n  pip: []\nimport_path: pkg.serving.app:graph\n", ""),
        ("import_path: app.app\nargs: {}\n", ""),
        (SINGLE + DEPLOYMENT.format("num_replicas: 2"), ""),
        (SINGLE + DEPLOYMENT.format("max_concurrent_queries: 8"), "max_concurrent_queries"),
        (SINGLE + DEPLOYMENT.format("route_prefix: /m"), "route_prefix"),
    ],
)
def test_a_file_of_one_application_is_refused(tmp_path: Path, text: str, key: str) -> None:
    write(tmp_path, {"app.py": APP, "conf/serve.yaml": text})
    first, *others = told(convert(tmp_path))
    assert first[0] == "RM693" and '"applications"' in first[1]
    assert text.split("\n")[first[2] - 1].startswith("import_path")
    assert [message.split(" ")[0] for _, message, _ in others] == ([key] if key else [])


@pytest.mark.parametrize(
    "key",
    [
        "max_concurrent_queries: 8",
        "route_prefix: /m",
        "autoscaling_config:\n      target_num_ongoing_requests_per_replica: 5",
    ],
)
def test_keys_that_a_deployment_has_no_longer_are_told(tmp_path: Path, key: str) -> None:
    write(tmp_path, {"app.py": APP, "serve.yml": SEVERAL + DEPLOYMENT.format(key)})
    ((code, message, line),) = told(convert(tmp_path))
    assert code == "RM693" and "is ignored today, and no error says so" in message
    assert line == 7 + key.count("\n")


@pytest.mark.parametrize(
    "text",
    [
        SEVERAL + DEPLOYMENT.format("max_ongoing_requests: 8"),
        SEVERAL + DEPLOYMENT.format("user_config: {max_concurrent_queries: 5, rate: 1}"),
        SEVERAL + DEPLOYMENT.format("user_config:\n      route_prefix: /v1\n      max_concurrent_queries: 5"),
        "import_path: app:app\nsteps: []\n",  # of something else
        "import_path: ./images\nname: x\n",
        "max_concurrent_queries: 5\nroute_prefix: /\n",
        "applications:\n- name: one\n  max_concurrent_queries: 5\n",
        "plugins:\n- import_path: app:app\n  route_prefix: /\n",
        "import_path: [app:app\n",
    ],
)
def test_others_and_those_of_today_are_left(tmp_path: Path, text: str) -> None:
    write(tmp_path, {"app.py": APP, "serve.yaml": text})
    assert not told(convert(tmp_path))


def test_a_comment_silences_it(tmp_path: Path) -> None:
    write(tmp_path, {"app.py": APP, "serve.yaml": "import_path: app:app  # raymigrate: skip RM693\n"})
    found = [finding for finding in convert(tmp_path).findings if finding.path.endswith(".yaml")]
    assert [finding.kind for finding in found] == [Kind.SKIPPED]


def test_without_legacy_code_nothing_is_said(tmp_path: Path) -> None:
    write(tmp_path, {"app.py": "from ray import serve\n", "serve.yaml": SINGLE})
    assert not told(convert(tmp_path))


@pytest.mark.parametrize(
    "code",
    [
        "from ray import serve\n\n\n@serve.deployment(max_concurrent_queries=8)\nclass Model: ...\n",
        "import ray.serve\n\n\n@ray.serve.deployment(route_prefix='/x')\nclass Model: ...\n",
        "from ray import (\n    data,\n    serve,\n)\nfrom ray.air import Checkpoint\n\nCheckpoint.from_uri(uri)\n",
        "from ray.serve import deployment\nfrom ray.air import Checkpoint\n\nprint(Checkpoint)\n",
        "from ray import data, serve as s\nfrom transformers import pipeline\n\n\n@s.deployment\nclass Model:\n"
        "    def __init__(self):\n        self.pipe = pipeline('text2text-generation', model='t5-small')\n",
    ],
)
def test_a_script_for_serve_in_which_something_is_due_is_enough(tmp_path: Path, code: str) -> None:
    write(tmp_path, {"serving/app.py": code, "serving/serve.yaml": SINGLE + DEPLOYMENT.format("route_prefix: /m")})
    assert [line for _, _, line in told(convert(tmp_path))] == [1, 7]


@pytest.mark.parametrize(
    "code",
    [
        "from ray import serve\nfrom ray.data import read_csv\n\nprint(read_csv, serve)\n",
        "from ray import data\nfrom ray.air import Checkpoint\n\nserve = Checkpoint.from_uri(uri)\n",
    ],
)
def test_other_scripts_are_not(tmp_path: Path, code: str) -> None:
    write(tmp_path, {"app.py": code, "serve.yaml": SINGLE})
    assert not told(convert(tmp_path))

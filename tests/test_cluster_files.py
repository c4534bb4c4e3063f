"""RM731 and RM732 in YAML that describes a cluster of Ray: for Kubernetes, for Docker, for Ray's own launcher."""

import base64
from pathlib import Path

import pytest

from raymigrate.pins.readers import cluster_file
from tests.test_pins import LEGACY, MODERN, pins_in, project, run

KUBERAY = """\
apiVersion: ray.io/v1
kind: RayCluster
spec:
  headGroupSpec:
    template:
      spec:
        containers:
          - name: head
            image: {image}
"""
LAUNCHER = """\
cluster_name: x
docker:
  image: rayproject/ray:2.60.0-py312
setup_commands:
  - pip install transformers==4.28.1
"""


@pytest.mark.parametrize(
    "image",
    [
        "rayproject/ray:2.1.0-py38",
        "'rayproject/ray-ml:2.6.3-gpu'",
        '"quay.io/rhoai/ray:2.23.0-py39-cu121"  # the old one',
        "ghcr.io/foundation-model-stack/base:ray2.1.0-py38-gpu-pytorch1.12.0cu116-20221213-193103",
        "registry.local:5000/train:cuda12-ray-2.9.3",
        "rayproject/ray:nightly-py38",
        "rayproject/ray:2.6.3@sha256:0123456789abcdef",
    ],
)
def test_an_image_that_is_too_old(tmp_path: Path, image: str) -> None:
    project(tmp_path, train_py=LEGACY, cluster_yaml=KUBERAY.format(image=image))
    assert pins_in(run("--check", tmp_path)) == {"cluster.yaml:9"}


@pytest.mark.parametrize(
    "image",
    [
        "rayproject/ray:2.60.0-py312",
        "rayproject/ray:latest",
        "nginx:1.2  # rayproject/ray:2.6.3",
        "own/x-ray:2.6.3",
        "own/array2:2.6.3",
        "own/train:array2.6",
        "{{ .Values.image }}",
        '""',
    ],
)
def test_others_are_left(tmp_path: Path, image: str) -> None:
    project(tmp_path, train_py=LEGACY, cluster_yaml=KUBERAY.format(image=image))
    assert pins_in(run("--check", tmp_path)) == set()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("image:\n  repository: rayproject/ray\n  tag: 2.6.3-py39\n", ["rayproject/ray:2.6.3-py39"]),
        ("image:\n  repository: rayproject/ray # of KubeRay\n  tag: '2.6.3'\n", ["rayproject/ray:2.6.3"]),
        ("image:\n  repository: rayproject/ray\n  pullPolicy: Always\n", []),
        ("docker:\n    head_image: rayproject/ray:2.6.3\n", ["rayproject/ray:2.6.3"]),
        ("image_uri: anyscale/ray:2.6.3-py39\n", ["anyscale/ray:2.6.3-py39"]),
        ("base_image: anyscale/ray:2.6.3\nenv_vars: {}\n", ["anyscale/ray:2.6.3"]),
        ("head: {name: x, image: rayproject/ray:2.6.3, ports: []}\n", ["rayproject/ray:2.6.3"]),
        ("- image: rayproject/ray:2.6.3\r\n- x\r\n", ["rayproject/ray:2.6.3"]),
        ("#  image: rayproject/ray:2.6.3\n", []),
        ("my-images: rayproject/ray:2.6.3\n", []),
    ],
)
def test_where_an_image_stands(text: str, found: list[str]) -> None:
    pins = list(cluster_file(text))
    assert [pin.written for pin in pins] == found
    assert [text[pin.start :].startswith(pin.written.partition(":")[0]) for pin in pins] == [True] * len(found)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("  rayVersion: '2.3.1' # should match the image", True),
        ('  rayVersion: "2.9.0"', True),
        ("  rayVersion: 2.50.0", True),
        ("  rayClusterSpec: {rayVersion: 2.9.0, headGroupSpec: {}}", True),
        ("  rayVersion: '2.60.0'", False),
        ("  # rayVersion: 2.3.1", False),
        ("  rayVersion: {{ .Values.version }}", False),
        ("  arrayVersion: 2.3.1", False),
    ],
)
def test_the_version_that_kuberay_is_told(tmp_path: Path, line: str, told: bool) -> None:
    job = f"apiVersion: ray.io/v1\nkind: RayJob\nspec:\n{line}\n  entrypoint: python train.py\n"
    project(tmp_path, train_py=LEGACY, job_yaml=job)
    outcome = run("--check", tmp_path)
    assert pins_in(outcome) == ({"job.yaml:4"} if told else set())
    assert ("Write the version that the image of ray >= 2.51 holds." in outcome.stdout) == told
    project(tmp_path, train_py=MODERN)
    assert run("--check", tmp_path).exit_code == 0


@pytest.mark.parametrize("name", ["cluster_yaml", "k8s__job_yml", "deploy__ray_yaml", "ray-env_yaml"])
def test_where_such_files_lie(tmp_path: Path, name: str) -> None:
    project(tmp_path, train_py=LEGACY, **{name: KUBERAY.format(image="rayproject/ray:2.6.3")})
    assert len(pins_in(run("--check", tmp_path))) == 1


def test_no_legacy_script_no_finding(tmp_path: Path) -> None:
    project(tmp_path, train_py=MODERN, cluster_yaml=KUBERAY.format(image="rayproject/ray:2.6.3"))
    assert run("--check", tmp_path).exit_code == 0


def test_what_its_commands_install_is_told_and_raised(tmp_path: Path) -> None:
    project(tmp_path, train_py=LEGACY, cluster_yaml=LAUNCHER)
    assert pins_in(run("--check", tmp_path)) == {"cluster.yaml:5"}
    run("--unsafe", tmp_path)
    assert (tmp_path / "cluster.yaml").read_text() == LAUNCHER.replace("transformers==4.28.1", "'transformers>=5.0'")


def test_the_packages_of_a_job_are_read(tmp_path: Path) -> None:
    job = (
        "apiVersion: ray.io/v1\nkind: RayJob\nspec:\n  entrypoint: python train.py\n  runtimeEnvYAML: |\n    pip:\n"
        "      - transformers==4.30.2\n      # - accelerate\n      - 'ray[train]==2.6.3'\n---\na: b\n"
    )
    project(tmp_path, train_py=LEGACY, job_yaml=job)
    assert pins_in(run("--check", tmp_path)) == {"job.yaml:7", "job.yaml:9"}
    assert "job.yaml:7:9: RM732 manual" in run("--check", tmp_path).stdout
    run("--unsafe", tmp_path)
    assert "- transformers>=5.0\n" in (tmp_path / "job.yaml").read_text()


ENCODED_JOB = "apiVersion: ray.io/v1alpha1\nkind: RayJob\nspec:\n  runtimeEnv: {}\n  shutdownAfterJobFinishes: true\n"


@pytest.mark.parametrize("written", ["{}", '"{}"', "'{}'", "|\n    {}", ">-\n    {}"])
@pytest.mark.parametrize("width", [1000, 40])
def test_the_environment_of_a_job_in_base64_is_read(tmp_path: Path, written: str, width: int) -> None:
    plain = '{"pip": ["transformers==4.30.2", "torch"],\n "env_vars": {"A": "1"}}\n'
    code = base64.b64encode(plain.encode()).decode()
    lines = "\n    ".join(code[start : start + width] for start in range(0, len(code), width))
    job = ENCODED_JOB.format(written.format(lines))
    project(tmp_path, train_py=LEGACY, job_yaml=job)
    shown = run("--check", tmp_path).stdout
    assert "job.yaml:4:3: RM731 manual: transformers==4.30.2 excludes" in shown
    assert "under runtimeEnvYAML:" in shown and shown.count("job.yaml:4") == 1
    run("--unsafe", tmp_path)
    assert (tmp_path / "job.yaml").read_text() == job


@pytest.mark.parametrize(
    "code", ["bm90IGFuIGVudmlyb25tZW50", "////////", "runtimes", "eyJwaXAiOiBbInRvcmNoIl19", "a: b"]
)
def test_what_is_no_environment_with_old_versions_is_no_news(tmp_path: Path, code: str) -> None:
    project(tmp_path, train_py=LEGACY, job_yaml=ENCODED_JOB.format(code))
    assert pins_in(run("--check", tmp_path)) == set()


@pytest.mark.parametrize("name", ["runtime_env_yaml", "runtime-env_yaml", "job_yml"])
def test_a_runtime_environment_in_a_file(tmp_path: Path, name: str) -> None:
    project(tmp_path, train_py=LEGACY, **{name: "working_dir: .\npip:\n- accelerate\n- transformers==4.30.2\n"})
    assert len(pins_in(run("--check", tmp_path))) == 1


def test_what_other_yaml_installs_is_nobodys_concern(tmp_path: Path) -> None:
    other = "jobs:\n  docs:\n    steps:\n      - run: pip install transformers==4.28.1\n    pip:\n      - ray==2.6.3\n"
    project(tmp_path, train_py=LEGACY, workflow_yaml=other, compose_yml="services:\n  a:\n    image: nginx:1.2\n")
    assert pins_in(run("--check", tmp_path)) == set()


BUNDLE = """\
resources:
  jobs:
    tune:
      tasks:
        - task_key: train
          libraries:
            - pypi: {package: "ray[air,tune]==2.6.3"}
            - pypi:
                package: transformers==4.31.0
            - whl: ./dist/*.whl
            # - pypi: {package: accelerate==0.21.0}
          new_cluster: {spark_version: 13.2.x-gpu-ml-scala2.12}
        - libraries:
          - pypi:
              package: transformers==4.20.0
          - pypi: {package: x-ray==2.6.3}
"""


def test_the_libraries_of_a_databricks_job_are_read_where_they_name_ray(tmp_path: Path) -> None:
    project(tmp_path, train_py=LEGACY, databricks_yml=BUNDLE)
    # Line 12 has the runtime, whose torch is too old.
    assert pins_in(run("--check", tmp_path)) == {"databricks.yml:7", "databricks.yml:9", "databricks.yml:12"}
    run("--unsafe", tmp_path)
    after = BUNDLE.replace("ray[air,tune]==2.6.3", "ray[air,tune]>=2.51").replace("==4.31.0", ">=5.0")
    assert (tmp_path / "databricks.yml").read_text() == after


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("libraries:\n- pypi:\n    package: 'ray==2.6.3'\nother:\n- pypi: {package: ray==2.5.0}\n", ["ray==2.6.3"]),
        ("- libraries:\r\n  - pypi: { package: ray==2.6.3 }\r\n  - a: b\r\n", ["ray==2.6.3"]),
        ("libraries:\n  - pypi: {package: ray-elasticsearch==2.6.3}\n", []),
        ("libraries:\n  - maven: {coordinates: ray==2.6.3}\n", []),
        ("packages:\n  - pypi: {package: ray==2.6.3}\n", []),
        ("# libraries:\n#   - pypi: {package: ray==2.6.3}\n", []),
    ],
)
def test_where_the_libraries_of_databricks_stand(text: str, found: list[str]) -> None:
    assert [pin.written for pin in cluster_file(text)] == found


def test_a_comment_keeps_an_image(tmp_path: Path) -> None:
    kept = KUBERAY.format(image="rayproject/ray:2.6.3  # raymigrate: skip[RM731] -- the other team's")
    project(tmp_path, train_py=LEGACY, cluster_yaml=kept)
    result = run("--check", tmp_path)
    assert not [line for line in result.stdout.splitlines() if "RM731 manual" in line]


@pytest.mark.parametrize(
    ("listed", "found"),
    [
        ('pip: ["transformers==4.25.1", "torch==1.13.1"]', ["transformers==4.25.1", "torch==1.13.1"]),
        ("pip: [transformers==4.25.1, torch]", ["transformers==4.25.1"]),
        ("pip: ['ray[serve]==2.3.0',\n    'transformers>=4.20,<5']", ["ray[serve]==2.3.0", "transformers>=4.20,<5"]),
        ('{pip: ["transformers==4.25.1"], working_dir: "."}', ["transformers==4.25.1"]),
        ('pip: {packages: ["transformers==4.25.1"]}', ["transformers==4.25.1"]),
        ('pip: []  # "transformers==4.25.1"', []),
        ('excludes: ["transformers==4.25.1"]', []),
        ("pip: requirements.txt", []),
    ],
)
def test_a_list_of_packages_may_stand_in_brackets(listed: str, found: list[str]) -> None:
    on_line = f"runtime_env: {listed}\n" if listed.startswith("{") else f"runtime_env:\n  {listed}\n"
    text = f"import_path: app:graph\n{on_line}"
    pins = [pin for pin in cluster_file(text) if pin.versions]
    assert [pin.written for pin in pins] == found
    assert all(text[pin.start :].startswith(pin.written) for pin in pins)

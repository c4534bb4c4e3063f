"""`raymigrate doctor`: its verdict, its advice and its JSON, on machines that are made up."""

import importlib.metadata
import json
import re
import shutil
import subprocess
import sys
from collections import namedtuple
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from raymigrate.runtime import doctor, environments
from raymigrate.runtime.environments import interpreters
from raymigrate.runtime.hub.repository import VERSION_FILE

ROOT = Path(__file__).parents[2]
REQUIRED = (
    'accelerate>=1.0; extra == "verify"',
    'ray[train]>=2.51; extra == "verify"',
    'torch>=2.1; extra == "verify"',
)
VERSIONS = {"accelerate": "1.15.0", "ray": "2.60.0", "torch": "2.13.0+cpu"}
Usage = namedtuple("Usage", "total used free")


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, str]:
    """What is installed, in a dictionary that a test may change; no environment is made, nothing else is wrong."""
    versions = dict(VERSIONS)

    def version(name: str) -> str:
        if name not in versions:
            raise importlib.metadata.PackageNotFoundError(name)
        return versions[name]

    monkeypatch.setattr(importlib.metadata, "version", version)
    monkeypatch.setattr(importlib.metadata, "requires", lambda _: ["click>=8.1", *REQUIRED, 'ruff; extra == "dev"'])
    monkeypatch.setattr(interpreters, "choose", lambda: interpreters.Interpreter(Path(sys.executable), (3, 11)))
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(100e9, 0, 100e9))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for name in ("RAY_TMPDIR", "TMPDIR"):
        monkeypatch.delenv(name, raising=False)
    return versions


def call(*arguments: str) -> Result:
    return CliRunner().invoke(doctor.doctor, arguments)


def states() -> dict[str, str]:
    return {arm.letter: arm.state for arm in doctor.examine().arms}


def test_where_everything_is_there_the_default_arms_can_run(installed: dict[str, str]) -> None:
    result = call()
    assert result.exit_code == 0, result.output
    assert states() == {"A": "on demand", "O": "on demand", "B": "ready", "C": "ready"}
    assert "raymigrate env create 2.6" in result.output
    assert "raymigrate env create current" in result.output
    assert result.output.endswith("raymigrate verify can run its default arms, B and C.\n")
    assert "Warning" not in result.output


def test_where_neither_ray_nor_torch_is_installed(installed: dict[str, str]) -> None:
    installed.clear()
    result = call()
    assert result.exit_code == 2, result.output
    assert set(states().values()) == {"lacking"}
    assert result.output.count("not installed: accelerate, ray, torch\n") == 4  # for each arm
    assert 'pip install ".[verify]" in the checkout of raymigrate' in result.output
    assert result.output.endswith("To convert scripts nothing more is needed.\n")


@pytest.mark.parametrize(
    ("version", "fits"),
    [("2.9.3", False), ("2.51.0", True), ("2.51", True), ("2.51.0rc1", True), ("3.0.0.dev0", True), ("2.50.9", False)],
)
def test_versions_are_compared_by_number(installed: dict[str, str], version: str, fits: bool) -> None:
    installed["ray"] = version
    assert doctor.examine().ready is fits
    if not fits:
        assert f"too old: ray {version}\n" in call().output
        assert "(verify needs 2.51)" in call().output


def test_an_environment_that_is_made_makes_its_arm_ready(
    installed: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path("/cache/2.7-py3.11-0123456789ab")
    made = environments.Environment("2.7", folder, folder / "bin/python", {}, "Ray 2.7.2", "2.13.0")
    monkeypatch.setattr(environments, "find", lambda name: made if name == "2.7" else None)
    assert states() == {"A": "ready", "O": "on demand", "B": "ready", "C": "ready"}
    assert str(folder) in call().output


def test_without_a_fitting_python_the_old_arms_are_lacking(
    installed: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def none() -> None:
        raise environments.EnvironmentFailure("There is no Python 3.11.")

    monkeypatch.setattr(interpreters, "choose", none)
    result = call()
    assert result.exit_code == 0
    assert states() == {"A": "lacking", "O": "lacking", "B": "ready", "C": "ready"}
    assert "There is no Python 3.11.\n" in result.output


def test_the_json_document(installed: dict[str, str]) -> None:
    result = call("--output-format", "json")
    document = json.loads(result.output)
    assert result.exit_code == 0
    assert document["version"] == 1
    assert document["ready"] is True
    assert document["packages"][1] == {"name": "ray", "installed": "2.60.0", "needed": "2.51", "fits": True}
    assert [arm["letter"] for arm in document["arms"]] == ["A", "O", "B", "C"]
    assert document["environments"] == {"2.6": None, "2.7": None, "current": None}
    assert document["gpus"] == []
    assert document["hub_built"] is False
    assert document["warnings"] == []
    installed.clear()
    result = call("--output-format", "json")
    assert result.exit_code == 2
    assert json.loads(result.output)["ready"] is False


def test_the_offline_hub_is_found_where_it_is_built(installed: dict[str, str]) -> None:
    hub = Path(doctor.examine().hub)
    hub.mkdir(parents=True)
    assert not doctor.examine().hub_built
    (hub / VERSION_FILE).touch()
    assert doctor.examine().hub_built
    assert str(hub) in call().output


def test_gpus_are_asked_of_torch_in_a_process_of_its_own(
    installed: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    installed["torch"] = "2.13.0+cu130"
    answer = 'a warning\n["NVIDIA H100"]\n'
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: subprocess.CompletedProcess([], 0, stdout=answer))
    assert doctor.examine().gpus == ["NVIDIA H100"]

    def crash(*_: object, **__: object) -> None:
        raise subprocess.CalledProcessError(-11, "python")

    monkeypatch.setattr(subprocess, "run", crash)
    assert doctor.examine().gpus is None
    assert "torch could not be asked" in call().output


def test_little_disk_space_and_shared_memory_are_warned_of(
    installed: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(100e9, 0, 64e6))
    disk, *shared = doctor.examine().warnings
    assert "has 0.1 GB free, and an environment takes up to" in disk
    assert "XDG_CACHE_HOME" in disk
    if sys.platform == "linux":
        assert "--shm-size" in shared[0]


def test_a_folder_too_long_for_rays_sockets_is_warned_of(
    installed: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", "/" + "x" * 60)
    (warning,) = doctor.examine().warnings
    assert warning.startswith("TMPDIR is too long for Ray: ")
    monkeypatch.setenv("RAY_TMPDIR", "/tmp")  # has the last word
    assert not doctor.examine().warnings
    monkeypatch.setenv("RAY_TMPDIR", "/" + "x" * 60)
    assert doctor.examine().warnings[0].startswith("RAY_TMPDIR is too long for Ray: ")


def test_the_socket_path_is_that_of_ray() -> None:
    """`session_<date>_<microseconds>_<pid>`; Linux's process ids have up to seven digits."""
    session = "session_2026-11-21_07-37-50_123456_4194304"
    assert len(doctor.SOCKET) == len(f"/ray/{session}/sockets/plasma_store")


def test_what_verify_needs_is_read_from_the_extra_of_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """Metadata as hatchling writes it from pyproject.toml; that of an editable install may be older."""
    section = re.search(r"^verify = \[\n(.*?)^\]", (ROOT / "pyproject.toml").read_text(), re.DOTALL | re.MULTILINE)
    assert section
    requirements = re.findall(r'^    "(.+?)"', section[1], re.MULTILINE)
    assert len(requirements) >= 6
    monkeypatch.setattr(
        importlib.metadata, "requires", lambda _: [f"{requirement}; extra == 'verify'" for requirement in requirements]
    )
    found = doctor.needed_packages()
    assert [package.name for package in found] == [re.split(r"[\[>]", name)[0] for name in requirements]
    assert all(package.needed for package in found)


def test_sources_that_are_not_installed(installed: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    def none(_: str) -> None:
        raise importlib.metadata.PackageNotFoundError("raymigrate")

    monkeypatch.setattr(importlib.metadata, "requires", none)
    result = call()
    assert result.exit_code == 2
    assert "not installed: raymigrate[verify]" in result.output


def test_nothing_heavy_is_imported() -> None:
    code = (
        "import sys; from raymigrate.runtime import doctor; doctor.examine();"
        "print([name for name in ('ray', 'torch', 'transformers', 'datasets', 'numpy') if name in sys.modules])"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert answer.stdout == "[]\n"

"""Environments with old libraries: choice of an interpreter, creation with pip on fake packages."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from raymigrate.runtime import environments
from raymigrate.runtime.environments import EnvironmentFailure, environment, interpreters, locks, making
from tests.runtime.fake_libraries import LIBRARIES, wheel_bytes, write_lock, write_wheel


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One lock file, "tiny", wheels for it, which pip alone sees, an empty cache, torch 9.9.1."""
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    for name, version in LIBRARIES.items():
        write_wheel(wheels, name, version)
    write_lock(tmp_path / "locks")
    monkeypatch.setattr(locks, "FOLDER", tmp_path / "locks")
    monkeypatch.setattr(locks, "PYTHONS", (sys.version_info[:2],))
    monkeypatch.setattr(interpreters, "PYTHONS", (sys.version_info[:2],))
    for module in (environment, making):
        monkeypatch.setattr(module, "own_torch", lambda: "9.9.1")
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return wheels


def half_made(name: str = "tiny") -> Path:
    """An environment as a killed process leaves it."""
    folder = environment.place(locks.lock(name), "9.9.1", sys.version_info[:2])
    (folder / "bin").mkdir(parents=True)
    (folder / "bin/python").symlink_to(sys.executable)
    return folder


def pretend_made(name: str = "tiny") -> Path:
    folder = half_made(name)
    (folder / environment.MARKER).write_text(json.dumps({"python": "3.11.7", "torch": "9.9.1+cpu"}))
    return folder


# Finding and removing.


def test_a_complete_environment_is_found(tiny: Path) -> None:
    folder = pretend_made()
    found = environments.find("tiny")
    assert found is not None
    assert (found.name, found.folder, found.python) == ("tiny", folder, folder / "bin/python")
    assert (found.title, found.torch) == ("Ray 2.0, transformers 4.0, accelerate 0.2", "9.9.1+cpu")
    assert found.variables["TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"] == "1"


@pytest.mark.parametrize("marker", [None, "", "[]", "{}", '{"torch"'])
def test_a_folder_without_a_whole_marker_is_not_found(tiny: Path, marker: str | None) -> None:
    folder = half_made()
    if marker is not None:
        (folder / environment.MARKER).write_text(marker)
    assert environments.find("tiny") is None


def test_an_environment_whose_interpreter_is_gone_is_not_found(tiny: Path) -> None:
    python = pretend_made() / "bin/python"
    python.unlink()
    python.symlink_to("/nonexistent/python3.11")
    assert environments.find("tiny") is None


def test_another_lock_or_another_torch_is_not_found(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend_made()
    monkeypatch.setattr(environment, "own_torch", lambda: "9.9.2")
    assert environments.find("tiny") is None
    monkeypatch.setattr(environment, "own_torch", lambda: None)
    assert environments.find("tiny") is None
    monkeypatch.setattr(environment, "own_torch", lambda: "9.9.1")
    assert environments.find("tiny") is not None
    write_lock(locks.FOLDER, ray="2.1")
    assert environments.find("tiny") is None


def test_remove_takes_every_folder_of_the_name(tiny: Path) -> None:
    pretend_made()
    write_lock(locks.FOLDER, ray="2.1")
    half_made()
    write_lock(locks.FOLDER, "tinier")
    other = pretend_made("tinier")
    assert environments.remove("tiny") is True
    assert environments.remove("tiny") is False
    assert other.is_dir()
    assert not list(environments.cache_folder().glob("tiny-*.log"))


def test_remove_leaves_an_environment_alone_that_is_being_made(tiny: Path) -> None:
    folder = half_made()
    with environment.locked(folder), pytest.raises(EnvironmentFailure, match="being made by another process"):
        environments.remove("tiny")
    assert folder.is_dir()


def test_an_unknown_name_is_refused_with_the_known_ones(tiny: Path) -> None:
    for function in (environments.find, environments.ensure, environments.remove):
        with pytest.raises(EnvironmentFailure, match=r"There is no environment 2\.5; there are tiny\."):
            function("2.5")


def test_the_cache_follows_xdg_cache_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert environments.cache_folder() == tmp_path / "raymigrate/environments"
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    assert environments.cache_folder() == Path.home() / ".cache/raymigrate/environments"


# Interpreters.


def fake_python(path: Path, script: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def test_the_running_python_is_the_first_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpreters, "PYTHONS", ((3, 1), sys.version_info[:2]))
    assert interpreters.choose().path == Path(sys.executable)


def test_else_one_on_the_path_that_really_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_python(tmp_path / "bin/python3.1", "echo 'pyenv: python3.1: command not found' >&2; exit 127")
    good = fake_python(tmp_path / "bin/python3.2", "echo 3 2")
    monkeypatch.setattr(interpreters, "PYTHONS", ((3, 1), (3, 2)))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert interpreters.choose() == interpreters.Interpreter(good, (3, 2))


def test_no_fitting_python_is_one_clear_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpreters, "probe", lambda path: None)
    with pytest.raises(EnvironmentFailure, match=r"need Python 3\.11 or 3\.10 with venv.*apt install python3\.11-venv"):
        interpreters.choose()


def test_the_python_that_is_asked_for_must_fit(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFailure, match=r"is Python 3\.8; the old libraries need 3\.11 or 3\.10\."):
        interpreters.choose(fake_python(tmp_path / "bin/python", "echo 3 8"))
    with pytest.raises(EnvironmentFailure, match="is not a Python that can make virtual environments"):
        interpreters.choose(fake_python(tmp_path / "bin/python", "exit 1"))


# Making.


@pytest.mark.slow
def test_the_real_pip_makes_a_whole_environment_once(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(tiny))
    monkeypatch.setenv("PIP_TARGET", str(tiny / "elsewhere"))
    left = half_made() / "left"
    left.touch()
    stages: list[str] = []
    made = environments.ensure("tiny", progress=stages.append)
    assert not left.exists()
    assert environments.find("tiny") == made
    assert made.torch == "9.9.1"
    answer = subprocess.run(
        [made.python, "-c", "import ray, sys; print(ray.__version__, ray.__file__.startswith(sys.prefix))"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": ""},
    )
    assert answer.stdout == "2.0 True\n"
    assert stages[0] == "making a virtual environment"
    assert any(stage.startswith("torch 9.9.1: ") for stage in stages)
    assert stages[-1] == "checking that everything can be imported"
    assert not list(environments.cache_folder().glob("*.log"))

    monkeypatch.setattr(making, "_make", None)  # from now on nothing can be made
    assert environments.ensure("tiny") == made


@pytest.mark.slow
def test_a_file_that_is_not_the_one_of_the_lock_is_not_installed(tiny: Path) -> None:
    """As an index gives it that somebody has broken into."""
    wheel = tiny / "evaluate-0.4-py3-none-any.whl"
    wheel.write_bytes(wheel_bytes("evaluate", "0.4") + b"evil")
    with pytest.raises(EnvironmentFailure, match=r"pip did not install the packages of tiny\.txt") as caught:
        environments.ensure("tiny")
    assert "DO NOT MATCH THE HASHES" in str(caught.value)
    assert not environment.folders("tiny")


class FakePip:
    """Stands for venv, pip and the check, which run in their order; writes what they would."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *scripts: str) -> None:
        self.scripts = list(scripts)
        self.commands: list[list[str]] = []
        real = subprocess.Popen

        def start(command: list[str], **options: object) -> "subprocess.Popen[bytes]":
            self.commands.append(command)
            return real(["/bin/sh", "-c", self.scripts.pop(0)], **options)  # type: ignore[call-overload,no-any-return]

        monkeypatch.setattr(making, "choose", lambda _: interpreters.Interpreter(Path("py"), sys.version_info[:2]))
        monkeypatch.setattr(making.subprocess, "Popen", start)


def venv_script() -> str:
    folder = environment.place(locks.lock("tiny"), "9.9.1", sys.version_info[:2])
    return f"mkdir -p {folder}/bin && ln -s {sys.executable} {folder}/bin/python"


ANSWER = """echo 'a warning'; echo '{"python": "3.11.7", "torch": "9.9.1+cu130"}'"""


def test_the_steps_and_their_order(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pip = FakePip(monkeypatch, venv_script(), "true", "true", "true", ANSWER)
    made = environments.ensure("tiny")
    assert made.torch == "9.9.1+cu130"
    assert [command[1:4] for command in pip.commands[:4]] == [
        ["-m", "venv", str(made.folder)],
        ["-m", "pip", "install"],
        ["-m", "pip", "install"],
        ["-m", "pip", "install"],
    ]
    lock = ["--no-deps", "--require-hashes", "--requirement", str(locks.FOLDER / "tiny.txt")]
    assert pip.commands[1][-4:] == pip.commands[3][-4:] == lock
    assert pip.commands[2][-1] == "torch==9.9.1"


@pytest.mark.parametrize(
    ("scripts", "message"),
    [
        (["echo 'ensurepip is not available'; exit 1"], "venv failed"),
        (["venv", "echo No matching distribution; exit 1"], r"pip did not install the packages of tiny\.txt"),
        (["venv", "true", "echo No matching distribution; exit 1"], r"pip did not install torch 9\.9\.1"),
        (["venv", "true", "true", "echo conflict; exit 1"], r"pip did not install the packages of tiny\.txt"),
        (["venv", "true", "true", "true", "echo ImportError: numpy; exit 1"], "its packages cannot be imported"),
    ],
)
def test_a_failed_step_is_told_with_the_end_of_its_log_and_leaves_nothing(
    tiny: Path, monkeypatch: pytest.MonkeyPatch, scripts: list[str], message: str
) -> None:
    FakePip(monkeypatch, *(venv_script() if script == "venv" else script for script in scripts))
    with pytest.raises(EnvironmentFailure, match=message) as caught:
        environments.ensure("tiny")
    first, _, tail = str(caught.value).partition("\n\n")
    assert first.startswith("The environment tiny ")
    assert tail in scripts[-1]
    log = Path(first.partition("(")[2].partition(" has")[0])
    assert tail in log.read_text()
    assert not environment.folders("tiny")


def test_an_interrupted_creation_leaves_no_folder_and_no_process(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    FakePip(monkeypatch, venv_script(), "true", "sleep 60 & echo $!; wait")
    pids: list[int] = []

    def interrupt(words: str) -> None:
        log = next(environments.cache_folder().glob("*.log"))
        if words.startswith("torch") and log.read_text().strip():
            pids.append(int(log.read_text()))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        environments.ensure("tiny", progress=interrupt)
    assert not environment.folders("tiny")
    assert not list(environments.cache_folder().glob("*.log"))
    assert gone(pids[0])


def gone(pid: int) -> bool:
    """Whether a process ends within some seconds; a zombie that nobody waits for counts as ended."""
    for _ in range(100):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False


def test_without_torch_here_nothing_is_made(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(making, "own_torch", lambda: None)
    with pytest.raises(EnvironmentFailure, match=r'torch is not installed here.*pip install "\.\[verify\]"'):
        environments.ensure("tiny")


def test_a_cache_that_cannot_be_written_is_one_clear_sentence(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tiny / "file"
    file.touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(file))
    with pytest.raises(EnvironmentFailure, match=r"The environment tiny cannot be made in .*: Not a directory: "):
        environments.ensure("tiny")


def test_two_processes_make_it_once(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second waits for the first, then finds what that has made."""
    folder = environment.place(locks.lock("tiny"), "9.9.1", sys.version_info[:2])
    holder = f"""
import sys, time
from pathlib import Path
from raymigrate.runtime.environments.environment import locked
with locked(Path({str(folder)!r})):
    print("held", flush=True)
    sys.stdin.read()
"""
    process = subprocess.Popen([sys.executable, "-c", holder], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin and process.stdout
    process.stdout.readline()
    stages = []

    def other_is_done(words: str) -> None:
        stages.append(words)
        pretend_made()
        assert process.stdin
        process.stdin.close()

    monkeypatch.setattr(making, "_make", None)
    assert environments.ensure("tiny", progress=other_is_done).folder == folder
    assert stages == ["waiting for another process that makes it"]
    assert process.wait(10) == 0


def test_a_killed_process_holds_the_lock_until_its_pip_has_ended(tiny: Path, tmp_path: Path) -> None:
    """Else the next one would clear the folder while pip still writes into it."""
    code = f"""
import sys
from pathlib import Path
from raymigrate.runtime.environments import making
maker = making.Maker("x", Path({str(tmp_path / "place")!r}), lambda _: None, 0)
with making.locked(maker.folder) as handle:
    object.__setattr__(maker, "handle", handle)
    maker.run(["/bin/sh", "-c", "echo $$; exec sleep 60"], print, "")
"""
    process = subprocess.Popen([sys.executable, "-u", "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout
    pip = 0
    while not pip:
        pip = int(process.stdout.readline().strip() or 0)
    process.kill()
    process.communicate()
    try:
        with environment.locked(tmp_path / "place") as handle:
            assert handle is None
    finally:
        os.killpg(pip, signal.SIGKILL)
    assert gone(pip)
    with environment.locked(tmp_path / "place") as handle:
        assert handle is not None


PIP_OUTPUT = """Looking in links: /opt/wheels
Processing /opt/wheels/torch-2.13.0+cpu-cp311-cp311-manylinux_2_28_x86_64.whl
Collecting typing-extensions==4.16.0 (from -r locks/2.6.txt (line 64))
  Using cached typing_extensions-4.16.0-py3-none-any.whl (44 kB)
Requirement already satisfied: filelock in ./lib (4.1.0)
Collecting ray==2.6.3 (from -r locks/2.6.txt (line 50))
  Downloading ray-2.6.3-cp311-cp311-manylinux2014_x86_64.whl (57.1 MB)
"""


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (1, "starting pip"),
        (2, "torch (1 of 9)"),
        (3, "typing-extensions (2 of 9)"),
        (5, "filelock (3 of 9)"),
        (6, "ray (4 of 9)"),
        (7, "ray (4 of 9), 57.1 MB"),
    ],
)
def test_progress_is_read_from_pips_output(lines: int, words: str) -> None:
    assert making.pip_stage("".join(PIP_OUTPUT.splitlines(keepends=True)[:lines]), 9) == words


def test_progress_of_unpacking_and_without_a_total() -> None:
    assert making.pip_stage(PIP_OUTPUT) == "ray, 57.1 MB"
    assert making.pip_stage(PIP_OUTPUT + "Installing collected packages: a, b, c\n") == "unpacking 3 packages"
    assert making.pip_stage(PIP_OUTPUT + "Installing collected packages: a\n") == "unpacking 1 package"

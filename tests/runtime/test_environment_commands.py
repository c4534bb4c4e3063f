"""`raymigrate env`. Its choice of names is made on import, so the real names are used."""

import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from raymigrate.runtime import environments
from raymigrate.runtime.environments import EnvironmentFailure, environment, interpreters, locks, making
from raymigrate.runtime.environments.command import env


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for module in (environment, making):
        monkeypatch.setattr(module, "own_torch", lambda: "9.9.1")
    before = signal.getsignal(signal.SIGTERM)
    yield tmp_path
    signal.signal(signal.SIGTERM, before)


def folder_of(name: str) -> Path:
    return environment.place(locks.lock(name), "9.9.1", (3, 11))


def complete(name: str) -> Path:
    folder = folder_of(name)
    (folder / "bin").mkdir(parents=True)
    (folder / "bin/python").symlink_to(sys.executable)
    (folder / environment.MARKER).write_text('{"python": "3.11.7", "torch": "9.9.1"}')
    return folder


def test_list_tells_what_is_made_and_where(cache: Path) -> None:
    folder = complete("2.6")
    old = environments.cache_folder() / "2.7-py3.11-000000000000"
    old.mkdir()
    result = CliRunner().invoke(env, ["list"])
    assert result.exit_code == 0
    assert result.output.splitlines() == [
        "2.6: Ray 2.6.3, transformers 4.30.2, accelerate 0.20.3, torch 9.9.1",
        f"  {folder} (0.0 GB)",
        "2.7: Ray 2.7.2, transformers 4.30.2, accelerate 0.20.3",
        "  not made: raymigrate env create 2.7",
        f"  not in use: {old} (0.0 GB)",
        "current: Ray 2.60.0, transformers 4.30.2, accelerate 0.20.3",
        "  not made: raymigrate env create current",
    ]


def test_list_tells_which_one_is_being_made(cache: Path) -> None:
    folder = folder_of("2.6")
    folder.mkdir(parents=True)
    with environment.locked(folder):
        result = CliRunner().invoke(env, ["list"])
    assert f"  being made: {folder} (0.0 GB)" in result.output


def test_create_reports_what_was_made(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def make(maker: making.Maker, *_: object) -> None:
        maker.report("ray (1 of 9)")
        maker.report("ray (1 of 9)")
        maker.report("unpacking 9 packages")
        complete("2.6")

    monkeypatch.setattr(making, "_make", make)
    monkeypatch.setattr(making, "choose", lambda _: interpreters.Interpreter(Path(sys.executable), (3, 11)))
    result = CliRunner().invoke(env, ["create", "2.6"])
    assert result.exit_code == 0, result.output
    assert result.stderr.splitlines() == ["   0 s  ray (1 of 9)", "   0 s  unpacking 9 packages"]
    assert result.stdout.splitlines()[0] == "2.6: Ray 2.6.3, transformers 4.30.2, accelerate 0.20.3, torch 9.9.1"
    assert str(folder_of("2.6")) in result.stdout


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (EnvironmentFailure("No wheel."), "Error: No wheel.\n"),
        (KeyboardInterrupt(), "Error: Interrupted; what was made of the environment is removed.\n"),
    ],
)
def test_create_fails_with_a_sentence(
    cache: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, message: str
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(making, "_make", fail)
    monkeypatch.setattr(making, "choose", lambda _: interpreters.Interpreter(Path(sys.executable), (3, 11)))
    result = CliRunner().invoke(env, ["create", "2.6"])
    assert result.exit_code == 1
    assert result.stderr == message


def test_remove_tells_whether_there_was_one(cache: Path) -> None:
    complete("2.6")
    assert CliRunner().invoke(env, ["remove", "2.6"]).output == "2.6 is removed.\n"
    assert CliRunner().invoke(env, ["remove", "2.6"]).output == "2.6 was not made.\n"
    with environment.locked(folder_of("2.7")):
        folder_of("2.7").mkdir()
        result = CliRunner().invoke(env, ["remove", "2.7"])
    assert result.exit_code == 1
    assert "is being made by another process" in result.stderr


def test_an_unknown_name_on_the_command_line(cache: Path) -> None:
    result = CliRunner().invoke(env, ["create", "2.5"])
    assert result.exit_code == 2
    assert "'2.5' is not one of '2.6', '2.7', 'current'" in result.output

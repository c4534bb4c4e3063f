"""One file never ends the run of the others, whatever happens to it."""

import faulthandler
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from raymigrate.base import isolation
from raymigrate.cli import main
from raymigrate.facts.projects import project as project_facts
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nesting import nesting
from raymigrate.run import conversion
from tests.projects.files import DRIVER, INIT, write

SMALL = "from ray.air import session\n\n\ndef f():\n    session.report({})\n"
CONVERTED = "import ray.train\n\n\ndef f():\n    ray.train.report({})\n"
NOTEBOOK = (
    '{"cells": [{"cell_type": "code", "execution_count": null, "metadata": {}, "outputs": [], "source": ["from'
    ' ray.air import session\\n", "session.report({})"]}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}'
)
ACCELERATE = (
    "from accelerate import Accelerator\nfrom ray.train.huggingface import AccelerateTrainer\n\n\ndef loop():\n"
    "    Accelerator()\n\n\ntrainer = AccelerateTrainer(loop, accelerate_config={})\n"
)
BAD = {
    "500 operands": SMALL + "a = 1\ny = " + " and ".join(["a"] * 500) + "\n",
    "10,000 operands": SMALL + "a = 1\ny = " + " or ".join(["a"] * 10_000) + "\n",
    "500 strings in a row": SMALL + "y = (" + " ".join(['"a"'] * 500) + ")\n",
    "2,000 f-strings on lines": SMALL + "y = (" + "\n".join(['f"{f}"'] * 2_000) + ")\n",
    "a name of 3,000 parts": SMALL + "import " + ".".join(["a"] * 3_000) + "\n",
    "150 calls in each other": SMALL + "session.report(" * 150 + "{}" + ")" * 150 + "\n",
    "100,000 signs": SMALL + "y = " + "-" * 100_000 + "1\n",
    "5,000 branches": SMALL + "if f:\n    pass\n" + "elif f:\n    pass\n" * 5_000,
    "an encoding that is none": "# coding: punycode\n" + SMALL,
    "a dead one": "# coding: undefined\n" + SMALL,
}
ROWS = "raymigrate = " + "[" * 3_000
NOTEBOOKS = {
    "a key with an escape": NOTEBOOK.replace('"cells"', '"c\\u0065lls"'),
    "another one": NOTEBOOK.replace('"source"', '"s\\u006furce"'),
    "a number of 10,000 digits": NOTEBOOK.replace("null", "9" * 10_000),
    "nested a hundred thousand times": NOTEBOOK.replace("null", "[" * 100_000),
}


@pytest.fixture(autouse=True)
def neighbours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.py").write_text(SMALL)
    Path("z.py").write_text(SMALL)


def invoke(*arguments: str, data: bytes | None = None) -> Result:
    return CliRunner().invoke(main, arguments, input=data, catch_exceptions=False)


def assert_others_are_done(result: Result, named: str = "m.py") -> None:
    assert Path("a.py").read_text() == Path("z.py").read_text() == CONVERTED
    assert "2 files converted" in result.stderr or "3 files converted" in result.stderr
    assert result.exit_code == 2
    assert f"{named}:" in result.stderr


@pytest.mark.parametrize("text", BAD.values(), ids=BAD)
def test_a_script_that_is_too_much(text: str) -> None:
    Path("m.py").write_text(text)
    assert_others_are_done(invoke("."))
    assert Path("m.py").read_text() == text


def test_a_name_that_was_handed_on_a_thousand_times_is_told() -> None:
    names = "".join(f"a{n + 1} = a{n}\n" for n in range(1_000))
    Path("m.py").write_text(f"{SMALL}a0 = session\n{names}a1000.report({{}})\n")
    result = invoke("m.py")
    assert result.exit_code == 1
    assert "RM302 manual: ray.air.session does not work inside a worker" in result.stdout


LIMITS = ["raymigrate.run.engine.MAX_NODES", "raymigrate.edits.stand_ins.MAX_NODES"]


@pytest.mark.parametrize("option", ["--check", "--unsafe"])
@pytest.mark.parametrize("limit", LIMITS, ids=["in all", "in the statements that change"])
def test_a_script_that_would_fill_the_memory(option: str, limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limit, 100)
    text = SMALL + "session.report({})\n" * 100
    Path("m.py").write_text(text)
    result = invoke(option, "m.py")
    assert result.exit_code == 2
    assert "m.py:1:1: RM901 error: has too much code to be rewritten, 105 lines" in result.stderr
    assert Path("m.py").read_text() == text


def test_a_long_script_with_little_to_change_is_converted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("raymigrate.edits.stand_ins.MAX_NODES", 100)
    monkeypatch.setattr("raymigrate.edits.rewriter.MAX_NODES", 100)
    rest = "x = 1\n" * 1_000
    Path("m.py").write_text(SMALL + rest)
    assert invoke("m.py").exit_code == 0
    assert Path("m.py").read_text() == CONVERTED + rest


def test_a_long_script_whose_statements_cannot_be_told_apart_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("raymigrate.edits.stand_ins.MAX_NODES", 100)
    text = SMALL + "\f\n" + "x = 1\n" * 1_000
    Path("m.py").write_text(text)
    assert "too much code" in invoke("m.py").stderr
    assert Path("m.py").read_text() == text


def test_a_notebook_with_more_code_than_a_script_may_have(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("raymigrate.documents.cells.MAX_BYTES", 60)
    Path("m.ipynb").write_text(NOTEBOOK)
    assert_others_are_done(invoke("."), "m.ipynb")
    assert "RM902 error: has 0.0 MB of code in its cells, over the limit" in invoke("m.ipynb").stderr
    assert Path("m.ipynb").read_text() == NOTEBOOK


def test_all_of_them_in_a_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("raymigrate.run.session.BYTES_WORTH_A_POOL", 0)
    for number, text in enumerate(BAD.values()):
        Path(f"m{number}.py").write_text(text)
    result = invoke("--jobs", "2", ".")
    assert_others_are_done(result, "m0.py")
    assert f"{len(BAD)} could not be done" in result.stderr


@pytest.mark.parametrize("text", NOTEBOOKS.values(), ids=NOTEBOOKS)
def test_a_notebook_that_nobody_saved(text: str) -> None:
    Path("m.ipynb").write_text(text)
    result = invoke(".")
    assert Path("a.py").read_text() == Path("z.py").read_text() == CONVERTED
    if "\\u" in text:
        assert result.exit_code == 0
        assert "ray.train.report" in Path("m.ipynb").read_text()
    else:
        assert_others_are_done(result, "m.ipynb")


@pytest.mark.parametrize(
    "version", ["99!2.6+local." + "9" * 6_000, "9" * 6_000, "2." + "9" * 6_000 + ".*", "~" * 6_000]
)
@pytest.mark.parametrize("name", ["requirements.txt", "setup.cfg", "pyproject.toml", "environment.yml", "Dockerfile"])
def test_versions_of_thousands_of_digits(name: str, version: str) -> None:
    texts = {
        "setup.cfg": f"[options]\ninstall_requires =\n    ray=={version}\n",
        "pyproject.toml": f'[project]\ndependencies = ["ray=={version}"]\n[tool.poetry.dependencies]\nray="{version}"',
        "environment.yml": f"dependencies:\n  - ray={version}\n",
        "Dockerfile": f"FROM rayproject/ray:{version}\nRUN pip install ray=={version}\n",
    }
    Path(name).write_text(texts.get(name, f"ray=={version}\n"))
    Path("t.py").write_text(ACCELERATE)
    result = invoke("--unsafe", ".")
    assert Path("a.py").read_text() == Path("z.py").read_text() == CONVERTED
    assert "AccelerateTrainer" not in Path("t.py").read_text()
    assert result.exit_code in (0, 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tool = 5 # raymigrate", None),
        ("[[tool]]\nraymigrate = 1", None),
        (f"[tool]\n{ROWS}", "is not TOML"),
        ("[tool.raymigrate]\njobs = " + "9" * 5_000, "is not TOML"),
        ("[tool.raymigrate]\njobs = -1", "jobs"),
        ("[tool]\nraymigrate = 1", "is not a table"),
        ("[tool.raymigrate", "is not TOML"),
    ],
    ids=lambda text: str(text)[:30],
)
def test_settings_that_are_none(text: str, message: str | None) -> None:
    Path("pyproject.toml").write_text(text)
    result = invoke(".")
    assert result.exit_code == (2 if message else 0)
    assert (message or "2 files converted") in result.stderr
    assert Path("a.py").read_text() == (SMALL if message else CONVERTED)


# -- whatever else may happen ------------------------------------------------------------------------


def crash() -> None:
    faulthandler.disable()  # the output of the tests need not tell
    os.kill(os.getpid(), signal.SIGSEGV)


def raising(error: BaseException) -> Callable[[], None]:
    def act() -> None:
        raise error

    return act


def at(monkeypatch: pytest.MonkeyPatch, name: str, act: Callable[[], None]) -> None:
    """Has something happen while a file is converted."""
    convert = conversion.convert

    def acting(text: str, path: str, *arguments: object, **options: object) -> object:
        if path.endswith(name):
            act()
        return convert(text, path, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(conversion, "convert", acting)


@pytest.mark.parametrize(
    "error",
    [
        ValueError("a\nb"),
        KeyError("x"),
        AssertionError(),
        StopIteration(),
        RecursionError(),
        MemoryError(),
        TypeError(),
    ],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize("options", [(), ("--check",), ("--diff",)], ids=" ".join)
def test_any_exception_is_a_finding(
    monkeypatch: pytest.MonkeyPatch, error: Exception, options: tuple[str, ...]
) -> None:
    Path("m.py").write_text(SMALL)
    at(monkeypatch, "m.py", raising(error))
    result = invoke(*options, ".")
    assert result.exit_code == 2
    assert "m.py:1:1: RM90" in result.stderr
    assert Path("m.py").read_text() == SMALL
    if not options:
        assert_others_are_done(result)


@pytest.mark.parametrize("how", [crash, lambda: os._exit(7), lambda: os.kill(os.getpid(), signal.SIGKILL)])
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_process_that_ends_is_a_finding(monkeypatch: pytest.MonkeyPatch, how: Callable[[], None], jobs: str) -> None:
    monkeypatch.setattr("raymigrate.run.session.BYTES_WORTH_A_POOL", 0)
    Path("m.py").write_text(SMALL)
    at(monkeypatch, "m.py", how)
    result = invoke("--jobs", jobs, ".")
    assert_others_are_done(result)
    assert "RM903 error: left as it was: the process that converted it ended before it was done" in result.stderr
    assert Path("m.py").read_text() == SMALL


@pytest.mark.parametrize("name", ["model.py", "train.py"])
def test_a_process_that_ends_over_a_project(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    files = {"model.py": INIT, "train.py": DRIVER.format(imports="from model import init", init="init")}
    write(Path("p"), files)
    at(monkeypatch, name, crash)
    result = invoke(".")
    assert_others_are_done(result, f"p/{name}")
    assert Path("p", name).read_text() == files[name].lstrip("\n")


def test_a_process_that_ends_over_a_file_that_is_only_read(monkeypatch: pytest.MonkeyPatch) -> None:
    class Crashing(Module):
        def __init__(self, text: str, path: str = "", project: object = None) -> None:
            if path.endswith("settings.py"):
                crash()
            super().__init__(text, path, project)  # type: ignore[arg-type]

    monkeypatch.setattr(project_facts, "Module", Crashing)
    write(
        Path("p"), {"settings.py": "LR = 1\n", "train.py": DRIVER.format(imports="from settings import LR", init="f")}
    )
    assert_others_are_done(invoke("."), str(Path("p/settings.py")))
    assert Path("a.py").read_text() == Path("z.py").read_text() == CONVERTED


def test_a_process_that_ends_over_and_over_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("raymigrate.run.job.concerns", lambda *_: crash())
    result = invoke(".")
    assert result.exit_code == 2
    assert "no file was changed" in result.stderr
    assert Path("a.py").read_text() == SMALL


def test_an_editor_gets_its_text_back(monkeypatch: pytest.MonkeyPatch) -> None:
    data = (SMALL + "x = 1\n" * 5_000).encode()
    at(monkeypatch, "m.py", crash)
    result = invoke("--stdin-filename", "m.py", "-", data=data)
    assert result.exit_code == 2
    assert result.stdout_bytes == data
    assert "ended before it was done (SIGSEGV)" in result.stderr


def test_an_error_outside_of_any_file_is_told_with_its_traceback() -> None:
    with pytest.raises(RuntimeError, match=r"Traceback[\s\S]*ZeroDivisionError"):
        isolation.apart(lambda: 1 // 0)


@pytest.mark.parametrize(
    ("text", "depth"),
    [
        ("x = a and b and c and d and e\n", 6),
        ("x = 'a' 'b' 'c' 'd'\n", 2),  # surely not many
        ("x = (" + "'a' " * 40 + ")\n", 41),
        ("x = (" + "'a'\n" * 40 + ")\n", 41),
        ("x = f(" + "f'{a}'\n" * 40 + ")\n", 44),
        ("x = '''" + "\"'\n" * 40 + "'''\n", 2),
        ("import " + ".".join("a" * 40) + "\n", 41),
    ],
)
def test_depth_is_that_of_the_concrete_tree(text: str, depth: int) -> None:
    assert nesting(Module(text), 20) == depth

"""The gates: a tree without legacy code is looked through without importing anything heavy."""

import ast
import re
import shutil
import subprocess
import sys
from itertools import groupby
from pathlib import Path

import pytest
from click.testing import CliRunner

from raymigrate import codemods
from raymigrate.cli import main
from raymigrate.codemods import all_codemods, concerns_codemods
from raymigrate.facts.projects import project_uses
from raymigrate.files.needles import NEEDLES, needles
from raymigrate.knowledge.legacy import TRAINERS
from raymigrate.run.gates import concerns
from scripts.update_twins import options_of
from tests.conftest import FIXTURES, SCRIPTS

HEAVY = ("libcst", "torch", "ray", "transformers", "accelerate", "datasets", "evaluate", "yaml", "pyarrow")


def modules_imported_by(*arguments: str) -> tuple[int, set[str]]:
    """Runs the tool; returns its exit code and the modules that it imported, its processes included."""
    command = [sys.executable, "-X", "importtime", "-m", "raymigrate", *arguments]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    modules = re.findall(r"^import time: .*\| +([\w.]+)", run.stderr, re.MULTILINE)
    assert "click" in modules
    return run.returncode, set(modules)


@pytest.fixture
def clean_tree(tmp_path: Path) -> Path:
    """Ordinary code, and modern Ray code, without anything legacy."""
    (tmp_path / "plain.py").write_text("import os\nprint(os.name)\n")
    (tmp_path / "modern.py").write_text((FIXTURES / "false_friends/modern_transformers_script.py").read_text())
    return tmp_path


def test_a_tree_without_legacy_code_imports_nothing_heavy(clean_tree: Path) -> None:
    status, modules = modules_imported_by("--check", str(clean_tree))
    assert status == 0
    assert modules.isdisjoint(HEAVY)


@pytest.fixture(scope="module")
def some_of_each(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first and the last fixture of each family: what is imported depends on the families that have to do."""
    folder = tmp_path_factory.mktemp("some_of_each")
    for _, scripts in groupby(SCRIPTS, key=lambda script: script.parent.parent):
        cases = [script.parent for script in scripts]
        for case in {cases[0], cases[-1]}:
            shutil.copytree(case, folder / case.relative_to(FIXTURES))
    return folder


def test_check_never_needs_libcst(some_of_each: Path) -> None:
    status, modules = modules_imported_by("--check", str(some_of_each))
    assert status == 1
    assert modules.isdisjoint(set(HEAVY) - {"yaml"})


@pytest.mark.parametrize("options", [[], ["--to-ray", "--to-accelerate"]], ids=["no option", "moving scripts"])
def test_converting_imports_no_library_of_the_jobs(options: list[str], some_of_each: Path) -> None:
    _, modules = modules_imported_by("--diff", *options, str(some_of_each))
    assert "libcst" in modules
    assert modules.isdisjoint({"torch", "ray", "transformers", "accelerate", "datasets"})


def test_few_files_are_converted_without_a_pool_of_processes(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"train_{number}.py").write_text(SCRIPTS[0].read_text())
    _, modules = modules_imported_by(str(tmp_path))
    assert "libcst" in modules
    assert "concurrent" not in modules
    assert "libcst.matchers" not in modules  # which takes as long as all the rest of LibCST


IMPORTS = [
    template.format(module=module, name=name)
    for qualified in [
        *sorted(TRAINERS),
        "ray.air.session",
        "ray.air.config.RunConfig",
        "ray.train.batch_predictor.BatchPredictor",
    ]
    for module, _, name in [qualified.rpartition(".")]
    for template in (
        "from {module} import {name}\n",
        "from {module} import (\n    {name},\n)\n",
        "import {module}\n{module}.{name}\n",
        "import {module} as short\nshort.{name}\n",
        "def f():\n    from {module} import {name} as other\n",
    )
]


@pytest.mark.parametrize(
    "text", [*IMPORTS, "from ray import air\nair.session.report({})\n", "import ray\nray.air.session\n"]
)
def test_every_import_of_a_legacy_name_passes_both_gates(text: str) -> None:
    assert any(needle in text.encode() for needle in NEEDLES)
    assert concerns_codemods(text.encode())


@pytest.mark.parametrize("text", ["# /// script\n", "from other import *\n", "from other import *; x = 1\n"])
def test_words_that_begin_or_end_with_a_sign_are_found(text: str) -> None:
    assert concerns_codemods(text.encode())


@pytest.mark.parametrize("text", ["import ray_tools\n", "# ///scripts\n", "model.encode_and_decoded\n"])
def test_parts_of_words_are_not(text: str) -> None:
    assert not concerns_codemods(text.encode())


def passes(script: Path) -> bool:
    data, options = script.read_bytes(), options_of(script)
    wanted = needles(to_ray=options.to_ray, to_accelerate=options.to_accelerate)
    return any(needle in data for needle in wanted) and concerns(data, options=options)


def test_every_fixture_passes_the_gates() -> None:
    assert [script for script in SCRIPTS if not passes(script)] == []


def test_codemods_are_found_by_being_there() -> None:
    marked = {
        (path.stem, node.name)
        for path in Path(codemods.__file__).parent.rglob("*.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef)
        if any(isinstance(call, ast.Call) and ast.unparse(call.func) == "codemod" for call in node.decorator_list)
    }
    assert {(item.apply.__module__.rpartition(".")[2], item.apply.__name__) for item in all_codemods()} == marked


def test_the_files_of_a_project_are_not_read_for_a_script_of_today(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []

    def files_below(folder: str, *, only_packages: bool) -> list[str]:
        read.append(folder)
        return []

    monkeypatch.setattr(project_uses, "files_below", files_below)
    script = tmp_path / "train.py"
    script.write_bytes((FIXTURES / "false_friends" / "modern_transformers_script.py").read_bytes())
    assert CliRunner().invoke(main, ["-q", "--check", str(script)]).exit_code == 0
    assert read == []
    script.write_text("from ray.train import RunConfig\n\n\ndef config():\n    return RunConfig()\n")
    CliRunner().invoke(main, ["-q", "--check", str(script)])
    assert read != []  # a Tuner of another file may get it

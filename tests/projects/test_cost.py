"""What a project of many files costs: each is parsed as it is and as it will be, and few are kept."""

import ast
import json
import os
from pathlib import Path

import pytest

from raymigrate.base.options import Options
from raymigrate.facts.projects import imported_names, project_uses
from raymigrate.facts.projects import project as project_facts
from raymigrate.facts.projects.import_graph import imported_paths
from raymigrate.facts.projects.passed_names import passed_names
from raymigrate.facts.projects.project import Project
from raymigrate.facts.syntax.module import Module
from raymigrate.files import contents
from raymigrate.pins import files as pin_files
from raymigrate.pins.written_for import written_for
from raymigrate.run.job import Job
from tests.conftest import FIXTURES
from tests.documents.notebooks import notebook
from tests.projects.files import DRIVER, INIT, convert, write


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that are parsed, in order."""
    names: list[str] = []

    class Counted(Module):
        def __init__(self, text: str, path: str = "", project: Project | None = None) -> None:
            names.append(Path(path).name)
            super().__init__(text, path, project)

    monkeypatch.setattr(project_facts, "Module", Counted)
    return names


def test_a_file_that_many_scripts_import_is_parsed_as_it_is_and_as_it_will_be(
    tmp_path: Path, parsed: list[str]
) -> None:
    driver = DRIVER.format(imports="from common import init", init="init")
    write(tmp_path, {"common.py": INIT, **{f"train_{n:02}.py": driver for n in range(50)}})
    summary = convert(tmp_path)
    assert len(summary.changed) == 51
    assert parsed.count("common.py") == 2


def test_a_script_alone_is_parsed_once_where_its_project_has_to_be_read(tmp_path: Path, parsed: list[str]) -> None:
    """It was begun without the others, and begun again once it turned out to need them."""
    script = tmp_path / "train.py"
    script.write_text((FIXTURES / "accelerate_trainer" / "bert_mrpc" / "before.py").read_text())
    summary = convert(script, job=Job(Options(), rewrite=False, write=False))
    assert len(summary.changed) == 1
    assert parsed == ["train.py"]


def test_scripts_of_the_same_names_are_not_parsed_for_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder of examples, say, each with a train.py, a function train() and a helpers.py of its own."""
    parsed: list[str] = []
    parse = Project._parse

    def counted(project: Project, path: str) -> Module | None:
        parsed.append(path)
        return parse(project, path)

    monkeypatch.setattr(Project, "_parse", counted)
    monkeypatch.setattr(project_facts, "TEXT_KEPT", 0)
    script = (
        "import helpers\nfrom ray.air import session\n\n\ndef train(train_log):\n"
        "    session.report(helpers.train(train_log))\n"
    )
    helpers = "def train(log):\n    return {'train': log}\n"
    write(tmp_path, {"setup.py": ""})
    examples = project_facts.MODULES_KEPT + 10
    for number in range(examples):
        write(tmp_path / f"example_{number:02}", {"train.py": script, "helpers.py": helpers})
    summary = convert(tmp_path)
    assert len(summary.changed) == examples
    assert len(parsed) < 4 * examples  # not once for each of the others


def test_files_behind_star_imports_are_parsed_only_if_they_have_the_name(tmp_path: Path, parsed: list[str]) -> None:
    stars = "".join(f"from .part_{n:02} import *\n" for n in range(20))
    parts = {f"common/part_{n:02}.py": f"def make_{n:02}():\n    pass\n" for n in range(20)}
    write(tmp_path, {"common/__init__.py": stars, "train.py": "from common import *\nmake_07()\n", **parts})
    project = Project([str(tmp_path)])
    module = project.module(str(tmp_path / "train.py"))
    assert module is not None
    (call,) = module.of_type(ast.Call)
    assert isinstance(call, ast.Call)
    found = project.definition(module, call.func)
    assert found is not None
    assert found.module.path.endswith("part_07.py")
    assert parsed == ["train.py", "__init__.py", "part_07.py"]


def test_a_name_of_many_parts_is_followed_as_far_as_there_are_folders(tmp_path: Path) -> None:
    """An attack: each part would be looked for below all before it, in each file that another is searched for."""
    write(tmp_path, {"setup.py": "", "package/inner/module.py": "", "train.py": ""})
    project = Project([str(tmp_path)])
    asked: list[str] = []
    project.file = lambda path, name, level=0: asked.append(name)  # type: ignore[method-assign]
    imported_paths(project, str(tmp_path / "train.py"), b"import package.inner.gone" + b".a" * 3_000)
    assert [name for name in asked if name.count(".") < 3_000] == ["package", "package.inner", "package.inner.gone"]


def test_packages_around_a_module_are_found_below_a_folder_that_is_none(tmp_path: Path) -> None:
    write(tmp_path, {"setup.py": "", "folder/package/__init__.py": "", "folder/package/module.py": "", "train.py": ""})
    project = Project([str(tmp_path)])
    found = imported_paths(project, str(tmp_path / "train.py"), b"import folder.package.module")
    assert found == {str(tmp_path / f"folder/package/{name}.py") for name in ("__init__", "module")}


def test_few_parsed_files_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(project_facts, "TEXT_KEPT", 300)
    project = Project()
    for number in range(project_facts.MODULES_KEPT + 20):
        (tmp_path / f"m{number}.py").write_text("x = 1\n")
        project.module(str(tmp_path / f"m{number}.py"))
    assert len(project._modules) == project_facts.MODULES_KEPT


def test_files_that_are_gone_over_again_and_again_are_parsed_once(tmp_path: Path, parsed: list[str]) -> None:
    """The users of one function after those of another: what is dropped first is what is asked for next."""
    project = Project()
    paths = [tmp_path / f"m{number}.py" for number in range(3 * project_facts.MODULES_KEPT)]
    for path in paths:
        path.write_text("x = 1\n")
    for _ in range(3):
        assert all(project.module(str(path)) is not None for path in paths)
    assert len(parsed) == len(paths)


def test_how_many_parsed_files_are_kept_goes_by_their_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(project_facts, "MODULES_KEPT", 2)
    monkeypatch.setattr(project_facts, "TEXT_KEPT", 100)
    project = Project()
    for number in range(40):
        (tmp_path / f"m{number}.py").write_text("x = 1234\n")  # 9 characters
        project.module(str(tmp_path / f"m{number}.py"))
        project.module_of("x = 12345\n", str(tmp_path / f"m{number}.py"))  # in its place, with 10
    assert len(project._modules) == 10
    assert project._text_kept == 100


def test_files_that_import_a_module_are_looked_for_once_in_each_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []

    def content(project: Project, folder: str, path: str) -> bytes:
        read.append(Path(path).name)
        return Path(path).read_bytes()

    monkeypatch.setattr(project_uses, "_content", content)
    functions = "".join(f"\n\ndef log_{n}(metrics):\n    session.report(metrics)\n" for n in range(20))
    others = {f"other_{n:02}.py": "import numpy\n" for n in range(30)}
    write(tmp_path, {"logs.py": f"from ray.air import session\n{functions}", "run.py": "import logs\n", **others})
    convert(tmp_path)
    assert read.count("run.py") > 20
    # For the name of the module anywhere, for imports of any module, and for names that tests replace.
    assert read.count("other_07.py") == 3


@pytest.mark.parametrize(("marker", "others"), [("", {"near.py", "of_package.py"}), ("setup.py", None)])
def test_a_script_in_a_folder_that_is_no_project_is_not_looked_for_all_below_it(
    marker: str, others: set[str] | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A home folder, say: a script that lies there took as long as reading everything in it."""
    read: set[str] = set()

    def content(project: Project, folder: str, path: str) -> bytes:
        read.add(Path(path).name)
        return Path(path).read_bytes()

    monkeypatch.setattr(project_uses, "_content", content)
    using = "import logs\n"
    write(tmp_path, {"logs.py": "from ray.air import session\n\n\ndef log(metrics):\n    session.report(metrics)\n"})
    write(tmp_path, {"near.py": using, "package/__init__.py": "", "package/of_package.py": using, "far/far.py": using})
    if marker:
        (tmp_path / marker).touch()
    convert(tmp_path / "logs.py")
    wanted = others if others is not None else {"near.py", "of_package.py", "far.py"}
    assert read - {"logs.py", "__init__.py", marker} == wanted


@pytest.mark.parametrize("folder", ["", "settings/"])
def test_files_that_may_pin_versions_are_read_once_for_all_scripts_of_a_folder(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where they are more than are kept at once: each script read all of them again."""
    read: list[str] = []
    read_bytes = contents.read_bytes

    def counted(path: str) -> bytes:
        read.append(Path(path).name)
        return read_bytes(path)

    monkeypatch.setattr(pin_files, "read_bytes", counted)
    script = "from ray import air, tune\n\ntune.Tuner(T(), run_config=air.RunConfig(stop={'a': 1})).fit()\n"
    settings = {f"{folder}settings_{n:03}.yaml": "rate: 1\n" for n in range(300)}
    write(tmp_path, {"setup.py": "", **{f"train_{n:02}.py": script for n in range(10)}, **settings})
    convert(tmp_path)
    most = max(read.count(Path(name).name) for name in settings)
    assert 1 <= most <= 3  # for the Ray it was written for, for the dashboard, and for what is to be raised


def test_a_list_that_changes_is_read_again(tmp_path: Path) -> None:
    write(tmp_path, {"a.txt": "", "requirements.txt": "ray==2.5.1\n"})
    for version in ("2.5.1", "2.4.0", "2.10.0"):
        (tmp_path / "requirements.txt").write_text(f"ray=={version}\n")
        major, minor, _ = map(int, version.split("."))
        assert written_for(Module("import ray\n"), str(tmp_path / "a.py")).version == (major, minor)


def test_files_that_star_import_each_other_are_not_walked_along_every_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With six of them a run took more than a minute: 7 ** 9 paths for a name that none of the eight here has."""
    asked: list[str] = []
    file = Project.file

    def counted(project: Project, path: str, name: str, level: int = 0) -> str | None:
        asked.append(name)
        if len(asked) > 200_000:
            pytest.fail("the files are walked along every path")
        return file(project, path, name, level)

    monkeypatch.setattr(Project, "file", counted)
    numbers = range(8)
    stars = {n: "".join(f"from package.m{other} import *\n" for other in numbers if other != n) for n in numbers}
    modules = {f"package/m{n}.py": f"{stars[n]}import ray\n\n\ndef f{n}():\n    return gone_{n}()\n" for n in numbers}
    script = (
        "from ray import train\nfrom ray.train.torch import TorchTrainer\nfrom package.m0 import *\n"
        "from package.m1 import *\n\n\ndef loop(config):\n    f0()\n    unknown()\n    train.save_checkpoint(epoch=1)\n"
        "\n\nTorchTrainer(loop).fit()\n"
    )
    write(tmp_path, {"setup.py": "", "package/__init__.py": "", **modules, "train.py": script})
    convert(tmp_path)
    project = Project([str(tmp_path)])
    module = project.module(str(tmp_path / "train.py"))
    assert module is not None
    used = {node.id: node for node in ast.walk(module.tree) if isinstance(node, ast.Name)}
    found = project.definition(module, used["f0"])
    assert found is not None and found.module.path.endswith("m0.py")
    for search in (lambda: project.definition(module, used["unknown"]), lambda: [*passed_names(module)] or None):
        asked.clear()
        assert search() is None
        # For each name, from each file to each other one at each depth.
        assert 0 < len(asked) < 2 * 8 * 7 * (imported_names.RE_EXPORTS + 2)


def test_what_became_of_a_script_is_not_looked_for_anew_for_each_notebook(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    real = os.path.realpath

    def counted(path: str, **options: bool) -> str:
        asked.append(str(path))
        return real(path, **options)

    monkeypatch.setattr(os.path, "realpath", counted)
    driver = DRIVER.format(imports="from common import init", init="init")
    used = notebook(["!pip install ray==2.5.0", "import train"])
    notebooks = {f"n{number}.ipynb": json.dumps(used) for number in range(30)}
    write(tmp_path, {"common.py": INIT, "train.py": driver, "other.py": driver, **notebooks})
    convert(tmp_path)
    assert sum(path.endswith("other.py") for path in asked) < len(notebooks)

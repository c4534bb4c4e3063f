"""Which file of a project defines what a script imports, and who else uses it."""

import ast
from pathlib import Path

import pytest

from raymigrate.facts.projects import project as project_facts
from raymigrate.facts.projects.project import Project
from raymigrate.facts.projects.project_uses import uses_of
from tests.projects.files import write

DEFINED = "def f(): pass\nvalue = 3\n"
FORMS = {
    "a file beside the script with the name of a library": ("train.py", "from datasets import f", "f", "datasets.py"),
    "beside the script": ("train.py", "from settings import f", "f", "settings.py"),
    "module of the script's folder": ("train.py", "import settings", "settings.f", "settings.py"),
    "package from its root": ("pkg/train.py", "from pkg.mod import f", "f", "pkg/mod.py"),
    "package from a folder beside": ("scripts/train.py", "from pkg.mod import f", "f", "pkg/mod.py"),
    "dotted module": ("train.py", "import pkg.mod", "pkg.mod.f", "pkg/mod.py"),
    "dotted module as": ("train.py", "import pkg.mod as m", "m.f", "pkg/mod.py"),
    "module from package": ("train.py", "from pkg import mod", "mod.f", "pkg/mod.py"),
    "relative": ("pkg/train.py", "from .mod import f", "f", "pkg/mod.py"),
    "relative, module": ("pkg/train.py", "from . import mod as m", "m.f", "pkg/mod.py"),
    "relative, above": ("pkg/sub/train.py", "from ..mod import f as g", "g", "pkg/mod.py"),
    "re-exported": ("train.py", "from shop import f", "f", "shop/inner.py"),
    "re-exported by a star": ("train.py", "from stars import f", "f", "shop/inner.py"),
    "re-exported by the package of a module": ("train.py", "import shop.inner", "shop.f", "shop/inner.py"),
    "imported by another module": ("train.py", "import between", "between.mod.f", "pkg/mod.py"),
    "src layout": ("scripts/train.py", "from inside.mod import f", "f", "src/inside/mod.py"),
    "either way": (
        "pkg/train.py",
        "try:\n    from .mod import f\nexcept ImportError:\n    from mod import f\n",
        "f",
        "pkg/mod.py",
    ),
    "script in a package": ("pkg/train.py", "from mod import f", "f", "pkg/mod.py"),
}
TREE = {
    "settings.py": DEFINED,
    "pkg/__init__.py": "",
    "pkg/mod.py": DEFINED,
    "pkg/sub/__init__.py": "",
    "shop/__init__.py": "from .inner import f\n",
    "shop/inner.py": DEFINED,
    "stars/__init__.py": "from shop.inner import *\n",
    "src/inside/__init__.py": "",
    "src/inside/mod.py": DEFINED,
    "between.py": "from pkg import mod\n",
    "datasets.py": DEFINED,
    "twice.py": "def f(): pass\n\ndef f(): return 1\n",
    "circle.py": "from circle import f\n",
}


def definition(folder: Path, script: str, statement: str, name: str) -> project_facts.Definition | None:
    write(folder, TREE)
    path = folder / script
    path.parent.mkdir(parents=True, exist_ok=True)
    project = Project([str(folder)])
    module = project.module_of(f"{statement}\n{name}\n", str(path))
    last = module.tree.body[-1]
    assert isinstance(last, ast.Expr)
    return project.definition(module, last.value)


@pytest.mark.parametrize(("script", "statement", "name", "where"), FORMS.values(), ids=FORMS)
def test_a_name_is_followed_to_its_file(tmp_path: Path, script: str, statement: str, name: str, where: str) -> None:
    found = definition(tmp_path, script, statement, name)
    assert found is not None and found.function is not None
    assert Path(found.module.path).samefile(tmp_path / where)


@pytest.mark.parametrize(("script", "statement", "name", "where"), FORMS.values(), ids=FORMS)
def test_the_use_is_found_from_there(tmp_path: Path, script: str, statement: str, name: str, where: str) -> None:
    write(tmp_path, {**TREE, script: f"{statement}\n{name}\n"})
    project = Project([str(tmp_path)])
    home = project.module(str(tmp_path / where))
    assert home is not None
    uses = uses_of(project, project_facts.Definition(home, home.tree.body[0], "f"))
    assert [Path(module.path).relative_to(tmp_path).as_posix() for module, _ in uses.reads] == [script]
    assert uses.unclear == []


def test_a_file_of_another_folder_does_not_hide_a_library(tmp_path: Path) -> None:
    assert definition(tmp_path, "jobs/train.py", "from datasets import f", "f") is None


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("from twice import f", "f"),  # two definitions
        ("from circle import f", "f"),
        ("from settings import missing", "missing"),
        ("from nowhere import f", "f"),
        ("from settings import f\nf = 1", "f"),
        ("import settings", "settings.f.attribute"),
    ],
)
def test_what_is_not_sure_is_not_followed(tmp_path: Path, statement: str, name: str) -> None:
    assert definition(tmp_path, "train.py", statement, name) is None


def test_uses_are_found_in_the_whole_project(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "settings.py": DEFINED + "f()\n",
            "plain.py": "import settings\nsettings.f()\n",
            "named.py": "from settings import f as other\nother()\n",
            "stranger.py": "def f(): pass\nf()\n",
            "broken.py": "from settings import f\nf(\n",
            "hydra.yaml": "_target_: settings.f\n",
            "venv/pyvenv.cfg": "",
            "venv/lib.py": "from settings import f\n",
        },
    )
    project = Project([str(tmp_path)])
    module = project.module(str(tmp_path / "settings.py"))
    assert module is not None
    uses = uses_of(project, project_facts.Definition(module, module.tree.body[0], "f"))
    assert sorted(Path(m.path).name for m, _ in uses.reads) == ["named.py", "plain.py", "settings.py"]
    assert [Path(m.path).name for m, _ in uses.imports] == ["named.py"]
    assert sorted(Path(path).name for path in uses.unclear) == ["broken.py", "hydra.yaml"]


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("größe", "# coding: latin-1\ndef größe(): pass\n".encode("latin-1")),
        ("größe", "def gro\u0308ße(): pass\n".encode()),
        ("fit", "def \ufb01t(): pass\n".encode()),
        ("fit", b"\xef\xbb\xbfdef fit(): pass\r\n"),
    ],
    ids=["another encoding", "letters that are put together", "letters of another shape", "a byte order mark"],
)
@pytest.mark.parametrize("imports", ["from settings import {}", "from settings import *"])
def test_a_name_is_found_however_a_file_spells_it(tmp_path: Path, name: str, data: bytes, imports: str) -> None:
    (tmp_path / "settings.py").write_bytes(data)
    (tmp_path / "train.py").write_text(f"{imports.format(name)}\n{name}()\n", encoding="utf-8")
    project = Project([str(tmp_path)])
    module = project.module(str(tmp_path / "train.py"))
    assert module is not None
    (call,) = module.of_type(ast.Call)
    assert isinstance(call, ast.Call)
    found = project.definition(module, call.func)
    assert found is not None
    assert (Path(found.module.path).name, found.name) == ("settings.py", name)

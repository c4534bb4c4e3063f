"""Scripts whose functions and settings stand in other files of the same project."""

import ast
import json
import os
import re
import shutil
import sys
from pathlib import Path
from textwrap import dedent

import pytest
from click.testing import CliRunner

from raymigrate import session, together
from raymigrate.cli import main
from raymigrate.config import Options
from raymigrate.discovery import SUFFIXES, discover
from raymigrate.facts import project as project_facts
from raymigrate.facts.module import Module
from raymigrate.facts.project import Project
from raymigrate.facts.project_uses import uses_of
from raymigrate.findings import Kind
from raymigrate.gates import NEEDLES
from raymigrate.runtime.hub import HubServer, cached_hub
from raymigrate.runtime.verify.scripts import Sources
from raymigrate.session import Job, Summary, run
from tests.conftest import FIXTURES
from tests.jobs import run_python

DRIVER = """
from ray.train.huggingface import TransformersTrainer
{imports}
trainer = TransformersTrainer(trainer_init_per_worker={init}, trainer_init_config={{"lr": 1e-3}})
"""
INIT = """
from transformers import Trainer, TrainingArguments


def init(train_dataset, eval_dataset=None, **config):
    args = TrainingArguments("out", no_cuda=True, report_to="wandb")
    return Trainer(model=make_model(), args=args, train_dataset=make_data())
"""
MAPPED = """
from ray.train.huggingface import AccelerateTrainer
{imports}
trainer = AccelerateTrainer(print, accelerate_config={{}}, datasets={{"train": make()}}, preprocessor={preprocessor})
"""
MAPPER = """
from ray.data.preprocessors import BatchMapper


def double(batch):
    return {name: 2 * column for name, column in batch.items()}


mapper = BatchMapper(double, batch_format="numpy")


def get_mapper():
    return BatchMapper(double, batch_format="numpy")
"""


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text).lstrip("\n"))


def convert(*paths: Path, job: Job | None = None, exclude: tuple[str, ...] = ()) -> Summary:
    found = discover([str(path) for path in paths], needles=NEEDLES, exclude=exclude, suffixes=SUFFIXES)
    return run(found, job or Job(Options()), jobs=1)


def codes(summary: Summary, kind: Kind, name: str) -> set[str]:
    return {f.code for f in summary.findings if f.kind is kind and Path(f.path).name == name}


# -- where names come from -------------------------------------------------------------------------

DEFINED = "def f(): pass\nvalue = 3\n"
FORMS = {
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


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("from datasets import f", "f"),  # the library, not a file of that name
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


# -- the init function -----------------------------------------------------------------------------


def test_an_init_function_of_one_trainer_is_converted_in_its_file(tmp_path: Path) -> None:
    write(tmp_path, {"model.py": INIT, "train.py": DRIVER.format(imports="from model import init", init="init")})
    summary = convert(tmp_path)
    assert "def train_func(config):" in (tmp_path / "model.py").read_text()
    driver = (tmp_path / "train.py").read_text()
    assert "from model import train_func" in driver
    assert "trainer_init" not in driver
    assert "RM120" in codes(summary, Kind.CONVERTED, "model.py")
    assert [(p.read, p.converted, p.left) for p in summary.projects] == [(2, 2, 0)]


USERS = {
    "a plain script": {"plain.py": "from model import init\ninit(None).train()\n"},
    "a notebook": {"explore.ipynb": '{"cells": [{"source": ["from model import init"]}]}'},
    "a configuration": {"conf.yaml": "_target_: model.init\n"},
    "a re-export": {"other/__init__.py": "from model import init\n"},
    "a second trainer": {"again.py": DRIVER.format(imports="from model import init", init="init")},
}


@pytest.mark.parametrize("files", USERS.values(), ids=USERS)
def test_an_init_function_that_others_use_keeps_its_form(tmp_path: Path, files: dict[str, str]) -> None:
    write(
        tmp_path, {"model.py": INIT, "train.py": DRIVER.format(imports="from model import init", init="init"), **files}
    )
    convert(tmp_path)
    model, driver = (tmp_path / "model.py").read_text(), (tmp_path / "train.py").read_text()
    assert "def init(train_dataset, eval_dataset=None, **config):" in model
    assert "use_cpu=True" in model  # what changed in transformers changes for everybody
    assert "def train_func(config):" in driver
    assert "trainer = init(None, None, **config)" in driver
    assert "get_reporting_integration_callbacks" in driver  # report_to had no effect on Ray, and has one without


def test_names_of_modules_are_not_hidden_by_the_adapter(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "config.py": INIT,
            "trainer.py": INIT,
            "one.py": DRIVER.format(imports="import config", init="config.init"),
            "two.py": DRIVER.format(imports="import trainer as trainer", init="trainer.init").replace(
                "trainer = ", "t = "
            ),
        },
    )
    convert(tmp_path)
    assert "config.init(None, None, **train_loop_config)" in (tmp_path / "one.py").read_text()
    assert "hf_trainer = trainer.init(None, None, **config)" in (tmp_path / "two.py").read_text()


def test_a_function_that_never_ran_is_reported_where_it_is_given(tmp_path: Path) -> None:
    init = "def init(config):\n    return 1\n"
    write(tmp_path, {"model.py": init, "train.py": DRIVER.format(imports="from model import init", init="init")})
    summary = convert(tmp_path)
    assert codes(summary, Kind.MANUAL, "train.py") == {"RM911", "RM103"} or "RM911" in codes(
        summary, Kind.MANUAL, "train.py"
    )
    assert (tmp_path / "model.py").read_text() == init


# -- preprocessors -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("imports", "preprocessor"),
    [("from helpers import mapper", "mapper"), ("import helpers", "helpers.get_mapper()")],
)
def test_a_mapper_of_another_file_changes_with_its_trainers(tmp_path: Path, imports: str, preprocessor: str) -> None:
    driver = MAPPED.format(imports=imports, preprocessor=preprocessor)
    unused = "def get_mapper" if preprocessor == "mapper" else "mapper = "
    helpers = (
        MAPPER[: MAPPER.index(unused)]
        if unused.startswith("def")
        else MAPPER.replace('mapper = BatchMapper(double, batch_format="numpy")\n', "")
    )
    write(tmp_path, {"helpers.py": helpers, "one.py": driver, "two.py": driver})
    summary = convert(tmp_path)
    assert not [f for f in summary.findings if f.code in ("RM501", "RM502") and f.kind is Kind.MANUAL]
    assert "BatchMapper" not in (tmp_path / "helpers.py").read_text()
    for name in ("one.py", "two.py"):
        assert "preprocessor=" not in (tmp_path / name).read_text()


@pytest.mark.parametrize(
    "use",
    [
        "from helpers import get_mapper\nget_mapper().transform(make())\n",
        "from helpers import *\nprint(get_mapper())\n",
        "import helpers\nx = getattr(helpers, 'get_mapper')\n",
    ],
)
def test_a_mapper_with_another_use_is_left_in_all_files(tmp_path: Path, use: str) -> None:
    driver = MAPPED.format(imports="from helpers import get_mapper", preprocessor="get_mapper()")
    write(tmp_path, {"helpers.py": MAPPER, "train.py": driver, "other.py": use})
    summary = convert(tmp_path)
    assert (tmp_path / "helpers.py").read_text() == dedent(MAPPER).lstrip("\n")
    assert "preprocessor=get_mapper()" in (tmp_path / "train.py").read_text()
    assert "RM502" in codes(summary, Kind.MANUAL, "train.py")
    assert "RM501" in codes(summary, Kind.MANUAL, "helpers.py")


# -- both files or none --------------------------------------------------------------------------------


def test_no_file_changes_for_one_that_cannot(tmp_path: Path) -> None:
    """The mapper shares its line with another statement, which the rewriter refuses."""
    helpers = MAPPER.replace("mapper = Batch", "first = 1; mapper = Batch")
    driver = MAPPED.format(imports="from helpers import mapper", preprocessor="mapper")
    write(tmp_path, {"helpers.py": helpers, "train.py": driver})
    summary = convert(tmp_path)
    assert (tmp_path / "helpers.py").read_text() == helpers.lstrip("\n")
    assert "preprocessor=mapper" in (tmp_path / "train.py").read_text()
    assert "RM502" in codes(summary, Kind.MANUAL, "train.py")
    assert not [f for f in summary.findings if f.kind is Kind.ERROR]


def test_the_other_file_is_given_back_where_the_script_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write_unless_driver(path: str, data: bytes) -> None:
        if path.endswith("train.py"):
            raise PermissionError(13, "Permission denied")
        Path(path).write_bytes(data)

    monkeypatch.setattr(session, "write_atomically", write_unless_driver)
    monkeypatch.setattr(together, "write_atomically", write_unless_driver)
    write(tmp_path, {"model.py": INIT, "train.py": DRIVER.format(imports="from model import init", init="init")})
    before = (tmp_path / "model.py").read_text()
    summary = convert(tmp_path)
    assert (tmp_path / "model.py").read_text() == before
    assert codes(summary, Kind.ERROR, "train.py") == {"RM902"}
    assert codes(summary, Kind.ERROR, "model.py") == {"RM902"}


@pytest.mark.parametrize("job", [Job(Options(), write=False), Job(Options(), rewrite=False, write=False)])
def test_a_dry_run_writes_neither(tmp_path: Path, job: Job) -> None:
    write(tmp_path, {"model.py": INIT, "train.py": DRIVER.format(imports="from model import init", init="init")})
    before = {path.name: path.read_text() for path in tmp_path.iterdir()}
    summary = convert(tmp_path, job=job)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == before
    assert len(summary.changed) == 2


# -- paths that were not given -------------------------------------------------------------------------


@pytest.mark.parametrize("given", ["train.py", "--exclude", ".gitignore", "venv"])
def test_files_that_were_not_given_are_read_and_named_but_not_written(tmp_path: Path, given: str) -> None:
    write(
        tmp_path, {"lib/model.py": INIT, "train.py": DRIVER.format(imports="from lib.model import init", init="init")}
    )
    if given == ".gitignore":
        (tmp_path / ".gitignore").write_text("/lib/\n")
    if given == "venv":
        (tmp_path / "lib").rename(tmp_path / "dist")
        (tmp_path / "train.py").write_text((tmp_path / "train.py").read_text().replace("lib.model", "dist.model"))
    model = next(tmp_path.glob("*/model.py"))
    before = model.read_text()
    named = tmp_path / "train.py" if given == "train.py" else tmp_path
    summary = convert(named, exclude=("/lib/",) if given == "--exclude" else ())
    assert model.read_text() == before
    assert "trainer = init(None, None, **config)" in (tmp_path / "train.py").read_text()
    finding = next(f for f in summary.findings if f.code == "RM908")
    assert "model.py" in finding.message and "RM701" in finding.message
    assert Path(finding.path).name == "train.py"
    assert "import init" in (tmp_path / "train.py").read_text().splitlines()[finding.line - 1]
    assert [p.outside for p in summary.projects] == [1]


def test_the_text_output_sums_a_project_up(tmp_path: Path) -> None:
    write(tmp_path, {"model.py": INIT, "train.py": DRIVER.format(imports="from model import init", init="init")})
    outcome = CliRunner().invoke(main, [str(tmp_path)])
    assert f"project {tmp_path}: 2 files read, 2 converted" in outcome.output
    assert outcome.exit_code == 0, outcome.output


def test_json_and_the_report_sum_a_project_up(tmp_path: Path) -> None:
    write(tmp_path, {"model.py": INIT, "train.py": DRIVER.format(imports="from model import init", init="init")})
    report = tmp_path / "report.md"
    outcome = CliRunner().invoke(main, ["--check", "--output-format", "json", "--report", str(report), str(tmp_path)])
    assert json.loads(outcome.stdout)["projects"] == [
        {"folder": str(tmp_path), "read": 2, "converted": 2, "left": 0, "outside": 0}
    ]
    assert "2 files read, 2 would be converted" in report.read_text()


# -- drivers that are no file of their own -------------------------------------------------------------


def test_a_notebook_uses_the_function_of_a_file(tmp_path: Path) -> None:
    cells = [
        {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": lines}
        for lines in (
            ["%load_ext autoreload\n", "from model import init"],
            ["from ray.train.huggingface import TransformersTrainer\n"],
            ["trainer = TransformersTrainer(trainer_init_per_worker=init)\n", "result = trainer.fit()"],
        )
    ]
    notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    write(tmp_path, {"model.py": INIT, "train.ipynb": json.dumps(notebook, indent=1)})
    summary = convert(tmp_path)
    after = ["".join(cell["source"]) for cell in json.loads((tmp_path / "train.ipynb").read_text())["cells"]]
    assert after[0].startswith("%load_ext autoreload\n") and "from model import init" in after[0]
    assert "trainer = init(None, None, **config)" in "\n".join(after)
    assert "TransformersTrainer" not in "\n".join(after)
    assert "def init(train_dataset" in (tmp_path / "model.py").read_text()  # the form that the notebook calls
    assert codes(summary, Kind.ERROR, "train.ipynb") == set()


def test_stdin_reads_the_files_beside_it_and_changes_none(tmp_path: Path) -> None:
    write(tmp_path, {"model.py": INIT})
    before = (tmp_path / "model.py").read_text()
    driver = DRIVER.format(imports="from model import init", init="init")
    outcome = CliRunner().invoke(main, ["-", "--stdin-filename", str(tmp_path / "train.py")], input=driver)
    assert "trainer = init(None, None, **config)" in outcome.stdout
    assert (tmp_path / "model.py").read_text() == before


def test_answers_are_asked_for_one_file_at_a_time(tmp_path: Path) -> None:
    write(tmp_path, {"model.py": INIT, "train.py": DRIVER.format(imports="from model import init", init="init")})
    before = (tmp_path / "model.py").read_text()
    CliRunner().invoke(main, ["--interactive", str(tmp_path / "train.py")], input="y\n")
    assert "trainer = init(None, None, **config)" in (tmp_path / "train.py").read_text()
    assert (tmp_path / "model.py").read_text() == before


def test_verify_spells_a_driver_anew_that_imports_its_function(tmp_path: Path) -> None:
    driver = DRIVER.format(imports="from model import init", init="init") + "make(TrainingArguments(no_cuda=True))\n"
    driver = "from transformers import TrainingArguments\n" + driver.lstrip()
    write(tmp_path / "job", {"model.py": INIT, "train.py": driver})
    sources = Sources(original=tmp_path / "job/train.py", converted=None)
    script, changed = sources.put_respelled(tmp_path / "copy")
    assert "RM701" in changed
    assert "use_cpu=True" in script.read_text()
    assert "TransformersTrainer" in script.read_text()
    assert "def init(train_dataset" in (script.parent / "model.py").read_text()


# -- cost ----------------------------------------------------------------------------------------------


def test_a_file_that_many_scripts_import_is_parsed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []

    class Counted(Module):
        def __init__(self, text: str, path: str = "", project: Project | None = None) -> None:
            parsed.append(Path(path).name)
            super().__init__(text, path, project)

    monkeypatch.setattr(project_facts, "Module", Counted)
    driver = DRIVER.format(imports="from common import init", init="init")
    write(tmp_path, {"common.py": INIT, **{f"train_{n:02}.py": driver for n in range(50)}})
    summary = convert(tmp_path)
    assert len(summary.changed) == 51
    assert parsed.count("common.py") == 1


def test_few_parsed_files_are_kept(tmp_path: Path) -> None:
    project = Project()
    for number in range(project_facts.MODULES_KEPT + 20):
        (tmp_path / f"m{number}.py").write_text("x = 1\n")
        project.module(str(tmp_path / f"m{number}.py"))
    assert len(project._modules) == project_facts.MODULES_KEPT


# -- real runs ------------------------------------------------------------------------------------------

RUNS = [
    ("init_in_config", "train_on_ray.py", {}, r"eval_loss: \d"),
    ("init_in_config", "train_plain.py", {}, r"plain eval_loss: \d"),
    ("src_layout", "-m paraphrase.train", {"PYTHONPATH": "src"}, r"eval_loss: \d"),
    ("src_layout", "scripts/train_cased.py", {"PYTHONPATH": "src"}, "rows: "),
    ("accelerate_settings", "train.py", {}, "2 processes, DistributedDataParallel, 4 steps"),
]


@pytest.mark.ray
@pytest.mark.parametrize(("case", "script", "variables", "printed"), RUNS, ids=[f"{run[0]}-{run[1]}" for run in RUNS])
def test_a_converted_project_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str, script: str, variables: dict[str, str], printed: str
) -> None:
    project = FIXTURES / "projects" / case
    folder = tmp_path / "project"
    shutil.copytree(project / "after", folder)
    for name, value in variables.items():
        monkeypatch.setenv(name, os.pathsep.join([str(folder / value), os.environ.get(name, "")]))
    with HubServer(cached_hub()) as hub:
        code, log = run_python([sys.executable, *script.split()], hub.url, folder)
    if printed == "rows: ":  # result.metrics is None without a checkpoint, which RM605 says
        assert "NoneType" in log
        return
    assert code == 0, log[-6000:]
    assert re.search(printed, log), log[-6000:]

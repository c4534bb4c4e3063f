"""A function or preprocessor that stands in another file than its trainer changes with it: both files or none."""

from pathlib import Path
from textwrap import dedent

import pytest

from raymigrate.base.findings import Kind
from raymigrate.base.options import Options
from raymigrate.run.job import Job
from tests.projects.files import DRIVER, INIT, MAPPED, MAPPER, codes, convert, write

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
    assert codes(summary, Kind.MANUAL, "train.py") == {"RM911"}
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
    """The mapper shares its line with what may stand for a magic of a notebook, which the rewriter refuses."""
    helpers = MAPPER.replace("mapper = Batch", "double; mapper = Batch")
    driver = MAPPED.format(imports="from helpers import mapper", preprocessor="mapper")
    write(tmp_path, {"helpers.py": helpers, "train.py": driver})
    summary = convert(tmp_path)
    assert (tmp_path / "helpers.py").read_text() == helpers.lstrip("\n")
    assert "preprocessor=mapper" in (tmp_path / "train.py").read_text()
    assert "RM502" in codes(summary, Kind.MANUAL, "train.py")
    assert not [f for f in summary.findings if f.kind is Kind.ERROR]


@pytest.mark.parametrize("job", [Job(Options(), write=False), Job(Options(), rewrite=False, write=False)])
def test_a_dry_run_writes_neither(tmp_path: Path, job: Job) -> None:
    write(tmp_path, {"model.py": INIT, "train.py": DRIVER.format(imports="from model import init", init="init")})
    before = {path.name: path.read_text() for path in tmp_path.iterdir()}
    summary = convert(tmp_path, job=job)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == before
    assert len(summary.changed) == 2


@pytest.mark.parametrize("function", ["make_trainer", "init"])
def test_arguments_that_an_init_function_of_another_file_passes_on_are_told(tmp_path: Path, function: str) -> None:
    """The init function is called elsewhere too, or reached by way of the module: its file alone names no Ray."""
    init = f"""
        from transformers import Trainer, TrainingArguments


        def {function}(train_dataset, eval_dataset=None, **config):
            return Trainer(make_model(), TrainingArguments("out", **config), train_dataset=make_data())
        """
    train = DRIVER.format(imports="import model", init=f"model.{function}")
    write(tmp_path, {"model.py": init, "train.py": train, "plain.py": f"from model import {function}\n"})
    assert "RM706" in codes(convert(tmp_path), Kind.MANUAL, "model.py")


@pytest.mark.parametrize(
    ("imports", "given"),
    [
        ("from settings import build", "build(True)"),
        ("import settings", "settings.build(False)"),
        ("from settings import BASE", "BASE"),
        ("from settings import fill", "fill({})"),
        ("from settings import put\nMORE = {}\nput(MORE)", "MORE"),
    ],
)
def test_a_key_that_another_file_writes_is_told_where_it_is_unpacked(tmp_path: Path, imports: str, given: str) -> None:
    settings = """
        BASE = {}
        BASE["use_ipex"] = True

        def put(arguments):
            arguments["use_ipex"] = True

        def fill(arguments):
            arguments.update(BASE)
            return arguments

        def build(cpu):
            arguments = {"output_dir": "out"}
            if cpu:
                arguments.update({"use_ipex": True})
            return arguments
        """
    script = DRIVER.format(imports=f"from transformers import TrainingArguments\n{imports}", init="init")
    write(tmp_path, {"settings.py": settings, "train.py": f"{script}\nTrainingArguments(**{given})\n"})
    (told,) = [f for f in convert(tmp_path).findings if f.code == "RM702"]
    assert Path(told.path).name == "train.py"
    assert told.message.startswith("use_ipex=, which line ")
    assert "settings.py writes, raises a TypeError today where TrainingArguments(**" in told.message

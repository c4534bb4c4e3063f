"""Helpers that report: where they run is shown by the files that call them."""

import ast
from pathlib import Path

import pytest

from raymigrate.base.findings import Kind
from raymigrate.facts.projects import callers
from raymigrate.facts.projects.callers import handed_to
from raymigrate.facts.projects.places import Place
from raymigrate.facts.projects.project import Project
from raymigrate.facts.projects.project_uses import Uses, uses_of
from raymigrate.facts.syntax.definitions import Definition
from raymigrate.facts.syntax.module import Module
from tests.projects.files import codes, convert, write

HELPER = """
from ray.air import session


def report(metrics):
    session.report(metrics)
"""
TUNED = """
from ray import tune
{imports}


def objective(config):
    {call}


tune.Tuner(objective, param_space={{"lr": 1}}).fit()
"""
TRAINED = """
from ray.air.config import ScalingConfig
from ray.train.torch import TorchTrainer
{imports}


def loop(config):
    {call}


TorchTrainer(loop, scaling_config=ScalingConfig(num_workers=2)).fit()
"""
IMPORTS = "from helper import report"
CALL = 'report({"loss": 1})'


def helper(folder: Path, **files: str) -> str:
    write(folder, {"helper.py": HELPER} | {f"{name}.py": text for name, text in files.items()})
    convert(folder)
    return (folder / "helper.py").read_text()


@pytest.mark.parametrize(
    ("imports", "call"),
    [
        (IMPORTS, CALL),
        ("import helper", 'helper.report({"loss": 1})'),
        ("from helper import report as tell", 'tell({"loss": 1})'),
        (f"{IMPORTS}\nfrom functools import partial", 'partial(report, {"loss": 1})()'),
    ],
)
def test_what_a_tune_function_of_another_file_calls_reports_to_tune(tmp_path: Path, imports: str, call: str) -> None:
    after = helper(tmp_path, main=TUNED.format(imports=imports, call=call))
    assert "tune.report(metrics)" in after
    assert "ray.train" not in after


def test_a_function_handed_to_a_tuner_in_another_file_reports_to_tune(tmp_path: Path) -> None:
    for given in ("helper.report", "tune.with_resources(helper.report, {'cpu': 1})", "trainable"):
        main = f"import helper\nfrom ray import tune\n\ntrainable = helper.report\ntune.Tuner({given}).fit()\n"
        assert "tune.report(metrics)" in helper(tmp_path, main=main)


def test_a_helper_of_a_helper_is_followed(tmp_path: Path) -> None:
    between = f"{IMPORTS}\n\n\ndef tell(loss):\n    report({{'loss': loss}})\n"
    main = TUNED.format(imports="from between import tell", call="tell(1)")
    assert "tune.report(metrics)" in helper(tmp_path, between=between, main=main)


def test_a_class_that_a_tune_function_makes_reports_to_tune(tmp_path: Path) -> None:
    text = "from ray.air import session\n\n\nclass Reporter:\n    def __call__(self, m):\n        session.report(m)\n"
    main = TUNED.format(imports="from helper import Reporter", call="Reporter()(1)")
    write(tmp_path, {"helper.py": text, "main.py": main})
    convert(tmp_path)
    assert "tune.report(m)" in (tmp_path / "helper.py").read_text()


def test_what_a_training_function_calls_reports_to_train(tmp_path: Path) -> None:
    after = helper(tmp_path, main=TRAINED.format(imports=IMPORTS, call=CALL))
    assert "ray.train.report(metrics)" in after


@pytest.mark.parametrize("again", ["step = step", "step = step.remote", "other = step\nstep = other"])
def test_a_name_that_stands_for_itself_leads_to_the_trainer_all_the_same(again: str) -> None:
    named = f"step = loop\n{again}\nTorchTrainer(step"
    module = Module(TRAINED.format(imports=IMPORTS, call=CALL).replace("TorchTrainer(loop", named))
    read = next(node for node in module.of_type(ast.Name) if node.id == "loop")
    assert handed_to(module, read) is Place.WORKER


def test_what_both_call_is_left_and_told(tmp_path: Path) -> None:
    files = {"one": TUNED.format(imports=IMPORTS, call=CALL), "two": TRAINED.format(imports=IMPORTS, call=CALL)}
    write(tmp_path, {"helper.py": HELPER} | {f"{name}.py": text for name, text in files.items()})
    summary = convert(tmp_path)
    assert "    session.report(metrics)" in (tmp_path / "helper.py").read_text()
    assert codes(summary, Kind.MANUAL, "helper.py") == {"RM413"}
    assert codes(summary, Kind.ERROR, "helper.py") == set()
    assert "RM413" in codes(convert(tmp_path), Kind.MANUAL, "helper.py")


def test_a_helper_that_is_named_alone_looks_at_its_callers(tmp_path: Path) -> None:
    write(tmp_path, {"helper.py": HELPER, "main.py": TUNED.format(imports=IMPORTS, call=CALL), "pyproject.toml": ""})
    convert(tmp_path / "helper.py")
    assert "tune.report(metrics)" in (tmp_path / "helper.py").read_text()


def test_a_method_handed_to_a_trainer_inside_a_tune_function_of_another_file_reports_to_train(tmp_path: Path) -> None:
    holder = HELPER.replace("def report", "class Job:\n    @staticmethod\n    def report").replace(
        "    session", "        session"
    )
    call = "TorchTrainer(Job.report, scaling_config=ScalingConfig(num_workers=2)).fit()"
    imports = "from helper import Job\nfrom ray.train import ScalingConfig\nfrom ray.train.torch import TorchTrainer"
    write(tmp_path, {"helper.py": holder, "main.py": TUNED.format(imports=imports, call=call)})
    convert(tmp_path)
    after = (tmp_path / "helper.py").read_text()
    assert "ray.train.report(metrics)" in after
    assert "tune" not in after


def test_callers_that_many_functions_share_are_looked_for_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    helpers = [f"helper_{number}" for number in range(12)]
    used = "\n".join(f"    from files import {name}\n    {name}()" for name in helpers)
    write(
        tmp_path,
        {
            "files.py": "\n\n".join(f'def {name}():\n    open("a.txt", "w")' for name in helpers),
            "steps.py": f"def step():\n{used}\n",
            "rounds.py": "from steps import step\n\n\ndef rounds():\n    step()\n",
            "main.py": TRAINED.format(imports="from rounds import rounds", call="rounds()"),
        },
    )
    asked: list[str] = []

    def counted(project: Project, definition: Definition) -> Uses:
        asked.append(definition.name)
        return uses_of(project, definition)

    monkeypatch.setattr(callers, "uses_of", counted)
    project = Project([str(tmp_path)])
    module = project.module(str(tmp_path / "files.py"))
    assert module is not None
    made = module.of_type(ast.FunctionDef)
    assert {callers.place_by_callers(project, module, function) for function in made} == {Place.WORKER}
    assert sorted(asked) == sorted([*helpers, "step", "rounds"])

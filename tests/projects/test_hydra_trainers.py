"""Legacy trainers that hydra makes of YAML: told there, and in the scripts that make them."""

from pathlib import Path

import pytest

from raymigrate.base.findings import Finding, Kind
from raymigrate.base.options import Options
from raymigrate.facts.projects.project import Project
from raymigrate.run.job import Job
from tests.projects.files import convert, write

SETTINGS = """trainer:
  _target_: ray.train.huggingface.AccelerateTrainer
  accelerate_config: {mixed_precision: bf16}
"""
SCRIPT = """import hydra
from hydra.utils import instantiate
from ray.air import session


def loop(config):
    session.report({"loss": 1})


@hydra.main(config_path="conf", config_name="config")
def main(cfg):
    result = FIT
    print(result.metrics["time_total_s"])


main()
"""
MADE = "instantiate(cfg.trainer, train_loop_per_worker=loop)"


def told(folder: Path, fit: str, files: dict[str, str]) -> list[tuple[str, int, str]]:
    """What is left to a person in the script and says that hydra makes something."""
    write(folder, {"setup.py": "", "job.py": SCRIPT.replace("FIT", fit), **files})
    found = (f for f in convert(folder).findings if f.kind is Kind.MANUAL and Path(f.path).name == "job.py")
    return [(f.code, f.line, f.message) for f in found if f.message.startswith("hydra ")]


@pytest.mark.parametrize(
    "fit",
    [
        f"{MADE}.fit()",
        "hydra.utils.instantiate(cfg['trainer'], loop).fit()",
        "hydra.utils.call(config=cfg.trainer, train_loop_per_worker=loop).fit()",
        "instantiate(cfg.trainer, _partial_=True)(loop).fit()",
        "instantiate(cfg.job.trainer)",
    ],
)
@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("conf/config.yaml", SETTINGS, 2),
        ("conf/trainer/accelerate.yaml", "_target_: ray.train.huggingface.AccelerateTrainer\n", 1),
        ("conf/trainer.yml", "lr: 1\n_target_: ray.train.huggingface.accelerate.AccelerateTrainer\n", 2),
        ("conf/a.yaml", "job:\n  trainer: {lr: 1,\n    _target_: ray.train.huggingface.AccelerateTrainer}\n", 3),
    ],
)
def test_the_call_that_makes_it_is_told(tmp_path: Path, fit: str, name: str, text: str, line: int) -> None:
    [(code, where, message)] = told(tmp_path, fit, {name: text})
    assert (code, where) == ("RM209", 12)
    assert (
        f"hydra makes AccelerateTrainer here (named on line {line} of " in message and f"{name}), which Ray" in message
    )


@pytest.mark.parametrize(
    ("fit", "is_told"),
    [
        ("instantiate(choose(cfg)).fit()", True),
        ("instantiate(choose(cfg), _partial_=True)(loop).fit()", True),
        ("made.fit(rows) or made.fit() if (made := instantiate(cfg)) else None", True),
        ("instantiate(choose(cfg))", False),
        ("instantiate(cfg).fit(rows, labels)", False),
        ("instantiate(cfg).fit(*rows)", False),
        ("hydra.utils.instantiate(cfg, _partial_=True)().fit(X=rows)", False),
    ],
)
def test_settings_under_a_name_that_is_not_seen_are_told_where_fit_is_called(
    tmp_path: Path, fit: str, is_told: bool
) -> None:
    """The fit() of others takes rows, that of Ray nothing."""
    messages = [message for _, _, message in told(tmp_path, fit, {"conf/config.yaml": SETTINGS})]
    assert len(messages) == is_told
    assert all(message.startswith("hydra may make AccelerateTrainer here") for message in messages)


@pytest.mark.parametrize(
    ("fit", "text"),
    [
        ("instantiate(cfg.model)", SETTINGS),
        (f"{MADE}.fit()", "trainer:\n  _target_: ray.train.torch.TorchTrainer\n"),
        (f"{MADE}.fit()", "trainer:\n  _target_: mine.AccelerateTrainer\n"),
        (f"{MADE}.fit()", "other:\n  _target_: ray.train.huggingface.AccelerateTrainer\n"),
        (f"{MADE}.fit()", "# _target_: ray.train.huggingface.AccelerateTrainer\ntrainer: {{ template }}\n"),
        ("own.instantiate(cfg.trainer).fit()", SETTINGS),
    ],
)
def test_what_hydra_makes_else_is_not(tmp_path: Path, fit: str, text: str) -> None:
    assert not told(tmp_path, fit, {"conf/config.yaml": text})


def test_what_is_read_of_its_result_is_told_in_a_script_that_names_nothing_of_legacy_ray(tmp_path: Path) -> None:
    script = SCRIPT.replace("ray.air import session", "ray import train as session").replace("FIT", f"{MADE}.fit()")
    write(tmp_path, {"setup.py": "", "job.py": script, "conf/config.yaml": SETTINGS})
    found = [f for f in convert(tmp_path).findings if f.code == "RM604"]
    assert [(f.line, f.kind) for f in found] == [(13, Kind.MANUAL)]
    assert found[0].message.startswith("If this is the result of a trainer")


def of_settings(folder: Path) -> list[Finding]:
    """What is told of the settings file."""
    return Job(Options(), write=False).look(str(folder / "conf" / "config.yaml"), Project()).findings


def test_keys_that_torch_trainer_refuses_are_told(tmp_path: Path) -> None:
    text = """trainer:
  _target_: ray.train.huggingface.TransformersTrainer
  trainer_init_per_worker: {_target_: hydra.utils.get_method, path: job.init}
  trainer_init_config: {lr: 1}
  preprocessor: {_target_: mine.Preprocessor}
  resume_from_checkpoint: ${checkpoint}
  metadata: {a: 1}
other:
  _target_: mine.Trainer
  preprocessor: {_target_: mine.Preprocessor}
  trainer_init_config: {lr: 1}
third:
  _target_: ray.train.torch.TorchTrainer
  preprocessor: null
  metadata:
  resume_from_checkpoint: ~
"""
    write(tmp_path, {"setup.py": "", "conf/config.yaml": text})
    found = sorted((f.code, f.line) for f in of_settings(tmp_path))
    assert found == [("RM103", 3), ("RM103", 4), ("RM403", 6), ("RM403", 7), ("RM502", 5), ("RM695", 2)]


def test_the_name_in_the_settings_is_told_with_the_scripts_that_make_it(tmp_path: Path) -> None:
    """Also with those that do not import Ray, of which nothing else is said."""
    plain = "import hydra\n\n\ndef run(cfg):\n    return hydra.utils.instantiate(cfg.trainer).fit()\n"
    write(tmp_path, {"setup.py": "", "conf/config.yaml": SETTINGS, "plain.py": plain})
    write(tmp_path, {"other.py": plain.replace("cfg.trainer", "cfg.model"), "job.py": SCRIPT.replace("FIT", MADE)})
    advice = next(f.advice for f in of_settings(tmp_path) if f.code == "RM695")
    assert "line 12 of " in advice and "line 5 of " in advice and "plain.py; what its fit() gives" in advice
    assert "other.py" not in advice

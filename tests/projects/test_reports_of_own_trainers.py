"""RM605 where another file makes the trainer of a result, of a class of the project, and reports there."""

from pathlib import Path

import pytest

from tests.projects.files import convert, write

KIT = """
from ray.air import session, Checkpoint, ScalingConfig
from ray.train.torch import TorchTrainer


class KitTrainer(TorchTrainer):
    pass


def reporting(fn):
    def loop(config):
        for item in fn(config):
            session.report(item{checkpoint})

    return loop


def build(fn, config):
    return KitTrainer(reporting(fn), train_loop_config=config, scaling_config=ScalingConfig(num_workers=1))


def fit(fn, config):
    return build(fn, config).fit()
"""
RUN = """
from ray.air import session, ScalingConfig
from ray.train.torch import TorchTrainer
from kit import KitTrainer, build, fit


def rows(config):
    yield {"loss": 1.0}


def own_loop():
    session.report({"x": 1})


def other():
    return TorchTrainer(own_loop, scaling_config=ScalingConfig(num_workers=1)).fit()


"""
CHECKPOINT = ", checkpoint=Checkpoint.from_dict(item)"


def told(folder: Path, use: str, checkpoint: str) -> bool:
    """Whether a read of the metrics in the file that uses the kit is told to find None."""
    write(
        folder, {"kit.py": KIT.replace("{checkpoint}", checkpoint), "run.py": f'{RUN}{use}\nprint(r.metrics["loss"])\n'}
    )
    return any("so result.metrics is None" in found.message for found in convert(folder).findings)


@pytest.mark.parametrize("use", ["r = fit(rows, {})", "r = build(rows, {}).fit()", "t = build(rows, {})\nr = t.fit()"])
def test_what_another_file_reports_counts(tmp_path: Path, use: str) -> None:
    assert not told(tmp_path / "with", use, CHECKPOINT)
    assert told(tmp_path / "without", use, "")


@pytest.mark.parametrize("use", ["r = KitTrainer(own_loop).fit()", "r = other()"])
def test_a_trainer_of_the_file_itself_is_told_as_before(tmp_path: Path, use: str) -> None:
    assert told(tmp_path, use, CHECKPOINT)


def test_a_kit_that_reports_nothing_runs_what_it_is_given(tmp_path: Path) -> None:
    kit = (
        KIT.partition("def reporting")[0]
        + "\ndef fit(fn, config):\n    return KitTrainer(fn, train_loop_config=config).fit()\n"
    )
    write(
        tmp_path,
        {"kit.py": kit, "run.py": RUN.replace("build, ", "") + 'r = fit(own_loop, {})\nprint(r.metrics["x"])\n'},
    )
    assert any("so result.metrics is None" in found.message for found in convert(tmp_path).findings)

"""RM401 and RM402 in settings from which hydra makes a RunConfig or a ScalingConfig."""

from pathlib import Path

import pytest

from raymigrate.base.findings import Kind
from raymigrate.base.options import Options
from raymigrate.run.job import Job


def told(folder: Path, text: str) -> list[tuple[str, int]]:
    path = folder / "config.yaml"
    path.write_text(text)
    findings = Job(Options(), write=False).look(str(path)).findings
    return [(f.code, f.line) for f in findings if f.code != "RM695" and f.kind is Kind.MANUAL]


@pytest.mark.parametrize("module", ["ray.air", "ray.air.config", "ray.train"])
def test_what_a_configuration_refuses_is_told(tmp_path: Path, module: str) -> None:
    text = f"""run:
  name: run
  verbose: 2
  _target_: {module}.RunConfig
  local_dir: ~/ray_results
  stop:
    training_iteration: 3
scaling: {{_target_: {module}.ScalingConfig, num_workers: 2, trainer_resources: {{CPU: 0}}}}
"""
    assert told(tmp_path, text) == [("RM401", 3), ("RM402", 5), ("RM401", 6), ("RM401", 8)]


@pytest.mark.parametrize(
    "text",
    [
        "run:\n  _target_: ray.train.RunConfig\n  name: run\n  storage_path: s3://bucket\n",
        "run:\n  _target_: mine.RunConfig  # not ray.train.RunConfig\n  verbose: 2\n",
        "run:\n  _target_: ray.train.RunConfig\nother:\n  verbose: 2\n",
        "run:\n  _target_: ray.tune.RunConfig\n  verbose: 2\n",
        "run:\n  _target_: ray.train.RunConfig\n  verbose: 2  # raymigrate: skip[RM401] until June\n",
        "run: {{ template }}\n  _target_: ray.train.RunConfig\n  verbose: 2\n",
    ],
)
def test_else_there_is_nothing_to_say(tmp_path: Path, text: str) -> None:
    assert not told(tmp_path, text)

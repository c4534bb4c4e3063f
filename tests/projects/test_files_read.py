"""Other files of a project are read where a rule has a question that they answer: a large one has thousands."""

from pathlib import Path

import pytest

from raymigrate.base.options import Options
from raymigrate.facts.projects.project import Project
from raymigrate.facts.syntax.module import Module
from raymigrate.run.engine import convert

SCRIPT = "import ray\nfrom ray.train import torch\n\nimport first\n\nray.init()\nprint(first.SIZE)\n"
FITTED = "from ray.train.torch import TorchTrainer\nimport first\n\nresult = TorchTrainer(first.train).fit()\n"


@pytest.mark.parametrize(
    ("script", "far"),
    [
        pytest.param(SCRIPT, set(), id="no result"),
        pytest.param(FITTED + "print(result.checkpoint.to_dict())\n", {"third.py"}, id="a checkpoint is asked for"),
    ],
)
def test_what_imported_files_import_is_read_for_a_result_only(
    script: str, far: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "first.py").write_text("import second\n\nSIZE = 1\n\n\ndef train(config):\n    second.step()\n")
    (tmp_path / "second.py").write_text("import third\n\n\ndef step():\n    third.step()\n")
    (tmp_path / "third.py").write_text("def step():\n    pass\n")
    (path := tmp_path / "main.py").write_text(script)
    read, parse = set[str](), Project._parse

    def counted(project: Project, path: str) -> Module | None:
        read.add(Path(path).name)
        return parse(project, path)

    monkeypatch.setattr(Project, "_parse", counted)
    convert(script, str(path), Options(), project=Project([str(tmp_path)]))
    assert read & {"third.py"} == far

"""Other files of a project are read where a rule has a question that they answer: a large one has thousands."""

from pathlib import Path

import pytest

from raymigrate.base.options import Options
from raymigrate.facts.projects import handed_on
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


TRAINED = """\
from ray.air import session
from ray.train.torch import TorchTrainer

import m0


def train(config):
    shard = session.get_dataset_shard("evaluation")
    if shard is not None:
        m0.step()


TorchTrainer(train, datasets={"train": rows}).fit()
"""


def read_in_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, files: dict[str, str]) -> list[str]:
    """The names of the files that a script has parsed, each as often as it is."""
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    (path := tmp_path / "main.py").write_text(script)
    read, parse = list[str](), Project._parse

    def counted(project: Project, path: str) -> Module | None:
        read.append(Path(path).name)
        return parse(project, path)

    monkeypatch.setattr(Project, "_parse", counted)
    convert(script, str(path), Options(), project=Project([str(tmp_path)]))
    return read


def test_code_of_a_trainer_is_followed_to_some_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More of them than are kept parsed were parsed again and again, each time as other code."""
    ring = {f"m{n}.py": f"import m{(n + 1) % 200}\n\n\ndef step():\n    m{(n + 1) % 200}.step()\n" for n in range(200)}
    assert len(read_in_turn(tmp_path, monkeypatch, TRAINED, ring)) < 200


def test_callers_of_callers_are_read_up_to_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = "from ray.air import session\n\n\ndef step():\n    session.report({})\n"
    users = {"m0.py": "import main\n\n\ndef step0():\n    main.step()\n"}
    for n in range(1, 200):
        users[f"m{n}.py"] = f"import m{n - 1}\n\n\ndef step{n}():\n    m{n - 1}.step{n - 1}()\n"
    assert 20 < len(read_in_turn(tmp_path, monkeypatch, script, users)) < 120


def test_callers_of_what_writes_nothing_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = """\
from ray.air import session
from ray.train.huggingface import TransformersTrainer


def write():
    open("log.txt", "w").write("")


def count(rows):
    return len(rows)
"""
    users = {f"m{n}.py": f"from main import count\n\n\ndef f{n}(x):\n    return count(x)\n" for n in range(20)}
    assert not {name for name in read_in_turn(tmp_path, monkeypatch, script, users) if name in users}


def test_a_shard_may_be_asked_for_by_code_that_was_not_looked_at(tmp_path: Path) -> None:
    (tmp_path / "m100.py").write_text("import main\n\n\ndef step():\n    main.ask()\n")
    for n in range(100):
        (tmp_path / f"m{n}.py").write_text(f"import m{n + 1}\n\n\ndef step():\n    m{n + 1}.step()\n")
    asked = TRAINED.replace("def train(config):", "def ask():").replace("m0.step", "print")
    script = f"{asked.partition('TorchTrainer(train')[0]}TorchTrainer(m0.step, datasets={{'train': rows}}).fit()\n"
    (path := tmp_path / "main.py").write_text(script)
    found = convert(script, str(path), Options(), project=Project([str(tmp_path)])).findings
    assert [finding.line for finding in found if finding.code == "RM514"] == [8]


def test_calls_of_a_function_are_found_once_for_its_parameters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"r{n}" for n in range(30)]
    reads = "".join(f"    print({name}.metrics['time_total_s'], {name}.log_dir)\n" for name in names)
    script = f"from ray.train.huggingface import TransformersTrainer\n\n\ndef show({', '.join(names)}):\n{reads}"
    (path := tmp_path / "main.py").write_text(script)
    (tmp_path / "user.py").write_text(f"from main import show\n\nresult = fit()\nshow({'result, ' * 30})\n")
    asked, uses_of = list[str](), handed_on.uses_of
    monkeypatch.setattr(
        handed_on, "uses_of", lambda project, made: (asked.append(made.name), uses_of(project, made))[1]
    )
    convert(script, str(path), Options(), project=Project([str(tmp_path)]))
    assert asked.count("show") <= 2  # in the file, and in what becomes of it

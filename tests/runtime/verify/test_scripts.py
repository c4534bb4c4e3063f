"""The scripts of the arms, in folders of their own."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from raymigrate.base.options import Options
from raymigrate.runtime.verify import copies
from raymigrate.runtime.verify.copies import copied
from raymigrate.runtime.verify.errors import VerifyError
from raymigrate.runtime.verify.scripts import OF_LIBRARIES, Sources, at_revision, is_converted_with, runnable
from tests.conftest import FIXTURES

BERT = FIXTURES / "accelerate_trainer/bert_mrpc"
PROJECT = FIXTURES / "projects/text_classifier"
NOTEBOOK = FIXTURES / "notebooks/bert_colab"


def test_the_original_travels_with_its_folder(tmp_path: Path) -> None:
    script = Sources(PROJECT / "before" / "train_on_ray.py").put_original(tmp_path / "A")
    assert script.read_bytes() == (PROJECT / "before" / "train_on_ray.py").read_bytes()
    names = {path.relative_to(PROJECT / "before") for path in (PROJECT / "before").rglob("*.py")}
    assert {path.relative_to(tmp_path / "A") for path in (tmp_path / "A").rglob("*.py")} == names


def test_the_conversion_is_that_of_the_command_line(tmp_path: Path) -> None:
    script, left = Sources(PROJECT / "before" / "train_on_ray.py").put_converted(tmp_path / "C", Options())
    for expected in (PROJECT / "after").rglob("*.py"):
        assert (tmp_path / "C" / expected.relative_to(PROJECT / "after")).read_text() == expected.read_text()
    assert script == tmp_path / "C" / "train_on_ray.py"
    assert [finding for finding in left if Path(finding.path).is_absolute()] == []


def test_arm_b_keeps_the_old_ray_and_gets_the_new_libraries(tmp_path: Path) -> None:
    script, codes = Sources(BERT / "before.py").put_respelled(tmp_path / "B")
    text = script.read_text()
    assert "AccelerateTrainer(" in text
    assert "from ray.air import Checkpoint, session" in text
    assert 'load_dataset("nyu-mll/glue", "mrpc")' in text
    assert "class AdamW(torch.optim.Optimizer):" in text
    assert codes
    assert all(code.startswith("RM7") for code in codes)


def test_arm_o_gets_the_new_ray_and_keeps_the_old_libraries(tmp_path: Path) -> None:
    script, _ = Sources(BERT / "before.py").put_converted(tmp_path / "O", Options(ignore=OF_LIBRARIES))
    text = script.read_text()
    assert "TorchTrainer(" in text
    assert 'load_dataset("glue", "mrpc")' in text
    assert "    AdamW,\n" in text


def test_a_conversion_of_the_user_is_taken_as_it_is(tmp_path: Path) -> None:
    shutil.copytree(BERT, tmp_path / "mine")
    mine = tmp_path / "mine" / "after.py"
    mine.write_text(mine.read_text() + "# by hand\n")
    script, left = Sources(BERT / "before.py", mine).put_converted(tmp_path / "C", Options())
    assert script.read_text().endswith("# by hand\n")
    assert left == []


def test_caches_and_environments_stay_where_they_are_and_data_is_linked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copies, "COPIED_BYTES", 100)
    source = tmp_path / "source"
    for name in (".git/HEAD", "__pycache__/train.pyc", "own-env/pyvenv.cfg", "own-env/lib.py", "part/helper.py"):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text("x = 1\n")
    (source / "train.py").write_text("import part.helper\n")
    (source / "rows.csv").write_text("1,2\n" * 100)
    copied(source / "train.py", tmp_path / "target")
    found = sorted(str(path.relative_to(tmp_path / "target")) for path in (tmp_path / "target").rglob("*"))
    assert found == ["part", "part/helper.py", "rows.csv", "train.py"]
    assert (tmp_path / "target" / "rows.csv").is_symlink()


def test_an_original_is_taken_out_of_git(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    (repository / "jobs").mkdir(parents=True)
    script = repository / "jobs" / "train.py"
    git = ["git", "-C", str(repository), "-c", "user.name=me", "-c", "user.email=me@example.org"]
    script.write_text("legacy = True\n")
    (repository / "other.py").write_text("")
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "legacy"]):
        subprocess.run([*git, *command], check=True)
    script.write_text("legacy = False\n")

    found = at_revision(script, "HEAD", tmp_path / "original")
    assert found.read_text() == "legacy = True\n"
    with pytest.raises(VerifyError, match="cannot be read at revision v1"):
        at_revision(script, "v1", tmp_path / "v1")
    new = repository / "jobs" / "new.py"
    new.write_text("")
    with pytest.raises(VerifyError, match=r"new\.py is not in revision HEAD"):
        at_revision(new, "HEAD", tmp_path / "new")


@pytest.mark.parametrize(
    ("script", "legacy"),
    [
        (BERT / "before.py", True),
        (BERT / "after.py", False),
        (PROJECT / "before" / "train_on_ray.py", True),
        (NOTEBOOK / "before.ipynb", True),
        (NOTEBOOK / "after.ipynb", False),
    ],
)
def test_a_script_is_legacy_if_it_has_an_old_trainer(script: Path, legacy: bool) -> None:
    assert is_converted_with(script, Options()) is legacy


def test_a_file_that_cannot_be_converted_is_named(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "train.py").write_text((BERT / "before.py").read_text() + "def broken(:\n")
    with pytest.raises(VerifyError, match=r"train\.py cannot be parsed"):
        Sources(source / "train.py").put_converted(tmp_path / "C", Options())


def test_what_is_emitted_for_arm_o_is_known_to_the_old_libraries(tmp_path: Path) -> None:
    before = FIXTURES / "transformers_trainer/gpt2_wikitext_ray_data/before.py"
    script, _ = Sources(before).put_converted(tmp_path / "O", Options(ignore=OF_LIBRARIES))
    text = script.read_text()
    assert 'args.evaluation_strategy != "no"' in text
    for new in ("eval_strategy=", "args.eval_strategy", "use_cpu", "average_tokens_across_devices", "processing_class"):
        assert new not in text


def test_the_conversion_knows_the_pins_above_the_folder_that_travels_along(tmp_path: Path) -> None:
    (tmp_path / "setup.py").touch()
    (tmp_path / "requirements.txt").write_text("ray==2.6.3\n")
    (tmp_path / "jobs").mkdir()
    source = FIXTURES / "torch_trainer/validation_seen_whole"
    shutil.copy(source / "before.py", tmp_path / "jobs/train.py")
    sources = Sources(tmp_path / "jobs/train.py")
    assert sources.written_for(Options()).version == (2, 6)
    script, _ = sources.put_converted(tmp_path / "C", Options())
    assert script.read_text() == (source / "after.py").read_text()


def test_a_notebook_is_converted_as_a_notebook(tmp_path: Path) -> None:
    notebook, _ = Sources(NOTEBOOK / "before.ipynb").put_converted(tmp_path / "C", Options())
    assert notebook.read_bytes() == (NOTEBOOK / "after.ipynb").read_bytes()
    respelled, codes = Sources(NOTEBOOK / "before.ipynb").put_respelled(tmp_path / "B")
    assert "HuggingFaceTrainer(" in respelled.read_text(encoding="utf-8")
    assert codes


def test_a_script_runs_as_it_is(tmp_path: Path) -> None:
    script = copied(BERT / "before.py", tmp_path / "work")
    assert runnable(script) == script


def notebook(source: str) -> str:
    cells = [
        {"cell_type": "code", "source": cell.splitlines(keepends=True), "outputs": [], "metadata": {}}
        for cell in source.split("\n# %%\n")
    ]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


MAGICS = """%pip install ray==2.6.3
# %%
import sys
files = !ls /no/such/folder
%matplotlib inline
# %%
%%time
display(files, len("gpt2"))"""


def test_of_a_notebook_runs_what_is_python(tmp_path: Path) -> None:
    path = tmp_path / "train.ipynb"
    path.write_text(notebook(MAGICS), encoding="utf-8")
    (tmp_path / "train.py").write_text("the_user_s = 'own'\n")
    script = runnable(path)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert done.stdout == "None 4\n"
    assert (tmp_path / "train.py").read_text() == "the_user_s = 'own'\n"


def test_of_a_script_with_magics_runs_what_is_python(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(MAGICS.replace("%%time\n", ""), encoding="utf-8")
    done = subprocess.run([sys.executable, runnable(path)], capture_output=True, text=True, check=True)
    assert done.stdout == "None 4\n"


def test_what_is_no_notebook_is_left_to_python(tmp_path: Path) -> None:
    path = tmp_path / "train.ipynb"
    path.write_text("{", encoding="utf-8")
    assert runnable(path) == path

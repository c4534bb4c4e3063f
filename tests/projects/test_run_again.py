"""A second run, as findings advise it, where helpers stand in other files and in cells of notebooks."""

import json
from pathlib import Path

from raymigrate.base.options import Options
from raymigrate.run.job import Job
from tests.conftest import FIXTURES
from tests.projects.files import convert, write

HEAD = """
from ray.train.huggingface import TransformersTrainer
from transformers import Trainer, TrainingArguments


def init(train_dataset, eval_dataset=None, **config):
    return Trainer(make_model(), TrainingArguments("out", no_cuda=True), train_dataset=make_data())


"""
FIRST = "first = TransformersTrainer(init)\n"
LEFT, THEN = "second = TransformersTrainer(init, **shared)\n", "second = TransformersTrainer(init)\n"
SCRIPT = f"{HEAD}{FIRST}shared = {{}}\n{LEFT}"
MODULE = "ray_train_helpers.py"
LOOP = """
from ray.air.config import ScalingConfig
from ray.train.huggingface import AccelerateTrainer
from loops import loop, run_config

AccelerateTrainer(loop, accelerate_config={"mixed_precision": "bf16"}, scaling_config=CPU, run_config=run_config)
AccelerateTrainer(None, accelerate_config={"mixed_precision": "bf16"}, scaling_config=CPU, run_config=run_config)
""".replace("CPU", "ScalingConfig(num_workers=2)")

SHARED = Job(Options(helpers="module"))


def followed(path: Path, job: Job | None = None) -> str:
    """The text of a script in which the finding is followed, after another run."""
    text = path.read_text()
    assert text.count(LEFT) == 1
    path.write_text(text.replace(LEFT, THEN))
    convert(path.parent, job=job)
    return path.read_text()


def test_helpers_of_a_module_that_is_imported_are_used(tmp_path: Path) -> None:
    write(tmp_path, {"one.py": SCRIPT, "two.py": SCRIPT})
    convert(tmp_path, job=SHARED)
    module = (tmp_path / MODULE).read_text()
    for name, job in (("one.py", SHARED), ("two.py", None)):
        text = followed(tmp_path / name, job)
        assert text.count("TorchTrainer(train_func)") == 2
        assert text.count("from ray_train_helpers import ReportCallback\n") == 1
        assert "ReportCallback_2" not in text
        assert "class ReportCallback" not in text
    assert (tmp_path / MODULE).read_text() == module
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.py", MODULE, "two.py"]


def test_helpers_that_were_moved_to_another_file_are_used_by_the_name_of_the_import(tmp_path: Path) -> None:
    write(tmp_path, {"job.py": SCRIPT})
    convert(tmp_path)
    text = (tmp_path / "job.py").read_text()
    start, end = text.index("class ReportCallback"), text.index("def init(")
    moved = text[start:end]
    imports = "import torch\nfrom ray.train.huggingface.transformers import RayTrainReportCallback\n\n\n"
    (tmp_path / "callbacks.py").write_text(imports + moved)
    text = text[:start] + text[end:]
    text = text.replace("import os\n", "import os\nfrom callbacks import ReportCallback as Saver\n", 1)
    (tmp_path / "job.py").write_text(text.replace("ReportCallback()", "Saver()"))
    after = followed(tmp_path / "job.py")
    assert after.count("TorchTrainer(train_func)") == 2
    assert "class " not in after


def test_a_helper_of_another_file_with_other_code_stays_apart(tmp_path: Path) -> None:
    write(tmp_path, {"one.py": SCRIPT, "two.py": SCRIPT})
    convert(tmp_path, job=SHARED)
    module = (tmp_path / MODULE).read_text()
    (tmp_path / MODULE).write_text(module.replace("torch.distributed.barrier()", "pass"))
    text = followed(tmp_path / "one.py")
    assert "class ReportCallback_2(" in text
    assert "train_func_2" in text


def test_helpers_of_an_earlier_cell_are_used(tmp_path: Path) -> None:
    path = tmp_path / "job.ipynb"

    def cells() -> list[str]:
        return ["".join(cell["source"]) for cell in json.loads(path.read_text())["cells"]]

    def put(*sources: str) -> None:
        made = [{"cell_type": "code", "source": s, "metadata": {}, "outputs": []} for s in sources]
        path.write_text(json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}))
        convert(path)

    put(HEAD, FIRST, "shared = {}", LEFT)
    *earlier, last = cells()
    assert last == LEFT
    put(*earlier, THEN)
    *same, last = cells()
    assert "".join(same).count("class ReportCallback") == "".join(earlier).count("class ReportCallback") == 1
    assert last == "second = TorchTrainer(train_func)\n"


def test_a_function_around_a_loop_of_another_file_is_written_once(tmp_path: Path) -> None:
    write(tmp_path, {"loops.py": "run_config = make()\n\n\ndef loop(config):\n    print(config)\n", "job.py": LOOP})
    convert(tmp_path)
    script = tmp_path / "job.py"
    text = script.read_text()
    assert "AccelerateTrainer(None" in text
    script.write_text(text.replace("AccelerateTrainer(None", "AccelerateTrainer(loop"))
    convert(tmp_path)
    text = script.read_text()
    assert text.count("def train_func") == 1
    assert text.count("TorchTrainer(train_func, ") == 2


def test_a_model_file_that_the_module_of_helpers_writes_is_known(tmp_path: Path) -> None:
    before = (FIXTURES / "ray_air" / "own_class_in_checkpoints" / "before.py").read_text()
    write(tmp_path, {"one.py": before, "two.py": before})
    convert(tmp_path, job=SHARED)
    assert (tmp_path / MODULE).exists()
    assert not list(convert(tmp_path, job=SHARED).findings)


def test_a_job_that_is_used_again_sees_files_that_changed_in_between(tmp_path: Path) -> None:
    """As of a program that keeps it: what the files of a folder hold was remembered from the run before."""
    script = "from ray.air import session\n\n\ndef setup(config):\n    session.report({})\n"
    write(tmp_path, {"setup.py": "", "train.py": script, "more.py": script, "other.py": "import torch\n"})
    job = Job(Options(), write=False)
    before = list(convert(tmp_path, job=job).findings)
    write(tmp_path, {"other.py": "from train import session\n"})
    after = list(convert(tmp_path, job=job).findings)
    assert after == list(convert(tmp_path, job=Job(Options(), write=False)).findings)
    assert after != before

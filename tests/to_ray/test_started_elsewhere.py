"""RM802 of files whose training another file starts: what that one has to do, and that it was done."""

from pathlib import Path

import pytest

from tests.projects.files import write
from tests.test_cli import invoke
from tests.to_ray.test_refusals import HEAD, TRAIN, indented

TRAINER = f"{HEAD}def train(args, model=None):\n{indented(TRAIN)}"
ACCELERATE = """\
from accelerate import Accelerator


def train(args):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(*make(args))
    for batch in loader:
        accelerator.backward(model(batch).mean())
        optimizer.step()
"""
DIRECT = {"main.py": "from train import train\n\n\ntrain({})\n"}
THROUGH = {
    "jobs.py": "import train\n\n\ndef run(config):\n    train.train(config)\n",
    "main.py": "from jobs import run\n\n\nrun({})\n",
}
RAY = "import ray.train\nfrom ray.train.torch import TorchTrainer\n"
START = "TorchTrainer({}, scaling_config=ray.train.ScalingConfig(num_workers=2)).fit()\n"


def said(tmp_path: Path, files: dict[str, str]) -> str:
    """What --to-ray says of a project."""
    write(tmp_path, {"pyproject.toml": "", **files})
    return " ".join(invoke("--to-ray", "--check", tmp_path).stdout.split())


@pytest.mark.parametrize("train", [TRAINER, ACCELERATE])
@pytest.mark.parametrize(
    "files", [DIRECT, THROUGH, {**DIRECT, "test_main.py": "from train import train\n\n\ntrain({})\n"}]
)
@pytest.mark.parametrize(
    "line", ["torchrun --nproc_per_node 4 main.py --epochs 3", "accelerate launch main.py --epochs 3"]
)
def test_what_starts_it_and_the_line_for_that_are_told(
    train: str, files: dict[str, str], line: str, tmp_path: Path
) -> None:
    text = said(tmp_path, {"train.py": train, **files, "run.sh": f"{line}\n"})
    assert "No statement of this file starts the training" in text
    assert f"{'jobs' if 'jobs.py' in files else 'main'}.py does, with train." in text
    assert f"run.sh:1 says `{line}`; it is `python main.py` once that is done" in text
    assert "A list of packages has to have ray[train]>=" in text
    assert text.count("once that is done") == 1


SETTINGS = "distributed_type: MULTI_GPU\nmixed_precision: bf16\nnum_processes: 4\n"
CLASS = ACCELERATE.replace("def train(args):", "class train:\n  def __init__(self, args):")
COMES_TO = 'which comes to Accelerator(mixed_precision="bf16") and ScalingConfig(num_workers=4, use_gpu=True)'
FLAGS = "--multi_gpu --num_processes 4 --mixed_precision bf16"


@pytest.mark.parametrize("train", [TRAINER, ACCELERATE, CLASS])
@pytest.mark.parametrize("script", ["run.sh", "Makefile"])
def test_the_settings_that_launched_the_starter_are_told(train: str, script: str, tmp_path: Path) -> None:
    """The file and the flags are those of a line for another file, and python reads none of them."""
    lines = "all:\n\taccelerate launch --config_file conf/a.yaml main.py\n"
    text = said(tmp_path, {"train.py": train, **DIRECT, script: lines, "conf/a.yaml": SETTINGS})
    assert f"main.py was launched with a.yaml, {COMES_TO}: python reads none of it." in text
    assert f"`raymigrate config {tmp_path}/conf/a.yaml` shows what to write." in text


def test_the_command_to_copy_names_the_file_from_where_the_user_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    main = "from src.train import train\n\ntrain({})\n"
    lines = "accelerate launch --config_file conf/a.yaml main.py\n"
    for name, file in {"src/train.py": CLASS, "main.py": main, "run.sh": lines, "conf/a.yaml": SETTINGS}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(file)
    (tmp_path / "src" / "__init__.py").write_text("")
    monkeypatch.chdir(tmp_path)
    assert "`raymigrate config conf/a.yaml` shows what to write." in invoke("check", "--to-ray", ".").output


def test_a_name_with_a_space_is_quoted_and_a_plugin_is_told_in_one_line(tmp_path: Path) -> None:
    plugin = "mixed_precision: bf16\ndistributed_type: FSDP\nfsdp_config: {}\n"
    line = "accelerate launch --config_file conf/a.yaml main.py\n"
    text = said(tmp_path / "a b", {"train.py": ACCELERATE, **DIRECT, "run.sh": line, "conf/a.yaml": plugin})
    assert f"`raymigrate config '{tmp_path}/a b/conf/a.yaml'` shows what to write." in text
    assert "Plugin(fsdp_version=1, use_orig_params=True, " in text


def test_nothing_is_said_of_a_file_with_which_no_line_launches_the_starter(tmp_path: Path) -> None:
    main = "from train import train\n\ntrain({})\n"
    files = {"train.py": TRAINER, "jobs/main.py": main, "jobs/tpu.yaml": SETTINGS.replace("MULTI_GPU", "TPU")}
    text = said(tmp_path, files)
    assert "main.py does, with train." in text
    assert "tpu.yaml" not in text


@pytest.mark.parametrize("train", [TRAINER, ACCELERATE])
def test_the_flags_that_launched_the_starter_are_told(train: str, tmp_path: Path) -> None:
    text = said(tmp_path, {"train.py": train, **DIRECT, "run.sh": f"accelerate launch {FLAGS} main.py\n"})
    assert f"main.py was launched with run.sh:1, {COMES_TO}: python reads none of it. Write it where" in text


@pytest.mark.parametrize(
    "line", ["python main.py", "torchrun main.py", "accelerate launch main.py", f"accelerate launch {FLAGS} x.py"]
)
def test_settings_that_launch_something_else_are_not(line: str, tmp_path: Path) -> None:
    text = said(tmp_path, {"train.py": ACCELERATE, **DIRECT, "run.sh": f"{line}\n", "conf/a.yaml": SETTINGS})
    assert "main.py does, with train." in text
    assert "comes to" not in text


def test_a_way_to_launch_the_starter_that_ray_lacks_is_told(tmp_path: Path) -> None:
    line = "accelerate launch --tpu main.py\n"
    text = said(tmp_path, {"train.py": ACCELERATE, **DIRECT, "run.sh": line})
    assert "How main.py was launched: XLA is started by accelerate itself" in text


@pytest.mark.parametrize("train", [TRAINER, ACCELERATE])
@pytest.mark.parametrize(
    "files",
    [
        {"main.py": f"{RAY}from train import train\n\n{START.format('train')}"},
        {"main.py": f"{RAY}import train\n\n\ndef loop(config):\n    train.train(config)\n\n\n{START.format('loop')}"},
        {"jobs.py": THROUGH["jobs.py"], "main.py": f"{RAY}from jobs import run\n\n{START.format('run')}"},
    ],
)
def test_nothing_is_said_once_it_was_done(train: str, files: dict[str, str], tmp_path: Path) -> None:
    text = said(tmp_path, {"train.py": train, **files, "run.sh": "torchrun main.py\n"})
    assert "RM802" not in text
    assert "RM824" not in text


@pytest.mark.parametrize("train", [TRAINER, ACCELERATE])
def test_a_file_that_nobody_calls_names_no_other(train: str, tmp_path: Path) -> None:
    text = said(tmp_path, {"train.py": train, "main.py": "def train():\n    pass\n\n\ntrain()\n"})
    assert "RM802" in text
    assert "main.py does" not in text


@pytest.mark.parametrize("train", [TRAINER, ACCELERATE])
def test_a_torch_trainer_for_something_else_is_not_it(train: str, tmp_path: Path) -> None:
    other = f"{RAY}from train import train\n\n\ndef loop(config):\n    pass\n\n\n{START.format('loop')}train({{}})\n"
    assert "main.py does, with train." in said(tmp_path, {"train.py": train, "main.py": other})


@pytest.mark.parametrize("train", [TRAINER, ACCELERATE])
def test_one_that_runs_it_for_one_file_leaves_the_other(train: str, tmp_path: Path) -> None:
    done = f"{RAY}from train import train\n\n\ndef go(config):\n    train(config)\n\n\n"
    done += f"def loop(config):\n    go(config)\n\n\n{START.format('loop')}"
    files = {"train.py": train, "done.py": done, "test_train.py": DIRECT["main.py"]}
    assert "RM802" not in said(tmp_path, files)
    assert "main.py does, with train." in said(tmp_path, {**files, **DIRECT})


@pytest.mark.parametrize("train", [TRAINER, ACCELERATE])
def test_files_that_call_each_other_are_looked_at_once(train: str, tmp_path: Path) -> None:
    jobs = "import train\nimport other\n\n\ndef run(config):\n    train.train(config)\n    other.again(config)\n"
    other = "import jobs\n\n\ndef again(config):\n    jobs.run(config)\n"
    files = {"train.py": train, "jobs.py": jobs, "other.py": other, "main.py": THROUGH["main.py"]}
    assert "jobs.py does, with train." in said(tmp_path, files)


CALLED = "\n\nif __name__ == '__main__':\n    train(None)\n"
BY_MAIN = "\n\ndef main():\n    train(None)\n\n\nif __name__ == '__main__':\n    main()\n"


GIVES_TRAIN = (
    f"{RAY}from train import train\n\n{START.format('train')}",
    f"{RAY}import train\n\n{START.format('lambda: train.train({})')}",
)
GIVES_MAIN = (
    f"{RAY}from train import main\n\n{START.format('main')}",
    f"{RAY}from train import main\n\n\ndef loop(config):\n    main()\n\n\n{START.format('loop')}",
)


@pytest.mark.parametrize("train", [TRAINER, ACCELERATE])
@pytest.mark.parametrize(("end", "starters"), [(CALLED, GIVES_TRAIN), (BY_MAIN, GIVES_MAIN), (BY_MAIN, GIVES_TRAIN)])
@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("ray", ["", "import ray\nray.init()\n"])
def test_what_a_torch_trainer_of_another_file_runs_starts_no_workers_of_its_own(
    train: str, end: str, starters: tuple[str, str], number: int, ray: str, tmp_path: Path
) -> None:
    text = said(tmp_path, {"train.py": f"{ray}{train}{end}", "launch.py": starters[number]})
    stays = ray != "" or starters is GIVES_MAIN  # else what the workers call reports, and starts none
    assert ("to a TorchTrainer: it trains on Ray from there" in text) is stays
    assert ("The training moves" in text) is not stays
    assert "something else" not in text


@pytest.mark.parametrize("train", [TRAINER, ACCELERATE])
@pytest.mark.parametrize(
    "starter",
    [
        f"{RAY}from train import train\n\n\ndef other():\n    pass\n\n\ntrain({{}})\n{START.format('other')}",
        f"{RAY}from train import rows\n\n\ndef other():\n    print(rows)\n\n\n{START.format('other')}",
        "from own import TorchTrainer\nfrom train import train\n\nTorchTrainer(train).fit()\n",
    ],
)
def test_what_another_file_runs_without_ray_moves(train: str, starter: str, tmp_path: Path) -> None:
    text = said(tmp_path, {"train.py": f"rows = []\n{train}{CALLED}", "launch.py": starter})
    assert "it trains on Ray from there" not in text
    assert "The training moves" in text

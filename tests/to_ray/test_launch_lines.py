"""Lines of notebooks and Databricks sources that start a script are told as those of shell files are."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from raymigrate.base.findings import Finding, Kind
from raymigrate.base.options import Options
from raymigrate.codemods.to_ray.launches import launches_of, plain_starts_of
from raymigrate.run.engine import convert
from tests.test_cli import invoke
from tests.to_ray.test_launchers import ACCELERATE

SCRIPT = """\
from transformers import AutoModel, HfArgumentParser, Trainer, TrainingArguments

def main():
    (args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
    trainer = Trainer(AutoModel.from_pretrained("bert"), args)
    trainer.train()

if __name__ == "__main__":
    main()
"""
LAUNCH = "torchrun --nproc_per_node 2 train.py"
DATABRICKS = "# Databricks notebook source\n"


def notebook(*cells: str, kind: str = "code") -> str:
    """A notebook with these cells."""
    shown: dict[str, object] = {"outputs": [], "execution_count": None} if kind == "code" else {}
    made = [{"cell_type": kind, "source": cell, "metadata": {}, **shown} for cell in cells]
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 4})


def told(folder: Path, files: dict[str, str]) -> Sequence[Finding]:
    """What is said of the launch lines of a script beside these files."""
    for name, text in {"train.py": SCRIPT, **files}.items():
        (folder / name).write_text(text)
    result = convert(SCRIPT, str(folder / "train.py"), options=Options(to_ray=True))
    return [finding for finding in result.findings if finding.code == "RM824"]


def test_a_script_that_is_named_from_another_folder_is_launched_by_the_same_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "job").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "job" / "run.sh").write_text(LAUNCH)
    (tmp_path / "job" / "train.py").write_text(SCRIPT)
    monkeypatch.chdir(tmp_path / "other")
    for path in ("../job/train.py", "../other/../job/train.py", "../job"):
        output = invoke("--diff", "--to-ray", path).output
        assert "run.sh:1 says" in output and "ScalingConfig(num_workers=2" in output


@pytest.mark.parametrize(
    ("name", "text", "place"),
    [
        ("a.ipynb", notebook("import os", f"!{LAUNCH}"), "a.ipynb:cell 2:1"),
        ("a.ipynb", notebook(f"import os\n! cd . && \\\n  {LAUNCH}"), "a.ipynb:cell 1:2"),
        ("a.ipynb", notebook(f"%%bash\nset -e\n{LAUNCH}"), "a.ipynb:cell 1:3"),
        ("a.ipynb", notebook(f"out = !{LAUNCH}"), "a.ipynb:cell 1:1"),
        ("a.ipynb", notebook("## Train", f"`{LAUNCH}`", kind="markdown"), "a.ipynb:cell 2:1"),
        ("a.py", f"{DATABRICKS}# MAGIC !{LAUNCH}\n", "a.py:2"),
        ("a.py", "import subprocess\n\nsubprocess.run(['torchrun', '--nproc_per_node', '2', 'train.py'])", "a.py:3"),
        ("a.py", f"import subprocess\nsubprocess.check_call(\n    {LAUNCH!r}.split())", "a.py:3"),
        ("a.py", f"from os import system\nsystem({LAUNCH!r})", "a.py:2"),
        ("a.py", f"import subprocess\ncommand = f{LAUNCH!r}\nsubprocess.Popen(command, shell=True)", "a.py:2"),
        ("a.py", f"import subprocess\nsubprocess.run(['bash', '-c', {LAUNCH!r}])", "a.py:2"),
        ("a.py", f"import subprocess\nsubprocess.run('''\nset -e\n{LAUNCH}\n''', shell=True)", "a.py:4"),
        ("run.sh", f"echo a \\\n  b\n{LAUNCH}\n", "run.sh:3"),
        ("a.py", f"{DATABRICKS}# MAGIC %sh\n# MAGIC cd /x; {LAUNCH}\n", "a.py:3"),
    ],
)
def test_a_line_in_a_cell_launches_the_script(name: str, text: str, place: str, tmp_path: Path) -> None:
    [finding] = told(tmp_path, {name: text})
    assert finding.message.startswith(f"{place} says `{LAUNCH}`; it is `python train.py` now")
    [launch] = launches_of(str(tmp_path / "train.py"))
    assert launch.flags == {"num_processes": "2"}


@pytest.mark.parametrize("end", ["", "\n", " \\", " \\\n", " \\\n\n"])
def test_a_line_that_goes_on_behind_the_last_is_read_as_the_others(end: str, tmp_path: Path) -> None:
    text = f'torchrun --nproc_per_node="2" train.py \\\n  --output_dir="my out" --name="b" --bias="all"{end}'
    [finding] = told(tmp_path, {"run.sh": text})
    said = "torchrun --nproc_per_node=2 train.py --output_dir=my out --name=b --bias=all"
    assert finding.message.startswith(f"run.sh:1 says `{said}`; it is ")


@pytest.mark.parametrize(
    ("name", "text", "place"),
    [
        ("run.sh", "python train.py --evaluation_strategy no\n", "run.sh:1"),
        ("run.sh", "CUDA_VISIBLE_DEVICES=0 python3 -u train.py \\\n  --evaluation_strategy=no\n", "run.sh:1"),
        ("run.sh", "python -m train --evaluation_strategy no\n", "run.sh:1"),
        ("a.ipynb", notebook("!python train.py --evaluation_strategy no"), "a.ipynb:cell 1:1"),
        ("a.py", f"{DATABRICKS}# MAGIC !python train.py --evaluation_strategy no\n", "a.py:2"),
    ],
)
def test_an_option_that_is_refused_is_told_where_python_starts_the_script(
    name: str, text: str, place: str, tmp_path: Path
) -> None:
    [finding] = told(tmp_path, {name: text})
    assert finding.message.startswith(place)
    assert finding.message.endswith("TrainingArguments refuses --evaluation_strategy (now --eval_strategy) today.")
    assert launches_of(str(tmp_path / "train.py")) == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.ipynb", notebook(f"print('{LAUNCH}')\n# !{LAUNCH}")),
        ("a.ipynb", notebook("!torchrun other.py", "!python train.py --output_dir out")),
        ("a.ipynb", f'{{"cells": "{LAUNCH}"'),
        ("a.py", f"{DATABRICKS}text = '{LAUNCH}'\n"),
        ("a.py", f"# {LAUNCH}\n"),
        ("a.py", f"import subprocess\nprint({LAUNCH!r}, ['train.py', 'torchrun'])\n"),
        ("a.py", f"import subprocess\ntext = {LAUNCH!r}\n"),
        ("a.py", f"import subprocess\nsubprocess.run({LAUNCH!r}"),
        ("a.py", "import subprocess\nsubprocess.run(['torchrun', 'other.py'])\n"),
        ("run.sh", "python other.py --evaluation_strategy no\npip install python train.py\n"),
        ("run.sh", "ipython train.py --evaluation_strategy no\n"),
        ("run.sh", "# python train.py --evaluation_strategy no\n"),
    ],
)
def test_other_lines_are_not_told(name: str, text: str, tmp_path: Path) -> None:
    assert told(tmp_path, {name: text}) == []


def test_a_script_that_a_cell_writes_is_launched_by_its_notebook(tmp_path: Path) -> None:
    (tmp_path / "a.ipynb").write_text(notebook(f"%%writefile train.py\n{SCRIPT}", f"!{LAUNCH}", "!python train.py"))
    (tmp_path / "b.ipynb").write_text(notebook(f"!{LAUNCH}"))
    script = str(tmp_path / "train.py")
    assert [(launch.file.name, launch.place) for launch in launches_of(script)] == [("a.ipynb", "cell 2:1")]
    assert [launch.place for launch in plain_starts_of(script)] == ["cell 3:1"]


@pytest.mark.parametrize(
    ("name", "head", "started"),
    [("a.ipynb", "", "Run on"), ("a.py", DATABRICKS, "Run on"), ("a.py", "", "Started with python on")],
)
def test_a_notebook_is_not_started_with_python(name: str, head: str, started: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(head)
    messages = [f.message for f in convert(SCRIPT, str(tmp_path / name), options=Options(to_ray=True)).findings]
    assert any(message.startswith(f"{started} a machine with several GPUs") for message in messages)


def test_nor_under_a_launcher(tmp_path: Path) -> None:
    script = ACCELERATE + "train()\n"
    for name, told in (("a.ipynb", 0), ("a.py", 1)):
        (tmp_path / name).write_text("")
        result = convert(script, str(tmp_path / name), options=Options(to_ray=True))
        assert result.after is not None
        assert sum("It is started with" in finding.message for finding in result.findings) == told


def test_lines_that_start_a_file_which_imports_the_script_are_told_of_their_options(tmp_path: Path) -> None:
    script = SCRIPT.replace('\nif __name__ == "__main__":\n    main()\n', "")
    (tmp_path / "core.py").write_text(f"{script}\nif __name__ == '__main__':\n    main()\n")
    (tmp_path / "run.py").write_text("from core import main\nmain()\n")
    (tmp_path / "run.sh").write_text(
        "torchrun run.py --evaluation_strategy no\npython run.py --no_cuda\ntorchrun other.py --no_cuda\n"
    )
    outcome = invoke("check", "--to-ray", "--verbose", str(tmp_path)).output
    assert "run.sh:1 says `torchrun run.py --evaluation_strategy no`; it is `python run.py` now, with the" in outcome
    assert "but without --evaluation_strategy (now --eval_strategy), which TrainingArguments refuses today" in outcome
    assert "run.sh:2: TrainingArguments refuses --no_cuda (now --use_cpu) today." in outcome
    assert "run.sh:3" not in outcome


def test_what_python_starts_with_words_that_are_not_written_out_is_a_launch_with_unknown_flags(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    (tmp_path / "start.py").write_text(
        "import os, subprocess, sys\n"
        "command = [sys.executable, '-m', 'torch.distributed.run', f'--nproc_per_node={count}']\n"
        "subprocess.run(command + [os.path.join(here, 'train.py'), *sys.argv[1:]])\n"
    )
    [launch] = launches_of(str(tmp_path / "train.py"))
    assert (launch.place, launch.flags, launch.command("train.py")) == ("3", {}, "python train.py")


@pytest.mark.parametrize(
    ("before", "said", "now", "given"),
    [
        ("ACCELERATE_USE_FSDP=1", "ACCELERATE_USE_FSDP=1 ", "ACCELERATE_USE_FSDP=1 ", True),
        (
            "env FSDP_OFFLOAD_PARAMS='true' A=2",
            "FSDP_OFFLOAD_PARAMS='true' A=2 ",
            "FSDP_OFFLOAD_PARAMS='true' A=2 ",
            True,
        ),
        ("CUDA_VISIBLE_DEVICES=0,1", "CUDA_VISIBLE_DEVICES=0,1 ", "CUDA_VISIBLE_DEVICES=0,1 ", False),
        ("MASTER_PORT=29501", "MASTER_PORT=29501 ", "", False),
        ("ACCELERATE_USE_FSDP=$FSDP", "ACCELERATE_USE_FSDP=$FSDP ", "ACCELERATE_USE_FSDP=$FSDP ", False),
        ("HF_TOKEN=hf_abc", "HF_TOKEN=... ", "HF_TOKEN=... ", False),
        ("X=1;", "", "", False),
        ("export X=1 &&", "", "", False),
    ],
)
def test_variables_before_a_launcher_are_kept(before: str, said: str, now: str, *, given: bool, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    (tmp_path / "run.sh").write_text(f"{before} {LAUNCH}\n")
    result = convert(SCRIPT, str(tmp_path / "train.py"), options=Options(to_ray=True))
    [message] = [finding.message for finding in result.findings if finding.code == "RM824"]
    assert message.startswith(f"run.sh:1 says `{said}{LAUNCH}`; it is `{now}python train.py` now")
    assert any("now for the workers too" in finding.message for finding in result.findings) is given
    assert ("worker_runtime_env" in str(result.after)) is given


FUNCTION = ACCELERATE.replace("def train(", "def train_all(")


@pytest.mark.parametrize(
    ("start", "is_seen"),
    [
        ("from train import train_all\nnotebook_launcher(train_all, (1,))", True),
        ("from train import *\naccelerate.notebook_launcher(\n    function=train_all, args=(1,))", True),
        ("import train as t\nnotebook_launcher(t.train_all)", True),
        ("%run train.py\ndebug_launcher(train_all)", True),
        ("from train import train_all\ntrain_all()", False),
        ("from other import train_all\nnotebook_launcher(train_all)", False),
        ("from train import train_all\nnotebook_launcher(other)", False),
    ],
)
@pytest.mark.parametrize("is_written", [True, False])
def test_a_function_that_a_notebook_starts_is_told_to_be(
    start: str, *, is_seen: bool, is_written: bool, tmp_path: Path
) -> None:
    cells = [f"%%writefile train.py\n{FUNCTION}"] if is_written else []
    (tmp_path / "a.ipynb").write_text(notebook(*cells, f"from accelerate import notebook_launcher\n{start}"))
    if not is_written:
        (tmp_path / "train.py").write_text(FUNCTION)
    out = " ".join(invoke("check", "--to-ray", str(tmp_path)).output.split())
    assert ("A cell of a.ipynb starts train_all() with a launcher of accelerate" in out) is is_seen
    assert ("convert the script that calls it by hand" in out) is not is_seen


def test_one_note_for_each_line_of_a_page(tmp_path: Path) -> None:
    page = (
        f"Run `{LAUNCH}` (or `accelerate launch train.py`, {LAUNCH}).\n\n`{LAUNCH}` or `{LAUNCH}`, `python train.py`\n"
    )
    found = [finding.message for finding in told(tmp_path, {"README.md": page})]
    assert [message.partition(" says ")[0] for message in found] == ["README.md:1", "README.md:3"]
    assert f"`{LAUNCH}` and `accelerate launch train.py`" in found[0]
    assert found[1].startswith(f"README.md:3 says `{LAUNCH}`; it is `python train.py` now")


@pytest.mark.parametrize(
    ("line", "now"),
    [
        (
            "python -m torch.distributed.launch --nproc_per_node 2 --use_env -m src.task.train",
            "python -m src.task.train",
        ),
        ("torchrun --nproc_per_node 2 src/task/train.py", "python src/task/train.py"),
    ],
)
@pytest.mark.parametrize("is_package", [True, False])
def test_a_line_beside_the_package_of_the_script(line: str, now: str, tmp_path: Path, *, is_package: bool) -> None:
    folder = tmp_path / "src" / "task"
    folder.mkdir(parents=True)
    if is_package:
        (folder / "__init__.py").touch()
        (tmp_path / "src" / "__init__.py").touch()
    (tmp_path / "Makefile").write_text(f"train:\n\t{line}\n")
    found = told(folder, {})
    assert [f"`{now}`" in finding.message for finding in found] == ([True] if is_package else [])


def test_a_line_that_was_changed_since_the_last_conversion_is_read_anew(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    said = []
    for launch in (LAUNCH, LAUNCH.replace("torchrun", "deepspeed", 1)):
        (tmp_path / "run.sh").write_text(f"{launch}\n")
        result = convert(SCRIPT, str(tmp_path / "train.py"), options=Options(to_ray=True))
        said += [finding.message.partition("`")[2] for finding in result.findings if finding.code == "RM824"]
    assert [text.split()[0] for text in said] == ["torchrun", "deepspeed"]


DEEPSPEED = "accelerate launch --use_deepspeed --deepspeed_config_file {}.json train.py\n"


@pytest.mark.parametrize(
    ("lines", "without"),
    [
        (DEEPSPEED.format("a") + DEEPSPEED.format("b"), ": the workers train without --use_deepspeed."),
        (
            "accelerate launch --mixed_precision=bf16 --num_processes 2 train.py\n"
            "accelerate launch --mixed_precision fp16 --use_fsdp train.py\n",
            ": the workers train without --mixed_precision, --use_fsdp.",
        ),
        ("accelerate launch --num_processes 2 train.py\naccelerate launch --num_processes 4 train.py\n", "."),
        (
            "accelerate launch --mixed_precision no --num_processes 2 train.py\n"
            "accelerate launch --mixed_precision=no --num_processes 4 train.py\n",
            ".",
        ),
        (
            "accelerate launch --gradient_accumulation_steps 1 --num_processes 2 train.py\n"
            "accelerate launch --gradient_accumulation_steps 1 --num_processes 4 train.py\n",
            ".",
        ),
        ("torchrun --nproc_per_node 2 train.py\ntorchrun --nproc_per_node 4 train.py\n", "."),
        (DEEPSPEED.format("a"), None),
    ],
)
def test_lines_that_differ_in_how_it_trains_are_left_for_a_person(
    lines: str, without: str | None, tmp_path: Path
) -> None:
    script = f"{ACCELERATE}train()\n"
    (tmp_path / "train.py").write_text(script)
    (tmp_path / "run.sh").write_text(lines)
    (tmp_path / "a.json").write_text('{"train_micro_batch_size_per_gpu": 1}')
    findings = convert(script, str(tmp_path / "train.py"), options=Options(to_ray=True)).findings
    said = [finding for finding in findings if "lines that launch it differ" in finding.message]
    if without is None:
        assert not said
    else:
        (finding,) = said
        assert finding.message == f"The lines that launch it differ, so none of their flags are written{without}"
        assert (finding.kind is Kind.MANUAL) is (without != ".")


@pytest.mark.parametrize(
    "launcher",
    [
        *("python -m accelerate.commands.launch", "python3.11  -m accelerate.commands.launch", "accelerate-launch"),
        "python -u -O -m accelerate.commands.launch",
    ],
)
def test_the_other_commands_of_accelerates_launcher(tmp_path: Path, launcher: str) -> None:
    """The flags and the file that each of them reads are those of `accelerate launch`."""
    script = ACCELERATE.replace("*arguments", "").replace("*make()", "make()") + "\n\ntrain()\n"
    (tmp_path / "train.py").write_text(script)
    (tmp_path / "cfg.yaml").write_text("distributed_type: MULTI_GPU\nmixed_precision: bf16\nnum_processes: 4\n")
    (tmp_path / "run.sh").write_text(f"{launcher} --config_file cfg.yaml --num_processes 3 train.py --m 2\n")
    (launch,) = launches_of(str(tmp_path / "train.py"))
    assert launch.may_read_file and launch.flags["num_processes"] == "3"
    assert launch.command("train.py") == "python train.py" and launch.own_arguments("train.py") == ["--m", "2"]
    assert not plain_starts_of(str(tmp_path / "train.py"))
    text = convert(script, str(tmp_path / "train.py"), options=Options(to_ray=True)).after or ""
    assert 'mixed_precision="bf16"' in text and "num_workers=3" in text


def test_the_launcher_of_torch_reads_no_file_of_accelerate(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(ACCELERATE)
    (tmp_path / "run.sh").write_text("python -m torch.distributed.run --nproc_per_node 3 train.py\n")
    (launch,) = launches_of(str(tmp_path / "train.py"))
    assert not launch.may_read_file


def test_the_options_of_the_interpreter_stand_before_the_launcher(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("print(1)\n")
    (tmp_path / "run.sh").write_text("python -u -m torch.distributed.launch --nproc_per_node 3 train.py --m 2\n")
    (launch,) = launches_of(str(tmp_path / "train.py"))
    assert launch.flags["num_processes"] == "3" and not launch.is_plain and not launch.may_read_file
    assert launch.own_arguments("train.py") == ["--m", "2"]


def test_a_script_with_such_a_name_is_no_launcher(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("print(1)\n")
    (tmp_path / "run.sh").write_text("sh my-accelerate-launch --num_processes 3 train.py\n")
    assert not launches_of(str(tmp_path / "train.py"))

"""Lines that start a script by another spelling: options of python, lists of words, variables of make (RM824)."""

from pathlib import Path

import pytest

from raymigrate.codemods.to_ray.launches import launches_of
from raymigrate.documents.command_lists import shell_of_make
from tests.to_ray.test_launch_lines import LAUNCH, told

WORDS = '"torchrun", "--nproc_per_node", "2", "train.py"'
BLOCK = "    command:\n      - torchrun\n"
ARGS = "    args:\n      - --nproc_per_node=2\n      - 'train.py'  # the script\n"


@pytest.mark.parametrize(
    "line",
    [
        "python -W ignore -m torch.distributed.run --nproc_per_node 2 train.py",
        "python3 -u -Wignore -X dev -m torch.distributed.launch --nproc_per_node 2 train.py",
        "python -W ignore::UserWarning -m accelerate.commands.launch --num_processes 2 train.py",
        "python -m accelerate.commands.accelerate_cli launch --num_processes 2 train.py",
        "python -m accelerate.commands.accelerate_cli launch --num_processes 2 -m train",
    ],
)
def test_options_of_python_before_the_launcher_are_read(line: str, tmp_path: Path) -> None:
    [finding] = told(tmp_path, {"run.sh": f"{line}\n"})
    assert finding.message.startswith(f"run.sh:1 says `{line}`; it is `python ")
    [launch] = launches_of(str(tmp_path / "train.py"))
    assert launch.flags["num_processes"] == "2"
    assert launch.may_read_file is ("accelerate" in line)


@pytest.mark.parametrize("line", ["python -W ignore -m train --no_cuda", "python -X dev train.py --no_cuda"])
def test_options_of_python_before_the_script_are_read(line: str, tmp_path: Path) -> None:
    [finding] = told(tmp_path, {"run.sh": f"{line}\n"})
    assert finding.message == "run.sh:1: TrainingArguments refuses --no_cuda (now --use_cpu) today."


@pytest.mark.parametrize(
    ("name", "text", "place"),
    [
        ("Dockerfile", f"FROM x\nCMD [{WORDS}]\n", "Dockerfile:2"),
        ("gpu.dockerfile", f"FROM x\nENTRYPOINT [{WORDS}]\n", "gpu.dockerfile:2"),
        ("Dockerfile.gpu", f"FROM x\nENTRYPOINT [{WORDS[:10]}, \\\n  {WORDS[12:]}]\nRUN a\n", "Dockerfile.gpu:2"),
        (
            "Dockerfile",
            'ENTRYPOINT ["torchrun", "--nproc_per_node", "2"]\nCOPY . .\nUSER a\nENV A=1\n\nCMD ["train.py"]\n',
            "Dockerfile:1",
        ),
        ("Dockerfile", f'FROM x\nCMD ["bash", "-c", "{LAUNCH}"]\n', "Dockerfile:2"),
        ("Dockerfile", f"FROM x\nCMD {LAUNCH}\n", "Dockerfile:2"),
        ("compose.yml", f"services:\n  a:\n    command: [{WORDS}]\n", "compose.yml:3"),
        ("job.yaml", "a:\n  - command: [torchrun]\n    args: ['--nproc_per_node=2', train.py]\n", "job.yaml:2"),
        ("job.yaml", f"a:\n{BLOCK}{ARGS}    env: 1\n", "job.yaml:2"),
    ],
)
def test_a_list_of_words_is_a_line(name: str, text: str, place: str, tmp_path: Path) -> None:
    [finding] = told(tmp_path, {name: text})
    assert finding.message.startswith(f"{place} says `torchrun --nproc_per_node")
    [launch] = launches_of(str(tmp_path / "train.py"))
    assert launch.flags == {"num_processes": "2"}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Dockerfile", 'CMD ["python", "serve.py"]\nLABEL a=["torchrun", "train.py"]\n'),
        ("Dockerfile", 'CMD ["torchrun"]\nCMD ["train.py"]\n'),  # the last one alone counts
        ("job.yaml", f"a:\n{BLOCK}    tags:\n      - train.py\n"),
        ("job.yaml", "a:\n  args:\n    - name: torchrun\n      value: train.py\n"),
    ],
)
def test_other_lists_are_none(name: str, text: str, tmp_path: Path) -> None:
    assert told(tmp_path, {name: text}) == []


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("N = 2\nLAUNCH := torchrun --nproc_per_node $(N)\ntrain:\n\t@$(LAUNCH) train.py\n", "Makefile:4"),
        ("N ?= 2\nSCRIPT = train.py\nall:\n\ttorchrun --nproc_per_node ${N} $(SCRIPT)\n", "Makefile:4"),
        ("N = 2 # of a node\nall:\n\ttorchrun --nproc_per_node $(N) train.py\n", "Makefile:3"),
        ("LAUNCH ::= torchrun --nproc_per_node 2\nall:\n\tcd x && $(LAUNCH) \\\n\t  train.py\n", "Makefile:3"),
    ],
)
def test_variables_of_make_have_their_values(text: str, place: str, tmp_path: Path) -> None:
    [finding] = told(tmp_path, {"Makefile": text})
    assert finding.message.startswith(
        f"{place} says `torchrun --nproc_per_node 2 train.py`; it is `python train.py` now"
    )


def test_a_variable_of_make_that_has_several_values_or_none_stays() -> None:
    text = "A = 1\nA = 2\nB = $(B)x\n$(A) $(B) ${C} $A $$(A)\n"
    assert shell_of_make(text).splitlines()[3].startswith("$(A) $(B)x")
    assert len(shell_of_make("A = $(B)$(B)\nB = $(A)$(A)\nall:\n\t$(A)\n")) < 20_000

"""The flags of `accelerate launch` over a file: compared with accelerate's own parser and launcher."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from raymigrate.codemods.to_ray.launches import Launch, file_of, launches_of
from raymigrate.facts.accelerate.launch_file import launch_form
from raymigrate.facts.accelerate.launch_flags import with_flags

pytest.importorskip("accelerate")
from accelerate.commands import launch
from accelerate.utils import launch as launchers

from tests.test_launch_form import GPUS, NO, OF_THE_PLACE, deepspeed, dynamo, fsdp

GIVEN: list[tuple[dict[str, Any], str]] = [
    (GPUS, "--num_processes 2"),
    (GPUS, "--num-processes=2 --mixed-precision bf16"),
    (GPUS | {"mixed_precision": "fp16"}, "--mixed_precision no"),
    (NO, "--multi_gpu --num_processes 2"),
    (NO, "--debug"),
    (GPUS | {"dynamo_config": {"dynamo_backend": "EAGER"}}, "--dynamo_backend inductor --dynamo_mode max-autotune"),
    (dynamo(backend="inductor"), "--dynamo_use_fullgraph"),
    (fsdp(1), "--fsdp_sharding_strategy SHARD_GRAD_OP --fsdp_offload_params true"),
    (fsdp(2), "--fsdp_reshard_after_forward false --mixed_precision bf16"),
    (GPUS | {"fsdp_config": {"fsdp_version": 2}}, "--use_fsdp"),
    (deepspeed(zero_stage=2), "--zero_stage 3 --gradient_clipping 0.5"),
    (deepspeed(zero_stage=2), "--gradient_accumulation_steps 4 --num_machines 1"),
    (GPUS, "--gradient_accumulation_steps 7"),
    (GPUS, "--main_process_port 29999 --machine_rank 0 --max_restarts 2"),
    (fsdp(1), "--cpu"),
]


@pytest.mark.parametrize(("config", "flags"), GIVEN, ids=[f"{flags} over {json.dumps(c)}" for c, flags in GIVEN])
def test_a_flag_wins_over_the_file_as_it_does_in_accelerate(
    config: dict[str, Any], flags: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump(config, sort_keys=False))
    monkeypatch.setattr(launchers, "is_port_in_use", lambda _: False)
    args = launch.launch_command_parser().parse_args(["--config_file", str(path), *flags.split(), "train.py"])
    args, defaults, of_file = launch._validate_launch_command(args)
    if args.use_deepspeed and not args.cpu:
        listed = [*defaults.deepspeed_config, *(["mixed_precision"] if of_file else [])]
        args.deepspeed_fields_from_accelerate_config = ",".join(listed)
        environment = launchers.prepare_deepspeed_cmd_env(args)[1]
    elif (args.use_fsdp or args.multi_gpu) and not args.cpu:
        environment = launchers.prepare_multi_gpu_env(args)
    else:
        environment = launchers.prepare_simple_launcher_cmd_env(args)[1]
    script = tmp_path / "train.py"
    script.write_text("")
    (tmp_path / "run.sh").write_text(f"accelerate launch {flags} train.py\n")
    [found] = launches_of(str(script))
    form = launch_form(with_flags(config, found.known_flags))
    names = {name for name in environment if name.startswith(("ACCELERATE", "FSDP", "PARALLELISM"))} - OF_THE_PLACE
    names.discard("ACCELERATE_CONFIG_DS_FIELDS")  # a flag is none of the file's fields
    assert {name: form.environment.get(name) for name in names} == {name: environment[name] for name in names}
    if form.launcher != "simple":
        assert form.workers == args.num_processes


LINES = {
    "run.sh": "accelerate launch --num_processes 4 train.py --epochs 3\n",
    "README.md": "Train:\n\n    accelerate launch \\\n        --multi_gpu --num_processes=4 \\\n        ./train.py\n",
    "Makefile": "train:\n\tcd . && accelerate launch --config_file my.yaml train.py --lr 1 | tee log\n",
    "job.slurm": 'srun bash -c "accelerate launch -m train"\n',
    "train.py": '"""Run: accelerate launch --num_processes 4 train.py"""\n',
}
OTHER_LAUNCHERS = {
    "torchrun --standalone --nproc_per_node=4 train.py --lr 1": {"num_processes": "4"},
    "torchrun --nnodes 2 --nproc-per-node 4 train.py": {"num_processes": "8"},
    "torchrun --nproc_per_node=$GPUS train.py": {},
    "torchrun --nnodes=1:4 --nproc_per_node=4 train.py": {},
    "python -m torch.distributed.launch --nproc_per_node 4 --use_env train.py": {"num_processes": "4"},
    "python3 -m torch.distributed.run --nproc_per_node=gpu train.py": {},
    "deepspeed --num_gpus=8 train.py --deepspeed ds.json": {"num_processes": "8"},
    "deepspeed train.py": {},
}


@pytest.mark.parametrize("name", LINES)
def test_a_line_that_launches_the_script_is_found(name: str, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("")
    (tmp_path / name).write_text(LINES[name])
    [found] = launches_of(str(tmp_path / "train.py"))
    assert found.file.name == name
    expected = {"Makefile": {"config_file": "my.yaml"}, "job.slurm": {"m": ""}}
    assert found.flags.items() >= expected.get(name, {"num_processes": "4"}).items()


ELSEWHERE = {  # a file of the project, and what it says
    "scripts/run.sh": "torchrun ../src/train.py",
    "docs/training.md": "torchrun src/train.py",
    "Makefile": "python -m torch.distributed.launch --nproc_per_node 2 --use_env -m src.train",
    "job.slurm": "python3 -m torch.distributed.run --nproc_per_node 2 --module src.train",
    "src/examples/small/run.sh": "torchrun train.py",
    "src/launch/run.sh": "deepspeed --module src.train",
    "run.sh": "torchrun $ROOT/src/train.py",
}
OF_OTHERS = {
    "scripts/run.sh": "torchrun train.py",  # there is one
    "other/run.sh": "torchrun ./more/train.py",
    "scripts/launch/run.sh": "torchrun train.py",  # started from scripts, where there is one
    "a/b/c/d/run.sh": "torchrun src/train.py",  # too deep to be looked for
    "run.sh": "torchrun scripts/train.py",
    "Makefile": "python -m torch.distributed.launch --nproc_per_node 2 -m src.eval",
    "build/run.sh": "torchrun src/train.py",
}


def launches_of_project(folder: Path, name: str, line: str) -> list[str]:
    """What is found to launch the script of a project that has two of one name."""
    for file in ("setup.py", "src/train.py", "scripts/train.py", name):
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(line if file == name else "")
    return [launch.command("train.py") for launch in launches_of(str(folder / "src/train.py"))]


@pytest.mark.parametrize("name", ELSEWHERE)
def test_a_line_in_another_folder_of_the_project_launches_the_script_to_which_it_leads(
    name: str, tmp_path: Path
) -> None:
    started = ELSEWHERE[name].split()[1:]
    expected = "python -m src.train" if "src.train" in started else f"python {started[0]}"
    assert launches_of_project(tmp_path, name, ELSEWHERE[name]) == [expected]


@pytest.mark.parametrize("name", OF_OTHERS)
def test_a_line_that_leads_to_another_script_of_that_name_does_not(name: str, tmp_path: Path) -> None:
    assert not launches_of_project(tmp_path, name, OF_OTHERS[name])


@pytest.mark.parametrize("line", OTHER_LAUNCHERS)
def test_processes_of_other_launchers_are_counted(line: str, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(f'"""Usage:\n    {line}\n"""\n')
    [found] = launches_of(str(script))
    assert (found.line, found.text, found.flags) == (2, line, OTHER_LAUNCHERS[line])


@pytest.mark.parametrize(
    "text",
    [
        "accelerate launch other.py\n",
        "accelerate config\n",
        "python train.py\n",
        "accelerate launch my_train.py --data train.python\n",
        "# accelerate test\n",
        "torchrun other.py\n",
        "python train.py --deepspeed train.json\n",
        "pip install deepspeed\npython train.py\n",
    ],
)
def test_a_line_for_another_script_is_not(text: str, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("")
    (tmp_path / "run.sh").write_text(text)
    assert launches_of(str(tmp_path / "train.py")) == []


def test_lines_above_the_script_count_up_to_the_root_of_the_project(tmp_path: Path) -> None:
    root = tmp_path / "project"
    (root / "src").mkdir(parents=True)
    (root / ".git").mkdir()
    (root / "src/train.py").write_text("")
    (root / "run.sh").write_text("accelerate launch src/train.py\n")
    (tmp_path / "run.sh").write_text("accelerate launch project/src/train.py\n")
    assert [found.file for found in launches_of(str(root / "src/train.py"))] == [root / "run.sh"]


def test_values_of_shell_variables_are_not_known() -> None:
    found = Launch(Path("run.sh"), 1, "", {"num_processes": "$GPUS", "mixed_precision": "bf16", "multi_gpu": ""})
    assert found.known_flags == {"mixed_precision": "bf16", "multi_gpu": ""}


@pytest.mark.parametrize(
    ("files", "named", "expected"),
    [
        ({"default_config.yaml": True, "other.yaml": True}, "", "default_config.yaml"),
        ({"default_config.yaml": True, "other.yaml": True}, "other.yaml", "other.yaml"),
        ({"default_config.yaml": True}, "gone.yaml", None),
        ({"fsdp.yaml": True, "data.yaml": False}, "", "fsdp.yaml"),
        ({"fsdp.yaml": True, "gpu.yaml": True}, "", None),
        ({"data.yaml": False}, "", None),
        ({"default_config.yaml": False}, "", None),
    ],
)
def test_the_file_is_the_one_that_is_named_else_the_one_that_there_is(
    files: dict[str, bool], named: str, expected: str | None, tmp_path: Path
) -> None:
    script = tmp_path / "train.py"
    script.write_text("")
    for name, is_accelerates in files.items():
        (tmp_path / name).write_text("distributed_type: MULTI_GPU\nnum_processes: 2\n" if is_accelerates else "a: 1\n")
    launches = [Launch(tmp_path / "run.sh", 1, "", {"config_file": named})] if named else []
    found = file_of(str(script), launches)
    assert (found.name if found else None) == expected

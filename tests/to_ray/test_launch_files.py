"""A file of accelerate beside a script counts only where `accelerate launch` may have read it."""

from pathlib import Path

import pytest

from raymigrate.base.options import Options
from raymigrate.codemods.to_ray.launches import file_of, launches_of
from raymigrate.run.engine import convert
from tests.test_cli import invoke
from tests.to_ray.test_launch_lines import DATABRICKS, notebook

FILE = "distributed_type: DEEPSPEED\nnum_processes: 2\ndeepspeed_config: {zero_stage: 3}\n"
TRAINER = """\
from transformers import AutoModel, Trainer, TrainingArguments

trainer = Trainer(AutoModel.from_pretrained("bert"), TrainingArguments("out"))
trainer.train()
"""
ACCELERATE = """\
from accelerate import Accelerator

accelerator = Accelerator()
model, optimizer, loader = accelerator.prepare(*make())
for epoch in range(3):
    for batch in loader:
        accelerator.backward(model(**batch).loss)
        optimizer.step()
        optimizer.zero_grad()
"""
OF_THE_USER = "A default_config.yaml of the user"


def told(folder: Path, script: str, files: dict[str, str]) -> tuple[str, str]:
    """What becomes of a script beside these files, and what is said of it."""
    for name, text in {"train.py": script, **files}.items():
        (folder / name).write_text(text)
    result = convert(script, str(folder / "train.py"), options=Options(to_ray=True))
    return str(result.after), "\n".join(finding.message for finding in result.findings)


DEEPSPEED = "compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\ndeepspeed_config:\n  zero_stage: 2\n"


@pytest.mark.parametrize(
    ("line", "plugin"),
    [
        ("print(accelerator.state.deepspeed_plugin)", "DeepSpeed"),
        ("if accelerator.deepspeed_plugin is None:\n    print(1)", "DeepSpeed"),
        ("from accelerate.utils import DummyOptim\nkind = DummyOptim", "DeepSpeed"),
        ("from accelerate.utils import DummyScheduler as Later\nLater(optimizer)", "DeepSpeed"),
        (
            "from accelerate import DistributedType\nprint(accelerator.distributed_type == DistributedType.DEEPSPEED)",
            "DeepSpeed",
        ),
        ("from accelerate.utils import DistributedType as D\nprint(accelerator.distributed_type == D.FSDP)", "FSDP"),
        ("print(accelerator.state.fsdp_plugin)", "FSDP"),
        ("from accelerate import DistributedType\nprint(accelerator.distributed_type == DistributedType.XLA)", ""),
        ("from mine import Kind\nprint(Kind.FSDP)", ""),
    ],
)
def test_a_plugin_that_the_launcher_may_have_made_is_told(line: str, plugin: str, tmp_path: Path) -> None:
    _, said = told(tmp_path, f"{ACCELERATE}{line}\n", {})
    assert said.count("The script expects ") == bool(plugin)
    assert f"The script expects {plugin}" in said or not plugin


def test_a_plugin_that_is_seen_is_not(tmp_path: Path) -> None:
    script = f"{ACCELERATE}print(accelerator.state.deepspeed_plugin)\n"
    after, said = told(tmp_path, script, {"default_config.yaml": DEEPSPEED})
    assert "deepspeed_plugin=DeepSpeedPlugin(" in after and "reckons" not in said


def test_a_plugin_of_the_script_is_its_own(tmp_path: Path) -> None:
    script = f"from job import plugin\n{ACCELERATE}print(accelerator.state.deepspeed_plugin)\n"
    after, said = told(tmp_path, script.replace("Accelerator()", "Accelerator(deepspeed_plugin=plugin)"), {})
    assert "TorchTrainer(" in after and "reckons" not in said


@pytest.mark.parametrize("script", [TRAINER, ACCELERATE])
@pytest.mark.parametrize("name", ["default_config.yaml", "ds.yaml"])
@pytest.mark.parametrize(
    "start",
    [
        "torchrun --nproc_per_node 2 train.py",
        "python -m torch.distributed.run --nproc_per_node 2 train.py",
        "deepspeed train.py",
        "python train.py",
        "accelerate launch --config_file NAME other.py",
        "accelerate launch --config_file ./NAME other.py; accelerate launch train.py",
    ],
)
def test_a_file_that_no_start_of_the_script_reads_is_not_its_own(
    start: str, name: str, script: str, tmp_path: Path
) -> None:
    (tmp_path / "other.py").write_text("")
    after, said = told(tmp_path, script, {name: FILE, "run.sh": f"{start.replace('NAME', name)}\n"})
    assert "ray.train" in after
    assert not any(word in after + said for word in ("DEEPSPEED", "DeepSpeedPlugin"))
    assert (OF_THE_USER in said) == (script == ACCELERATE and "accelerate launch" in start)


@pytest.mark.parametrize("script", [TRAINER, ACCELERATE])
@pytest.mark.parametrize("name", ["default_config.yaml", "ds.yaml"])
@pytest.mark.parametrize(
    "start",
    [
        "echo",
        "accelerate launch train.py",
        "python train.py\naccelerate launch train.py",
        "torchrun train.py\naccelerate launch --config_file NAME train.py",
        "accelerate launch --config_file NAME other.py\naccelerate launch --config_file NAME train.py",
    ],
)
def test_a_file_that_accelerate_may_have_read_is_in_force(start: str, name: str, script: str, tmp_path: Path) -> None:
    (tmp_path / "other.py").write_text("")
    after, said = told(tmp_path, script, {name: FILE, "run.sh": f"{start.replace('NAME', name)}\n"})
    assert "DEEPSPEED" in after or "DeepSpeedPlugin" in after
    assert f"{name}, deepspeed_config.zero_stage: 3" in said
    assert file_of(str(tmp_path / "train.py"), launches_of(str(tmp_path / "train.py"))) == tmp_path / name


@pytest.mark.parametrize(
    ("folder", "line", "is_own"),
    [
        ("other", "accelerate launch --config_file ds.yaml other.py", True),
        ("", "accelerate launch --config_file job/ds.yaml job/other.py", False),
        ("job", "accelerate launch --config_file=ds.yaml other.py", False),
        ("run", "accelerate launch --config_file job/ds.yaml job/other.py", False),
        ("run", "accelerate launch --config_file ../job/ds.yaml ../job/other.py", False),
        ("run", "accelerate launch --config_file $HERE/ds.yaml other.py", True),
    ],
)
def test_a_file_of_the_same_name_elsewhere_says_nothing(folder: str, line: str, is_own: bool, tmp_path: Path) -> None:
    for path in (tmp_path / "job", tmp_path / folder):
        path.mkdir(exist_ok=True)
    (tmp_path / "setup.py").write_text("")
    (tmp_path / folder / "run.sh").write_text(f"{line}\n")
    after, _ = told(tmp_path / "job", TRAINER, {"ds.yaml": FILE, "other.py": ""})
    assert ("DEEPSPEED" in after) == is_own


@pytest.mark.parametrize("name", ["default_config.yaml", "ds.yaml"])
@pytest.mark.parametrize("script", [TRAINER, ACCELERATE])
@pytest.mark.parametrize(
    ("home", "text"),
    [("train.ipynb", notebook), ("source.py", lambda script: f"{DATABRICKS}\n{script}")],
)
def test_accelerate_starts_no_notebook(home: str, text: type[str], script: str, name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(FILE)
    (tmp_path / home).write_text(text(script))
    result = invoke("--to-ray", "--verbose", str(tmp_path / home))
    after = (tmp_path / home).read_text()
    assert "TorchTrainer" in after
    assert not any(word in after + result.output for word in ("DEEPSPEED", "DeepSpeedPlugin", OF_THE_USER))


@pytest.mark.parametrize("script", [TRAINER, ACCELERATE])
@pytest.mark.parametrize(
    ("others", "line", "is_taken"),
    [
        ({"other.py": TRAINER}, "", False),
        ({"other.py": ACCELERATE, "third.py": f"{TRAINER}\nif __name__ == '__main__':\n    pass\n"}, "", False),
        ({"other.py": TRAINER}, "accelerate launch train.py", True),
        ({"other.py": TRAINER}, "accelerate launch other.py", False),
        ({"other.py": "import json\n"}, "", True),
        ({"other.py": f"from ray.train.torch import TorchTrainer\n{ACCELERATE}TorchTrainer(print).fit()\n"}, "", True),
        ({"helpers.py": TRAINER, "main.py": "from helpers import trainer\n"}, "", True),
    ],
)
def test_a_file_beside_several_scripts_is_for_none_of_them(
    others: dict[str, str], line: str, *, is_taken: bool, script: str, tmp_path: Path
) -> None:
    after, said = told(tmp_path, script, {"ds.yaml": FILE, "run.sh": f"{line}\n", **others})
    assert ("DEEPSPEED" in after or "DeepSpeedPlugin" in after) is is_taken
    passed_over = f"ds.yaml lies beside {' and '.join(others)} too, and no line says which script it was for: it is not"
    assert (passed_over in said) is not is_taken


def test_a_file_that_is_named_for_another_script_is_not_unclear(tmp_path: Path) -> None:
    line = "accelerate launch --config_file ds.yaml other.py\n"
    after, said = told(tmp_path, TRAINER, {"ds.yaml": FILE, "run.sh": line, "other.py": TRAINER})
    assert "DEEPSPEED" not in after
    assert "lies beside" not in said


TEST = f"import train\n{TRAINER}\n\ndef test_rows():\n    train.main()\n"


@pytest.mark.parametrize(
    ("name", "text", "importing", "is_script"),
    [
        ("helper.py", TRAINER, "import os, helper\n", False),
        ("helper.py", TRAINER, "import os, job.helper as helping\n", False),
        ("helper.py", TRAINER, "from . import helper\n", False),
        ("helper.py", TRAINER, "from job import (\n    train,\n    helper as helping,\n)\n", False),
        ("helper.py", TRAINER, "def main():\n    from .helper import trainer\n", False),
        ("test_rows.py", TEST, "", False),
        ("rows_test.py", TEST.replace("def test", "async def test"), "", False),
        ("test_rows.py", f"import unittest\n{TRAINER}", "", False),
        ("conftest.py", TRAINER, "", False),
        ("test_rows.py", TRAINER, "", True),  # scripts that test a model have such names too
        ("tested.py", TEST, "", True),
        ("helper.py", TRAINER, '"""Takes rows\nfrom helper processes."""\n', True),
        ("helper.py", TRAINER, "from transformers import helper\n", True),
        ("helper.py", TRAINER, "from .. import helper\n", True),
        ("helper.py", f"{TRAINER}\nif __name__ == '__main__':\n    pass\n", "from . import helper\n", True),
    ],
)
def test_modules_and_tests_are_no_other_scripts(
    name: str, text: str, importing: str, *, is_script: bool, tmp_path: Path
) -> None:
    job = tmp_path / "job"
    job.mkdir()
    (tmp_path / "setup.py").write_text("")
    after, said = told(job, TRAINER, {"ds.yaml": FILE, "__init__.py": "", "main.py": importing, name: text})
    assert ("DEEPSPEED" in after) is not is_script
    assert (f"ds.yaml lies beside {name} too" in said) is is_script


def test_a_module_that_is_imported_from_another_folder_is_no_other_script(tmp_path: Path) -> None:
    for folder in ("job", "tools"):
        (tmp_path / folder).mkdir()
    (tmp_path / "setup.py").write_text("")
    (tmp_path / "tools/run.py").write_text("import os, job.helper\n")
    after, _ = told(tmp_path / "job", TRAINER, {"ds.yaml": FILE, "__init__.py": "", "helper.py": TRAINER})
    assert "DEEPSPEED" in after


@pytest.mark.parametrize(
    ("given", "after"),
    [
        ("mixed_precision=args.precision", 'mixed_precision=args.precision or "bf16"'),
        ("mixed_precision=precision()", 'mixed_precision=precision() or "bf16"'),
        ("mixed_precision='fp16' if half else None", "mixed_precision=('fp16' if half else None) or \"bf16\""),
        ("mixed_precision=None", 'mixed_precision="bf16"'),
        ("True, False, None", 'True, False, "bf16"'),
        ("True, False, args.precision", 'True, False, args.precision or "bf16"'),
        ("mixed_precision='fp16' if half else 'no'", "mixed_precision='fp16' if half else 'no'"),
        ("mixed_precision='no'", "mixed_precision='no'"),
        ("mixed_precision=PrecisionType('fp16')", "mixed_precision=PrecisionType('fp16')"),
        ("True, False, 'fp16'", "True, False, 'fp16'"),
    ],
)
def test_an_argument_that_is_none_lets_the_file_win(given: str, after: str, tmp_path: Path) -> None:
    script = "from accelerate.utils import PrecisionType\n" + ACCELERATE.replace(
        "Accelerator()", f"Accelerator({given})"
    )
    files = {
        "ds.yaml": "distributed_type: MULTI_GPU\nnum_processes: 2\nmixed_precision: bf16\n",
        "run.sh": "accelerate launch --config_file ds.yaml train.py\n",
    }
    text, said = told(tmp_path, script, files)
    assert f"Accelerator({after})" in text
    won = "the script's own argument won, and still does"
    assert (won in said) == (given == after)
    assert ("where that is None" in said) == (" or " in after)


@pytest.mark.parametrize("script", [TRAINER, ACCELERATE])
@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("accelerate launch --config_file ds.yaml train.py\naccelerate launch --config_file ./ds.yaml train.py", None),
        ("accelerate launch --config_file ds.yaml train.py\npython train.py", None),
        ("accelerate launch --config_file ds.yaml train.py\naccelerate launch --config_file b.yaml train.py", "b.yaml"),
        ("accelerate launch --config_file=ds.yaml train.py\naccelerate launch --config_file=$C train.py", "$C"),
        ("accelerate launch --config_file lost.yaml train.py", ""),
    ],
)
def test_of_several_files_that_lines_name_none_is_taken(
    lines: str, expected: str | None, script: str, tmp_path: Path
) -> None:
    after, said = told(tmp_path, script, {"ds.yaml": FILE, "b.yaml": "distributed_type: FSDP\n", "run.sh": lines})
    assert "TorchTrainer(" in after
    assert ("DEEPSPEED" in after or "DeepSpeedPlugin" in after) == (expected is None)
    assert (f"names ds.yaml and {expected}, one of which was in force: the workers train" in said) == bool(expected)
    assert ("names lost.yaml, which is not found: the workers train without" in said) == (expected == "")
    assert OF_THE_USER not in said


@pytest.mark.parametrize("script", [TRAINER, ACCELERATE])
@pytest.mark.parametrize(
    ("flags", "known"),
    [("", False), (" --mixed_precision bf16", False), (" --num_processes 1 --mixed_precision bf16", True)],
)
def test_a_file_that_is_not_found_may_say_how_many_workers_train(
    flags: str, script: str, tmp_path: Path, *, known: bool
) -> None:
    _, said = told(tmp_path, script, {"run.sh": f"accelerate launch --config_file ~/lost.yaml{flags} train.py"})
    assert "names ~/lost.yaml, which is not found" in said
    assert ("--workers" in said) != known
    assert "distributed_type" not in said
    assert ("bf16" in said) == bool(flags)


OFFLOADED = f"{DEEPSPEED}  offload_optimizer_device: cpu\n  gradient_accumulation_steps: 8\nmixed_precision: bf16\n"
SHARDED = "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nfsdp_config:\n  fsdp_offload_params: true\n"


def with_plugin(folder: Path, plugin: str, file: str, more: str = "") -> tuple[str, str]:
    """What becomes of a script that makes a plugin itself, and what is said of accelerate's file."""
    script = f"from accelerate.utils import DeepSpeedPlugin, FullyShardedDataParallelPlugin\n{ACCELERATE}"
    kind = "fsdp_plugin" if "FSDP" in file else "deepspeed_plugin"
    script = script.replace("Accelerator()", f"Accelerator({kind}=plugin{more})").replace(
        "\naccelerator =", f"\nplugin = {plugin}\naccelerator ="
    )
    return told(folder, script, {"default_config.yaml": file})


@pytest.mark.parametrize(
    ("plugin", "file", "becomes"),
    [
        (
            "DeepSpeedPlugin(zero_stage=3, gradient_accumulation_steps=2)",
            OFFLOADED,
            'DeepSpeedPlugin(zero_stage=3, gradient_accumulation_steps=2, offload_optimizer_device="cpu")',
        ),
        (
            "DeepSpeedPlugin(gradient_clipping=1.0, zero_stage=None)",
            DEEPSPEED,
            "DeepSpeedPlugin(gradient_clipping=1.0, zero_stage=2)",
        ),
        (
            "FullyShardedDataParallelPlugin(fsdp_version=1, sharding_strategy='SHARD_GRAD_OP')",
            SHARDED,
            "use_orig_params=True",
        ),
        ("FullyShardedDataParallelPlugin(cpu_offload=False)", SHARDED, "cpu_offload=False"),
    ],
)
def test_a_plugin_of_the_script_gets_what_it_had_from_the_file(
    plugin: str, file: str, becomes: str, tmp_path: Path
) -> None:
    after, said = with_plugin(tmp_path, plugin, file)
    assert becomes in " ".join(after.replace("(\n", "(").split()).replace("( ", "(").replace(", )", ")")
    assert "which workers do not have" not in said


def test_the_number_of_steps_of_its_own_plugin_is_the_one_that_counts(tmp_path: Path) -> None:
    steps = ", gradient_accumulation_steps=4, mixed_precision='bf16'"
    after, said = with_plugin(tmp_path, "DeepSpeedPlugin(gradient_accumulation_steps=4)", OFFLOADED, steps)
    assert "gradient_accumulation_steps=4, mixed_precision='bf16')" in after and "=8" not in after
    assert "gradient_accumulation_steps: 8: dropped: the plugin's own argument won" in said
    assert said.count("dropped: the plugin's own") == 1 and "the script's own argument won" not in said
    after, _ = with_plugin(tmp_path, "DeepSpeedPlugin(zero_stage=2)", OFFLOADED, steps)
    assert after.count("gradient_accumulation_steps=8") == 2


LACKED = 'zero_stage=3, offload_optimizer_device="cpu", gradient_accumulation_steps=8'
HERE = "DeepSpeedPlugin(zero_stage=3)"


@pytest.mark.parametrize(
    ("before", "given"),
    [
        ("", f"True, False, None, 1, False, None, {HERE}"),
        ("", f"deepspeed_plugins={HERE}"),
        ("", f"deepspeed_plugins={{'one': {HERE}}}"),
        ("", f"**{{'deepspeed_plugin': {HERE}}}"),
        ("", "deepspeed_plugin=accelerate.utils.DeepSpeedPlugin(zero_stage=3)"),
        ("from accelerate.utils import DeepSpeedPlugin as Plugin\n", "deepspeed_plugin=Plugin(zero_stage=3)"),
        (f"def made():\n    return {HERE}\n\n", "deepspeed_plugin=made()"),
        (f"if torch.cuda.is_available():\n    plugin = {HERE}\nelse:\n    plugin = None\n", "deepspeed_plugin=plugin"),
    ],
)
def test_a_plugin_is_found_however_the_accelerator_gets_it(before: str, given: str, tmp_path: Path) -> None:
    script = ACCELERATE.replace("accelerator = Accelerator()", f"{before}accelerator = Accelerator({given})")
    script = f"import accelerate.utils\nimport torch\nfrom accelerate.utils import DeepSpeedPlugin\n{script}"
    after, said = told(tmp_path, script, {"default_config.yaml": OFFLOADED})
    flat = " ".join(after.split()).replace("( ", "(").replace(", )", ")")
    assert f"({LACKED})" in flat and "which workers do not have" not in said
    assert flat.count("zero_stage=2") == ("None" in before)
    assert flat.count("deepspeed_plugin") == given.count("deepspeed_plugin")


@pytest.mark.parametrize("plugin", ["DeepSpeedPlugin(**settings())", "made()", "DeepSpeedPlugin(None, 1.0)"])
def test_what_a_plugin_that_is_not_seen_had_from_the_file_is_told(plugin: str, tmp_path: Path) -> None:
    after, said = with_plugin(tmp_path, plugin, OFFLOADED)
    assert f"plugin = {plugin}\n" in after
    assert "What this DeepSpeedPlugin is not given came from default_config.yaml" in said
    assert "dropped" not in said

"""What damaged input found out about the engine, made small and spelled in several ways."""

import ast
from pathlib import Path

import libcst as cst
import pytest
from click.testing import CliRunner

from raymigrate.cli import main
from raymigrate.edits.plan import Plan
from raymigrate.edits.rewriter import rewrite
from raymigrate.facts.syntax.module import Module

TRAINER = """from ray.train.huggingface import {name}
from transformers import Trainer, TrainingArguments


def init(train_dataset, eval_dataset=None, **config):
    return Trainer(model=make_model(), args=TrainingArguments("out"), train_dataset=train_dataset)


trainer = {name}(trainer_init_per_worker=init, datasets={datasets})
"""
MODEL = """from ray.train.huggingface import {name}
from transformers import {model}

checkpoint = {name}.from_checkpoint(result.checkpoint)
model = checkpoint.get_model({given}{more})
print(checkpoint.get_tokenizer(AutoTokenizer))
"""


def assert_converts(text: str, *options: str) -> str:
    """Converts, and a second run finds nothing more."""
    Path("train.py").write_text(text)
    for _ in range(2):
        result = CliRunner().invoke(main, [*options, "train.py"], catch_exceptions=False)
        assert result.exit_code in (0, 1), result.stderr
    assert "converted" not in result.stderr
    after = Path("train.py").read_text()
    assert after != text
    return after


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", ["TransformersCheckpoint", "HuggingFaceCheckpoint"])
@pytest.mark.parametrize(
    ("model", "given"), [("AutoModel", "AutoModel"), ("GPT2LMHeadModel as M", "M"), ("AutoTokenizer", "AutoTokenizer")]
)
@pytest.mark.parametrize("more", ["", ", num_labels=2", ", torch_dtype=torch.float16", ", **options"])
def test_a_model_of_a_checkpoint_is_loaded_with_the_old_defaults_at_once(
    name: str, model: str, given: str, more: str
) -> None:
    after = assert_converts(MODEL.format(name=name, model=model, given=given, more=more), "--freeze-numerics")
    frozen = given != "AutoTokenizer" and more != ", **options"
    assert ('attn_implementation="eager"' in after) == frozen


@pytest.mark.parametrize("name", ["TransformersTrainer", "HuggingFaceTrainer"])
@pytest.mark.parametrize(
    "datasets",
    ['{"train": a, "evaluation": b}', '{"train": a, "valid": b}', '{"train": a}', '{"train": a, **others}', "made"],
)
@pytest.mark.parametrize("version", ["2.4", "2.6.3", "2.7"])
@pytest.mark.parametrize("form", ["--style=auto", "--style=adapter", "--style=inline", "--guide"])
def test_whoever_says_the_ray_of_the_code_is_understood_twice(
    name: str, datasets: str, version: str, form: str
) -> None:
    after = assert_converts(TRAINER.format(name=name, datasets=datasets), f"--from-ray={version}", form)
    assert name not in after


@pytest.mark.parametrize("ending", ["\r", "\r\n", "\n", "\f\n", "\r\r\n"])
@pytest.mark.parametrize("end", ["", "\n"])
def test_requirements_in_a_setup_py_are_found_whatever_ends_its_lines(ending: str, end: str) -> None:
    """Python counts a lone carriage return as the end of a line, and no form feed."""
    setup = [
        "import os",
        "from setuptools import setup",
        "REQUIRED = ['é', 'ray==2.6.3']",
        "setup(install_requires=REQUIRED)",
    ]
    Path("setup.py").write_bytes((ending.join(setup) + end).encode())
    Path("train.py").write_text("from ray.air import session\n\n\ndef f():\n    session.report({})\n")
    result = CliRunner().invoke(main, ["--unsafe", "."], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    changed = [part.replace("ray==2.6.3", "ray>=2.51") for part in setup]
    assert Path("setup.py").read_bytes() == (ending.join(changed) + end).encode()


def test_a_reader_of_pins_that_fails_costs_one_file(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(text: str) -> None:
        raise IndexError("x")

    monkeypatch.setattr("raymigrate.pins.files.reader_of", lambda name, folder: fails if name == "a.txt" else None)
    Path("a.txt").write_text("ray==2.6.3\n")
    Path("train.py").write_text("from ray.air import session\n\n\ndef f():\n    session.report({})\n")
    result = CliRunner().invoke(main, ["."], catch_exceptions=False)
    assert result.exit_code == 2
    assert "a.txt:1:1: RM903 error: left as it was: raymigrate met an error of its own (IndexError: x" in result.stderr
    assert "ray.train.report" in Path("train.py").read_text()


def test_an_error_that_has_no_text_costs_one_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """LibCST looks for the line of an error in the template, and an empty one has none: its text raises another."""

    def fails(text: str) -> None:
        cst.parse_expression("")

    monkeypatch.setattr("raymigrate.pins.files.reader_of", lambda name, folder: fails if name == "a.txt" else None)
    Path("a.txt").write_text("ray==2.6.3\n")
    Path("train.py").write_text("from ray.air import session\n\n\ndef f():\n    session.report({})\n")
    result = CliRunner().invoke(main, ["."], catch_exceptions=False)
    assert result.exit_code == 2
    assert "raymigrate met an error of its own (ParserSyntaxError" in result.stderr
    assert "ray.train.report" in Path("train.py").read_text()


LOOP = """from accelerate import Accelerator
from ray.air import session
from ray.train.huggingface import AccelerateTrainer


def loop():
    Accelerator()


{use}
"""


@pytest.mark.parametrize(
    ("use", "code"),
    [
        ("AccelerateTrainer(loop, accelerate_config={}).prepare(model)", "RM723"),
        ("model = AccelerateTrainer(train_loop_per_worker=loop, accelerate_config={}).nothing", "RM723"),
        ("trainer = AccelerateTrainer(loop, accelerate_config={}, runn_config=None)", "RM693"),
    ],
)
def test_comments_tell_at_once_what_only_the_new_code_gives_rise_to(use: str, code: str) -> None:
    """The trainer is a TorchTrainer once it is converted: what that lacks was told by the next run only."""
    Path("train.py").write_text(LOOP.format(use=use))
    texts = []
    for _ in range(2):
        CliRunner().invoke(main, ["--todo", "train.py"], catch_exceptions=False)
        texts.append(Path("train.py").read_text())
    assert f"# TODO(raymigrate): {code}" in texts[0]
    assert texts[0] == texts[1]


NATIVE = """import torch
from torch.utils.data import DataLoader
from transformers import AutoModel


def train_epoch({parameters}):
    for batch in loader:
        loss = model(batch.to({device})).loss
        {step}
        optimizer.zero_grad()


def main():
    args = parse()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    loader = DataLoader(rows, batch_size=8, shuffle=True)
    model = AutoModel.from_pretrained("a").to(device)
    optimizer = torch.optim.AdamW(model.parameters())
    scaler = torch.amp.GradScaler("cuda")
    train_epoch(model, loader, optimizer, {given})
    train_epoch(model, loader, optimizer)


main()
"""


@pytest.mark.parametrize("parameter", ["device", 'device="cuda"', "*, device"])
def test_a_call_that_gives_a_function_no_device_is_no_error_of_our_own(parameter: str) -> None:
    given = "device=device" if "*" in parameter else "device"
    step = "loss.backward()\n        optimizer.step()"
    text = NATIVE.format(parameters=f"model, loader, optimizer, {parameter}", device="device", given=given, step=step)
    Path("train.py").write_text(text)
    result = CliRunner().invoke(main, ["--to-accelerate", "train.py"], catch_exceptions=False)
    assert result.exit_code in (0, 1), result.output


@pytest.mark.parametrize("parameter", ["scaler", "scaler=None", "*, scaler"])
def test_a_call_that_gives_a_function_no_scaler_is_told(parameter: str) -> None:
    given = "scaler=scaler" if "*" in parameter else "scaler"
    step = "scaler.scale(loss).backward()\n        scaler.step(optimizer)\n        scaler.update()"
    text = NATIVE.format(parameters=f"model, loader, optimizer, {parameter}", device='"cuda"', given=given, step=step)
    Path("train.py").write_text(text)
    result = CliRunner().invoke(main, ["--to-accelerate", "train.py"], catch_exceptions=False)
    assert result.exit_code == 1, result.output
    assert "RM851" in result.stdout
    assert Path("train.py").read_text() == text


IMPORTED_LATER = """from ray import air, tune
from ray.air import session


def {head}:
    {code}
    {local}


tune.Tuner(trial)
"""


@pytest.mark.parametrize(
    "local", ["import ray", "import ray.train", "if x:\n        import ray", "from ray import tune"]
)
@pytest.mark.parametrize("code", ["session.report({})", "air.RunConfig()", "air.Checkpoint(uri='s3://a')"])
@pytest.mark.parametrize("head", ["train(config)", "trial(config)"])
def test_a_function_that_imports_ray_further_down_calls_nothing_by_that_name_before(
    local: str, code: str, head: str
) -> None:
    text = IMPORTED_LATER.format(head=head, code=code, local=local)
    Path("train.py").write_text(text)
    result = CliRunner().invoke(main, ["train.py"], catch_exceptions=False)
    assert result.exit_code in (0, 1), result.output
    lines = Path("train.py").read_text().splitlines()
    name = "tune." if "tune" in local else "ray."
    head, local = (next(n for n, line in enumerate(lines) if part in line) for part in ("def ", f"{local[-10:]}"))
    assert not any(line.lstrip().startswith(name) for line in lines[head:local])


def test_a_function_that_imports_ray_first_calls_it_by_its_name() -> None:
    after = assert_converts("from ray.air import session\n\n\ndef f():\n    import ray\n    session.report(ray)\n")
    assert "ray.train.report(ray)" in after


WITH_STATE = """from ray.air import Checkpoint, session

{outside} = "outside"


def train_loop(config):
    print({outside})
    last = session.get_checkpoint()
    if last:
        state = last.to_dict()
    print({outside})
    session.report({{}}, checkpoint=Checkpoint.from_dict({{"a": 1}}))
"""


@pytest.mark.parametrize("outside", ["checkpoint", "checkpoint_dir", "checkpoint_data"])
def test_generated_variables_hide_no_name_that_a_function_reads_from_outside(outside: str) -> None:
    after = assert_converts(WITH_STATE.format(outside=outside))
    assert f"new_{outside}" in after
    assert after.count(f"print({outside})") == 2


@pytest.mark.parametrize("line", ["from torch import nn; x = 1", "x = 1; from torch import nn", "x = 1; y = 2"])
def test_statements_of_an_accelerate_script_that_share_a_line_all_run(line: str) -> None:
    text = f"""from accelerate import Accelerator
import torch
{line}
accelerator = Accelerator()
model = accelerator.prepare(torch.nn.Linear(1, 1))
for x, y in batches():
    accelerator.backward(model(x))
"""
    Path("train.py").write_text(text)
    result = CliRunner().invoke(main, ["--to-ray", "train.py"], catch_exceptions=False)
    assert result.exit_code == 1, result.output
    assert "RM802" not in result.stdout
    after = Path("train.py").read_text()
    assert {ast.unparse(node) for node in ast.walk(ast.parse(text)) if isinstance(node, ast.stmt)} <= {
        ast.unparse(node).replace("Accelerator(cpu=True)", "Accelerator()")
        for node in ast.walk(ast.parse(after))
        if isinstance(node, ast.stmt)
    }
    CliRunner().invoke(main, ["--to-ray", "train.py"], catch_exceptions=False)
    assert Path("train.py").read_text() == after


@pytest.mark.parametrize("block", ["class Training:", "class Training(Base):"])
def test_a_training_loop_in_the_body_of_a_class_stays_native(block: str) -> None:
    text = NATIVE.format(
        parameters="model, loader, optimizer",
        device='"cuda"',
        given="",
        step="loss.backward()\n        optimizer.step()",
    )
    calls = "    train_epoch(model, loader, optimizer, )\n    train_epoch(model, loader, optimizer)\n"
    assert calls in text
    text = text.replace(calls, f"    {block}\n        train_epoch(model, loader, optimizer)\n")
    Path("train.py").write_text(text)
    result = CliRunner().invoke(main, ["--to-accelerate", "train.py"], catch_exceptions=False)
    assert result.exit_code == 1, result.output
    assert "RM851" in result.stdout
    assert Path("train.py").read_text() == text


def test_comments_say_once_what_keeps_the_second_step_from_a_script_that_the_first_one_converted() -> None:
    text = (
        NATIVE.format(
            parameters="model, loader, optimizer",
            device='"cuda"',
            given="",
            step="loss.backward()\n        optimizer.step()",
        )
        .replace("    train_epoch(model, loader, optimizer, )\n", "")
        .replace("args = parse()", "args = input()")
    )
    Path("train.py").write_text(text)
    texts = []
    for _ in range(2):
        CliRunner().invoke(main, ["--todo", "--to-accelerate", "--to-ray", "train.py"], catch_exceptions=False)
        texts.append(Path("train.py").read_text())
    assert "from accelerate import Accelerator" in texts[0]
    assert texts[0].count("# TODO(raymigrate): RM802") == 1
    assert texts[1] == texts[0]


SPAWNED = """import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler


def main(rank):
    loader = DataLoader(rows, batch_size=8, sampler=DistributedSampler(rows))
    model = DDP(torch.nn.Linear(1, 1).to(rank), device_ids=[rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for inputs in loader:
        optimizer.zero_grad()
        loss = model(inputs.to(rank)).sum()
        loss.backward()
        optimizer.step()


main(0)
{behind}
"""


@pytest.mark.parametrize("behind", ["dist.barrier()", "if dist.get_rank() == 0:\n    print('done')"])
def test_code_that_needs_the_accelerator_outside_of_the_function_that_makes_it_is_told(behind: str) -> None:
    text = SPAWNED.format(behind=behind)
    Path("train.py").write_text(text)
    result = CliRunner().invoke(main, ["--to-accelerate", "train.py"], catch_exceptions=False)
    assert result.exit_code == 1, result.output
    assert "RM851" in result.stdout
    assert Path("train.py").read_text() == text


@pytest.mark.parametrize("value", ["a, b", "(a, b)", "((a, b))", "(a for a in b)", "(\n    a,\n    b\n)"])
def test_brackets_of_a_tuple_or_a_generator_are_part_of_it(value: str) -> None:
    text = f"x = f({value})\ny = {value if 'for' in value else f'({value})'}\n"
    module, plan = Module(text), Plan()
    found = [node for node in module.nodes if isinstance(node, (ast.Tuple, ast.GeneratorExp))]
    for node in found:
        plan.replace(node, "g($old)", old=node.elts[0] if isinstance(node, ast.Tuple) else node.elt)
    assert rewrite(module, plan).count("g(a)") == len(found) > 0


@pytest.mark.parametrize("trains", ["accelerator.backward(model(x))", "Trainer(model=model).train()"])
@pytest.mark.parametrize(
    ("again", "is_told"),
    [
        ("if several:\n    import torch.nn", False),  # it stays where it is
        ("torch = wrap(torch)", True),
        ("config = load(config, torch.nn)", True),
        ("config = load(torch.nn)", False),
        ("import torch.nn", False),
    ],
)
def test_an_imported_name_that_gets_another_value_in_the_training_function_is_told(
    trains: str, again: str, is_told: bool
) -> None:
    text = f"""import torch
from accelerate import Accelerator
from settings import config
from transformers import Trainer

{"accelerator = Accelerator()" if "accelerator" in trains else ""}
model = torch.nn.Linear(1, 1)
{again}
x = torch.ones(1, device=config)
{trains}
"""
    Path("train.py").write_text(text)
    result = CliRunner().invoke(main, ["--to-ray", "train.py"], catch_exceptions=False)
    assert result.exit_code in (0, 1), result.output
    assert ("is imported by the module" in result.stdout) == is_told
    assert (Path("train.py").read_text() == text) == is_told


def test_an_attribute_of_a_number_stays_python() -> None:
    module, plan = Module("x = 32 .to(old)\n"), Plan()
    call = next(node for node in module.nodes if isinstance(node, ast.Call))
    assert isinstance(call.func, ast.Attribute)
    plan.replace(call, "$owner.to(new)", owner=call.func.value)
    assert rewrite(module, plan) == "x = (32).to(new)\n"


def test_comments_are_written_to_no_file_with_a_carriage_return_amid_a_line() -> None:
    text = "from ray.train.torch import TorchPredictor\n\nx = f()\r    \nprint(TorchPredictor.from_model(x))\n"
    Path("predict.py").write_bytes(text.encode())
    result = CliRunner().invoke(main, ["--todo", "predict.py"], catch_exceptions=False)
    assert result.exit_code == 2, result.output
    assert "carriage return alone" in result.stderr
    assert Path("predict.py").read_bytes() == text.encode()


def test_comments_about_a_result_that_another_file_hands_on_stay() -> None:
    """The file that reads it imports no Ray: a later run looks at it by itself, and asked nobody who calls it."""
    Path("report.py").write_text(
        'def tell(result):\n    print(result.metrics["loss"], result.metrics["time_total_s"])\n'
    )
    Path("train.py").write_text(
        """from ray.air.config import ScalingConfig
from ray.train.huggingface import AccelerateTrainer
from report import tell
from training import train_loop

trainer = AccelerateTrainer(train_loop, accelerate_config={}, scaling_config=ScalingConfig(num_workers=2))
tell(trainer.fit())
"""
    )
    for _ in range(2):
        result = CliRunner().invoke(main, ["--todo", "."], catch_exceptions=False)
        assert result.exit_code == 1, result.output
        assert "TODO(raymigrate): RM604" in Path("report.py").read_text()

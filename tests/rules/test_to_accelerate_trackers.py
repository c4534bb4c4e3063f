"""--to-accelerate: what logs with wandb, mlflow and TensorBoard."""

from pathlib import Path

import pytest

from tests.rules.test_to_accelerate import HEAD, LOOP, accelerated
from tests.rules.test_to_accelerate_files import project

FIRST = 'os.environ.get("RANK", "0") == "0"'
MAIN = "accelerator.is_main_process"
WANDB = f"import wandb\n{HEAD}"
WRITER = f"from torch.utils.tensorboard import SummaryWriter\n{HEAD}"
ACCURACY = "def accuracy(net, x, y):\n    return (net(x).argmax(1) == y).float().mean()\n\n\n"


@pytest.mark.parametrize(
    "start",
    [
        "wandb.init()\n{rest}",
        "run = wandb.init()\n{rest}",
        "with wandb.init() as run:\n    {rest}",
        "if torch.cuda.is_available():\n    wandb.init()\n{rest}",
    ],
)
@pytest.mark.parametrize(
    "rest", ["wandb.config.update({})\n", "wandb.run.summary['a'] = 1\n", "wandb.log({})\n", "lr = wandb.config.lr\n"]
)
def test_what_speaks_to_a_run_of_wandb_needs_no_condition(start: str, rest: str) -> None:
    outcome = accelerated(start.format(rest=rest), LOOP, head=WANDB)
    assert f'wandb.init(mode=None if {MAIN} else "disabled")' in outcome.text
    assert rest in outcome.text
    assert f"if {MAIN}:" not in outcome.text
    assert not any("RM857" in message and "a run of its own" in message for message in outcome.messages)


def test_settings_that_may_hold_a_mode_are_handed_on() -> None:
    text = accelerated("wandb.init(**data.settings)\n", LOOP, head=WANDB).text
    assert f'**(data.settings if {MAIN} else {{**data.settings, "mode": "disabled"}})' in text


@pytest.mark.parametrize(
    "mode",
    [
        "os.environ.get('WANDB_MODE', 'disabled')",
        "os.getenv('WANDB_MODE', 'disabled')",
        "data.mode or 'disabled'",
        "{True: 'online', False: 'disabled'}[data.is_on]",
    ],
)
def test_a_mode_that_a_setting_chooses_is_that_of_the_main_process(mode: str) -> None:
    text = accelerated("import os\n", f"wandb.init(mode={mode})\n", LOOP, head=WANDB).text
    assert f'wandb.init(mode={mode} if {MAIN} else "disabled")' in text


@pytest.mark.parametrize(
    "mode", ["'disabled'", "'online' if rank == 0 else 'disabled'", "('online', 'disabled')[rank > 0]"]
)
def test_a_mode_that_is_off_or_asks_for_the_process_stays(mode: str) -> None:
    start = f"rank = int(os.environ.get('RANK', 0))\nwandb.init(mode={mode})\n"
    assert '"disabled"' not in accelerated("import os\n", start, LOOP, head=WANDB).text


def test_a_run_that_starts_before_there_is_an_accelerator_asks_the_environment() -> None:
    body = "".join(f"    {line}\n" for line in (HEAD.partition("device = ")[2] + LOOP).splitlines())
    imports, _, _ = HEAD.partition("device = ")
    script = f"import wandb\n{imports}wandb.init()\n\n\ndef main():\n    device = {body.lstrip()}\n\nmain()\n"
    text = accelerated(script, head="").text
    assert f'wandb.init(mode=None if {FIRST} else "disabled")' in text
    assert "import os\n" in text
    assert "    accelerator = Accelerator()\n" in text


@pytest.mark.parametrize(
    ("use", "words"),
    [
        ("folder = wandb.use_artifact('a:latest').download()\n", "use_artifact() has nothing to give"),
        ("folder = f'out/{wandb.run.id}'\n", "`wandb.run.id` differs between the processes"),
        ("wandb.agent('sweep', print)\n", "asks the sweep too"),
    ],
)
def test_what_a_disabled_run_has_not_is_told(use: str, words: str) -> None:
    assert any(words in message for message in accelerated("wandb.init()\n", use, LOOP, head=WANDB).messages)
    assert not any(words in message for message in accelerated(use, LOOP, head=HEAD).messages)


def test_what_the_script_itself_leaves_to_one_process_stays() -> None:
    head = f"import wandb\nimport torch.distributed as dist\n{HEAD}"
    text = accelerated("if dist.get_rank() == 0:\n    wandb.init()\n", LOOP, "    wandb.log({})\n", head=head).text
    assert f"if {MAIN}:\n    wandb.init()\n" in text
    assert f"    if {MAIN}:\n        wandb.log({{}})\n" in text


def test_a_run_that_another_file_starts_is_told(tmp_path: Path) -> None:
    script = f"from tracking import start\n{HEAD}start()\n{LOOP}"
    _, messages = project(tmp_path, main=script, tracking="import wandb\n\n\ndef start():\n    wandb.init()\n")
    assert any("tracking.py: every process of a distributed run logs here" in message for message in messages)


# -- TensorBoard -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        "accuracy(model, x, y)",
        "(model(x).argmax(1) == y).float().mean()",
        "{'train': accuracy(model, x, y)}",
        "accuracy(model, x, y).item() * 100",
    ],
)
@pytest.mark.parametrize("call", ["'a', {value}, 1", "'a', scalar_value={value}"])
def test_all_processes_work_out_what_one_of_them_writes(value: str, call: str) -> None:
    line = f"writer.add_scalar({call.format(value=value)})"
    start = f"{ACCURACY}writer = SummaryWriter()\n"
    outcome = accelerated(start, LOOP, f"    {line}\n    writer.flush()\n", head=WRITER)
    guarded = f"    if {MAIN}:\n        {line.replace(value, 'logged')}\n"
    assert f"    logged = {value}\n{guarded}    if {MAIN}:\n        writer.flush()\n" in outcome.text
    assert not any("is None" in message for message in outcome.messages)


def test_several_values_are_worked_out_in_their_order() -> None:
    line = "    writer.add_scalars(accuracy(model, x, y), *accuracy(model, y, x))\n"
    text = accelerated(f"{ACCURACY}writer = SummaryWriter()\n", LOOP, line, head=WRITER).text
    assert "    logged = accuracy(model, x, y)\n    logged_2 = accuracy(model, y, x)\n" in text
    assert "        writer.add_scalars(logged, *logged_2)\n" in text


def test_the_graph_is_that_of_the_model_without_its_wrapper() -> None:
    text = accelerated("writer = SummaryWriter()\n", LOOP, "writer.add_graph(model, x)\n", head=WRITER).text
    assert f"if {MAIN}:\n    writer.add_graph(accelerator.unwrap_model(model), x)\n" in text
    early = WRITER.replace("\nloader", "\nwriter = SummaryWriter()\nwriter.add_graph(model, x)\nloader", 1)
    text = accelerated(LOOP, head=early).text
    assert "    writer.add_graph(model, x)\n" in text  # which is not prepared yet


@pytest.mark.parametrize(
    ("use", "words"),
    [
        ("print(writer.log_dir)\n", "this raises an AttributeError there"),
        ("data.show(writer)\n", "data.show() gets it"),
        ("data.show(to=writer)\n", "data.show() gets it"),
        ("names = [writer.add_scalar('a', 1) for _ in range(2)]\n", "this raises an AttributeError there"),
    ],
)
def test_a_writer_that_other_processes_do_not_have_is_told_of(use: str, words: str) -> None:
    messages = accelerated("writer = SummaryWriter()\n", LOOP, use, head=WRITER).messages
    assert any("`writer` is None in all processes but the first" in m and words in m for m in messages)


@pytest.mark.parametrize(
    "use",
    [
        "if writer is not None:\n    writer.close()\n",
        "def close(writer):\n    writer.close()\n\n\nclose(writer)\n",
        "print(isinstance(writer, SummaryWriter))\n",
    ],
)
def test_a_writer_that_is_followed_is_not_told_of(use: str) -> None:
    messages = accelerated("writer = SummaryWriter()\n", LOOP, use, head=WRITER).messages
    assert not any("is None in all processes" in message for message in messages)

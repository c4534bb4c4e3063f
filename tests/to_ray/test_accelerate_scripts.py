"""Plain Accelerate scripts under --to-ray: spellings of what is converted, told or refused."""

import textwrap
from pathlib import Path

import pytest

from raymigrate.base.findings import Kind
from raymigrate.base.options import Options
from raymigrate.run.engine import convert
from raymigrate.run.outcome import FileResult
from tests.test_cli import invoke

SCRIPT = """\
from datetime import timedelta

import evaluate
import torch
from accelerate import Accelerator
from accelerate.utils import InitProcessGroupKwargs


def average(total):
    return float(total) / 2


def same(value):
    return value


def train(epochs):
    accelerator = Accelerator({arguments})
    model, optimizer, loader = accelerator.prepare(*make())
    metric = evaluate.load("accuracy")
    for epoch in range(epochs):
        total = 0.0
        for batch in loader:
            loss = model(**batch).loss
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
            total += loss.item()
{end}


train(3)
"""


def converted(end: str = "", arguments: str = "", path: str = "", **options: object) -> FileResult:
    text = SCRIPT.replace("{arguments}", arguments).replace("{end}", textwrap.indent(textwrap.dedent(end), " " * 8))
    return convert(text, path, options=Options(to_ray=True, **options))  # type: ignore[arg-type]


def reported(end: str) -> str:
    after = str(converted(end).after)
    [line] = [line.strip() for line in after.splitlines() if "ray.train.report" in line]
    return line.removeprefix("ray.train.report(").removesuffix(")")


@pytest.mark.parametrize(
    ("end", "metrics"),
    [
        ("pass", '{"epoch": epoch}'),
        ("scores = metric.compute()\nprint(epoch, scores)", '{"epoch": epoch, **scores}'),
        ("scores = metric.compute()\nprint(scores['accuracy'])", '{"epoch": epoch, **scores}'),
        ("mean = total / len(loader)\naccelerator.print(f'{epoch}: {mean:.3f}')", '{"epoch": epoch, "mean": mean}'),
        ("mean = total / len(loader)\nprint(f'{100 * mean} %')", '{"epoch": epoch, "mean": mean}'),
        ("print('loss', total)", '{"epoch": epoch, "total": total}'),
        ("print('loss', loss)", '{"epoch": epoch}'),  # a tensor, which Ray refuses
        ("scores = metric.compute()\nprint(scores)\nscores = loss", '{"epoch": epoch}'),
        ("mean = total / 2\nprint(mean)\ndel mean", '{"epoch": epoch}'),
        ("print(total)\ntotal += 1", '{"epoch": epoch, "total": total}'),
        ("found = {'loss': total, 'most': max(total, 1)}\nprint(found)", '{"epoch": epoch, **found}'),
        ("found = dict(loss=total)\nfound['n'] = abs(total)\nprint(found['loss'])", '{"epoch": epoch, **found}'),
        ("found = {'loss': total}\nprint(found)\nfound = {'loss': loss}", '{"epoch": epoch}'),
        ("found = {'loss': total}\nprint(found)\nfound['last'] = loss", '{"epoch": epoch}'),
        ("found = {'loss': total, 'most': max(total, loss)}\nprint(found)", '{"epoch": epoch}'),
        ("found = {'loss': total}\nfound.update(job.more())\nprint(found)", '{"epoch": epoch}'),
        (
            "value = accelerator.gather(loss).mean()\nprint(value)",
            '{"epoch": epoch, "value": value.item()}',
        ),
        ("value = accelerator.gather(loss).mean().item()\nprint(value)", '{"epoch": epoch, "value": value}'),
        ("if accelerator.is_main_process:\n    mean = total / 2\n    print(mean)", '{"epoch": epoch}'),
        ("mean = average(total)\nprint(mean)", '{"epoch": epoch, "mean": mean}'),
        ("value = same(loss)\nprint(value)", '{"epoch": epoch, "value": value.item()}'),
        (
            "right = seen = 0\nright += loss.item()\nshare = right / seen\nprint(share)",
            '{"epoch": epoch, "share": share}',
        ),
        ("accelerator.log({'loss': total / len(loader)}, step=epoch)", "metrics"),
        ("accelerator.log({'loss': loss}, step=epoch)", '{"epoch": epoch}'),
        ("if accelerator.is_main_process:\n    accelerator.log({'loss': total})", '{"epoch": epoch, "total": total}'),
    ],
)
def test_numbers_that_every_worker_has_are_reported(end: str, metrics: str) -> None:
    assert reported(end) == metrics


@pytest.mark.parametrize(
    ("end", "next_line"),
    [
        ("print(total)\nif total < 1:\n    break\nprint(2)", "if total < 1:"),
        ("print(total)\nwith torch.no_grad():\n    if total < 1:\n        break", "with torch.no_grad():"),
        ("for batch in loader:\n    if batch:\n        break\nprint(total)", ""),
        ("if epoch < 1:\n    continue\nmean = total / 2\nprint(mean)", ""),
    ],
)
def test_the_report_comes_before_what_may_leave_the_loop_and_after_the_numbers(end: str, next_line: str) -> None:
    lines = [line.strip() for line in str(converted(end).after).splitlines()]
    place = next(number for number, line in enumerate(lines) if "ray.train.report" in line)
    assert lines[place + 1] == next_line


@pytest.mark.parametrize(
    ("end", "told"),
    [
        ("if total < 1:\n    break", True),
        ("mean = total / 2\nif mean < 1:\n    break", True),
        ("mean = accelerator.gather(loss).mean().item()\nif mean < 1:\n    break", False),
        ("if total < 1:\n    accelerator.set_trigger()\nif accelerator.check_trigger():\n    break", False),
        ("if epoch > 3:\n    break", False),
        ("scores = metric.compute()\nif scores['accuracy'] > 0.9:\n    break", False),
    ],
)
def test_a_loop_that_one_worker_may_leave_is_told(end: str, told: bool) -> None:
    found = [f for f in converted(end).findings if f.code == "RM828" and "whether the loop ends here" in f.message]
    assert bool(found) is told


@pytest.mark.parametrize(
    ("end", "told"),
    [
        ("torch.save(model.state_dict(), 'm.pt')", True),
        ("with open('log.txt', 'a') as file:\n    file.write('x')", True),
        ("with open('log.txt') as file:\n    file.read()", False),
        ("if accelerator.is_main_process:\n    torch.save(model.state_dict(), 'm.pt')", False),
        ("if accelerator.is_local_main_process and epoch:\n    torch.save(model.state_dict(), 'm.pt')", False),
        ("accelerator.save(model.state_dict(), 'm.pt')", False),
        ("import numpy as np\nnp.save('a.npy', [total])", True),
        ("import pathlib\npathlib.Path('a').write_text('x')", True),
        ("table.to_csv('a.csv')", True),
        ("print(table.to_csv())", False),
        ("table.to_csv(f'a{accelerator.process_index}.csv')", False),
        ("if not accelerator.is_main_process:\n    continue\ntable.to_csv('a.csv')", False),
        ("if accelerator.process_index == 0:\n    table.to_csv('a.csv')", False),
    ],
)
def test_a_file_that_every_process_writes_is_told(end: str, told: bool) -> None:
    found = [f for f in converted(end).findings if f.code == "RM828" and "Every process writes" in f.message]
    assert bool(found) is told
    assert all(("accelerator.save" in (f.advice or "")) == ("torch.save" in end) for f in found)


def test_a_file_that_the_driver_writes_is_written_once() -> None:
    text = SCRIPT.format(arguments="", end="pass").replace("def train(", "table.to_csv('a.csv')\n\n\ndef train(")
    found = convert(text, "", Options(to_ray=True)).findings
    assert any(f.code == "RM820" for f in found)
    assert not [f for f in found if "Every process writes" in f.message]


@pytest.mark.parametrize(
    ("step", "told"),
    [
        ("out = model(batch)\naccelerator.backward(out.sum())\naccelerator.backward(out.mean())", True),
        ("out = model(batch)\na, b = out.sum(), out.mean()\naccelerator.backward(b)\naccelerator.backward(a)", True),
        ("net = model\nout = net(batch)\naccelerator.backward(out.sum())\naccelerator.backward(out.mean())", True),
        ("accelerator.backward(model(batch).sum())\naccelerator.backward(model(batch).mean())", False),
        ("out = model(batch)\naccelerator.backward(out.sum())\naccelerator.backward(other(out.detach()))", False),
        ("out = other(batch)\naccelerator.backward(out.sum())\naccelerator.backward(out.mean())", False),
        ("out = model(batch)\naccelerator.backward(out.sum() + out.mean())", False),
    ],
)
def test_a_second_backward_through_one_run_is_told(step: str, told: bool) -> None:
    lines = "            loss = model(**batch).loss\n            accelerator.backward(loss)\n"
    text = SCRIPT.format(arguments="", end="        pass")
    assert lines in text
    text = text.replace(lines, textwrap.indent(step, " " * 12) + "\n")
    found = convert(text, "", Options(to_ray=True)).findings
    assert any("two backward() here" in f.message for f in found if f.code == "RM828") is told


@pytest.mark.parametrize(
    ("arguments", "gpu", "expected"),
    [
        ("", False, "Accelerator(cpu=True)"),
        ("cpu=False", False, "Accelerator(cpu=True)"),
        ("cpu=True", False, "Accelerator(cpu=True)"),
        ("", True, "Accelerator()"),
        ("mixed_precision='bf16'", False, "Accelerator(mixed_precision='bf16', cpu=True)"),
    ],
)
def test_cpu_workers_are_joined(arguments: str, gpu: bool, expected: str) -> None:
    assert f"accelerator = {expected}" in str(converted(arguments=arguments, gpu=gpu).after)


@pytest.mark.parametrize(
    ("layers", "told"),
    [
        ("torch.nn.SyncBatchNorm.convert_sync_batchnorm(net())", True),
        ("torch.nn.Sequential(torch.nn.SyncBatchNorm(3))", True),
        ("torch.nn.BatchNorm1d(3)", False),
    ],
)
@pytest.mark.parametrize("gpu", [False, True])
def test_layers_that_want_a_gpu_are_told_on_cpu_workers(layers: str, told: bool, gpu: bool) -> None:
    script = f"import torch\nfrom job import net\nmodel = {layers}\n" + SCRIPT.format(arguments="", end="        pass")
    found = convert(script, "", Options(to_ray=True, gpu=gpu)).findings
    assert any("SyncBatchNorm that trains raises" in f.message for f in found if f.code == "RM821") is (
        told and not gpu
    )


@pytest.mark.parametrize("arguments", ["fsdp_plugin=plugin()", "mixed_precision='fp16'", "deepspeed_plugin=plugin()"])
def test_what_needs_gpus_asks_for_gpus(arguments: str) -> None:
    after = str(converted(arguments=arguments).after)
    assert "use_gpu=True" in after
    assert "cpu=True" not in after


def test_a_precision_that_is_not_seen_asks_for_none() -> None:
    assert "use_gpu=False" in str(converted(arguments="mixed_precision=settings.precision").after)


@pytest.mark.parametrize(
    ("handler", "gpu", "config", "left"),
    [
        ("InitProcessGroupKwargs(timeout=timedelta(hours=2))", True, "timeout_s=7200", ""),
        ("InitProcessGroupKwargs(timeout=timedelta(0, 90))", False, "timeout_s=90", ""),
        ('InitProcessGroupKwargs("gloo", timeout=timedelta(minutes=1.5))', True, 'backend="gloo", timeout_s=90', ""),
        ('InitProcessGroupKwargs(backend="nccl", timeout=timedelta(seconds=60))', False, "timeout_s=60", ""),
        ("same(1), InitProcessGroupKwargs(timeout=timedelta(days=1))", True, "timeout_s=86400", "[same(1)]"),
    ],
)
def test_what_is_asked_of_the_process_group_is_asked_of_ray(handler: str, gpu: bool, config: str, left: str) -> None:
    result = converted(arguments=f"kwargs_handlers=[{handler}]", gpu=gpu)
    assert f"torch_config=TorchConfig({config})" in str(result.after)
    assert "InitProcessGroupKwargs" not in str(result.after)
    assert (f"kwargs_handlers={left}" in str(result.after)) is bool(left)
    assert "kwargs_handlers" not in str(result.after) or left


def test_a_handler_with_a_name_goes_with_it() -> None:
    text = SCRIPT.replace("{end}", "        pass").replace(
        "Accelerator({arguments})", "Accelerator(kwargs_handlers=[group])"
    )
    text = text.replace(
        "    accelerator =", "    group = InitProcessGroupKwargs(timeout=timedelta(hours=1))\n    accelerator ="
    )
    after = str(convert(text, "", options=Options(to_ray=True, gpu=True)).after)
    assert "torch_config=TorchConfig(timeout_s=3600)" in after
    assert "group" not in after


@pytest.mark.parametrize(
    "handler",
    ["timeout=long", "timeout=timedelta(seconds=long)", "**settings", "init_method='tcp://a:1', timeout=timedelta(1)"],
)
def test_a_timeout_that_comes_too_late_and_is_not_seen_is_told(handler: str) -> None:
    result = converted(arguments=f"kwargs_handlers=[InitProcessGroupKwargs({handler})]")
    found = [f for f in result.findings if f.code == "RM827"]
    assert [f.kind for f in found] == [Kind.MANUAL]
    assert "InitProcessGroupKwargs(" in str(result.after)


@pytest.mark.parametrize(
    ("head", "end", "report"),
    [
        ("while epoch < epochs:", "epoch += 1", '{"epoch": epoch}'),
        ("while epoch < epochs:", "epoch += 1\nprint(total)", '{"epoch": epoch, "total": total}'),
        ("while True:", "print(total)\nif total < 1:\n    break", '{"total": total}'),
        ("for _ in range(epochs):", "print(total)", '{"total": total}'),
    ],
)
def test_each_pass_of_a_while_loop_is_reported_too(head: str, end: str, report: str) -> None:
    text = SCRIPT.replace("    for epoch in range(epochs):", f"    epoch = 0\n    {head}").replace("{arguments}", "")
    text = text.replace("{end}", textwrap.indent(end, " " * 8))
    assert f"        ray.train.report({report})" in str(convert(text, "", options=Options(to_ray=True)).after)


@pytest.mark.parametrize("head", ["while True:", "for _ in range(epochs):"])
def test_an_epoch_of_which_no_number_is_known_is_told(head: str) -> None:
    text = SCRIPT.replace("    for epoch in range(epochs):", f"    {head}").replace("{arguments}", "")
    result = convert(text.replace("{end}", "        scheduler.step()"), "", options=Options(to_ray=True))
    assert "ray.train.report" not in str(result.after)
    assert [f.kind for f in result.findings if f.code == "RM823"] == [Kind.MANUAL]


def test_a_while_loop_that_rests_on_a_loss_of_one_worker_is_told() -> None:
    text = SCRIPT.replace("    for epoch in range(epochs):", "    total = 9.0\n    while total > 1:").replace(
        "{arguments}", ""
    )
    result = convert(text.replace("{end}", "        print(total)"), "", options=Options(to_ray=True))
    assert any("leave it while others wait" in finding.message for finding in result.findings)


@pytest.mark.parametrize(("first", "is_told"), [("total", True), ("epochs", False)])
def test_a_loss_is_looked_for_behind_values_that_are_worked_out_of_each_other(first: str, is_told: bool) -> None:
    """There are a thousand million ways from name to name; each name is looked at once."""
    text = SCRIPT.replace("    for epoch in range(epochs):", "    total = a_30 = 9.0\n    while a_30 > 1:")
    lines = "".join(f"        a_{n} = a_{n - 1} + b_{n - 1}\n        b_{n} = a_{n}, a_{n - 1}\n" for n in range(1, 31))
    text = text.replace("{arguments}", "").replace("{end}", f"        a_0 = b_0 = {first}\n{lines}")
    result = convert(text, "", options=Options(to_ray=True))
    assert any("leave it while others wait" in finding.message for finding in result.findings) is is_told


@pytest.mark.parametrize("loop", ["range(epochs)", "range(first, epochs)"])
def test_a_state_that_is_saved_each_epoch_becomes_the_checkpoint(loop: str) -> None:
    text = SCRIPT.replace("{arguments}", "").replace("range(epochs)", loop)
    text = text.replace("    for epoch", "    first = 0\n    for epoch").replace(
        "{end}", "        accelerator.save_state(f'/states/{epoch}')"
    )
    after = str(convert(text, options=Options(to_ray=True)).after)
    name = "first_epoch" if loop == "range(epochs)" else "first"
    assert f'{name} = checkpoint.get_metadata()["epoch"] + 1' in after
    assert f"for epoch in range({name}, epochs):" in after
    assert "accelerator.save_state(f'/states/{epoch}')" in after
    assert 'ray.train.report({"epoch": epoch}, checkpoint=new_checkpoint)' in after
    compile(after, "after.py", "exec")


@pytest.mark.parametrize(
    ("arguments", "end"),
    [
        ("project_config=ProjectConfiguration('runs', automatic_checkpoint_naming=True)", "accelerator.save_state()"),
        (
            "project_config=ProjectConfiguration('runs', automatic_checkpoint_naming=named)",
            "accelerator.save_state('/s')",
        ),
    ],
)
def test_states_whose_folder_accelerate_chooses_are_told_and_not_reported(arguments: str, end: str) -> None:
    result = converted(end, arguments)
    assert "checkpoint=" not in str(result.after) and "get_checkpoint" not in str(result.after)
    assert any(f.code == "RM823" and f.kind is Kind.MANUAL for f in result.findings)
    kept = converted("accelerator.save_state('/s')", arguments.replace("named", "False").replace("True", "False"))
    assert "checkpoint=new_checkpoint" in str(kept.after)


LAUNCH = """\
from accelerate import Accelerator, {name}

SETTINGS = (3, "no")


def loop(epochs=1, precision="no"):
    accelerator = Accelerator(mixed_precision=precision)
    model, optimizer, loader = accelerator.prepare(*make())
    for epoch in range(epochs):
        for batch in loader:
            accelerator.backward(model(batch))
            optimizer.step()


{call}
"""


@pytest.mark.parametrize(
    ("call", "workers", "started"),
    [
        ("notebook_launcher(loop, num_processes=2)", 2, "loop()"),
        ("notebook_launcher(loop, (), 4)", 4, "loop()"),
        ('notebook_launcher(loop, (3, "no"), num_processes=2)', 2, 'loop(3, "no")'),
        ("notebook_launcher(loop, args=SETTINGS, num_processes=2)", 2, "loop(*SETTINGS)"),
        ("notebook_launcher(function=loop, args=[3])", 1, "loop(3)"),
        ("debug_launcher(loop)", 2, "loop()"),
    ],
)
def test_a_launcher_becomes_a_call_in_the_training_function(call: str, workers: int, started: str) -> None:
    text = LAUNCH.format(name=call.partition("(")[0], call=call)
    result = convert(text, options=Options(to_ray=True, gpu=False))
    after = str(result.after)
    assert [f.kind for f in result.findings if f.code == "RM826"] == [Kind.CONVERTED]
    assert f"    {started}\n" in after
    assert f"num_workers={workers}" in after
    assert "_launcher" not in after


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("notebook_launcher(loop)\nnotebook_launcher(loop)", "Two trainings in one script (lines 15, 16)"),
        ("notebook_launcher(*given)", "cannot be seen"),
        ("result = notebook_launcher(loop)", "cannot be seen"),
    ],
)
def test_a_launcher_that_is_not_understood_is_refused(call: str, words: str) -> None:
    result = convert(LAUNCH.format(name="notebook_launcher", call=call), options=Options(to_ray=True))
    assert result.after is None
    assert [f.code for f in result.findings] == ["RM802"]
    assert words in result.findings[0].message


def test_what_a_launcher_sets_without_effect_is_dropped_and_told() -> None:
    call = 'notebook_launcher(loop, num_processes=2, mixed_precision="fp16")'
    result = convert(LAUNCH.format(name="notebook_launcher", call=call), options=Options(to_ray=True))
    told = {f.kind: f.message for f in result.findings if f.code == "RM826"}
    assert set(told) == {Kind.CONVERTED, Kind.NOTE}
    assert told[Kind.NOTE].startswith("mixed_precision= of notebook_launcher has no effect")
    assert "fp16" not in str(result.after)


def test_without_the_option_nothing_happens() -> None:
    for text in (
        SCRIPT.replace("{arguments}", "").replace("{end}", ""),
        LAUNCH.format(name="notebook_launcher", call=""),
    ):
        result = convert(text)
        assert (result.after, result.findings) == (None, [])


def test_an_accelerator_of_ones_own_is_left_alone() -> None:
    text = SCRIPT.replace("from accelerate import Accelerator", "from cars import Accelerator")
    result = convert(text.replace("{arguments}", "").replace("{end}", ""), options=Options(to_ray=True))
    assert (result.after, result.findings) == (None, [])


def test_the_line_that_launched_the_script_gives_the_workers_and_is_told(tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text("accelerate launch --multi_gpu --num_processes 4 train.py\n")
    (tmp_path / "train.py").write_text("")
    result = converted(path=str(tmp_path / "train.py"))
    assert "ScalingConfig(num_workers=4, use_gpu=True)" in str(result.after)
    assert any(f.code == "RM824" and "run.sh:1" in f.message for f in result.findings)
    assert "num_workers=2, use_gpu=False" in str(converted(path=str(tmp_path / "train.py"), workers=2, gpu=False).after)


TRAINER = """\
from transformers import Trainer, TrainingArguments

trainer = Trainer(make(), TrainingArguments("runs"), train_dataset=rows())
trainer.train()
"""


@pytest.mark.parametrize(
    ("file", "scaling", "variables"),
    [
        (
            "distributed_type: MULTI_GPU\nnum_processes: 4\nmixed_precision: bf16\n",
            "num_workers=4, use_gpu=True",
            "bf16",
        ),
        ("distributed_type: MULTI_GPU\nnum_processes: 2\n", "num_workers=2, use_gpu=True", ""),
        ("distributed_type: MULTI_CPU\nnum_processes: 2\nuse_cpu: true\n", "num_workers=2, use_gpu=False", ""),
        (
            "distributed_type: DEEPSPEED\nnum_processes: 2\ndeepspeed_config: {zero_stage: 3}\n",
            "num_workers=2",
            "ZERO_STAGE",
        ),
    ],
)
def test_a_trainer_gets_what_accelerate_launch_exported(
    file: str, scaling: str, variables: str, tmp_path: Path
) -> None:
    (tmp_path / "default_config.yaml").write_text(file)
    (tmp_path / "train.py").write_text("")
    after = str(convert(TRAINER, str(tmp_path / "train.py"), options=Options(to_ray=True)).after)
    assert f"ScalingConfig({scaling}" in after
    assert ("env_vars" in after) == bool(variables)
    assert variables in after


@pytest.mark.parametrize("script", [TRAINER, SCRIPT.replace("{arguments}", "").replace("{end}", "")])
@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("distributed_type: XLA\n", "XLA is started by accelerate itself"),
        (
            "distributed_type: MULTI_GPU\nsteps: 1\n",
            "default_config.yaml: accelerate 1.15 rejects this file: The config",
        ),
    ],
)
def test_a_script_whose_launch_has_no_form_is_refused(script: str, file: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "default_config.yaml").write_text(file)
    (tmp_path / "train.py").write_text("")
    result = convert(script, str(tmp_path / "train.py"), options=Options(to_ray=True))
    assert result.after is None
    assert [finding.code for finding in result.findings] == ["RM802"]
    assert words in result.findings[0].message


@pytest.mark.parametrize("script", [TRAINER, SCRIPT.replace("{arguments}", "").replace("{end}", "")])
@pytest.mark.parametrize("kind", ["FSDP", "DEEPSPEED"])
def test_what_needs_gpus_is_dropped_and_told_where_the_user_wants_cpus(script: str, kind: str, tmp_path: Path) -> None:
    text = f"distributed_type: {kind}\nnum_processes: 2\nmixed_precision: bf16\ndeepspeed_config: {{zero_stage: 3}}\n"
    (tmp_path / "default_config.yaml").write_text(text)
    (tmp_path / "train.py").write_text("")
    result = convert(script, str(tmp_path / "train.py"), options=Options(to_ray=True, gpu=False))
    assert result.after is not None
    assert not any(word in result.after for word in ("plugin", "FSDP", "DEEPSPEED", "TorchConfig"))
    assert "bf16" in result.after and "num_workers=2, use_gpu=False" in result.after
    (told,) = (finding for finding in result.findings if f"{kind} needs GPUs" in finding.message)
    assert told.code == "RM822"


@pytest.mark.parametrize(
    ("start", "told"),
    [
        ("trackio.init(project='x')", True),
        ("wandb.init(project='x')", False),  # disabled on the others now: see test_trackers
        ("writer = SummaryWriter('logs')", True),
        ("if accelerator.is_main_process:\n        wandb.init(project='x')", False),
        ("accelerator.init_trackers('x')", False),
    ],
)
def test_a_tracker_that_each_worker_starts_is_told(start: str, told: bool) -> None:
    text = SCRIPT.replace("{arguments}", "").replace("{end}", "        pass")
    text = text.replace("    metric =", f"    {start}\n    metric =")
    imports = "import trackio\nimport wandb\nfrom torch.utils.tensorboard import SummaryWriter\n"
    messages = [finding.message for finding in convert(imports + text, "", options=Options(to_ray=True)).findings]
    assert any("each starts a run of its own" in message for message in messages) is told


ENGINE = """\
from accelerate import Accelerator


class Engine:
    def __init__(self, config):
        self.accelerator = Accelerator()

    def fit(self):
        for batch in loader:
            self.accelerator.backward(model(batch).loss)
            optimizer.step()
"""


@pytest.mark.parametrize(
    ("start", "line"),
    [
        ("from engine import Engine\n\n\ndef main():\n    Engine(3).fit()\n\n\nmain()\n", 5),
        ("import engine\n\nrun = engine.Engine(config=3)\nrun.fit()\n", 3),
    ],
)
def test_the_file_that_starts_the_training_of_another_is_named(start: str, line: int, tmp_path: Path) -> None:
    (tmp_path / "engine.py").write_text(ENGINE)
    (tmp_path / "main.py").write_text(start)
    said = invoke("--to-ray", "--check", tmp_path).stdout
    assert (
        f"No statement of this file starts the training: line {line} of {tmp_path}/main.py does, with Engine." in said
    )
    assert "Call Engine there in a function" in said


def test_a_training_that_no_file_starts_has_none_to_name(tmp_path: Path) -> None:
    (tmp_path / "engine.py").write_text(ENGINE)
    (tmp_path / "main.py").write_text("class Engine:\n    pass\n\n\nEngine()\n")
    assert "convert the script that calls it by hand" in invoke("--to-ray", "--check", tmp_path).stdout

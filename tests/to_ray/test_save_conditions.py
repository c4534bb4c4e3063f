"""On what condition an epoch reports a checkpoint: that on which the script saves its state (RM823)."""

from textwrap import indent

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
from accelerate import Accelerator
accelerator = Accelerator()
model, loader = accelerator.prepare(build(), rows())
best = 9.0
for epoch in range(3):
    loss = 0.0
    for batch in loader:
        accelerator.backward(model(batch))
        loss += 1.0
    print(epoch)
{save}
"""
STATE = 'accelerator.save_state("state")\n'
UNSURE = "on a condition that the end of the epoch cannot ask again"


def conditions(save: str) -> tuple[list[str], bool]:
    """The conditions of a checkpoint in the converted text, and whether a note says that each epoch keeps one."""
    outcome = converted(SCRIPT.format(save=indent(save, "    ")), to_ray=True)
    lines = [line.strip() for line in outcome.text.splitlines()]
    above = lines[lines.index("with tempfile.TemporaryDirectory() as checkpoint_dir:") - 1]
    asked = [above] if above.startswith("if ") else []
    assert outcome.text.count("ray.train.report(") == 1 + len(asked)
    assert ("    else:\n" in outcome.text) == bool(asked)
    assert len(outcome.lines("RM823", Kind.CONVERTED)) == 1
    return asked, any(UNSURE in message for message in outcome.messages)


def below(*tests: str) -> str:
    text = STATE
    for test in reversed(tests):
        text = f"{test}\n{indent(text, '    ')}"
    return text


@pytest.mark.parametrize(
    ("save", "condition"),
    [
        (STATE, ""),
        (below('if args.checkpointing_steps == "epoch":'), 'if args.checkpointing_steps == "epoch":'),
        (below("if epoch % 2 == 1:"), "if epoch % 2 == 1:"),
        (below("if args.save:", "if args.each or epoch == 2:"), "if args.save and (args.each or epoch == 2):"),
        (below("if args.each or epoch == 2:"), "if args.each or epoch == 2:"),
        (f"if args.steps:\n    pass\nelse:\n    {STATE}", "if not (args.steps):"),
        (
            f"if args.steps is None:\n    pass\nelif args.steps == 'epoch':\n    {STATE}",
            "if not (args.steps is None) and args.steps == 'epoch':",
        ),
        (below("if (\n    args.a\n    and args.b\n):"), "if args.a and args.b:"),
        (below('if settings["save"]:'), 'if settings["save"]:'),
        (below("with timer:"), ""),
        (below("if accelerator.is_main_process:"), ""),
        (below("if args.save and accelerator.is_main_process:"), "if args.save:"),
        (below("if accelerator.is_main_process:", "if args.a and args.b:"), "if args.a and args.b:"),
        (below("if loss < best:") + "print(epoch)\n", "if loss < best:"),
        (below("if args.a and args.b:") + below("if args.c:"), "if args.a and args.b or args.c:"),
        (below("if args.a or args.b:") + below("if args.c:"), "if (args.a or args.b) or args.c:"),
        (f"if args.a:\n    {STATE}else:\n    {STATE}", "if args.a or not (args.a):"),
        (below("if args.a:") + STATE, ""),
        (f"if loss < best:\n    best = loss\n    {STATE}{STATE}", ""),  # each epoch has one
        (below("if args.a:") + below("if accelerator.is_main_process and args.a:"), "if args.a:"),
    ],
)
def test_a_checkpoint_is_reported_where_the_script_saves(save: str, condition: str) -> None:
    assert conditions(save) == ([condition] if condition else [], False)


@pytest.mark.parametrize(
    "save",
    [
        f"if loss < best:\n    best = loss\n    {STATE}",
        f"{below('if loss < best:')}best = loss\n",
        below("if is_time(epoch):"),
        f"if state.due:\n    {STATE}    state.due = False\n",
        f"if not done:\n    done.append(epoch)\n    {STATE}",
        f'if flags["due"]:\n    flags["due"] = False\n    {STATE}',
    ],
)
def test_a_condition_that_may_change_is_told(save: str) -> None:
    assert conditions(save) == ([], True)


BEST = "if accelerator.is_main_process:\n    is_best = loss < best\n"


@pytest.mark.parametrize("head", ["", "is_best = False\n"])
def test_what_the_main_process_alone_is_given_is_asked_by_none(head: str) -> None:
    save = below("if accelerator.is_main_process and is_best:")
    assert conditions(f"{head}{BEST}{save}") == ([], True)


def test_a_save_whose_condition_cannot_be_asked_again_is_named_beside_one_that_is() -> None:
    save = f"{BEST}{below('if is_best:')}{below('if epoch % 2:')}"
    assert conditions(save) == (["if epoch % 2:"], True)

"""RM806: what a Trainer does with all workers is told where the first one alone comes to it."""

from textwrap import indent

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import Outcome, converted

SCRIPT = """
import os
from transformers import AutoModel, Trainer, TrainingArguments
import job


def shows(trainer):
    print(trainer.evaluate())


args = TrainingArguments("/out")
trainer = Trainer(AutoModel.from_pretrained("bert"), args, train_dataset=job.rows(), eval_dataset=job.rows())
trainer.train()
{behind}
"""
EVALUATES = "metrics = trainer.evaluate()"
ALONE = "Only the first worker gets here, and waits in"


def moved(behind: str, **options: object) -> Outcome:
    outcome = converted(SCRIPT.format(behind=behind), to_ray=True, **options)
    assert "TorchTrainer(" in outcome.text, outcome.messages
    return outcome


def below(test: str, code: str = EVALUATES) -> str:
    return f"if {test}:\n{indent(code, '    ')}"


@pytest.mark.parametrize(
    ("behind", "method"),
    [
        (below("trainer.is_world_process_zero()"), "evaluate"),
        (below("trainer.is_world_master()"), "evaluate"),
        (below("trainer.state.is_world_process_zero", "trainer.predict(job.rows())"), "predict"),
        (below("args.do_eval and args.local_rank in [-1, 0]"), "evaluate"),
        (below("args.local_rank in (0, -1)"), "evaluate"),
        (below("args.local_rank <= 0"), "evaluate"),
        (below("args.process_index < 1"), "evaluate"),
        (below('int(os.environ.get("RANK", 0)) == 0'), "evaluate"),
        ("is_first = trainer.is_world_process_zero()\n" + below("is_first"), "evaluate"),
        (below("args.process_index == 0", "shows(trainer)"), "evaluate"),
    ],
)
def test_what_all_workers_do_is_told_below_a_condition_on_the_rank(behind: str, method: str) -> None:
    assert any(f"{ALONE} {method}() for the others" in message for message in moved(behind).messages)
    assert not any(ALONE in message for message in moved(behind, workers=1).messages)


@pytest.mark.parametrize(
    "behind",
    [
        EVALUATES,
        f"{EVALUATES}\n{below('trainer.is_world_process_zero()', 'print(metrics)')}",
        below("args.do_eval"),
        below("args.local_rank in [1, 2]", "pass"),
        below("args.local_rank in [-1, 0, 1]"),
        below("args.local_rank is None"),
        below("args.local_rank != -1"),
        below("trainer.is_world_process_zero()", "trainer.save_state()"),
        below("trainer.is_world_process_zero()", "job.model.evaluate()"),
        below("args.process_index == 0", "shows(trainer)") + "\nshows(trainer)",
    ],
)
def test_what_each_worker_may_come_to_is_not(behind: str) -> None:
    assert not any(ALONE in message for message in moved(behind).messages)


@pytest.mark.parametrize("test", ["given.local_rank in [-1, 0]", "given.local_rank == 0", "not given.local_rank"])
def test_a_rank_that_the_driver_parsed_is_told_itself(test: str) -> None:
    """It is the same on every worker."""
    parsed = "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--local_rank', type=int)\n"
    outcome = converted(f"{parsed}given = parser.parse_args()\n{SCRIPT.format(behind=below(test))}", to_ray=True)
    assert any("is what the driver parsed" in message for message in outcome.messages)
    assert not any(ALONE in message for message in outcome.messages)


@pytest.mark.parametrize(
    ("old", "new"), [("world_master", "world_process_zero"), ("local_master", "local_process_zero")]
)
def test_a_trainer_of_transformers_3_was_asked_for_the_first_worker_by_another_name(old: str, new: str) -> None:
    outcome = moved(below(f"trainer.is_{old}()", 'open("/out/a.txt", "w").write("a")'))
    assert f"if trainer.is_{new}():\n" in outcome.text
    assert outcome.lines("RM723", Kind.CONVERTED)
    assert not any("Every worker writes" in message for message in outcome.messages)

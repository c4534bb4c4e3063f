"""What a Trainer's callbacks, methods and metrics write: the first worker alone does it."""

import pytest

from tests.rules.scripts import converted

SCRIPT = """\
import csv, json, os
import numpy as np
import matplotlib.pyplot as plt
from transformers import AutoModel, Trainer, TrainerCallback, TrainingArguments
import job


class Rows({base}):
    def {head}:
        {body}


def score(p):
    {scored}
    return {{"mean": p.predictions.mean()}}


trainer = {made}(AutoModel.from_pretrained("b"), TrainingArguments("out"), compute_metrics=score)
trainer.train()
{behind}
"""
EVENT = "on_evaluate(self, args, state, control, **kwargs)"
WRITE = 'with open("scores.json", "w") as f:\n            json.dump(state.log_history, f)'


def text(base: str = "TrainerCallback", head: str = EVENT, body: str = "pass", **parts: str) -> str:
    filled = {"scored": "pass", "made": "Trainer", "behind": "", **parts}
    outcome = converted(SCRIPT.format(base=base, head=head, body=body, **filled), to_ray=True, workers=2)
    assert "TorchTrainer(" in outcome.text, outcome.messages
    return outcome.text


def test_a_callback_writes_on_the_first_worker() -> None:
    assert "if state.is_world_process_zero:\n            with open(" in text(body=WRITE)
    other = text(head="on_log(self, arguments, s, c, logs=None, **more)", body='json.dump(logs, open("a", "w"))')
    assert "if s.is_world_process_zero:\n            json.dump(" in other


def test_a_method_of_a_trainer_writes_on_the_first_worker() -> None:
    own = text(
        "Trainer", "log(self, logs, *more)", 'with open("a", "a") as f:\n            f.write(str(logs))', made="Rows"
    )
    assert "if self.is_world_process_zero():\n            with open(" in own


def test_metrics_are_written_on_the_first_worker() -> None:
    scored = text(scored='plt.plot(p.predictions)\n    plt.savefig("a.png")')
    assert (
        "if ray.train.get_context().get_world_rank() == 0:\n        plt.plot(p.predictions)\n        plt.savefig"
        in scored
    )


@pytest.mark.parametrize(
    "body",
    [
        f"if state.is_world_process_zero:\n            {WRITE}".replace("            json", "                json"),
        f"if not state.is_world_process_zero:\n            return\n        {WRITE}",
        'with open(f"{os.environ[\'RANK\']}.json", "w") as f:\n            json.dump(state.log_history, f)',
        'f = open("a")\n        self.rows = json.load(f)',
        "self.seen = True\n        print(state)",
    ],
)
def test_what_is_for_one_worker_already_stays(body: str) -> None:
    assert f"        {body}\n" in text(body=body)


def test_metrics_that_the_script_calls_itself_stay() -> None:
    assert "get_world_rank" not in text(scored='np.save("/a.npy", p)', behind="score(job.output)")

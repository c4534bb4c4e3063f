"""Legacy statements that share a line with others: each gets a line of its own where code comes between them."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

REPORT = 'session.report({"loss": 1}, checkpoint=Checkpoint.from_dict({"w": 1}))'


@pytest.mark.parametrize(
    "line",
    [
        f"m = 1; {REPORT}",
        f"{REPORT}; m = 1",
        f"m = 1; {REPORT}; n = 2  # both",
        f"if config: m = 1; {REPORT}",
        f"while config: {REPORT}; config = None",
        f"import json; {REPORT};",
        f"from ray.air.config import RunConfig; {REPORT}",
    ],
)
def test_a_report_on_a_line_with_others_is_converted(line: str) -> None:
    outcome = converted(f"from ray.air import Checkpoint, session\ndef train(config):\n    {line}\n")
    assert "checkpoint_data = " in outcome.text and "from_dict" not in outcome.text
    assert all(kind is not Kind.MANUAL for _, kind, _ in outcome.findings)
    assert ("m = 1" in line) is ("m = 1\n" in outcome.text)
    assert ("# both" in line) is ("n = 2  # both\n" in outcome.text)


@pytest.mark.parametrize("line", ["m = {}; session.report(m)", "rank = session.get_world_rank(); print(rank)"])
def test_what_only_changes_its_expressions_stays_on_its_line(line: str) -> None:
    outcome = converted(f"from ray.air import session\ndef train(config):\n    {line}\n")
    assert line.replace("session.report", "ray.train.report").partition("=")[0] in outcome.text
    assert outcome.text.count(";") == 1
    assert "session" not in outcome.text


def test_a_trainer_on_a_line_with_others_is_converted() -> None:
    outcome = converted(
        """
        from ray.train.huggingface import TransformersTrainer; from ray.air.config import ScalingConfig
        from transformers import Trainer, TrainingArguments
        def init(train_dataset, eval_dataset=None, **config):
            args = TrainingArguments("out"); return Trainer(make_model(), args, train_dataset=train_dataset)
        s = ScalingConfig(num_workers=2); trainer = TransformersTrainer(init, scaling_config=s, datasets={"train": ds})
        """
    )
    assert "s = ScalingConfig(num_workers=2); trainer = TorchTrainer(" in outcome.text
    assert '\n    args = TrainingArguments("out", ' in outcome.text
    assert "return Trainer" not in outcome.text

"""RM309: a checkpoint folder that every worker fills and reports."""

from textwrap import indent

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import Outcome, converted

SCRIPT = """
import json
import os
import tempfile
from pathlib import Path

import torch
from accelerate import Accelerator
from ray.air import Checkpoint, ScalingConfig, session
from ray.train.torch import TorchCheckpoint, TorchTrainer


def fill(model, folder):
    torch.save(model.state_dict(), os.path.join(folder, "model.pt"))


def make(model):
    folder = tempfile.mkdtemp()
    fill(model, folder)
    return Checkpoint.from_directory(folder)


def loop(config):
    accelerator = Accelerator()
    model = accelerator.prepare(torch.nn.Linear(2, 1))
    rank = session.get_world_rank()
    with tempfile.TemporaryDirectory() as folder:
{body}


trainer = TorchTrainer(loop, scaling_config=ScalingConfig(num_workers=2))
trainer.fit()
"""
SAVED = 'torch.save(accelerator.get_state_dict(model), os.path.join(folder, "model.pt"))\n'
REPORTED = 'session.report({"loss": 1.0}, checkpoint=Checkpoint.from_directory(folder))'
ON_RANK_0 = "checkpoint=checkpoint if ray.train.get_context().get_world_rank() == 0 else None"


def outcome(body: str, workers: str = "2") -> Outcome:
    script = SCRIPT.format(body=indent(body, " " * 8)).replace("num_workers=2", f"num_workers={workers}")
    return converted(script)


@pytest.mark.parametrize(
    "body",
    [
        SAVED + REPORTED,
        SAVED + REPORTED.replace("from_directory(folder)", "from_directory(path=folder)"),
        SAVED + REPORTED.replace("Checkpoint.from_directory(folder)", "Checkpoint(local_path=folder)"),
        SAVED + 'session.report(metrics={"loss": 1.0}, checkpoint=Checkpoint.from_directory(folder))',
        SAVED + "checkpoint = Checkpoint.from_directory(folder)\nsession.report({}, checkpoint=checkpoint)",
        SAVED
        + "checkpoint = None\nif config['save']:\n    checkpoint = Checkpoint.from_directory(folder)\n"
        + "session.report({}, checkpoint=checkpoint)",
        'fill(model, folder)\nsession.report({"loss": 1.0}, checkpoint=Checkpoint.from_directory(folder))',
        'with open(folder + "/x.json", "w") as file:\n    json.dump({}, file)\n' + REPORTED,
        "model.save_pretrained(folder)\n" + REPORTED,
        "accelerator.save_state(folder)\n" + SAVED + REPORTED,
        "session.report({}, checkpoint=make(model))",
        'torch.save(1, "out/model.pt")\nsession.report({}, checkpoint=Checkpoint.from_directory("out"))',
        # a rank in the name of the folder itself, which the files leave behind
        'folder = os.path.join("out", f"rank_{rank}")\n' + SAVED + REPORTED,
        'mine = f"{folder}/{rank}"\ntorch.save(1, f"{mine}/model.pt")\n' + REPORTED.replace("(folder)", "(mine)"),
        "mine = Path(folder) / str(rank)\ntorch.save(1, mine / 'model.pt')\n" + REPORTED.replace("(folder)", "(mine)"),
        "mine = folder + str(rank)\nmodel.save_pretrained(mine)\n" + REPORTED.replace("(folder)", "(mine)"),
    ],
)
def test_rank_0_alone_hands_in_what_every_worker_writes(body: str) -> None:
    result = outcome(body)
    assert len(result.lines("RM309", Kind.CONVERTED)) == 1
    assert ON_RANK_0 in result.text
    again = converted(result.text)
    assert again.text == result.text
    assert not [code for code, _, _ in again.findings if code == "RM309"]


@pytest.mark.parametrize(
    "body",
    [
        SAVED.replace('"model.pt"', 'f"model-{rank}.pt"') + REPORTED,
        'mine = f"{folder}/{rank}"\ntorch.save(1, f"{mine}/{rank}.pt")\n' + REPORTED.replace("(folder)", "(mine)"),
        "mine = Path(folder) / str(rank)\ntorch.save(1, mine / f'{rank}.pt')\n"
        + REPORTED.replace("(folder)", "(mine)"),
        "torch.save(1, os.path.join(folder, str(rank), 'model.pt'))\n" + REPORTED,
        "if rank == 0:\n    " + SAVED + REPORTED,
        "if accelerator.is_main_process:\n    fill(model, folder)\n" + REPORTED,
        "accelerator.save(model.state_dict(), folder + '/model.pt')\n" + REPORTED,
        "accelerator.save_state(folder)\n" + REPORTED,
        "model.save_pretrained(folder, is_main_process=accelerator.is_main_process)\n" + REPORTED,
        SAVED + REPORTED.replace("(folder))", "(folder) if rank == 0 else None)"),
        "checkpoint = None\nif rank == 0:\n    checkpoint = Checkpoint.from_directory(folder)\n"
        "session.report({}, checkpoint=checkpoint)",
        "if rank == 0:\n    session.report({}, checkpoint=make(model))\nelse:\n    session.report({})",
        'if rank == 0:\n    torch.save(1, "out/model.pt")\n'
        'session.report({}, checkpoint=Checkpoint.from_directory("out"))',
        "session.report({}, checkpoint=session.get_checkpoint())",
        "session.report({})",
    ],
)
def test_files_of_one_rank_and_names_with_the_rank_are_right_as_they_are(body: str) -> None:
    result = outcome(body)
    assert not [code for code, _, _ in result.findings if code == "RM309"]


def test_what_waits_for_other_workers_stays_on_all_of_them() -> None:
    text = outcome("session.report({}, checkpoint=make(model))").text
    assert "        checkpoint = make(model)\n        ray.train.report({}, checkpoint=checkpoint if" in text


@pytest.mark.parametrize(
    ("given", "before", "now"),
    [
        (
            "TorchCheckpoint.from_state_dict(accelerator.get_state_dict(model))",
            "state_dict = accelerator.get_state_dict(model)\n        ",
            "TorchCheckpoint.from_state_dict(state_dict)",
        ),
        (
            "TorchCheckpoint.from_model(model=accelerator.unwrap_model(model))",
            "new_model = accelerator.unwrap_model(model)\n        ",
            "TorchCheckpoint.from_model(model=new_model)",
        ),
        ("TorchCheckpoint.from_model(config['net'])", "", "TorchCheckpoint.from_model(config['net'])"),
    ],
)
def test_rank_0_alone_writes_what_the_class_writes_and_deletes_it(given: str, before: str, now: str) -> None:
    result = outcome(f"session.report({{}}, checkpoint={given})")
    assert len(result.lines("RM309", Kind.CONVERTED)) == 1
    report = f"checkpoint={now} if ray.train.get_context().get_world_rank() == 0 else None"
    squeezed = " ".join(result.text.split()).replace("( ", "(").replace(", )", ")")
    assert f"{report}, delete_local_checkpoint_after_upload=True)" in squeezed
    assert f"as folder:\n        {before}ray.train.report(" in result.text
    assert converted(result.text).text == result.text


FIRST = "ray.train.get_context().get_world_rank() == 0"
WRITTEN = "TorchCheckpoint.from_state_dict(accelerator.get_state_dict(model))"
GATHERED = "state_dict = accelerator.get_state_dict(model)"


@pytest.mark.parametrize(
    ("given", "before", "now"),
    [
        (WRITTEN, f"{GATHERED}\n        ", f"TorchCheckpoint.from_state_dict(state_dict) if {FIRST} else None"),
        (
            f"checkpoint={WRITTEN} if config['save']() else None",
            f"{GATHERED} if config['save']() else None\n        ",
            f"checkpoint=TorchCheckpoint.from_state_dict(state_dict) if state_dict is not None and {FIRST} else None",
        ),
        (
            "checkpoint=TorchCheckpoint.from_model(config['net']) if config['save'] else None",
            "",
            f"checkpoint=TorchCheckpoint.from_model(config['net']) if config['save'] and {FIRST} else None",
        ),
        (
            "checkpoint=TorchCheckpoint.from_model(config['a']) if config['b'] and not config['c'] else None",
            "",
            f"checkpoint=TorchCheckpoint.from_model(config['a']) if (config['b'] and not config['c']) and {FIRST} else",
        ),
        (
            "checkpoint=TorchCheckpoint.from_model(config['a']) if config['b'] or config['c'] else None",
            "",
            f"checkpoint=TorchCheckpoint.from_model(config['a']) if (config['b'] or config['c']) and {FIRST} else",
        ),
        (
            "checkpoint=TorchCheckpoint.from_model(config['a']) if (all := config['b']) else None",
            "",
            f"checkpoint=TorchCheckpoint.from_model(config['a']) if (all := config['b']) and {FIRST} else",
        ),
    ],
)
def test_so_it_does_by_position_and_where_it_saves_at_times(given: str, before: str, now: str) -> None:
    result = outcome(f"session.report({{}}, {given})")
    assert len(result.lines("RM309", Kind.CONVERTED)) == 1 and not result.lines("RM309", Kind.MANUAL)
    squeezed = " ".join(result.text.split()).replace("( ", "(").replace(", )", ")")
    assert f"{now.removesuffix(' None')} None, delete_local_checkpoint_after_upload=True)" in squeezed
    assert f"as folder:\n        {before}ray.train.report(" in result.text
    assert converted(result.text).text == result.text


@pytest.mark.parametrize(
    "given",
    [
        f"None if config['save'] else {WRITTEN}",
        f"{WRITTEN} if config['save'] else old",
    ],
)
def test_another_choice_is_not_deleted(given: str) -> None:
    assert "delete_local_checkpoint_after_upload" not in outcome(f"session.report({{}}, checkpoint={given})").text


@pytest.mark.parametrize(
    "given", ["TorchCheckpoint.from_model(model, preprocessor=config['p'])", "Checkpoint.from_directory(folder)"]
)
def test_what_else_may_be_read_later_is_not_deleted(given: str) -> None:
    assert "delete_local_checkpoint_after_upload" not in outcome(f"session.report({{}}, checkpoint={given})").text
    made = f"checkpoint = {given}\nsession.report({{}}, checkpoint=checkpoint)"
    assert "delete_local_checkpoint_after_upload" not in outcome(made).text


@pytest.mark.parametrize(
    "report",
    [
        'given = {"checkpoint": Checkpoint.from_directory(folder)}\nsession.report({}, **given)',
        "done = session.report({}, checkpoint=make(model))",
        "if config['save']: session.report({}, checkpoint=make(model))",
    ],
)
def test_what_cannot_be_written_anew_is_told(report: str) -> None:
    assert outcome(SAVED + report).lines("RM309", Kind.MANUAL)


@pytest.mark.parametrize(
    "report",
    [
        "session.report({}, checkpoint=Checkpoint.from_directory(folder)); print(1)",
        "report = lambda c: session.report({}, checkpoint=c)\nreport(make(model))",
    ],
)
def test_where_no_line_can_stand_before_the_condition_stands_in_the_report(report: str) -> None:
    text = outcome(SAVED + report).text
    assert " if ray.train.get_context().get_world_rank() == 0 else None" in text


def test_a_name_that_is_taken_is_left_alone() -> None:
    body = "for checkpoint in range(3):\n    session.report({'n': checkpoint}, checkpoint=make(model))"
    assert "new_checkpoint = make(model)" in outcome(body).text


def test_one_worker_has_no_others() -> None:
    assert not [code for code, _, _ in outcome(SAVED + REPORTED, workers="1").findings if code == "RM309"]


def test_ray_2_7_merged_the_folders_too() -> None:
    script = SCRIPT.format(body=indent(SAVED + REPORTED, " " * 8))
    script = script.replace("ray.air import Checkpoint, ScalingConfig", "ray.train import Checkpoint, ScalingConfig")
    script = script.replace("ScalingConfig, session", "ScalingConfig").replace("session.", "ray.train.")
    assert not [code for code, _, _ in converted(f"import ray.train\n{script}").findings if code == "RM309"]


def test_a_trial_of_tune_is_one_process() -> None:
    script = """
    from ray import tune
    from ray.air import Checkpoint, session


    def trial(config):
        session.report({"loss": 1.0}, checkpoint=Checkpoint.from_directory("out"))


    tune.Tuner(trial).fit()
    """
    assert not [code for code, _, _ in converted(script).findings if code == "RM309"]


FROM_STATE = """
from ray.air import session
from ray.air.config import ScalingConfig
from ray.train.torch import TorchCheckpoint, TorchTrainer


def loop(config):
    {before}
    session.report({{"loss": 1.0}}, checkpoint={given})


TorchTrainer(loop, scaling_config=ScalingConfig(num_workers=2)).fit()
"""
MADE = 'TorchCheckpoint.from_state_dict(config["weights"])'


@pytest.mark.parametrize(("before", "given"), [("pass", MADE), (f"made = {MADE}", "made")])
def test_what_it_writes_is_done_in_a_later_run_for_the_same_ray(before: str, given: str) -> None:
    after = converted(FROM_STATE.format(before=before, given=given), from_ray="2.6").text
    assert "if ray.train.get_context().get_world_rank() == 0 else None" in after
    assert converted(after, from_ray="2.6").text == after


def test_comments_over_a_report_stay_over_what_comes_before_it() -> None:
    script = (
        "from ray.train.torch import TorchCheckpoint, TorchTrainer\nfrom ray.air import session\n\n\n"
        "def loop(config):\n    model = make()\n    # Train.\n\n    # Save.\n"
        "    session.report({'a': 1}, checkpoint=TorchCheckpoint.from_model(unwrap(model)))\n\n\n"
        "TorchTrainer(loop).fit()\n"
    )
    made = "    # Train.\n\n    # Save.\n    new_model = unwrap(model)\n    ray.train.report("
    assert made in converted(script).text


@pytest.mark.parametrize("weights", ["accelerator.get_state_dict(model)", "config['weights']"])
def test_comments_beside_the_weights_are_kept_once(weights: str) -> None:
    given = f"TorchCheckpoint.from_state_dict(\n            # all\n            {weights},  # of them\n        )"
    text = outcome(f"session.report({{}}, checkpoint={given})  # now").text
    assert f"        # all\n        # of them\n        state_dict = {weights}\n        ray.train.report(" in text
    assert [text.count(comment) for comment in ("# all", "# of them", "# now")] == [1, 1, 1]

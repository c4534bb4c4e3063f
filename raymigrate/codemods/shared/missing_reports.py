"""What to do where nothing that a trainer runs reports a checkpoint."""

from raymigrate.facts.ray_train.runs_without_checkpoint import BY_SAVES
from raymigrate.facts.ray_train.training_code import TrainingCode
from raymigrate.facts.syntax.module import Module
from raymigrate.knowledge.legacy import HF_TRAINERS

BY_CALLBACK = (
    f"Give the Trainer a {BY_SAVES}() by its add_callback() before it trains: that reports each time the Trainer saves."
    ' The files lie in the folder "checkpoint" of the checkpoint.'
)
BY_SAVING = (
    'RayTrainReportCallback reports each time the Trainer saves, and save_strategy="no" saves nothing: save each epoch,'
    " or after so many steps."
)
BY_REPORT = "Report a checkpoint: ray.train.report(metrics, checkpoint=ray.train.Checkpoint.from_directory(folder))."


def how_to_report(homes: list[Module], code: TrainingCode | None) -> str:
    """What to write so that a run reports checkpoints.

    Args:
        homes: The files that may have a part in it.
        code: What its trainer runs.
    """
    runs = [
        home for home in homes if code is not None and any(code.runs(home, call) for call in home.calls(*HF_TRAINERS))
    ]
    if not runs:
        return BY_REPORT
    return BY_SAVING if any(home.references_within(BY_SAVES) for home in homes) else BY_CALLBACK

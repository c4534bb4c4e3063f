"""RM857, RM858: folders that several processes make, and data that they download, at the same time."""

from __future__ import annotations

from raymigrate.codemods.shared.made_folders import ADVICE, KEYWORD, MANUAL, NOW, folders_asked_for
from raymigrate.codemods.to_accelerate.changes import Changes
from raymigrate.codemods.to_accelerate.processes import Processes
from raymigrate.codemods.to_accelerate.rules import RM857, RM858

DATASETS = ("torchvision.datasets.", "torchaudio.datasets.", "torchtext.datasets.")
DOWNLOAD = "download"
RACE = (
    "Several processes download this into the same files, where it is not there yet, and one may read what another is"
    " still writing: that raises a RuntimeError. Download it once before, or make it within"
    " `with accelerator.local_main_process_first():`."
)


def make_folders(changes: Changes, processes: Processes) -> None:
    """Lets the processes make folders that may be there by then, and tells of what all of them download.

    Args:
        changes: The edits.
        processes: Those of the training.
    """
    for call, is_sure in folders_asked_for(processes.module):
        if changes.is_gone(call) or processes.runs_in_main_only(call):
            continue
        if is_sure:
            changes.converted(RM857, call, NOW)
            changes.argument(call, KEYWORD, "True")
        else:
            changes.manual(RM857, call, MANUAL, ADVICE)
    _tell_of_downloads(changes, processes)


def _tell_of_downloads(changes: Changes, processes: Processes) -> None:
    module = processes.module
    for call, keyword in module.keywords(DOWNLOAD):
        is_dataset = (module.qualified(call.func) or "").startswith(DATASETS)
        if is_dataset and module.constant(keyword.value) is True and not processes.runs_in_main_only(call):
            changes.note(RM858, keyword, RACE)

"""RM857, RM858: folders that several processes make, and data that they download, at the same time."""

from raymigrate.codemods.shared.made_folders import ADVICE, KEYWORD, MANUAL, NOW, folders_asked_for
from raymigrate.codemods.to_accelerate.changes import Changes
from raymigrate.codemods.to_accelerate.processes import Processes
from raymigrate.codemods.to_accelerate.rules import RM857, RM858
from raymigrate.facts.folders.raced_downloads import RACE, raced_downloads

IN_TURN = ", or make it within `with accelerator.local_main_process_first():`"


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
    for call, place, where in raced_downloads(processes.module):
        if not changes.is_gone(call) and not processes.runs_in_main_only(call):
            changes.note(RM858, place, RACE.format("processes", where, IN_TURN))

"""RM857: folders that several processes make at the same time."""

from __future__ import annotations

from raymigrate.codemods.shared.made_folders import ADVICE, KEYWORD, MANUAL, NOW, folders_asked_for
from raymigrate.codemods.to_accelerate.changes import Changes
from raymigrate.codemods.to_accelerate.processes import Processes
from raymigrate.codemods.to_accelerate.rules import RM857


def make_folders(changes: Changes, processes: Processes) -> None:
    """Lets the processes make folders that may be there by then.

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

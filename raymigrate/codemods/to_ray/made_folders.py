"""RM806, RM828: folders that several workers make, and data that they download, at the same time."""

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.codemods.shared.made_folders import ADVICE, KEYWORD, MANUAL, NOW, folders_asked_for
from raymigrate.codemods.to_ray.cell_lines import run_by_workers
from raymigrate.codemods.to_ray.early_writes import is_for_one
from raymigrate.codemods.to_ray.launched import LaunchedOutline
from raymigrate.facts.folders.raced_downloads import RACE, raced_downloads

ON_DRIVER = ", for example on the driver"


def make_folders_once(context: Context, rule: Rule, outline: LaunchedOutline) -> None:
    """Lets the workers make folders that may be there by then.

    Args:
        context: The file.
        rule: The rule that tells.
        outline: What becomes of the script.
    """
    module = context.module
    calls = list(folders_asked_for(module)) if outline.may_grow else []
    steps = run_by_workers(outline) if calls else set()
    for call, is_sure in calls:
        if outline.script.step_of(call) not in steps or is_for_one(module, call):
            continue
        if not is_sure:
            context.manual(rule, call, MANUAL, ADVICE)
        elif context.converts(rule, call, NOW):
            context.plan.call(call).set(KEYWORD, "True")


def tell_raced_downloads(context: Context, rule: Rule, outline: LaunchedOutline) -> None:
    """Tells of datasets that all workers download.

    Args:
        context: The file.
        rule: The rule that tells.
        outline: What becomes of the script.
    """
    found = list(raced_downloads(context.module)) if outline.may_grow else []
    steps = run_by_workers(outline) if found else set()
    for call, place, where in found:
        if outline.script.step_of(call) in steps and not is_for_one(context.module, call):
            context.note(rule, place, RACE.format("workers", where, ON_DRIVER))

"""RM311: the folder of a checkpoint that one worker removes while another one may still copy it.

Up to Ray 2.6 each worker had a working folder of its own (docs/semantics/legacy-transformers.md). Today those of a node
share one (docs/semantics/traps.md#t24), and report() waits for its own copy alone: Ray 2.60
train/v2/_internal/execution/context.py, `report`.
"""

import ast
from collections.abc import Iterator

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.ray_air.directory_checkpoints import is_handed_to_rank_0
from raymigrate.codemods.ray_air.ray_checkpoint import API
from raymigrate.facts.folders.folder_writes import on_some_ranks
from raymigrate.facts.folders.removals import is_own_path
from raymigrate.facts.projects.places import Place
from raymigrate.facts.ray_train.checkpoint_folders import REMOVERS, Removal, removals_after, removed_by
from raymigrate.facts.ray_train.ranks import tests_rank
from raymigrate.facts.ray_train.reports import REPORTS
from raymigrate.facts.ray_train.storage import is_absolute
from raymigrate.facts.ray_train.trainers import train_on_one_worker
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.scopes import LOOPS
from raymigrate.facts.values import argument, keyword_argument, last_name

RM311 = Rule(
    "RM311",
    "the folder of a checkpoint that is removed after the report",
    "Up to Ray 2.6 each worker had a working folder of its own. On Ray >= 2.51 those of a node share one, and report()"
    " waits for the worker's own copy alone: a folder that one worker removes another one may still copy, which fails"
    " or leaves files out of the checkpoint.",
    "Fill and report a folder of tempfile.TemporaryDirectory() on each worker.",
    API,
    unproven="which worker is faster is a matter of chance",
)
MESSAGE = (
    "`{folder}` is one folder for all workers of a node on Ray >= 2.51, and report() does not wait for the other ones:"
    " one may remove it while another one still copies it."
)
ADVICE = (
    "Let each worker fill and report a folder of tempfile.TemporaryDirectory(). Or call torch.distributed.barrier()"
    " after the report, on all workers, and remove the folder on rank 0 alone."
)
WAITS = ("barrier", "wait_for_everyone")


@codemod(*(name.rpartition(".")[2] for name in REMOVERS), phase=Phase.RESULTS)
def removed_checkpoints(context: Context) -> None:
    """Reports the removal of a folder that other workers may still copy."""
    module = context.module
    if not context.of_legacy_job or train_on_one_worker(module):
        return
    told = set[ast.Call]()
    for report in module.calls(*REPORTS):
        given = argument(report, 1, "checkpoint")
        if given is None or context.place_of(report) is Place.TRIAL:
            continue
        for removal in _by_one_of_several(context, report, given):
            if removal.call not in told:
                told.add(removal.call)
                context.manual(RM311, removal.call, MESSAGE.format(folder=module.source(removal.folder)), ADVICE)


def _by_one_of_several(context: Context, report: ast.Call, given: ast.expr) -> Iterator[Removal]:
    """The removals that one worker may come to while another one copies the folder."""
    module = context.module
    for removal in removals_after(module, report, given):
        is_object = removed_by(removal.remover) is None  # cleanup() of a folder that each worker has for itself
        if is_object or _is_own(module, removal.folder) or _waits_between(module, report, removal):
            continue
        if not _on_some_ranks(module, removal) or not is_handed_to_rank_0(context, given):
            yield removal


def _is_own(module: Module, folder: ast.expr) -> bool:
    """Whether each worker has a folder for itself, or all of them shared it before."""
    return bool(is_absolute(module, folder)) or is_own_path(module, folder) or tests_rank(module, folder)


def _on_some_ranks(module: Module, removal: Removal) -> bool:
    return on_some_ranks(module, removal.call) or on_some_ranks(module, removal.remover)


def _waits_between(module: Module, report: ast.Call, removal: Removal) -> bool:
    """Whether the workers wait for each other after a report, and then one removes the folder, or whoever is first."""
    if not _on_some_ranks(module, removal) and keyword_argument(removal.remover, "ignore_errors") is None:
        return False  # the second one raises a FileNotFoundError
    first, last = module.start(report), module.start(removal.call)
    waits = [call for call in module.of_type(ast.Call) if last_name(call.func) in WAITS]
    if removal.remover is not removal.call and any(_is_just_before(module, wait, removal.remover) for wait in waits):
        return True
    if first < last:
        return any(first < module.start(call) < last for call in waits)
    loop = next(
        outer for outer in module.ancestors(report) if isinstance(outer, LOOPS) and module.inside(removal.call, outer)
    )
    return any(module.inside(call, loop) and not last < module.start(call) < first for call in waits)


def _is_just_before(module: Module, wait: ast.AST, removal: ast.Call) -> bool:
    """Whether a function waits before it removes what it is given."""
    return module.function(wait) is module.function(removal) and module.start(wait) < module.start(removal)

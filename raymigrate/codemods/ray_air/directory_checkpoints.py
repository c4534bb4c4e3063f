"""RM309: checkpoints of folders that every worker fills and reports.

Up to Ray 2.6 that of rank 0 was kept. Ray >= 2.7, and Train V2, copy the folders of all workers into one (Ray 2.60
train/v2/_internal/execution/storage.py, `persist_current_checkpoint`). The state dict that accelerate gathers under
FSDP is empty on the other ranks (accelerate 1.15 accelerator.py, `rank0_only=True`). ray.air.Checkpoint tells that a
script is of that time: Ray 2.7 raises when one is made (docs/semantics/names.md).
"""

import ast

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.ray_air.ray_checkpoint import API, ON_RANK_0
from raymigrate.codemods.shared.checkpoint_files import before_statement
from raymigrate.codemods.shared.local_names import local_name
from raymigrate.codemods.shared.torch_models import FROM_DICT
from raymigrate.edits.plan import Code
from raymigrate.facts.folders.folder_writes import is_known_by_rank, on_some_ranks
from raymigrate.facts.projects.places import Place
from raymigrate.facts.ray_train.framework_checkpoints import CLASSES
from raymigrate.facts.ray_train.reports import REPORTS
from raymigrate.facts.ray_train.results import CHECKPOINT_CLASSES, CHECKPOINTS
from raymigrate.facts.ray_train.trainers import train_on_one_worker
from raymigrate.facts.syntax.comments import comments_in
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import all_arguments, argument, called_name, has_unpacking, is_none, seen_entries

RM309 = Rule(
    "RM309",
    "a checkpoint folder that every worker reports",
    "Up to Ray 2.6 the checkpoint of rank 0 was kept. Ray >= 2.51 copies those of all workers into one folder: of files"
    " with one name the last one written stays, which may be the empty state dict of another rank.",
    "Rank 0 alone hands in its checkpoint. Nothing changes where rank 0 alone writes the files, or their names have the"
    " rank.",
    API,
)
MESSAGE = "Ray >= 2.51 would mix the folders of all workers; now rank 0 alone hands in its checkpoint."
UNPACKED = "Ray >= 2.51 mixes the folders of all workers; legacy Ray kept that of rank 0."
ADVICE = f"Report checkpoint=None unless {ON_RANK_0}."
MERGED_SINCE = (2, 7)
OLD = tuple(name for name in CHECKPOINTS if not name.startswith("ray.train."))
SURELY_OLD = frozenset(f"{name}{method}" for name in OLD for method in ("", ".from_directory"))
# Classes that Ray 2.7 had as well: only the version tells what became of their folders.
PERHAPS_OLD = frozenset(
    f"{name}{method}"
    for name in (*CLASSES, *CHECKPOINT_CLASSES)
    for method in ("", ".from_directory", ".from_model", ".from_state_dict")
)
# These write the file themselves, into a folder of tempfile.mkdtemp() that nothing takes away (Ray 2.60
# train/torch/torch_checkpoint.py); up to Ray 2.6 what they made stayed in memory.
WRITERS = frozenset(f"{name}.{method}" for name in CLASSES for method in ("from_model", "from_state_dict"))
DELETE = "delete_local_checkpoint_after_upload"  # Ray 2.51.2 train/v2/api/train_fn_utils.py has it


@codemod("Checkpoint", r"\w+Checkpoint", phase=Phase.TRIALS)
def directory_checkpoints(context: Context) -> None:
    """Lets rank 0 alone report a checkpoint whose folder every worker writes."""
    module = context.module
    if train_on_one_worker(module):
        return
    for report in module.calls(*REPORTS):
        if context.place_of(report) is Place.TRIAL or on_some_ranks(module, report):
            continue
        given = argument(report, 1, "checkpoint")
        if given is None and has_unpacking(report):
            _tell_unpacked(context, report)
        elif given is not None and _is_of_every_worker(context, given):
            _hand_in(context, report, given)


def _hand_in(context: Context, report: ast.Call, given: ast.expr) -> None:
    """Makes a checkpoint depend on the rank; what may wait for other workers while it is made stays on all of them."""
    module = context.module
    is_whole = module.is_statement(report) and before_statement(context, given)
    by_name = is_whole and given not in report.args
    writer = _writer(module, given) if is_whole else None
    if not by_name and writer is None and not _is_plain(context, given):
        context.manual(RM309, report, UNPACKED, ADVICE)
    elif context.converts(RM309, given, MESSAGE):
        context.plan.need_import("ray.train", near=module.import_of(report.func))
        if writer is not None:
            _write_on_rank_0(context, report, given, writer)
        elif isinstance(given, ast.Name) or not by_name:
            context.plan.replace(given, f"$checkpoint if {ON_RANK_0} else None", checkpoint=given)
        else:
            name = _made_before(context, report, "checkpoint", given)
            context.plan.call(report).set("checkpoint", f"{name} if {ON_RANK_0} else None")


def _writer(module: Module, given: ast.expr) -> ast.Call | None:
    """The call of one weight that writes a checkpoint's file itself: alone, or as `... if test else None`."""
    maker = given.body if isinstance(given, ast.IfExp) and is_none(given.orelse) else given
    writes = isinstance(maker, ast.Call) and module.qualified(maker.func) in WRITERS and len(_given_to(maker)) == 1
    return maker if writes and isinstance(maker, ast.Call) else None


def _write_on_rank_0(context: Context, report: ast.Call, given: ast.expr, maker: ast.Call) -> None:
    """Lets rank 0 alone write the weights that every worker may have to gather, and take its copy away again."""
    method = called_name(context.module, maker).rpartition(".")[2]
    weights = _given_to(maker)[0]
    test = given.test if isinstance(given, ast.IfExp) else None
    code, only, parts = "$weights", ON_RANK_0, {"maker": maker.func, "weights": weights}
    if test is not None:
        only = f"$test and {ON_RANK_0}"
        parts["test"] = test
    comments = _comments_beside(context.module, weights, given)
    if comments or any(isinstance(part, ast.Call) for part in ast.walk(weights)):
        name = method.removeprefix("from_")
        code = _made_before(context, report, name, weights, comments, test)
        parts = {"maker": maker.func}
        only = ON_RANK_0 if test is None else f"{code} is not None and {ON_RANK_0}"
    keyword = f"{maker.keywords[0].arg}=" if maker.keywords else ""
    context.plan.replace(given, f"$maker({keyword}{code}) if {only} else None", **parts)
    context.plan.call(report).set(DELETE, "True")


def _given_to(maker: ast.Call) -> list[ast.expr]:
    """What a call is given; nothing where that is unpacked."""
    values = all_arguments(maker)
    return [] if has_unpacking(maker) else values


def _comments_beside(module: Module, weights: ast.expr, maker: ast.expr) -> str:
    """The comments in a call that are not in its argument, as source for a template."""
    inside = [c for c in comments_in(module) if module.start(maker) < (c.line, c.column - 1) < module.end(maker)]
    beside = [c for c in inside if not module.start(weights) < (c.line, c.column - 1) < module.end(weights)]
    return "".join(f"{comment.text}\n" for comment in beside).replace("$", "$ ")


def _made_before(
    context: Context, report: ast.Call, name: str, value: ast.expr, comments: str = "", test: ast.expr | None = None
) -> str:
    """Gives a value a name before the report, on every worker, with comments over that; None where a test says no."""
    statement = context.module.statement(report)
    name = local_name(context, statement, name)
    edit = context.plan.statement(statement)
    parts = {"value": value} if test is None else {"value": value, "test": test}
    edit.before.append(Code(f"{comments}{name} = $value{'' if test is None else ' if $test else None'}", parts))
    edit.below_comments = True  # they speak of the report
    return name


def _is_plain(context: Context, given: ast.expr) -> bool:
    """Whether an expression calls nothing but the class of the checkpoint, and what makes a path."""
    calls = (node for node in ast.walk(given) if isinstance(node, ast.Call))
    names = [called_name(context.module, call) for call in calls]
    return all(name in _makers(context) or name.startswith("os.path.") for name in names)


def _tell_unpacked(context: Context, report: ast.Call) -> None:
    """Reports a checkpoint in a dict that is unpacked into the arguments of a report."""
    for keyword in report.keywords:
        entries = seen_entries(context.module, keyword.value) if keyword.arg is None else {}
        given = entries.get("checkpoint")
        if given is not None and _is_of_every_worker(context, given):
            context.manual(RM309, report, UNPACKED, ADVICE)


def _makers(context: Context) -> frozenset[str]:
    """What makes checkpoints of which Ray kept that of rank 0."""
    return SURELY_OLD | PERHAPS_OLD if context.from_ray.version < MERGED_SINCE else SURELY_OLD


def is_handed_to_rank_0(context: Context, given: ast.expr) -> bool:
    """Whether rank 0 alone, or some of the workers, hand in a checkpoint, perhaps because it is changed here."""
    makers = [source for source in context.module.origins(given) if isinstance(source.node, ast.Call)]
    by_some = [on_some_ranks(source.module, source.node) for source in makers]
    return (
        _is_of_every_worker(context, given) or on_some_ranks(context.module, given) or (bool(makers) and all(by_some))
    )


def _is_of_every_worker(context: Context, given: ast.expr) -> bool:
    """Whether a checkpoint may be made of a folder that every worker fills in its own way."""
    if on_some_ranks(context.module, given.body if isinstance(given, ast.IfExp) else given):
        return False
    makers, found = _makers(context), context.module.origins(given)
    made = [(source.module, source.node) for source in found if isinstance(source.node, ast.Call)]
    if any(module.qualified(call.func) in FROM_DICT for module, call in made):
        return False  # told as that
    return any(_is_filled_by_all(module, call) for module, call in made if module.qualified(call.func) in makers)


def _is_filled_by_all(module: Module, maker: ast.Call) -> bool:
    """Whether every worker makes this checkpoint, of files that are not known to be written by one, or by rank."""
    if on_some_ranks(module, maker):
        return False
    folder = argument(maker, 0, "path", "local_path")
    return folder is None or not is_known_by_rank(module, folder)

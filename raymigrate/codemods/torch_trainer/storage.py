"""RM401 and RM402: what a RunConfig said of where results go, under the names and in the forms of Ray >= 2.51."""

import ast
from collections.abc import Iterable, Iterator

from raymigrate.base.findings import Finding, Kind, Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.shared.definitions import drop_definition, is_dropped, is_only_for
from raymigrate.codemods.torch_trainer.former_folders import ADVICE, DELETED, first_look, says
from raymigrate.edits.plan import Code, Part
from raymigrate.facts.folders.read_back import path_key
from raymigrate.facts.projects.unpacked_options import carried_from_callers
from raymigrate.facts.ray_train.storage import (
    absolute,
    filesystem_of,
    is_absolute,
    is_taken,
    may_be_absolute,
    may_be_relative,
)
from raymigrate.facts.ray_tune.tuners import all_keywords, made
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import called_name, is_none, keyword_argument
from raymigrate.facts.values.nothing import is_made_up_for, is_none_in_some_case, may_be_none
from raymigrate.knowledge.error_texts import refused_arguments
from raymigrate.knowledge.legacy import SYNC_CONFIGS

ISSUE = "https://github.com/ray-project/ray/issues/49454"

RM401 = Rule(
    "RM401",
    "an argument of a configuration class that Train V2 refuses",
    "Ray >= 2.51 raises when the object is constructed, whatever the value is.",
    "Arguments without effect on training are deleted.",
    ISSUE,
    errors=(
        "`RunConfig(*)` is deprecated",
        "`ray.train.ScalingConfig(trainer_resources)` is deprecated",
        "`checkpoint_frequency` is deprecated",
        "`checkpoint_at_end` is deprecated",
        "`ray.train.FailureConfig(fail_fast)` is deprecated",
        *refused_arguments("ScalingConfig", "_max_cpu_fraction_per_node"),
        *refused_arguments("CheckpointConfig", "_checkpoint_keep_all_ranks", "_checkpoint_upload_from_workers"),
    ),
)
RM402 = Rule(
    "RM402",
    "where the results of a run go: local_dir, storage_path, sync_config",
    "RunConfig(local_dir=) raises a TypeError on Ray >= 2.51, as does SyncConfig(upload_dir=); a relative storage_path,"
    " which Ray 2.5 and 2.6 took, an ArrowInvalid; so does the path of an experiment that Tuner.restore() or"
    " ExperimentAnalysis() is given.",
    "storage_path= takes the place of both; it has to be an absolute path or a URI.",
    "https://docs.ray.io/en/latest/train/user-guides/persistent-storage.html",
    errors=(
        *refused_arguments("RunConfig", "local_dir"),
        *refused_arguments("SyncConfig", "syncer", "upload_dir", "sync_on_checkpoint"),
        "`RunConfig(sync_config)` is deprecated",
        "URI has empty scheme",
        "The environment variable `TUNE_RESULT_DIR` is deprecated",
        "The environment variable `RAY_AIR_LOCAL_CACHE_DIR` is deprecated",
    ),
)
KEPT = "RunConfig(local_dir=) raises on Ray >= 2.51; now storage_path= where there is no upload_dir."
GONE = "gone"
REFUSED_BY_SYNC_CONFIG = ("syncer", "upload_dir", "sync_on_checkpoint")
SYNC_ADVICE = "Drop it. Where it has an upload_dir, that is the storage_path= today, in place of any local_dir=."
# pyarrow puts the home in place of a `~` (pyarrow 26.0 util.py, `_stringify_path`), os.path.abspath() does not.
ABSOLUTE = "Use os.path.abspath(os.path.expanduser(path)) where it is a relative path."
ONLY_ABSOLUTE = "RunConfig(storage_path=) takes an absolute path or a URI only on Ray >= 2.7"
SYNC_GONE = "RunConfig(sync_config=) raises on Ray >= 2.51."
SYNC_REFUSED = "SyncConfig({}=) raises a TypeError on Ray >= 2.7."
SYNC_UNSEEN = "What is passed with ** cannot be seen here; SyncConfig takes no upload_dir and no syncer on Ray >= 2.7."
SYNC_FIX = "Drop it; storage_path= took the place of upload_dir=."
WITHOUT_FILESYSTEM = "this one is relative, and its storage_filesystem= is None at times."
ABSOLUTE_THERE = "Use os.path.abspath(os.path.expanduser(path)) where that is None."
TOOK_RELATIVE_PATHS = (2, 7)  # Ray versions before this one


def convert_storage(context: Context, call: ast.Call, keyword: ast.keyword) -> None:
    """Converts one of the arguments of a RunConfig that say where results go.

    Args:
        context: The module.
        call: The RunConfig.
        keyword: The argument.
    """
    if keyword.arg == "local_dir":
        _local_dir(context, call, keyword)
    elif keyword.arg == "storage_path":
        if filesystem_of(context.module, call) is None:
            _storage_path(context, call, keyword)
        else:
            tell_path_without_filesystem(context, call, keyword)
    else:
        _sync_config(context, call, keyword)


def _local_dir(context: Context, call: ast.Call, keyword: ast.keyword) -> None:
    """Makes the local_dir of a RunConfig its storage_path, unless results went on from there to another place."""
    storage, sync_config = keyword_argument(call, "storage_path"), keyword_argument(call, "sync_config")
    message = "RunConfig(local_dir=) raises on Ray >= 2.51, which has no other folder than the one for results"
    if is_none(keyword.value):
        if context.converts(RM402, keyword, "RunConfig(local_dir=) raises on Ray >= 2.51; deleted."):
            context.plan.call(call).remove.add("local_dir")
    elif storage is not None and not is_none(storage):
        if not (_is_path(context.module, storage) or ast.dump(storage) == ast.dump(keyword.value)):
            context.manual(RM402, keyword, f"{message}.", "Drop it; where storage_path= is None, give it there.")
        elif context.converts(RM402, keyword, DELETED):
            context.plan.call(call).remove.add("local_dir")
            same = path_key(context.module, storage) == path_key(context.module, keyword.value)
            if not drop_definition(context, keyword.value) and not same:
                _tell_mention(context, call, keyword.value)
    elif sync_config is not None and (uploads := _uploads(context, sync_config)) is not None:
        kept = _may_be_missing(context.module, uploads)
        is_choice = isinstance(keyword.value, ast.IfExp) or " if " in absolute(context.module, keyword.value)
        if not is_only_for(context, sync_config) or (kept and (is_choice or storage is not None)):
            unless = ", and this where that is None" if kept else ""
            context.manual(RM402, keyword, f"{message}.", f"Drop it, and give the upload_dir as storage_path={unless}.")
        elif context.converts(RM402, keyword, KEPT if kept else DELETED):
            context.plan.call(call).remove.add("local_dir")
            if not kept:
                _tell_mention(context, call, keyword.value)
    elif context.converts(RM402, keyword, "RunConfig(local_dir=) raises on Ray >= 2.51; now storage_path=."):
        if storage is not None:
            context.plan.call(call).remove.add("storage_path")
        context.plan.call(call).rename["local_dir"] = "storage_path"
        set_absolute(context, call, keyword.value)


def _may_be_missing(module: Module, folder: ast.expr) -> bool:
    """Whether a place for results may be None, as far as can be seen."""
    return not _is_path(module, folder) and may_be_none(module, folder)


def _instead_of(context: Context, call: ast.Call, uploads: ast.expr) -> Code:
    """Code for the place of results: the upload_dir, or the local_dir where that is None."""
    local = keyword_argument(call, "local_dir")
    edit = context.plan.call(call)
    if local is None or "local_dir" not in edit.remove or not _may_be_missing(context.module, uploads):
        return Code("$value", {"value": uploads})
    folder = absolute(context.module, local)
    if folder != "$value":
        context.plan.need_import("os")
    folder = folder.replace("$value", "$local")
    parts: dict[str, Part] = {"local": local}
    if not isinstance(uploads, ast.IfExp):
        return Code(f"$value or {folder}", parts | {"value": uploads})
    branches = {"value": uploads.body, "other": uploads.orelse}
    made = {name: folder if is_none(branch) else f"${name}" for name, branch in branches.items()}
    for name, branch in branches.items():
        if not is_none(branch) and not _is_tested(uploads, branch) and _may_be_missing(context.module, branch):
            made[name] = f"${name} or {folder}"
    parts |= {name: branch for name, branch in branches.items() if f"${name}" in made[name]}
    return Code(f"{made['value']} if $test else {made['other']}", parts | {"test": uploads.test})


def _is_tested(choice: ast.IfExp, branch: ast.expr) -> bool:
    """Whether a value is taken only where it is not None: `bucket if bucket else None`."""
    return branch is choice.body and ast.dump(branch) == ast.dump(choice.test)


def _tell_mention(context: Context, call: ast.Call, folder: ast.expr) -> None:
    """Tells where a script looks into a local_dir that goes."""
    first = first_look(context.module, call, folder)
    if first is not None:
        context.manual(RM402, first, says(context.module, folder), ADVICE)


def gone_folders(module: Module, findings: Iterable[Finding]) -> Iterator[ast.expr]:
    """The folders that were the local_dir of a RunConfig, and that get no results any more.

    Args:
        module: The module as it was.
        findings: What was found in it.
    """
    places = {
        (found.line, found.column - 1)
        for found in findings
        if (found.code, found.kind, found.message) == (RM402.code, Kind.CONVERTED, DELETED)
    }
    for call, keyword in module.keywords("local_dir") if places else ():
        storage = keyword_argument(call, "storage_path")
        same = storage is not None and path_key(module, storage) == path_key(module, keyword.value)
        if module.start(keyword) in places and not same:
            yield keyword.value


def _is_path(module: Module, node: ast.expr) -> bool:
    """Whether a value is a path, as far as can be seen, and not None."""
    value = module.value(node)
    made = called_name(module, value).startswith(("os.path.", "pathlib."))
    return made or isinstance(value, (ast.JoinedStr, ast.BinOp)) or isinstance(module.constant(node), str)


def _uploads(context: Context, sync_config: ast.expr) -> ast.expr | None:
    """The upload_dir of a SyncConfig, as far as it can be seen; None where it has none, or where that is None."""
    sync = made(context.module, sync_config, *SYNC_CONFIGS)
    uploads = keyword_argument(sync, "upload_dir") if sync else None
    return None if uploads is None or context.module.constant(uploads) is None else uploads


def set_absolute(context: Context, call: ast.Call, path: ast.expr) -> None:
    """Makes the storage_path of a RunConfig absolute, where it is not known to be."""
    template = absolute(context.module, path)
    if template != "$value":
        context.plan.need_import("os")
        context.plan.call(call).set("storage_path", template, value=path)


def _storage_path(context: Context, call: ast.Call, keyword: ast.keyword) -> None:
    if is_absolute(context.module, keyword.value) is not False:
        tell_unseen_path(context, keyword)
    elif context.converts(RM402, keyword, f"{ONLY_ABSOLUTE}; now absolute."):
        set_absolute(context, call, keyword.value)


def tell_path_without_filesystem(context: Context, call: ast.Call, keyword: ast.keyword) -> None:
    """Tells of a relative storage_path on a file system that there is not in each case.

    Args:
        context: The module.
        call: The RunConfig, of Train or of Tune.
        keyword: Its storage_path.
    """
    module = context.module
    filesystem = filesystem_of(module, call)
    if filesystem is None or not is_none_in_some_case(module, filesystem) or is_made_up_for(module, filesystem):
        return
    if is_absolute(module, keyword.value) is False:
        context.manual(RM402, keyword, f"{ONLY_ABSOLUTE}; {WITHOUT_FILESYSTEM}", ABSOLUTE_THERE)


def tell_unseen_path(context: Context, given: ast.keyword | ast.expr) -> None:
    """Tells of a storage_path of which it is not seen whether it is absolute.

    Args:
        context: The module.
        given: The argument of a RunConfig, of Train or of Tune: both refuse a relative path.
    """
    module, path = context.module, given.value if isinstance(given, ast.keyword) else given
    if is_taken(module, path):
        return
    if may_be_relative(module, path):
        context.manual(RM402, given, f"{ONLY_ABSOLUTE}; this one can be relative.", ABSOLUTE)
    elif context.from_ray.version < TOOK_RELATIVE_PATHS and module.constant(path) is not None:
        if may_be_absolute(module, path):
            context.note(RM402, given, f"{ONLY_ABSOLUTE}; this one is by default, and another value has to be too.")
            return
        context.manual(RM402, given, f"{ONLY_ABSOLUTE}; what this one is cannot be seen.", ABSOLUTE)


def of_sync_config(context: Context, call: ast.Call, given: ast.expr) -> str | None:
    """What becomes of the sync_config of a RunConfig: GONE, or "storage_path"; None where a person has to decide.

    Args:
        context: The module.
        call: The RunConfig.
        given: The sync_config.
    """
    sync = made(context.module, given, *SYNC_CONFIGS)
    uploads = _uploads(context, given)
    if is_none(given) or (sync is not None and all_keywords(sync) and uploads is None):
        return GONE
    is_free = is_only_for(context, given) and "storage_path" not in {other.arg for other in call.keywords}
    return "storage_path" if uploads is not None and is_free else None


def _sync_config(context: Context, call: ast.Call, keyword: ast.keyword) -> None:
    edit, outcome = context.plan.call(call), of_sync_config(context, call, keyword.value)
    if outcome == GONE:
        if context.converts(RM401, keyword, "RunConfig(sync_config=) raises on Ray >= 2.51; deleted."):
            edit.remove.add("sync_config")
            drop_definition(context, keyword.value)
    elif outcome is not None:
        sync, uploads = made(context.module, keyword.value, *SYNC_CONFIGS), _uploads(context, keyword.value)
        assert sync is not None and uploads is not None
        if context.converts(RM402, keyword, "SyncConfig(upload_dir=) is gone; now RunConfig(storage_path=)."):
            edit.rename["sync_config"] = "storage_path"
            place = _instead_of(context, call, uploads)
            edit.set("storage_path", place.template, **place.parts)
            context.handle(context.module.reference_at[sync.func], gone=True)
            drop_definition(context, keyword.value)
    else:
        context.manual(RM402, keyword, SYNC_GONE, SYNC_ADVICE)


@codemod("SyncConfig")
def sync_configs(context: Context) -> None:
    """Reports what is left of SyncConfigs that current Ray refuses to construct."""
    for call in context.module.calls(*SYNC_CONFIGS):
        edit = context.plan.calls.get(call)
        for keyword in call.keywords:
            if edit is not None and keyword.arg in edit.remove:
                continue  # that of a Tuner
            if keyword.arg is None:
                _tell_unpacked(context, call, keyword)
            elif keyword.arg in REFUSED_BY_SYNC_CONFIG and not is_dropped(context, call):
                context.manual(RM402, keyword, SYNC_REFUSED.format(keyword.arg), SYNC_FIX)


def _tell_unpacked(context: Context, call: ast.Call, unpacked: ast.keyword) -> None:
    """Tells of what a SyncConfig gets out of a dict, unless the RunConfig is told to go without it."""
    module = context.module
    lines = range(call.lineno, (call.end_lineno or call.lineno) + 1)
    if is_dropped(context, call) or any(finding.message == SYNC_GONE for finding in context.findings_on(*lines)):
        return
    found = carried_from_callers(module, unpacked.value)
    for entry in (entry for entry in found.entries if entry.name in REFUSED_BY_SYNC_CONFIG):
        place = entry.key if entry.module is module else unpacked
        context.manual(RM402, place, SYNC_REFUSED.format(entry.name), SYNC_FIX)
    if not found.whole and context.of_legacy_job:
        context.manual(RM402, unpacked, SYNC_UNSEEN, SYNC_FIX)

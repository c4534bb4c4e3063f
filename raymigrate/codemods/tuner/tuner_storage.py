"""Where the results of a Tuner go: RunConfig(storage_path=), which was local_dir= or SyncConfig(upload_dir=)."""

import ast

from raymigrate.codemods.context import Context
from raymigrate.codemods.shared.definitions import drop_definition
from raymigrate.codemods.torch_trainer.storage import (
    REFUSED_BY_SYNC_CONFIG,
    RM402,
    SYNC_ADVICE,
    tell_path_without_filesystem,
    tell_unseen_path,
)
from raymigrate.edits.plan import CallEdit, Code, Part
from raymigrate.facts.ray_train.storage import absolute, filesystem_of, is_absolute
from raymigrate.facts.ray_tune.tuners import made
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import is_none, keyword_argument, keyword_named
from raymigrate.knowledge.legacy import SYNC_CONFIGS

NOTHING_ASKED = "This sync_config= asks for nothing; deleted."
BY_POSITION = "SyncConfig has no upload_dir and no syncer on Ray >= 2.7, so that these arguments are others there."
STORAGE = ("storage_path", "local_dir", "sync_config")


def storage(context: Context, config: ast.Call, before: list[Code] | None) -> dict[str, Part]:
    """Writes where results go as `storage_path`, under which Ray finds it today.

    Args:
        context: The module.
        config: The RunConfig.
        before: Where to put statements that give names to what is needed a second time.

    Returns:
        What another RunConfig has to say to write there too; nothing of the path where Ray's default applies.
    """
    found = {"storage_path": _path(context, config)}
    if (filesystem := filesystem_of(context.module, config)) is not None:
        found["storage_filesystem"] = Code("$value", {"value": filesystem})
    if before is None:
        return {}
    edit = context.plan.call(config)
    return {name: _named(context, edit, name, code, before) for name, code in found.items() if code is not None}


def _path(context: Context, config: ast.Call) -> Code | None:
    module, edit = context.module, context.plan.call(config)
    keyword = storage_argument(module, config)
    _sync_config(context, config, keyword)
    if keyword is None:
        return None
    value: ast.expr = keyword.value
    if keyword.arg != "local_dir":
        edit.remove.add("local_dir")  # the folder from which results went on
    if keyword.arg == "sync_config":
        value = _upload_dir(module, value) or value
        edit.set("storage_path", "$value", value=value)
    if keyword.arg == "local_dir":
        edit.rename["local_dir"] = "storage_path"
    template = "$value"
    if keyword.arg == "local_dir" or (not filesystem_of(module, config) and is_absolute(module, value) is False):
        template = absolute(module, value)
    elif keyword.arg == "storage_path" and not filesystem_of(module, config):
        tell_unseen_path(context, keyword)
    elif keyword.arg == "storage_path":
        tell_path_without_filesystem(context, config, keyword)
    if template != "$value":
        context.plan.need_import("os")
        edit.set("storage_path", template, value=value)
    return Code(template, {"value": value})


def _named(context: Context, edit: CallEdit, argument: str, code: Code, before: list[Code]) -> Part:
    """An argument for a second use: a name that it has or gets, or a text."""
    value = code.parts["value"]
    is_text = isinstance(value, ast.expr) and isinstance(context.module.constant(value), str)
    if code.template == "$value" and (is_text or isinstance(value, ast.Name)):
        return value
    name = context.fresh(argument)
    before.append(Code(f"{name} = {code.template}", code.parts))
    edit.set(argument, name)
    return name


def _sync_config(context: Context, config: ast.Call, storage: ast.keyword | None) -> None:
    """Takes a SyncConfig out that asks for nothing that Tune goes on to do, and of another one what Tune refuses.

    Args:
        storage: The argument that says where results go.
    """
    keyword = keyword_named(config, "sync_config")
    sync = made(context.module, keyword.value, *SYNC_CONFIGS) if keyword is not None else None
    if keyword is None or (sync is None and not is_none(keyword.value)):
        return
    if sync is not None and sync.args:
        context.manual(RM402, keyword, BY_POSITION, SYNC_ADVICE)
        return
    given = [other.arg for other in sync.keywords] if sync is not None else []
    refused = [name for name in given if name in REFUSED_BY_SYNC_CONFIG]
    if given and not refused:
        return
    named = ", ".join(f"{name}=" for name in refused)
    outcome = "now storage_path=" if storage is keyword else "deleted"
    message = f"SyncConfig({named}) raises a TypeError on Ray >= 2.7; {outcome}." if refused else NOTHING_ASKED
    if not context.converts(RM402, keyword, message):
        return
    if sync is not None and len(refused) < len(given):
        context.plan.call(sync).remove |= set(refused)
    else:
        context.plan.call(config).remove.add("sync_config")
        drop_definition(context, keyword.value)


def storage_argument(module: Module, config: ast.Call) -> ast.keyword | None:
    """The argument of a RunConfig that says where results go in the end."""
    given = {k.arg: k for k in config.keywords if k.arg in STORAGE and not is_none(k.value)}
    sync = given.get("sync_config")
    uploads = sync is not None and _upload_dir(module, sync.value) is not None
    return given.get("storage_path") or (sync if uploads else None) or given.get("local_dir")


def _upload_dir(module: Module, sync_config: ast.expr) -> ast.expr | None:
    sync = made(module, sync_config, *SYNC_CONFIGS)
    return keyword_argument(sync, "upload_dir") if sync else None

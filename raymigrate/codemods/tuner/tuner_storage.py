"""Where the results of a Tuner go: RunConfig(storage_path=), which was local_dir= or SyncConfig(upload_dir=)."""

import ast

from raymigrate.codemods.context import Context
from raymigrate.codemods.shared.definitions import drop_definition
from raymigrate.codemods.torch_trainer.storage import REFUSED_BY_SYNC_CONFIG, tell_unseen_path
from raymigrate.edits.plan import CallEdit, Code, Part
from raymigrate.facts.ray_train.storage import absolute, is_absolute
from raymigrate.facts.ray_tune.tuners import made
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import is_none, keyword_argument
from raymigrate.knowledge.legacy import SYNC_CONFIGS

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
    if (filesystem := _filesystem(context.module, config)) is not None:
        found["storage_filesystem"] = Code("$value", {"value": filesystem})
    if before is None:
        return {}
    edit = context.plan.call(config)
    return {name: _named(context, edit, name, code, before) for name, code in found.items() if code is not None}


def _path(context: Context, config: ast.Call) -> Code | None:
    module, edit = context.module, context.plan.call(config)
    keyword = storage_argument(module, config)
    sync = keyword_argument(config, "sync_config")
    if sync is not None and not _keeps_sync_config(context, sync):
        edit.remove.add("sync_config")
        drop_definition(context, sync)
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
    if keyword.arg == "local_dir" or (not _filesystem(module, config) and is_absolute(module, value) is False):
        template = absolute(module, value)
    elif keyword.arg == "storage_path" and not _filesystem(module, config):
        tell_unseen_path(context, keyword)
    if template != "$value":
        context.plan.need_import("os")
        edit.set("storage_path", template, value=value)
    return Code(template, {"value": value})


def _filesystem(module: Module, config: ast.Call) -> ast.expr | None:
    """The file system on which the storage_path is: that is no path of this machine then, and stays as it is."""
    given = keyword_argument(config, "storage_filesystem")
    return None if given is None or is_none(module.value(given)) else given


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


def _keeps_sync_config(context: Context, sync: ast.expr) -> bool:
    """Whether a SyncConfig asks for what Tune goes on to do, or cannot be seen; what Tune refuses is taken out."""
    call = made(context.module, sync, *SYNC_CONFIGS)
    if call is None:
        return not is_none(sync)
    refused = {keyword.arg for keyword in call.keywords if keyword.arg in REFUSED_BY_SYNC_CONFIG}
    if call.args or len(refused) == len(call.keywords):
        return False
    context.plan.call(call).remove |= {name for name in refused if name is not None}
    return True


def storage_argument(module: Module, config: ast.Call) -> ast.keyword | None:
    """The argument of a RunConfig that says where results go in the end."""
    given = {k.arg: k for k in config.keywords if k.arg in STORAGE and not is_none(k.value)}
    sync = given.get("sync_config")
    uploads = sync is not None and _upload_dir(module, sync.value) is not None
    return given.get("storage_path") or (sync if uploads else None) or given.get("local_dir")


def _upload_dir(module: Module, sync_config: ast.expr) -> ast.expr | None:
    sync = made(module, sync_config, *SYNC_CONFIGS)
    return keyword_argument(sync, "upload_dir") if sync else None

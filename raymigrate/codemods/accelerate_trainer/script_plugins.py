"""The FSDP and DeepSpeed plugins that a script makes itself, or gives an Accelerator in their place."""

import ast

from raymigrate.codemods.context import Context
from raymigrate.facts.accelerate.plugins import HOMES, given_as, is_made, names_of
from raymigrate.facts.ray_train.trainers import TrainerCall
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.named_lines import line_of_file
from raymigrate.facts.values import Source, is_none, keyword_argument
from raymigrate.facts.values.keys import is_unpacked

CLASSES = {"fsdp_plugin": "FullyShardedDataParallelPlugin", "deepspeed_plugin": "DeepSpeedPlugin"}


def own_plugins(call: TrainerCall, accelerators: list[ast.Call], name: str) -> list[Source]:
    """The plugins that a script makes itself, and what it gives an Accelerator in their place that is not seen.

    Args:
        call: The trainer call.
        accelerators: The Accelerators of the training function.
        name: The argument that takes such a plugin.
    """
    module = home_of(call)
    made = [Source(module, plugin) for plugin in module.calls(*names_of(CLASSES[name]))]
    given = [
        value for value in (given_as(module, accelerator, name) for accelerator in accelerators) if value is not None
    ]
    sources = [source for value in given for source in module.origins(value) if not is_none(source.node)]
    return [*made, *(source for source in sources if not is_made(source, CLASSES[name]) or source.module is not module)]


def package_of(module: Module, plugin: str) -> str:
    """The package that a file imports a plugin's class from; that of the documents where it does not."""
    bound = module.scope_of[module.tree].bindings.get(plugin, ())
    imported = {binding.qualified for binding in bound}
    return next((package for package in HOMES if f"{package}.{plugin}" in imported), "accelerate.utils")


def may_be_unpacked(module: Module, call: ast.Call, name: str) -> bool:
    """Whether an argument, which is not given by name, may be in what a call unpacks."""
    return keyword_argument(call, name) is None and is_unpacked(module, call, name) is not False


def home_of(call: TrainerCall) -> Module:
    """The file of the training function."""
    return call.module if call.imported is None else call.imported.module


def place_of(context: Context, call: TrainerCall, source: Source) -> tuple[ast.AST, str]:
    """Where to report something, and the words that say where it stands if that is in another file."""
    if source.module is context.module:
        return source.node, ""
    return call.node, f": {line_of_file(source.module, source.node)}"

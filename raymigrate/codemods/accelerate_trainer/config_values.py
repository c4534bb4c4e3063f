"""What is known of the accelerate_config of an AccelerateTrainer: a dict, or a file."""

import ast
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from raymigrate.codemods.context import Context
from raymigrate.facts.accelerate_config import is_ignored, read_file
from raymigrate.facts.files import file_named
from raymigrate.facts.module import Module
from raymigrate.facts.trainers import TrainerCall
from raymigrate.facts.values import fillings


class AsWritten(str):
    """Source of an expression whose value is not known, in place of the value."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True)
class Settings:
    """What is known of an accelerate_config.

    Args:
        values: The values, or AsWritten, by key.
        nodes: The expressions of the values in this module; none where it is a file, or another module's.
    """

    values: dict[str, Any] = field(default_factory=dict)
    nodes: dict[str, ast.expr] = field(default_factory=dict)


def read_settings(context: Context, call: TrainerCall) -> Settings | None:
    """The accelerate_config of a trainer; None where it cannot be read."""
    given = call.arguments.get("accelerate_config")
    if given is None or context.module.constant(given) is None:
        return Settings()
    return _entries(context, given) or _file(context, given)


def _entries(context: Context, given: ast.expr) -> Settings | None:
    """A dict, which may be in another file of the project that the script imports it from."""
    module = context.module
    entries = module.entries(given)
    if entries is None and (found := module.elsewhere(given)) is not None and isinstance(found.node, ast.Name):
        module, entries = found.module, found.module.entries(found.node)
    if entries is None:
        entries = _returned(module, given) if isinstance(given, ast.Call) else _but_ignored(module, given)
    if entries is None:
        return None
    values = {key: module.constant(node) for key, node in entries.items()}
    values = {k: AsWritten(" ".join(module.source(entries[k]).split())) if v is ... else v for k, v in values.items()}
    if isinstance(values.get("distributed_type"), AsWritten):
        return None  # which decides what the others meant
    return Settings(values, entries if module is context.module else {})


def _but_ignored(module: Module, given: ast.expr) -> dict[str, ast.expr] | None:
    """The entries of a dict with a second name, by which only what Ray decides is set: `c["num_processes"] = 4`."""
    target = module.definition(given)
    first = module.assigned(target) if isinstance(target, ast.Name) else None
    if not isinstance(target, ast.Name) or not isinstance(first, ast.Name):
        return None
    if not all(is_ignored(str(key)) for key in map(partial(_key_set_by, module), fillings(module, target))):
        return None
    return module.entries(first)


def _returned(module: Module, given: ast.Call) -> dict[str, ast.expr] | None:
    """The entries of the one dict that a function of the file returns."""
    sources = module.origins(given, elsewhere=False)
    return module.entries(sources[0].node) if len(sources) == 1 else None


def _key_set_by(module: Module, statement: ast.stmt) -> object:
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    return module.constant(target.slice) if isinstance(target, ast.Subscript) else None


def _file(context: Context, given: ast.expr) -> Settings | None:
    """A file that is named, looked up beside the script."""
    module, value = context.module.followed(given)
    path = file_named(module, value, context.path if module is context.module else module.path)
    if path is None:
        return None
    try:
        return Settings(read_file(path))
    except (OSError, ValueError):
        return None

"""What is known of the accelerate_config of an AccelerateTrainer: a dict, or a file."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from raymigrate.codemods.context import Context
from raymigrate.facts.accelerate.accelerate_config import is_ignored, read_file, with_new_names
from raymigrate.facts.projects.files import PATH_CLASSES, file_named
from raymigrate.facts.projects.given_attributes import is_given_elsewhere
from raymigrate.facts.projects.project import with_imported
from raymigrate.facts.projects.project_uses import importing_modules
from raymigrate.facts.ray_train.trainers import TrainerCall
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import argument, called_name, fillings, free_name, has_unpacking, is_method_call
from raymigrate.facts.values.config_objects import fields_given, file_given, object_given
from raymigrate.facts.values.dicts import attribute_fillings
from raymigrate.facts.values.given import may_be_member
from raymigrate.facts.values.own_classes import class_of_self

OF_FILES = ("yaml.safe_load", "yaml.load", "yaml.full_load", "json.load")
OF_TEXTS = ("yaml.safe_load", "yaml.load", "yaml.full_load", "json.loads")


class AsWritten(str):
    """Source of an expression whose value is not known, in place of the value."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True)
class Settings:
    """What is known of an accelerate_config.

    Args:
        values: The values, or AsWritten, by key; those of a section are a dict of such.
        nodes: The expressions of the values in this module; none where it is a file, or another module's.
    """

    values: dict[str, Any] = field(default_factory=dict)
    nodes: dict[str, ast.expr] = field(default_factory=dict)

    @property
    def known(self) -> dict[str, Any]:
        """The values without those that are not known, but for keys that had no effect."""
        return _known(self.values)

    @property
    def unknown(self) -> dict[str, AsWritten]:
        """Those that are not known: `section.key` of an entry of a section."""
        return {key: value for key, value in _leaves(self.values) if not is_ignored(key)}


def _known(values: dict[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in values.items() if not isinstance(value, AsWritten) or is_ignored(key)}
    return {key: _known(value) if isinstance(value, dict) else value for key, value in kept.items()}


def _leaves(values: dict[str, Any]) -> Iterator[tuple[str, AsWritten]]:
    for key, value in values.items():
        if isinstance(value, AsWritten):
            yield key, value
        elif isinstance(value, dict):
            yield from ((f"{key}.{inner}", leaf) for inner, leaf in _leaves(value))


def read_settings(context: Context, call: TrainerCall) -> Settings | None:
    """The accelerate_config of a trainer; None where it cannot be read."""
    given = call.arguments.get("accelerate_config")
    if given is None or context.module.constant(given) is None:
        return Settings()
    return _entries(context, given) or _of_object(context, given) or _file(context, given)


def _entries(context: Context, given: ast.expr) -> Settings | None:
    """A dict, which may be in another file of the project that the script imports it from."""
    module = context.module
    entries = module.entries(given)
    if entries is None and (found := module.elsewhere(given)) is not None and isinstance(found.node, ast.Name):
        module, entries = found.module, found.module.entries(found.node)
    if entries is None:
        if isinstance(given, ast.Call):
            entries = _returned(module, given)
        else:
            entries = _kept_by_class(module, given) or _but_ignored(module, given)
    if entries is None:
        return None
    values = {key: _value(module, node) for key, node in entries.items()}
    if isinstance(values.get("distributed_type"), AsWritten):
        return None  # which decides what the others meant
    return Settings(values, entries if module is context.module else {})


def _of_object(context: Context, given: ast.expr) -> Settings | None:
    """What an object is given that is handed over as a dict; or the file that OmegaConf loads it from."""
    module, value = context.module.followed(given)
    made = object_given(module, value) if _is_as_loaded(context.module, given) else None
    if made is None:
        return None
    named = file_given(module, made)
    path = file_named(module, named, context.path if module is context.module else module.path) if named else None
    try:
        values = read_file(path, context.written_settings) if path is not None else None
    except (OSError, ValueError):
        return None
    if values is None:
        entries = fields_given(module, made) or {}
        values = {key: _value(module, node) for key, node in entries.items()}
    is_read = values and not isinstance(values.get("distributed_type"), AsWritten)
    return Settings(values) if is_read and "${" not in str(values) else None  # which OmegaConf fills in


def _value(module: Module, node: ast.expr) -> Any:
    """A constant; of a dict in which not all is constant its entries, each for itself; else AsWritten."""
    value = module.constant(node)
    if value is not ...:
        return value
    entries = module.entries(node)
    if entries is None:
        return AsWritten(" ".join(module.source(node).split()))
    return {key: _value(module, inner) for key, inner in entries.items()}


def _but_ignored(module: Module, given: ast.expr) -> dict[str, ast.expr] | None:
    """The entries of a dict with a second name, by which only what Ray decides is set: `c["num_processes"] = 4`."""
    target = module.definition(given)
    first = module.assigned(target) if isinstance(target, ast.Name) else None
    if not isinstance(target, ast.Name) or not isinstance(first, ast.Name):
        return None
    if not all(is_ignored(str(key)) for key in map(partial(_key_set_by, module), fillings(module, target))):
        return None
    return module.entries(first)


def _kept_by_class(module: Module, given: ast.expr) -> dict[str, ast.expr] | None:
    """The entries of a dict in an attribute of `self`, which nothing in the project sets or fills a second time."""
    if not isinstance(given, ast.Attribute) or class_of_self(module, given.value) is None:
        return None
    others = importing_modules(module, given.attr)
    if is_given_elsewhere(module, given) or any(
        attribute_fillings(other, given.attr) or may_be_member(other, given.attr, elsewhere=False) for other in others
    ):
        return None
    for other in with_imported(module)[1:]:  # which may be given the object
        stores = [store for store in other.stores(given.attr) if class_of_self(other, store.value) is None]
        if stores or attribute_fillings(other, given.attr):
            return None
    sources = module.origins(given, elsewhere=False)
    return module.entries(sources[0].node) if len(sources) == 1 and sources[0].node is not given else None


def _returned(module: Module, given: ast.Call) -> dict[str, ast.expr] | None:
    """The entries of the one dict that a function of the file returns."""
    sources = module.origins(given, elsewhere=False)
    return module.entries(sources[0].node) if len(sources) == 1 else None


def _key_set_by(module: Module, statement: ast.stmt) -> object:
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    return module.constant(target.slice) if isinstance(target, ast.Subscript) else None


def _file(context: Context, given: ast.expr) -> Settings | None:
    """A file that is named, looked up beside the script and above it; or one that the script loads, as a dict."""
    module, value = context.module.followed(given)
    script = context.path if module is context.module else module.path
    named = file_named(module, value, script)
    path = named or (_loaded_file(module, value, script) if _is_as_loaded(context.module, given) else None)
    if path is None:
        return None
    try:
        values = read_file(path, context.written_settings)
    except (OSError, ValueError):
        return None
    return Settings(with_new_names(values) if named is not None else values)


def _is_as_loaded(module: Module, given: ast.expr) -> bool:
    """Whether nothing changes a dict by the name that it has, but for what Ray decides."""
    target = module.definition(given)
    changes = fillings(module, target) if isinstance(target, ast.Name) else []
    return all(is_ignored(str(_key_set_by(module, change))) for change in changes)


def _loaded_file(module: Module, node: ast.expr, script: str) -> Path | None:
    """The file that a value was loaded from; None where it was not, or that cannot be seen.

    Args:
        module: The module the expression is in.
        node: The call that loads it.
        script: Path of the module's file.
    """
    name = called_name(module, node)
    given = argument(node, 0, "stream", "fp", "s") if isinstance(node, ast.Call) else None
    if given is None or name not in (*OF_FILES, *OF_TEXTS):
        return None
    opened = _opened(module, given) if name in OF_FILES else None
    opened = opened or (_read(module, given) if name in OF_TEXTS else None)
    return file_named(module, opened, script) if opened is not None else None


def _opened(module: Module, stream: ast.expr) -> ast.expr | None:
    """The path of an open file: of `open(path)`, `Path(path).open()`, or the name that `with` gives to one."""
    target = module.definition(stream)
    outer = module.parent_of.get(target) if target is not None else None
    call = outer.context_expr if isinstance(outer, ast.withitem) else module.value(stream)
    if not isinstance(call, ast.Call) or has_unpacking(call):
        return None
    if free_name(module, call.func) == "open":
        return argument(call, 0, "file")
    return _method_of_path(module, call, "open")


def _read(module: Module, text: ast.expr) -> ast.expr | None:
    """The path of a file whose text is read: `open(path).read()`, `Path(path).read_text()`."""
    call = module.value(text)
    if is_method_call(call, "read"):
        return _opened(module, call.func.value) if not call.args else None
    return _method_of_path(module, call, "read_text", "read_bytes") if isinstance(call, ast.Call) else None


def _method_of_path(module: Module, call: ast.Call, *methods: str) -> ast.expr | None:
    if not is_method_call(call, *methods):
        return None
    made = module.value(call.func.value)
    while isinstance(made, ast.BinOp):
        made = module.value(made.left)  # `Path(folder) / name`
    base = made.func if isinstance(made, ast.Call) else made
    while isinstance(base, ast.Attribute) and module.qualified(base) not in PATH_CLASSES:
        base = base.value  # `Path(__file__).parent`
        base = base.func if isinstance(base, ast.Call) else base
    return call.func.value if module.qualified(base) in PATH_CLASSES else None

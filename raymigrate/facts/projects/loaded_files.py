"""Files whose whole content a script loads, as YAML or JSON: `yaml.safe_load(open("accelerate.yaml"))`."""

import ast
from pathlib import Path

from raymigrate.facts.projects.files import PATH_CLASSES, file_named
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import argument, called_name, free_name, has_unpacking, is_method_call

OF_FILES = ("yaml.safe_load", "yaml.load", "yaml.full_load", "json.load")
OF_TEXTS = ("yaml.safe_load", "yaml.load", "yaml.full_load", "json.loads")


def loaded_file(module: Module, node: ast.expr, script: str) -> Path | None:
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
    target = module.definition(stream) if isinstance(stream, ast.Name) else None
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

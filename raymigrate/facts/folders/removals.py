"""What removes or moves files, and paths that each process has for itself."""

import ast

from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import called_name, origins

REMOVES = (
    *("os.remove", "os.unlink", "os.rmdir", "os.rename", "os.replace", "os.removedirs"),
    *("shutil.rmtree", "shutil.move"),
)
SHELLS = ("os.system", "subprocess.run", "subprocess.call", "subprocess.check_call", "subprocess.check_output")
REMOVES_PATH = ("unlink", "rmdir", "rename", "replace")  # of a pathlib.Path
PATH = "pathlib.Path"
OWN_FOLDER = ("tempfile.", "uuid.")


def removes_files(module: Module, call: ast.Call) -> bool:
    """Whether a call removes or moves files: `shutil.rmtree(folder)`, `Path("last.pt").unlink()`."""
    name = called_name(module, call)
    if name in REMOVES or (name in SHELLS and _removes(module, call)):
        return True
    is_method = not name and isinstance(call.func, ast.Attribute)
    return is_method and call.func.attr in REMOVES_PATH and _is_path(module, call.func.value)  # type: ignore[attr-defined]


def _removes(module: Module, call: ast.Call) -> bool:
    """Whether a program that is called removes or moves files: `os.system("rm -rf out")`."""
    given = call.args[0] if call.args else None
    first = given.elts[0] if isinstance(given, (ast.List, ast.Tuple)) and given.elts else given
    if isinstance(first, ast.JoinedStr) and first.values:
        first = first.values[0]
    text = module.constant(first) if first is not None else ""
    return isinstance(text, str) and text.split(" ")[0] in ("rm", "mv", "rmdir", "unlink")


def _is_path(module: Module, node: ast.expr) -> bool:
    """Whether an object is a pathlib.Path, as far as it is seen where it was made."""
    ends = (source for source in origins(module, node))
    return any(PATH in _names(end.module, end.node) for end in ends)


def is_own_path(module: Module, path: ast.expr) -> bool:
    """Whether a path begins with a folder that each process makes for itself."""
    parts = [part for part in ast.walk(path) if isinstance(part, (ast.Name, ast.Call))]
    ends = [end for part in parts for end in origins(module, part)]
    bound = [module.definition(part) for part in parts if isinstance(part, ast.Name)]
    opened = [item.context_expr for node in bound if (item := _opened(module, node)) is not None]
    names = [name for end in ends for name in _names(end.module, end.node)]
    names += [name for node in opened for name in _names(module, node)]
    return any(name.startswith(OWN_FOLDER) for name in names)


def _opened(module: Module, bound: ast.AST | None) -> ast.withitem | None:
    """What `with ... as name` opens for a name."""
    parent = module.parent_of.get(bound) if bound is not None else None
    return parent if isinstance(parent, ast.withitem) else None


def _names(module: Module, node: ast.AST) -> list[str]:
    """The names of libraries in an expression."""
    parts = (part for part in ast.walk(node) if isinstance(part, (ast.Name, ast.Attribute)))
    return [name for part in parts if (name := module.qualified(part))]

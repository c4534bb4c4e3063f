"""Where a script looks into a folder that got the results of legacy Ray, and gets none of Ray today."""

import ast
from collections.abc import Iterator

from raymigrate.facts.folders.opened_files import opens_to_write
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import last_name

DELETED = "RunConfig(local_dir=) raises on Ray >= 2.51, which has no other folder than the one for results; deleted."
ADVICE = "Look in the storage_path=, or in result.path."
STORAGE = ("local_dir", "storage_path", "sync_config")
# What makes a path of another one.
PATHS = frozenset(
    {"join", "expanduser", "expandvars", "abspath", "realpath", "normpath", "fspath", "Path", "str", "format"}
    | {"joinpath", "resolve", "absolute"}
)
MAKES_OR_SHOWS = frozenset({"makedirs", "mkdir", "print", "info"})
# What reads one file and raises where there is none.
READS_FILE = frozenset({"open", "read_text", "read_bytes"})
READS = ("load", "read_")
BRANCHES = (ast.If, ast.Try, ast.While, ast.For, ast.Match, ast.IfExp, ast.BoolOp)
EXPRESSIONS = (ast.expr, ast.keyword, ast.FormattedValue)


def says(module: Module, folder: ast.expr) -> str:
    """What there is to say where a folder is looked into.

    Args:
        module: The module of the RunConfig.
        folder: Its local_dir, which goes.
    """
    written = module.source(folder)
    return f"If this looks for results: Ray >= 2.51 writes nothing into {written}, the local_dir= that went."


def path_of(module: Module, folder: ast.expr) -> str | None:
    """A folder as a text, if it is known and is not just a name: that could be anything."""
    value = module.value(folder)
    while isinstance(value, ast.Call) and len(value.args) == 1 and last_name(value.func) in PATHS:
        value = module.value(value.args[0])
    text = module.constant(value)
    return text.rstrip("/") if isinstance(text, str) and "/" in text.strip("./") else None


def first_look(module: Module, call: ast.Call, folder: ast.expr) -> ast.expr | None:
    """Where a script first looks into a folder that legacy Ray wrote results into before it uploaded them.

    Args:
        module: The module.
        call: The RunConfig.
        folder: Its local_dir.
    """
    mentions = (node for node in _mentions(module, folder) if not module.inside(node, call))
    return min((node for node in mentions if _is_looked_at(module, node, call)), key=module.start, default=None)


def _mentions(module: Module, folder: ast.expr) -> Iterator[ast.expr]:
    """Where a folder, or what is in it, is named."""
    yield from module.uses_of(folder)
    if path := path_of(module, folder):
        for node in module.of_type(ast.Constant):
            if isinstance(node.value, str) and f"{node.value}/".startswith(f"{path}/"):
                yield node


def _is_looked_at(module: Module, path: ast.expr, config: ast.Call) -> bool:
    """Whether a path may be read where it is named: not in another configuration, nor where it is made or shown."""
    if any(isinstance(around, ast.keyword) and around.arg in STORAGE for around in module.ancestors(path)):
        return False
    taken = _taken_by(module, path)
    if isinstance(taken, (ast.Assign, ast.AnnAssign, ast.Expr)):
        return module.parent_of[path] is not taken  # where it is used is told
    name = last_name(taken.func) if isinstance(taken, ast.Call) else ""
    if name in MAKES_OR_SHOWS or (isinstance(taken, ast.Call) and _writes(module, taken)):
        return False
    return not ((name in READS_FILE or name.startswith(READS)) and _always_before(module, path, config))


def _taken_by(module: Module, path: ast.expr) -> ast.AST:
    """What takes a path, once other paths are made of it."""
    node: ast.AST = path
    outer = module.parent_of[node]
    while isinstance(outer, EXPRESSIONS):
        if isinstance(outer, ast.Call) and last_name(outer.func) not in PATHS:
            break
        node, outer = outer, module.parent_of[outer]
    return outer


def _writes(module: Module, call: ast.Call) -> bool:
    """Whether a call opens a file to write it; it may read it too."""
    name = last_name(call.func)
    return opens_to_write(module, call) if name == "open" else name in ("write_text", "write_bytes")


def _always_before(module: Module, node: ast.AST, config: ast.Call) -> bool:
    """Whether code runs before a run each time, also the first time, when there are no results."""
    home = module.function(config)
    if module.function(node) is not home or module.start(node) > module.start(config):
        return False
    around = set(module.ancestors(config))
    return not any(isinstance(outer, BRANCHES) and outer not in around for outer in module.ancestors(node))

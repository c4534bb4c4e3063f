"""Folders from which a script makes checkpoints: whether they last, and who sees them.

A checkpoint of legacy Ray took its files along when it was sent to another process (Ray 2.4.0 and 2.6.3,
air/checkpoint.py, `__getstate__`). ray.train.Checkpoint is a path.
"""

import ast
import re
from collections.abc import Iterator

from raymigrate.facts.module import Module
from raymigrate.facts.results import class_method, made_by_script
from raymigrate.facts.storage import is_absolute
from raymigrate.facts.values import Source, leading_text, sources

FROM_FOLDER = ("", "from_directory", "from_model")
# Where Databricks, Anyscale and network file systems are mounted by their documents.
SHARED = re.compile(
    r"/(?:mnt/)?(?:dbfs|Volumes|efs|nfs|fsx|lustre|gpfs|shared|shared_storage|cluster_storage|user_storage)(?:/|$)"
)
MAX_STEPS = 20


def local_folder(module: Module, checkpoint: ast.expr) -> Source | None:
    """The folder from which a checkpoint is made in one of the ways to it, unless all machines are seen to share it."""
    for made in module.origins(checkpoint):
        folder = _folder(made.module, made.node)
        if folder is None or "://" in _text(made.module, folder):
            continue
        if SHARED.match(leading_text(made.module, folder)) is None:
            return Source(made.module, folder)
    return None


def carried_files(made: Source) -> bool:
    """Whether a checkpoint is of a class of Ray <= 2.6, which carried its files."""
    if class_method(made.module, made.node) is not None:
        return True
    name = made.module.qualified(made.node.func) if isinstance(made.node, ast.Call) else None
    return made_by_script(made.module, made.node) is not None and (name or "").startswith(("ray.air.", "ray.ml."))


def open_folder(made: Source) -> ast.expr | None:
    """The folder of such a checkpoint that may be a relative path: never a URI, as `from_directory()` takes none."""
    module, call = made.module, made.node
    methods = (made_by_script(module, call), class_method(module, call))
    folder = _folder(module, call) if "from_directory" in methods and carried_files(made) else None
    if folder is None or isinstance(folder, ast.Starred) or is_absolute(module, folder):
        return None
    return folder


def folder_is_temporary(module: Module, checkpoint: ast.expr, user: ast.AST) -> bool:
    """Whether the folder of a checkpoint may be gone soon after a node has run.

    It goes with the `with` block around the node, with a TemporaryDirectory object, or by shutil.rmtree().

    Args:
        module: The module.
        checkpoint: The checkpoint.
        user: What uses it.
    """
    folders = [_folder(module, source) for source in sources(module, checkpoint)]
    return any(
        _ends_with_block(module, name, user) or _is_temporary(module, name) or _is_removed(module, name)
        for folder in folders
        if folder is not None
        for name in _names(module, folder)
    )


def _folder(module: Module, source: ast.expr) -> ast.expr | None:
    """The folder that a source of a checkpoint is made from; None where it is made in another way."""
    if not isinstance(source, ast.Call):
        return None
    method = made_by_script(module, source)
    method = class_method(module, source) if method is None else method
    if method == "from_checkpoint" and source.args:
        inner = sources(module, source.args[0])
        return _folder(module, inner[0]) if len(inner) == 1 and inner[0] is not source else None
    if method not in FROM_FOLDER:
        return None
    named = [keyword.value for keyword in source.keywords if keyword.arg in ("path", "local_path")]
    return next(iter(named if method == "from_model" else [*source.args, *named]), None)


def _text(module: Module, node: ast.expr) -> str:
    """The literal text in an expression."""
    parts = ast.walk(module.value(node))
    return "".join(n.value for n in parts if isinstance(n, ast.Constant) and isinstance(n.value, str))


def _names(module: Module, node: ast.expr) -> Iterator[ast.Name]:
    """The names that an expression is made of, through what is assigned to them."""
    todo, seen = [node], set[ast.AST]()
    while todo and len(seen) < MAX_STEPS:
        current = todo.pop()
        if current in seen:
            continue
        seen.add(current)
        for name in ast.walk(current):
            if isinstance(name, ast.Name):
                yield name
                value = module.value(name)
                todo += [value] if value is not name else []


def _ends_with_block(module: Module, name: ast.Name, user: ast.AST) -> bool:
    target = module.definition(name)
    item = module.parent_of.get(target) if target is not None else None
    block = module.parent_of.get(item) if isinstance(item, ast.withitem) else None
    return block is not None and module.inside(user, block)


def _is_temporary(module: Module, name: ast.Name) -> bool:
    value = module.value(name)
    return isinstance(value, ast.Call) and module.qualified(value.func) == "tempfile.TemporaryDirectory"


def _is_removed(module: Module, name: ast.Name) -> bool:
    scope = module.scope_of[name].find(name.id)
    uses = module.uses(name.id, scope) if scope is not None else []
    calls = [module.parent_of[use] for use in uses]
    return any(isinstance(call, ast.Call) and module.qualified(call.func) == "shutil.rmtree" for call in calls)

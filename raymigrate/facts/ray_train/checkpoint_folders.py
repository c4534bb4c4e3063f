"""Folders from which a script makes checkpoints: whether they last, and who sees them.

A checkpoint of legacy Ray took its files along when it was sent to another process (Ray 2.4.0 and 2.6.3,
air/checkpoint.py, `__getstate__`). ray.train.Checkpoint is a path.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from raymigrate.base.expressions import lazy_regex
from raymigrate.facts.projects.callees import functions_run
from raymigrate.facts.projects.files import PATH_CLASSES, UNCHANGED
from raymigrate.facts.ray_train.results import class_method, made_by_script
from raymigrate.facts.ray_train.storage import is_absolute
from raymigrate.facts.syntax.functions import is_static, parameter_for
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import only_target
from raymigrate.facts.syntax.scopes import LOOPS, FunctionNode
from raymigrate.facts.values import (
    Source,
    all_arguments,
    argument,
    called_name,
    is_method_call,
    leading_text,
    sources,
)

FROM_FOLDER = ("", "from_directory", "from_model")
# Where Databricks, Anyscale and network file systems are mounted by their documents.
SHARED = lazy_regex(
    r"/(?:mnt/)?(?:dbfs|Volumes|efs|nfs|fsx|lustre|gpfs|shared|shared_storage|cluster_storage|user_storage)(?:/|$)"
)
MAX_STEPS = 20
OPENED = ("as_directory", "to_directory", "path")  # what gives the folder of a checkpoint
REMOVERS = ("shutil.rmtree", "shutil.move", "os.rmdir", "os.removedirs", "os.rename", "os.replace")


@dataclass(frozen=True)
class Removal:
    """What takes a folder away.

    Args:
        call: The call that does it, or that of a function of the file which does.
        folder: The folder that the call is given.
        remover: The call that does it.
    """

    call: ast.Call
    folder: ast.expr
    remover: ast.Call


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
    name = called_name(made.module, made.node)
    return made_by_script(made.module, made.node) is not None and name.startswith(("ray.air.", "ray.ml."))


def open_folder(made: Source) -> ast.expr | None:
    """The folder of such a checkpoint that may be a relative path: never a URI, as `from_directory()` takes none."""
    module, call = made.module, made.node
    methods = (made_by_script(module, call), class_method(module, call))
    folder = _folder(module, call) if "from_directory" in methods and carried_files(made) else None
    if folder is None or isinstance(folder, ast.Starred) or is_absolute(module, folder):
        return None
    return folder


def name_of_folder(module: Module, read: ast.Attribute) -> ast.Name | None:
    """The name that the folder of a checkpoint gets.

    `with c.as_directory() as name:`, `name = c.to_directory()`, `name = stack.enter_context(c.as_directory())`.
    """
    value = module.parent_of[read] if isinstance(module.parent_of[read], ast.Call) else read
    outer = module.parent_of[value]
    if is_method_call(outer, "enter_context"):
        outer = module.parent_of[outer]
    target: ast.AST | None = outer.optional_vars if isinstance(outer, ast.withitem) else None
    target = target or only_target(outer)
    return target if isinstance(target, ast.Name) else None


def checkpoint_of_folder(module: Module, path: ast.expr) -> ast.expr | None:
    """The checkpoint in whose folder a path is; None where none is seen.

    `with c.as_directory() as folder: load(folder)`, `load(c.path)`, `load(os.path.join(c.to_directory(), "model"))`.
    """
    parts = {part for given in (path, module.value(path)) for part in ast.walk(given)}
    opened = (read for read, uses in _opened(module) if read in parts or not parts.isdisjoint(uses))
    return next((read.value for read in opened), None)


@kept
def _opened(module: Module) -> list[tuple[ast.Attribute, list[ast.Name]]]:
    """What may open a checkpoint, in source order, each with the reads of the name that its folder gets."""
    reads = [read for read in module.attributes(*OPENED) if not module.qualified(read.value)]  # but `os.path`
    return [(read, module.uses_of(name_of_folder(module, read))) for read in reads]


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


def folder_ends_before(module: Module, checkpoint: ast.expr, made: ast.Call, user: ast.AST) -> bool:
    """Whether the folder of a checkpoint is gone when a node runs, which was there for the call that took its files.

    Args:
        module: The module.
        checkpoint: The checkpoint.
        made: What took the files.
        user: What reads them now.
    """
    folders = [folder for source in sources(module, checkpoint) if (folder := _folder(module, source)) is not None]
    names = [name for folder in folders for name in _names(module, folder)]
    if any(_is_left_before(module, name, user) for name in names):
        return True
    return any(_is_between(module, removal.call, made, user) for removal in _removals(module, folders, names))


def removals_after(module: Module, report: ast.Call, checkpoint: ast.expr) -> Iterator[Removal]:
    """What deletes the folder of a checkpoint, or moves it away, when it was reported in the same function.

    Args:
        module: The module.
        report: The call that reports it.
        checkpoint: The checkpoint.
    """
    folders = [folder for source in sources(module, checkpoint) if (folder := _folder(module, source)) is not None]
    names = [name for folder in folders for name in _names(module, folder)]
    loops = [outer for outer in module.ancestors(report) if isinstance(outer, LOOPS)]
    for removal in _removals(module, folders, names):
        call = removal.call
        follows = module.start(report) < module.start(call) or any(module.inside(call, loop) for loop in loops)
        if follows and module.function(call) is module.function(report):
            yield removal


def _is_left_before(module: Module, name: ast.Name, user: ast.AST) -> bool:
    """Whether a `with` block that gives a name has ended when a node after it runs."""
    block = _block_giving(module, name)
    return block is not None and not module.inside(user, block)


def _block_giving(module: Module, name: ast.Name) -> ast.AST | None:
    """The `with` block that gives a name its value."""
    target = module.definition(name)
    item = module.parent_of.get(target) if target is not None else None
    return module.parent_of.get(item) if isinstance(item, ast.withitem) else None


def _removals(module: Module, folders: list[ast.expr], names: list[ast.Name]) -> Iterator[Removal]:
    """What deletes one of some folders, or moves it away: `shutil.rmtree(name)`, `clean(name)`, `name.cleanup()`.

    Args:
        names: The names that they are made of.
    """
    targets = {module.definition(name) for name in names} - {None}
    spelled = {ast.dump(_plain(module, folder)) for folder in folders}
    for removal in _all_removals(module):
        removed = _plain(module, removal.folder)
        whole = removed.value if isinstance(removed, ast.Attribute) and removed.attr == "name" else removed
        if ast.dump(removed) in spelled or (isinstance(whole, ast.Name) and module.definition(whole) in targets):
            yield removal
    for call, method in module.method_calls("cleanup"):
        if module.definition(method.value) in targets:
            yield Removal(call, method.value, call)


@kept
def _all_removals(module: Module) -> list[Removal]:
    """What takes a folder away in a file: the calls of REMOVERS, and those of functions that do it with a parameter."""
    found = [Removal(call, folder, call) for call in module.calls(*REMOVERS) if (folder := removed_by(call))]
    taking = set[ast.AST]()
    for removal in found:  # which grows meanwhile
        parameter, function = module.definition(_plain(module, removal.folder)), module.function(removal.call)
        if isinstance(parameter, ast.arg) and function is not None and parameter not in taking:
            taking.add(parameter)
            handed = _given_to(module, function, parameter.arg)
            found += [Removal(call, given, removal.remover) for call, given in handed]
    return found


def _given_to(module: Module, function: ast.AST, parameter: str) -> Iterator[tuple[ast.Call, ast.expr]]:
    """The calls of a function, each with what it gives to a parameter."""
    for call, callee in _calls_that_run(module).get(function, ()):
        for given in all_arguments(call):
            if _taken_by(module, callee, call, given) == parameter:
                yield call, given


@kept
def _calls_that_run(module: Module) -> dict[ast.AST, list[tuple[ast.Call, FunctionNode]]]:
    """The calls of a file, by the functions that they run."""
    found: dict[ast.AST, list[tuple[ast.Call, FunctionNode]]] = {}
    for call in module.of_type(ast.Call):
        for _, function in functions_run(module, call):
            found.setdefault(function, []).append((call, function))
    return found


def _taken_by(module: Module, function: FunctionNode, call: ast.Call, given: ast.expr) -> str:
    is_bound = isinstance(module.parent_of.get(function), ast.ClassDef) and isinstance(call.func, ast.Attribute)
    is_filled = is_bound and not isinstance(function, ast.Lambda) and not is_static(function)
    return parameter_for(function, call, given, int(is_filled))


def removed_by(call: ast.Call) -> ast.expr | None:
    """What a call of one of REMOVERS takes away."""
    return argument(call, 0, "path", "src", "name")


def _plain(module: Module, folder: ast.expr) -> ast.expr:
    """A folder without what only makes its path absolute or of another type."""
    while isinstance(folder, ast.Call) and len(folder.args) == 1 and not folder.keywords:
        if module.qualified(folder.func) not in (*UNCHANGED, *PATH_CLASSES) and ast.unparse(folder.func) != "str":
            break
        folder = folder.args[0]
    return folder


def _is_between(module: Module, node: ast.AST, first: ast.AST, last: ast.AST) -> bool:
    """Whether a node runs after another one and before a third, as far as their order in one function tells."""
    if module.function(node) is not module.function(last):
        return False
    if module.start(first) < module.start(node) < module.start(last):
        return True
    loops = (outer for outer in module.ancestors(last) if isinstance(outer, ast.For | ast.AsyncFor | ast.While))
    return any(module.inside(node, loop) and not module.inside(first, loop) for loop in loops)


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
    block = _block_giving(module, name)
    return block is not None and module.inside(user, block)


def _is_temporary(module: Module, name: ast.Name) -> bool:
    return called_name(module, module.value(name)) == "tempfile.TemporaryDirectory"


def _is_removed(module: Module, name: ast.Name) -> bool:
    calls = [module.parent_of[use] for use in module.uses_of(name)]
    return any(called_name(module, call) == "shutil.rmtree" for call in calls)

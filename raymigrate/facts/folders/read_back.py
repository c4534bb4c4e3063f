"""Whether a path that code writes to is named again, to be read or handed on."""

import ast
from collections.abc import Iterable, Iterator

from raymigrate.base.expressions import lazy_regex
from raymigrate.facts.folders.entered_folders import is_renamed_later
from raymigrate.facts.folders.removals import SHELLS
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import is_assignment, targets_of
from raymigrate.facts.values import all_arguments, constant, last_name, origins

READ_METHODS = frozenset({"read_text", "read_bytes", "open"})
# What only makes a path of a path.
PATHS = (
    *("pathlib.Path", "pathlib.PurePath", "os.fspath"),
    *(f"os.path.{name}" for name in ("abspath", "expanduser", "realpath")),
)
JOINS = (*PATHS, "os.path.join")
# What looks at a path, removes what is there or keeps its name: nothing reads the file.
NO_READERS = frozenset(
    {
        *("print", "debug", "info", "warning", "error", "log", "report", "len", "isinstance", "format", "join"),
        *("exists", "isfile", "isdir", "is_file", "remove", "unlink", "makedirs", "mkdir", "rmtree"),
        *("append", "add", "get", "pop", "startswith", "endswith", "split"),
    }
)
# What answers by whether a file is there.
ASKS = frozenset({"exists", "lexists", "isfile", "isdir", "is_file", "is_dir", "stat", "lstat"})
COMMANDS = (*SHELLS, "os.popen", "subprocess.Popen", "subprocess.getoutput")
WORD_ENDS = lazy_regex(r"[\s=\"';|&<>]+")
# What goes through a folder, given to them or before the dot.
GOES_THROUGH = (
    *("os.listdir", "os.scandir", "os.walk", "glob.glob", "glob.iglob", "shutil.make_archive", "shutil.copytree"),
    *("datasets.load_dataset", "datasets.load_from_disk", "huggingface_hub.upload_folder"),
)
GO_THROUGH_OWN = ("iterdir", "glob", "rglob", "walk")
GO_THROUGH_GIVEN = ("from_pretrained", "upload_folder")
DEPTH = 4
NAMES = (ast.Attribute, ast.BinOp, ast.Call, ast.Constant, ast.JoinedStr, ast.Name, ast.Subscript)


def is_read_back(module: Module, path: ast.expr, functions: Iterable[ast.AST], writers: set[ast.Call]) -> bool:
    """Whether code is given a path again, to read the file or to hand it on.

    Args:
        module: The module.
        path: The path that is written to.
        functions: The functions that run on the same worker.
        writers: The calls that write.
    """
    found = _named_in(module, path, functions)
    return any(not writers.intersection(module.ancestors(node)) and _is_use(module, node) for node in found)


def is_missed(module: Module, path: ast.expr, writers: set[ast.Call]) -> bool:
    """Whether code may read a file, ask whether it is there, or go through its folder: it has to be written before.

    Args:
        module: The module.
        path: The path that is written to.
        writers: The calls that write.
    """
    if is_renamed_later(module, path):
        return True
    function = module.function(path)
    callers = set(module.calls_of(function)) if function is not None else set()  # of which a parameter is given
    keys = set(path_keys(module, path))
    if not keys.isdisjoint(_in_commands(module)) or any(key.startswith(_gone_through(module)) for key in keys):
        return True
    named = (node for key in keys for node in _with_key(module, key, (module.tree,)))
    others = (node for node in named if (writers | callers).isdisjoint(module.ancestors(node)))
    return any(_is_use(module, node) or _is_asked_for(module, node) for node in others)


@kept
def _in_commands(module: Module) -> frozenset[str]:
    """The words and paths in the commands that are run: `os.system(f"cat {path}")`."""
    found = set[str]()
    for call in module.calls(*COMMANDS):
        for part in (part for given in all_arguments(call) for part in ast.walk(module.value(given))):
            if isinstance(part, NAMES):
                key = path_key(module, part)
                found.update((key, *WORD_ENDS.split(key)))
    return frozenset(found)


@kept
def _gone_through(module: Module) -> tuple[str, ...]:
    """How the paths begin of what is found where the script goes through folders."""
    calls = [*module.calls(*GOES_THROUGH), *(call for call, _ in module.method_calls(*GO_THROUGH_GIVEN))]
    keys = {path_key(module, given) for call in calls for given in all_arguments(call)}
    keys |= {"." for call in calls if not all_arguments(call)}  # os.listdir()
    methods = (method for _, method in module.method_calls(*GO_THROUGH_OWN))
    keys |= {path_key(module, method.value) for method in methods if module.qualified(method) is None}
    heads = (key.partition("*")[0] if "*" in key else f"{key.rstrip('/')}/" for key in keys)
    return tuple({head.removeprefix("./") for head in heads})


def _named_in(module: Module, path: ast.expr, functions: Iterable[ast.AST]) -> Iterator[ast.expr]:
    return _with_key(module, path_key(module, path), functions)


def _with_key(module: Module, wanted: str, functions: Iterable[ast.AST]) -> Iterator[ast.expr]:
    alike = _by_hash(module, tuple(functions)).get(hash(wanted), ())
    return (node for node in alike if path_key(module, node) == wanted)


@kept
def _by_hash(module: Module, functions: tuple[ast.AST, ...]) -> dict[int, list[ast.expr]]:
    """What may be a path in functions, by the hash of its key: the keys of all would take much room."""
    found: dict[int, list[ast.expr]] = {}
    for node in dict.fromkeys(part for function in functions for part in module.below(function)):
        if isinstance(node, NAMES) and not isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del)):
            found.setdefault(hash(path_key(module, node)), []).append(node)
    return found


def path_key(module: Module, node: ast.expr, depth: int = DEPTH) -> str:
    """What spellings of one path have in common: the text where it is known, else the expression.

    Args:
        module: The module.
        node: The path.
        depth: How far the names in it are followed.
    """
    text = constant(module, node)
    if isinstance(text, str):
        return text
    path = module.value(node)
    parts = _parts(module, path) if depth else []
    keys = (part if isinstance(part, str) else path_key(module, part, depth - 1) for part in parts)
    return "".join(keys) or ast.dump(path)


def _parts(module: Module, path: ast.expr) -> list[ast.expr | str]:
    """What a path is put together of: `os.path.join(a, "b")`, `Path(a, "b")`, `f"{a}/b"`, `a + "/b"`, `a / "b"`."""
    match path:
        case ast.Call(args=[first, *others], keywords=[]) if module.qualified(path.func) in JOINS:
            return [first, *(part for other in others for part in ("/", other))]
        case ast.Call(func=ast.Attribute(value=first, attr="joinpath"), args=others, keywords=[]):
            return [first, *(part for other in others for part in ("/", other))]
        case ast.Call(func=ast.Name("str"), args=[whole], keywords=[]):
            return [whole]
        case ast.BinOp(op=ast.Div()):
            return [path.left, "/", path.right]
        case ast.BinOp(op=ast.Add()):
            return [path.left, path.right]
        case ast.JoinedStr():
            return [_put_in(part) for part in path.values]
    return []


def _put_in(part: ast.expr) -> ast.expr | str:
    """A part of a formatted string."""
    if isinstance(part, ast.Constant):
        return str(part.value)
    if isinstance(part, ast.FormattedValue) and part.conversion == -1 and part.format_spec is None:
        return part.value
    return ast.dump(part)


def path_keys(module: Module, node: ast.expr) -> Iterator[str]:
    """The `path_key` of everything that a path can be; of a parameter, also of what it is given."""
    yield path_key(module, node)
    if isinstance(module.definition(node), ast.arg):
        yield from (path_key(source.module, source.node) for source in origins(module, node))


def _is_use(module: Module, node: ast.expr) -> bool:
    """Whether what is around a path reads it or hands it on: an argument, an entry, an attribute of something."""
    outer = module.parent_of[node]
    if isinstance(outer, ast.Attribute):
        return outer.attr in READ_METHODS
    if isinstance(outer, ast.keyword):
        outer = module.parent_of[outer]
    if isinstance(outer, ast.Call):
        if node is outer.func:
            return False
        if module.qualified(outer.func) in PATHS:
            return _is_use(module, outer)
        return last_name(outer.func) not in NO_READERS
    if is_assignment(outer):
        return outer.value is node and not all(isinstance(target, ast.Name) for target in targets_of(outer))
    return isinstance(outer, (ast.Dict, ast.List, ast.Return, ast.Tuple))


def _is_asked_for(module: Module, node: ast.expr) -> bool:
    """Whether what is around a path asks for what is there: `os.path.exists(path)`, `path.stat()`."""
    outer = module.parent_of[node]
    if isinstance(outer, ast.Call) and node is not outer.func and module.qualified(outer.func) in PATHS:
        return _is_asked_for(module, outer)
    asking = outer.func if isinstance(outer, ast.Call) else outer
    return isinstance(asking, (ast.Attribute, ast.Name)) and last_name(asking) in ASKS

"""What is written into the folder of a checkpoint while transformers' Trainer saves it.

Ray's callback copies that folder when it is complete, with all that is in it (Ray 2.60,
train/huggingface/transformers/_transformers_utils.py:75).
"""

import ast
from collections.abc import Iterator

from raymigrate.facts.hugging_face.callbacks import is_callback
from raymigrate.facts.hugging_face.instances import TRAINER
from raymigrate.facts.ray_train.trainers import library_bases
from raymigrate.facts.syntax.module import Module
from raymigrate.knowledge.libraries import lineage, look_up

# Methods of Trainer that write a checkpoint, each handed its folder (transformers 5.23, trainer.py; 4.30 too). What a
# script itself calls save_model("folder") for is told at that call.
SAVES = frozenset({"save_model", "_save", "_save_checkpoint"})
EVENT = "on_save"
OUTPUT = ("output_dir", "_get_output_dir")
# Functions whose path begins as their first argument does.
KEEPING = (
    "os.path.join",
    "os.path.abspath",
    "os.path.realpath",
    "os.path.normpath",
    "os.fspath",
    "pathlib.Path",
    "str",
)
DEEPEST = 12
CHECKPOINT, PREFIX = "checkpoint-", "PREFIX_CHECKPOINT_DIR"


def is_in_checkpoint(module: Module, node: ast.AST, path: ast.expr) -> bool:
    """Whether a path lies in the folder of the checkpoint that a Trainer is saving.

    Args:
        module: The module.
        node: What writes to the path.
        path: The path.
    """
    methods = [part for part in module.ancestors(node) if isinstance(part, ast.FunctionDef)]
    method = methods[-1] if methods else None
    home = module.parent_of[method] if method is not None else None
    if method is None or not isinstance(home, ast.ClassDef):
        return False
    if method.name in SAVES and any(TRAINER in lineage(look_up(name).place) for name in library_bases(module, home)):
        parts = list(_parts(module, path))
        given = any(isinstance(head, ast.Name) and _is_output(module, head) for head in _heads(module, path))
        return given or (any(_is_output(module, part) for part in parts) and any(map(_is_checkpoint, parts)))
    if method.name == EVENT and is_callback(module, home):
        parts = list(_parts(module, path))
        return any(_is_output(module, part) for part in parts) and any(map(_is_checkpoint, parts))
    return False


def _heads(module: Module, path: ast.expr, depth: int = 0) -> Iterator[ast.expr]:
    """What a path may begin with: `output_dir` of `os.path.join(output_dir, "history.json")`."""
    yield path
    firsts = list[ast.expr]()
    match path:
        case ast.Name():
            firsts = [source.node for source in module.origins(path, elsewhere=False) if source.node is not path]
        case ast.BinOp(left=first) | ast.JoinedStr(values=[first, *_]) | ast.FormattedValue(value=first):
            firsts = [first]
        case ast.BoolOp(values=firsts):
            pass
        case ast.IfExp():
            firsts = [path.body, path.orelse]
        case ast.Call(args=[first, *_]) if module.naming(path.func) in KEEPING:
            firsts = [first]
        case ast.Call(func=ast.Attribute(value=first, attr="joinpath")):
            firsts = [first]
    for first in firsts if depth < DEEPEST else ():
        yield from _heads(module, first, depth + 1)


def _parts(module: Module, path: ast.expr) -> Iterator[ast.AST]:
    """The nodes that a path is made of, through the names in it."""
    waiting, seen = [path], set[ast.AST | None]()
    while waiting:
        current = waiting.pop()
        for part in ast.walk(current):
            yield part
            if isinstance(part, ast.Name) and (bound := module.definition(part)) not in seen:
                seen.add(bound)
                origins = module.origins(part, elsewhere=False)
                waiting += [source.node for source in origins if source.node is not part]


def _is_output(module: Module, node: ast.AST) -> bool:
    """Whether a node is the folder of the Trainer, or the one that a method of it is handed."""
    if isinstance(node, ast.Name):
        return node.id == OUTPUT[0] and isinstance(module.definition(node), ast.arg)
    return isinstance(node, ast.Attribute) and node.attr in OUTPUT


def _is_checkpoint(node: ast.AST) -> bool:
    """Whether a node spells the name of the folder of a checkpoint."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and node.value.startswith(CHECKPOINT)
    return PREFIX in (getattr(node, "id", None), getattr(node, "attr", None))

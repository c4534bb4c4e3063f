"""RM414, for classes: what save_checkpoint() of a Trainable returns.

Ray 2.60 takes a dict, None, or the folder that the method was given, and raises a ValueError for another path
(tune/trainable/trainable.py:426); load_checkpoint() gets the dict or the folder. Legacy Ray handed on what came.
"""

import ast
from collections.abc import Iterator

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.tuner.tune_functions import RM414
from raymigrate.facts.ray_train.trainers import library_bases
from raymigrate.facts.syntax.functions import by_position, is_static, returns
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import is_call_by_name
from raymigrate.knowledge.libraries import lineage, look_up

TRAINABLE = "ray.tune.trainable.trainable.Trainable"
MAKE_PATHS = ("os.path.join", "os.path.abspath", "os.path.realpath", "os.fspath", "posixpath.join")
MESSAGE = "On current Ray save_checkpoint() returns {0}, a dict or nothing: another path raises a ValueError"
ADVICE = "Return {0}. load_checkpoint() gets this folder: join the name of the file there."


@codemod("save_checkpoint", phase=Phase.TRIALS)
def saved_paths(context: Context) -> None:
    """Reports the paths that such methods return."""
    for folder, value in _returned(context.module):
        found = [source.node for source in context.module.origins(value)]
        message = MESSAGE.format(folder)
        if any(_is_other_path(context.module, node, folder) for node in found):
            context.manual(RM414, value, f"{message}.", ADVICE.format(folder))
        elif any(_may_be_path(context.module, node, folder) for node in found):
            context.manual(RM414, value, f"{message}, if this gives one.", ADVICE.format(folder))


def _returned(module: Module) -> Iterator[tuple[str, ast.expr]]:
    """What save_checkpoint() of a Trainable's class returns, with the name of the folder that it gets."""
    for method in module.functions("save_checkpoint"):
        home, given = module.parent_of[method], by_position(method)
        if isinstance(home, ast.ClassDef) and len(given) > 1 and not is_static(method):
            if any(TRAINABLE in lineage(look_up(base).place) for base in library_bases(module, home)):
                values = (end.value for end in returns(module, method))
                yield from ((given[1].arg, value) for value in values if value is not None)


def _is_other_path(module: Module, node: ast.expr, folder: str) -> bool:
    """Whether an expression is a text, and not the folder as it is."""
    if isinstance(node, ast.Call):
        return _makes_path(module, node) and not (len(node.args) == 1 and _is_folder(node.args[0], folder))
    if isinstance(node, ast.BinOp):  # `Path(folder) / "model.pt"` is no str: Ray takes no notice of it
        return isinstance(node.op, (ast.Add, ast.Mod))
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _makes_path(module: Module, call: ast.Call) -> bool:
    return is_call_by_name(call, "str") or module.qualified(call.func) in MAKE_PATHS


def _is_folder(node: ast.expr, folder: str) -> bool:
    return isinstance(node, ast.Name) and node.id == folder


def _may_be_path(module: Module, node: ast.expr, folder: str) -> bool:
    """Whether a call that is given the folder, as `self.algorithm.save(folder)`, may return a path."""
    is_given = isinstance(node, ast.Call) and any(_is_folder(given, folder) for given in node.args)
    return is_given and isinstance(node, ast.Call) and not _makes_path(module, node)

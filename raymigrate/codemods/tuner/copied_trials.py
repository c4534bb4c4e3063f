"""RM608: the folder of a trial that is copied or uploaded as a whole, for the checkpoints that it held."""

import ast

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.tuner.trial_checkpoints import FOLDER, are_of_trials
from raymigrate.codemods.tuner.tuner_results import ANY_OF_THEM, RM608
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import Source, is_method_call, last_name

# Functions and methods that take a folder with all that is in it.
PLACES_OF_TARGETS = {"copytree": 1, "copy_tree": 1, "move": 1, "cp": 1, "put": 1, "make_archive": 0}
NAMES_OF_TARGETS = ("dst", "to", "rpath", "path2", "base_name", "artifact_path", "path_in_repo")
COPIES = (*PLACES_OF_TARGETS, "log_artifact", "log_artifacts", "add_dir", "upload_folder")
FOLDERS = ("path", "log_dir")
SAME = ("str", "os.fspath", "os.path.abspath", "os.path.realpath", "pathlib.Path")


@codemod(*COPIES, phase=Phase.TRIALS)
def copied_trials(context: Context) -> None:
    """Tells that a copy of the folder of a trial has no checkpoints."""
    module = context.module
    calls = [call for call, _ in module.method_calls(*COPIES)] + list(module.named_calls(*COPIES))
    for call in dict.fromkeys(calls):
        results = [found for value in _copied(call) for found in _results(module, value)]
        if are_of_trials(context, results):
            copied = ast.unparse(call.func)
            context.manual(RM608, call, f"{FOLDER}, so that {copied}() takes none along.", ANY_OF_THEM)


def _copied(call: ast.Call) -> list[ast.expr]:
    """What a call copies: all that it is given but the place where that goes."""
    name = last_name(call.func)
    if name == "put" and len(call.args) < 2 and not any(keyword.arg == "rpath" for keyword in call.keywords):
        return []  # of a queue, or of Ray's store
    place = PLACES_OF_TARGETS.get(name)
    by_place = [given for index, given in enumerate(call.args) if index != place]
    return by_place + [keyword.value for keyword in call.keywords if keyword.arg not in NAMES_OF_TARGETS]


def _results(module: Module, value: ast.expr) -> list[Source]:
    """The results of whose whole folder a value may be the path."""
    found: list[Source] = []
    waiting, seen = [Source(module, value)], set[ast.expr]()
    while waiting:
        holder = waiting.pop()
        for source in holder.module.origins(holder.node):
            node = source.node
            if node in seen:
                continue  # `path = str(path)` in a loop is made of itself
            seen.add(node)
            if isinstance(node, ast.Attribute) and node.attr in FOLDERS:
                found.append(Source(source.module, node.value))
            elif (inner := _same(source.module, node)) is not None:
                waiting.append(Source(source.module, inner))
    return found


def _same(module: Module, node: ast.expr) -> ast.expr | None:
    """What holds the same path, or with a scheme in front: `"file:" + str(path)`."""
    if isinstance(node, ast.Call) and node.args and (module.qualified(node.func) or last_name(node.func)) in SAME:
        return node.args[0]
    if is_method_call(node, "as_posix"):
        return node.func.value
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return node.right
    if isinstance(node, ast.JoinedStr) and node.values and isinstance(node.values[-1], ast.FormattedValue):
        return node.values[-1].value
    return None

"""RM609 and RM304, in texts: folders and files that legacy Ray made in a run, and no new run has.

docs/semantics/results.md#files-of-a-run: the folder of a trial, named after the class of the trainer, and
dict_checkpoint.pkl. A file that reads them may hold no trainer, and no result: it looks into a folder on disk.
"""

import ast
import re
from collections.abc import Iterator

from raymigrate.base.expressions import lazy_regex
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.ray_air.checkpoint_dicts import RM304
from raymigrate.codemods.results.checkpoint_numbers import RM609
from raymigrate.codemods.results.listed_checkpoints import GLOBS
from raymigrate.codemods.shared.emitted import CHECKPOINT_FILE
from raymigrate.facts.folders.opened_files import opens_to_write
from raymigrate.facts.folders.read_back import path_key
from raymigrate.facts.ray_train.runs import name_of_run
from raymigrate.facts.ray_tune.tuners import RUN_CONFIGS
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import is_assignment, targets_of
from raymigrate.facts.values import argument, is_method_call
from raymigrate.facts.values.items import looped_over

TRAINERS = ("TorchTrainer", "HuggingFaceTrainer", "TransformersTrainer", "AccelerateTrainer")
# As a pattern, for glob or re, or the beginning of a name: a whole name is that of a run that there was.
# No sentence, and no file: `TorchTrainer_*.md`.
PATTERN = lazy_regex(rf"(?:^|/)\^?(?:{'|'.join(TRAINERS)})_(?![^/]*\.[A-Za-z]\w*\$?(?:/|$))[^/\s]*[*?\[\\]")
MATCHING = frozenset(
    {"glob", "iglob", "rglob", "fnmatch", "fnmatchcase", "filter"}
    | {"compile", "match", "fullmatch", "search", "findall", "finditer", "sub", "split"}
)
STORAGE = ("storage_path", "local_dir")
LISTED = ("listdir", "iterdir", "scandir", "glob", "iglob", "walk")
BEGINNING = lazy_regex(rf"(?:{'|'.join(TRAINERS)})_?")
IN_THE_RUN = (
    "No new run has a folder with the name of its trainer: Ray >= 2.51 puts the checkpoints into the folder of the run,"
    " storage_path/name."
)
LOOK_THERE = (
    "For new runs look there for checkpoint_[0-9]*, or take result.checkpoint.path; what legacy Ray wrote stays where"
    " it is. A trial of a Tuner is called by the name of its function."
)
# A folder that is there under any name, with checkpoints in it; `**` also stands for none. checkpoint-500 is another's.
ANY_FOLDER = lazy_regex(rf"/(?!\*\*|(?:{'|'.join(TRAINERS)})_)[^/()]*[*?][^/()]*/checkpoint(?!-)")
NONE_BELOW = (
    "This finds no checkpoint of a new run: Ray >= 2.51 puts them into the folder of the run, storage_path/name, and"
    " makes none for a trial in it."
)
DICT_FILE = "dict_checkpoint.pkl"
NO_FILE = f"No new checkpoint holds a {DICT_FILE}: legacy Ray wrote it, for a checkpoint that was made from a dict."
OTHER_FILE = (
    f"Read that where it is there; what converted code wrote is in {CHECKPOINT_FILE}, for torch.load(path,"
    ' map_location="cpu", weights_only=False).'
)


@codemod("ray", in_ray_scripts=True)
def folders_of_trials(context: Context) -> None:
    """Reports patterns that find the folders of trials of legacy trainers."""
    module = context.module
    for node in module.of_type(ast.Constant):
        if not isinstance(node.value, str) or module.is_statement(node):
            continue
        is_pattern = PATTERN.search(node.value) and not re.search(r"\s", node.value) and _is_matched(module, node)
        if is_pattern or (BEGINNING.fullmatch(node.value) and _is_beginning(module, node)):
            context.manual(RM609, node, IN_THE_RUN, LOOK_THERE)


def _is_matched(module: Module, node: ast.expr, *, named: bool = False) -> bool:
    """Whether a text goes to glob, fnmatch or re, by itself, in a path, or by a name."""
    for outer in module.ancestors(node):
        if isinstance(outer, ast.Call):
            name = module.naming(outer.func).rpartition(".")[2]
            if name in MATCHING:
                return True
            if name not in ("join", "joinpath", "str", "fspath", "Path"):
                return False
        elif is_assignment(outer) and not named:
            names = [target for target in targets_of(outer) if isinstance(target, ast.Name)]
            uses = [use for name in names for use in module.uses_of(name)]
            return any(_is_matched(module, use, named=True) for use in uses)
        elif isinstance(outer, ast.stmt):
            return False
    return False


def _is_beginning(module: Module, node: ast.Constant) -> bool:
    """Whether a folder is looked for by how its name begins; without a `_` it has to be seen that it is one."""
    outer = module.parent_of[node]
    if not is_method_call(outer, "startswith"):
        return False
    owner = outer.func.value
    if isinstance(owner, ast.Attribute) and owner.attr == "__name__":
        return False
    if str(node.value).endswith("_"):
        return True
    bound = module.definition(owner.value if isinstance(owner, ast.Attribute) else owner)
    several = looped_over(module, bound) if bound is not None else None
    names = (part for part in ast.walk(several) if isinstance(part, (ast.Name, ast.Attribute))) if several else ()
    return any(module.naming(part).rpartition(".")[2] in LISTED for part in names)


@codemod("glob", "iglob", in_ray_scripts=True)
def folders_below_the_run(context: Context) -> None:
    """Reports patterns that have a folder between that of a run, as its RunConfig names it, and the checkpoints."""
    module = context.module
    searched = {call: found for call, key in _searched(module) if (found := ANY_FOLDER.search(key))}
    configs = [config for config in module.calls(*RUN_CONFIGS) if config not in context.tuned] if searched else []
    names = [name for config in configs if (name := name_of_run(module, config)[1]) is not None]
    ends = tuple(f"/{path_key(module, name)}" for name in names)
    storages = [keyword.value for config in configs for keyword in config.keywords if keyword.arg in STORAGE]
    of_all_runs = {path_key(module, storage).rstrip("/") for storage in storages}
    for call, found in searched.items():
        folder = found.string[: found.start()]
        if f"/{folder}".endswith(ends) and folder not in of_all_runs:
            context.manual(RM609, call, NONE_BELOW, LOOK_THERE)


def _searched(module: Module) -> Iterator[tuple[ast.Call, str]]:
    """The searches by a pattern, each with the whole of it: `glob.glob(pattern)`, `Path(folder).glob(pattern)`."""
    for call in module.calls(*GLOBS):
        if call.args:
            yield call, path_key(module, call.args[0])
    for call, method in module.method_calls("glob"):
        pattern = argument(call, 0, "pattern")
        if pattern is not None and module.qualified(call.func) is None:
            yield call, f"{path_key(module, method.value)}/{path_key(module, pattern)}"


@codemod("ray", in_ray_scripts=True)
def packed_dicts(context: Context) -> None:
    """Reports reads of the file that held a dict, where the one that takes its place is not read too."""
    module = context.module
    if DICT_FILE not in module.text:
        return
    texts = [node for node in module.of_type(ast.Constant) if isinstance(node.value, str)]
    if any(CHECKPOINT_FILE in node.value for node in texts):  # type: ignore[operator]
        return
    found = [
        node for node in texts if str(node.value).rpartition("/")[2] == DICT_FILE and not module.is_statement(node)
    ]
    if any(_is_written(module, node) for node in found):
        return
    for node in found:
        context.manual(RM304, node, NO_FILE, OTHER_FILE)


def _is_written(module: Module, node: ast.expr, *, named: bool = False) -> bool:
    """Whether a script writes a file itself: `open(path, "wb")`, also by a name of the path."""
    child: ast.AST = node
    for outer in module.ancestors(node):
        if isinstance(outer, ast.Attribute) and outer.attr in ("write_bytes", "write_text"):
            return True
        if isinstance(outer, ast.Call) and not (isinstance(outer.func, ast.Attribute) and child is not outer.func):
            if ast.unparse(outer.func).rpartition(".")[2] == "open":
                return opens_to_write(module, outer)
        elif is_assignment(outer) and not named:
            names = [target for target in targets_of(outer) if isinstance(target, ast.Name)]
            uses = [use for name in names for use in module.uses_of(name)]
            return any(_is_written(module, use, named=True) for use in uses)
        if isinstance(outer, ast.stmt):
            return False
        child = outer
    return False

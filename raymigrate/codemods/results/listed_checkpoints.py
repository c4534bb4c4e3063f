"""RM609 and RM602: checkpoints that are looked for in the folder of a run, by a pattern or in a list of what is there.

docs/semantics/results.md#files-of-a-run: their names, and the file beside them whose name begins as theirs do.
"""

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.results.checkpoint_numbers import RM609
from raymigrate.codemods.results.checkpoint_readers import DEEPER, RM602
from raymigrate.facts.ray_train.results import trainers_of
from raymigrate.facts.ray_train.run_folders import results_of_folder, texts
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import Source, argument, called_name, is_method_call
from raymigrate.facts.values.items import collections_of
from raymigrate.knowledge.legacy import TRANSFORMERS_TRAINERS

SNAPSHOT = "checkpoint_manager_snapshot.json"
BY_TIME = "checkpoint_2026-01-31_12-00-00.123456"
GLOBS = ("glob.glob", "glob.iglob")
LISTS = ("os.listdir", "os.scandir")
MATCHES = ("re.match", "re.fullmatch", "re.search")
SHELL_MATCHES = ("fnmatch.fnmatch", "fnmatch.fnmatchcase")
SORTS_OUT = ("isdir", "is_dir")


@dataclass(frozen=True)
class Search:
    """A search for checkpoints in the folder of a run.

    Args:
        node: Where they are looked for.
        results: The results by which the folder is found; anything else that has a path may be among them.
        matches: Whether a name is like what is looked for.
        spelling: What is looked for, as the script has it.
        inner: The folders and files in a checkpoint that are looked for.
    """

    node: ast.expr
    results: list[Source]
    matches: Callable[[str], bool]
    spelling: str
    inner: tuple[str, ...] = ()


@codemod("glob", "rglob", "iglob", "listdir", "scandir", "iterdir", phase=Phase.RESULTS)
def listed_checkpoints(context: Context) -> None:
    """Reports searches that find something else besides, find nothing, or look in the wrong folder."""
    for search in searches(context.module):
        trainers = {name for result in search.results for name in trainers_of(result.module, result.node)}
        if not trainers - {None}:
            continue
        if not search.matches(BY_TIME):
            message = "Ray >= 2.51 names the folders of checkpoints by the time"
            context.manual(RM609, search.node, f'{message}: "{search.spelling}" is the name of none in a new run.')
        elif search.matches(SNAPSHOT) and not search.inner and not _sorts_out(context.module, search.node):
            message = (
                f'"{search.spelling}" also finds the file {SNAPSHOT}, which Ray >= 2.51 puts beside the checkpoints'
            )
            context.manual(RM609, search.node, f"{message}, and which is the last in the order of the names.")
        elif trainers & TRANSFORMERS_TRAINERS and (not search.inner or search.inner[0] not in ("checkpoint", "**")):
            inside = "/".join((search.spelling, "checkpoint", *search.inner)) if search.inner else ""
            context.manual(RM602, search.node, f"{DEEPER}.", f'Look for "{inside}".' if inside else None)


def searches(module: Module) -> Iterator[Search]:
    """The searches for checkpoints in the folder of a run or trial."""
    yield from _by_pattern(module)
    yield from _in_lists(module)


def _by_pattern(module: Module) -> Iterator[Search]:
    """Searches by a pattern: `glob.glob(result.path + "/checkpoint_*")`, `Path(result.path).glob("checkpoint_*")`."""
    for call in module.calls(*GLOBS):
        for source in module.origins(call.args[0]) if call.args else ():
            yield from _search(call, results_of_folder(source), texts(source))
    for call, method in module.method_calls("glob", "rglob"):
        pattern = argument(call, 0, "pattern")
        if pattern is not None and module.qualified(call.func) is None:
            yield from _search(call, results_of_folder(Source(module, method.value)), texts(Source(module, pattern)))


def _search(node: ast.expr, results: list[Source], pattern: str) -> Iterator[Search]:
    parts = pattern.split("/")
    place = next((at for at, part in enumerate(parts) if re.match(r"checkpoint.*[*?[]", part)), None)
    if place is not None and results:
        matches = partial(fnmatchcase, pat=parts[place])
        yield Search(node, results, matches, parts[place], tuple(part for part in parts[place + 1 :] if part))


def _in_lists(module: Module) -> Iterator[Search]:
    """Names that are picked out of a list of what is in the folder of a run: `name.startswith("checkpoint_")`."""
    for call, method in module.method_calls("startswith"):
        yield from _picked(module, call, method.value, call.args[0] if call.args else None, str.startswith)
    for test in module.of_type(ast.Compare):
        if isinstance(test.ops[0], ast.In):
            yield from _picked(module, test, test.comparators[0], test.left, str.__contains__)
    for call in module.calls(*MATCHES):
        if len(call.args) > 1:
            function = called_name(module, call).rpartition(".")[2]
            yield from _picked(module, call, call.args[1], call.args[0], partial(_is_found, function))
    for call in module.calls(*SHELL_MATCHES):
        if len(call.args) > 1:
            yield from _picked(module, call, call.args[0], call.args[1], fnmatchcase)


def _is_found(function: str, name: str, expression: str) -> bool:
    """Whether a function of the module re finds a regular expression in a name; one that is wrong raises its error."""
    try:
        return bool(getattr(re, function)(expression, name))
    except re.error:
        return True


def _picked(
    module: Module, node: ast.expr, name: ast.expr, text: ast.expr | None, test: Callable[[str, str], object]
) -> Iterator[Search]:
    """A test of names by a text, which is asked of a name and the text."""
    spelled = module.constant(text)
    if not isinstance(spelled, str) or not spelled.lstrip("^").startswith("checkpoint"):
        return
    collections = collections_of(Source(module, _entry_named(module, name)))
    found = [result for whole in collections for result in _results_of_list(whole)]
    if found:
        yield Search(node, found, lambda name: bool(test(name, spelled)), spelled)


def _entry_named(module: Module, name: ast.expr) -> ast.expr:
    """The entry of a list of files whose name is looked at: that of `entry.name`, of `os.path.basename(entry)`."""
    if isinstance(name, ast.Attribute) and name.attr in ("name", "stem"):
        return name.value
    is_base = isinstance(name, ast.Call) and module.qualified(name.func) == "os.path.basename" and bool(name.args)
    return name.args[0] if is_base and isinstance(name, ast.Call) else name


def _results_of_list(listed: Source) -> list[Source]:
    """The results of the run whose folder is listed."""
    module, call = listed.module, listed.node
    if not isinstance(call, ast.Call):
        return []
    if module.qualified(call.func) in (*LISTS, *GLOBS):
        return results_of_folder(Source(module, call.args[0])) if call.args else []
    return results_of_folder(Source(module, call.func.value)) if is_method_call(call, "iterdir", "glob") else []


def _sorts_out(module: Module, node: ast.expr) -> bool:
    """Whether files are sorted out in the function that looks for checkpoints; outside of any, in the statement."""
    names = (n for n in ast.walk(module.function(node) or module.statement(node)) if isinstance(n, ast.Attribute))
    return any(name.attr in SORTS_OUT for name in names)

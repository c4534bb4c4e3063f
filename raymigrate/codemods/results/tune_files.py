"""RM604, for files: what Tune wrote into the folder of a run, and nobody writes today.

docs/semantics/results.md#files-of-a-run; the names are those of Ray 2.6.3 tune/result.py.
"""

import ast
from collections.abc import Iterator

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.results.results import RM604
from raymigrate.facts.folders.opened_files import opens_to_write
from raymigrate.facts.ray_train.results import trainers_of
from raymigrate.facts.ray_train.run_folders import head_of, results_of_folder, texts
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import Source

ROWS = (
    "result.metrics are those of the last report, and result.metrics_dataframe has a row for each checkpoint that is"
    " kept; what else is needed, write from rank 0."
)
PARAMETERS = "Read the dict that train_loop_config= was given, from a variable, or write it to the folder."
EVENTS = 'Have the Trainer write them: TrainingArguments(report_to="tensorboard", logging_dir=), with an absolute path.'
FILES = {"result.json": ROWS, "progress.csv": ROWS, "params.json": PARAMETERS, "params.pkl": PARAMETERS}
TFEVENTS = ("events.out", "tfevents")
PATHS = (ast.JoinedStr, ast.BinOp, ast.Call)
SEARCHES = ("glob", "rglob")
WRITES = ("write_text", "write_bytes")


@codemod(*FILES, *TFEVENTS, phase=Phase.RESULTS)
def tune_files(context: Context) -> None:
    """Reports reads of Tune's files below `result.path`; below `result.log_dir` that attribute is reported."""
    if not context.of_legacy_job:
        return
    found = list(_paths(context.module))
    own = {name for path, name in found if _is_written(context.module, path)}
    for path, name in found:
        if name not in own and _is_of_run(context.module, path):
            message = f"Tune wrote {name} into the folder of a run; on Ray >= 2.51 the folder has no such file."
            context.manual(RM604, path, message, FILES.get(name, EVENTS))


def _paths(module: Module) -> Iterator[tuple[ast.expr, str]]:
    """The whole paths, or patterns of such, that name a file of Tune, with its name."""
    for kind in PATHS:
        for path in module.of_type(kind):
            if _head(module, path) is None:
                continue  # as of most calls
            outer = module.parent_of[path]
            is_part = isinstance(outer, (ast.BinOp, ast.FormattedValue)) or (
                isinstance(outer, ast.Call) and head_of(module, outer) is path
            )
            parts = [] if is_part else texts(Source(module, path)).split("/")
            yield from ((path, name) for part in parts if (name := _file(part)) is not None)


def _file(part: str) -> str | None:
    """What a part of a path names, if it is a file of Tune."""
    if part in FILES:
        return part
    return "the events of TensorBoard" if any(name in part for name in TFEVENTS) else None


def _head(module: Module, path: ast.expr) -> ast.expr | None:
    """What a path begins with, or the folder that is searched."""
    method = path.func if isinstance(path, ast.Call) else None
    if isinstance(method, ast.Attribute) and method.attr in SEARCHES and module.qualified(method) is None:
        return method.value
    return head_of(module, path)


def _is_of_run(module: Module, path: ast.expr) -> bool:
    """Whether a path lies in the folder of a trainer's run, in one of the ways to it."""
    head = _head(module, path)
    results = results_of_folder(Source(module, head), ("path",)) if head is not None else []
    return any(trainers_of(result.module, result.node) - {None} for result in results)


def _is_written(module: Module, path: ast.expr) -> bool:
    """Whether the script itself writes a file there: then it is its own."""
    outer = module.parent_of[path]
    if isinstance(outer, ast.Attribute):
        return outer.attr in WRITES
    if not isinstance(outer, ast.Call) or outer.args[:1] != [path]:
        return False
    if isinstance(outer.func, ast.Attribute):
        return outer.func.attr.startswith("to_")  # of pandas
    return ast.unparse(outer.func) == "open" and opens_to_write(module, outer)

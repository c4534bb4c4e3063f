"""RM806: folders that each worker names by the time or by chance for itself: `f"runs/{datetime.now():%H%M%S}"`.

Where such a name can stay with the driver it does (`Roles`), and all workers get the same. This tells of the others: in
a function that makes the arguments, or behind something that has to move.
"""

import ast
from collections.abc import Iterator

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.codemods.to_ray.cell_lines import run_by_workers
from raymigrate.codemods.to_ray.launched import LaunchedOutline
from raymigrate.codemods.to_ray.script import DEFINITIONS, first_trained, is_main_guard
from raymigrate.codemods.to_ray.step_kinds import names_by_time
from raymigrate.codemods.to_ray.trainer_calls import Training
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import called_name, last_name

FOLDERS = ("output_dir", "logging_dir", "save_directory", "hub_model_id")
TAKE_PATHS = frozenset({"makedirs", "mkdir", "Path", "TrainingArguments"})
MESSAGE = (
    "Each worker names this folder by itself, at another moment: where the names differ, only the first finds its"
    " checkpoints there, and load_best_model_at_end leaves the others with another model."
)
ADVICE = "Make the name once: above the training function, on the driver, where all workers get it from."


def tell_names_by_time(context: Context, rule: Rule, outline: LaunchedOutline, training: Training) -> None:
    """Tells of folders whose names each worker makes of the time or of chance.

    Args:
        context: The module.
        rule: The rule that tells.
        outline: What becomes of the script.
        training: What trains in it.
    """
    if not outline.may_be_several:
        return
    module = context.module
    steps, trained = None, first_trained(outline.script, training.trains)
    for call in _made(module):
        step = outline.script.step_of(call)
        if step is None or not _names_folder(module, call):
            continue
        steps = run_by_workers(outline) if steps is None else steps
        is_before = outline.roles.of[step].moves and outline.script.number(step) <= trained
        if step in steps and (is_before or isinstance(step, DEFINITIONS)):
            context.manual(rule, call, MESSAGE, ADVICE)


def _made(module: Module) -> dict[ast.Call, None]:
    """The calls that make text of the time or of chance, where a function or the module runs them."""
    blocks = [module.tree.body, *(function.body for function in module.of_type(ast.FunctionDef))]
    blocks += [guard.body for guard in module.tree.body if isinstance(guard, ast.If) and is_main_guard(guard)]
    return dict.fromkeys(call for block in blocks for part in block for call in names_by_time(module, part))


def _names_folder(module: Module, value: ast.AST) -> bool:
    """Whether a value becomes part of the name of a folder: itself, by a name, or as what a function returns."""
    waiting, seen = [value], set[ast.stmt]()
    while waiting:
        becomes = _becomes(module, waiting.pop())
        if becomes is True:
            return True
        if isinstance(becomes, ast.stmt) and becomes not in seen:
            seen.add(becomes)
            targets = _targets(becomes)
            if any(isinstance(target, ast.Attribute) and target.attr in FOLDERS for target in targets):
                return True
            waiting += _given_on(module, becomes, targets)
    return False


def _becomes(module: Module, node: ast.AST) -> ast.stmt | bool:
    """Whether a value is part of the name of a folder where it stands; else the statement that may give it on."""
    child = node
    for parent in module.ancestors(node):
        if isinstance(parent, ast.keyword) and parent.arg in FOLDERS:
            return True
        if isinstance(parent, ast.Call) and child is not parent.func:
            name = called_name(module, parent)
            if name == "os.path.join" or last_name(parent.func) in TAKE_PATHS or name.endswith("TrainingArguments"):
                return True
            if name in ("print", "logging.info") or last_name(parent.func) in ("print", "info", "debug", "write"):
                return False
        if isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Div):
            return True
        if isinstance(parent, ast.stmt):
            return parent
        child = parent
    return False


def _targets(statement: ast.stmt) -> list[ast.expr]:
    if isinstance(statement, (ast.AnnAssign, ast.AugAssign)):
        return [statement.target]
    return statement.targets if isinstance(statement, ast.Assign) else []


def _given_on(module: Module, statement: ast.stmt, targets: list[ast.expr]) -> Iterator[ast.AST]:
    """Where what a statement makes of a value is read: by its names, or where its function is called."""
    function = module.function(statement) if isinstance(statement, ast.Return) else None
    if isinstance(function, ast.FunctionDef):
        calls = (module.parent_of[use] for use in module.uses_of(function))
        yield from (call for call in calls if isinstance(call, ast.Call))
    for target in targets:
        if isinstance(target, ast.Attribute):
            yield from _reads(module, target)
        elif isinstance(target, ast.Name):
            uses = module.uses_of(target)
            yield from (use for use in uses if isinstance(use.ctx, ast.Load))


def _reads(module: Module, kept: ast.Attribute) -> Iterator[ast.Attribute]:
    """Where an attribute of the same object is read: `self.stamp`."""
    wanted = ast.unparse(kept)
    for read in module.of_type(ast.Attribute):
        if read.attr == kept.attr and isinstance(read.ctx, ast.Load) and ast.unparse(read) == wanted:
            yield read

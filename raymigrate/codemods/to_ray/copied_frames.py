"""Data frames that a notebook makes above its launcher and reads behind it again.

The launcher's processes have copies of them (accelerate/launchers.py, 1.15, forks), and so have Ray's workers where the
frames stay: a training function takes along what it reads. Read by each worker instead, they would be missing in the
notebook, and what shows or saves them behind the launcher would have to move too.
"""

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace

from raymigrate.codemods.to_ray.notebook_launchers import NotebookLaunch
from raymigrate.codemods.to_ray.own_objects import is_changed, is_filled
from raymigrate.codemods.to_ray.script import DEFINITIONS, Script
from raymigrate.codemods.to_ray.step_kinds import PLAIN_BUILTINS, is_plain
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.scopes import Scope
from raymigrate.facts.values import called_name, free_name, keyword_argument

KINDS = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.For, ast.Delete)
OF_FRAMES = ("pandas.", "numpy.", "os.path.", "pathlib.")
# They ask the random numbers of the process, whose seed moves to the workers, unless they have numbers of their own.
DRAWS = ("numpy.random.", "sklearn.")
DRAWING = frozenset({"sample"})
# Readers of files, which cannot be sent to a worker.
READERS = ("pandas.ExcelFile", "pandas.ExcelWriter", "pandas.HDFStore")
IN_PIECES = ("chunksize", "iterator")
BUILTINS = PLAIN_BUILTINS | {"all", "any", "display", "filter", "map", "print"}
SHOWS = ("matplotlib.", "seaborn.", "plotly.", "IPython.", "wandb.", "mlflow.")
Entry = tuple[str, Scope]
IMPORTS = (ast.Import, ast.ImportFrom)


def with_copies(script: Script, launch: NotebookLaunch) -> Script:
    """The script, with the steps that stay because of what the notebook reads of them behind its launcher.

    Args:
        script: The script.
        launch: The launcher. One process is the notebook's own, which has no copies.
    """
    launched = script.step_of(launch.call)
    if launched is None or launch.processes == 1 or script.main is not None:
        return script
    place = script.number(launched)
    above = _with_frames(script, [step for step in script.steps[:place] if _makes_frames(script, step)])
    copied = _apart(script, place, set(above))
    behind = {entry for step in script.steps[place + 1 :] for entry in script.read(step)}
    is_needed = any(not behind.isdisjoint(_bound(script, step)) for step in copied)
    return replace(script, copied=frozenset(copied)) if is_needed else script


def _bound(script: Script, step: ast.stmt) -> list[Entry]:
    return [(name, script.scope(step)) for name in script.bound(step)]


def _makes_frames(script: Script, step: ast.stmt) -> bool:
    """Whether a step does nothing but read, make or change data frames."""
    if not isinstance(step, KINDS):
        return False
    inside = list(ast.walk(step))
    if isinstance(getattr(step, "value", None), ast.GeneratorExp) or any(
        isinstance(node, (ast.Await, ast.Yield, ast.YieldFrom)) for node in inside
    ):
        return False
    return all(_is_of_frames(script.module, node) for node in inside if isinstance(node, ast.Call))


def _is_of_frames(module: Module, call: ast.Call) -> bool:
    """Whether a call is one of pandas and its like, or a method: of a frame, where all names of the step are."""
    name = module.qualified(call.func)
    method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    if (name or "").startswith(DRAWS) or method in DRAWING:
        return keyword_argument(call, "random_state") is not None
    if name is not None:
        in_pieces = name in READERS or any(keyword.arg in IN_PIECES for keyword in call.keywords)
        return name.startswith(OF_FRAMES) and not in_pieces
    return bool(method) or free_name(module, call.func) in BUILTINS


def _with_frames(script: Script, steps: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The steps that have to do with what others make by a call, not with what is written out."""
    frames = set[Entry]()
    for step in steps:
        if not is_plain(script.module, step) or not frames.isdisjoint(script.read(step)):
            frames.update(_bound(script, step))
            yield step


def _apart(script: Script, place: int, steps: set[ast.stmt]) -> set[ast.stmt]:
    """Those of some steps whose names all come of such steps, of imports or of literals, and of nothing else."""
    naming, given = defaultdict[Entry, list[ast.stmt]](list), defaultdict[ast.stmt, list[Entry]](list)
    for step in steps:
        for entry in {*script.read(step), *_bound(script, step)}:
            naming[entry].append(step)
    lost = list[Entry]()
    for entry in naming:
        givers = _givers(script, place, *entry)
        for giver in givers:
            given[giver].append(entry)
        if not givers <= steps and (not givers.isdisjoint(steps) or not _is_literal(script, *entry)):
            lost.append(entry)
    left = set(steps)
    while lost:
        for step in left.intersection(naming.pop(lost.pop(), ())):
            left.remove(step)
            lost += given[step]
    return left


def _givers(script: Script, place: int, name: str, scope: Scope) -> set[ast.stmt]:
    """The steps that give a name its value, and those above the launcher that change what it stands for."""
    changing = (_changed_in(script, use) for use in script.module.uses(name, scope))
    above = (step for step in changing if step is not None and script.number(step) < place)
    return {*script.binders(name, scope), *above}


def _is_literal(script: Script, name: str, scope: Scope) -> bool:
    """Whether a name is one of an import, or of what is written out once and not filled."""
    binders = list(script.binders(name, scope))
    if all(isinstance(binder, IMPORTS) for binder in binders):
        return True
    [binder, *others] = binders
    is_plain_step = not isinstance(binder, DEFINITIONS) and is_plain(script.module, binder)
    return is_plain_step and not others and not is_filled(script.module, name, scope)


def _changed_in(script: Script, use: ast.Name) -> ast.stmt | None:
    """The step that changes what a name stands for where it is used, or gives it away to be changed; else None."""
    module, step = script.module, script.step_of(use)
    if step is None or is_changed(module, use):
        return step
    call = module.taking(use)
    if isinstance(step, DEFINITIONS) or call is None:
        return None
    if isinstance(definition := module.definition(call.func), DEFINITIONS):
        return step if any(_puts_in(node) for node in module.below(definition)) else None
    is_for_effect = isinstance(step, ast.Expr) and step.value is call
    return step if is_for_effect and not called_name(module, call).startswith(SHOWS) else None


def _puts_in(node: ast.AST) -> bool:
    if isinstance(node, ast.keyword):
        return node.arg == "inplace"
    return isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)

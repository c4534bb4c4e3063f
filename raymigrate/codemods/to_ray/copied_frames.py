"""Data frames that a notebook makes above its launcher and reads behind it again.

The launcher's processes have copies of them (accelerate/launchers.py, 1.15, forks), and so have Ray's workers where the
frames stay: a training function takes along what it reads. Read by each worker instead, they would be missing in the
notebook, and what shows or saves them behind the launcher would have to move too.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Set
from dataclasses import replace

from raymigrate.codemods.to_ray.notebook_launchers import NotebookLaunch
from raymigrate.codemods.to_ray.own_objects import is_changed
from raymigrate.codemods.to_ray.script import DEFINITIONS, Script
from raymigrate.codemods.to_ray.step_kinds import PLAIN_BUILTINS, is_filled, is_plain
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.scopes import Scope
from raymigrate.facts.values import free_name, keyword_argument

KINDS = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.For, ast.Delete)
OF_FRAMES = ("pandas.", "numpy.", "os.path.", "pathlib.")
# They ask the random numbers of the process, whose seed moves to the workers, unless they have numbers of their own.
DRAWS = ("numpy.random.", "sklearn.")
DRAWING = frozenset({"sample"})
BUILTINS = PLAIN_BUILTINS | {"all", "any", "display", "filter", "map", "print"}
SHOWS = ("matplotlib.", "seaborn.", "plotly.", "IPython.", "wandb.", "mlflow.")
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
    above = [step for step in script.steps[:place] if _makes_frames(script, step)]
    copied = list(_with_frames(script, _apart(script, place, dict.fromkeys(above))))
    behind = {entry for step in script.steps[place + 1 :] for entry in script.read(step)}
    is_needed = any((name, script.scope(step)) in behind for step in copied for name in script.bound(step))
    return replace(script, copied=frozenset(copied)) if is_needed else script


def _makes_frames(script: Script, step: ast.stmt) -> bool:
    """Whether a step does nothing but read, make or change data frames."""
    if not isinstance(step, KINDS):
        return False
    inside = list(ast.walk(step))
    if any(isinstance(node, (ast.Await, ast.Yield, ast.YieldFrom)) for node in inside):
        return False
    return all(_is_of_frames(script.module, node) for node in inside if isinstance(node, ast.Call))


def _is_of_frames(module: Module, call: ast.Call) -> bool:
    """Whether a call is one of pandas and its like, or a method: of a frame, where all names of the step are."""
    name = module.qualified(call.func)
    method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    if (name or "").startswith(DRAWS) or method in DRAWING:
        return keyword_argument(call, "random_state") is not None
    if name is not None:
        return name.startswith(OF_FRAMES)
    return bool(method) or free_name(module, call.func) in BUILTINS


def _with_frames(script: Script, steps: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The steps that have to do with what others make by a call, not with what is written out."""
    frames = set[tuple[str, Scope]]()
    for step in steps:
        if not is_plain(script.module, step) or not frames.isdisjoint(script.read(step)):
            frames |= {(name, script.scope(step)) for name in script.bound(step)}
            yield step


def _apart(script: Script, place: int, steps: dict[ast.stmt, None]) -> Set[ast.stmt]:
    """Those of some steps whose names all come of such steps, of imports or of literals, and of nothing else."""
    size = -1
    while size != len(steps):
        size = len(steps)
        for step in list(steps):
            bound = [(name, script.scope(step)) for name in script.bound(step)]
            if not all(_comes_of(script, place, steps.keys(), *entry) for entry in (*script.read(step), *bound)):
                del steps[step]
    return steps.keys()


def _comes_of(script: Script, place: int, steps: Set[ast.stmt], name: str, scope: Scope) -> bool:
    """Whether a name gets its value, and what it stands for its contents, in some steps alone: above the launcher."""
    binders = list(script.binders(name, scope))
    if any(binder in steps for binder in binders):
        changing = [step for use in script.module.uses(name, scope) if (step := _changed_in(script, use)) is not None]
        return all(step in steps for step in (*binders, *(s for s in changing if script.number(s) < place)))
    if all(isinstance(binder, IMPORTS) for binder in binders):
        return True
    [binder, *others] = binders
    is_literal = not others and not isinstance(binder, DEFINITIONS) and is_plain(script.module, binder)
    return is_literal and not is_filled(script.module, name, scope)


def _changed_in(script: Script, use: ast.Name) -> ast.stmt | None:
    """The step that changes what a name stands for where it is used, or gives it away to be changed; else None."""
    module, step = script.module, script.step_of(use)
    if step is None or is_changed(module, use):
        return step
    outer = module.parent_of[use]
    call = module.parent_of[outer] if isinstance(outer, ast.keyword) else outer
    if isinstance(step, DEFINITIONS) or not isinstance(call, ast.Call) or use is call.func:
        return None
    if isinstance(definition := module.definition(call.func), DEFINITIONS):
        return step if any(_puts_in(node) for node in module.below(definition)) else None
    is_for_effect = isinstance(step, ast.Expr) and step.value is call
    return step if is_for_effect and not (module.qualified(call.func) or "").startswith(SHOWS) else None


def _puts_in(node: ast.AST) -> bool:
    if isinstance(node, ast.keyword):
        return node.arg == "inplace"
    return isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)

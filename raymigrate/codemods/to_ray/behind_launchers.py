"""RM826: the cells behind a launcher, which ran once, in the notebook's process, when those that trained had ended.

What reads nothing of the workers stays with the driver, behind fit(). The rest each worker runs, right behind the
training.
"""

import ast
from collections.abc import Iterator

from raymigrate.codemods.context import Context
from raymigrate.codemods.to_ray.notebook_launchers import RM826, NotebookLaunch
from raymigrate.codemods.to_ray.outline import Outline
from raymigrate.codemods.to_ray.roles import Role
from raymigrate.codemods.to_ray.script import DEFINITIONS
from raymigrate.codemods.to_ray.shown_values import named
from raymigrate.codemods.to_ray.step_kinds import is_text, stands_for_cell

NO_STEPS = (*DEFINITIONS, ast.Import, ast.ImportFrom, ast.Pass)
# The processes are forked, or spawned (accelerate/launchers.py, 1.15): objects of the notebook are copies there.
APART = (
    " Of several processes each trained copies of the notebook's objects, which stayed as they were; here they are"
    " the trained ones."
)
ADVICE = (
    "Move it after fit(), and load there what the training has saved; or let one worker run it,"
    " after accelerator.wait_for_everyone(), with inputs that are on the model's device."
)


def tell_behind(context: Context, outline: Outline, launch: NotebookLaunch) -> None:
    """Tells which of the cells behind a launcher each of several workers runs.

    Args:
        context: The file.
        outline: What becomes of it.
        launch: The launcher.
    """
    steps = list(_run_by_workers(outline, launch))
    if outline.workers == 1 or not steps:
        return
    message = (
        f"{named(context.module, steps)}: after the launcher this ran once, when all processes had ended. Now each"
        " worker runs it: the model may be on a GPU where its inputs are not, and another worker may still be writing"
        " a file that is read here."
    )
    context.manual(RM826, steps[0], f"{message}{APART if launch.processes != 1 else ''}", ADVICE)


def _run_by_workers(outline: Outline, launch: NotebookLaunch) -> Iterator[ast.stmt]:
    """The steps behind a launcher that move to the workers and do something there."""
    script, roles = outline.script, outline.roles
    launched = script.step_of(launch.call)
    for step in script.steps[script.number(launched) + 1 :] if launched is not None else ():
        is_step = not isinstance(step, NO_STEPS) and not is_text(step) and not stands_for_cell(step)
        if is_step and roles.of[step] is Role.WORKER and step not in outline.behind | outline.displayed:
            yield step

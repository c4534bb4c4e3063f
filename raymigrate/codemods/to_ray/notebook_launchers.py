"""RM826: accelerate's notebook_launcher, which starts a function in several processes."""

import ast
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.codemods.to_ray.launches import MOST_BYTES_OF_NOTEBOOK, NOTEBOOK, notebooks_writing
from raymigrate.codemods.to_ray.refusals import Reason, several
from raymigrate.edits.plan import Part
from raymigrate.facts.projects.files import place_of
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import argument, called_name, has_unpacking
from raymigrate.files.contents import read_bytes

RM826 = Rule(
    "RM826",
    "accelerate.notebook_launcher",
    "notebook_launcher forks processes of the notebook and joins them. On Ray the workers do that.",
    "With --to-ray the function is called in the training function, and num_processes becomes num_workers.",
    "https://huggingface.co/docs/accelerate/package_reference/launchers",
)
LAUNCHERS = ("accelerate.notebook_launcher", "accelerate.launchers.notebook_launcher")
ON_CPU = ("accelerate.debug_launcher", "accelerate.launchers.debug_launcher")
STARTED_BY_CALL = (*LAUNCHERS, *ON_CPU)
BLANK = r"[\s\",]*"  # between the lines of a notebook's cell
DEBUG_PROCESSES = 2  # the default of debug_launcher
# Read by accelerate, but set under another name: MIXED_PRECISION (accelerate/launchers.py:197, state.py:927, of 1.15).
WITHOUT_EFFECT = "mixed_precision"


@dataclass(frozen=True)
class NotebookLaunch:
    """A call of notebook_launcher or debug_launcher.

    Args:
        call: The call.
        function: The function that it starts.
        arguments: What the function is given, as a tuple; None for nothing.
        processes: How many processes train; None where it is not seen.
        on_cpu: Whether they are on CPUs whatever the machine has.
    """

    call: ast.Call
    function: ast.expr
    arguments: ast.expr | None
    processes: int | None
    on_cpu: bool


def launch_of(module: Module) -> NotebookLaunch | Reason | None:
    """The call of a launcher in a module; a reason where it cannot be converted; None where there is none."""
    calls = list(module.calls(*STARTED_BY_CALL))
    if not calls:
        return None
    call = calls[0]
    if len(calls) > 1:
        return several(module, calls)
    function, arguments = argument(call, 0, "function"), argument(call, 1, "args")
    if has_unpacking(call) or function is None or not module.is_statement(call):
        return Reason(call, "What notebook_launcher starts cannot be seen here.")
    on_cpu = called_name(module, call) in ON_CPU
    number = argument(call, 2, "num_processes")
    processes = module.constant(number) if number is not None else DEBUG_PROCESSES if on_cpu else None
    known = processes if isinstance(processes, int) and not isinstance(processes, bool) else None
    return NotebookLaunch(call, function, arguments, known, on_cpu)


def replace_launch(context: Context, launch: NotebookLaunch) -> None:
    """Calls the function instead: the launcher's statement moves into the training function."""
    message = "The training function calls the function that notebook_launcher started."
    if not context.converts(RM826, launch.call, message):
        return
    parts: dict[str, Part] = {"function": launch.function}
    if launch.arguments is None:
        template = "$function()"
    elif isinstance(launch.arguments, (ast.Tuple, ast.List)):
        parts |= {f"a{number}": node for number, node in enumerate(launch.arguments.elts)}
        template = f"$function({', '.join(f'$a{number}' for number in range(len(launch.arguments.elts)))})"
    else:
        parts["arguments"] = launch.arguments
        template = "$function(*$arguments)"
    context.plan.replace(launch.call, template, **parts)
    context.handle(context.module.reference_at[launch.call.func], gone=True)
    for keyword in launch.call.keywords:
        if keyword.arg == WITHOUT_EFFECT:
            message = "mixed_precision= of notebook_launcher has no effect in accelerate 1.15: it is dropped."
            context.note(RM826, keyword.value, f"{message} Accelerator(mixed_precision=...) would have one.")


def started_by_notebook(path: str, functions: Collection[str]) -> tuple[str, str] | None:
    """The notebook beside a script that starts one of its functions in several processes, and the function.

    Args:
        path: The script: a file, or one that a cell of the notebook writes.
        functions: The names of its functions.
    """
    if not path or not functions:
        return None
    stem, names = re.escape(Path(path).stem), "|".join(map(re.escape, functions))
    started = re.compile(rf"_launcher\s*\({BLANK}(?:function\s*=\s*)?(?:\w+\.)?(?P<name>{names})\b")
    imported = re.compile(rf"\b(?:from\s+(?:\w+\.)*{stem}\s+import|import\s+(?:\w+\.)*{stem})\b|%run\b.*\b{stem}\b")
    for notebook in _notebooks_beside(Path(path)):
        try:
            text = read_bytes(str(notebook), at_most=MOST_BYTES_OF_NOTEBOOK).decode(errors="replace")
            text = text.replace("\\n", " \n")  # in JSON the first word of a line may follow the letter n
        except OSError:
            continue
        if (found := started.search(text)) is not None and imported.search(text):
            return notebook.name, found["name"]
    return None


def _notebooks_beside(script: Path) -> Iterator[Path]:
    yield from sorted(script.parent.glob(f"*{NOTEBOOK}")) if script.exists() else notebooks_writing(place_of(script))

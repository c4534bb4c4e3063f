"""Magics and shell lines of a notebook whose training moves: what they read, and what they find, when they run."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.codemods.to_ray.outline import Outline
from raymigrate.codemods.to_ray.script import DEFINITIONS
from raymigrate.facts.magics import magics_in, written_lines
from raymigrate.facts.scopes import Scope

# What IPython evaluates in such a line (IPython 8.37, core/interactiveshell.py, `var_expand`).
EXPRESSION = re.compile(r"(?<!\{)\{(?P<braces>[^{}]+)\}(?!\})|(?<!\$)\$(?P<dollar>[A-Za-z_]\w*)")
FILE_COMMANDS = ("cat", "cp", "head", "ls", "ll", "mv", "rm", "tail", "tar", "zip")
SHELL = re.compile(rf"(?:[^=!%\n]+=\s*)?(?:!|%(?:sh|sx|system)\b|%?(?={'|'.join(FILE_COMMANDS)}\b))\s*")
# Commands that ask nothing of a training: they prepare the machine, or look at it.
OF_MACHINE = re.compile(
    r"(?:sudo|python -m)?\s*(?:pip\d?|uv|conda|mamba|apt(?:-get)?|wget|curl|nvidia-smi|free|df|top|lscpu|date|kill)\b"
)
LONGEST = 60


def tell_magics(context: Context, rule: Rule, outline: Outline, trains: Collection[ast.AST]) -> None:
    """Tells of lines that read what the workers make now, and of those behind the training that run before it now.

    Args:
        context: The module.
        rule: The rule of the conversion.
        outline: What becomes of the script.
        trains: What trains in it.
    """
    lines = [*written_lines(context.module, magics_in(context.module, context.module.tree))]
    if not lines:
        return
    script, moved = outline.script, outline.roles.moved()
    trained = [script.number(step) for node in trains if (step := script.step_of(node)) in moved]
    last, run_by_workers = script.number(moved[-1]), _run_by_workers(outline)
    for name, text in lines:
        step = script.step_of(name)
        line = " ".join(text.split())
        shown = f"`{line[:LONGEST]}{'...' if len(line) > LONGEST else ''}`"
        if step in run_by_workers:
            message = f"{shown} is in code that the workers run: IPython's get_ipython() cannot be sent to them."
            context.manual(rule, name, message, "Call subprocess.run() there, or do it behind fit().")
        if step is None or step in run_by_workers:
            continue
        unknown = [read for read in _read(text) if _is_of_workers(outline, name, read)]
        if unknown:
            names = ", ".join(f"`{read}`" for read in unknown)
            message = f"{shown} reads {names}, which the training function makes now: IPython leaves the text as it is."
            context.manual(rule, name, message, "Make it above this line too.")
        if isinstance(step, DEFINITIONS):
            continue  # it runs where the function is called
        if trained and trained[0] < script.number(step) < last and _waits_for_training(text):
            message = f"{shown} stood behind the training, which now starts in a cell below it."
            context.manual(rule, name, message, "Move it to a cell behind fit().")


def _run_by_workers(outline: Outline) -> set[ast.stmt]:
    """The steps that workers run, with the functions and classes that these need."""
    script = outline.script
    waiting, found, names = list(outline.roles.moved_or_makers()), set[ast.stmt](), set[tuple[str, Scope]]()
    while waiting:
        step = waiting.pop()
        if step not in found:
            found.add(step)
            read = set(script.read(step)) - names
            names |= read
            binders = (binder for name in read for binder in script.binders(*name))
            waiting += [binder for binder in binders if isinstance(binder, DEFINITIONS)]
    return found


def _read(text: str) -> list[str]:
    """The names that a line reads, each once."""
    found = dict[str, None]()
    for match in EXPRESSION.finditer(text):
        try:
            parsed = ast.parse((match["braces"] or match["dollar"]).strip(), mode="eval")
        except (SyntaxError, ValueError):
            continue  # of the program that is called: `awk '{print $1}'`
        found |= {node.id: None for node in ast.walk(parsed) if isinstance(node, ast.Name)}
    return list(found)


def _is_of_workers(outline: Outline, line: ast.Name, name: str) -> bool:
    """Whether all that binds a name of the module moves to the workers; a line in a function may mean one of that."""
    root = outline.module.scope_of[outline.module.tree]
    binders = list(outline.script.binders(name, root)) if outline.module.scope_of[line].find(name) is root else []
    return bool(binders) and all(outline.roles.of[step].moves for step in binders)


def _waits_for_training(text: str) -> bool:
    """Whether a line runs a program that may want files of the training."""
    shell = SHELL.match(text)
    return shell is not None and OF_MACHINE.match(text, shell.end()) is None

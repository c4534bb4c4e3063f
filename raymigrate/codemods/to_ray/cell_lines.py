"""Magics and shell lines of a notebook whose training moves: what they read, and what they find, when they run."""

import ast
from collections.abc import Collection, Sequence

from raymigrate.base.expressions import lazy_regex
from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.codemods.to_ray.outline import Outline
from raymigrate.codemods.to_ray.script import DEFINITIONS
from raymigrate.codemods.to_ray.step_kinds import stands_for_cell
from raymigrate.facts.syntax.magics import cell_magics, commented_cells, magics_in, shell_cells, written_lines
from raymigrate.facts.syntax.scopes import Scope, ScopeBuilder

# What IPython evaluates in such a line (IPython 8.37, core/interactiveshell.py, `var_expand`).
EXPRESSION = lazy_regex(r"(?<!\{)\{(?P<braces>[^{}]+)\}(?!\})|(?<!\$)\$(?P<dollar>[A-Za-z_]\w*)")
FILE_COMMANDS = ("cat", "cp", "head", "ls", "ll", "mv", "rm", "tail", "tar", "zip")
SHELL = lazy_regex(rf"(?:[^=!%\n]+=\s*)?(?:!|%(?:sh|sx|system)\b|%?(?={'|'.join(FILE_COMMANDS)}\b))\s*")
# Commands that ask nothing of a training: they prepare the machine, or look at it.
OF_MACHINE = lazy_regex(
    r"(?:sudo|python -m)?\s*(?:pip\d?|uv|conda|mamba|apt(?:-get)?|wget|curl|nvidia-smi|free|df|top|lscpu|date|kill)\b"
)
LONGEST = 60
UNKNOWN = "{} reads {}, which the training function makes now: IPython leaves the text as it is."
NOT_THERE = "{} in a cell with %python reads {}, which the training function makes now: a NameError, or another object."
HEAD = (
    "`{magic}` at the head of cell {number} has nothing to run any more, since the training function has the code:"
    " write it over the cell with fit(), if it is to hold for the whole training."
)
TOO_EARLY = "{} stood after the training, which now starts in a cell below it."


def tell_magics(context: Context, rule: Rule, outline: Outline, trains: Collection[ast.AST]) -> None:
    """Tells of lines that read what the workers make now, and of those behind the training that run before it now.

    Args:
        context: The module.
        rule: The rule of the conversion.
        outline: What becomes of the script.
        trains: What trains in it.
    """
    script, moved = outline.script, outline.roles.moved()
    steps = [step for node in trains if (step := script.step_of(node)) in moved and step is not None]
    _tell_cells(context, rule, outline, steps)
    _tell_commented_cells(context, rule, outline, steps)
    _tell_heads(context, rule, moved)
    lines = [*written_lines(context.module, magics_in(context.module, context.module.tree))]
    if not lines:
        return
    trained = [script.number(step) for step in steps]
    last, of_workers = script.number(moved[-1]), run_by_workers(outline)
    for name, text in lines:
        step = script.step_of(name)
        line = " ".join(text.split())
        shown = f"`{line[:LONGEST]}{'...' if len(line) > LONGEST else ''}`"
        if step in of_workers:
            message = f"{shown} is in code that the workers run: IPython's get_ipython() cannot be sent to them."
            context.manual(rule, name, message, "Call subprocess.run() there, or do it after fit().")
        if step is None or step in of_workers:
            continue
        unknown = [read for read in _read(text) if _is_of_workers(outline, name, read)]
        if unknown:
            context.manual(rule, name, UNKNOWN.format(shown, _listed(unknown)), "Make it above this line too.")
        if isinstance(step, DEFINITIONS):
            continue  # it runs where the function is called
        if trained and trained[0] < script.number(step) < last and _waits_for_training(text):
            context.manual(rule, name, TOO_EARLY.format(shown), "Move it to a cell after fit().")


def _tell_cells(context: Context, rule: Rule, outline: Outline, trained: Sequence[ast.stmt]) -> None:
    """Tells the same of cells that a shell runs; they are not part of the module, so it is reported at the training."""
    if not trained:
        return
    last = outline.roles.moved()[-1]
    cells, places = shell_cells(context.module, trained[0].lineno, last.lineno)
    root = context.module.scope_of[context.module.tree]
    for number, lines in cells:
        head, *body = [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
        shown = f"`{head.strip()[:LONGEST]}` in cell {number}"
        unknown = [read for read in _read(head) if _moves(outline, root, read)]
        if unknown:
            advice = "Make it above that cell too."
            context.manual(rule, trained[0], UNKNOWN.format(shown, _listed(unknown)), advice)
        waits = any(OF_MACHINE.match(line.strip()) is None for line in body)
        if places[0] < number < places[1] and waits:
            context.manual(rule, trained[0], TOO_EARLY.format(shown), "Move that cell behind fit().")


def _tell_heads(context: Context, rule: Rule, moved: Sequence[ast.stmt]) -> None:
    """Tells of magics for a whole cell whose code goes to the training function, in the cell of the last step."""
    for number, magic, inside in cell_magics(context.module, context.module.tree.body):
        code = [s for s in inside if not (isinstance(s, (ast.Import, ast.ImportFrom)) or stands_for_cell(s))]
        if code and moved[-1] not in code and all(step in moved for step in code):
            context.note(rule, code[0], HEAD.format(number=number, magic=magic[:LONGEST]))


def _tell_commented_cells(context: Context, rule: Rule, outline: Outline, trained: Sequence[ast.stmt]) -> None:
    """Tells of Python in comments, which Databricks runs, that reads what moves; also reported at the training."""
    root = context.module.scope_of[context.module.tree]
    for cell in commented_cells(context.module) if trained else ():
        scope_of = ScopeBuilder(cell).scope_of
        nodes = [node for node in ast.walk(cell) if isinstance(node, ast.Name) and node in scope_of]
        free = [node for node in nodes if not scope_of[node].lookup(node.id)]
        read = {node.id: node for node in reversed(free) if _moves(outline, root, node.id)}
        if read:
            first = min(read.values(), key=lambda node: (node.lineno, node.col_offset))
            step = next(step for step in cell.body if first in ast.walk(step))
            advice = "Take %python and the comments out of that cell of the original, and convert it again."
            shown = f"`{ast.unparse(step).splitlines()[0][:LONGEST]}`"
            context.manual(rule, trained[0], NOT_THERE.format(shown, _listed(sorted(read))), advice)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def run_by_workers(outline: Outline) -> set[ast.stmt]:
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
    return outline.module.scope_of[line].find(name) is root and _moves(outline, root, name)


def _moves(outline: Outline, scope: Scope, name: str) -> bool:
    """Whether all that binds a name moves."""
    binders = list(outline.script.binders(name, scope))
    return bool(binders) and all(outline.roles.of[step].moves for step in binders)


def _waits_for_training(text: str) -> bool:
    """Whether a line runs a program that may want files of the training."""
    shell = SHELL.match(text)
    return shell is not None and OF_MACHINE.match(text, shell.end()) is None

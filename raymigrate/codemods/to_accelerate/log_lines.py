"""RM858: lines that a script logs: every process writes them, where `print` becomes `accelerator.print`."""

import ast

from raymigrate.codemods.shared.loggers import makes_logger
from raymigrate.codemods.to_accelerate.changes import Changes
from raymigrate.codemods.to_accelerate.processes import SET_UP, Processes
from raymigrate.codemods.to_accelerate.rules import RM858
from raymigrate.codemods.to_accelerate.wrappers import DDP
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import free_name, has_unpacking, last_name

LEVELS = ("info", "warning", "debug", "error", "critical", "log")
ECHOES = ("click.echo", "typer.echo")
SHOWING = (*ECHOES, "click.secho", "typer.secho", "rich.print", "pprint.pprint")
SAYING = (*(f"logging.{level}" for level in LEVELS), *(f"loguru.logger.{level}" for level in LEVELS), *SHOWING)
LOGGED = (
    "Every process runs this: what it logs or shows comes once from each process. It comes once in all below"
    " `if accelerator.is_main_process:`; a logger of accelerate.logging.get_logger() takes care of that itself."
)


def prints(module: Module, call: ast.Call) -> bool:
    """Whether a call does what print() does with its arguments: `print(a, b)`, `click.echo(text)` without more."""
    if free_name(module, call.func) == "print":
        return True
    is_plain = len(call.args) < 2 and not call.keywords and not has_unpacking(call)
    # Of None echo() makes an empty line, and it decodes bytes.
    is_same = not any(isinstance(module.constant(shown), (bytes, type(None))) for shown in call.args)
    return is_plain and is_same and module.qualified(call.func) in ECHOES


def tell_logged(changes: Changes, processes: Processes) -> None:
    """Tells once of lines that several processes log.

    Args:
        changes: The edits.
        processes: The processes of the training.
    """
    module = changes.module
    if any(module.calls(*DDP, *SET_UP)):  # it had several processes before
        return
    said = (call for call in module.of_type(ast.Call) if _says(module, call) and not changes.is_gone(call.func))
    by_all = [call for call in said if not processes.is_main_only(call)]
    if by_all:
        changes.note(RM858, min(by_all, key=module.start), LOGGED)


def _says(module: Module, call: ast.Call) -> bool:
    """Whether a call logs a line, or shows it on a command line."""
    if module.qualified(call.func) in SAYING:
        return True
    if not isinstance(call.func, ast.Attribute) or last_name(call.func) not in LEVELS:
        return False
    ends = module.origins(call.func.value)
    return bool(ends) and all(map(makes_logger, ends))

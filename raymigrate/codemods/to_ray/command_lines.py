"""Scripts whose function is called by what reads the command line for it: click and hydra.

The function stays on the driver, with its decorators. What trains moves to the workers, which get the options, or the
configuration as a dict.
"""

from __future__ import annotations

import ast

from raymigrate.facts.module import Module
from raymigrate.facts.values import argument

HYDRA = "hydra.main"
CLICK = ("click.command", "click.option", "click.argument", "click.version_option", "click.help_option")
# What of hydra knows only the process that hydra started; and click's values that do not go to another process.
OF_DRIVER = (
    *("hydra.core.", "hydra.utils.get_original_cwd", "hydra.utils.to_absolute_path", "click.get_current_context"),
    *("click.pass_context", "click.pass_obj", "click.File"),
)
# Before these versions hydra goes to a new folder, where a relative path means another file.
STAYS_IN_FOLDER = (None, "1.2", "1.3")
ADVICE = {
    "fire.Fire": "call it yourself with what argparse parsed",
    "typer.run": "call it yourself with what argparse parsed",
    "typer.Typer": "call it yourself with what argparse parsed",
    "absl.app.run": "call it yourself, and give it what it reads of FLAGS",
    "click.group": "give it a script of its own, with @click.command()",
    HYDRA: "let one function have @hydra.main(version_base=None, ...), call it once below `if __name__`, and read"
    " hydra's own folders before the training",
    "click.command": "let one function have the options, call it once below `if __name__`, and use no click.File and no"
    " context in it",
}


def decorated_by(module: Module, function: ast.FunctionDef) -> str | None:
    """The library that calls a function with the command line: `click` or `hydra`; None where decorators do more."""
    calls = [d for d in function.decorator_list if isinstance(d, ast.Call)]
    names = [module.qualified(call.func) or "" for call in calls]
    if not names or len(calls) < len(function.decorator_list):
        return None
    if any(reference.qualified.startswith(OF_DRIVER) for reference in module.references):
        return None
    if all(name in CLICK for name in names) and "click.command" in names:
        return "click"
    if names != [HYDRA] or len(function.args.args) != 1:
        return None
    base = argument(calls[0], 2, "version_base")
    return "hydra" if base is not None and module.constant(base) in STAYS_IN_FOLDER else None


def in_the_way(module: Module) -> tuple[ast.AST, str] | None:
    """What reads the command line in a way that cannot be followed, with what to do."""
    for reference in module.references_within(*ADVICE):
        function = next((a for a in module.ancestors(reference.node) if isinstance(a, ast.FunctionDef)), None)
        if function is not None and decorated_by(module, function) is not None:
            continue
        advice = next(text for name, text in ADVICE.items() if reference.is_within(name))
        message = "reads the command line and calls the function that trains, which a worker cannot do"
        return reference.node, f"{reference.qualified} {message}; {advice}."
    return None

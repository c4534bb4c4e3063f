"""Scripts whose function is called by what reads the command line for it: click, hydra, fire, typer.

The function stays on the driver, with its decorators. What trains moves to the workers, which get the options, or the
configuration as a dict.
"""

import ast

from raymigrate.facts.projects.command_lines import ARGPARSE, parsers_of_dataclasses
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.scopes import Reference
from raymigrate.facts.values import argument, called_name, class_named, is_method_call
from raymigrate.facts.values.config_objects import is_bare_dataclass

HYDRA = "hydra.main"
APP = "typer.Typer"
ADDS = "add_typer"
RUN = ("fire.Fire", "typer.run")  # call the function that they are given
CLICK = ("click.command", "click.option", "click.argument", "click.version_option", "click.help_option")
# What gives hydra's first folder: for a worker, where hydra (1.3, utils.py:112) does not run, the one that it is in.
CURRENT_FOLDER = "hydra.utils.get_original_cwd"
OF_FOLDER = (CURRENT_FOLDER, "hydra.utils.to_absolute_path")
# What of hydra knows only the process that hydra started; and click's values that do not go to another process.
OF_DRIVER = (
    "hydra.core.hydra_config.",
    "hydra.core.global_hydra.",
    *OF_FOLDER,
    "click.get_current_context",
    "click.pass_context",
    "click.pass_obj",
    "click.File",
)
# What gives objects of the classes of a structured configuration: workers get its values alone.
STORE, OF_CLASSES = "hydra.core.config_store", ("omegaconf.OmegaConf.to_object", "omegaconf.OmegaConf.get_type")
WITHOUT_CLASSES = (
    "{} gives objects of the classes that ConfigStore knows, and workers get a configuration without them; read its"
    " values as they are, such as cfg.lr."
)
IN_ITS_PROCESS = "{} holds in the process of {} only, and the training moves to others"
INSTEAD = {
    "hydra": "let the configuration hold what it gives, such as `folder: ${hydra:runtime.output_dir}`, and read that",
    "click": "let options hold what it gives",
}
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
    """The library that calls a function with the command line: click, hydra, typer; None where decorators do more."""
    if called_by_app(module, function) is not None:
        return "typer"
    calls = [d for d in function.decorator_list if isinstance(d, ast.Call)]
    names = [called_name(module, call) for call in calls]
    if not names or len(calls) < len(function.decorator_list):
        return None
    if _of_driver(module) is not None or _of_classes(module) is not None:
        return None
    if all(name in CLICK for name in names) and "click.command" in names:
        return "click"
    if names != [HYDRA] or len(function.args.args) != 1:
        return None
    base = argument(calls[0], 2, "version_base")
    return "hydra" if base is not None and module.constant(base) in STAYS_IN_FOLDER else None


def called_by_app(module: Module, function: ast.FunctionDef) -> ast.Call | None:
    """The call of an application of typer, `app()`, of which a function is a command, and nothing else calls it."""
    app = commanded_by(module, function)
    definition = module.definition(app)
    return _run(module, definition, ()) if definition is not None and not module.uses_of(function) else None


def _run(module: Module, app: ast.AST, below: tuple[ast.AST, ...]) -> ast.Call | None:
    """The only call of an application, or of the one that it is part of: `main.add_typer(app, name="train")`."""
    giving = {commanded_by(module, other) for other in module.of_type(ast.FunctionDef)}
    uses = [use for use in module.uses_of(app) if use not in giving and not _takes_another(module, use)]
    call = module.parent_of[uses[0]] if len(uses) == 1 else None
    if not isinstance(call, ast.Call):
        return None
    if call.func is uses[0]:
        return call if not call.args and not call.keywords else None
    owner = call.func.value if is_method_call(call, ADDS) and uses[0] in call.args else None
    whole = module.definition(owner) if isinstance(owner, ast.Name) and _is_app(module, owner) else None
    return _run(module, whole, (*below, app)) if whole is not None and whole not in below else None


def _takes_another(module: Module, use: ast.Name) -> bool:
    """Whether an application is given another one there: `app.add_typer(other)`."""
    method = module.parent_of[use]
    return isinstance(method, ast.Attribute) and is_method_call(module.parent_of[method], ADDS)


def _is_app(module: Module, name: ast.Name) -> bool:
    return called_name(module, module.value(name)) == APP


def commanded_by(module: Module, function: ast.stmt) -> ast.Name | None:
    """The application of typer in the only decorator of a function, which makes it a command: `@app.command()`."""
    match function:
        case ast.FunctionDef(decorator_list=[ast.Call(ast.Attribute(ast.Name() as app, "command"))]):
            return app if _is_app(module, app) else None
    return None


def run_with_options(module: Module, node: ast.AST) -> ast.Name | None:
    """The function that a library calls with the command line, in a call which does no more: `fire.Fire(train)`."""
    if not isinstance(node, ast.Call) or module.qualified(node.func) not in RUN:
        return None
    given = node.args[0] if len(node.args) == 1 and not node.keywords else None
    is_function = isinstance(given, ast.Name) and isinstance(module.definition(given), ast.FunctionDef)
    return given if is_function else None  # type: ignore[return-value]


def folder_calls(module: Module) -> list[ast.Call]:
    """The calls that ask hydra for the folder that the script was started in, or for a path in it.

    Args:
        module: The module.
    """
    return list(module.calls(*OF_FOLDER))


def _of_driver(module: Module) -> Reference | None:
    """What works only in the process that hydra or click called."""
    followed = {call.func for call in folder_calls(module)}
    found = (r for r in module.references if r.qualified.startswith(OF_DRIVER))
    return next((r for r in found if r.node not in followed), None)


def _of_classes(module: Module) -> Reference | None:
    """What asks a structured configuration for the classes that it was made from."""
    asked = module.references_within(*OF_CLASSES) if module.references_within(STORE) else ()
    return next(iter(asked), None)


def in_the_way(module: Module) -> tuple[ast.AST, str] | None:
    """What reads the command line in a way that cannot be followed, with what to do."""
    for reference in module.references_within(*ADVICE):
        function = next((a for a in module.ancestors(reference.node) if isinstance(a, ast.FunctionDef)), None)
        if function is not None and decorated_by(module, function) is not None:
            continue
        if run_with_options(module, module.parent_of[reference.node]) is not None:
            continue
        if reference.is_within(APP) and any(called_by_app(module, f) for f in module.of_type(ast.FunctionDef)):
            continue
        if (other := _of_driver(module)) is not None:
            library = other.qualified.partition(".")[0]
            return other.node, f"{IN_ITS_PROCESS.format(other.qualified, library)}; {INSTEAD[library]}."
        if (asked := _of_classes(module)) is not None:
            return asked.node, WITHOUT_CLASSES.format(asked.qualified)
        advice = next(text for name, text in ADVICE.items() if reference.is_within(name))
        message = "reads the command line and calls the function that trains, which a worker cannot do"
        return reference.node, f"{reference.qualified} {message}; {advice}."
    return None


def parses(module: Module, definition: ast.stmt) -> bool:
    """Whether a function makes something of the command line, with argparse, that the driver can hand over.

    One that lets HfArgumentParser make TrainingArguments too runs on the workers: made on the driver they are of one
    process, and every worker would train on all rows by itself.
    """
    if not any(module.inside(call, definition) for call in module.calls(ARGPARSE)):
        return False
    parsers = (call for call in parsers_of_dataclasses(module) if module.inside(call, definition))
    return all(_reads_plain_classes(module, parser) for parser in parsers)


def _reads_plain_classes(module: Module, parser: ast.Call) -> bool:
    """Whether all classes of which a parser makes objects are dataclasses of the project with nothing but fields."""
    given = argument(parser, 0, "dataclass_types")
    if given is None:
        return False
    listed = [part for part in ast.walk(module.value(given)) if isinstance(part, (ast.Name, ast.Attribute))]
    classes = [class_named(module, part) for part in listed]
    return bool(classes) and all(found is not None and is_bare_dataclass(*found) for found in classes)

"""Environment variables that a script sets for its own process: its workers are others, on a cluster anywhere."""

import ast
import itertools
import math

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.cache_variables import name_today
from raymigrate.codemods.libraries.uploaded_models import value_today
from raymigrate.codemods.to_ray.outline import Outline
from raymigrate.codemods.to_ray.roles import Role
from raymigrate.codemods.to_ray.script import executed, is_main_guard
from raymigrate.codemods.to_ray.step_kinds import OF_LAUNCHER, environment_set
from raymigrate.facts.projects.environment import VISIBLE, all_variables_set_within, value_set
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module

CHOICES = (ast.IfExp, ast.BoolOp, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
# Variables that these libraries read as they are imported.
READ_ON_IMPORT = ("HF_", "HUGGINGFACE_", "TRANSFORMERS_")
READ_LATER = ("HF_TOKEN",)
READERS = ("transformers", "datasets", "huggingface_hub", "evaluate", "accelerate", "peft", "trl")
GIVE = 'RunConfig(worker_runtime_env={"env_vars": {...}})'

# Ray counts the GPUs that the variable names where a node of it starts (ray/_private/accelerators/nvidia_gpu.py, 2.60).
OTHER_GPUS = (
    f"Workers may run on other GPUs than those that {VISIBLE} names here. To keep to these, set it before Ray starts on"
    " the machine: before `ray start`, or before python where the script starts Ray itself."
)
NO_GPUS = ("", "-1")


def drop_launcher(context: Context, rule: Rule, outline: Outline) -> None:
    """Takes out what Ray does for its workers.

    Args:
        context: The file.
        rule: The rule of the conversion.
        outline: What becomes of the script.
    """
    module = context.module
    for step in outline.roles.staying(Role.LAUNCHER):
        what = module.source(step).partition("(")[0].strip()
        chooses = environment_set(module, step) == VISIBLE
        does = "gives each worker its GPUs" if chooses else "starts the workers and joins them"
        if context.converts(rule, step, f"{what} goes: Ray {does}."):
            context.plan.statement(step).removed = True
            if chooses and isinstance(step, ast.Assign) and module.constant(step.value) not in NO_GPUS:
                context.note(rule, step, OTHER_GPUS)


def set_environment(context: Context, rule: Rule, outline: Outline) -> None:
    """Gives the workers the environment variables that the script sets for itself; says of the others that they lack.

    Args:
        context: The file.
        rule: The rule of the conversion.
        outline: What becomes of the script.
    """
    module = context.module
    for step in outline.roles.staying(Role.DRIVER):
        missing = dict[str, None]()
        for home, block, is_always in [(module, step, True), *called_functions(module, step)]:
            for place, name in all_variables_set_within(home).get(block, ()):
                if name in OF_LAUNCHER:  # Ray says these
                    continue
                value = home.constant(value) if (value := value_set(home, place)) is not None else None
                is_set = (
                    isinstance(home.statement(place), ast.Assign) and is_always and _always_runs(home, place, block)
                )
                if isinstance(value, str) and is_set:
                    outline.environment[name_today(context, name)] = value_today(context, name, value)
                else:
                    missing[name] = None
        if missing:
            message = (
                f"{', '.join(missing)}: set here for the driver alone. Workers of a cluster that runs already, or of"
                f" another machine, have what {GIVE} says."
            )
            context.note(rule, step, message)
    for step in outline.roles.moved():
        variable = environment_set(module, step) or ""
        is_early = variable.startswith(READ_ON_IMPORT) and variable not in READ_LATER
        if is_early and _is_imported_behind(module, step):
            context.note(
                rule, step, f"{variable}: workers set it after their imports, which read it; {GIVE} comes before them."
            )


def _is_imported_behind(module: Module, step: ast.stmt) -> bool:
    """Whether the libraries that read their variables as they are imported are first imported behind a step."""
    named: list[tuple[ast.stmt, str]] = [(place, place.module or "") for place in module.of_type(ast.ImportFrom)]
    named += [(place, alias.name) for place in module.of_type(ast.Import) for alias in place.names]
    places = [place for place, name in named if name.partition(".")[0] in READERS]
    return bool(places) and all(place.lineno > step.lineno for place in places)


@kept
def called_functions(module: Module, step: ast.stmt) -> list[tuple[Module, ast.AST, bool]]:
    """The functions that a step calls, itself or by one of them, in this file or in others.

    Each is given with its file, and with whether it is called whenever the step runs.
    """
    found: dict[ast.AST, tuple[Module, bool]] = {}
    waiting: list[tuple[Module, ast.AST, bool]] = [(module, step, True)]
    while waiting:
        home, block, is_always = waiting.pop()
        for other, function, is_each_time in _calls(home, block, is_step=block is step):
            is_sure = is_always and is_each_time
            if function not in found or (is_sure and not found[function][1]):
                found[function] = (other, is_sure)
                waiting.append((other, function, is_sure))
    return [(home, function, is_sure) for function, (home, is_sure) in found.items()]


@kept
def _calls(module: Module, block: ast.AST, *, is_step: bool) -> list[tuple[Module, ast.FunctionDef, bool]]:
    """The functions that a step or a function calls itself, and whether it does whenever it runs."""
    nodes = executed(module, block) if is_step else ast.walk(block)
    return [
        (*called, _always_runs(module, node, block))
        for node in nodes
        if isinstance(node, ast.Call) and (called := _function(module, node.func)) is not None
    ]


def _function(module: Module, name: ast.expr) -> tuple[Module, ast.FunctionDef] | None:
    """The function that a name stands for; of a method the one of that name, where the file has one alone."""
    function = module.definition(name)
    if isinstance(name, ast.Attribute) and not isinstance(function, ast.FunctionDef):
        own = module.functions(name.attr)
        function = own[0] if len(own) == 1 and isinstance(module.parent_of[own[0]], ast.ClassDef) else None
    if isinstance(function, ast.FunctionDef):
        return module, function
    other = module.elsewhere(name)
    is_function = other is not None and isinstance(other.node, ast.FunctionDef)
    return (other.module, other.node) if is_function else None  # type: ignore[union-attr,return-value]


def _always_runs(module: Module, node: ast.AST, block: ast.AST) -> bool:
    """Whether a node runs whenever a block does: no condition is around it, and nothing before it may leave the block.

    Args:
        node: What is in the block.
        block: A statement, or a function.
    """
    statement = module.statement(node)
    around = itertools.takewhile(lambda parent: parent is not statement, module.ancestors(node))
    if any(isinstance(parent, CHOICES) for parent in around):
        return False
    if statement is block:
        return True
    is_block = isinstance(block, (ast.FunctionDef, ast.With, ast.Try)) or (
        isinstance(block, ast.stmt) and is_main_guard(block)
    )
    if not is_block or module.parent_of[statement] is not block:
        return False
    return _first_way_out(module, block) >= statement.lineno


@kept
def _first_way_out(module: Module, block: ast.AST) -> float:
    """The line of the first statement of a block that may leave it."""
    leaving = (
        part.lineno
        for part in block.body  # type: ignore[attr-defined]
        if any(isinstance(inner, ast.Return) for inner in executed(module, part))
    )
    return min(leaving, default=math.inf)

"""RM806: what all workers write or remove before they train, which one process did before.

Behind the training the first worker writes alone (`results.py`). Before it the others may need what is written, so that
no condition on the rank is enough: they have to wait for it too.
"""

import ast
from collections.abc import Iterator

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.codemods.to_ray.all_workers import body_of
from raymigrate.codemods.to_ray.arrivals import arrivals, before, places
from raymigrate.codemods.to_ray.launched import LaunchedOutline
from raymigrate.codemods.to_ray.script import DEFINITIONS, executed
from raymigrate.codemods.to_ray.trainer_calls import Training, is_trainer
from raymigrate.facts.folders.downloads import is_in_turn
from raymigrate.facts.folders.opened_files import COPIERS, SAVE, WRITERS, opens_file, writes_by_method
from raymigrate.facts.folders.removals import is_own_path, removes_files
from raymigrate.facts.projects.callees import functions_elsewhere, functions_run
from raymigrate.facts.projects.main_process import asks_for_main, is_for_main
from raymigrate.facts.ray_train.ranks import rank_condition, tests_rank
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.scopes import FunctionNode
from raymigrate.facts.values import argument, called_name, is_method_call, keyword_named

WRITES = (SAVE, *WRITERS, *COPIERS)
SAVES_MODEL = "save_pretrained"
SAVE_TO_PATHS = ("save_to_disk", SAVES_MODEL)
IS_MAIN = "is_main_process"
IN_FUNCTION = "writes a file in this function"
UPLOADS = "uploads this"
DEPTH = 3  # functions that call each other
ADVICE = (
    "Do it above the training function, on the driver; or below `if ray.train.get_context().get_world_rank() == 0:`,"
    " with ray.train.collective.barrier() after it for all."
)


def tell_early_writes(context: Context, rule: Rule, outline: LaunchedOutline, training: Training) -> None:
    """Tells of files that all workers write or remove before the training.

    Args:
        context: The module.
        rule: The rule that tells.
        outline: What becomes of the script.
        training: What trains in it.
    """
    if not outline.may_grow:
        return
    module = context.module
    for call in dict.fromkeys(_before(outline, training)):
        guarded = context.plan.statement(module.statement(call)).within is not None
        what = "" if guarded else done_by_all(module, call)
        if what:
            message = f"Every worker {what} before it trains, the same as the others and at the same time:"
            context.manual(rule, call, f"{message} {result_of(what)}", ADVICE)


def result_of(what: str) -> str:
    """What comes of it that all workers do something with files, as words."""
    return "each pushes a commit of its own." if what == UPLOADS else "one may find it half done, or gone."


def _before(outline: LaunchedOutline, training: Training) -> Iterator[ast.Call]:
    """The calls that workers come to before the training, those of each step once."""
    module, moved, seen = outline.context.module, outline.roles.moved(), set[ast.stmt]()
    followed = dict[ast.AST, int]()
    for place in places(outline.script, moved, training.trains):
        for step in moved[:place]:
            if not isinstance(step, DEFINITIONS) and step not in seen:
                seen.add(step)
                yield from called_by(module, step, followed=followed)
    for statement in before(outline.script, arrivals(module, training.trains)):
        yield from called_by(module, statement, followed=followed)


def called_by(
    module: Module, code: ast.AST, depth: int = DEPTH, followed: dict[ast.AST, int] | None = None
) -> Iterator[ast.Call]:
    """The calls in some code, and in the functions and methods of the module that it calls on every worker.

    Args:
        module: The module.
        code: The code.
        depth: How many functions may still call each other.
        followed: The functions whose calls were given, with the depth then: each is followed once, from where it is
            nearest.
    """
    followed = {} if followed is None else followed
    for node in executed(module, code):
        if isinstance(node, ast.Call):
            yield node
            for home, function in functions_run(module, node) if depth else ():
                if home is not module or not isinstance(function, ast.FunctionDef):
                    continue
                if followed.get(function, 0) < depth and not is_for_one(module, node):
                    followed[function] = depth
                    for statement in function.body:
                        yield from called_by(module, statement, depth - 1, followed)


def done_by_all(module: Module, call: ast.Call) -> str:
    """What all workers do with files in a call, or in a function of another file that it calls; empty for nothing."""
    what = what_it_does(module, call) or _done_elsewhere(module, call)
    return "" if what and is_for_one(module, call) else what  # the latter costs more


def _done_elsewhere(module: Module, call: ast.Call) -> str:
    """What a function of another file does with files that is called here, as words; empty for nothing."""
    return next(
        (what for other, function in functions_elsewhere(module, call) if (what := _done_in(other, function))), ""
    )


@kept
def _done_in(module: Module, function: FunctionNode) -> str:
    """What a function does with files, as words; empty for nothing. Many steps may call one."""
    for part in body_of(function):
        for call in called_by(module, part):
            what = what_it_does(module, call)
            if not what or is_for_one(module, call) or rank_condition(module, module.statement(call)) is not None:
                continue
            return IN_FUNCTION if what.startswith("writes") else what
    return ""


def what_it_does(module: Module, call: ast.Call) -> str:
    """What a call does with files, or with those of the Hub, as words; empty for nothing."""
    if removes_files(module, call):
        return "removes or moves a file"
    name = called_name(module, call)
    if name in WRITES or opens_file(module, call):
        return "writes this file"
    if name or not isinstance(call.func, ast.Attribute):
        return ""
    if call.func.attr == "push_to_hub":
        return "" if is_trainer(module, call.func.value) else UPLOADS  # which asks for the rank itself
    return "writes this" if call.func.attr in SAVE_TO_PATHS or writes_by_method(call) else ""


def is_for_one(module: Module, call: ast.Call) -> bool:
    """Whether one worker does it alone or before the others, or each to a path of its own."""
    given = keyword_named(call, IS_MAIN) if is_method_call(call, SAVES_MODEL) else None  # writes nothing if it is False
    asks = given is not None and asks_for_main(module, given.value)
    return asks or is_in_turn(module, call) or is_to_own_path(module, call) or is_for_main(module, call)


def is_to_own_path(module: Module, call: ast.Call) -> bool:
    """Whether a call writes or removes what each process has for itself, by the rank or in a temporary folder."""
    path = argument(call, 1 if what_it_does(module, call) == "writes this file" else 0, "path", "dst", "file")
    given = [value for value in (path, *call.args) if value is not None]
    if isinstance(call.func, ast.Attribute):
        given.append(call.func.value)
    return any(tests_rank(module, value) or is_own_path(module, value) for value in given)

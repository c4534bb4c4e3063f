"""RM831: the logging that a script sets up, on workers where Ray has set up its own before.

Ray Train gives the root logger of each worker handlers and the level INFO before the training function begins
(ray 2.60, train/v2/_internal/logging/logging.py:269). Where the root logger has handlers, logging.basicConfig() does
nothing: no format, no level, no file. force=True takes Ray's handlers off it; those of `ray.train` go on.
"""

import ast

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.codemods.shared.loggers import MAKES_LOGGER, makes_logger
from raymigrate.codemods.to_ray.driver_environment import called_functions
from raymigrate.codemods.to_ray.launched import LaunchedOutline
from raymigrate.codemods.to_ray.roles import Role
from raymigrate.codemods.to_ray.script import DEFINITIONS, executed
from raymigrate.codemods.to_ray.trackers import is_for_one_process
from raymigrate.facts.ray_train.loguru_files import LOGURU, files_of_loguru
from raymigrate.facts.syntax.calls import calls_in
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import is_assignment, targets_of
from raymigrate.facts.values import argument, called_name, keyword_argument, unpacked_dicts
from raymigrate.facts.values.dicts import entries

RM831 = Rule(
    "RM831",
    "logging that a plain script sets up",
    "Ray gives the root logger of each worker handlers and the level INFO before the training function begins, so that"
    " logging.basicConfig() does nothing there: the script's format, level and log file are not in force.",
    "logging.basicConfig(..., force=True) takes Ray's handlers off the root logger; what Ray logs itself goes on.",
    "https://docs.python.org/3/library/logging.html#logging.basicConfig",
)
SETS_UP = "logging.basicConfig"
FILES = {SETS_UP: "filemode", "logging.FileHandler": "mode"}  # with the argument that says how the file is opened
SETS_LOGGER = ("addHandler", "setLevel")
SETS_LOGURU = tuple(f"{LOGURU}.{name}" for name in ("add", "remove", "configure"))
IDLE = "does nothing on Ray's workers, whose root logger has handlers already"

UNSEEN = (
    "This line is not shown any more: {name}() moved to the workers, and the driver's root logger shows warnings only."
    " Call it here too."
)
DISABLES = ("logging.config.fileConfig", "logging.config.dictConfig")
KEEPS = "disable_existing_loggers"
DISABLED = (
    "`{logger}` goes to the workers with the training function, and is there before this call, which disables the"
    " loggers that it finds and does not name: their lines are lost."
)
KEEP = "Give it disable_existing_loggers=False, or make the logger behind this call in the training function."
OVERWRITTEN = (
    "Every worker opens this log file anew and writes over the lines of the others: put the rank,"
    " ray.train.get_context().get_world_rank(), into its name."
)


def keep_log_settings(context: Context, outline: LaunchedOutline) -> None:
    """Lets the script's own logging take the place of Ray's on the workers.

    Args:
        context: The file.
        outline: What becomes of the script.
    """
    module = context.module
    workers = outline.roles.moved_or_makers()
    of_workers = set(workers)
    for call in module.calls(SETS_UP):
        if outline.script.step_of(call) not in of_workers or keyword_argument(call, "force") is not None:
            continue
        if unpacked_dicts(call):
            context.note(RM831, call, f"logging.basicConfig() {IDLE}, unless it is given force=True.")
        elif context.converts(RM831, call, f"logging.basicConfig() {IDLE}; now with force=True."):
            context.plan.call(call).set("force", "True")
    _tell_disabled(context, outline, of_workers)
    _tell_lines_of_driver(context, outline, of_workers)
    _tell_elsewhere(context, workers)
    _tell_of_driver(context, outline, of_workers)
    for call in module.calls(*FILES) if outline.may_grow else ():
        mode = argument(call, 1, FILES[called_name(module, call)])
        is_anew = mode is not None and str(module.constant(mode)).startswith("w")
        if is_anew and outline.script.step_of(call) in of_workers and not is_for_one_process(module, call):
            context.note(RM831, call, OVERWRITTEN)


def _tell_elsewhere(context: Context, workers: list[ast.stmt]) -> None:
    """Says which functions of other files set up logging for the workers."""
    module, told = context.module, set[ast.AST]()
    for step in workers:
        found = [] if isinstance(step, DEFINITIONS) else called_functions(module, step)
        for home, function, _ in found:
            if home is module or function in told:
                continue
            told.add(function)
            for call in calls_in(home, function, SETS_UP):
                if keyword_argument(call, "force") is None:
                    message = f"logging.basicConfig() in {home.path} {IDLE}: give it force=True there."
                    context.note(RM831, step, message)


def _tell_of_driver(context: Context, outline: LaunchedOutline, of_workers: set[ast.stmt]) -> None:
    """Says which loggers get their handlers and their level on the driver alone."""
    module, told = context.module, set[str]()
    own = module.method_calls(*SETS_LOGGER)
    calls = [(c, method) for c, method in own if any(makes_logger(source) for source in module.origins(method.value))]
    of_loguru = [(c, c.func) for c in module.calls(*SETS_LOGURU) if isinstance(c.func, ast.Attribute)]
    holds_file = any(files_of_loguru(module, of_workers))  # else the logger itself goes along, as the driver set it up
    calls += [(c, method) for c, method in of_loguru if holds_file or not isinstance(method.value, ast.Name)]
    for call, method in calls:
        step, logger = outline.script.step_of(call), module.source(method.value)
        stays = step is not None and step not in of_workers and not isinstance(step, DEFINITIONS)
        if not stays or logger in told:
            continue
        if isinstance(method.value, ast.Name) and not _is_read(module, outline, method.value, of_workers):
            continue
        told.add(logger)
        message = f"`{logger}` is set up here for the driver alone: on workers it has neither this level nor these"
        context.note(RM831, call, f"{message} handlers.")


def _tell_lines_of_driver(context: Context, outline: LaunchedOutline, of_workers: set[ast.stmt]) -> None:
    """Says which line the driver logs first that nobody sees: all that sets up logging has moved to the workers."""
    module = context.module
    calls = list(module.calls(SETS_UP, *DISABLES))
    if not calls or any(outline.script.step_of(call) not in of_workers for call in calls):
        return
    if any(module.method_calls("addHandler")):
        return
    for step in (step for step in outline.script.steps if not isinstance(step, DEFINITIONS)):
        if outline.roles.of[step] is Role.DRIVER or step in outline.behind:
            for node in executed(module, step):
                if isinstance(node, ast.Call) and _logs_below_warning(module, node):
                    context.note(RM831, node, UNSEEN.format(name=module.qualified(calls[0].func)))
                    return


def _tell_disabled(context: Context, outline: LaunchedOutline, of_workers: set[ast.stmt]) -> None:
    """Says which logger was made behind what sets up logging, and is there before it on the workers."""
    module = context.module
    for call in module.calls(*DISABLES):
        if outline.script.step_of(call) not in of_workers:
            continue
        for made in module.calls(MAKES_LOGGER):
            step, parent = outline.script.step_of(made), module.parent_of[made]
            name = targets_of(parent)[0] if is_assignment(parent) else None
            stays = step is not None and step not in of_workers and module.start(made) > module.start(call)
            if not made.args or not stays or not _disables(module, call, made.args[0]):
                continue
            if isinstance(name, ast.Name) and _is_read(module, outline, name, of_workers):
                context.manual(RM831, call, DISABLED.format(logger=name.id), KEEP)
                break


def _disables(module: Module, call: ast.Call, logger: ast.expr) -> bool:
    """Whether what sets up logging may disable a logger which is there: one that it does not name."""
    if module.qualified(call.func) == DISABLES[0]:
        keeps = argument(call, 2, KEEPS)
        return keeps is None or module.constant(keeps) is not False
    given = argument(call, 0, "config")
    settings = entries(module, given) if given is not None else None
    if settings is None:  # of a file, for example
        return not module.texts(KEEPS)
    named = entries(module, settings["loggers"]) if "loggers" in settings else {}
    parts = str(module.constant(logger)).split(".")
    is_named = any(".".join(parts[:end]) in (named or {}) for end in range(1, len(parts) + 1))
    return not is_named and (KEEPS not in settings or module.constant(settings[KEEPS]) is not False)


def _logs_below_warning(module: Module, call: ast.Call) -> bool:
    """Whether a call logs what only a root logger that was set up shows: `logger.info("done")`."""
    method = call.func
    if not isinstance(method, ast.Attribute) or method.attr not in ("info", "debug"):
        return False
    if module.qualified(method) in ("logging.info", "logging.debug"):
        return True
    return any(makes_logger(source) for source in module.origins(method.value))


def _is_read(module: Module, outline: LaunchedOutline, name: ast.Name, of_workers: set[ast.stmt]) -> bool:
    """Whether workers may read a name: in what they run, or in a function that they may call."""
    steps = (outline.script.step_of(use) for use in module.uses(name.id, module.scope_of[name]))
    return any(step in of_workers or isinstance(step, DEFINITIONS) for step in steps)

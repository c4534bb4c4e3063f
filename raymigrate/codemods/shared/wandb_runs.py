"""Runs of wandb where several processes run the same code: the first keeps one, the others have one that does nothing.

`wandb.init(mode="disabled")` gives a run whose config, summary, log(), save(), log_artifact() and so on work and write
nothing, and `wandb.config` and similar names belong to it (wandb 0.31.0, sdk/lib/noop_run.py; run). So nothing that
speaks to the run needs a condition. What such a run has not: files and artifacts to load, and an id that others know.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from raymigrate.facts.ray_train.ranks import OF_ONE, rank_condition, tests_rank
from raymigrate.facts.syntax.calls import calls_in
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import is_assignment, targets_of
from raymigrate.facts.values import called_name, has_starred, keyword_argument, last_name, unpacked_dicts

START = "wandb.init"
# What of the module belongs to the run: without one it raises (sdk/lib/preinit.py).
OF_RUN = frozenset(
    {
        *("config", "run", "summary", "log", "watch", "unwatch", "save", "alert", "define_metric", "mark_preempting"),
        *("log_artifact", "use_artifact", "log_model", "use_model", "link_model"),
    }
)
# Functions that a disabled run does not put into the module (sdk/lib/noop_run.py), and that it has itself.
KEPT_BY_RUN = ("wandb.log_model", "wandb.link_model", "wandb.mark_preempting")
LOADS = frozenset({"use_artifact", "use_model", "restore"})
OWN_TO_RUN = frozenset({"id", "name", "url", "dir", "path", "resumed", "step", "sweep_id", "get_url"})
SHOWS = ("wandb.", "logging.", "torch.save")
NAMES_RUN = "run_name"  # an argument of TrainingArguments, for the trackers, which the first process alone has
SHOWING = frozenset({"print", "info", "debug", "warning", "log", "write", "set_description"})
MOST_POSITIONS = 13  # the arguments of wandb.init() before mode


@dataclass(frozen=True)
class Trouble:
    """What goes wrong with a disabled run.

    Args:
        node: Where.
        message: What happens, in the processes that `{others}` names.
        advice: What to do; `{shared}` names what gives all processes the value of the first.
    """

    node: ast.AST
    message: str
    advice: str


def disabling(module: Module, call: ast.Call, main: str) -> tuple[ast.expr | None, str] | None:
    """What disables the run of a `wandb.init()` in all processes but one.

    Args:
        module: The module.
        call: The call.
        main: What says in the code whether it runs in that process.

    Returns:
        The expression that other code takes the place of, and that code; no expression for an argument `mode=` to add.
        None where it is not seen whether the call has a mode.
    """
    if len(call.args) > MOST_POSITIONS or has_starred(call.args):
        return None
    own = keyword_argument(call, "mode")
    if own is not None:
        source = module.source(own)
        source = f"({source})" if isinstance(own, (ast.IfExp, ast.Lambda)) else source
        return own, f'{source} if {main} else "disabled"'
    unknown = [value for value in unpacked_dicts(call) if not _is_without_mode(module, value)]
    if len(unknown) > 1:
        return None
    if unknown:
        source = module.source(unknown[0])
        return unknown[0], f'({source} if {main} else {{**{source}, "mode": "disabled"}})'
    return None, f'None if {main} else "disabled"'


def _is_without_mode(module: Module, unpacked: ast.expr) -> bool:
    """Whether it is sure that a dict has no key `mode`."""
    if not isinstance(unpacked, ast.Dict):
        return False
    keys = [module.constant(key) if key is not None else ... for key in unpacked.keys]
    return all(isinstance(key, str) and key != "mode" for key in keys)


def is_disabled(module: Module, call: ast.Call) -> bool:
    """Whether a `wandb.init()` says itself in which processes its run is disabled, or that it is so in all.

    `mode="disabled" if args.debug else "online"` says neither: the run is kept in all processes, or in none. So does
    `mode=os.environ.get("WANDB_MODE", "disabled")`.
    """
    parts = [part for keyword in call.keywords if keyword.arg in ("mode", None) for part in ast.walk(keyword.value)]
    tests = [part.test for part in parts if isinstance(part, ast.IfExp)]
    own = keyword_argument(call, "mode")
    inside = ast.walk(own) if own is not None else ()
    tests += [part for part in inside if isinstance(part, (ast.Call, ast.BoolOp, ast.Subscript))]
    is_named = any(isinstance(part, ast.Constant) and part.value == "disabled" for part in parts)
    return is_named and (not tests or any(_asks_for_process(module, test) for test in tests))


def _asks_for_process(module: Module, test: ast.expr) -> bool:
    """Whether a condition asks which process runs it, by what is seen of it or by the names in it."""
    return tests_rank(module, test) or OF_ONE.search(module.source(test)) is not None


def uses_of_run(module: Module) -> Iterator[ast.expr]:
    """What needs a run to be there: `wandb.config`, `wandb.log`; `self._wandb` of a callback of transformers too."""
    for reference in module.references_within("wandb"):
        parts = reference.qualified.split(".")
        if len(parts) > 1 and parts[1] in OF_RUN and isinstance(reference.node, ast.expr):
            yield reference.node
    for node in module.of_type(ast.Attribute):
        owner = node.value
        if isinstance(owner, ast.Attribute) and owner.attr == "_wandb" and node.attr in OF_RUN:
            yield node


def asks_for_run(module: Module, node: ast.AST) -> bool:
    """Whether code asks whether there is a run, or is below an `if` that does: `if wandb.run is not None:`."""
    tests = [around.test for around in module.ancestors(node) if isinstance(around, (ast.If, ast.IfExp))]
    return any(
        isinstance(part, ast.Attribute) and part.attr == "run" and ast.unparse(part.value).endswith("wandb")
        for test in tests
        for part in ast.walk(test)
    )


def is_run(module: Module, node: ast.expr) -> bool:
    """Whether something is the run of wandb."""
    if module.qualified(node) == "wandb.run":
        return True
    if not isinstance(node, ast.Name) or node not in module.scope_of:
        return False
    bound = [binding.node for binding in module.bindings_of(node)]
    return any(called_name(module, _given(module, binding)) == START for binding in bound)


def _given(module: Module, binding: ast.AST) -> ast.AST | None:
    """What a name gets, also from `with ... as name`."""
    parent = module.parent_of.get(binding)
    if isinstance(parent, ast.withitem):
        return parent.context_expr
    return module.assigned(binding)


def troubles(module: Module) -> Iterator[Trouble]:
    """What goes wrong where a disabled run takes the place of one."""
    for call in module.calls("wandb.agent"):
        yield Trouble(
            call,
            "{others} asks the sweep too, for settings of its own: each trains another model.",
            "Let one process ask, and start the processes for each of its trials.",
        )
    for node in module.of_type(ast.Attribute):
        parent = module.parent_of[node]
        is_called = isinstance(parent, ast.Call) and parent.func is node
        of_module = (module.qualified(node) or "").startswith("wandb.")
        if node.attr in LOADS and is_called and (of_module or is_run(module, node.value)):
            if not module.is_statement(parent):
                yield Trouble(
                    node,
                    f"{node.attr}() has nothing to give where the run is disabled: it is None, or this raises.",
                    "Take it from wandb.Api(), which needs no run.",
                )
        elif node.attr in OWN_TO_RUN and isinstance(node.ctx, ast.Load) and is_run(module, node.value):
            if not _is_shown(module, node):
                yield Trouble(
                    node,
                    f"`{module.source(node)}` differs between the processes: only the first one's run is kept.",
                    "Give all of them that of the first: {shared}.",
                )


def _is_shown(module: Module, node: ast.AST) -> bool:
    """Whether a value is only printed, logged, the name of a Trainer's run, or part of what the first process saves."""
    around = [node, *module.ancestors(node)]
    if any(isinstance(parent, ast.keyword) and parent.arg == NAMES_RUN for parent in around):
        return True
    statement = module.statement(node)
    if is_assignment(statement) and all(last_name(target) == NAMES_RUN for target in targets_of(statement)):
        return all(isinstance(target, ast.Attribute) for target in targets_of(statement))
    calls = [parent for parent in around if isinstance(parent, ast.Call)]
    for call in calls:
        name = called_name(module, call)
        if name.startswith(SHOWS) or ast.unparse(call.func).rpartition(".")[2] in SHOWING:
            return True
    return False


def unkept(module: Module) -> Iterator[ast.Attribute]:
    """Functions of the module that a disabled run does not put there, but has itself: `wandb.log_model`."""
    for call in module.calls(*KEPT_BY_RUN):
        if isinstance(call.func, ast.Attribute):
            yield call.func


def starts_elsewhere(module: Module) -> Iterator[tuple[ast.Call, str]]:
    """The calls of functions of other files that start a run, each with the path of that file."""
    for call in module.of_type(ast.Call):
        if (place := start_elsewhere(module, call)) is not None:
            yield call, place


def start_elsewhere(module: Module, call: ast.Call) -> str | None:
    """The path of another file whose function a call runs, if that starts a run in each process."""
    definition = module.elsewhere(call.func)
    function = definition.function if definition is not None else None
    if definition is None or function is None:
        return None
    other = definition.module
    starts = calls_in(other, function, START)
    is_each = any(not is_disabled(other, start) and rank_condition(other, start) is None for start in starts)
    return other.path if is_each else None

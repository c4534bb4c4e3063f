"""Functions of the script that do nothing but save, called behind the training: `save_all(model, tokenizer, "out")`.

One process ran them before. Where all that a function does is seen to be for files and for the screen, the first worker
calls it alone, like `model.save_pretrained()` itself. Of others it is told what every worker writes or removes.
"""

import ast
from collections.abc import Callable, Iterator

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.codemods.to_ray.all_workers import needs_all
from raymigrate.codemods.to_ray.arrivals import arrivals, behind, places
from raymigrate.codemods.to_ray.early_writes import IN_FUNCTION, called_by, done_by_all, result_of
from raymigrate.codemods.to_ray.launched import LaunchedOutline
from raymigrate.codemods.to_ray.roles import Role
from raymigrate.codemods.to_ray.script import DEFINITIONS, executed
from raymigrate.codemods.to_ray.spread_weights import saves_spread_weights
from raymigrate.codemods.to_ray.trainer_calls import Training
from raymigrate.facts.projects.callees import callees
from raymigrate.facts.ray_train.ranks import rank_condition
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import is_assignment, targets_of
from raymigrate.facts.values import called_name, free_name, last_name

DEPTH = 2  # functions that call each other
# What harms nobody where the first worker alone does it, and is no reason for it to be alone.
HARMLESS = frozenset({"makedirs", "mkdir", "debug", "warning", "error", "print", "log"})
REMOVES = ("os.remove", "os.unlink", "os.rmdir", "os.rename", "os.replace", "shutil.")
# What makes one value of others, and changes none of them.
QUIET_LIBRARIES = ("pandas.DataFrame", "os.path.", "json.dumps", "yaml.dump", "pathlib.Path", "datetime.", "time.")
QUIET_BUILTINS = frozenset({"dict", "float", "int", "len", "list", "max", "min", "round", "set", "sorted", "str"})
QUIET_METHODS = frozenset(
    {
        *("items", "keys", "values", "to_dict", "join", "format", "tolist", "copy", "strip", "isoformat", "strftime"),
        *("state_dict", "cpu", "numpy", "resolve", "absolute", "with_suffix", "enumerate", "zip"),
    }
)
LOADS = frozenset(
    {
        *("from_pretrained", "pipeline", "load", "load_from_disk", "load_state_dict", "load_model", "listdir", "glob"),
        *("open", "read_text", "read_bytes", "read_csv", "read_json", "load_adapter", "from_file", "load_file"),
    }
)
ADVICE = "Let one worker do it: below `if ray.train.get_context().get_world_rank() == 0:`."
GIVES = (
    "All of them need what it gives: let the function write below"
    " `if ray.train.get_context().get_world_rank() == 0:`, with ray.train.collective.barrier() after that for all."
)
OF_ALL = (
    "Let all workers come to what they do together in it, before it; and one worker write what that gives: below"
    " `if ray.train.get_context().get_world_rank() == 0:`."
)


def only_saves(module: Module, call: ast.expr, writes: Callable[[ast.stmt], bool], depth: int = DEPTH) -> bool:
    """Whether a call is of a function of this file that does nothing but write files and show something.

    Args:
        module: The module.
        call: The call.
        writes: Whether a statement writes files, or shows something, and does nothing else.
        depth: How many functions that it calls are looked into.
    """
    if not isinstance(call, ast.Call):
        return False
    found = list(callees(module, call.func))
    function = found[0].function if len(found) == 1 else None
    if not isinstance(function, ast.FunctionDef) or found[0].module is not module or function.decorator_list:
        return False
    statements = _Statements(module, writes, depth)
    return all(map(statements.is_harmless, function.body)) and statements.has_written


class _Statements:
    def __init__(self, module: Module, writes: Callable[[ast.stmt], bool], depth: int) -> None:
        self.module = module
        self.writes = writes
        self.depth = depth
        self.has_written = False

    def is_harmless(self, part: ast.stmt) -> bool:
        """Whether a statement changes nothing that the workers have."""
        if isinstance(part, (ast.Pass, ast.Import, ast.ImportFrom)) or self.writes(part):
            self.has_written |= not isinstance(part, (ast.Pass, ast.Import, ast.ImportFrom))
            return True
        if isinstance(part, ast.Return):
            return part.value is None
        if is_assignment(part):
            return all(isinstance(target, ast.Name) for target in targets_of(part)) and self._is_quiet(part.value)
        if isinstance(part, ast.If):
            return self._is_quiet(part.test) and all(map(self.is_harmless, [*part.body, *part.orelse]))
        if isinstance(part, ast.For):
            return self._is_quiet(part.iter) and all(map(self.is_harmless, [*part.body, *part.orelse]))
        if not isinstance(part, ast.Expr):
            return False
        return isinstance(part.value, ast.Constant) or self._is_harmless_call(part.value)

    def _is_harmless_call(self, call: ast.expr) -> bool:
        if not isinstance(call, ast.Call):
            return False
        is_removed = called_name(self.module, call).startswith(REMOVES)
        is_known = is_removed or last_name(call.func) in HARMLESS
        if is_known or (self.depth and only_saves(self.module, call, self.writes, self.depth - 1)):
            self.has_written |= not is_known or is_removed
            return True
        return False

    def _is_quiet(self, value: ast.AST) -> bool:
        """Whether all that is called in a value leaves what it is given as it is."""
        return all(self._leaves(call) for call in executed(self.module, value) if isinstance(call, ast.Call))

    def _leaves(self, call: ast.Call) -> bool:
        name = self.module.qualified(call.func)
        if name is not None:
            return name.startswith(QUIET_LIBRARIES)
        if isinstance(call.func, ast.Name):
            return free_name(self.module, call.func) in QUIET_BUILTINS
        return last_name(call.func) in QUIET_METHODS


def loads_something(module: Module, step: ast.stmt) -> bool:
    """Whether workers load something in a step: what one of them saves may not be there yet."""
    names = (last_name(node.func) for node in executed(module, step) if isinstance(node, ast.Call))
    return not LOADS.isdisjoint(name for name in names if name)


def before_no_load(module: Module, moved: list[ast.stmt]) -> set[ast.stmt]:
    """The steps that have none behind them that loads something, of those that move."""
    found = set[ast.stmt]()
    for step in reversed(moved):
        found.add(step)
        if loads_something(module, step):
            break
    return found


def tell_late_writes(context: Context, rule: Rule, outline: LaunchedOutline, training: Training) -> None:
    """Tells of files that every worker writes or removes in functions which it calls behind the training.

    Args:
        context: The module.
        rule: The rule that tells.
        outline: What becomes of the script.
        training: What trains in it.
    """
    if not outline.may_grow:
        return
    module, followed = context.module, dict[ast.AST, int]()
    for step in dict.fromkeys(_behind(outline, training)):
        if _is_for_first(context, step):
            continue
        # What saves weights that are spread is told, and not to be done by one.
        if saves_spread_weights(module, outline, step):
            continue
        for call in dict.fromkeys(called_by(module, step, followed=followed)):
            if _is_for_first(context, module.statement(call)):
                continue
            if what := done_by_all(module, call):
                message = f"Every worker {what} after the training, at the same time as the others:"
                advice = OF_ALL if needs_all(module, module.statement(call)) else ADVICE
                if what == IN_FUNCTION and isinstance(module.statement(call), (ast.Assign, ast.AnnAssign, ast.Return)):
                    advice = GIVES
                context.manual(rule, call, f"{message} {result_of(what)}", advice)


def _behind(outline: LaunchedOutline, training: Training) -> Iterator[ast.stmt]:
    """The statements that every worker comes to behind the training: steps, and what is behind it in functions."""
    module, moved = outline.context.module, outline.roles.moved()
    reached = places(outline.script, moved, training.trains)
    for step in moved[max(reached, default=len(moved)) + 1 :]:
        # The driver runs what is behind.
        if not isinstance(step, DEFINITIONS) and outline.roles.of[step] is Role.WORKER and step not in outline.behind:
            yield step
    for statement in behind(outline.script, arrivals(module, training.trains)) if reached else ():
        if not isinstance(statement, DEFINITIONS):
            yield statement


def _is_for_first(context: Context, step: ast.stmt) -> bool:
    """Whether only the first worker comes to a statement, or will do so."""
    around = (node for node in (step, *context.module.ancestors(step)) if isinstance(node, ast.stmt))
    is_planned = any(context.plan.statement(node).within is not None for node in around)
    return is_planned or rank_condition(context.module, step) is not None

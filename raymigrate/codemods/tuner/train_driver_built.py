"""The function for the Tuner where a function makes its trainer: that returns it, and what sizes it (RM405).

What the trainer is made with is still computed once, where it was, and not again in the process of each trial.
"""

import ast

from raymigrate.codemods.context import Context
from raymigrate.codemods.tuner.train_driver import TrainDriver
from raymigrate.codemods.tuner.tuner_config import TunerRunConfig, run_config_in_force
from raymigrate.codemods.tuner.tuner_storage import STORAGE
from raymigrate.edits.plan import Code, Part
from raymigrate.facts.projects.callers import is_taken_elsewhere, is_used_elsewhere
from raymigrate.facts.ray_tune.trainers_of_functions import Built
from raymigrate.facts.ray_tune.tuners import RUN_CONFIGS, TunerCall, made
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import is_assignment, only_target
from raymigrate.facts.values import keyword_argument

NEEDED = ("name", "checkpoint_config", "failure_config", "worker_runtime_env", *STORAGE)


class TrainDriverBuilt(TrainDriver):
    """Writes the function into the one that made the trainer, which returns it."""

    def __init__(self, context: Context, tuner: TunerCall) -> None:
        super().__init__(context, tuner)
        assert tuner.builder is not None
        self.built: Built = tuner.builder
        self.handed: dict[str, Part] = {}  # what the function with the trainer has to be given for its RunConfig
        self.returned = [self.name]  # what it returns, and what that is called at the Tuner
        self.got = [self.name]

    @property
    def taken(self) -> ast.stmt:
        """The statement that takes what the function returns, or before which one comes that does."""
        return self.module.statement(self.built.call)

    def emit(self) -> None:
        """Adds the function to the plan, and hands it to the Tuner."""
        scaling = self._scaling_config()
        value = self.arguments["scaling_config"]
        is_global = isinstance(value, ast.Name) and is_same_in(self.module, value, self.tuner.node)
        at_tuner = scaling if is_global else self._return("scaling_config", scaling)
        self._loop_config()
        self._run_config()
        self._hoist_what_calls()
        self._write_function()
        self._take_what_is_returned()
        self._edit_tuner(at_tuner)

    def _return(self, argument: str, name: str) -> str:
        """Lets the function return one argument more; gives what it is called at the Tuner."""
        is_new = name not in self.module.names
        self.returned.append(name)
        self.got.append(name if is_new else self.context.fresh(argument))
        return self.got[-1]

    def _run_config(self) -> None:
        given = run_config_in_force(self.tuner)
        is_tuners = given is not None and given is self.tuner.arguments.get("run_config")
        before = self.context.plan.statement(self.taken).before if is_tuners else self.before
        TunerRunConfig(self.context, self.tuner, before, reached=self._reached if is_tuners else self._kept).split()
        for_tuner = self.context.plan.call(self.tuner.node).values.get("run_config")
        if for_tuner is not None and not is_tuners:
            name = self._hoist("run_config", for_tuner) if for_tuner.parts else for_tuner.template
            self.context.plan.call(self.tuner.node).set("run_config", self._return("run_config", name))

    def _reached(self, argument: str, part: Part) -> Part:
        """What is called at the Tuner so, for the RunConfig of the trainer: as it is, or by a parameter."""
        if isinstance(part, ast.expr) and is_same_in(self.module, part, self.trainer):
            return part
        if isinstance(part, str) and (not part.isidentifier() or self.module.function(self.taken) is None):
            return part  # code of the trainer's own, or a name at the top of the file
        name = part if isinstance(part, str) else self.context.fresh(argument, f"trainer_{argument}")
        self.handed[name] = part
        return name

    def _kept(self, argument: str, part: Part) -> Part:
        """What stands in the function with the trainer, computed there."""
        if isinstance(part, (str, ast.Name)) or is_same_in(self.module, part, self.trainer):
            return part
        return self._hoist(argument, Code("$value", {"value": part}))

    def _is_computed_first(self, value: ast.expr) -> bool:
        """Whether an argument is computed before the function: `self.path` would take the whole object along."""
        parts = [node for node in ast.walk(value) if isinstance(node, ast.Attribute)]
        return super()._is_computed_first(value) or any(self.module.qualified(part) is None for part in parts)

    def _write_function(self) -> None:
        super()._write_function()
        returned = ", ".join(self.returned)
        edit = self.context.plan.function(self.built.function)
        edit.drop_return_annotation = self.built.function.returns is not None
        if self.built.function.returns is not None:
            self.context.take_out(self.built.function.returns)
        if self.handed:
            edit.added_parameter = ", ".join(self.handed)
        if is_assignment(self.assigned):
            self.context.plan.replace(self.built.end.value, returned)  # type: ignore[arg-type]
            return
        statement = self.context.plan.statement(self.built.end)
        *first, function = statement.before
        statement.before[:] = first
        statement.replacement = Code(f"{function.template}\n\nreturn {returned}", function.parts)

    def _take_what_is_returned(self) -> None:
        """Gives names to what the function returns now, where the trainer got one, or before the Tuner."""
        names, call = ", ".join(self.got), self.built.call
        code = Code(f"{names} = $call", {"call": call})
        for name, part in self.handed.items():
            self.context.plan.call(call).set(name, "$value", value=part)
        statement = self.context.plan.statement(self.taken)
        if self.module.parent_of[call] is self.taken:
            statement.replacement = code
        else:
            statement.before.append(code)

    def _is_bound_at(self, node: ast.expr, scaling: str) -> bool:
        """Whether the name of the scaling configuration has its value where an expression is evaluated."""
        in_function = self.module.function(self.taken)
        return node.lineno >= self.taken.lineno and in_function in (None, self.module.function(node))


def in_the_way(context: Context, tuner: TunerCall) -> str | None:
    """Why the function that makes a trainer cannot give a function for the Tuner in its place; None where it can."""
    module, found = context.module, tuner.builder
    assert found is not None
    function = found.function
    if function.name in module.exported or _is_known_elsewhere(module, function):
        return "its trainer is built in a function that other files may use"
    if tuner.trainer_stays:
        return "its trainer is used elsewhere as well"
    if tuner.tuned_scaling is not None:
        return "its trainer is built in a function, and its ScalingConfig is drawn elsewhere"
    if _has_name_of_another_scope(module, found.call):
        return "its trainer is built in a function, and gets a name of another scope"
    if not _is_first(module, found.call):
        return "its trainer is built in the middle of a statement"
    given = run_config_in_force(tuner)
    config = made(module, given, *RUN_CONFIGS)
    if config is None:
        return None
    if given is not tuner.arguments.get("run_config"):
        return (
            None if module.function(config) is function else "its trainer is built in a function, its RunConfig outside"
        )
    needed = [value for name in NEEDED if (value := keyword_argument(config, name)) is not None] + config.args[:1]
    at, arguments = module.statement(found.call), function.args
    if not all(_is_bound_before(module, value, at) for value in needed):
        return "its trainer is built in a function before a part of the RunConfig has its value"
    is_open = not (arguments.defaults or arguments.vararg or arguments.kwarg or arguments.kwonlyargs)
    if is_open or all(is_same_in(module, value, found.made) for value in needed):
        return None
    return "its trainer is built in a function that would need a part of the RunConfig, and has defaults or *args"


def is_same_in(module: Module, value: ast.expr, place: ast.AST) -> bool:
    """Whether an expression means the same in another place, whenever it is evaluated: constants, global names.

    A name counts where one place at the top of the file gives it a value.
    """
    for node in ast.walk(value):
        if isinstance(node, (ast.Lambda, ast.NamedExpr, ast.Await, ast.Yield, ast.comprehension)):
            return False
        if isinstance(node, ast.Call) and not (module.qualified(node.func) or "").startswith("ray."):
            return False
        if isinstance(node, ast.Attribute) and module.qualified(node) is None:
            return False
        if isinstance(node, ast.Name):
            scope = module.bound_in(node)
            if scope is None or not isinstance(scope.node, ast.Module) or not module.is_bound_once(node):
                return False
            if module.scope_of[place].find(node.id) is not scope:
                return False
    return True


def _is_known_elsewhere(module: Module, function: ast.FunctionDef) -> bool:
    is_method = isinstance(module.parent_of[function], ast.ClassDef)
    return is_used_elsewhere(module, function) if is_method else is_taken_elsewhere(module, function)


def _is_first(module: Module, call: ast.Call) -> bool:
    """Whether a call is what its statement evaluates first, but for what asks for nothing: `tune.choice([1, 2])`."""
    node: ast.AST = call
    while not isinstance(parent := module.parent_of[node], ast.stmt):
        if not isinstance(parent, (ast.Call, ast.Attribute, ast.keyword)):
            return False
        if isinstance(parent, ast.Call) and not all(_is_of_ray(module, part) for part in _before(parent, node)):
            return False
        node = parent
    if node is call:
        return isinstance(only_target(parent), ast.Name)
    return isinstance(parent, (ast.Assign, ast.AnnAssign, ast.Expr, ast.Return))


def _has_name_of_another_scope(module: Module, call: ast.Call) -> bool:
    """Whether the trainer gets a `global` or `nonlocal` name: what else the function returns would have a local one."""
    target = only_target(module.parent_of[call])
    return isinstance(target, ast.Name) and module.bound_in(target) is not module.scope_of[target]


def _before(call: ast.Call, part: ast.AST) -> list[ast.AST]:
    """The parts of a call that are evaluated before one of them."""
    parts: list[ast.AST] = [call.func, *call.args, *call.keywords]
    return parts[: parts.index(part)]


def _is_of_ray(module: Module, code: ast.AST) -> bool:
    """Whether all that an expression calls is Ray's."""
    calls = [node for node in ast.walk(code) if isinstance(node, ast.Call)]
    return all((module.qualified(made.func) or "").startswith("ray.") for made in calls)


def _is_bound_before(module: Module, value: ast.expr, statement: ast.stmt) -> bool:
    """Whether the names in an expression have their one value before a statement, those of its own scope."""
    names = [node for node in ast.walk(value) if isinstance(node, ast.Name)]
    own = [name for name in names if module.bound_in(name) is module.scope_of[statement]]
    return all(module.start(one.node) < module.start(statement) for name in own for one in module.bindings_of(name))

"""The function that builds a trainer from a trial's configuration and fits it, for the Tuner (RM405)."""

import ast
from collections.abc import Collection

from raymigrate.codemods.context import Context
from raymigrate.codemods.shared.handed_keys import unpacked
from raymigrate.codemods.shared.helpers import add
from raymigrate.codemods.shared.tune_name import tune_name
from raymigrate.codemods.tuner.offered_workers import most_workers
from raymigrate.codemods.tuner.tuner_config import TunerRunConfig, run_config_in_force
from raymigrate.edits.plan import Code
from raymigrate.facts.projects.helpers import Helper
from raymigrate.facts.ray_tune.tuners import RUN_CONFIGS, TUNE_CONFIGS, Limiter, TunerCall, made
from raymigrate.facts.syntax.nodes import is_assignment, names_in, only_target
from raymigrate.facts.values import called_name, is_none, keyword_argument, named_arguments, names_of

LEGACY_SCALING = ("trainer_resources", "_max_cpu_fraction_per_node")

# Legacy Ray counted the workers as part of the trial. Now a trial is one process with one CPU, and its trainer asks for
# the workers afterwards: trials that fill the cluster with themselves would wait for workers that never come.
TRIALS_AT_ONCE = Helper(
    "trials_at_once",
    '''
def $name(scaling_config):
    """As many trials as there is room for: each holds a CPU of its own while it waits for those of its workers."""
    if not ray.is_initialized():
        ray.init()
    needed = dict(scaling_config.total_resources)
    needed["CPU"] = needed.get("CPU", 0) + 1
    available = ray.cluster_resources()
    return max(1, min(int(available.get(name, 0) // amount) for name, amount in needed.items() if amount))
''',
    (("ray", None),),
)


class TrainDriver:
    """Plans the function that takes the place of a trainer, and the arguments of its Tuner.

    Args:
        context: The module.
        tuner: The Tuner over a trainer; nothing may stand in the way: see `obstacle`.
    """

    def __init__(self, context: Context, tuner: TunerCall) -> None:
        assert tuner.trainer is not None
        self.context = context
        self.module = context.module
        self.tuner = tuner
        self.trainer = tuner.trainer
        self.assigned = context.module.parent_of[self.trainer]
        self.edit = context.plan.call(self.trainer)
        self.name = context.fresh("train_driver")
        run_config = made(self.module, run_config_in_force(tuner), *RUN_CONFIGS)  # parts of it go into the function
        names = {*names_in(self.trainer), *(names_in(run_config) if run_config is not None else ())}
        self.config = "config" if "config" not in names else context.fresh("trial_config")
        self.variable = self._variable(names)
        self.before: list[Code] = []
        self._is_extended = "train_loop_config" in self.edit.values  # a dict display, which is never None
        given = named_arguments(self.trainer)
        self.arguments = {name: value for name, value in given.items() if name not in self.edit.remove}

    @property
    def place(self) -> ast.stmt:
        """The statement before which, or in whose place, the function stands."""
        return self.module.statement(self.trainer)

    def emit(self) -> None:
        """Adds the function to the plan, and hands it to the Tuner."""
        scaling = self._scaling_config()
        self._loop_config()
        TunerRunConfig(self.context, self.tuner, self.before).split()
        self._hoist_what_calls()
        self._write_function()
        self._edit_tuner(scaling)

    # -- the arguments of the trainer ------------------------------------------------------------

    def _hoist(self, argument: str, code: Code) -> str:
        """Computes an argument before the function, once and in the driver's own process."""
        name = self.context.fresh(argument, f"trainer_{argument}")
        self.before.append(Code(f"{name} = {code.template}", code.parts))
        return name

    def _scaling_config(self) -> str:
        """The name of the scaling configuration of the largest trial, which the number of trials depends on as well."""
        tuned = self.tuner.tuned_scaling
        if tuned is not None:
            return self._tuned_scaling_config(tuned)
        value = self.arguments["scaling_config"]
        if isinstance(value, ast.Name):
            return value.id
        name = self._hoist("scaling_config", Code("$value", {"value": value}))
        self.edit.set("scaling_config", name)
        return name

    def _tuned_scaling_config(self, tuned: ast.Call) -> str:
        """Builds the trial's own ScalingConfig in the function; it took the place of the trainer's, whole."""
        ignored = self.arguments.get("scaling_config")
        for config in (tuned, ignored):
            if isinstance(config, ast.Call) and config.func in self.module.reference_at:
                self.context.handle(self.module.reference_at[config.func], gone=True)
        self.context.plan.call(tuned).function = "dict"  # a ScalingConfig refuses what is still to be drawn
        self.edit.set("scaling_config", f'ray.train.ScalingConfig(**{self.config}["scaling_config"])')
        rest = {k.arg: self.module.source(k.value) for k in tuned.keywords if k.arg not in LEGACY_SCALING}
        rest["num_workers"] = most_workers(self.tuner) or ""  # which `obstacle` asks for
        source = f"ray.train.ScalingConfig({', '.join(f'{name}={source}' for name, source in rest.items())})"
        return self._hoist("largest_scaling_config", Code(source))

    def _loop_config(self) -> None:
        """Merges the trial's values into the trainer's own configuration, as legacy Ray did."""
        if self.tuner.tuned_config_key not in (self.tuner.param_space or {}):
            return
        given = self.arguments.get(self.tuner.loop_config_key)
        code = self.edit.values.get("train_loop_config")
        if code is None and not is_none(given) and given is not None:
            code = Code("$value", {"value": given})
        base = None
        if code is not None:
            known = given.id if isinstance(given, ast.Name) and code.template == "$value" else None
            base = known or self._hoist("train_loop_config", code)
        self.edit.set("train_loop_config", self._merged(base))

    def _merged(self, base: str | None) -> str:
        """The configuration of the training function: the name of the trainer's own, if any, and the trial's values."""
        tuned = f'{self.config}["{self.tuner.tuned_config_key}"]'
        if not base:
            return tuned
        given = self.arguments.get(self.tuner.loop_config_key)
        merged = unpacked(self.module, given, base) if given is not None and not self._is_extended else f"**{base}"
        return f"{{{merged}, **{tuned}}}"

    def _hoist_what_calls(self) -> None:
        """Computes arguments that call something before the function: its process has another folder and no argv."""
        for old_name, value in self.arguments.items():
            name = self.edit.rename.get(old_name, old_name)
            if name not in self.edit.values and self._is_computed_first(value):
                self.edit.set(name, self._hoist(name, Code("$value", {"value": value})))

    def _is_computed_first(self, value: ast.expr) -> bool:
        """Whether an argument of the trainer has to be computed before the function."""
        calls = [node for node in _evaluated(value) if isinstance(node, ast.Call)]
        return not all(self._is_configuration(call) for call in calls)

    def _is_configuration(self, call: ast.Call) -> bool:
        name = called_name(self.module, call)
        return name.startswith(("ray.air.", "ray.train.")) and name.endswith("Config")

    # -- the function and the Tuner --------------------------------------------------------------

    def _variable(self, names: Collection[str]) -> str:
        """What the function calls the trainer: as the script does, unless the trainer is made with what is called so.

        Args:
            names: What the trainer is made with.
        """
        target = only_target(self.assigned)
        variable = target.id if isinstance(target, ast.Name) else "trainer"
        return variable if variable not in names else self.context.fresh("ray_trainer")

    def _function(self, trainer: str) -> str:
        """The source of the function.

        Args:
            trainer: What makes the trainer.
        """
        body = f"    {self.variable} = {trainer}\n    {self.variable}.fit()\n"
        return f"def {self.name}({self.config}):\n{body}{self._name_of_trials()}"

    def _name_of_trials(self) -> str:
        """The line that keeps what trials, their folders and the runs of loggers are called, where that may be read.

        Legacy Ray named the function that it made of a trainer after the class, too (2.9.3 train/base_trainer.py:734).
        """
        legacy = called_name(self.module, self.trainer).rpartition(".")[2]
        config = made(self.module, run_config_in_force(self.tuner), *RUN_CONFIGS)
        is_logged = config is not None and not is_none(keyword_argument(config, "callbacks"))
        texts = (text.value for text in self.module.of_type(ast.Constant))
        if is_logged or any(isinstance(text, str) and f"{legacy}_" in text for text in texts):
            return f'\n\n{self.name}.__name__ = "{legacy}"  # what trials are called, as before\n'
        return ""

    def _write_function(self) -> None:
        function = Code(self._function("$trainer"), {"trainer": self.trainer})
        statement = self.context.plan.statement(self.place)
        if isinstance(self.assigned, ast.AnnAssign):
            self.context.take_out(self.assigned.annotation)
        if is_assignment(self.assigned):
            statement.before.extend(self.before)
            statement.replacement = function
        else:
            statement.before.extend([*self.before, function])

    def _edit_tuner(self, scaling: str) -> None:
        edit = self.context.plan.call(self.tuner.node)
        names = names_of(self.module, self.tuner.arguments["trainable"])
        if len(names) > 1 and not self.tuner.trainer_stays:  # `trainable = trainer`: the other names stay
            self.context.plan.replace(names[-1], self.name)
        elif self.tuner.node.args:
            edit.set_first(self.name)
        else:
            edit.set("trainable", self.name)
        given = self.tuner.made("tune_config", *TUNE_CONFIGS)
        if given is None:
            made = f"{tune_name(self.context, self.tuner.node.func)}.TuneConfig"
            edit.set("tune_config", f"{made}(max_concurrent_trials={self._trials_at_once()}({scaling}))")
            return
        asked = keyword_argument(given, "max_concurrent_trials")
        if self.tuner.limiter is not None:
            asked = self._without_limiter(self.tuner.limiter)
            self.context.plan.call(given).set("max_concurrent_trials", "$asked", asked=asked)
        if asked is not None and self.module.constant(asked) == 1:
            return  # no room allows less
        limit = f"{self._trials_at_once()}({scaling})"
        is_asked = asked is not None and self.module.constant(asked) not in (None, 0)
        if not self._is_bound_at(given, scaling):  # it is made before the trainer's arguments are
            config = self.tuner.arguments["tune_config"]
            limit = self._least("$config.max_concurrent_trials", asked, limit) if is_asked else limit
            code = Code(f"$config.max_concurrent_trials = {limit}", {"config": config})
            self.context.plan.statement(self.module.statement(self.tuner.node)).before.append(code)
        elif is_asked and asked is not None:
            self.context.plan.call(given).set("max_concurrent_trials", self._least("$asked", asked, limit), asked=asked)
        else:
            self.context.plan.call(given).set("max_concurrent_trials", limit)

    def _least(self, template: str, asked: ast.expr | None, limit: str) -> str:
        """The least of two numbers, of which what was asked for may be None or 0: Tune takes those for no limit."""
        is_number = self.tuner.limiter is not None or isinstance(self.module.constant(asked), int)
        return f"min({template}, {limit})" if is_number else f"min(filter(None, [{template}, {limit}]))"

    def _without_limiter(self, limiter: Limiter) -> ast.expr:
        """Takes a search algorithm out of its limiter, beside which a TuneConfig may set no other number."""
        statement = self.module.statement(limiter.call)
        self.context.handle(self.module.reference_at[limiter.call.func], gone=True)
        match statement:
            case ast.Assign([ast.Name(name)]) if isinstance(limiter.searcher, ast.Name) and name == limiter.searcher.id:
                self.context.plan.statement(statement).removed = True
            case _:
                self.context.plan.replace(limiter.call, "$searcher", searcher=limiter.searcher)
        return limiter.number

    def _is_bound_at(self, node: ast.expr, scaling: str) -> bool:
        """Whether the name of the scaling configuration has its value where an expression is evaluated."""
        known = self.arguments.get("scaling_config")
        bound = self.module.definition(known) if isinstance(known, ast.Name) and known.id == scaling else None
        since = self.module.statement(bound) if bound is not None else self.place
        in_function = self.module.function(since)
        return node.lineno >= since.lineno and in_function in (None, self.module.function(node))

    def _trials_at_once(self) -> str:
        """The name of the function that counts; it is written at the first use."""
        key = ("trials_at_once", None)
        if key not in self.context.emitted:
            users = (self.place, self.module.statement(self.tuner.made("tune_config", *TUNE_CONFIGS) or self.place))
            first = min(users, key=lambda statement: statement.lineno)
            self.context.emitted[key] = add(self.context, TRIALS_AT_ONCE, first)
        return self.context.emitted[key]


def _evaluated(node: ast.expr) -> list[ast.AST]:
    """The nodes of an expression that are evaluated with it: not the bodies of its lambdas."""
    found: list[ast.AST] = []
    todo: list[ast.AST] = [node]
    while todo:
        found.append(current := todo.pop())
        if not isinstance(current, ast.Lambda):
            todo.extend(ast.iter_child_nodes(current))
    return found

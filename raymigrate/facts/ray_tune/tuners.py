"""Constructions of `ray.tune.Tuner`, and the trainers and configurations handed to them."""

import ast
from dataclasses import dataclass
from functools import cached_property

from raymigrate.facts.ray_tune.trainers_of_functions import Built, built
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import has_unpacking, is_none, keyword_argument, named_arguments, names_of, reads
from raymigrate.knowledge.legacy import CONFIG_CLASSES, TORCH_TRAINERS, TRAINERS, TRANSFORMERS_TRAINERS

TUNERS = ("ray.tune.Tuner", "ray.tune.tuner.Tuner")
RESTORED = tuple(f"{tuner}.restore" for tuner in TUNERS)
# Each module from which it can be imported.
TUNE_CONFIGS = tuple(
    f"ray.tune.{module}TuneConfig" for module in ("", "tune_config.", "tuner.", "impl.tuner_internal.")
)
LIMITERS = frozenset(
    f"ray.tune.{module}.ConcurrencyLimiter" for module in ("search", "search.concurrency_limiter", "suggest")
)

# A callback of Train, although it comes with Tune: it hands the reports of the workers on to the trial.
REPORT_TO_TUNE = "ray.tune.integration.ray_train.TuneReportCallback"


def config_names(name: str) -> tuple[str, ...]:
    """The qualified names of one of the configuration classes that Train and Tune once shared."""
    assert name in CONFIG_CLASSES
    return tuple(f"{module}.{name}" for module in ("ray.air", "ray.air.config", "ray.train"))


RUN_CONFIGS = (*config_names("RunConfig"), "ray.tune.RunConfig")


@dataclass(frozen=True)
class Limiter:
    """A ConcurrencyLimiter that does what TuneConfig(max_concurrent_trials=) does.

    Args:
        call: Its construction.
        searcher: The search algorithm inside.
        number: How many trials may run at once.
    """

    call: ast.Call
    searcher: ast.expr
    number: ast.expr


@dataclass(frozen=True, eq=False)
class TunerCall:
    """One construction of a Tuner.

    Args:
        module: The module it is in.
        node: The call.
    """

    module: Module
    node: ast.Call

    @cached_property
    def arguments(self) -> dict[str, ast.expr]:
        """The arguments that can be seen, by name."""
        given = named_arguments(self.node)
        if self.node.args and not isinstance(self.node.args[0], ast.Starred):
            given["trainable"] = self.node.args[0]
        return given

    @property
    def unpacked(self) -> bool:
        """Whether there are arguments that cannot be seen."""
        return has_unpacking(self.node)

    @cached_property
    def trainer(self) -> ast.Call | None:
        """The construction of a trainer that the trainable is; None where it is anything else."""
        return self.builder.made if self.builder is not None else self.made("trainable", *TORCH_TRAINERS, *TRAINERS)

    @cached_property
    def builder(self) -> Built | None:
        """The function of this file that makes the trainer for this Tuner alone, if one does."""
        found = built(self.module, self.arguments.get("trainable"))
        is_trainer = found is not None and self.module.qualified(found.made.func) in {*TORCH_TRAINERS, *TRAINERS}
        return found if is_trainer else None

    @property
    def trainer_stays(self) -> bool:
        """Whether the trainer is used elsewhere as well."""
        given = self.arguments.get("trainable")
        return given is not None and not only_use(self.module, given)

    @property
    def loop_config_key(self) -> str:
        """The argument of the trainer that holds the configuration of its training function."""
        name = self.module.qualified(self.trainer.func) if self.trainer is not None else None
        return "trainer_init_config" if name in TRANSFORMERS_TRAINERS else "train_loop_config"

    @property
    def tuned_config_key(self) -> str:
        """The entry of the search space that goes to the training function.

        A TransformersTrainer was refused train_loop_config, which the TorchTrainer takes that it becomes.
        """
        key = self.loop_config_key
        return key if key in (self.read_space or {}) else "train_loop_config"

    @cached_property
    def param_space(self) -> dict[str, ast.expr] | None:
        """The entries of the search space, which may be changed; None where they cannot be seen, or others read it."""
        given = self.arguments.get("param_space")
        return self.read_space if given is None or only_use(self.module, given) else None

    @cached_property
    def read_space(self) -> dict[str, ast.expr] | None:
        """The entries of the search space, also of one that others read; None where they cannot be seen."""
        given = self.arguments.get("param_space")
        return {} if given is None or is_none(given) else entries(self.module, given)

    @property
    def tuned_scaling(self) -> ast.Call | None:
        """The ScalingConfig in the search space, if there is one."""
        return made(self.module, (self.param_space or {}).get("scaling_config"), *config_names("ScalingConfig"))

    @property
    def offered_workers(self) -> ast.expr | None:
        """The numbers of workers, or the one number, that the search space offers, as the script writes them."""
        scaling = self.tuned_scaling
        workers = keyword_argument(scaling, "num_workers") if scaling else None
        sample = made(self.module, workers, *(f"ray.tune.{name}" for name in ("choice", "grid_search")))
        return sample.args[0] if sample and sample.args else workers

    @property
    def most_workers(self) -> int | None:
        """The largest number of workers that the search space offers, where its choices can be seen."""
        choices = self.module.constant(self.offered_workers)
        numbers = choices if isinstance(choices, (list, tuple)) else [choices]
        return max(numbers) if numbers and all(type(number) is int for number in numbers) else None

    @cached_property
    def limiter(self) -> Limiter | None:
        """The ConcurrencyLimiter around the search algorithm, where it only sets how many trials run at once."""
        config = self.made("tune_config", *TUNE_CONFIGS)
        given = named_arguments(config) if config is not None else {}
        search = given.get("search_alg")
        call = made(self.module, search, *LIMITERS)
        if (
            config is None
            or search is None
            or call is None
            or not only_use(self.module, search)
            or "max_concurrent_trials" in given
        ):
            return None
        arguments: dict[str | None, ast.expr] = dict(zip(("searcher", "max_concurrent"), call.args, strict=False))
        arguments |= {keyword.arg: keyword.value for keyword in call.keywords}
        seen = len(call.args) <= 2 and not any(isinstance(argument, ast.Starred) for argument in call.args)
        if not seen or arguments.keys() != {"searcher", "max_concurrent"}:
            return None
        number = arguments["max_concurrent"]
        is_number = isinstance(self.module.constant(number), int)
        may_move = (is_number or isinstance(number, ast.Name | ast.Attribute)) and self._is_kept(number, call, config)
        return Limiter(call, arguments["searcher"], number) if may_move else None

    def _is_kept(self, number: ast.expr, call: ast.Call, config: ast.Call) -> bool:
        """Whether an expression of names, or of attributes of them, gives the same in another call further down."""
        parts = list(ast.walk(number))
        read = [part.attr for part in parts if isinstance(part, ast.Attribute)]
        is_set = any(not isinstance(use.ctx, ast.Load) for name in read for use in self.module.attributes(name))
        if is_set or any(isinstance(part, ast.Call | ast.Subscript) for part in parts):
            return False
        return all(self._is_bound_above(part, call, config) for part in parts if isinstance(part, ast.Name))

    def _is_bound_above(self, name: ast.Name, call: ast.Call, config: ast.Call) -> bool:
        """Whether a name is the same in two calls, and not bound again below the first one."""
        scope, bound = self.module.bound_in(name), self.module.bindings_of(name)
        if self.module.scope_of[config].find(name.id) is not scope:
            return False
        first = self.module.start(call)
        is_local = scope is self.module.scope_of[call]
        return all(self.module.start(one.node) < first for one in bound) if is_local else len(bound) <= 1

    def made(self, argument: str, *names: str) -> ast.Call | None:
        """The call of one of these classes that an argument stands for; None where it is anything else."""
        return made(self.module, self.arguments.get(argument), *names)


def made(module: Module, node: ast.expr | None, *names: str) -> ast.Call | None:
    """The call of one of these classes that an expression stands for; None where it is anything else."""
    value = module.value(node) if node is not None else None
    return value if isinstance(value, ast.Call) and module.qualified(value.func) in names else None


def entries(module: Module, node: ast.expr) -> dict[str, ast.expr] | None:
    """The entries of a dict display, or of a call of dict with keywords; None where they cannot be seen."""
    value = module.value(node)
    if isinstance(value, ast.Dict):
        keys = [module.constant(key) if key is not None else ... for key in value.keys]
        if all(isinstance(key, str) for key in keys):
            return dict(zip(map(str, keys), value.values, strict=True))
    if isinstance(value, ast.Call) and ast.unparse(value.func) == "dict" and all_keywords(value):
        return {str(keyword.arg): keyword.value for keyword in value.keywords}
    return None


def all_keywords(call: ast.Call) -> bool:
    """Whether every argument of a call is a keyword that can be seen."""
    return not call.args and all(keyword.arg for keyword in call.keywords)


def all_seen(config: ast.Call) -> bool:
    """Whether every argument of a RunConfig can be seen."""
    return is_named_first(config) and all(keyword.arg for keyword in config.keywords)


def is_named_first(config: ast.Call) -> bool:
    """Whether a RunConfig has no argument by position but its name, the first in every version of Ray."""
    return not config.args or (len(config.args) == 1 and not isinstance(config.args[0], ast.Starred))


def only_use(module: Module, node: ast.expr) -> bool:
    """Whether an expression stands in its place only, or has names whose value here is read nowhere else."""
    return all(reads(module, name) == [name] for name in names_of(module, node))


def only_fitted_besides(module: Module, node: ast.Name) -> bool:
    """Whether the value that a name has here is read here and in calls of its method `fit` only."""
    others = (module.parent_of[use] for use in reads(module, node) or () if use is not node)
    return reads(module, node) is not None and all(
        isinstance(other, ast.Attribute) and other.attr == "fit" and isinstance(module.parent_of[other], ast.Call)
        for other in others
    )

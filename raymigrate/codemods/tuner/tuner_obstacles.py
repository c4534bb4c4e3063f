"""What keeps a Tuner over a trainer from being converted, in words that a person can act on."""

import ast

from raymigrate.codemods.context import Context
from raymigrate.codemods.torch_trainer.storage import of_sync_config
from raymigrate.codemods.torch_trainer.train_v2_arguments import DELETED
from raymigrate.codemods.tuner.offered_workers import most_workers
from raymigrate.codemods.tuner.train_driver_beside import shared_run_config
from raymigrate.codemods.tuner.train_driver_built import in_the_way
from raymigrate.codemods.tuner.tuner_config import run_config_in_force
from raymigrate.edits.plan import CallEdit
from raymigrate.facts.ray_tune.tuners import (
    TUNE_CONFIGS,
    TunerCall,
    all_keywords,
    all_seen,
    config_names,
    entries,
    made,
    only_fitted_besides,
    only_use,
)
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import only_target
from raymigrate.facts.values import (
    has_unpacking,
    is_none,
    keyword_argument,
    keyword_named,
    named_arguments,
    unpacked_dicts,
)
from raymigrate.facts.values.calls import is_drawn
from raymigrate.facts.values.carried import Carried, carried
from raymigrate.facts.values.items import DEEPEST
from raymigrate.facts.values.keys import is_unpacked
from raymigrate.knowledge.legacy import TRAINERS

# Schedulers that only stop trials. Others pause them, or let them go on from each other's checkpoints.
STOPPING = ("", "FIFOScheduler", "ASHAScheduler", "AsyncHyperBandScheduler", "MedianStoppingRule")
STOPPING_BY_NAME = ("fifo", "async_hyperband", "asynchyperband", "asha", "median_stopping_rule", "medianstopping")

SCHEDULER = 3  # its position in a TuneConfig

# What is no Searcher, to which alone Tune applies max_concurrent_trials (Ray 2.60, tune/tune.py).
GENERATORS = ("BasicVariantGenerator", "random", "variant_generator")

# Arguments of a trainer that a second one can be given too.
COPIED = {
    *("trainer_init_per_worker", "trainer_init_config", "train_loop_per_worker", "train_loop_config"),
    *("scaling_config", "run_config", "datasets", "preprocessor", "torch_config"),
}


# Arguments of a RunConfig that a trainer and a Tuner over it can both have of one, each what is its own of today.
SHARED_ARGUMENTS = {
    *("name", "storage_path", "local_dir", "storage_filesystem"),
    *("checkpoint_config", "failure_config", *DELETED["RunConfig"]),
}

# What such a scheduler does is silent: without a checkpoint PBT logs "Skip exploit", and HyperBand begins paused trials
# anew (measured on Ray 2.60).
PAUSES = "may pause a trial or exchange its checkpoint, and a trainer in a function does not load it"
BY_HAND = "has to be read from the config by hand"


def obstacles(context: Context, tuner: TunerCall) -> list[str]:
    """Why a Tuner over a trainer cannot be converted for sure: what goes wrong in silence first."""
    checks = (_tune_config, _unseen, _trainer, _changed_later, _search_space)
    reasons = [reason for check in checks if (reason := check(context, tuner))]
    # One of Tune is what RM411 makes of another where the Tuner stays: then it is not what is in the way.
    if not (reasons and tuner.made("run_config", "ray.tune.RunConfig")) and (reason := _run_config(context, tuner)):
        reasons.append(reason)
    return reasons


def in_silence(context: Context, tuner: TunerCall) -> list[str]:
    """What goes wrong in silence, also where it is not known which trainer a Tuner gets."""
    reason = _tune_config(context, tuner)
    return [reason] if reason is not None and PAUSES in reason else []


def _unseen(context: Context, tuner: TunerCall) -> str | None:
    trainer = tuner.trainer
    assert trainer is not None
    if tuner.unpacked or unpacked_dicts(trainer):
        return "arguments passed as *args or **kwargs cannot be seen"
    converted = context.plan.calls.get(trainer)
    if context.module.qualified(trainer.func) in TRAINERS and (converted is None or not converted.function):
        return "its trainer was not converted either"
    if tuner.tuned_scaling is None and keyword_named(trainer, "scaling_config") is None:
        return "the trainer has no scaling_config"
    if not context.can_import("ray", context.module.reference_at[tuner.node.func]):
        return "`ray` is another name here"
    return None


def _trainer(context: Context, tuner: TunerCall) -> str | None:
    module, given = context.module, tuner.arguments["trainable"]
    if given is tuner.trainer:
        return None
    if tuner.builder is not None:
        return in_the_way(context, tuner)
    assigned = module.parent_of[tuner.trainer]  # type: ignore[index]
    if tuner.trainer_stays and (reason := _beside(context, tuner)) is not None:
        return f"its trainer is used elsewhere as well{reason}"
    return None if isinstance(only_target(assigned), ast.Name) else "its trainer is not simply assigned to a name"


def _beside(context: Context, tuner: TunerCall) -> str | None:
    """Why a second trainer cannot be built of the same arguments; None where it can."""
    module, given, trainer = context.module, tuner.arguments["trainable"], tuner.trainer
    assert trainer is not None
    if not isinstance(given, ast.Name) or not only_fitted_besides(module, given):
        return ""
    if module.scope_of[trainer] is not module.scope_of[tuner.node]:
        return ", in another function"
    edit = context.plan.calls.get(trainer, CallEdit())
    if "run_config" in edit.values:
        return ", and its workers get their environment from its RunConfig"
    if others := sorted({str(keyword.arg) for keyword in trainer.keywords} - COPIED - edit.remove):
        return f", with {others[0]}="
    if len(trainer.args) > 1 or tuner.tuned_scaling is not None:
        return ", and a second one cannot be built for sure"
    return _shared(context, tuner, own) if (own := shared_run_config(tuner)) is not None else None


def _shared(context: Context, tuner: TunerCall, own: ast.expr) -> str | None:
    """Why a Tuner and a trainer cannot go on to share a RunConfig, each with what is its own; None where they can."""
    config = made(context.module, own, *config_names("RunConfig"))
    if config is None or not all_seen(config) or not only_use(context.module, own):
        return ", and so is its RunConfig"
    given = {str(keyword.arg): keyword.value for keyword in config.keywords if not is_none(keyword.value)}
    if "sync_config" in given and of_sync_config(context, config, given["sync_config"]) is not None:
        del given["sync_config"]  # as the configuration of a trainer alone, it goes, or becomes a storage_path
    if refused := sorted(given.keys() - SHARED_ARGUMENTS):
        return f", and so is its RunConfig, which has {refused[0]}="
    failure = given.get("failure_config")
    made_here = made(context.module, failure, *config_names("FailureConfig"))
    is_seen = made_here is not None and len(made_here.args) <= 1 and not has_unpacking(made_here)
    return (
        ", and so is its RunConfig, whose FailureConfig cannot be seen" if failure is not None and not is_seen else None
    )


def _changed_later(context: Context, tuner: TunerCall) -> str | None:
    """The function is run later than the trainer was built: it must find the same values then."""
    assert tuner.trainer is not None
    end = tuner.trainer.end_lineno or tuner.trainer.lineno
    gone = _taken_out(context.module, tuner.trainer) if tuner.trainer_stays else set()
    for node in ast.walk(tuner.trainer):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node not in gone:
            scope, bindings = context.module.scope_of[node], context.module.scope_of[node].lookup(node.id)
            if len(bindings) == 1 and scope.find(node.id) is not context.module.scope_of[tuner.trainer]:
                continue  # bound when the function with the trainer is called, wherever it stands
            for binding in bindings:
                if binding.qualified is None and getattr(binding.node, "lineno", 0) > end:
                    return f"{node.id} gets another value after the trainer is built"
    return None


def _taken_out(module: Module, trainer: ast.Call) -> set[ast.AST]:
    """What its configurations no longer hold where a trainer stays: what the Tuner takes of it gets a name before."""
    return {
        part
        for name, refused in DELETED.items()
        for config in (
            made(module, node, *config_names(name)) for node in ast.walk(trainer) if isinstance(node, ast.expr)
        )
        for keyword in (config.keywords if config is not None else ())
        if keyword.arg in refused
        for part in ast.walk(keyword)
    }


SHARED = "are read elsewhere as well"


def _search_space(context: Context, tuner: TunerCall) -> str | None:
    key, argument = tuner.tuned_config_key, tuner.loop_config_key
    space = tuner.param_space
    if space is None:
        return f"the entries of its param_space {'cannot be seen' if tuner.read_space is None else SHARED}"
    others = sorted(space.keys() - {key, "scaling_config"})
    if others:
        return f'param_space["{others[0]}"] {BY_HAND}'
    if "scaling_config" in space and not _can_be_drawn(tuner):
        return 'param_space["scaling_config"] has choices that cannot be seen'
    if key not in space:
        return None
    assert tuner.trainer is not None
    base = keyword_argument(tuner.trainer, argument)
    if base is not None and not is_none(base):
        tuned, fixed = entries(context.module, space[key]), carried(context.module, base)
        if tuned is None or any(_meets_dict(context.module, fixed, *entry) for entry in tuned.items()):
            return f"legacy Ray merged param_space into {argument} entry by entry, at every depth"
    return None


def _meets_dict(module: Module, fixed: Carried, name: str, value: ast.expr) -> bool:
    """Whether an entry of a search space may be a dict where the configuration of the trainer has one."""
    there = (entry for entry in fixed.entries if entry.name == name)
    is_other = fixed.whole and all(isinstance(entry.module.value(entry.value), ast.Constant) for entry in there)
    return not is_other and may_give_dict(module, value)


def may_give_dict(module: Module, value: ast.expr, depth: int = 0) -> bool:
    """Whether an entry of a search space is a dict, or one of several from which Tune draws, as far as that is seen.

    Args:
        module: The module.
        value: The entry.
        depth: How many displays it is in.
    """
    made = module.value(value)
    if not is_drawn(module, made) and isinstance(made, ast.Dict):
        return True
    parts: list[ast.expr] = []
    if isinstance(made, (ast.List, ast.Tuple)):
        parts = made.elts
    elif isinstance(made, ast.Lambda):  # `tune.sample_from(lambda spec: {...})`
        parts = [made.body]
    elif isinstance(made, ast.Dict):
        parts = made.values
    elif isinstance(made, ast.Call) and is_drawn(module, made):
        parts = [*made.args, *(keyword.value for keyword in made.keywords)]
    return depth < DEEPEST and any(may_give_dict(module, part, depth + 1) for part in parts)


def _can_be_drawn(tuner: TunerCall) -> bool:
    """Whether only the number of workers is searched, among numbers that can be seen."""
    scaling = tuner.tuned_scaling
    if scaling is None or scaling is not (tuner.param_space or {})["scaling_config"] or not all_keywords(scaling):
        return False
    others = [keyword.value for keyword in scaling.keywords if keyword.arg != "num_workers"]
    return most_workers(tuner) is not None and not any(isinstance(n, ast.Call) for v in others for n in ast.walk(v))


def _tune_config(context: Context, tuner: TunerCall) -> str | None:
    given = tuner.arguments.get("tune_config")
    if is_none(given):
        return None
    config = tuner.made("tune_config", *TUNE_CONFIGS)
    if config is None:
        return f"its TuneConfig cannot be seen, and a scheduler in it {PAUSES}"
    keywords = named_arguments(config)
    if (what := _that_pauses(context.module, keywords.get("scheduler"))) is not None:
        return f"{what} {PAUSES}"
    if not all_keywords(config):
        how = "by position" if config.args else "unpacked"
        among = f", and a scheduler among them {PAUSES}" if _may_get_scheduler(context, config) else ""
        return f"its TuneConfig gets arguments {how}, which are not read{among}"
    if given is not None and not only_use(context.module, given):
        return "its TuneConfig is used elsewhere as well"
    search = _class_of(context.module, keywords.get("search_alg"))
    if search is None or (search.endswith("ConcurrencyLimiter") and tuner.limiter is None):
        return "its search_alg sets, or may set, the number of concurrent trials"
    if search.endswith(GENERATORS):
        return f"{search.rpartition('.')[2]} leaves the number of concurrent trials that a TuneConfig sets aside"
    return None


def _may_get_scheduler(context: Context, config: ast.Call) -> bool:
    """Whether what a TuneConfig gets without a name, or unpacked, may be a scheduler; legacy Ray had it fourth."""
    if keyword_argument(config, "scheduler") is not None:
        return False
    by_position = len(config.args) > SCHEDULER or any(isinstance(given, ast.Starred) for given in config.args)
    return by_position or is_unpacked(context.module, config, "scheduler") is not False


def _that_pauses(module: Module, scheduler: ast.expr | None) -> str | None:
    """What a TuneConfig may get as scheduler that does more than to stop trials; None where there is no such thing."""
    for source in module.origins(scheduler):
        found = _class_of(source.module, source.node)
        what = found.rpartition(".")[2] if found is not None else "a scheduler that cannot be seen"
        if what not in (*STOPPING, *STOPPING_BY_NAME) or _pauses(source.node):
            return what
    return None


def _class_of(module: Module, node: ast.expr | None) -> str | None:
    """The class that an expression constructs; "" for None, None where it cannot be seen."""
    if is_none(node) or node is None:
        return ""
    value = module.value(node)
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return value.value
    return module.qualified(value.func) if isinstance(value, ast.Call) else None


def _pauses(made: ast.expr) -> bool:
    """Whether a MedianStoppingRule pauses trials instead of stopping them."""
    return isinstance(made, ast.Call) and any(keyword.arg in ("hard_stop", None) for keyword in made.keywords)


def _run_config(context: Context, tuner: TunerCall) -> str | None:
    given = run_config_in_force(tuner)
    if given is None:
        return None
    config = made(context.module, given, *config_names("RunConfig"))
    if config is None or not all_seen(config):
        return "its RunConfig cannot be seen"
    return None if only_use(context.module, given) else "its RunConfig is used elsewhere as well"

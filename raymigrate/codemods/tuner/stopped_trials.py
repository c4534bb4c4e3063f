"""RM419: trials over a trainer that Tune stops, whose workers' resources only Ray's dashboard sets free.

Tune ends the process of a stopped trial, in which fit() waits, and with it the controller of its run. The placement
group of the workers stays: placement_group_cleaner.py (Ray 2.60, train/v2/_internal/execution/controller) removes it
once the state API says that the controller is dead. That is part of the dashboard, which is neither in ray[train] nor
in ray[tune], and which ray.init(include_dashboard=False) leaves out (_private/services.py, start_api_server).

Run on Ray 2.60 with two CPUs, two trials of one worker, and stop={"training_iteration": 2} in a loop of five reports.
With ray[train] alone: "Failed to query Ray Train Controller actor state" every second, and the second trial times out
for want of a worker, again and again. With ray[default]: "Cleaning up placement group", and both trials end. Legacy Ray
held what the workers took in the trial's own placement group.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.tuner.tuner_config import run_config_in_force
from raymigrate.facts.ray_tune.tuned_trainers import may_be_trainer, unwrapped
from raymigrate.facts.ray_tune.tuners import RUN_CONFIGS, TUNE_CONFIGS, TUNERS, TunerCall
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import Source, argument, called_name, is_none, seen_entries
from raymigrate.facts.values.calls import TUNE_RUN
from raymigrate.pins.dashboard import has_dashboard

RM419 = Rule(
    "RM419",
    "trials that Tune stops",
    "Where Tune stops a trial that fits a trainer, Ray >= 2.51 frees the CPUs and GPUs of its workers with the help of"
    " its dashboard. Without that they stay reserved: the next trials wait for workers, and the script never ends.",
    'Install Ray with its dashboard where the cluster is started: pip install "ray[default]".',
    "https://docs.ray.io/en/latest/ray-overview/installation.html",
)
MESSAGE = (
    "Tune stops trials here. Without Ray's dashboard, which ray[train] and ray[tune] do not bring, their workers' CPUs"
    " and GPUs stay reserved then, and the next trials wait for ever."
)
LEFT_OUT = (
    "Tune stops trials in this script. Without Ray's dashboard their workers' CPUs and GPUs stay reserved then, and the"
    " next trials wait for ever."
)
LET_IT_START = "Leave include_dashboard=False out."
STOPS = ("stop", "scheduler", "time_budget_s")
FIFO = ("ray.tune.schedulers.FIFOScheduler", "ray.tune.schedulers.trial_scheduler.FIFOScheduler")
NOTHING: tuple[object, ...] = (None, {}, [], "fifo")  # Tune takes the FIFOScheduler by this name too


@dataclass(frozen=True)
class Stop:
    """What stops trials before their end.

    Args:
        name: One of STOPS.
        node: Where it is given, or handed over.
        value: What is given.
    """

    name: str
    node: ast.AST
    value: Source


@codemod("Tuner", "run", phase=Phase.TRIALS)
def stopped_trials(context: Context) -> None:
    """Names what stops the trials of a trainer, unless Ray's dashboard is installed as far as can be seen."""
    module = context.module
    stopping = [stop.node for call in module.calls(*TUNERS, TUNE_RUN) for stop in stops_of_trainers(module, call)]
    if not stopping:
        return
    starts = [keyword for _, keyword in module.keywords("include_dashboard")]
    if without := [keyword for keyword in starts if module.constant(keyword.value) is False]:
        for keyword in without:
            context.manual(RM419, keyword, LEFT_OUT, LET_IT_START)
    elif not starts and not has_dashboard(module, context.path):
        context.manual(RM419, stopping[0], MESSAGE)


def stops_of_trainers(module: Module, call: ast.Call) -> list[Stop]:
    """What stops the trials of a Tuner or of tune.run() before their trainers end; none where it tunes no trainer."""
    given = tuned_by(module, call)
    if given is None or not may_be_trainer(module, given):
        return []
    if module.qualified(call.func) == TUNE_RUN:
        return [stop for stop in _given(Source(module, call)) if _may_stop(stop.value)]
    tuner = TunerCall(module, call)
    made_here = (made.node for made in module.origins(given) if made.module is module)
    trainer = next((made for made in made_here if isinstance(made, ast.Call)), None)
    found: list[Stop] = []
    tune_config, run_config = tuner.arguments.get("tune_config"), run_config_in_force(tuner, trainer)
    for config, classes in ((tune_config, TUNE_CONFIGS), (run_config, RUN_CONFIGS)):
        for made in module.origins(config):
            name = called_name(made.module, made.node)
            stops = [stop for stop in _given(made) if _may_stop(stop.value)] if name in classes else []
            # What another file sets is told where this one hands it over.
            found += [stop if made.module is module or config is None else replace(stop, node=config) for stop in stops]
    return found


def tuned_by(module: Module, call: ast.Call) -> ast.expr | None:
    """What a Tuner, or tune.run(), is given to tune, without what wraps a trainer."""
    given = argument(call, 0, "run_or_experiment" if module.qualified(call.func) == TUNE_RUN else "trainable")
    return unwrapped(module, given) if given is not None else None


def _given(made: Source) -> Iterator[Stop]:
    """The arguments of a configuration that stop trials, and what its attributes are set to."""
    module, call = made.module, made.node
    assert isinstance(call, ast.Call)
    for keyword in call.keywords:
        if keyword.arg in STOPS:
            yield Stop(keyword.arg, keyword, Source(module, keyword.value))
        elif keyword.arg is None:
            entries = seen_entries(module, keyword.value)
            yield from (Stop(name, keyword, Source(module, entries[name])) for name in entries if name in STOPS)
    for name in STOPS:
        for node in module.attributes(name):
            value = module.assigned(node) if isinstance(node.ctx, ast.Store) else None
            if value is not None and any(source.node is call for source in module.origins(node.value)):
                yield Stop(name, node, Source(module, value))


def _may_stop(value: Source) -> bool:
    """Whether a value stops trials in one of the ways to it."""
    for source in value.module.origins(value.node):
        name = called_name(source.module, source.node)
        if not is_none(source.node) and name not in FIFO and source.module.constant(source.node) not in NOTHING:
            return True
    return False

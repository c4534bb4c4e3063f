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

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.tuner.tuner_config import run_config_in_force
from raymigrate.facts.ray_tune.tuned_trainers import may_be_trainer
from raymigrate.facts.ray_tune.tuners import RUN_CONFIGS, TUNE_CONFIGS, TUNERS, TunerCall
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import Source, is_none, seen_entries
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
RUN = "ray.tune.run"
FIFO = ("ray.tune.schedulers.FIFOScheduler", "ray.tune.schedulers.trial_scheduler.FIFOScheduler")
NOTHING: tuple[object, ...] = (None, {}, [], "fifo")  # Tune takes the FIFOScheduler by this name too


@codemod("Tuner", "run", phase=Phase.TRIALS)
def stopped_trials(context: Context) -> None:
    """Names what stops the trials of a trainer, unless Ray's dashboard is installed as far as can be seen."""
    module = context.module
    stopping = [node for call in module.calls(*TUNERS, RUN) for node in _stopping(module, call)]
    if not stopping:
        return
    starts = [keyword for _, keyword in module.keywords("include_dashboard")]
    if without := [keyword for keyword in starts if module.constant(keyword.value) is False]:
        for keyword in without:
            context.manual(RM419, keyword, LEFT_OUT, LET_IT_START)
    elif not starts and not has_dashboard(module, context.path):
        context.manual(RM419, stopping[0], MESSAGE)


def _stopping(module: Module, call: ast.Call) -> list[ast.AST]:
    """What stops trials before their trainers end: arguments of a Tuner's configurations, or of tune.run."""
    if module.qualified(call.func) == RUN:
        given = [*call.args[:1], *(keyword.value for keyword in call.keywords if keyword.arg == "run_or_experiment")]
        trains = any(may_be_trainer(module, node) for node in given)
        return [node for node, value in _given(Source(module, call)) if trains and _may_stop(module, value)]
    tuner = TunerCall(module, call)
    if tuner.trainer is None and not may_be_trainer(module, tuner.arguments.get("trainable")):
        return []
    run_config = run_config_in_force(tuner)
    found: list[ast.AST] = []
    for config, classes in ((tuner.arguments.get("tune_config"), TUNE_CONFIGS), (run_config, RUN_CONFIGS)):
        for made in module.origins(config) if config is not None else ():
            name = made.module.qualified(made.node.func) if isinstance(made.node, ast.Call) else None
            settings = _given(made) if name in classes else ()
            stops: list[ast.AST] = [node for node, value in settings if _may_stop(made.module, value)]
            found += stops if made.module is module else [config for _ in stops if config is not None]
    return found


def _given(made: Source) -> Iterator[tuple[ast.AST, ast.expr]]:
    """The arguments of a configuration that stop trials, and what its attributes are set to: where, and the value."""
    assert isinstance(made.node, ast.Call)
    for keyword in made.node.keywords:
        if keyword.arg in STOPS:
            yield keyword, keyword.value
        elif keyword.arg is None:
            entries = seen_entries(made.module, keyword.value)
            yield from ((keyword, value) for name, value in entries.items() if name in STOPS)
    for name in STOPS:
        for node in made.module.attributes(name):
            value = made.module.assigned(node) if isinstance(node.ctx, ast.Store) else None
            if value is not None and any(source.node is made.node for source in made.module.origins(node.value)):
                yield node, value


def _may_stop(module: Module, value: ast.expr) -> bool:
    """Whether a value stops trials in one of the ways to it."""
    for source in module.origins(value):
        name = source.module.qualified(source.node.func) if isinstance(source.node, ast.Call) else None
        if not is_none(source.node) and name not in FIFO and source.module.constant(source.node) not in NOTHING:
            return True
    return False

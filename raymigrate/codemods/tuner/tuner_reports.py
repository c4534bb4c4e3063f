"""RM412: how often the trials of a Tuner report, where a Transformers trainer reports by itself.

The legacy Transformers trainer reported at every log, with a checkpoint or without
(docs/semantics/legacy-transformers.md#when-it-reported-and-saved). The callback of the converted training function
reports when the Trainer saves, and at the end.
"""

import ast

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.tuner.stopped_trials import Stop, stops_of_trainers, tuned_by
from raymigrate.facts.projects.project import with_imported
from raymigrate.facts.ray_tune.tuners import TUNERS, TunerCall
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import Source, is_none, unpacked_dicts
from raymigrate.facts.values.calls import TUNE_RUN
from raymigrate.facts.values.carried import carried
from raymigrate.knowledge.legacy import TRAINING_ARGUMENTS, TRANSFORMERS_TRAINERS

RM412 = Rule(
    "RM412",
    "trials that report when the Trainer saves",
    "The converted trainer reports to Tune at each checkpoint, the legacy one at each log: a scheduler or stop="
    '{"training_iteration": n} counts, and compares, other iterations.',
    "Give logging, evaluation and saving the same strategy and steps, or let the numbers count checkpoints.",
    "https://docs.ray.io/en/latest/train/user-guides/hyperparameter-optimization.html",
)


STRATEGIES = ("save_strategy", "logging_strategy", "eval_strategy")
STEPS = ("save_steps", "logging_steps", "eval_steps")


@codemod("Tuner", "run", phase=Phase.TRIALS)
def trial_reports(context: Context) -> None:
    """Names the schedulers and stop criteria that count the reports of a Transformers trainer."""
    module = context.module
    for call in module.calls(*TUNERS, TUNE_RUN):
        trainers = _trainers(module, call)
        # What is written by hand in place of a Tuner that stays runs the same training function.
        is_converted = call in context.plan.calls or any(
            trainer.module is not module or trainer.node in context.plan.calls for trainer in trainers
        )
        stopping = stops_of_trainers(module, call) if trainers and is_converted else []
        counting = next((stop for stop in stopping if _counts_reports(stop)), None)
        if counting is not None and not saves_as_often_as_it_logs(module):
            message = f"{counting.name} now counts the checkpoints of a trial, not its logs."
            if call not in context.plan.calls and _is_of_trainer(module, call, counting):
                message = "The Tuner stops its trials by this too: in its own RunConfig it counts their checkpoints."
            context.manual(RM412, counting.node, message)


def _trainers(module: Module, call: ast.Call) -> list[Source]:
    """The constructions of Transformers trainers of which a Tuner gets one, in whatever function or file they are."""
    given = tuned_by(module, call)
    made = module.origins(given)
    calls = [(source, source.node) for source in made if isinstance(source.node, ast.Call)]
    return [source for source, call in calls if source.module.qualified(call.func) in TRANSFORMERS_TRAINERS]


def _is_of_trainer(module: Module, call: ast.Call, stop: Stop) -> bool:
    """Whether a stop= stands in the RunConfig of the trainer, which refuses it today."""
    is_run = module.qualified(call.func) == TUNE_RUN
    return stop.name == "stop" and not is_run and is_none(TunerCall(module, call).arguments.get("run_config"))


def _counts_reports(stop: Stop) -> bool:
    given = stop.value.module.constant(stop.value.node)
    by_number = stop.name == "stop" and (not isinstance(given, dict) or "training_iteration" in given)
    return by_number or stop.name == "scheduler"


def saves_as_often_as_it_logs(module: Module) -> bool:
    """Whether every TrainingArguments logs, evaluates and saves at the same steps: where the file makes none, those of
    the files that it imports, as the init function is in one of them.
    """
    made_here = [(module, call) for call in module.calls(*TRAINING_ARGUMENTS)]
    calls = made_here or [(home, call) for home in with_imported(module) for call in home.calls(*TRAINING_ARGUMENTS)]
    return bool(calls) and all(_at_the_same_steps(home, call) for home, call in calls)


def _at_the_same_steps(module: Module, call: ast.Call) -> bool:
    given = {keyword.arg: module.constant(keyword.value) for keyword in call.keywords if keyword.arg is not None}
    if "evaluation_strategy" in given:
        given["eval_strategy"] = given["evaluation_strategy"]
    saves, logs = given.get("save_strategy", "steps"), given.get("logging_strategy", "steps")
    evaluates = given.get("eval_strategy", "no")
    counted = STEPS if logs == "steps" else ()
    if (
        saves != logs
        or evaluates not in ("no", logs)
        or _may_be_unpacked(module, call, {*STRATEGIES, *counted} - {*given})
    ):
        return False
    steps = [given.get(f"{what}_steps", 500) for what in ("save", "logging")]
    steps += [given.get("eval_steps", steps[1])] if evaluates == "steps" else []
    return logs == "epoch" or (logs == "steps" and ... not in steps and len(set(steps)) == 1)


def _may_be_unpacked(module: Module, call: ast.Call, names: set[str]) -> bool:
    """Whether a dict that a call unpacks may give one of these arguments."""
    parts = [carried(module, given) for given in unpacked_dicts(call)]
    return bool(names) and any(not part.whole or any(_current(e.name) in names for e in part.entries) for part in parts)


def _current(name: str) -> str:
    return "eval_strategy" if name == "evaluation_strategy" else name

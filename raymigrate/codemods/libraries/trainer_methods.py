"""RM704: methods of Trainer that a subclass overrides or calls with the parameters of transformers 4.

From comparing the methods of Trainer in transformers 4.30.2 and 5.23 (trainer.py).
"""

import ast
from collections.abc import Iterator

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.argument_rules import GUIDE
from raymigrate.codemods.phases import Phase
from raymigrate.facts.ray_train.trainers import is_transformers_trainer
from raymigrate.facts.syntax.attribute_chains import is_of_self
from raymigrate.facts.syntax.functions import default_of
from raymigrate.facts.values import has_unpacking
from raymigrate.facts.values.members import method_of

RM704 = Rule(
    "RM704",
    "an override of a Trainer method with the old parameters",
    "transformers >= 5 passes other arguments to this method: the old parameter list raises a TypeError, or the method"
    " is not called any more.",
    "New parameters are added; what Trainer no longer passes is dropped from calls of super(), and reported where the"
    " method needs it.",
    GUIDE,
    errors=(
        "compute_loss() got an unexpected keyword argument 'num_items_in_batch'",
        "training_step() takes 3 positional arguments but 4 were given",
        "log() takes 2 positional arguments but 3 were given",
        "_get_train_sampler() takes 1 positional argument but 2 were given",
        "create_optimizer() got an unexpected keyword argument 'model'",
        "_save_checkpoint() got an unexpected keyword argument 'metrics'",
    ),
)
# Parameters that transformers 5 passes in addition.
ADDED = {
    "compute_loss": "num_items_in_batch=None",
    "training_step": "num_items_in_batch=None",
    "log": "start_time=None",
    "_get_train_sampler": "train_dataset=None",
    "create_optimizer": "model=None",
}
SAVE = "_save_checkpoint"
METRICS = "metrics"
BEST = (
    "Take what the method does with metrics to on_evaluate() of a TrainerCallback, which gets them; to keep the best"
    " model there is load_best_model_at_end=True with metric_for_best_model=."
)
LOG = "_maybe_log_save_evaluate"
GIVEN_TO_LOG = 7  # arguments without a default (5.23, trainer.py:2230); 4.30 had five
# Methods that Trainer no longer has, and what took their place.
GONE = {
    "_gather_and_numpify": "Trainer gathers with accelerator.gather_for_metrics().",
    "_nested_gather": "Trainer gathers with accelerator.gather_for_metrics().",
    "_pad_across_processes": "Trainer pads with accelerator.pad_across_processes().",
    "_rotate_checkpoints": "Checkpoints are deleted by transformers.trainer_utils.rotate_checkpoints().",
    "_save_tpu": "Override _save().",
    "_sorted_checkpoints": "Checkpoints are listed by transformers.trainer_utils.sort_checkpoints().",
    "prediction_loop": "Override evaluation_loop().",
}


@codemod(*ADDED, SAVE, LOG, *GONE, phase=Phase.LIBRARIES)
def method_overrides(context: Context) -> None:
    """Gives overridden methods of Trainer subclasses the parameters of transformers 5, and reports the others."""
    _calls_of_log(context)
    for method in context.module.of_type(ast.FunctionDef):
        owner = context.module.parent_of[method]
        if not isinstance(owner, ast.ClassDef) or not is_transformers_trainer(context.module, owner):
            continue
        if method.name in ADDED:
            _add_parameter(context, method)
        elif method.name == SAVE:
            _save_checkpoint(context, method)
        elif method.name == LOG and "grad_norm" not in _parameters(method) and not method.args.vararg:
            message = f"Trainer calls {LOG}() with the norm of the gradients as its second argument today."
            context.manual(RM704, method, message, "Take the parameters of the installed Trainer, and pass them on.")
        elif method.name in GONE:
            context.manual(RM704, method, f"Trainer does not call {method.name}() any more.", GONE[method.name])


def _calls_of_log(context: Context) -> None:
    """Tells of calls by `self` or super() with the arguments of transformers 4, of the method of Trainer itself."""
    module = context.module
    for call, method in module.method_calls(LOG):
        home = module.class_around(call)
        is_super = isinstance(method.value, ast.Call) and ast.unparse(method.value.func) == "super"
        if home is None or not is_transformers_trainer(module, home):
            continue
        if not (is_super or is_of_self(method)):
            continue
        is_own = not is_super and bool(method_of(module, home, LOG))
        if not is_own and not has_unpacking(call) and len(call.args) + len(call.keywords) < GIVEN_TO_LOG:
            message = (
                f"Trainer.{LOG}() takes the norm of the gradients and the time of the start too: this raises a"
                " TypeError."
            )
            context.manual(RM704, call, message, "Give what the installed Trainer takes, or leave the logging to it.")


def _parameters(method: ast.FunctionDef) -> list[str]:
    return [argument.arg for argument in (*method.args.posonlyargs, *method.args.args, *method.args.kwonlyargs)]


def _add_parameter(context: Context, method: ast.FunctionDef) -> None:
    parameter = ADDED[method.name]
    name = parameter.partition("=")[0]
    if name in _parameters(method) or method.args.kwarg or method.args.vararg or method.args.kwonlyargs:
        return
    if context.converts(RM704, method, f"Trainer calls {method.name}() with {name} today; now it takes that."):
        context.plan.function(method).added_parameter = parameter


def _save_checkpoint(context: Context, method: ast.FunctionDef) -> None:
    """`_save_checkpoint(self, model, trial, metrics=None)`: Trainer passes no metrics today, and takes none."""
    module = context.module
    if METRICS not in _parameters(method):
        return
    passed_on = list(_passed_on(context, method))
    for call, keyword in passed_on:
        if context.converts(RM704, keyword, f"Trainer.{SAVE}() takes no metrics today: a TypeError; removed."):
            context.plan.call(call).remove.add(METRICS)
    given = {keyword.value for _, keyword in passed_on}
    needed = default_of(_parameter(method), method.args) is None
    if needed or [use for use in module.uses(METRICS, module.scope(method)) if use not in given]:
        outcome = "the parameter has no default: a TypeError" if needed else "the parameter always has its default"
        context.manual(RM704, method, f"Trainer calls {SAVE}() without metrics today; {outcome}.", BEST)


def _parameter(method: ast.FunctionDef) -> ast.arg:
    parameters = (*method.args.posonlyargs, *method.args.args, *method.args.kwonlyargs)
    return next(parameter for parameter in parameters if parameter.arg == METRICS)


def _passed_on(context: Context, method: ast.FunctionDef) -> Iterator[tuple[ast.Call, ast.keyword]]:
    """Calls of `super()._save_checkpoint(..., metrics=...)` in the method, each with that argument."""
    for call, _ in context.module.method_calls(SAVE):
        if context.module.inside(call, method):
            yield from ((call, keyword) for keyword in call.keywords if keyword.arg == METRICS)

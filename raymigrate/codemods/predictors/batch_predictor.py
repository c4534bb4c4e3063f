"""A BatchPredictor and its calls of predict(), as far as they can be followed.

`BatchPredictor(checkpoint, Class, **a).predict(data, **b)` made one `Class` on each actor of `data.map_batches` (Ray
2.6.3, train/batch_predictor.py:126-330). The two calls become that one: the arguments of the first move to the second.
"""

import ast
from dataclasses import dataclass

from raymigrate.codemods.context import Context
from raymigrate.codemods.predictors.pipeline_predictor import NotSure
from raymigrate.codemods.shared.written_out import dict_of_its_own
from raymigrate.facts.ray_train.checkpoint_folders import folder_ends_before
from raymigrate.facts.ray_train.results import is_set_to_none
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import only_target
from raymigrate.facts.values import has_unpacking, is_none, named_arguments

PARAMETERS = ("checkpoint", "predictor_cls")
LOOPS = (ast.For, ast.AsyncFor, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
# Parameters of predict() that concern map_batches; the others went to the predict() of the predictor.
MAP_BATCHES = {"num_cpus_per_worker": "num_cpus", "num_gpus_per_worker": "num_gpus"}
POOL = {"min_scoring_workers": "min_size", "max_scoring_workers": "max_size"}
TO_MAP_BATCHES = (*MAP_BATCHES, *POOL, "separate_gpu_stage")  # the last one said where the preprocessor runs
BATCH_SIZE = "4096"  # the default of predict()

FOLDER_IS_GONE = (
    "It kept the files of the checkpoint; what takes its place reads them from the folder, which is gone"
    " when predict() is called."
)
KEEP_FOLDER = "Keep the folder until the predictions are there, or make them before it goes, with .materialize()."


@dataclass(frozen=True)
class BatchPredictor:
    """One BatchPredictor.

    Args:
        call: The call that makes it.
        checkpoint: Its checkpoint.
        predictor: The class of its predictors.
        arguments: What the predictors are made with.
        predictions: The calls of predict() on it.
        statements: Statements that go away: the one that makes it, and those that take its preprocessor out.
        preprocessor_taken_out: Whether there is one of the latter.
    """

    call: ast.Call
    checkpoint: ast.expr
    predictor: ast.expr
    arguments: dict[str, ast.expr]
    predictions: list[ast.Call]
    statements: list[ast.stmt]
    preprocessor_taken_out: bool


def arguments_of(module: Module, call: ast.Call) -> dict[str, ast.expr]:
    """The arguments of a call by name, those of a dict of its own too."""
    found = dict_of_its_own(module, call)
    return named_arguments(call) | (found.entries if found is not None else {})


def batch_predictor(context: Context, call: ast.Call) -> BatchPredictor:
    """Follows a BatchPredictor to the calls of predict() on it.

    Args:
        context: The module.
        call: The call that makes it.

    Raises:
        NotSure: If something else is done with it, or its arguments cannot move to those calls.
    """
    module = context.module
    unpacked = dict_of_its_own(module, call)
    if has_unpacking(call) and unpacked is None:
        raise NotSure("Its arguments cannot be seen here.")
    given = named_arguments(call, PARAMETERS) | (unpacked.entries if unpacked is not None else {})
    filling = unpacked.statements if unpacked is not None else []
    if not set(PARAMETERS) <= given.keys():
        raise NotSure("Its arguments cannot be seen here.")
    checkpoint, predictor = given.pop("checkpoint"), given.pop("predictor_cls")
    parent = module.parent_of[call]
    if isinstance(parent, ast.Attribute):
        return BatchPredictor(call, checkpoint, predictor, given, [_predict(module, call)], filling, False)
    name = only_target(parent)
    if not isinstance(parent, ast.stmt) or not isinstance(name, ast.Name):
        raise NotSure("What is done with it cannot be followed.")
    if not module.is_bound_once(name):
        raise NotSure("The name that it is assigned to has other values too.")
    uses = module.uses_of(name)
    out = [use for use in uses if is_set_to_none(module, use)]
    predictions = [_predict(module, use) for use in uses if use not in out]
    if not predictions:
        raise NotSure("Nothing calls its predict() here.")
    if any(folder_ends_before(module, checkpoint, call, predict) for predict in predictions):
        raise NotSure(FOLDER_IS_GONE, first=KEEP_FOLDER)
    arguments = [checkpoint, predictor, *given.values()]
    for predict in predictions:
        if not all(_moves(module, argument, predict, once=len(predictions) == 1) for argument in arguments):
            raise NotSure("Its arguments may have other values where predict() is called.")
    statements = [*filling, parent, *(module.statement(use) for use in out)]
    return BatchPredictor(call, checkpoint, predictor, given, predictions, statements, bool(out))


def remove_statements(context: Context, batch: BatchPredictor) -> None:
    """Removes what makes a BatchPredictor, with the type that it says its name has."""
    for statement in batch.statements:
        edit = context.plan.statement(statement)
        edit.removed = edit.comments_stay = True
        if isinstance(statement, ast.AnnAssign):
            context.take_out(statement.annotation)


def _predict(module: Module, value: ast.expr) -> ast.Call:
    """The call of predict() on a value.

    Raises:
        NotSure: If something else is done with it, or the arguments cannot be taken over.
    """
    method = module.parent_of[value]
    call = module.parent_of[method]
    if not isinstance(method, ast.Attribute) or not isinstance(call, ast.Call) or call.func is not method:
        raise NotSure("What is done with it cannot be followed.")
    if method.attr != "predict":
        streams = ": a Dataset is streamed by itself now" if method.attr == "predict_pipelined" else ""
        raise NotSure(f"Its {method.attr}() has no counterpart{streams}.")
    names = {keyword.arg for keyword in call.keywords}
    positional = [argument for argument in call.args if not isinstance(argument, ast.Starred)]
    by_name = not call.args and bool(call.keywords) and call.keywords[0].arg == "data"
    is_seen = None not in names or dict_of_its_own(module, call) is not None
    if not is_seen or not (len(positional) == len(call.args) == 1 or by_name):
        raise NotSure("The arguments of its predict() cannot be seen here.")
    if not is_none(arguments_of(module, call).get("ray_remote_args")):
        raise NotSure("Its ray_remote_args= have to become arguments of map_batches.")
    return call


def _moves(module: Module, argument: ast.expr, target: ast.Call, *, once: bool) -> bool:
    """Whether an expression has the same value, and the same effect, where predict() is called.

    Args:
        target: That call.
        once: Whether there is no other one.
    """
    same_function = module.function(argument) is module.function(target)
    for node in ast.walk(argument):
        if isinstance(node, ast.Name):
            there = module.scope_of[target].lookup(node.id)
            here = module.scope_of[node].lookup(node.id)
            between = [b for b in here if argument.lineno < getattr(b.node, "lineno", 0) <= target.lineno]
            if here != there or between or (len(here) > 1 and not same_function):
                return False
        elif not isinstance(node, (ast.Attribute, ast.Constant, ast.expr_context)) and not (once and same_function):
            return False
    loops = [outer for outer in module.ancestors(target) if isinstance(outer, LOOPS)]
    plain = all(isinstance(n, (ast.Name, ast.Attribute, ast.Constant, ast.expr_context)) for n in ast.walk(argument))
    return plain or all(module.inside(argument, loop) for loop in loops)

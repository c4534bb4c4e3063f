"""A trainer that goes on from the checkpoint of an earlier run of the same script: resume_from_checkpoint=.

TorchTrainer(resume_from_checkpoint=) raises a DeprecationWarning (docs/semantics/train-v2.md#refused-arguments). The
checkpoint goes to the workers with the configuration instead, and is what they start from until there is one of their
own run, as get_checkpoint() was for the legacy trainer. Only a checkpoint that converted code wrote has its files where
they are looked for: of one that legacy Ray wrote, or may have written, the rule for the argument tells.
"""

import ast
from collections.abc import Iterator, Sequence
from itertools import chain

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.codemods.shared.handed_keys import free_key
from raymigrate.codemods.shared.train_function import TrainFunction
from raymigrate.codemods.transformers_trainer.guide_form import GuideFunction
from raymigrate.edits.plan import Code
from raymigrate.facts.projects.callers import is_taken_elsewhere
from raymigrate.facts.ray_train.results import GET_CHECKPOINT, Layout, carries_preprocessor, layout, trainers_behind
from raymigrate.facts.ray_train.trainers import TrainerCall
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import is_none, sources
from raymigrate.facts.values.calls import given_to

ARGUMENT = "resume_from_checkpoint"
MESSAGE = f"TorchTrainer({ARGUMENT}=) raises on Ray >= 2.51; the checkpoint goes with the config."


def start_from_earlier_run(context: Context, call: TrainerCall, function: TrainFunction, rule: Rule) -> None:
    """Hands the checkpoint over in the configuration, where a trainer of this file has written it.

    Args:
        context: The module.
        call: The trainer.
        function: Its training function, which is not in the plan yet.
        rule: The rule for the trainer.
    """
    given = call.arguments.get(ARGUMENT)
    if given is None or is_none(given) or not _is_written_by_converted(context, call, given):
        return
    if isinstance(function, GuideFunction):  # in which a pass that was begun starts over
        return
    if carries_preprocessor(context.module, given, call.node) is not False:  # which the trainer took over
        return
    keyword = next(keyword for keyword in call.node.keywords if keyword.arg == ARGUMENT)
    if _may_read_it_itself(function) or not context.converts(rule, keyword, MESSAGE):
        return
    key = free_key([call.module, function.body_module], "old_checkpoint", "earlier_checkpoint")
    context.plan.call(call.node).remove.add(ARGUMENT)
    function.start_from(key, Code("$checkpoint", {"checkpoint": given}))


def _is_written_by_converted(context: Context, call: TrainerCall, checkpoint: ast.expr) -> bool:
    """Whether a checkpoint, where there is one, is of trainers that were converted before, or of the trainer itself."""
    module = context.module
    found = [source for source in sources(module, checkpoint) if not is_none(source)]
    if any(is_taken_elsewhere(module, parameter) for parameter in _parameters(module, [checkpoint, *found])):
        return False
    trainers = [trainers_behind(module, source) for source in found if _is_of_result(module, source)]
    return (
        bool(found)
        and len(trainers) == len(found)
        and all(trainers)
        and all(
            trainer.node is call.node or (trainer.module is module and trainer.node in context.plan.calls)
            for trainer in chain.from_iterable(trainers)
        )
    )


def _is_of_result(module: Module, source: ast.expr) -> bool:
    """Whether a value is taken from the result of such a trainer; of a loop over several not all may be seen."""
    return not isinstance(source, ast.Name) and layout(module, source) is Layout.NESTED


def _parameters(module: Module, values: Sequence[ast.expr]) -> Iterator[ast.arg]:
    """The parameters through which values came, callers of callers included: other files may give these another one."""
    waiting = [*values]
    seen = set[ast.AST]()
    while waiting:
        for name in (part for part in ast.walk(waiting.pop()) if isinstance(part, ast.Name)):
            bound = [binding.node for binding in module.scope_of[name].lookup(name.id) if binding.node not in seen]
            seen.update(bound)
            for parameter in (node for node in bound if isinstance(node, ast.arg)):
                yield parameter
                waiting += [source.node for source in given_to(module, parameter).found if source.module is module]
            waiting += [value for node in bound if (value := module.assigned(node)) is not None]


def _may_read_it_itself(function: TrainFunction) -> bool:
    """Whether the init function may ask for the checkpoint, which get_checkpoint() does not give it any more."""
    module, given = function.body_module, function.given
    is_seen = function.body is not None or isinstance(given, ast.Lambda) or bool(function.call.functions)
    return not is_seen or any(reference.qualified in GET_CHECKPOINT for reference in module.references)

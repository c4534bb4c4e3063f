"""RM110: a loss that transformers 5 multiplies by the number of workers, or by that of accumulated steps.

`Trainer.compute_loss` (transformers 5.23, trainer.py:2199) does so for every model whose forward takes **kwargs, and
counts on the model to divide by the number of items of all workers. Models with a loss of their own kind, such as BERT
for classification, do not: their loss and their gradients come out as many times larger as there are workers. Measured
on the bundled BERT job: 1.3695 where legacy Ray gave 0.6848.

With gradient_accumulation_steps `Trainer.training_step` counts on the same, and does not divide by the steps. Measured
on transformers 5.23, one step of SGD on eight rows: BERT for classification moves by 0.166 with one batch of eight, by
0.662 with four batches of two, and so does any model under a compute_loss() of the user's own; 0.166 with both where
`model_accepts_loss_kwargs` is False. The number of workers does not matter for that: where other code trains what the
init function makes, on one process and without Ray, the Trainer needs the same. So it does for GPT-2, of which the
Trainer counts a label too many in each row (see `causal_models`).
"""

import ast

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.codemods.shared.train_function import TrainFunction
from raymigrate.edits.plan import Code
from raymigrate.facts.hugging_face.all_fields import with_all_fields
from raymigrate.facts.hugging_face.causal_models import may_count_a_label_too_many
from raymigrate.facts.hugging_face.instances import TRAINER, instance_of
from raymigrate.facts.hugging_face.later_settings import later_settings
from raymigrate.facts.projects.places import Places
from raymigrate.facts.ray_train.trainers import TrainerCall
from raymigrate.facts.syntax.calls import calls_in
from raymigrate.facts.syntax.functions import is_generator_or_async, returns
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import keyword_argument, sources, unpacked_dicts
from raymigrate.facts.values.keys import is_unpacked
from raymigrate.knowledge.legacy import TRAINING_ARGUMENTS
from raymigrate.knowledge.libraries import lineage

RM110 = Rule(
    "RM110",
    "a loss that grows with the number of workers or of accumulated steps",
    "transformers >= 5 averages the loss over the tokens of all workers and multiplies it by their number; for models"
    " that do not count tokens, such as BERT for classification, loss and gradients become that many times larger.",
    "average_tokens_across_devices=False averages on each worker, as transformers 4 did until 4.45.",
    "https://huggingface.co/docs/transformers/main_classes/trainer"
    "#transformers.TrainingArguments.average_tokens_across_devices",
)
ARGUMENT = "average_tokens_across_devices"
MESSAGE = "transformers >= 5 would multiply the loss of some models by the number of workers."
SWITCHED = f"{MESSAGE[:-1]}; now {ARGUMENT}=False."
STEPS = "gradient_accumulation_steps"
ACCUMULATED = f"transformers >= 5 would multiply the loss of some models by {STEPS}."
COUNTED = "transformers >= 4.46 divides the loss of GPT-2 by one label a row too many."
SWITCH = "model_accepts_loss_kwargs"
SET_IT = f"Set {SWITCH} = False on the Trainer before it trains."


def keep_loss_scale(context: Context, call: TrainerCall, function: TrainFunction | None = None) -> None:
    """Switches the averaging over workers off, where the arguments are made or on the Trainer that comes out.

    Args:
        context: The module.
        call: The trainer call.
        function: The training function of a TransformersTrainer; None for the loop of an AccelerateTrainer.
    """
    if not context.current_transformers:
        return
    module = context.module
    loops = call.functions if function is None else []  # methods too
    places = dict.fromkeys([call.function, *loops])
    inside = [*dict.fromkeys(made for place in places for made in calls_in(module, place, *TRAINING_ARGUMENTS))]
    for arguments in inside:
        average_on_each_worker(context, arguments)
    if (
        function is not None
        and _may_average(context, function, inside)
        and context.converts(RM110, call.node, SWITCHED)
    ):
        function.before_training.append(
            f"{{trainer}}.args.{ARGUMENT} = False  # else some losses grow with the workers"
        )
    if function is None:
        for arguments in inside:
            report_loss_mean(context, arguments)
    elif _sets_switch(context, function):
        function.keeps_loss_mean = True
    elif _accumulates(function):
        if context.converts(RM110, call.node, f"{ACCUMULATED[:-1]}; now {SWITCH} = False."):
            for other in _keep_loss_mean(context, function, f"else some losses grow with {STEPS}"):
                context.manual(RM110, other, _trained_too(other, ACCUMULATED), SET_IT)
    elif may_count_a_label_too_many(function.shown.modules, function.shown.given(0, "model")):
        if context.converts(RM110, call.node, f"{COUNTED[:-1]}; now {SWITCH} = False."):
            for other in _keep_loss_mean(context, function, "else GPT-2's loss counts one label a row too many"):
                context.note(RM110, other, f"{_trained_too(other, COUNTED)} {SET_IT}")


def _sets_switch(context: Context, function: TrainFunction) -> bool:
    """Whether the init function, or one of its module that it calls, always sets the switch, now or by the plan."""
    module = function.body_module
    statements = [module.statement(store) for store in module.stores(SWITCH)]
    if module is context.module:
        planned = context.plan.statements.items()
        statements += [place for place, edit in planned if any(SWITCH in code.template for code in edit.before)]
    if function.body is None or not statements:
        return False
    places = context.places if module is context.module else Places(module)
    reached = places.reached_from(function.body)
    return any(module.parent_of[statement] in reached for statement in statements)


def _trained_too(other: ast.Call, happens: str) -> str:
    return f"Where what {ast.unparse(other.func)}() makes here is trained too, {happens}"


def _keep_loss_mean(context: Context, function: TrainFunction, reason: str) -> list[ast.Call]:
    """Lets the Trainer take the mean that the model computes.

    That is said in the init function where other code calls that too, else behind it.

    Args:
        reason: What the comment behind the line says.

    Returns:
        The other calls of the init function, if the Trainers that they get are not told.
    """
    function.keeps_loss_mean = True
    line = f"{{trainer}}.{SWITCH} = False  # {reason}"
    others = function.module.calls_of(function.init)
    ends = _ends_with_trainer(function) if others else []
    if not ends:
        function.before_training.append(line)
    for end, trainer in ends:
        before = context.plan.statement(end).before
        if not any(SWITCH in code.template for code in before):  # of another trainer with this init function
            before.append(Code(line.format(trainer=trainer.id)))
    return others if not ends and not context.module.stores(SWITCH) else []


def _ends_with_trainer(function: TrainFunction) -> list[tuple[ast.Return, ast.Name]]:
    """The returns of an init function with the names of what they return, where each is surely a Trainer."""
    if function.init is None or is_generator_or_async(function.module, function.init):
        return []
    ends = returns(function.module, function.init)
    named = [(end, end.value) for end in ends if isinstance(end.value, ast.Name)]
    sure = len(named) == len(ends) and all(TRAINER in lineage(instance_of(function.module, name)) for _, name in named)
    return named if sure else []


def _may_average(context: Context, function: TrainFunction, inside: list[ast.Call]) -> bool:
    """Whether a Trainer of an init function may come with TrainingArguments that average over the workers.

    Those that another function of the module makes for trainers alone are switched there.

    Args:
        inside: The TrainingArguments that the init function makes itself, which are switched.
    """
    module, made = function.body_module, function.training_arguments
    for arguments in made if module is context.module else ():
        if module.function(arguments) not in context.also_elsewhere:
            average_on_each_worker(context, arguments)
    return not all(_is_switched(context, module, arguments) for arguments in made) if made else not inside


def _is_switched(context: Context, module: Module, arguments: ast.Call) -> bool:
    """Whether TrainingArguments are given whether to average over the workers, now or by the plan."""
    edit = context.plan.calls.get(arguments)
    if module is context.module and with_all_fields(module, arguments):
        return True
    return _is_given(module, arguments) or (edit is not None and ARGUMENT in edit.values)


def _is_given(module: Module, arguments: ast.Call) -> bool:
    return keyword_argument(arguments, ARGUMENT) is not None or bool(is_unpacked(module, arguments, ARGUMENT))


def average_on_each_worker(context: Context, arguments: ast.Call) -> None:
    """Switches the averaging over workers off in TrainingArguments, unless they are given it.

    What is unpacked there from elsewhere was written for a transformers that had no such argument. But a dict of all
    that other TrainingArguments have holds it, and a keyword beside that is a TypeError.
    """
    module = context.module
    if not _is_given(module, arguments) and context.converts(RM110, arguments, SWITCHED):
        if unpacked := with_all_fields(module, arguments):
            context.plan.replace(unpacked[-1], f'{{**$fields, "{ARGUMENT}": False}}', fields=unpacked[-1])
        elif ARGUMENT in module.text and (module.texts(ARGUMENT) or any(module.keywords(ARGUMENT))):
            context.give(arguments, ARGUMENT, "False")
        else:
            context.plan.call(arguments).set(ARGUMENT, "False")


def report_loss_mean(context: Context, arguments: ast.Call) -> None:
    """Reports TrainingArguments of a Trainer that the user's own code trains, if its loss is no longer a mean.

    That is where they accumulate gradients, and where the model is GPT-2 or one like it.
    """
    module = context.module
    if module.stores(SWITCH):
        return
    given: list[tuple[ast.AST, ast.expr]] = [(k, k.value) for k in arguments.keywords if k.arg == STEPS]
    later = [one for one in later_settings(module, STEPS) if arguments in sources(module, one.owner)]
    given += [(one.place, one.value) for one in later if one.value is not None]
    accumulating = [place for place, value in given if _is_many(module, value)]
    for place in accumulating:
        context.manual(RM110, place, ACCUMULATED, SET_IT)
    if not accumulating and may_count_a_label_too_many([module]):
        context.note(RM110, arguments, f"{COUNTED} {SET_IT}")


def _accumulates(function: TrainFunction) -> bool:
    """Whether the arguments of the Trainer accumulate gradients, for all that can be seen of them."""
    module, body = function.body_module, function.body
    made = [(home, call) for home in function.shown.modules for call in home.calls(*TRAINING_ARGUMENTS)]
    inside = [(module, call) for call in calls_in(module, body, *TRAINING_ARGUMENTS)]
    if not made or function.shown.unfound:
        return True
    return any(may_accumulate(home, call) for home, call in inside or made)


def may_accumulate(module: Module, arguments: ast.Call) -> bool:
    """Whether TrainingArguments accumulate gradients, or it cannot be seen.

    Args:
        module: The module.
        arguments: The call that makes them.
    """
    named = [keyword.value for keyword in arguments.keywords if keyword.arg == STEPS]
    named += [setting.value for setting in later_settings(module, STEPS) if setting.value is not None]
    unpacked = [module.origins(given) for given in unpacked_dicts(arguments)]
    dicts = [(source.module, source.module.entries(source.node)) for sources in unpacked for source in sources]
    return any(_is_many(module, value) for value in named) or any(
        entries is None or (STEPS in entries and _is_many(home, entries[STEPS])) for home, entries in dicts
    )


def _is_many(module: Module, value: ast.expr) -> bool:
    """Whether a number of steps may be another than one."""
    return module.constant(value) not in (1, None)

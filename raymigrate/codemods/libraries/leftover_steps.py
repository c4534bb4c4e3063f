"""RM111: batches that are left over where gradients are accumulated.

docs/semantics/traps.md#t26. transformers 4.30.2 took len(dataloader) // gradient_accumulation_steps for the steps of an
epoch (trainer.py:1670), 5.23 takes the ceiling of that (`set_initial_training_values` of trainer.py). Run with seven
batches in steps of two and three epochs: 9 steps, now 12.
"""

import ast

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.old_transformers import is_for_old_transformers
from raymigrate.codemods.libraries.transformers_arguments import keyword_arguments
from raymigrate.codemods.phases import Phase
from raymigrate.facts.hugging_face.later_settings import later_settings
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import is_method_call, keyword_argument, sources
from raymigrate.facts.values.carried import carried
from raymigrate.facts.values.keys import is_unpacked, unpacked_value
from raymigrate.knowledge.legacy import TRAINING_ARGUMENTS

RM111 = Rule(
    "RM111",
    "an optimizer step for the batches left over at the end of an epoch",
    "Where the batches of a worker in an epoch are not a multiple of gradient_accumulation_steps, the rest of them make"
    " a step of their own since transformers 5; before, they made none. So an epoch has one step more, and with it"
    " change the learning rate schedule and the numbers of steps and checkpoints.",
    "max_steps= sets the number of steps that a run had.",
    "https://huggingface.co/docs/transformers/main_classes/trainer"
    "#transformers.TrainingArguments.gradient_accumulation_steps",
)
STEPS = "gradient_accumulation_steps"
LIMIT = "max_steps"
MESSAGE = (
    f"Where a worker's batches of an epoch are not a multiple of {STEPS}, the rest is a step of its own since"
    " transformers 5: more steps, and another learning rate schedule."
)


@codemod("TrainingArguments", "Seq2SeqTrainingArguments", phase=Phase.LIBRARIES, after=[keyword_arguments])
def leftover_steps(context: Context) -> None:
    """Notes arguments of transformers 4 that accumulate gradients, and count epochs instead of steps."""
    if not context.keeps_transformers and is_for_old_transformers(context):
        for call in context.module.calls(*TRAINING_ARGUMENTS):
            if _accumulates(context.module, call) and not _is_limited(context.module, call):
                context.note(RM111, call, MESSAGE)


def _accumulates(module: Module, arguments: ast.Call) -> bool:
    """Whether arguments accumulate gradients, or may as far as can be seen."""
    given = keyword_argument(arguments, STEPS) or unpacked_value(module, arguments, STEPS)
    values = [given] if given is not None else []
    values += _stored(module, arguments, STEPS)
    if given is None and is_unpacked(module, arguments, STEPS) is None and _is_named(module):
        return True
    return any(module.constant(_or_default(module, value)) not in (1, None) for value in values)


def _or_default(module: Module, value: ast.expr) -> ast.expr:
    """The default of `config.get("key", 1)` where all entries of the dict are seen, and none has that key."""
    call = module.value(value)
    if not is_method_call(call, "get") or len(call.args) < 2:
        return value
    key, seen = module.constant(call.args[0]), carried(module, call.func.value)
    is_lacking = isinstance(key, str) and seen.whole and all(entry.name != key for entry in seen.entries)
    return call.args[1] if is_lacking else value


def _is_limited(module: Module, arguments: ast.Call) -> bool:
    """Whether the number of steps is given to arguments."""
    given = keyword_argument(arguments, LIMIT) or unpacked_value(module, arguments, LIMIT)
    values = [*([given] if given is not None else ()), *_stored(module, arguments, LIMIT)]
    return any(steps is ... or (isinstance(steps, int) and steps > 0) for steps in map(module.constant, values))


def _stored(module: Module, arguments: ast.Call, name: str) -> list[ast.expr]:
    """What a field of arguments is set to where they have been made."""
    settings = [one for one in later_settings(module, name) if arguments in sources(module, one.owner)]
    return [one.value for one in settings if one.value is not None]


def _is_named(module: Module) -> bool:
    """Whether something of a module is called as the argument: what nobody shows may be it."""
    return bool(module.texts(STEPS)) or any(module.keywords(STEPS))

"""RM806: schedules of a script's own whose steps are counted for one process.

A Trainer counts the steps for a schedule that it makes by the loader that it has shared out. One that it is given, or
that its class makes, it steps once behind each step of the optimizer, as it is (transformers 5.23, trainer.py:1944): it
is not prepared.
"""

import ast
from collections.abc import Iterator

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.codemods.to_ray.argument_settings import given_at_last, set_later
from raymigrate.codemods.to_ray.launched import LaunchedOutline
from raymigrate.codemods.to_ray.trainer_calls import Training, arguments_made, is_trainer
from raymigrate.codemods.to_ray.workers import SIZES
from raymigrate.facts.hugging_face.later_settings import unseen_settings
from raymigrate.facts.ray_train.trainers import classes_behind
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.named_lines import line_of_file
from raymigrate.facts.torch.optimizers import is_scheduler
from raymigrate.facts.torch.schedule_lengths import counts_rows, reached
from raymigrate.facts.values import called_name, last_name, lineage
from raymigrate.facts.values.carried import values_given

SCHEDULE, LIMIT = "lr_scheduler", "max_steps"
SHARED_OUT = "get_train_dataloader"  # of a Trainer: a loader of as many batches as a worker gets
PER_EPOCH = "ReduceLROnPlateau"  # which a Trainer steps behind each evaluation
# What a script gives a Trainer: the value, its module, and the call in the script's own module that it belongs to.
Given = tuple[Module, ast.expr, ast.AST]


def tell_given_schedules(context: Context, rule: Rule, training: Training, outline: LaunchedOutline) -> None:
    """Tells of schedules that are worked out for the steps of one process.

    Args:
        context: The module.
        rule: The rule that tells.
        training: What it does with Trainers.
        outline: What is planned for it.
    """
    limit = _limit(context.module)
    if not outline.may_grow or limit is None:
        return
    told = set[ast.AST]()
    for module, value, owner in _given(context.module, training):
        for source in module.origins(value):
            made = source.node
            if made in told or not isinstance(made, ast.Call) or not _counts_for_one(source.module, made):
                continue
            told.add(made)
            is_here = source.module is context.module
            where = "this schedule" if is_here else f"the schedule in {line_of_file(source.module, made)}"
            message = (
                f"The length of {where} is counted for one process. N workers take 1/N of the steps{limit}, and are"
                " through only the first 1/N of it when the training ends."
            )
            advice = "Divide the numbers of steps that it is given by ray.train.get_context().get_world_size()."
            context.manual(rule, made if is_here else owner, message, advice)


def _limit(module: Module) -> str | None:
    """On what it depends that more workers take fewer steps; None where the script says how many are taken."""
    made = arguments_made(module)
    given = [source for call in made for source in values_given(module, call, LIMIT)]
    values = [source.module.constant(source.node) for source in given]
    if not made or unseen_settings(module):
        values = [...]
    elif set_later(module, LIMIT):
        last = given_at_last(module, LIMIT)
        values = [last if last is ... else module.constant(last)]
    if values and len(values) >= len(made) and all(isinstance(value, int) and value > 0 for value in values):
        return None
    return f", unless {LIMIT}= says how many" if any(value is ... for value in values) else ""


def _given(module: Module, training: Training) -> Iterator[Given]:
    """The schedules that Trainers get: as an argument, as an attribute, or by their class."""
    for made in training.makes:
        pairs = (
            pair for given in values_given(module, made, "optimizers") for pair in given.module.origins(given.node)
        )
        for pair in pairs:
            if isinstance(pair.node, (ast.Tuple, ast.List)) and len(pair.node.elts) == 2:
                yield pair.module, pair.node.elts[1], made
        for found in classes_behind(module, made.func):
            if not isinstance(found, str):
                targets = _by_class(found[0])
                for home in lineage(*found):
                    for target in targets.get(home, ()):
                        yield from _stored(found[0], target, made)
    for target in module.attributes(SCHEDULE):
        if is_trainer(module, target.value):
            yield from _stored(module, target, target)


@kept
def _by_class(module: Module) -> dict[ast.ClassDef, list[ast.Attribute]]:
    """The attributes of that name in the methods of classes, by the class."""
    found: dict[ast.ClassDef, list[ast.Attribute]] = {}
    for target in module.attributes(SCHEDULE):
        home = module.class_around(target)
        if home is not None:
            found.setdefault(home, []).append(target)
    return found


def _stored(module: Module, target: ast.Attribute, owner: ast.AST) -> Iterator[Given]:
    value = module.assigned(target) if isinstance(target.ctx, ast.Store) else None
    if value is not None:
        yield module, value, owner


def _counts_for_one(module: Module, made: ast.Call) -> bool:
    """Whether a call makes a schedule of a length in rows or batches, none of which is that of one worker already."""
    if not is_scheduler(called_name(module, made)) or last_name(made.func) == PER_EPOCH:
        return False
    values = [*made.args[1:], *(word.value for word in made.keywords if word.arg != "optimizer")]
    return any(counts_rows(module, value) for value in values) and not any(
        _word(part) == SHARED_OUT or SIZES.search(_word(part)) for value in values for _, part in reached(module, value)
    )


def _word(part: ast.AST) -> str:
    """The name that a part of an expression ends with, or its text: `os.environ["WORLD_SIZE"]`."""
    return part.value if isinstance(part, ast.Constant) and isinstance(part.value, str) else last_name(part)

"""RM701 and RM702: what is changed in the call where an argument is given that is gone today."""

import ast

from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.argument_changes import (
    ADVICE,
    LOST,
    NEW_FIRST,
    OLD_FIRST,
    SWITCHED_OFF,
    Change,
    is_falsy,
)
from raymigrate.codemods.libraries.argument_rules import RM701, RM702
from raymigrate.facts.ray_train.removed_trackers import TrackerUse
from raymigrate.facts.values import Source, keyword_argument, named_arguments, unpacked_dicts, written
from raymigrate.facts.values.carried import carried

WITH_TENSORBOARD = ("tensorboard", "all", None)  # None meant "all" up to transformers 4
ELSEWHERE = (
    "TensorBoard does not write into logging_dir any more, but below output_dir/runs: the environment variable"
    " TENSORBOARD_LOGGING_DIR with the same folder, set where the Trainer runs, keeps it."
)


def change_argument(context: Context, call: ast.Call, keyword: ast.keyword, change: Change) -> None:
    """Changes a keyword argument, or tells of it.

    Args:
        context: The module.
        call: The call.
        keyword: The argument.
        change: What becomes of it.
    """
    name = keyword.arg
    assert name is not None
    value, given = written(keyword.value), named_arguments(call)
    is_void = change.unless in given or change.name in given or (name in SWITCHED_OFF and is_falsy(value))
    if change.beside is not None and change.name in given and not is_falsy(value):
        _join(context, call, keyword, change, given[change.name])
    elif change.unless in given and change.name not in given and change.value is not None:  # both say a part of it
        message = f"{name}= {change.outcome}; {change.name}= took its place."
        context.manual(RM701, keyword, message, f"Give {change.name}= what {name}= and {change.unless}= say.")
    elif change.name is None and not is_void and not change.only_if(value):
        advice = ADVICE.get(name, "Drop it, or write what replaces it.")
        context.manual(RM702, keyword, f"{name}= {change.outcome}.", advice)
    elif change.name is None or is_void:
        _delete(context, call, keyword, change)
    else:
        _rename(context, call, keyword, change)


def _delete(context: Context, call: ast.Call, keyword: ast.keyword, change: Change) -> None:
    """Deletes an argument that has no effect today."""
    name = str(keyword.arg)
    told = _without_folder(context, call) if name == "logging_dir" else ""
    if context.converts(RM702, keyword, f"{name}= {change.outcome}; deleted{told}."):
        context.plan.call(call).remove.add(name)
        if told and _writes_elsewhere(context, call):
            context.note(RM702, keyword, ELSEWHERE)  # what is converted is not shown after a run
        if name in LOST and context.module.constant(keyword.value) in (False, ...):
            context.note(RM702, keyword, LOST[name])


def _rename(context: Context, call: ast.Call, keyword: ast.keyword, change: Change) -> None:
    """Gives an argument its new name, and the value that says the same under it."""
    name, value = str(keyword.arg), written(keyword.value)
    assert change.name is not None
    is_switch = value is ... and change.otherwise is not None
    dicts = (carried(context.module, other) for other in unpacked_dicts(call))
    if not change.only_if(value) and not is_switch:
        context.manual(RM701, keyword, f"{name}= {change.outcome}; {change.name}= took its place.", "")
    elif any(entry.name == change.name for found in dicts for entry in found.entries):
        tell_both(context, keyword, name, change)
    elif context.converts(RM701, keyword, f"{name}= {change.outcome}; now {change.name}=."):
        edit = context.plan.call(call)
        edit.rename[name] = change.name
        if change.value is not None:
            template = f"{change.value} if $value else {change.otherwise}" if is_switch else change.value
            edit.set(change.name, template, value=keyword.value)


def tell_both(context: Context, place: ast.AST, name: str, change: Change) -> None:
    """Tells of an argument that cannot get its new name, as the call gets one of that name from elsewhere."""
    in_force = {
        NEW_FIRST: f"{change.name}= was in force unless it was 0 or None",
        OLD_FIRST: f"{name}= was in force where it was neither 0 nor None nor False",
    }.get(change.beside or "", "take care which of them was in force")
    both = f"{change.name}= took its place, which the call may get too: together they raise a TypeError"
    context.manual(RM701, place, f"{name}= {change.outcome}; {both}.", f"Give it one of the two: {in_force}.")


def _join(context: Context, call: ast.Call, keyword: ast.keyword, change: Change, new: ast.expr) -> None:
    """Leaves one argument of two, of the old name and of the new one, with what was in force of them."""
    assert keyword.arg is not None
    assert change.name is not None
    assert change.beside is not None
    message = f"{keyword.arg}= {change.outcome}"
    old_is_sure, new_is = written(keyword.value) is not ..., written(new)
    if change.beside == NEW_FIRST:
        template = change.beside if new_is is ... else "$old" if is_falsy(new_is) else ""
    else:
        template = change.beside.partition(" ")[0] if old_is_sure else change.beside
    if not template:
        if context.converts(RM702, keyword, f"{message}; deleted."):
            context.plan.call(call).remove.add(keyword.arg)
    elif context.converts(RM701, keyword, f"{message}; now part of {change.name}=."):
        edit = context.plan.call(call)
        edit.remove.add(keyword.arg)
        edit.set(change.name, template, old=keyword.value, new=new)


# Where TensorBoard writes what a Trainer logs, which `logging_dir=` said up to transformers 4. transformers 5.23,
# integrations/integration_utils.py:602: TENSORBOARD_LOGGING_DIR, else a folder below output_dir/runs.
def _writes_elsewhere(context: Context, call: ast.Call) -> bool:
    """Whether TrainingArguments that lose their logging_dir= surely log there, by what report_to= says.

    Args:
        call: What makes them.
    """
    asked = keyword_argument(call, "report_to")
    ends = context.module.origins(asked)
    named = all(_names_tensorboard(end) for end in ends)  # of each branch: `[..., "wandb"] if args.wandb else [...]`
    return bool(ends) and named and not TrackerUse(context.places).had_none(call)


def _names_tensorboard(end: Source) -> bool:
    """Whether one value of report_to= surely has TensorBoard among its trackers."""
    parts = end.node.elts if isinstance(end.node, (ast.List, ast.Tuple)) else [end.node]
    return any(end.module.constant(part) in WITH_TENSORBOARD for part in parts)


def _without_folder(context: Context, call: ast.Call) -> str:
    """What to say of TrainingArguments that lose their logging_dir=: nothing if they surely never log there.

    Args:
        call: What makes them.
    """
    asked = keyword_argument(call, "report_to")
    named = context.module.constant(asked) if asked is not None else ...
    several = named if isinstance(named, (list, tuple, set)) else [named]
    may_log = any(tracker is ... or tracker in WITH_TENSORBOARD for tracker in several)
    if not may_log or TrackerUse(context.places).had_none(call):
        return ""
    return ": if report_to= asks for TensorBoard, it writes below output_dir/runs or where TENSORBOARD_LOGGING_DIR says"

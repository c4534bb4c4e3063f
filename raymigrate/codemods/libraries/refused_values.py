"""RM705: values that arguments took and take no more, where they are given, and in dicts that calls unpack."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.adamw import keep_in_trainers
from raymigrate.codemods.libraries.argument_changes import VALUES
from raymigrate.codemods.libraries.argument_rules import RM705
from raymigrate.codemods.libraries.shared_keys import others_get_value
from raymigrate.facts.projects.unpacked_options import carried_from_callers
from raymigrate.facts.ray_train.removed_trackers import TrackerUse
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.named_lines import line_of_file
from raymigrate.facts.values import Source, constants
from raymigrate.facts.values.carried import Entry

# transformers 4.36 training_args.py: `if self.report_to is None: ... self.report_to = "all"`.
ALL_TRACKERS, NO_TRACKERS = '"all"', '"none"'
MEANT_ALL = 'That is what None meant up to transformers 4: every tracker that is installed. "none" logs nowhere.'


@dataclass(frozen=True)
class _Refused:
    """A value that an argument may get and that is refused.

    Args:
        source: The expression that gives it.
        value: What it is.
        new: The code that means the same today.
    """

    source: Source
    value: object
    new: str


def change_value(context: Context, call: ast.Call, keyword: ast.keyword) -> None:
    """Changes a value of an argument in `VALUES` that is refused today, or tells of it."""
    name = str(keyword.arg)
    for found in _refused(context, call, context.module, name, keyword.value):
        if found.source.node is not keyword.value:
            _tell(context, keyword, name, found)
        elif context.converts(RM705, keyword, f"{_message(name, found)}; {_now(context, call, found)}."):
            context.plan.call(call).set(name, found.new)


def change_unpacked_values(context: Context, call: ast.Call, keyword: ast.keyword) -> None:
    """Does what `change_value` does for the entries of a dict that TrainingArguments unpack.

    Args:
        context: The module.
        call: The call of TrainingArguments.
        keyword: What is unpacked there.
    """
    given = {other.arg for other in call.keywords}  # what is given twice was always a TypeError
    entries = [entry for entry in carried_from_callers(context.module, keyword.value).entries if entry.name in VALUES]
    for entry in (entry for entry in entries if entry.name not in given):
        if entry.value in context.plan.expressions:
            continue
        is_here = entry.module is context.module
        writer = "" if is_here else f", which {line_of_file(entry.module, entry.key)} writes,"
        is_seen = isinstance(entry.value, ast.Constant) and not _is_read(context.module, entry.name, entries)
        for found in _refused(context, call, entry.module, entry.name, entry.value):
            if not is_here or not is_seen or others_get_value(context.module, entry.key, entry.name, call):
                _tell(context, entry.value if is_here else keyword, entry.name, found, writer)
            elif context.converts(RM705, entry.value, f"{_message(entry.name, found)}; {_now(context, call, found)}."):
                context.plan.replace(entry.value, found.new)


def _is_read(module: Module, name: str, entries: list[Entry]) -> bool:
    """Whether a key is named at other places than where it gets these values: others may compare the value."""
    keys = {entry.key for entry in entries}
    return any(isinstance(word, ast.Constant) and word not in keys for word in module.spelling(name))


def _refused(context: Context, call: ast.Call, module: Module, name: str, value: ast.expr) -> Iterator[_Refused]:
    """The values that an argument of a call may get and that are refused, in a module."""
    choices: Mapping[object, str] = VALUES[name]  # type: ignore[assignment]
    for source, known in constants(module, value):
        if isinstance(known, (str, type(None))) and known in choices:
            had_none = known is None and TrackerUse(context.places).had_none(call)  # Ray's legacy trainer removed them
            yield _Refused(source, known, NO_TRACKERS if had_none else choices[known])


def _message(name: str, found: _Refused, writer: str = "") -> str:
    return f"{name}={found.value!r}{writer} raises a ValueError today"


def _tell(context: Context, place: ast.AST, name: str, found: _Refused, writer: str = "") -> None:
    meant = f" {MEANT_ALL}" if found.new == ALL_TRACKERS else ""
    context.manual(
        RM705, place, f"{_message(name, found, writer)}.", f"Write {found.new} where the value is set.{meant}"
    )


def _now(context: Context, call: ast.Call, found: _Refused) -> str:
    return f"now {found.new}{_differs(context, call, found.value)}"


def _differs(context: Context, call: ast.Call, value: object) -> str:
    """What is to be known of the value that takes the place of one that is refused now."""
    if value != "adamw_hf":
        return ""
    if context.options.freeze_numerics and keep_in_trainers(context, call):
        return ", and the Trainer gets the old optimizer"
    return ", which takes longer first steps along gradients below 1e-6 (--freeze-numerics keeps the old optimizer)"

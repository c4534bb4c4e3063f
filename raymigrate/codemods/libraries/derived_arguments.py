"""RM701 to RM703, RM705 and RM706 where a class is called that the project makes from TrainingArguments.

A dataclass takes what TrainingArguments takes, and its own fields after that; a constructor may hand on what it gets.
"""

import ast

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.argument_changes import TRAINING_ARGUMENTS_CHANGES, VALUES, Change
from raymigrate.codemods.libraries.argument_edits import change_argument
from raymigrate.codemods.libraries.argument_rules import RM701, RM702
from raymigrate.codemods.libraries.refused_values import change_value
from raymigrate.codemods.libraries.transformers_arguments import change_positions, keyword_arguments
from raymigrate.codemods.libraries.unseen_keys import change_keys, tell_unpacked
from raymigrate.codemods.phases import Phase
from raymigrate.facts.hugging_face.own_arguments import is_training_arguments, own_arguments
from raymigrate.facts.values.constructors import Line, constructor_of, hands_on, reaches
from raymigrate.knowledge.legacy import TRAINING_ARGUMENTS


@codemod(*TRAINING_ARGUMENTS_CHANGES, "ray", phase=Phase.LIBRARIES, after=[keyword_arguments])
def derived_arguments(context: Context) -> None:
    """Changes arguments that are seen to reach TrainingArguments, and reports those that may."""
    for call, line in own_arguments(context.module, TRAINING_ARGUMENTS_CHANGES):
        sure = {name for name in (*TRAINING_ARGUMENTS_CHANGES, *VALUES) if reaches(line, name, is_training_arguments)}
        if _has_its_positions(line):
            change_positions(context, call, TRAINING_ARGUMENTS)
        for keyword in call.keywords:
            _change(context, call, keyword, line, sure)


def _change(context: Context, call: ast.Call, keyword: ast.keyword, line: Line, sure: set[str]) -> None:
    name = keyword.arg
    if name is None:
        changes = {known: change for known, change in TRAINING_ARGUMENTS_CHANGES.items() if known in sure}
        change_keys(context, call, keyword, changes)
        if not _is_handed_on(context, keyword):
            tell_unpacked(context, call, keyword, TRAINING_ARGUMENTS, changes)
    elif name in sure and name in VALUES:
        change_value(context, call, keyword)
    elif name in sure:
        change_argument(context, call, keyword, TRAINING_ARGUMENTS_CHANGES[name])
    elif name in TRAINING_ARGUMENTS_CHANGES and reaches(line, name, is_training_arguments) is None:
        _tell(context, call, keyword, TRAINING_ARGUMENTS_CHANGES[name])


def _tell(context: Context, call: ast.Call, keyword: ast.keyword, change: Change) -> None:
    """Reports an argument of which it cannot be seen whether TrainingArguments gets it."""
    what = ast.unparse(call.func)
    message = f"{keyword.arg}= {change.outcome}, if {what} hands its arguments to TrainingArguments."
    if change.name is None:
        context.manual(RM702, keyword, message, "Drop it then, or write what replaces it.")
    else:
        advice = f"Write {change.name}= here then, and wherever {what} itself takes the argument or hands it on."
        context.manual(RM701, keyword, message, advice)


def _has_its_positions(line: Line) -> bool:
    """Whether arguments by position are those of TrainingArguments: each class has one base and no constructor."""
    own = [found[1] for found in line if not isinstance(found, str)]
    return all(len(node.bases) == 1 and constructor_of(node) is None for node in own)


def _is_handed_on(context: Context, keyword: ast.keyword) -> bool:
    """Whether `**` is what a constructor was given and hands on: those who call that are looked at instead."""
    module = context.module
    init = module.function(keyword)
    if not isinstance(init, ast.FunctionDef) or init.name != "__init__" or not isinstance(keyword.value, ast.Name):
        return False
    given = init.args.kwarg
    is_given = given is not None and given.arg == keyword.value.id
    return is_given and all(hands_on(module, init, name) for name in TRAINING_ARGUMENTS_CHANGES)

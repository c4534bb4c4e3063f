"""RM701, RM702, RM706: arguments of TrainingArguments that is made out of sight, by hydra or by an HfArgumentParser.

hydra hands every key beside `_target_` to the class (hydra.utils.instantiate). An HfArgumentParser refuses what none of
its classes takes (transformers 5.23, hf_argparser.py): "Some keys are not used by the HfArgumentParser", and of the
command line "Some specified arguments are not used by the HfArgumentParser". Where it is asked to, it passes that over.
"""

import ast
from dataclasses import replace

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.argument_changes import TRAINING_ARGUMENTS_CHANGES, Change
from raymigrate.codemods.libraries.old_transformers import is_for_old_transformers
from raymigrate.codemods.libraries.settings_keys import OPTION, gone_key, gone_keys
from raymigrate.codemods.libraries.shared_keys import others_get_key
from raymigrate.codemods.libraries.unseen_keys import RM706, change_key, change_keyword, may_change, tell_key
from raymigrate.codemods.phases import Phase
from raymigrate.facts.hugging_face.argument_objects import parsed_for_trainers
from raymigrate.facts.projects.files import file_named
from raymigrate.facts.projects.indirect import Parsing, configurations, instantiated, parsings
from raymigrate.facts.projects.settings import mappings
from raymigrate.facts.projects.yaml_files import settings_text
from raymigrate.facts.syntax.guards import is_asked_for
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import argument, is_method_call
from raymigrate.facts.values.carried import carried
from raymigrate.facts.values.keys import Keys, keys_of
from raymigrate.knowledge.legacy import HF_TRAINERS, TRAINING_ARGUMENTS

OF_FILES = ("parse_json_file", "parse_yaml_file")
HYDRA = "What hydra makes this of cannot be seen here: a key that TrainingArguments lost raises a TypeError."


@codemod("_target_", "instantiate", r"\w*Parser", phase=Phase.LIBRARIES)
def indirect_arguments(context: Context) -> None:
    """Changes or tells of the keys that get to TrainingArguments by way of hydra or an HfArgumentParser."""
    module = context.module
    for made in configurations(module, TRAINING_ARGUMENTS):
        _change_keys(context, keys_of(module, made))
    is_old = is_for_old_transformers(context)
    for trainer in module.calls(*HF_TRAINERS) if is_old else ():
        given = argument(trainer, 1, "args")
        for call in instantiated(module, given) if given is not None else ():
            _change_keys(context, Keys(keywords=[(call, keyword) for keyword in call.keywords]))
            if not call.args or module.entries(call.args[0]) is None:
                context.manual(RM706, call, HYDRA)
    for parsing in parsings(module, TRAINING_ARGUMENTS, parsed_for_trainers(module)):
        if is_old or parsing.method in OF_FILES:  # a file that is seen shows itself what it was written for
            _parsing(context, parsing, is_old=is_old)


def _change_keys(context: Context, keys: Keys, parsing: Parsing | None = None) -> None:
    """Gives the keys of a dict their new names, except those that belong to classes of the project."""
    module, what = context.module, _getter(parsing)
    for name, key in keys.strings:
        if (change := _change(name, parsing)) is not None and not is_asked_for(module, key, name):
            sure = not others_get_key(module, key, name, change.name) and may_change(keys, name, change)
            change_key(context, key, name, change, what, sure=sure)
    for call, keyword in keys.keywords:
        if (change := _change(keyword.arg, parsing)) is not None:
            sure = not others_get_key(module, keyword, str(keyword.arg), change.name)
            change_keyword(context, call, keyword, change, what, sure=sure)


def _change(name: str | None, parsing: Parsing | None) -> Change | None:
    """What became of a key that TrainingArguments took, unless a class of the project takes it."""
    change = TRAINING_ARGUMENTS_CHANGES.get(name or "")
    if change is None or parsing is None:
        return change
    outcome = "is ignored today, and no error says so" if parsing.is_lenient else "raises a ValueError today"
    return None if name in parsing.fields else replace(change, outcome=outcome)


def _getter(parsing: Parsing | None) -> str:
    return "TrainingArguments" if parsing is None else f"{parsing.method}() of TrainingArguments"


def _parsing(context: Context, parsing: Parsing, *, is_old: bool) -> None:
    """Changes or tells of what a parser is given; what is not seen is told in scripts for old libraries only."""
    outcome = "are ignored, and no error says so" if parsing.is_lenient else "raise a ValueError"
    what = "What is parsed here cannot be seen"
    if parsing.method in OF_FILES:
        known = _keys_of_file(context, parsing)
        if known is None and is_old:
            context.manual(RM706, parsing.call, f"{what}: keys that TrainingArguments lost {outcome}.")
        elif known:
            lost = (
                "which TrainingArguments lost"
                if TRAINING_ARGUMENTS_CHANGES.keys() >= {*known}
                else "which no class takes today"
            )
            message = f"The file gives {', '.join(known)}, {lost}: such keys {outcome}."
            context.manual(RM706, parsing.call, message, "Change the keys in the file.")
    elif parsing.method == "parse_dict":
        if not _dict(context, parsing):
            context.manual(RM706, parsing.call, f"{what}: keys that TrainingArguments lost {outcome}.")
    else:
        for node, name in _options(context, parsing):
            told = gone_key(name)
            context.manual(told.rule, node, told.message, told.advice)
        if not _are_written(context.module, parsing.given):
            context.manual(RM706, parsing.call, f"{what}: options that TrainingArguments lost {outcome}.")


def _dict(context: Context, parsing: Parsing) -> bool:
    """Changes or tells of the keys of the dict that is parsed; whether it is seen as a whole."""
    if parsing.given is None:
        return False
    keys, found = keys_of(context.module, parsing.given), carried(context.module, parsing.given)
    _change_keys(context, keys, parsing)
    known = {key for _, key in keys.strings} | {keyword for _, keyword in keys.keywords}
    for entry in (entry for entry in found.entries if entry.key not in known):
        change = _change(entry.name, parsing)
        if change is not None and not is_asked_for(entry.module, entry.key, entry.name):
            tell_key(context, entry, parsing.given, change, _getter(parsing))
    return found.whole


def _keys_of_file(context: Context, parsing: Parsing) -> list[str] | None:
    """The keys of a file beside the script that TrainingArguments has lost, or that none of the classes takes.

    None where the file cannot be seen.
    """
    here = context.path if parsing.given is not None else ""
    path = file_named(context.module, parsing.given, here) if here and parsing.given is not None else None
    try:
        text = settings_text(path, context.written_settings) if path is not None else None
    except (OSError, ValueError):
        return None
    if text is None:
        return None
    found = list(mappings(text))
    lost = [key.name for keys in found for key in gone_keys(keys, parsing.fields)]
    top = [key.name for key in found[0]] if found and parsing.taken is not None else []
    return list(dict.fromkeys([*lost, *(name for name in top if name not in (parsing.taken or ()))]))


def _are_written(module: Module, given: ast.expr | None) -> bool:
    """Whether the options that are parsed stand in the file, as a list of words or as a text that is split."""
    if is_method_call(given, "split"):  # of a text, or of shlex
        is_text = module.qualified(given.func) is None
        given = given.func.value if is_text else argument(given, 0, "s")
    return given is not None and module.constant(given) not in (None, ...)


def _options(context: Context, parsing: Parsing) -> list[tuple[ast.Constant, str]]:
    """The options in strings of the module that are for TrainingArguments; a docstring is none."""
    module = context.module
    found = [
        (node, option["name"])
        for node in module.of_type(ast.Constant)
        if isinstance(node.value, str) and not module.is_statement(node)
        for option in OPTION.finditer(node.value)
    ]
    own = {module.constant(flag) for call, _ in module.method_calls("add_argument") for flag in call.args}
    return [(node, name) for node, name in found if name not in parsing.fields and f"--{name}" not in own]

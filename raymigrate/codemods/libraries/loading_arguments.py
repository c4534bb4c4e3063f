"""RM701 and RM702: arguments of `from_pretrained` that were renamed or are gone.

Measured on transformers 5.23: a model's class hands what it does not know to its constructor, a TypeError, also where
the value is None. A configuration, tokenizer or processor takes everything and heeds only what it knows; a tokenizer
keeps a token that it is given as use_auth_token=, and saves it in tokenizer_config.json.
"""

import ast
from collections.abc import Iterator
from dataclasses import replace

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.access_tokens import ARGUMENT as TOKEN
from raymigrate.codemods.libraries.argument_changes import BITS, FROM_PRETRAINED_CHANGES, Change
from raymigrate.codemods.libraries.argument_edits import change_argument
from raymigrate.codemods.libraries.old_transformers import is_for_old_transformers
from raymigrate.codemods.libraries.transformers_arguments import keyword_arguments
from raymigrate.codemods.libraries.unseen_keys import shown, tell_key
from raymigrate.codemods.phases import Phase
from raymigrate.facts.hugging_face.models import PIPELINES, calls_of_classes, is_model_class
from raymigrate.facts.projects.unpacked_options import carried_from_callers
from raymigrate.facts.syntax.guards import is_asked_for
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values.carried import Entry
from raymigrate.facts.values.keys import perhaps_taken_out, taken_out
from raymigrate.facts.values.partials import function_of

METHOD = "from_pretrained"
UNHEEDED = "has no effect today"
NOT_LOADED = "raises a ValueError today, as the model is not loaded,"  # the TypeError is part of its text
OF_MODELS = {**FROM_PRETRAINED_CHANGES, **dict.fromkeys(BITS, Change("quantization_config"))}
READERS = ("get", "pop", "setdefault")


@codemod(METHOD, phase=Phase.LIBRARIES, after=[keyword_arguments])
def loading_arguments(context: Context) -> None:
    """Changes the arguments of every `from_pretrained`, and tells of those that it gets by `**`."""
    calls = [(call, names) for call, *_, names in calls_of_classes(context.module, METHOD)]
    of_library = [(call, names) for call, names in calls if any(map(_is_of_library, names))]
    loads = [(call, any(is_model_class(name) for name in names)) for call, names in of_library]
    held = {call for call, names in of_library if all(map(is_model_class, names))}
    for call, is_model in sorted(loads, key=lambda load: not load[1]):  # of a key for several classes the error is told
        for keyword in call.keywords:
            change = FROM_PRETRAINED_CHANGES.get(keyword.arg or "")
            if keyword.arg is None:
                _tell(context, call, keyword, is_model=is_model)
            elif change is not None and (_is_named(context.module, call) or (call in held and keyword.arg != TOKEN)):
                change_argument(context, call, keyword, change if is_model else replace(change, outcome=UNHEEDED))


@codemod("model_kwargs", phase=Phase.LIBRARIES, after=[keyword_arguments])
def pipeline_arguments(context: Context) -> None:
    """Tells of what a pipeline hands on to the from_pretrained of its model: `pipeline(model_kwargs={...})`."""
    for call in context.module.calls(*PIPELINES):
        for keyword in call.keywords:
            if keyword.arg == "model_kwargs":
                _tell(context, call, keyword, is_model=True, outcome=NOT_LOADED)


def _is_of_library(name: str) -> bool:
    return name.startswith("transformers.") or is_model_class(name)


def _is_named(module: Module, call: ast.Call) -> bool:
    """Whether the class is written where its method is called; of others access_tokens.py renames the token."""
    return module.qualified(function_of(module, call)) is not None


def _tell(context: Context, call: ast.Call, keyword: ast.keyword, *, is_model: bool, outcome: str = "") -> None:
    """Tells of the keys of a dict that a loading function gets, where they are written."""
    found = carried_from_callers(context.module, keyword.value)
    entries = list(found.entries)
    what = shown(context.module, call, keyword)
    unseen = f"{what}, whose dict is not seen here,"
    if is_model and not found.whole and is_for_old_transformers(context):
        out = taken_out(context.module, keyword.value) | perhaps_taken_out(context.module, keyword.value).keys()
        names = FROM_PRETRAINED_CHANGES.keys() - out - {entry.name for entry in entries}
        entries += [entry for name in sorted(names) for entry in _spelled(context.module, name)]
    for entry in entries:
        change = OF_MODELS.get(entry.name) if is_model else FROM_PRETRAINED_CHANGES.get(entry.name)
        if change is not None and not is_asked_for(entry.module, entry.key, entry.name):
            outcome = outcome if is_model else UNHEEDED
            told = replace(change, outcome=outcome) if outcome else change
            tell_key(context, entry, keyword.value, told, what if entry in found.entries else unseen)


def _spelled(module: Module, name: str) -> Iterator[Entry]:
    """The first place where a file names a key: in a dict, where one is read, or as the field of a class.

    Where it cannot be seen what a dict holds, this shows that its settings may have the key.
    """
    for node in module.spelling(name):
        if _is_key(module, node):
            assert isinstance(node, ast.expr)
            yield Entry(module, name, node, node)
            return


def _is_key(module: Module, node: ast.AST) -> bool:
    match module.parent_of[node]:
        case ast.Dict(keys=keys):
            return node in keys
        case ast.Subscript(slice=key):
            return key is node
        case ast.Call(func=ast.Attribute(attr=method), args=[key, *_]):
            return key is node and method in READERS
        case ast.AnnAssign(target=field) as declared:
            return field is node and isinstance(module.parent_of[declared], ast.ClassDef)
    return False

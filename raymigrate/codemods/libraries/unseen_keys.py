"""RM701, RM702 and RM706: keys of dicts that reach a call by `**`; where they come from elsewhere, they are told."""

import ast
from collections.abc import Iterable, Iterator, Mapping

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.argument_changes import ADVICE, NEW_FIRST, Change, is_falsy
from raymigrate.codemods.libraries.argument_edits import change_argument, tell_both
from raymigrate.codemods.libraries.argument_rules import RM701, RM702
from raymigrate.codemods.libraries.old_transformers import is_for_old_transformers
from raymigrate.codemods.libraries.shared_keys import others_get_key
from raymigrate.facts.projects.unpacked_options import carried_from_callers
from raymigrate.facts.ray_tune.tuners import TUNERS, TunerCall
from raymigrate.facts.syntax.guards import is_asked_for
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.named_lines import line_of_file, own_lines
from raymigrate.facts.values import Source, all_arguments, called_name, written
from raymigrate.facts.values.carried import Carried, Entry, carried
from raymigrate.facts.values.dicts import value_of_key
from raymigrate.facts.values.keys import READERS, Keys, keys_of, perhaps_taken_out, taken_out
from raymigrate.knowledge.legacy import TRAINING_ARGUMENTS
from raymigrate.knowledge.libraries import look_up, parameters, takes

RM706 = Rule(
    "RM706",
    "arguments of TrainingArguments that cannot be seen",
    "Arguments that transformers >= 5 removed raise a TypeError, also when they come out of a dict.",
    "Look for evaluation_strategy (now eval_strategy), no_cuda (use_cpu) and the others that `raymigrate explain RM701`"
    " and `raymigrate explain RM702` name.",
    "https://github.com/huggingface/transformers/blob/main/MIGRATION_GUIDE_V5.md",
    errors=(
        "Some keys are not used by the HfArgumentParser",
        "Some specified arguments are not used by the HfArgumentParser",
    ),
)


def change_keys(context: Context, of: ast.Call, keyword: ast.keyword, changes: Mapping[str, Change]) -> None:
    """Changes the keys of a dict that a call unpacks, as far as they are seen.

    Args:
        context: The module.
        of: The call.
        keyword: What is unpacked there.
        changes: What becomes of the arguments that the call takes.
    """
    keys, what = keys_of(context.module, keyword.value), shown(context.module, of, keyword)
    read = {name for name, _ in keys.reads}
    named = {name for name, _ in keys.strings}
    written = [*keys.strings, *((str(inner.arg), inner) for _, inner in keys.keywords)]
    known = [(name, key, changes[name].name) for name, key in written if name in changes]
    shared = {name for name, key, new in known if others_get_key(context.module, key, name, new, of)}
    given = {other.arg for other in of.keywords if other.arg is not None}
    for call, inner in keys.keywords:
        if inner.arg is not None and inner.arg in changes and changes[inner.arg].name in given:
            tell_both(context, inner, inner.arg, changes[inner.arg])
        elif inner.arg is not None and inner.arg in changes:
            change_keyword(context, call, inner, changes[inner.arg], what, sure=inner.arg not in shared)
    for name, key in keys.strings:
        if is_asked_for(context.module, key, name):
            continue
        if (name in changes or not is_taken(context, of, name)) and not (keys.hidden and name in read):
            change = changes.get(name, Change())
            if change.name in given or (change.beside is not None and change.name in named):
                tell_both(context, key, name, change)
                continue
            sure = name not in keys.read_in_text and change.name not in named and name not in shared
            change_key(context, key, name, change, what, sure=sure and may_change(keys, name, change))
    for name, key in [] if keys.hidden else keys.reads:  # a key that comes from elsewhere keeps its name
        if name in changes and name not in shared and name not in keys.read_in_text and _is_renamed(changes[name]):
            change_key(context, key, name, changes[name], what)


def _is_renamed(change: Change) -> bool:
    return change.name is not None and change.value is None


def may_change(keys: Keys, name: str, change: Change) -> bool:
    """Whether a key of a dict may change: with another value too only where one place gives it, and none reads it."""
    named = [other for other, _ in (*keys.strings, *keys.reads)]
    return change.value is None or (named.count(name) == 1 and name not in keys.read_in_text)


def change_key(context: Context, key: ast.expr, name: str, change: Change, what: str, *, sure: bool = True) -> None:
    """Changes a key of a dict that becomes keyword arguments, or tells of it.

    Args:
        context: The module.
        key: The key.
        name: What it is.
        change: What becomes of the argument.
        what: The call that gets it, as messages name it.
        sure: Whether nothing else depends on the key.
    """
    value = None if _is_renamed(change) else value_of_key(context.module, key)
    template = _new_value(change, value) if value is not None else ""
    is_seen = isinstance(key, ast.Constant) and (_is_renamed(change) or template)
    if change.name is None or not sure or not is_seen:
        _left(context, key, name, change, f"{name}= {change.outcome} where {what} gets it")
    elif context.converts(RM701, key, f"{name}= {change.outcome}; now {change.name}=."):
        quote = context.module.source(key)[-1:]
        context.plan.replace(key, f"{quote}{change.name}{quote}")
        if value is not None:
            context.plan.replace(value, template, value=value)


def _new_value(change: Change, value: ast.expr) -> str:
    """What a switch becomes, as a template with its old value; empty for what is no switch, or depends on others."""
    if change.value is None or change.otherwise is None or change.beside is not None:
        return ""
    known = written(value)
    if known is ...:
        return f"{change.value} if $value else {change.otherwise}"
    return change.value if change.only_if(known) else change.otherwise if is_falsy(known) else ""


def change_keyword(
    context: Context, call: ast.Call, keyword: ast.keyword, change: Change, what: str, *, sure: bool
) -> None:
    """Does what `change_key` does for a keyword argument of `dict(...)` or `update(...)`."""
    name = str(keyword.arg)
    if sure:
        change_argument(context, call, keyword, change)
    else:
        _left(context, keyword, name, change, f"{name}= {change.outcome} where {what} gets it")


def tell_unpacked(
    context: Context, of: ast.Call, keyword: ast.keyword, names: frozenset[str], changes: Mapping[str, Change]
) -> None:
    """Reports the keys behind `TrainingArguments(**arguments)` that come from elsewhere, and says what is not seen.

    What else reads those dicts cannot be seen, so the keys stay.

    Args:
        context: The module.
        of: The call.
        keyword: What is unpacked there.
        names: The classes of which one is called, or made something from.
        changes: What becomes of the arguments that it takes.
    """
    keys = keys_of(context.module, keyword.value)
    found = _unpacked(context, of, keyword, keys)
    told = refused(context, of, found.entries, changes)
    for entry in told:
        tell_key(context, entry, keyword.value, changes.get(entry.name, Change()), shown(context.module, of, keyword))
    if names is TRAINING_ARGUMENTS and keys.hidden and not found.whole and is_for_old_transformers(context):
        advice = RM706.fix
        for change in (changes[other.arg] for other in of.keywords if other.arg is not None and other.arg in changes):
            if change.beside == NEW_FIRST and change.name not in {entry.name for entry in found.entries}:
                advice += (
                    f" It must not hold {change.name} either, which the call has now: together they raise a TypeError."
                )
        context.manual(RM706, keyword, f"What {'else ' if told else ''}is passed with ** cannot be seen here.", advice)


def shown(module: Module, call: ast.Call, keyword: ast.keyword) -> str:
    """How messages name a call with an argument: `TrainingArguments(**arguments)`, with the class if the call hides it.

    Args:
        module: The module.
        call: The call.
        keyword: The argument.
    """
    given = keyword.value
    if isinstance(given, ast.Dict) and given.keys.count(None) == 1:  # `{"use_cpu": True, **arguments}` is converted
        given = given.values[given.keys.index(None)]
    is_short = isinstance(given, (ast.Name, ast.Attribute)) or (isinstance(given, ast.Call) and not given.args)
    text = f"**{ast.unparse(given) if is_short else '...'}" if keyword.arg is None else f"{keyword.arg}="
    text = f"{ast.unparse(call.func)}({text})"
    if module.qualified(call.func) is not None or not isinstance(call.func, ast.Name):
        return text
    held = [name for source in module.origins(call.func) if (name := source.module.qualified(source.node))]
    class_name = next((name for name in held if name in TRAINING_ARGUMENTS), held[0] if held else "")
    return f"{class_name.rpartition('.')[2]}, as {text}," if class_name else text


def tell_key(context: Context, entry: Entry, given: ast.expr, change: Change, what: str) -> None:
    """Tells of a key that a call refuses: where it is written, or where it is unpacked if another file writes it.

    Args:
        context: The module.
        entry: The entry.
        given: The dict that the call gets.
        change: What became of the argument.
        what: The call, as messages name it.
    """
    is_here = entry.module is context.module
    if is_here and _is_dealt_with(context, entry.key):
        return
    taker = perhaps_taken_out(context.module, given).get(entry.name)
    unless = f", unless {own_lines(context.module, taker)} takes it out" if taker is not None else ""
    written = "" if is_here else f", which {line_of_file(entry.module, entry.key)} writes,"
    message = f"{entry.name}={written} {change.outcome} where {what} gets it{unless}"
    _left(context, entry.key if is_here else given, entry.name, change, message)


def _left(context: Context, place: ast.AST, name: str, change: Change, message: str) -> None:
    """Leaves a key to a person."""
    if change.name is None:
        context.manual(RM702, place, f"{message}.", ADVICE.get(name, "Drop the key, or write what replaces it."))
    else:
        context.manual(
            RM701, place, f"{message}; {change.name}= took its place.", "Change the key wherever it is used."
        )


def _is_dealt_with(context: Context, key: ast.AST) -> bool:
    """Whether a key was changed or told of where another call gets it."""
    line, column = context.module.start(key)
    codes = (RM701.code, RM702.code)
    return any(found.column == column + 1 and found.code in codes for found in context.findings_on(line))


def _unpacked(context: Context, of: ast.Call, keyword: ast.keyword, keys: Keys) -> Carried:
    """What a call unpacks, without the keys that are dealt with where the dict has its name.

    Args:
        keyword: What is unpacked there.
        keys: What is known of the dict.
    """
    module = context.module
    whole = carried_from_callers(module, keyword.value)
    searched = _searched(module, whole, taken_out(module, keyword.value))
    read = {name for name, _ in keys.reads} if keys.hidden else set()  # a key that is read keeps its name
    known = {key for name, key in keys.strings if name not in read} | {inner for _, inner in keys.keywords}
    given = {other.arg for other in of.keywords}  # what is given twice was always a TypeError
    entries = dict.fromkeys((*whole.entries, *searched))
    left = (entry for entry in entries if entry.key not in known and entry.name not in given)
    return Carried(tuple(left), whole.whole, whole.ends)


def _searched(module: Module, unpacked: Carried, taken: set[str]) -> Iterator[Entry]:
    """The entries that the search spaces of Tuners give to what may be the configuration of an init function."""
    spaces = (TunerCall(module, call).param_space or {} for call in module.calls(*TUNERS))
    for space in (space["trainer_init_config"] for space in spaces if "trainer_init_config" in space):
        for end in unpacked.ends:
            found = _of_space(end, carried(module, space).entries)
            yield from (entry for entry in found if entry.name not in taken)


def _of_space(end: Source, space: tuple[Entry, ...]) -> tuple[Entry, ...]:
    """The entries of a search space that a dict may hold: those of the configuration, or of one value in it.

    Args:
        end: Where the dict comes from, as far as that could be followed.
        space: The entries of the search space.
    """
    module, node = end.module, end.node
    read = _read_key(node)
    if read is None:
        if not _may_be_configuration(module, node):
            return ()
        return tuple(entry for entry in space if entry.name not in taken_out(module, node))
    owner, key = read
    entries = (entry for source in module.origins(owner) for entry in _of_space(source, space))
    named = [entry for entry in entries if entry.name == module.constant(key)]
    return tuple(inner for entry in named for inner in carried(entry.module, entry.value).entries)


def _read_key(node: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """The dict and the key in `config["key"]` and `config.get("key")`; None of anything else."""
    match node:
        case ast.Subscript(value=owner, slice=key):
            return owner, key
        case ast.Call(func=ast.Attribute(value=owner, attr=method), args=[key, *_]) if method in READERS:
            return owner, key
    return None


def _may_be_configuration(module: Module, node: ast.expr) -> bool:
    """Whether a value may be the configuration of an init function: a parameter, an attribute, or made of one."""
    if not isinstance(node, ast.Call):
        return True
    given = (part for value in all_arguments(node) for part in ast.walk(value))
    of = [node.func.value] if isinstance(node.func, ast.Attribute) else []
    return any(_is_parameter(module, part) for part in [*given, *of])


def _is_parameter(module: Module, node: ast.AST) -> bool:
    if isinstance(node, ast.Name):
        return isinstance(module.definition(node), ast.arg)
    return isinstance(node, ast.Attribute) and module.qualified(node) is None


def refused(context: Context, of: ast.Call, entries: Iterable[Entry], changes: Mapping[str, Change]) -> list[Entry]:
    """The entries that a call refuses today, but those that are there only if it takes them.

    Args:
        context: The module.
        of: The call.
        entries: What it unpacks.
        changes: What became of the arguments that the call took.
    """
    found = (entry for entry in entries if entry.name in changes or not is_taken(context, of, entry.name))
    return [entry for entry in found if not is_asked_for(entry.module, entry.key, entry.name)]


def is_taken(context: Context, call: ast.Call, argument: str) -> bool:
    """Whether what a call calls takes an argument today, or is not known.

    Args:
        context: The module.
        call: The call.
        argument: The argument.
    """
    given = parameters(look_up(called_name(context.module, call)))
    return given is None or takes(given, argument)

"""RM706: keys of a dict that reach TrainingArguments by `**`, as far as they come from elsewhere."""

import ast
from collections.abc import Iterable, Mapping

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.argument_changes import Change
from raymigrate.facts.keys import Keys, perhaps_taken_out, taken_out, unpacked_by_callers
from raymigrate.facts.module import Module
from raymigrate.facts.tuners import TUNERS, TunerCall
from raymigrate.facts.values import Source, seen_entries
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


def tell_unseen(
    context: Context, of: ast.Call, keyword: ast.keyword, keys: Keys, changes: Mapping[str, Change]
) -> None:
    """Reports keys that may come from elsewhere, and that the call refuses today.

    Args:
        context: The module.
        of: The call.
        keyword: What is unpacked there.
        keys: What is known of the dict.
        changes: What became of the arguments that the call took.
    """
    read = {name for name, _ in keys.reads}
    handed = unpacked_by_callers(context.module, keyword.value)  # converted code calls the init function so
    sources = [(value, source) for value in handed or [keyword.value] for source in context.module.origins(value)]
    seen = [_still_in(context.module, value, source) for value, source in sources] + _searched(context.module)
    taken = taken_out(context.module, keyword.value) - {name for name, _ in keys.strings}
    taken |= {str(inner.arg) for _, inner in keys.keywords}  # these were dealt with above
    taken |= {name for name, _ in keys.strings if name not in read}
    taken |= {str(given.arg) for given in of.keywords}  # what is given twice was always a TypeError
    left = dict.fromkeys(name for known in seen for name in known if name not in taken)
    passed = _refused_keys(context, of, left, changes)
    unseen = any(source.module.entries(source.node) is None for _, source in sources)
    if passed:
        others = "; other keys cannot be seen here" if unseen else ""
        first = passed[0].partition(" ")[0]
        line = perhaps_taken_out(context.module, keyword.value).get(first) if len(passed) == 1 else None
        where = f" where line {line} does not take it out" if line is not None else ""
        message = f"** may pass {', '.join(passed)}: a TypeError today{where}{others}."
        context.manual(RM706, keyword, message, "Change the keys in the dict, and wherever they are read.")
    elif unseen:
        context.manual(RM706, keyword, "What is passed with ** cannot be seen here.")


def _still_in(module: Module, unpacked: ast.expr, source: Source) -> dict[str, ast.expr]:
    """The entries of a dict that it still has where it is unpacked."""
    out = taken_out(module, unpacked)
    return {name: value for name, value in seen_entries(source.module, source.node).items() if name not in out}


def _searched(module: Module) -> list[dict[str, ast.expr]]:
    """The entries that the search spaces of Tuners give to the configuration of an init function."""
    spaces = (TunerCall(module, call).param_space or {} for call in module.calls(*TUNERS))
    return [seen_entries(module, space["trainer_init_config"]) for space in spaces if "trainer_init_config" in space]


def _refused_keys(context: Context, of: ast.Call, names: Iterable[str], changes: Mapping[str, Change]) -> list[str]:
    """The keys of dicts that may get to a call by `**` and that it refuses, each with its new name.

    Whoever else reads those dicts cannot be seen, so that the keys stay.
    """
    refused = [name for name in names if name in changes or not is_taken(context, of, name)]
    new = {name: changes[name].name for name in refused if name in changes}
    return [f"{name} (now {new[name]})" if new.get(name) else name for name in refused]


def is_taken(context: Context, call: ast.Call, argument: str) -> bool:
    """Whether what a call calls takes an argument today, or is not known.

    Args:
        context: The module.
        call: The call.
        argument: The argument.
    """
    given = parameters(look_up(context.module.qualified(call.func) or ""))
    return given is None or takes(given, argument)

"""RM701 and RM702 in settings: keys for TrainingArguments in YAML and JSON files, and options on command lines.

What reads them is not converted with them, so that they are told and stay.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from raymigrate.base.findings import Rule
from raymigrate.codemods.libraries.argument_changes import ADVICE, SWITCHED_OFF, TRAINING_ARGUMENTS_CHANGES
from raymigrate.codemods.libraries.argument_rules import RM701, RM702
from raymigrate.facts.legacy import TRAINING_ARGUMENTS
from raymigrate.facts.settings import TARGET, Key
from raymigrate.knowledge.libraries import look_up, parameters

GONE = tuple(TRAINING_ARGUMENTS_CHANGES)
# An option of a command line, or an override of hydra: `--no_cuda`, `trainer.no_cuda=true`.
OPTION = re.compile(rf"(?:(?<!\S)--|(?<=[\w+~]\.))(?P<name>{'|'.join(GONE)})(?![\w-])")
SWITCHES = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False, "null": None, "~": None}


@dataclass(frozen=True)
class Told:
    """What there is to say of a key.

    Args:
        rule: The rule that it is for.
        message: What happens.
        advice: What to do.
    """

    rule: Rule
    message: str
    advice: str


def gone_key(name: str, value: str | None = None, *, sure: bool = True) -> Told:
    """What to say of a key that TrainingArguments does not take any more.

    Args:
        name: The key.
        value: Its value as it is written; None where it is not seen.
        sure: Whether it gets to TrainingArguments for sure.
    """
    change = TRAINING_ARGUMENTS_CHANGES[name]
    given = SWITCHES.get(value.lower(), ...) if value is not None else ...
    refused = f"TrainingArguments refuses {name} today{'' if sure else ', if it gets this'}"
    if change.name is None or (name in SWITCHED_OFF and given is not ... and not given):
        advice = ADVICE.get(name, "Drop it, or write what replaces it.") if change.name is None else "Drop it."
        return Told(RM702, f"{refused}.", advice)
    new = f"{change.name}"
    if change.value is not None:
        held = change.value.replace("$value", value or "...")
        new = f"{new}: {held}" if change.only_if(given) else f"{new}: {held} where it is true"
    return Told(RM701, f"{refused}; {change.name} took its place.", f"Write {new}, also where the key is read.")


def is_for_training(keys: Sequence[Key]) -> bool | None:
    """Whether a mapping is for TrainingArguments: True if it says so, None if its keys are like theirs."""
    target = next((key.value for key in keys if key.name == TARGET), "TrainingArguments")
    if target in TRAINING_ARGUMENTS:
        return True
    named = {key.name for key in keys}
    is_alike = len(named & _taken()) > 1 or named <= _taken()
    return None if is_alike and (target or "").endswith("TrainingArguments") else False


def gone_keys(keys: Sequence[Key], own: Collection[str] = ()) -> Iterator[Key]:
    """The keys of a mapping that TrainingArguments has lost, without those that classes of the project take."""
    yield from (key for key in keys if key.name in TRAINING_ARGUMENTS_CHANGES and key.name not in own)


def _taken() -> set[str]:
    """What TrainingArguments takes, or took."""
    return {*GONE, *(parameters(look_up("transformers.TrainingArguments")) or ())}

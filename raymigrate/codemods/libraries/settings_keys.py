"""RM701 and RM702 in settings: keys for TrainingArguments in YAML and JSON files, and options on command lines.

Where all classes are seen that a parser makes of a file, so is every other key that none of them takes.

What reads them is not converted with them, so that they are told and stay.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from raymigrate.base.expressions import lazy_regex
from raymigrate.base.findings import Rule
from raymigrate.codemods.libraries.argument_changes import (
    ADVICE,
    SWITCHED_OFF,
    TRAINING_ARGUMENTS_CHANGES,
    TRL_CHANGES,
    Change,
)
from raymigrate.codemods.libraries.argument_rules import RM701, RM702
from raymigrate.facts.projects.settings import TARGET, Key
from raymigrate.knowledge.legacy import TRAINING_ARGUMENTS
from raymigrate.knowledge.libraries import look_up, parameters

GONE = tuple(TRAINING_ARGUMENTS_CHANGES)
# An option of a command line, or an override of hydra: `--no_cuda`, `trainer.no_cuda=true`.
OPTION = lazy_regex(rf"(?:(?<!\S)--|(?<=[\w+~]\.))(?P<name>{'|'.join(GONE)})(?![\w-])")
SWITCHES = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False, "null": None, "~": None}


# Of the keys that only classes of trl lost: what took their place, which tells a file for them by its keys as well.
KEYS_OF_TRL = {**TRL_CHANGES, "torch_dtype": Change("dtype"), "max_prompt_length": Change()}
PARSER_TAKES = ("env",)  # variables of the environment, in a file that trl's parser reads


@dataclass(frozen=True)
class FileParser:
    """A parser that makes objects of what a settings file holds.

    Args:
        script: The name of the script that has it.
        taken: What its classes take today.
        is_lenient: Whether it passes over what none of them takes.
    """

    script: str
    taken: frozenset[str]
    is_lenient: bool


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


def gone_keys(keys: Sequence[Key], own: Collection[str]) -> Iterator[Key]:
    """The keys of a mapping that TrainingArguments has lost, without those that classes of the project take."""
    yield from (key for key in keys if key.name in TRAINING_ARGUMENTS_CHANGES and key.name not in own)


def refused_keys(keys: Sequence[Key], parsers: Iterable[FileParser]) -> Iterator[tuple[Key, Told]]:
    """The keys of a file that no class of the parser that it is for takes today, with what to say of each.

    Which parser that is, its keys tell: most of them have to be known there. Of several, that one that takes most.

    Args:
        keys: The keys at the top of the file.
        parsers: The parsers that it may be for.
    """
    left = {parser: [key for key in keys if key.name not in parser.taken] for parser in parsers}
    fitting = {parser: others for parser, others in left.items() if _fits(keys, others)}
    fewest = min(map(len, fitting.values()), default=0)
    best = {parser: others for parser, others in fitting.items() if len(others) == fewest}
    for key in keys:
        if best and all(key in others for others in best.values()) and key.name not in PARSER_TAKES:
            yield key, _refused_key(key, list(best))


def _fits(keys: Sequence[Key], others: Sequence[Key]) -> bool:
    """Whether keys are for a parser that does not know some of them today."""
    strange = [key for key in others if key.name not in KEYS_OF_TRL and key.name not in TRAINING_ARGUMENTS_CHANGES]
    return len(keys) - len(others) > 1 and 3 * len(strange) <= len(keys)


def _refused_key(key: Key, parsers: Sequence[FileParser]) -> Told:
    """What to say of a key that these parsers refuse."""
    change = {**TRAINING_ARGUMENTS_CHANGES, **KEYS_OF_TRL}.get(key.name, Change())
    scripts = sorted({parser.script for parser in parsers})
    is_lenient = all(parser.is_lenient for parser in parsers)
    if len(scripts) == 1:
        happens = f"passes {key.name} over" if is_lenient else f"ends with a ValueError for {key.name}"
        whose = "its"
    else:
        happens = f"pass {key.name} over" if is_lenient else f"end with a ValueError for {key.name}"
        whose = "their"
    message = f"{' and '.join(scripts)} {happens}: none of {whose} classes takes it"
    if change.name is None or not all(change.name in parser.taken for parser in parsers):
        return Told(RM702, f"{message}.", ADVICE.get(key.name, "Drop it, or write what replaces it."))
    advice = f"Write {change.name}, also where the key is read."
    if not change.only_if(SWITCHES.get((key.value or "").lower(), ...)):
        advice = f"{key.value} stood for another value; {advice}"
    return Told(RM701, f"{message}; {change.name} took its place.", advice)


def _taken() -> set[str]:
    """What TrainingArguments takes, or took."""
    return {*GONE, *(parameters(look_up("transformers.TrainingArguments")) or ())}

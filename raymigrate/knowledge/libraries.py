"""What the current libraries offer: modules, names, parameters, and the attributes of objects.

The tables in `raymigrate/knowledge/tables` are complete, so that a name that is not in them is gone. They are read from
the pinned wheels by `scripts/generate_library_tables.py`, whose docstring describes the lines. A table is read when a
file first uses its library, and only the lines that are asked for are taken apart.
"""

import importlib
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from raymigrate.base.expressions import lazy_regex

TABLES = Path(__file__).parent / "tables"
LIBRARIES = ("ray", "transformers", "accelerate", "datasets", "evaluate", "huggingface_hub", "peft", "trl")
MODELS = "transformers.models"
APART = (MODELS, "ray.rllib")  # what these hold has tables of its own: few scripts go there
ANY_KEYWORD = "**"
WHATEVER = "!"  # after a parameter that is refused, even if it is None
IF_TRUE = "?"  # after one that is refused if it is true
# What transformers makes only for who asks for it by name, `_LazyModule.__getattr__`: names of old, for other classes.
LISTED_FAST = (
    "Bart|CodeLlama|Cpm|DPRContextEncoder|DPRQuestionEncoder|DPRReader|DistilBert|FNet|LayoutLMv3|Llama|MarkupLM"
    "|MobileBert|PreTrained|RoFormer|Roberta|SqueezeBert"
)
MADE_ON_REQUEST = lazy_regex(
    rf"transformers\.(?:(?!(?:{LISTED_FAST})TokenizerFast)\w+(?:Tokenizer|ImageProcessor)Fast"
    r"|(?:Electra|LED|LayoutLM|Longformer|Lxmert|Mvp|Phi3)Tokenizer)"
)


@dataclass(frozen=True)
class Member:
    """An attribute or a method of a class.

    Args:
        kind: The class of its value, or of what a call of the method gives; empty if unknown.
        parameters: The parameters of a method; None for an attribute.
    """

    kind: str = ""
    parameters: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Class:
    """A class of a library.

    Args:
        parameters: Those of its constructor; None where it has the constructor of a base.
        bases: Qualified names.
        members: What the class itself has; None if that cannot be seen.
    """

    parameters: tuple[str, ...] | None
    bases: tuple[str, ...]
    members: dict[str, Member] | None


@dataclass(frozen=True)
class Function:
    """A function of a library: its parameters, and the class of what it gives."""

    parameters: tuple[str, ...]
    kind: str


@cache
def _table(name: str) -> dict[str, str]:
    """The lines of a table: what comes before the first tab, and what after it."""
    text = (TABLES / f"{name}.txt").read_text(encoding="utf-8")
    return {start: rest for start, _, rest in (line.partition("\t") for line in text.splitlines())}


def _line(kind: str, qualified: str) -> str | None:
    apart = next((package for package in APART if qualified.startswith(f"{package}.")), None)
    return _table(apart or qualified.partition(".")[0]).get(f"{kind} {qualified}")


@cache
def _common() -> frozenset[str]:
    """Names that many models import from elsewhere, which the lines of models leave out."""
    return frozenset(_table(MODELS)["*"].split())


@cache
def version(library: str) -> str:
    """The version that a table describes."""
    return _table(library)["V"]


@cache
def _names(module: str) -> dict[str, str] | None:
    """The names of a module with the place where each is defined; None if there is no such module."""
    line = _line("M", module)
    if line is None:
        return None
    found = {}
    for entry in line.split():
        name, elsewhere, place = entry.partition("@")
        if not elsewhere:
            name, elsewhere, place = entry.partition("=")
            found[name] = place or f"{module}.{name}"
        else:
            found[name] = f"{place}.{name}"
    return found


def modules(library: str) -> list[str]:
    """The modules of a library whose names are known."""
    tables = [library, *(package for package in APART if package.startswith(f"{library}."))]
    return [start[2:] for table in tables for start in _table(table) if start.startswith("M ")]


def is_module(name: str) -> bool:
    """Whether a module is there."""
    return _line("M", name) is not None or is_closed_to_view(name)


def is_closed_to_view(module: str) -> bool:
    """Whether a module is there, or may be, and the tables do not say what it holds."""
    parts = module.split(".")
    return any(_line("?", ".".join(parts[:length])) is not None for length in range(1, len(parts) + 1))


@cache
def class_of(qualified: str) -> Class | None:
    """A class by the place where it is defined; None if it is not described."""
    line = _line("C", qualified) if qualified.partition(".")[0] in LIBRARIES else None
    if line is None:
        return None
    parameters, bases, members = line.split("\t")
    return Class(
        None if parameters == "-" else _listed(parameters),
        tuple(bases.split()),
        None if members == "?" else dict(_member(text) for text in members.split()),
    )


def _member(text: str) -> tuple[str, Member]:
    name, is_method, rest = text.partition("(")
    if is_method:
        parameters, _, kind = rest.rpartition(")")
        return name, Member(kind, _listed(parameters))
    name, _, kind = text.partition(":")
    return name, Member(kind)


def _listed(parameters: str) -> tuple[str, ...]:
    return tuple(parameters.split(",")) if parameters else ()


@cache
def function_of(qualified: str) -> Function | None:
    """A function by the place where it is defined; None if it is not described."""
    line = _line("F", qualified) if qualified.partition(".")[0] in LIBRARIES else None
    if line is None:
        return None
    parameters, kind = line.split("\t")
    return Function(_listed(parameters), kind)


@cache
def lineage(qualified: str) -> tuple[str, ...]:
    """A class and its bases, in the order in which Python looks for attributes."""
    known = class_of(qualified)
    below = [name for base in known.bases for name in lineage(base)] if known else []
    return (qualified, *reversed(dict.fromkeys(reversed(below))))


@cache
def derived(qualified: str) -> tuple[str, ...]:
    """The classes that the library of a class makes from it."""
    lines = _table(qualified.partition(".")[0]).items()
    below = [start[2:] for start, rest in lines if start[:2] == "C " and qualified in rest.split("\t")[1].split()]
    return (*below, *(name for made in below for name in derived(made)))


def member(kind: str, name: str) -> Member | None:
    """An attribute of the objects of a class.

    Args:
        kind: The class, by the place where it is defined.
        name: The attribute.

    Returns:
        The attribute; an empty one where it cannot be seen whether it is there; None if it is not.
    """
    seen_whole = True
    for place in lineage(kind):
        described = class_of(place)
        if described is None or described.members is None:
            if described is not None or place.partition(".")[0] in LIBRARIES or not _is_plain(place):
                seen_whole = False
            elif any(name in vars(base) for base in _standard_class(place).__mro__):
                return Member()  # hasattr() would miss `value` and `name` of an Enum, which only its members have
        if described is not None and described.members and name in described.members:
            return described.members[name]
    is_special = name.startswith("__") and name.endswith("__")
    return None if seen_whole and not is_special else Member()


def _standard_class(qualified: str) -> type:
    """A class of the standard library; ImportError or AttributeError where there is none."""
    module, _, name = qualified.rpartition(".")
    if module.partition(".")[0] not in sys.stdlib_module_names:  # torch would be imported, which takes a second
        raise ImportError(f"{qualified} is not of the standard library")
    found = getattr(importlib.import_module(module), name)
    if not isinstance(found, type):
        raise AttributeError(f"{qualified} is not a class")
    return found


def _is_plain(qualified: str) -> bool:
    """Whether a class of the standard library has just the attributes that can be asked of it."""
    try:
        standard = _standard_class(qualified)
    except (ImportError, AttributeError):
        return False
    return not any("__getattr__" in vars(base) for base in standard.__mro__)


def constructor(kind: str) -> tuple[str, ...] | None:
    """The parameters of a class; None if unknown."""
    for place in lineage(kind):
        described = class_of(place)
        if described is None:
            return None
        if described.parameters is not None:
            return described.parameters
    return None


@dataclass(frozen=True)
class Refusal:
    """What raises an error although it is there.

    Args:
        parameters: Those of which one has to be given; empty if every call raises.
        even_none: Those that are refused whatever they are given, None too.
        if_true: Those that are refused only if they are true.
        errors: The exceptions, "DeprecationWarning", "RuntimeError": one, or one for each parameter that has its own.
        advice: What the library says to do instead; may be empty.
    """

    parameters: frozenset[str]
    even_none: frozenset[str]
    if_true: frozenset[str]
    errors: Mapping[str, str]
    advice: str

    def error_of(self, given: Collection[str] = ()) -> str:
        """What a call raises that is given some of the parameters: the function looks at them in this order."""
        return next(error for parameter, error in self.errors.items() if parameter in given or not self.parameters)


@dataclass(frozen=True)
class Answer:
    """What a qualified name stands for.

    Args:
        gone: The shortest part of it that is not there; None if all is there, or unknown.
        place: Where a module, class or function is defined; empty if unknown.
        method: The method of the class `place`, where the name is of one.
    """

    gone: str | None = None
    place: str = ""
    method: Member | None = None


UNKNOWN = Answer()
# Modules whose functions are methods of one object: `create_repo = api.create_repo`.
BOUND = dict.fromkeys(("huggingface_hub", "huggingface_hub.hf_api"), "huggingface_hub.hf_api.HfApi")


@cache
def look_up(qualified: str) -> Answer:
    """What a qualified name stands for, such as `ray.train.RunConfig` or `ray.data.Dataset.map_batches`."""
    library, _, rest = qualified.partition(".")
    if library not in LIBRARIES:
        return UNKNOWN
    place = library
    parts = rest.split(".") if rest else []
    for number, part in enumerate(parts):
        if is_closed_to_view(place):
            return UNKNOWN
        gone = ".".join([library, *parts[: number + 1]])
        names = _names(place)
        if names is None:
            return _member_of_class(place, parts[number:], gone)
        # A package may give the name of a module of its own to something in it: `from .csv import csv`.
        is_package = number + 1 < len(parts) and is_module(f"{place}.{part}.{parts[number + 1]}")
        if part in names and not is_package:
            place = names[part]
        elif is_module(f"{place}.{part}"):
            place = f"{place}.{part}"
        elif part.startswith("__") or part == "*" or ("*" in names and part in _common()):
            return UNKNOWN
        else:
            return Answer(gone=gone)
        if not _is_described(place):
            module, _, name = place.rpartition(".")
            method = member(BOUND[module], name) if module in BOUND and number + 1 == len(parts) else None
            return Answer(None, BOUND[module], method) if method and method.parameters is not None else UNKNOWN
    return Answer(place=place)


def _is_described(place: str) -> bool:
    return place.partition(".")[0] in LIBRARIES and (
        is_module(place) or class_of(place) is not None or function_of(place) is not None
    )


def _member_of_class(kind: str, parts: list[str], gone: str) -> Answer:
    """A name below a class: `from_dict` of `ray.train.Checkpoint.from_dict`."""
    if class_of(kind) is None or hasattr(type, parts[0]):
        return UNKNOWN
    found = member(kind, parts[0])
    if found is None:
        return Answer(gone=gone)
    return Answer(place=kind, method=found) if len(parts) == 1 and found.parameters is not None else UNKNOWN


def parameters(answer: Answer) -> tuple[str, ...] | None:
    """The parameters of what a name stands for; None if it cannot be called, or that is unknown."""
    if answer.method is not None:
        return answer.method.parameters
    if (function := function_of(answer.place)) is not None:
        return function.parameters
    return constructor(answer.place) if class_of(answer.place) is not None else None


def takes(given: tuple[str, ...], keyword: str) -> bool:
    """Whether parameters take a keyword."""
    by_keyword = given[given.index("/") + 1 :] if "/" in given else given
    return keyword in by_keyword or ANY_KEYWORD in given


def result(answer: Answer) -> str:
    """The class of what a call of a name gives; empty if unknown."""
    if answer.method is not None:
        return answer.method.kind
    if (function := function_of(answer.place)) is not None:
        # transformers annotates tensors with TensorType, the enum of their kinds.
        return "" if "enum.Enum" in lineage(function.kind) else function.kind
    return answer.place if class_of(answer.place) is not None else ""


@cache
def _refusal(place: str) -> Refusal | None:
    line = _line("R", place) if place.partition(".")[0] in LIBRARIES else None
    if line is None:
        return None
    given, error, advice = line.split("\t")
    names = _listed(given)
    whatever, if_true = (
        frozenset(name.removesuffix(mark) for name in names if name.endswith(mark)) for mark in (WHATEVER, IF_TRUE)
    )
    plain = [name.rstrip(WHATEVER + IF_TRUE) for name in names]
    several = error.split(",")
    errors = dict(zip(plain or [""], several if len(several) > 1 else several * (len(plain) or 1), strict=True))
    return Refusal(frozenset(plain), whatever, if_true, errors, advice)


def refusal(place: str, method: str = "") -> Refusal | None:
    """What a class, a function or a method refuses to do; None if nothing is known of that.

    Args:
        place: Where the class or function is defined.
        method: The method of the class, if that is what is called.
    """
    for base in lineage(place):
        if (found := _refusal(f"{base}.{method}" if method else base)) is not None:
            return found
        if method and (known := class_of(base)) is not None and known.members and method in known.members:
            return None
    return None


@cache
def names_of(module: str) -> frozenset[str]:
    """The public names of a module: what `from module import *` may bring in."""
    return frozenset(name for name in _names(module) or () if not name.startswith("_"))


def is_made_on_request(qualified: str) -> bool:
    """Whether only an import of its own brings a name in: no star import does, which takes what `__all__` lists."""
    return MADE_ON_REQUEST.fullmatch(qualified) is not None and look_up(qualified).gone is None


def refused(library: str) -> list[str]:
    """The classes, functions and methods of a library that refuse a call, always or for an argument."""
    return [start[2:] for start in _table(library) if start.startswith("R ")]

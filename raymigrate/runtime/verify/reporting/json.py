"""The report for programs: one JSON document that holds everything. Its keys are a contract, numbered by SCHEMA."""

from __future__ import annotations

import json
import math
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from raymigrate.runtime.verify.reporting.wording import headline, outcome, overall, verdict
from raymigrate.runtime.verify.results import Comparison, Gate, Verification

SCHEMA = 1


def json_text(verification: Verification) -> str:
    """Everything as JSON; what is derived from the rest ("status", "verdict", "passed") stands with it.

    Only ASCII is written, and numbers that JSON does not know as "NaN", "Infinity" and "-Infinity".
    """
    document = {"schema": SCHEMA, **_plain(verification)}
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def json_verification(text: str) -> Verification:
    """Reads a report back.

    Raises:
        ValueError: If the text is not a report, or one of another schema.
    """
    document = json.loads(text)
    if not isinstance(document, dict) or "schema" not in document:
        raise ValueError("This is not a JSON report of `raymigrate verify`.")
    if document["schema"] != SCHEMA:
        raise ValueError(f"The report has schema {document['schema']!r}; this version reads {SCHEMA}.")
    read = _read(Verification, document, "report")
    assert isinstance(read, Verification)
    return read


def _plain(value: Any) -> Any:
    """Data classes as dictionaries, and the rest as JSON has it."""
    if is_dataclass(value):
        return {**{field.name: _plain(getattr(value, field.name)) for field in fields(value)}, **_derived(value)}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def _derived(value: Any) -> dict[str, Any]:
    """What readers need and would have to work out; it is not read back."""
    if isinstance(value, Gate):
        return {"status": value.status.value}
    if isinstance(value, Comparison):
        return {"status": outcome(value).value, "verdict": verdict(value)}
    if isinstance(value, Verification):
        return {"passed": value.passed, "status": overall(value).value, "verdict": headline(value)}
    return {}


def _read(kind: Any, value: Any, place: str) -> Any:
    """A value of the given type; a field that an older report lacks takes its default."""
    if is_dataclass(kind):
        return _read_dataclass(kind, value, place)
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        (other,) = (argument for argument in arguments if argument is not NoneType)
        return None if value is None else _read(other, value, place)
    if origin is tuple:
        _require(value, list, place)
        return tuple(_read(arguments[0], item, f"{place}[{index}]") for index, item in enumerate(value))
    if origin is dict:
        _require(value, dict, place)
        return {key: _read(arguments[1], item, f"{place}.{key}") for key, item in value.items()}
    if kind is float:
        return _read_float(value, place)
    if issubclass(kind, (Path, Enum)):
        _require(value, str, place)
        return kind(value)
    _require(value, kind, place)
    return value


def _read_dataclass(kind: Any, value: Any, place: str) -> Any:
    _require(value, dict, place)
    types = get_type_hints(kind)
    found = {}
    for field in fields(kind):
        if field.name in value:
            found[field.name] = _read(types[field.name], value[field.name], f"{place}.{field.name}")
        elif field.default is MISSING and field.default_factory is MISSING:
            raise ValueError(f"{place}.{field.name} is missing.")
    return kind(**found)


def _read_float(value: Any, place: str) -> float:
    if value in ("NaN", "Infinity", "-Infinity"):
        return float(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"{place} is not a number.")
    return float(value)


def _require(value: Any, kind: type, place: str) -> None:
    if not isinstance(value, kind):
        raise ValueError(f"{place} is {type(value).__name__}, not {kind.__name__}.")

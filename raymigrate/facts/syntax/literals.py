"""Values as Python source: text of a file never becomes code of another one."""

import math

SHOWN = 300  # characters


def shortened(value: object) -> str:
    """A value as a message shows it: the whole of a usual one, the beginning of a huge one."""
    return shortened_text(repr(value))


def shortened_text(text: str) -> str:
    """A text as a message shows it; see `shortened`."""
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def string_literal(text: str) -> str:
    """A string as source, in the quotation marks that Black chooses."""
    return repr(text) if '"' in text else repr(f"{text}'")[:-2] + '"'


def literal(value: object) -> str:
    """A value as source.

    Raises:
        ValueError: If it is not a string, a number, None or a list of these.
    """
    if isinstance(value, str):
        return string_literal(value)
    if isinstance(value, list):
        return f"[{', '.join(map(literal, value))}]"
    if value is None or isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        return repr(value)
    raise ValueError(f"{type(value).__name__} has no plain source")

"""Regular expressions that are compiled when they are first used: a run uses a tenth of those that there are."""

import re
from typing import Any, AnyStr, Generic

METHODS = ("findall", "finditer", "fullmatch", "match", "search", "split", "sub", "subn")


class Expression(Generic[AnyStr]):
    """Stands for a compiled expression, and has what that has.

    Args:
        pattern: The expression.
        flags: Those of `re.compile`.
    """

    def __init__(self, pattern: AnyStr, flags: int) -> None:
        self.pattern: AnyStr = pattern
        self._flags = flags

    def __reduce__(self) -> tuple[type, tuple[AnyStr, int]]:  # results come from processes of their own
        return Expression, (self.pattern, self._flags)

    def __getattr__(self, name: str) -> Any:  # only asked for what is not there yet
        compiled = re.compile(self.pattern, self._flags)
        for method in METHODS:
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)


def lazy_regex(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """What `re.compile` gives, for a module to hold: it takes no time before it is used."""
    return Expression(pattern, flags)  # type: ignore[return-value]

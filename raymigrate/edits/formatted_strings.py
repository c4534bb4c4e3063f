"""New code in the braces of f-strings: its strings get other quotes than the text around them.

Before Python 3.12 an f-string ends at its own quotes wherever they stand, and code in its braces has no backslash, nor
a line end if the f-string is one of a single line (PEP 701, which lifted that).
"""

import libcst as cst

from raymigrate.edits.positions import code_of

QUOTES = ('"', "'", '"""', "'''")
String = cst.SimpleString | cst.FormattedString


class NotQuotedError(Exception):
    """No quotes are left for a string in the braces of an f-string; the message says for which."""


def fitted(new: cst.FormattedString, old: cst.FormattedString) -> cst.FormattedString:
    """An f-string whose parts were edited, so that Python 3.10 reads it as it read the old one.

    The strings in its braces keep their quotes where they can, and so does the f-string.

    Args:
        new: The f-string with its edits.
        old: The same without them.

    Raises:
        NotQuotedError: If no quotes are left for a string in it.
    """
    if code_of(new) == code_of(old) or _is_read(new) or not _is_read(old):
        return new
    found = _quoted(new, ())
    assert isinstance(found, cst.FormattedString)
    return found


def _is_read(text: cst.FormattedString) -> bool:
    """Whether Python 3.10 finds the end of an f-string, and reads the code in its braces."""
    braces = [part for part in text.parts if isinstance(part, cst.FormattedStringExpression)]
    return all(_fits(code_of(part), (text.quote,)) for part in braces)


def _fits(code: str, around: tuple[str, ...]) -> bool:
    """Whether code can stand in the braces of f-strings with these quotes."""
    ends = {*around, *("\n" for quote in around if len(quote) == 1), *("\\" for _ in around)}
    return not any(end in code for end in ends)


def _quoted(string: String, around: tuple[str, ...]) -> String:
    """A string with quotes that the f-strings around it allow: its own, if they do.

    Args:
        around: The quotes of the f-strings in whose braces it stands.
    """
    for quote in (string.quote, *(quote for quote in QUOTES if quote != string.quote)):
        found = _with_quotes(string, quote, around)
        if found is not None and _fits(code_of(found), around):
            return found
    raise NotQuotedError(f"no quotes are left for {code_of(string)} in an f-string")


def _with_quotes(string: String, quote: str, around: tuple[str, ...]) -> String | None:
    """A string with these quotes; None if its text or what is in its braces does not allow them."""
    if isinstance(string, cst.SimpleString):
        head = string.value.partition(string.quote)[0]
        is_held = _holds(string.raw_value, string.quote, quote)
        return string.with_changes(value=f"{head}{quote}{string.raw_value}{quote}") if is_held else None
    texts = (part.value for part in string.parts if isinstance(part, cst.FormattedStringText))
    if not all(_holds(text, string.quote, quote) for text in texts):
        return None
    try:
        parts = [part.visit(_Quoting((*around, quote))) for part in string.parts]
    except NotQuotedError:
        return None
    head = string.start.partition(string.quote)[0]
    new = string.with_changes(start=f"{head}{quote}", parts=parts, end=quote)
    return new if _is_read(new) else None


def _holds(text: str, old: str, quote: str) -> bool:
    """Whether the text between quotes can stand between others."""
    if len(quote) == 1 and "\n" in text:
        return False
    return quote == old or (quote not in text and not text.endswith(quote[0]))


class _Quoting(cst.CSTTransformer):
    """Gives the strings in code quotes that the f-strings around them allow; see `_quoted`."""

    def __init__(self, around: tuple[str, ...]) -> None:
        super().__init__()
        self.around = around

    def visit_FormattedString(self, node: cst.FormattedString) -> bool:
        return False

    def leave_FormattedString(
        self, original_node: cst.FormattedString, updated_node: cst.FormattedString
    ) -> cst.BaseExpression:
        return _quoted(updated_node, self.around)

    def leave_SimpleString(self, original_node: cst.SimpleString, updated_node: cst.SimpleString) -> cst.BaseExpression:
        return _quoted(updated_node, self.around)

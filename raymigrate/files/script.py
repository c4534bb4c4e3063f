"""A `.py` file: bytes to text and back, with encoding, byte order mark and line ends kept."""

import io
import tokenize
from codecs import BOM_UTF8
from dataclasses import dataclass


class UndecodableError(Exception):
    """The bytes are not what the file declares or its name says; the message is half a sentence.

    Args:
        message: What is wrong.
        line: Where.
        column: Where in the line.
    """

    def __init__(self, message: str, line: int = 1, column: int = 1) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


def lines_of(text: str) -> list[str]:
    """The lines of a text without their ends, split as Python's parser splits them."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def lines_with_ends(text: str) -> list[str]:
    """The lines of a text as Python's parser splits them; joined again they give the text."""
    return list(io.StringIO(text, newline=""))


@dataclass(frozen=True)
class Script:
    """Decoded text of a file.

    Args:
        text: The text, line ends as they are in the file.
        encoding: The encoding that it declares, UTF-8 by default (PEP 263).
        bom: Whether it starts with a UTF-8 byte order mark.
    """

    text: str
    encoding: str
    bom: bool

    def encode(self, text: str) -> bytes:
        """Bytes of a new text in the same encoding, with the same mark.

        Raises:
            UndecodableError: If the text holds characters that the encoding has not.
        """
        try:
            return (BOM_UTF8 if self.bom else b"") + text.encode(self.encoding)
        except UnicodeError as error:
            raise UndecodableError(f"the result cannot be written in {self.encoding}") from error


def decode(data: bytes) -> Script:
    """Decodes the bytes of a Python file, as Python does.

    Raises:
        UndecodableError: If they are not text in the declared encoding; the message is half a sentence.
    """
    bom = data.startswith(BOM_UTF8)
    body = data[len(BOM_UTF8) :] if bom else data
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise UndecodableError("is UTF-16, which Python does not read; save it as UTF-8")
    if b"\0" in data:
        raise UndecodableError("holds NUL bytes, so it is not Python source")
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        encoding = "utf-8" if bom else encoding
        text = body.decode(encoding)
    except (SyntaxError, UnicodeError, LookupError) as error:
        reason = f"byte {error.start} does not fit" if isinstance(error, UnicodeDecodeError) else str(error)
        raise UndecodableError(
            f"is not text in the encoding it declares ({reason}); save it as UTF-8, or declare its encoding in line 1"
        ) from error
    return Script(text, encoding, bom)

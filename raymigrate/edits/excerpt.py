"""The text of a module as LibCST sees it: with stand-ins for the lines that no edit touches (see `stand_ins`)."""

import ast
import tokenize
from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate

from raymigrate.edits.positions import Place
from raymigrate.edits.stand_ins import MARK, Hidden
from raymigrate.facts.syntax.module import Module
from raymigrate.files.script import lines_of, lines_with_ends


class NotFilled(Exception):
    """The hidden lines have no place any more in the text; the message says why."""


class Excerpt:
    """The text of a module up to the end of its last statement, less hidden lines.

    What follows the last statement is not part of it: LibCST loses some blanks and comments there.

    Args:
        module: The module.
        hidden: The lines to hide, in order.

    Attributes:
        text: The text.
        lines: Its lines without their ends.
    """

    def __init__(self, module: Module, hidden: Sequence[Hidden] = ()) -> None:
        self.module = module
        self.hidden = hidden
        source, body = module.lines_with_ends, module.tree.body
        end = body[-1].end_lineno if body else 0
        newline = "\r\n" if "\r" in module.text else "\n"
        pieces: list[str] = []
        position = 0
        for lines in hidden:
            pieces += source[position : lines.first - 1]
            pieces.append(newline.join(lines.stand_in) + _end_of(source[lines.last - 1]))
            position = lines.last
        self.text = "".join([*pieces, *source[position:end]])
        self.lines = lines_of(self.text)
        self._rest = "".join(source[end:])
        self._lasts = [lines.last for lines in hidden]
        saved = (lines.last - lines.first + 1 - len(lines.stand_in) for lines in hidden)
        self._saved = list(accumulate(saved, initial=0))

    @property
    def first_indent(self) -> str:
        """The indentation of the module's first block; LibCST takes it for that of the module."""
        tokens = tokenize.generate_tokens(iter(self.module.lines_with_ends).__next__)
        return next((token.string for token in tokens if token.type == tokenize.INDENT), " " * 4)

    def start(self, node: ast.AST) -> Place:
        """Line and column where a node starts; see `Module.start`."""
        return self._place(self.module.start(node))

    def end(self, node: ast.AST) -> Place:
        """Line and column just after a node; see `Module.end`."""
        return self._place(self.module.end(node))

    def _place(self, place: Place) -> Place:
        line, column = place
        index = bisect_left(self._lasts, line)
        if index < len(self.hidden) and self.hidden[index].first <= line:
            raise NotFilled(f"an edit speaks of line {line}, which is hidden")
        return line - self._saved[index], column

    def filled(self, code: str) -> str:
        """The whole text, from a changed one of the excerpt.

        Raises:
            NotFilled: If a stand-in is not as it was.
        """
        by_head = {lines.stand_in[0]: lines for lines in self.hidden}
        shown = lines_with_ends(code)
        pieces: list[str] = []
        position = 0
        while position < len(shown):
            hidden = by_head.pop(_bare(shown[position]), None)
            if hidden is None:
                pieces.append(shown[position])
                position += 1
                continue
            stand_in = shown[position : position + len(hidden.stand_in)]
            if tuple(map(_bare, stand_in)) != hidden.stand_in:
                raise NotFilled("a stand-in is not as it was")
            *front, last = self.module.lines_with_ends[hidden.first - 1 : hidden.last]
            pieces += [*front, _bare(last) + _end_of(stand_in[-1])]
            position += len(stand_in)
        result = "".join([*pieces, self._rest])
        if self.hidden and MARK in result:
            raise NotFilled("a stand-in is not where it was")
        return result


def _bare(line: str) -> str:
    return line.rstrip("\r\n")


def _end_of(line: str) -> str:
    return line[len(_bare(line)) :]

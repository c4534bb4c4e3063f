"""Which lines of a module LibCST need not see: those of statements that no edit touches.

Each run of such statements, in any block, is hidden behind one or two stand-ins. Of a statement beside its edits the
rewriter sees, and so a stand-in keeps:

* whether it is a definition, which blank lines set off, an import, which they end, or a docstring, before which nothing
  comes;
* the lines over it: they stay, as only what follows them is hidden;
* which comments below it belong to its blocks and which to what follows. Their indentation tells, so the last statement
  of a run has a stand-in of its own, with a block that is indented as the last one of the statement.

Comments and blank lines between a statement that is touched and one that is not stay as they are.
"""

import ast
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count, groupby

from raymigrate.base.expressions import lazy_regex
from raymigrate.edits.plan import Plan
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.scopes import DEFINITIONS

MARK = "_raymigrate_hidden_"  # what the names of all stand-ins begin with
MAX_NODES = 100_000  # LibCST takes 5 kB of memory for each: half a GB for these, some ten thousand lines
CASE = lazy_regex(r"\s*case\b")


class NothingHidden(Exception):
    """Lines do not tell the statements apart, so that none can be hidden; the message says why."""


@dataclass(frozen=True)
class Hidden:
    """Lines that are hidden.

    Args:
        first: The first line.
        last: The last line.
        stand_in: The lines that stand for them.
    """

    first: int
    last: int
    stand_in: tuple[str, ...]


@dataclass(frozen=True)
class _Unit:
    """Statements that share lines: mostly one, several where semicolons part them."""

    first: int
    last: int
    statements: list[ast.stmt]


def untouched(module: Module, plan: Plan) -> list[Hidden]:
    """The lines of statements that a plan does not touch, in order.

    Raises:
        NothingHidden: If lines do not tell the statements apart.
    """
    text = module.text
    if "\f" in text:
        raise NothingHidden("a form feed may stand in an indentation")
    if "\r" in text and not text.count("\r") == text.count("\r\n") == text.count("\n"):
        raise NothingHidden("line ends are mixed")
    if MARK in text:
        raise NothingHidden("it has names of stand-ins")
    hiding = _Hiding(module, plan)
    hiding.hide(module.tree.body)
    return hiding.found


def fits_libcst(module: Module, plan: Plan) -> bool:
    """Whether LibCST has the memory for what it has to see of a module: the statements that a plan touches."""
    if len(module.nodes) <= MAX_NODES:
        return True
    try:
        hidden = {line for lines in untouched(module, plan) for line in range(lines.first, lines.last + 1)}
    except NothingHidden:
        return False
    return sum(getattr(node, "lineno", 0) not in hidden for node in module.nodes) <= MAX_NODES


class _Hiding:
    """Hides statements.

    Args:
        module: The module.
        plan: What is to change in it.

    Attributes:
        found: The lines that are hidden.
    """

    def __init__(self, module: Module, plan: Plan) -> None:
        self.lines = module.lines
        self.found: list[Hidden] = []
        self._numbers = count()
        # New blocks are indented as the first block of the file, so LibCST has to see that.
        indenting = next((s for s in module.tree.body if any(map(self._has_own_lines, _blocks(s)))), None)
        touched = {node.lineno for node in plan.nodes()}  # type: ignore[attr-defined]
        touched.update(_below_docstrings(plan))
        self._touched = sorted(touched | ({indenting.lineno} if indenting else set()))
        self._indented_anew = {statement for statement, edit in plan.statements.items() if edit.within is not None}
        self._indented_anew.update(plan.moved())

    def hide(self, body: list[ast.stmt]) -> None:
        """Hides statements of a block, and those of the blocks in it."""
        for is_touched, group in groupby(self._units(body), self._is_touched):
            units = list(group)
            if not is_touched:
                self._hide_run(units)
                continue
            for unit in units:
                if len(unit.statements) == 1 and unit.statements[0] not in self._indented_anew:
                    for block in filter(self._has_own_lines, _blocks(unit.statements[0])):
                        self.hide(block)

    def _hide_run(self, units: list[_Unit]) -> None:
        first, last = units[0], units[-1]
        if self._goes_on(first.first - 1) or self._goes_on(last.last):
            raise NothingHidden("a line goes on beside a statement")
        run = [Hidden(first.first, last.first - 1, self._stand_in(first))] if first is not last else []
        run.append(Hidden(last.first, last.last, self._stand_in(last, with_block=True)))
        if sum(len(hidden.stand_in) for hidden in run) < last.last - first.first + 1:
            self.found += run

    def _is_touched(self, unit: _Unit) -> bool:
        return bisect_left(self._touched, unit.first) < bisect_left(self._touched, unit.last + 1)

    def _units(self, body: list[ast.stmt]) -> list[_Unit]:
        units: list[_Unit] = []
        for statement in body:
            first, last = self._first_line(statement), statement.end_lineno or 0
            if units and first <= units[-1].last:
                units[-1] = _Unit(units[-1].first, last, [*units[-1].statements, statement])
            else:
                units.append(_Unit(first, last, [statement]))
        return units

    # -- stand-ins -------------------------------------------------------------------------------

    def _stand_in(self, unit: _Unit, *, with_block: bool = False) -> tuple[str, ...]:
        """What stands for statements.

        Args:
            with_block: Whether its block is indented as their last one, so that it takes the same comments below it.
        """
        statement = unit.statements[0]
        indentation, name = self._indentation(unit.first), f"{MARK}{next(self._numbers)}_"
        blocks = list(_blocks(statement))
        if not blocks:
            return (f"{indentation}{_like(statement, name)}",)
        inner = self._block(blocks[-1]) if with_block else ()
        if isinstance(statement, ast.Match) and with_block:
            case = self._indentation(self._line_of_case(statement.cases[-1]))
            return f"{indentation}match {name}:", *_compound(f"{case}case _:", inner)
        keyword = "class" if isinstance(statement, DEFINITIONS) else "if"
        return _compound(f"{indentation}{keyword} {name}:", inner)

    def _block(self, block: list[ast.stmt]) -> tuple[str, ...]:
        """A block of the same indentation, where it has lines of its own."""
        return (f"{self._indentation(self._first_line(block[0]))}pass",) if self._has_own_lines(block) else ()

    def _line_of_case(self, case: ast.match_case) -> int:
        line = case.pattern.lineno
        while not CASE.match(self.lines[line - 1]):
            line -= 1
        return line

    # -- lines -----------------------------------------------------------------------------------

    def _first_line(self, statement: ast.stmt) -> int:
        """The line on which a statement starts, with its decorators."""
        decorators = getattr(statement, "decorator_list", None)
        if not decorators:
            return statement.lineno
        line: int = decorators[0].lineno
        while not self.lines[line - 1].lstrip().startswith("@"):
            line -= 1
        return line

    def _has_own_lines(self, block: list[ast.stmt]) -> bool:
        """Whether a block starts on a line of its own, and not after the colon.

        Raises:
            NothingHidden: If what is over it goes on with its first line.
        """
        line = self._first_line(block[0])
        before = self.lines[line - 1][: block[0].col_offset] if line == block[0].lineno else ""
        if before.strip():
            return False
        if self._goes_on(line - 1):
            raise NothingHidden("a line goes on before a block")
        return True

    def _goes_on(self, line: int) -> bool:
        """Whether the next line may be part of a line; a comment ends where its line does."""
        text = self.lines[line - 1] if line else ""
        return text.endswith("\\") and not text.lstrip().startswith("#")

    def _indentation(self, line: int) -> str:
        text = self.lines[line - 1]
        return text[: len(text) - len(text.lstrip())]


def _compound(head: str, block: tuple[str, ...]) -> tuple[str, ...]:
    return (head, *block) if block else (f"{head} pass",)


def _blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The lists of statements in a statement, in source order; an `elif` belongs to the `if` that it goes on from."""
    if isinstance(statement, ast.Match):
        yield from (case.body for case in statement.cases)
        return
    if isinstance(statement, ast.If) and _has_elif(statement):
        yield statement.body
        yield from _blocks(statement.orelse[0])
        return
    for part in (statement, *getattr(statement, "handlers", ())):
        if body := getattr(part, "body", None):
            yield body
    for name in ("orelse", "finalbody"):
        if body := getattr(statement, name, None):
            yield body


def _has_elif(statement: ast.If) -> bool:
    """Whether the `else` is an `elif`: an `if` below an `else` stands further right."""
    inner = statement.orelse
    return len(inner) == 1 and isinstance(inner[0], ast.If) and inner[0].col_offset == statement.col_offset


def _below_docstrings(plan: Plan) -> Iterator[int]:
    """The lines before which new code comes: what it stands below may not be hidden together with what follows."""
    for function, edit in plan.functions.items():
        body: list[ast.stmt] = function.body  # type: ignore[attr-defined]
        if edit.body_start and len(body) > 1 and _is_docstring(body[0]):
            yield body[1].lineno


def _like(statement: ast.stmt, name: str) -> str:
    """A statement of the same kind, as far as that matters for what comes beside it."""
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return f"import {name}"
    return f'"{name}"' if _is_docstring(statement) else name


def _is_docstring(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )

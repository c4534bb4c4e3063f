"""Statements that are new in a block, or go into one: their place, and the blank lines around them."""

from collections.abc import Collection, Sequence
from itertools import pairwise

import libcst as cst

from raymigrate.edits.plan import SharedLineError
from raymigrate.edits.positions import code_of

Statement = cst.SimpleStatementLine | cst.BaseCompoundStatement
SharedLine = cst.SimpleStatementLine | cst.SimpleStatementSuite
IN_A_BLOCK = 1  # blank lines around definitions, two in a module


def shared_line(line: int) -> SharedLineError:
    """What is raised where the statements of a line cannot stay on it, and a person has to part them."""
    return SharedLineError("this line holds several statements, or one behind a magic such as %time", line)


def is_definition(statement: cst.CSTNode) -> bool:
    """Whether a statement defines a function or class, which blank lines set off."""
    return isinstance(statement, (cst.FunctionDef, cst.ClassDef))


def is_import(statement: cst.CSTNode) -> bool:
    """Whether a statement is an import."""
    return isinstance(statement, cst.SimpleStatementLine) and isinstance(statement.body[0], cst.Import | cst.ImportFrom)


def indented(body: cst.BaseSuite) -> cst.IndentedBlock:
    """A body as a block, also one that stands on the line of its head."""
    if isinstance(body, cst.IndentedBlock):
        return body
    assert isinstance(body, cst.SimpleStatementSuite)
    return cst.IndentedBlock([cst.SimpleStatementLine(body.body, trailing_whitespace=body.trailing_whitespace)])


def lines_of(shared: SharedLine, kept: Sequence[bool]) -> list[cst.SimpleStatementLine]:
    """The statements that share a line, each on its own: the first below the lines above, the last with the comment.

    Args:
        shared: The line.
        kept: For each statement that was on it whether it still is; of an import nothing may be left.
    """
    no_semicolon = cst.MaybeSentinel.DEFAULT
    statements = (statement.with_changes(semicolon=no_semicolon) for statement in shared.body)
    lines = [cst.SimpleStatementLine([next(statements)] if is_kept else []) for is_kept in kept]
    lines[0] = lines[0].with_changes(leading_lines=getattr(shared, "leading_lines", ()))
    if True in kept:
        last = len(kept) - 1 - kept[::-1].index(True)
        lines[last] = lines[last].with_changes(trailing_whitespace=_set_off(shared.trailing_whitespace))
    return lines


def _set_off(end: cst.TrailingWhitespace) -> cst.TrailingWhitespace:
    """The end of a line, with two blanks before a comment that only a semicolon parted from the code: `a = 1;# one`."""
    is_close = end.comment is not None and not end.whitespace.value
    return end.with_changes(whitespace=cst.SimpleWhitespace("  ")) if is_close else end


def is_lone_name(statement: cst.BaseSmallStatement | cst.BaseStatement) -> bool:
    """Whether a statement is a name and nothing else."""
    return isinstance(statement, cst.Expr) and isinstance(statement.value, cst.Name)


def behind_magic(line: SharedLine, new: Sequence[Statement]) -> SharedLine | None:
    """The line of a magic with another statement behind it; None if that takes more than a line.

    Args:
        line: The magic and its one statement.
        new: What takes the place of the statement.
    """
    first = new[0]
    if len(new) > 1 or not isinstance(first, cst.SimpleStatementLine) or len(first.body) > 1 or _breaks(first):
        return None
    old = line.body[-1]
    return line.with_changes(body=[*line.body[:-1], first.body[0].with_changes(semicolon=old.semicolon)])


def _breaks(statement: cst.SimpleStatementLine) -> bool:
    """Whether the code of a statement goes on in another line."""
    return "\n" in bare_code(statement)


def blank_lines(statement: cst.CSTNode) -> int:
    """Blank lines before a statement and the comments that stand over it."""
    lines = 0
    for line in statement.leading_lines:  # type: ignore[attr-defined]
        if line.comment:
            break
        lines += 1
    return lines


def without_blank_lines(statement: cst.BaseStatement) -> cst.BaseStatement:
    """A statement at the start of a block, where no blank line stands."""
    lines = statement.leading_lines[blank_lines(statement) :]  # type: ignore[attr-defined]
    return statement.with_changes(leading_lines=lines)


def spaced(body: Sequence[cst.BaseStatement], new: Collection[cst.CSTNode], wanted: int) -> list[cst.BaseStatement]:
    """Sets new definitions off by blank lines, and what follows them; other statements stay as they are.

    Of a new statement below the imports one blank line sets it off, as isort has it, and one follows new imports in a
    function, as black has it.

    Args:
        body: Statements of one block.
        new: The statements that were not there before.
        wanted: Number of blank lines around definitions in this block.
    """
    result = list(body[:1])
    for previous, statement in pairwise(body):
        touched = statement in new or previous in new
        there = blank_lines(statement)
        wrong = there < wanted or (there > wanted and statement in new)
        defines = is_definition(previous) or is_definition(statement)
        ends_imports = is_import(previous) and not is_import(statement)
        too_many = statement in new and there > 1
        too_few = previous in new and not there and wanted == IN_A_BLOCK
        if (touched and wrong and defines) or (ends_imports and (too_many or too_few) and not defines):
            lines = [cst.EmptyLine(indent=False)] * (wanted if defines else 1)
            kept = statement.leading_lines[there:]  # type: ignore[attr-defined]
            statement = statement.with_changes(leading_lines=[*lines, *kept])
        result.append(statement)
    return result


def hand_over_blank_lines(
    group: list[Statement], anchor: cst.CSTNode, *, blank_line: bool, below_comments: bool
) -> list[Statement]:
    """Moves the blank lines before a statement to the first of the new statements that come before it.

    Args:
        group: The new statements and the one that they come before.
        anchor: That one.
        blank_line: Whether a blank line stays before it.
        below_comments: Whether the comments over it move too.
    """
    lines = anchor.leading_lines  # type: ignore[attr-defined]
    count = len(lines) if below_comments else blank_lines(anchor)
    first = group[0].with_changes(leading_lines=[*lines[:count], *group[0].leading_lines])
    own = [*([cst.EmptyLine(indent=False)] if blank_line else []), *lines[count:]]
    rest = [s.with_changes(leading_lines=own) if s is anchor else s for s in group[1:]]
    return [first, *rest]


def handed_down(
    body: Sequence[cst.BaseStatement], gone: Collection[cst.CSTNode], new: set[cst.CSTNode]
) -> tuple[list[cst.BaseStatement], list[cst.EmptyLine]]:
    """Moves the lines over statements that are gone to the next statement; no such statements are left.

    Args:
        body: Statements of one block.
        gone: The statements that stand for those that are gone.
        new: Statements that were not there before; they stay among these when they take lines over.

    Returns:
        The statements that are left, and the comments that no statement follows.
    """
    result: list[cst.BaseStatement] = []
    lines: list[cst.EmptyLine] = []
    for statement in body:
        if statement in gone:
            more = statement.leading_lines  # type: ignore[attr-defined]
            lines = (
                [*lines, *more] if any(line.comment for line in (*lines, *more)) else max(lines, list(more), key=len)
            )
            continue
        if statement in new and is_definition(statement) and any(line.comment for line in lines):
            result.append(statement)  # a helper, of which no comment of the script speaks
            continue
        if lines:
            own = statement.leading_lines  # type: ignore[attr-defined]
            if not any(line.comment for line in lines):  # blank lines do not add up
                lines = lines[: max(0, len(lines) - blank_lines(statement))]
            changed = statement.with_changes(leading_lines=[*lines, *own])
            if statement in new:
                new.add(changed)
            statement = changed
        lines = []
        result.append(statement)
    while lines and not lines[-1].comment:
        lines.pop()
    return result, lines


def comments_below(statement: cst.CSTNode) -> Sequence[cst.EmptyLine]:
    """The comments at the end of the block of a statement without branches: of what stands in its place."""
    block = None if getattr(statement, "orelse", None) else getattr(statement, "body", None)
    below = block.footer if isinstance(block, cst.IndentedBlock) else ()
    return below if any(line.comment for line in below) else ()


def gathered(statements: Sequence[Statement]) -> list[Statement]:
    """Makes one block of statements that come from several places: one blank line at most between them.

    Definitions always have one.
    """
    result: list[Statement] = []
    for statement in statements:
        lines: list[cst.EmptyLine] = []
        for line in statement.leading_lines:
            if line.comment:
                lines.append(line)
            elif (lines or result) and (not lines or lines[-1].comment):
                lines.append(cst.EmptyLine(indent=False))
        result.append(statement.with_changes(leading_lines=lines))
    return spaced(result, set(result), IN_A_BLOCK)  # type: ignore[return-value]


def bare_code(statement: Statement) -> str:
    """The code of a statement without the lines over it, nor the blanks and the comment behind it."""
    return code_of(statement.with_changes(leading_lines=[])).partition("#")[0].strip()


def within(outer: Statement, statements: list[Statement]) -> Statement:
    """Puts statements into the body of `with ...: pass`, which takes over the comments and blank lines before them.

    `if ...: pass` goes as well.
    """
    assert isinstance(outer, (cst.With, cst.If))
    first, *rest = statements
    body = [*_body(outer), first.with_changes(leading_lines=[]), *rest]
    return outer.with_changes(body=cst.IndentedBlock(body), leading_lines=first.leading_lines)


def joined(body: Sequence[cst.BaseStatement], enclosing: Collection[cst.CSTNode]) -> list[cst.BaseStatement]:
    """Makes one of neighbouring statements that `within` made, where they open the same thing.

    Args:
        body: Statements of one block.
        enclosing: Those that `within` made.
    """
    runs: list[tuple[str, list[cst.BaseStatement]]] = []  # neighbours, of which there may be thousands
    for statement in body:
        head = _head(statement) if statement in enclosing and isinstance(statement, (cst.With, cst.If)) else ""
        if head and runs and runs[-1][0] == head:
            runs[-1][1].append(statement)
        else:
            runs.append((head, [statement]))
    return [run[0] if len(run) == 1 else _as_one(run) for _, run in runs]


def _as_one(run: Sequence[cst.BaseStatement]) -> cst.BaseStatement:
    """The first of several statements, with what is inside the others behind what is inside it."""
    outer = run[0]
    assert isinstance(outer, (cst.With, cst.If))
    inside = _body(outer)
    for statement in run[1:]:
        assert isinstance(statement, (cst.With, cst.If))
        first, *rest = _body(statement)
        inside += [first.with_changes(leading_lines=[*statement.leading_lines, *first.leading_lines]), *rest]
    return outer.with_changes(body=outer.body.with_changes(body=inside))


def _head(statement: cst.With | cst.If) -> str:
    bare = statement.with_changes(leading_lines=[], body=cst.SimpleStatementSuite([cst.Pass()]))
    return code_of(bare)


def _body(statement: cst.With | cst.If) -> list[Statement]:
    """The statements inside, without a lone `pass`."""
    inside = list(statement.body.body)
    return [s for s in inside if not (isinstance(s, cst.SimpleStatementLine) and isinstance(s.body[0], cst.Pass))]  # type: ignore[misc]


def keep_comments(old: cst.CSTNode, group: list[Statement]) -> list[Statement]:
    """Gives the comments of a statement that is removed to what takes its place."""
    if not group:
        return group
    lines = old.leading_lines  # type: ignore[attr-defined]
    first = group[0].with_changes(leading_lines=[*lines, *group[0].leading_lines])
    if isinstance(first, cst.SimpleStatementLine) and isinstance(old, cst.SimpleStatementLine):
        if old.trailing_whitespace.comment:
            first = first.with_changes(trailing_whitespace=old.trailing_whitespace)
    return [first, *group[1:]]

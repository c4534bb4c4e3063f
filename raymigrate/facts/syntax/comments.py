"""The comments of a module, and those that belong to code which is removed, so that they can be kept."""

import ast
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import takewhile
from operator import itemgetter

from raymigrate.comments.tokens import Comment, read_comments
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module

STRINGS = (ast.JoinedStr, getattr(ast, "TemplateStr", ast.JoinedStr))


Span = tuple[tuple[int, int], tuple[int, int]]  # line (from 1) and column in characters (from 0) of start and end


@kept
def comments_in(module: Module) -> list[Comment]:
    """The comments of a module, in order.

    The tree says where the strings are, and any other `#` begins a comment. To read all tokens takes ten times as long.
    """
    return list(_comments(module))


def _comments(module: Module) -> Iterator[Comment]:
    marked = [number for number, line in enumerate(module.lines, start=1) if "#" in line]
    strings = sorted(_strings(module, marked))
    between = {place for span in strings for place in _between_parts(module, span)}
    for number in marked:
        line = module.lines[number - 1]
        column = line.find("#")
        while column >= 0:
            index = bisect_right(strings, (number, column), key=itemgetter(0)) - 1
            if index < 0 or strings[index][1] <= (number, column) or (number, column) in between:
                yield Comment(line[column:], number, column + 1, not line[:column].strip())
                break
            column = line.find("#", column + 1)


def _strings(module: Module, marked: list[int]) -> Iterator[Span]:
    """The strings of a module with one of the marked lines; what is inside an f-string is part of it."""
    for kind in (ast.Constant, *STRINGS):
        for node in module.of_type(kind):
            index = bisect_left(marked, node.lineno)
            if index == len(marked) or marked[index] > (node.end_lineno or node.lineno):
                continue
            if isinstance(node, ast.Constant) and not isinstance(node.value, (str, bytes)):
                continue
            if not any(isinstance(above, STRINGS) for above in module.ancestors(node)):
                yield module.start(node), module.end(node)


def _between_parts(module: Module, span: Span) -> Iterator[tuple[int, int]]:
    """Where comments begin between the parts of a string of several lines."""
    (first, start), (last, end) = span
    if first == last:
        return
    lines = [module.lines[first - 1][start:], *module.lines[first : last - 1], module.lines[last - 1][:end]]
    for comment in read_comments("\n".join(["(", *lines, ")"]))[0]:
        yield comment.line + first - 2, comment.column - 1 + (start if comment.line == 2 else 0)


def comments_of(module: Module, node: ast.expr | ast.stmt, *, moved: bool = False) -> str:
    """The comments in a node, on its last line, and above it where it is a statement; as source for a template, or "".

    Args:
        module: The module.
        node: What is removed.
        moved: Whether the node comes out elsewhere, with the comments inside it.
    """
    first, last = node.lineno, node.end_lineno or node.lineno
    first -= len(comments_over(module, node)) if isinstance(node, ast.stmt) else 0
    after = module.end(node) if moved else (first, 0)
    comments = comments_in(module)
    start, stop = (bisect_left(comments, place, key=_place) for place in (after, (last + 1, 0)))
    found = [comment.text for comment in comments[start:stop]]
    return "".join(f"{comment}\n" for comment in found).replace("$", "$ ")  # "$name" would be a placeholder


def comments_over(module: Module, statement: ast.stmt) -> list[str]:
    """The lines right over a statement that hold a comment each, without the signs that begin it."""
    above = reversed(module.lines[: statement.lineno - 1])
    lines = [line.lstrip() for line in takewhile(lambda line: line.lstrip().startswith("#"), above)]
    return [line.lstrip("# ").rstrip() for line in reversed(lines)]


def _place(comment: Comment) -> tuple[int, int]:
    return comment.line, comment.column - 1

"""The comments that belong to code which is removed, so that they can be kept."""

import ast
from bisect import bisect_left

from raymigrate.comments.tokens import Comment
from raymigrate.facts.module import Module


def comments_of(module: Module, node: ast.expr | ast.stmt, *, moved: bool = False) -> str:
    """The comments in a node, on its last line, and above it where it is a statement; as source for a template, or "".

    Args:
        module: The module.
        node: What is removed.
        moved: Whether the node comes out elsewhere, with the comments inside it.
    """
    first, last = node.lineno, node.end_lineno or node.lineno
    if isinstance(node, ast.stmt):
        while first > 1 and module.lines[first - 2].lstrip().startswith("#"):
            first -= 1
    after = module.end(node) if moved else (first, 0)
    start, stop = (bisect_left(module.comments, place, key=_place) for place in (after, (last + 1, 0)))
    found = [comment.text for comment in module.comments[start:stop]]
    return "".join(f"{comment}\n" for comment in found).replace("$", "$ ")  # "$name" would be a placeholder


def _place(comment: Comment) -> tuple[int, int]:
    return comment.line, comment.column - 1

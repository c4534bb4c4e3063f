"""How deeply a module is nested for LibCST, which nests what `ast` lays side by side."""

import ast
import io
import tokenize

from raymigrate.facts.syntax.module import Module

NESTED_FURTHER = frozenset({ast.BoolOp, ast.alias, ast.JoinedStr, ast.Constant})
STRINGS = (tokenize.STRING, getattr(tokenize, "FSTRING_START", tokenize.STRING))


def nesting(module: Module, enough: int) -> int:
    """The depth of the deepest node; at least right where it is more than `enough`.

    `a and b and c` is two operations in LibCST, one in the other, and so are strings in a row and the parts of a dotted
    name.

    Args:
        module: The module.
        enough: The depth that matters.
    """
    depth: dict[ast.AST, int] = {module.tree: 0}
    parents, moved = module.parent_of, module.owners
    for node in module.nodes[1:]:
        depth[node] = depth[moved[node] if node in moved else parents[node]] + 1
        if node.__class__ in NESTED_FURTHER:
            depth[node] += _hidden(module, node, enough)
    return max(depth.values())


def _hidden(module: Module, node: ast.AST, enough: int) -> int:
    """How much deeper LibCST goes at a node than `ast` does."""
    if isinstance(node, ast.BoolOp):
        return len(node.values) - 2
    if isinstance(node, ast.alias):
        return node.name.count(".")
    if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes))):
        return _pieces(module, node, enough) - 1
    return 0


def _pieces(module: Module, node: ast.expr, enough: int) -> int:
    """How many strings in a row a string is; 1 where they are surely not many."""
    if node.lineno == node.end_lineno and (node.end_col_offset or 0) - node.col_offset < 2 * enough:  # in bytes
        return 1
    source = module.source(node)
    if source.count('"') + source.count("'") < 2 * enough:
        return 1
    tokens = tokenize.generate_tokens(io.StringIO(f"({source})").readline)
    return sum(token.type in STRINGS for token in tokens)

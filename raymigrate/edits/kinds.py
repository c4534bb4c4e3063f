"""What a visit takes the nodes of a tree for."""

from functools import cache

import libcst as cst

WHITESPACE = (cst.BaseParenthesizableWhitespace, cst.TrailingWhitespace, cst.EmptyLine)


@cache
def kind_of(node_class: type[cst.CSTNode]) -> str:
    """What a visit takes the nodes of a class for; to ask each node for its abstract classes is slow."""
    if issubclass(node_class, cst.BaseExpression):
        return "expression"
    if issubclass(node_class, (cst.Import, cst.ImportFrom)):
        return "import"
    if issubclass(node_class, (cst.SimpleStatementLine, cst.BaseCompoundStatement)):
        return "statement"
    if issubclass(node_class, cst.FormattedStringExpression):
        return "braces"
    if issubclass(node_class, WHITESPACE):
        return "whitespace"
    if issubclass(node_class, (cst.SimpleStatementSuite, cst.IndentedBlock, cst.Module)):
        return "block"
    return ""

"""What a visit takes the nodes of a tree for."""

from functools import cache

import libcst as cst

# Operators, commas, brackets: what is in them is whitespace, however often it comes.
MARKS = (
    *(cst.BaseUnaryOp, cst.BaseBinaryOp, cst.BaseBooleanOp, cst.BaseCompOp, cst.BaseAugOp, cst.AssignEqual, cst.Dot),
    *(cst.Comma, cst.Colon, cst.Semicolon, cst.LeftParen, cst.RightParen, cst.LeftSquareBracket),
    *(cst.RightSquareBracket, cst.LeftCurlyBrace, cst.RightCurlyBrace, cst.Asynchronous),
)
BETWEEN = (*MARKS, cst.BaseParenthesizableWhitespace, cst.TrailingWhitespace)  # what stands between names and values


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
    if issubclass(node_class, (*BETWEEN, cst.EmptyLine)):
        return "between"
    if issubclass(node_class, (cst.SimpleStatementSuite, cst.IndentedBlock, cst.Module)):
        return "block"
    return ""

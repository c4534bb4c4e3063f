"""Parses code templates into LibCST nodes and puts parts into their places."""

import ast
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache, lru_cache

import libcst as cst

from raymigrate.base.expressions import lazy_regex
from raymigrate.edits.kinds import BETWEEN
from raymigrate.edits.layout import (
    LONG_CALL,
    chain_over_lines_if_long,
    dedented,
    dict_one_per_line_if_long,
    one_per_line_if_long,
    parenthesized_if_needed,
)
from raymigrate.edits.line_length import LIMITS
from raymigrate.edits.plan import Code, Part
from raymigrate.edits.positions import code_of

INDENT = 4
# A `$` in a string or a comment is a sign of the text, no placeholder. Strings in f-strings are not looked into.
PLACEHOLDER = lazy_regex(
    r"""#[^\n]*|(?<![fF])(?:"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|\$(?P<name>[a-z_][a-z0-9_]*)"""
)
# An argument, an element, the value of a key: what stands between such signs needs no parentheses.
STANDS_ALONE = lazy_regex(r"(?:(?<=[(\[{,=])|(?<=[:,] ))\$[a-z_][a-z0-9_]*(?=[,)\]}])")
# Expressions that bind so loosely that they need parentheses inside most others.
LOOSE = (
    cst.BooleanOperation,
    cst.Comparison,
    cst.IfExp,
    cst.Lambda,
    cst.NamedExpr,
    cst.BinaryOperation,
    cst.UnaryOperation,
)
# What needs no parentheses as an argument; a generator, a tuple or `:=` does.
BARE = (*(kind for kind in LOOSE if kind is not cst.NamedExpr), cst.Name, cst.Attribute, cst.Call, cst.Subscript)

# Gives the edited expression for a part of a template.
Resolve = Callable[[Part], cst.BaseExpression]
Statement = cst.SimpleStatementLine | cst.BaseCompoundStatement
# Gives the edited statements that move to a placeholder.
ResolveBlock = Callable[[Sequence[ast.stmt]], Sequence[Statement]]


WITHOUT_STATEMENTS = (*BETWEEN, cst.BaseExpression)


@cache
def _is_passed(node_class: type[cst.CSTNode], *, has_parts: bool) -> bool:
    """Whether what is filled in passes over the nodes of a class; to ask each for its abstract classes is slow."""
    return issubclass(node_class, BETWEEN if has_parts else WITHOUT_STATEMENTS)


class _Fill(cst.CSTTransformer):
    def __init__(
        self, parts: dict[str, cst.BaseExpression], blocks: Mapping[str, Sequence[Statement]] | None = None
    ) -> None:
        super().__init__()
        self.parts = parts
        self.blocks = blocks or {}
        self._leave: dict[type[cst.CSTNode], Callable[..., cst.CSTNode]] = {
            cst.Attribute: self._leave_attribute,
            cst.Arg: self._leave_arg,
            cst.Assign: self._leave_assign,
            cst.Expr: self._leave_expr,
            cst.DictComp: self._leave_dict_comp,
            cst.EmptyLine: self._leave_empty_line,
            cst.Name: self._leave_name,
        }

    def on_visit(self, node: cst.CSTNode) -> bool:
        """Passes over what holds neither a placeholder nor a statement."""
        return not _is_passed(node.__class__, has_parts=bool(self.parts))

    def on_visit_attribute(self, node: cst.CSTNode, attribute: str) -> None:
        """Nothing: LibCST would look for a method of its own for every attribute."""

    def on_leave_attribute(self, original_node: cst.CSTNode, attribute: str) -> None:
        """Nothing either."""

    def on_leave(self, original_node: cst.CSTNode, updated_node: cst.CSTNode) -> cst.CSTNode:  # type: ignore[override]
        """Fills in what the node holds; LibCST would look for a method of its own for every node."""
        if self.blocks and isinstance(original_node, cst.SimpleStatementLine):
            return self._leave_line(original_node, updated_node)
        leave = self._leave.get(original_node.__class__)
        return updated_node if leave is None else leave(original_node, updated_node)

    def _leave_line(self, original: cst.SimpleStatementLine, updated: cst.CSTNode) -> cst.CSTNode:
        """Puts statements in the place of a line that is their placeholder; the lines over it stay over the first."""
        match original.body:
            case [cst.Expr(cst.Name(name))] if name in self.blocks:
                first, *others = self.blocks[name]
                if original.leading_lines:
                    first = first.with_changes(leading_lines=[*original.leading_lines, *first.leading_lines])
                return cst.FlattenSentinel([first, *others])  # type: ignore[return-value]
        return updated

    def _leave_arg(self, original_node: cst.Arg, updated_node: cst.Arg) -> cst.Arg:
        """`(loss / steps).backward()` is handed on without its parentheses: `backward(loss / steps)`."""
        part, is_whole = updated_node.value, getattr(original_node.value, "value", None) in self.parts
        if not is_whole or updated_node.star or not isinstance(part, BARE) or not part.lpar or "\n" in code_of(part):
            return updated_node
        return updated_node.with_changes(value=part.with_changes(lpar=[], rpar=[]))

    def _leave_assign(self, original_node: cst.Assign, updated_node: cst.Assign) -> cst.Assign:
        value = original_node.value
        if isinstance(value, cst.Name) and value.value in self.parts:
            part = parenthesized_if_needed(dedented(updated_node.value))
            return updated_node.with_changes(value=_laid_out(part, placed=()))
        return updated_node.with_changes(value=_laid_out(updated_node.value))

    def _leave_attribute(self, original_node: cst.Attribute, updated_node: cst.Attribute) -> cst.Attribute:
        """`1.real` is not Python, where `1 .real` is."""
        owner = updated_node.value
        if isinstance(owner, cst.Integer) and not owner.lpar and isinstance(original_node.value, cst.Name):
            return updated_node.with_changes(value=_in_parentheses(owner))
        return updated_node

    def _leave_expr(self, original_node: cst.Expr, updated_node: cst.Expr) -> cst.Expr:
        return updated_node.with_changes(value=_laid_out(updated_node.value))

    def _leave_dict_comp(self, original_node: cst.DictComp, updated_node: cst.DictComp) -> cst.DictComp:
        value = updated_node.value
        if not isinstance(value, cst.Call):
            return updated_node
        depth = 4 if isinstance(updated_node.lbrace.whitespace_after, cst.ParenthesizedWhitespace) else 0
        return updated_node.with_changes(value=chain_over_lines_if_long(value, depth))

    def _leave_empty_line(self, original_node: cst.EmptyLine, updated_node: cst.EmptyLine) -> cst.EmptyLine:
        return updated_node if updated_node.comment else updated_node.with_changes(indent=False)

    def _leave_name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.BaseExpression:
        part = self.parts.get(updated_node.value)
        if part is None:
            return updated_node
        is_bare = isinstance(part, LOOSE) and not part.lpar
        if is_bare and (isinstance(part, cst.NamedExpr) or updated_node.value.startswith("__inner_")):
            return _in_parentheses(part)
        return part


def _in_parentheses(part: cst.BaseExpression) -> cst.BaseExpression:
    return part.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])


def _laid_out(value: cst.BaseExpression, placed: Collection[str] | None = None) -> cst.BaseExpression:
    """Breaks a long statement into lines; see `one_per_line_if_long`."""
    if isinstance(value, cst.Call):
        call = one_per_line_if_long(value, placed=placed)
        is_broken = call is not value and placed is None
        return call.with_changes(args=[_laid_out_argument(each) for each in call.args]) if is_broken else call
    return dict_one_per_line_if_long(value) if isinstance(value, cst.Dict) else value


def _laid_out_argument(argument: cst.Arg) -> cst.Arg:
    """Breaks an argument with a line of its own where it is too long for that, in a function too."""
    value, room = argument.value, LIMITS[-1] - 2 * INDENT
    if len(code_of(argument).strip()) <= room or "\n" in code_of(value):
        return argument
    if isinstance(value, cst.Call):
        return argument.with_changes(value=one_per_line_if_long(value, INDENT, longest=0))
    if isinstance(value, cst.Dict) and value.elements:
        return argument.with_changes(value=dict_one_per_line_if_long(value, INDENT, longest=0))
    return argument


class _LayOut(cst.CSTTransformer):
    def __init__(self, longest: int) -> None:
        super().__init__()
        self.longest = longest

    def visit_Call(self, node: cst.Call) -> bool:
        return False

    def visit_FormattedString(self, node: cst.FormattedString) -> bool:
        """Before Python 3.12 no line ends in the braces of an f-string of one line."""
        return False

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        return one_per_line_if_long(updated_node, longest=self.longest)


def laid_out(statement: cst.CSTNode, longest: int = LONG_CALL) -> Statement:
    """Breaks a statement whose value is a call of more than so many characters into lines."""
    result = statement
    if isinstance(statement, cst.SimpleStatementLine):
        result = statement.visit(_LayOut(longest))  # type: ignore[assignment]
    assert isinstance(result, Statement)
    return result


def _source(template: str, *, whole: bool) -> str:
    """The template as Python: each placeholder is a name that tells whether its part stands alone there."""
    alone = {match.start() for match in STANDS_ALONE.finditer(template)}

    def named(match: re.Match[str]) -> str:
        if match["name"] is None:
            return match[0]
        return f"{'__whole_' if whole or match.start() in alone else '__inner_'}{match['name']}__"

    return PLACEHOLDER.sub(named, template)


def _parts(code: Code, resolve: Resolve) -> dict[str, cst.BaseExpression]:
    names = {match["name"] for match in PLACEHOLDER.finditer(code.template)} - {None} - code.blocks.keys()
    resolved = {name: resolve(code.parts[name]) for name in names}
    return {f"__{kind}_{name}__": part for name, part in resolved.items() for kind in ("whole", "inner")}


# Many files need the same templates. Every use still has statements of its own: `_Fill` makes each one again.
_parse_module = lru_cache(256)(cst.parse_module)
_parse_expression = lru_cache(256)(cst.parse_expression)


def expression(code: Code, resolve: Resolve) -> cst.BaseExpression:
    """Parses a template that is one expression."""
    whole = PLACEHOLDER.fullmatch(code.template) is not None
    node = _parse_expression(_source(code.template, whole=whole))
    filled = node.visit(_Fill(_parts(code, resolve)))
    assert isinstance(filled, cst.BaseExpression)
    return filled


def statements(code: Code, resolve: Resolve, resolve_block: ResolveBlock) -> list[Statement]:
    """Parses a template that is a list of statements."""
    parts = _parts(code, resolve)
    if not parts and not code.blocks:
        return [statement.with_changes() for statement in _as_it_is(code.template)]
    blocks = {f"__whole_{name}__": resolve_block(block) for name, block in code.blocks.items()}
    return _filled(code.template, parts, blocks)


@lru_cache(256)
def _as_it_is(template: str) -> list[Statement]:
    """The statements of a template without placeholders, such as a helper class; no use changes what is in them."""
    return _filled(template, {}, {})


def _filled(
    template: str, parts: dict[str, cst.BaseExpression], blocks: Mapping[str, Sequence[Statement]]
) -> list[Statement]:
    filled = _parse_module(_source(template, whole=True)).visit(_Fill(parts, blocks))
    body = list(filled.body)
    if body and filled.header:  # blank lines and comments before the first statement
        body[0] = body[0].with_changes(leading_lines=[*filled.header, *body[0].leading_lines])
    return body

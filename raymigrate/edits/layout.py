"""Lays expressions out over lines: a line for each argument, entry or call of a chain, and how far in they stand."""

import ast
from collections.abc import Collection, Iterator

import libcst as cst

from raymigrate.edits.positions import code_of

LONG_CALL = 100  # characters beyond which a call that grew gets a line for each argument


def is_multiline(whitespace: cst.BaseParenthesizableWhitespace) -> bool:
    """Whether a line ends in what stands between two parts."""
    return isinstance(whitespace, cst.ParenthesizedWhitespace)


def new_line(depth: int) -> cst.ParenthesizedWhitespace:
    """A line end, with so many blanks more than the statement has."""
    return cst.ParenthesizedWhitespace(indent=True, last_line=cst.SimpleWhitespace(" " * depth))


def dict_one_per_line_if_long(node: cst.Dict, depth: int = 0, longest: int = LONG_CALL) -> cst.Dict:
    """Gives each entry of a long dict display its own line, unless it has lines already, of entries or of comments.

    A dict in it that is long even then is treated alike.

    Args:
        node: The dict.
        depth: How much deeper than its statement the line is indented on which it starts.
        longest: How many characters of it fit on a line.
    """
    inside, closing = new_line(depth + 4), new_line(depth)
    code = code_of(node)
    if len(code) <= longest or is_multiline(node.lbrace.whitespace_after):
        return node
    if "#" in code and _has_comment(node):
        return node
    elements = [_inner(e, depth + 4).with_changes(comma=cst.Comma(whitespace_after=inside)) for e in node.elements]
    elements[-1] = elements[-1].with_changes(comma=cst.Comma(whitespace_after=closing))
    braces = {"lbrace": cst.LeftCurlyBrace(whitespace_after=inside), "rbrace": cst.RightCurlyBrace()}
    return node.with_changes(elements=elements, **braces)


def _has_comment(node: cst.CSTNode) -> bool:
    """Whether a comment stands in a node; to import LibCST's matchers for that would take as long as LibCST itself."""
    return isinstance(node, cst.Comment) or any(map(_has_comment, node.children))


def _inner(element: cst.BaseDictElement, depth: int) -> cst.BaseDictElement:
    if not isinstance(element.value, cst.Dict):
        return element
    return element.with_changes(value=dict_one_per_line_if_long(element.value, depth))


def one_per_line_if_long(
    call: cst.Call, depth: int = 0, placed: Collection[str] | None = None, longest: int = LONG_CALL
) -> cst.Call:
    """Gives each argument of a long call its own line, as `dict_one_per_line_if_long` does for entries.

    Args:
        call: The call.
        depth: As there.
        placed: Keywords whose values are indented for lines of their own already; None if all are.
        longest: How many characters of a call fit on a line.
    """
    may_grow = call.args and not is_over_lines(call)  # asked first, as to write the code out takes long
    return _one_per_line(call, depth, placed) if may_grow and len(code_of(call)) > longest else call


def one_per_line_if_broken(call: cst.Call, depth: int, placed: Collection[str]) -> cst.Call:
    """Gives each argument of a call that stood on one line its own line, if one of them no longer fits on that line.

    Args:
        call: The call.
        depth: As in `dict_one_per_line_if_long`.
        placed: As in `one_per_line_if_long`.
    """
    if is_over_lines(call) or not any("\n" in code_of(argument.value) for argument in call.args):
        return call
    return _one_per_line(call, depth, placed)


def one_per_line_if_full(call: cst.Call, depth: int, room: int) -> cst.Call:
    """Gives each argument its own line where all of them shared one, and it has no room for a new one.

    Args:
        call: The call as it is now.
        depth: As in `dict_one_per_line_if_long`.
        room: How many characters the line may have.
    """
    arguments = [code_of(argument.with_changes(comma=cst.MaybeSentinel.DEFAULT)).strip() for argument in call.args]
    line = ", ".join(arguments)
    if "\n" not in line and len(line) <= room:
        return call
    bare = call.args[-1].with_changes(whitespace_after_arg=cst.SimpleWhitespace(""))
    return _one_per_line(call.with_changes(args=[*call.args[:-1], bare]), depth, None)


def has_one_line_of_arguments(call: cst.Call) -> bool:
    """Whether all arguments stand on one line of their own between the brackets, as black joins them."""
    ends = [argument.comma.whitespace_after for argument in call.args[:-1] if isinstance(argument.comma, cst.Comma)]
    if not is_multiline(call.whitespace_before_args) or any(map(is_multiline, ends)):
        return False
    inside = "".join(code_of(argument) for argument in call.args).rstrip()
    return "\n" not in inside and "#" not in code_of(call)


def is_over_lines(call: cst.Call) -> bool:
    """Whether lines end between the arguments of a call, or before the first."""
    commas = [argument.comma for argument in call.args[:-1]]
    separators = [c.whitespace_after for c in commas if isinstance(c, cst.Comma)]
    return any(is_multiline(separator) for separator in (call.whitespace_before_args, *separators))


def _one_per_line(call: cst.Call, depth: int, placed: Collection[str] | None) -> cst.Call:
    inside, closing = new_line(depth + 4), new_line(depth)
    arguments = [a if placed is None or name_of(a) in placed else _further_in(a) for a in call.args]
    arguments = [a.with_changes(comma=cst.Comma(whitespace_after=inside)) for a in arguments]
    arguments[-1] = arguments[-1].with_changes(comma=cst.Comma(whitespace_after=closing))
    return call.with_changes(args=arguments, whitespace_before_args=inside)


def chain_over_lines_if_long(call: cst.Call, depth: int) -> cst.Call:
    """Gives each call of a long `a.b(...).c(...)` its own line, within parentheses."""
    links = list(_links(call))
    if len(code_of(call)) <= LONG_CALL or len(links) < 2 or call.lpar or "\n" in code_of(call):
        return call
    last, first = links[0], links[-1]
    if len(links) == 2 and not last.args and len(first.args) > 1:  # `rows.map_batches(...).materialize()`
        return last.with_deep_changes(last.func, value=_one_per_line(first, depth, None))
    inside, closing = new_line(depth + 4), new_line(depth)
    broken = _link_within(links[-1], depth + 4)
    for link in reversed(links[:-1]):
        method = link.func
        assert isinstance(method, cst.Attribute)
        dot = cst.Dot(whitespace_before=inside)
        link = _link_within(link.with_changes(func=cst.Name(method.attr.value)), depth + 4)
        broken = link.with_changes(func=method.with_changes(value=broken, dot=dot))
    return broken.with_changes(
        lpar=[cst.LeftParen(whitespace_after=inside)], rpar=[cst.RightParen(whitespace_before=closing)]
    )


def _link_within(call: cst.Call, depth: int) -> cst.Call:
    """A call of a chain with a line for each argument, if it is too long for a line of its own."""
    is_long = len(code_of(call)) > LONG_CALL and len(call.args) > 1
    return _one_per_line(call, depth, None) if is_long else call


def _links(call: cst.BaseExpression) -> Iterator[cst.Call]:
    """The calls of a chain of methods, the last one first."""
    while isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute):
        yield call
        call = call.func.value


class _Shift(cst.CSTTransformer):
    def __init__(self, amount: int) -> None:
        super().__init__()
        self.amount = amount

    def leave_ParenthesizedWhitespace(
        self, original_node: cst.ParenthesizedWhitespace, updated_node: cst.ParenthesizedWhitespace
    ) -> cst.ParenthesizedWhitespace:
        if not updated_node.indent:
            return updated_node
        comments = [
            line.with_changes(whitespace=self._moved(line.whitespace)) if line.comment and line.indent else line
            for line in updated_node.empty_lines
        ]
        return updated_node.with_changes(last_line=self._moved(updated_node.last_line), empty_lines=comments)

    def _moved(self, blanks: cst.SimpleWhitespace) -> cst.SimpleWhitespace:
        value = blanks.value[self.amount :] if self.amount > 0 else " " * -self.amount + blanks.value
        return cst.SimpleWhitespace(value)


def _further_in(argument: cst.Arg) -> cst.Arg:
    """An argument that gets a line of its own: its other lines go as far to the right as its first one."""
    moved = argument.visit(_Shift(-4))
    assert isinstance(moved, cst.Arg)
    return moved


def dedented(node: cst.BaseExpression) -> cst.BaseExpression:
    """Moves the lines of an expression left, to where they would be if it had always been a statement's value.

    A closing bracket on a line of its own comes under the start of the statement; lines that hang below an opening
    bracket come four blanks to the right of it; lines that are aligned to the bracket stay.
    """
    first, *rest = code_of(node).splitlines()
    indents = _indents(rest)
    if rest and rest[-1].lstrip()[:1] in (")", "]", "}"):
        amount = indents[-1]
    else:
        amount = min(indents) - 4 if indents and first.rstrip()[-1] in "([{" else 0
    return shifted(node, amount)


def _indents(lines: list[str]) -> list[int]:
    return [len(line) - len(line.lstrip()) for line in lines if line.strip()]


def shifted(node: cst.BaseExpression, amount: int) -> cst.BaseExpression:
    """Moves the lines of an expression, besides the first, left by so many blanks."""
    if amount <= 0:
        return node
    moved = node.visit(_Shift(amount))
    assert isinstance(moved, cst.BaseExpression)
    return moved


def parenthesized_if_needed(node: cst.BaseExpression) -> cst.BaseExpression:
    """Puts brackets around an expression that runs over several lines only inside those of a call or display."""
    code = code_of(node)
    if "\n" not in code or node.lpar:
        return node
    try:
        ast.parse(code, mode="eval")
    except SyntaxError:
        node = shifted(node, min(_indents(code.splitlines()[1:])) - 4)
        opening, closing = cst.LeftParen(whitespace_after=new_line(4)), cst.RightParen(whitespace_before=new_line(0))
        return node.with_changes(lpar=[opening], rpar=[closing])
    return node


def name_of(argument: cst.Arg) -> str:
    """The keyword of an argument; "" for one that is given by its place."""
    return argument.keyword.value if argument.keyword else ""

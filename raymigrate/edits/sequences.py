"""Adds elements to calls and dicts in the layout that they already have."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import libcst as cst

from raymigrate.base.expressions import lazy_regex
from raymigrate.edits.import_runs import name_key
from raymigrate.edits.layout import (
    LONG_CALL,
    dict_one_per_line_if_long,
    has_one_line_of_arguments,
    is_multiline,
    is_over_lines,
    name_of,
    new_line,
    one_per_line_if_full,
    one_per_line_if_long,
)
from raymigrate.edits.plan import CallEdit, Code
from raymigrate.edits.positions import code_of
from raymigrate.facts.syntax.literals import string_literal

Element = TypeVar("Element", cst.Arg, cst.DictElement, cst.ImportAlias, cst.Param)
# Parses code and fills in its parts.
ParseExpression = Callable[[Code], cst.BaseExpression]
COMMA = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
NO_BLANKS = cst.SimpleWhitespace("")
COMMENTED_OUT = lazy_regex(r"#\s*\w+\s*=")
EQUAL = cst.AssignEqual(NO_BLANKS, NO_BLANKS)


def append(elements: list[Element], element: Element, opening: cst.BaseParenthesizableWhitespace) -> list[Element]:
    """Adds an element at the end: on its own line where the others stand on their own lines.

    Args:
        elements: What is there.
        element: What to add.
        opening: The whitespace after the opening bracket, whose form tells whether elements have their own lines.
    """
    if not elements:
        return [element]
    *head, last = elements
    closing = last.comma if isinstance(last.comma, cst.Comma) else None
    separator = COMMA
    if len(elements) > 1 and isinstance(elements[-2].comma, cst.Comma):
        between = elements[-2].comma.whitespace_after
        if not (is_multiline(opening) and _last_line_is_full(elements, element)):
            opening = between
    if is_multiline(opening):  # its comments are about what stands there
        separator = cst.Comma(whitespace_after=_without_comment(opening))
    if closing is not None:  # a trailing comma, with the line end before the closing bracket
        comment = closing.whitespace_after
        if (
            isinstance(comment, cst.ParenthesizedWhitespace)
            and comment.first_line.comment
            and is_multiline(separator.whitespace_after)
        ):
            separator = separator.with_changes(
                whitespace_after=separator.whitespace_after.with_changes(first_line=comment.first_line)
            )
            closing = closing.with_changes(
                whitespace_after=comment.with_changes(
                    first_line=comment.first_line.with_changes(comment=None, whitespace=NO_BLANKS)
                )
            )
        return [*head, last.with_changes(comma=separator), element.with_changes(comma=closing)]
    if isinstance(last, cst.Arg) and isinstance(element, cst.Arg):
        end = last.whitespace_after_arg
        if isinstance(end, cst.ParenthesizedWhitespace) and is_multiline(separator.whitespace_after):
            separator = cst.Comma(whitespace_after=separator.whitespace_after.with_changes(first_line=end.first_line))
            end = end.with_changes(first_line=end.first_line.with_changes(comment=None, whitespace=NO_BLANKS))
        return [
            *head,
            last.with_changes(comma=separator, whitespace_after_arg=NO_BLANKS),
            element.with_changes(whitespace_after_arg=end),
        ]
    if isinstance(last, cst.Param) and isinstance(element, cst.Param):
        return [
            *head,
            last.with_changes(comma=separator, whitespace_after_param=cst.SimpleWhitespace("")),
            element.with_changes(whitespace_after_param=last.whitespace_after_param),
        ]
    return [*head, last.with_changes(comma=separator), element]


def _last_line_is_full(elements: list[Element], element: Element) -> bool:
    """Whether a new element has no room on the line of the last ones, where several share a line."""
    length = len(code_of(element))
    for other in reversed(elements):
        length += len(code_of(other))
        before = elements[elements.index(other) - 1].comma if other is not elements[0] else None
        if before is None or (isinstance(before, cst.Comma) and is_multiline(before.whitespace_after)):
            break
    return length > LONG_CALL


def without(call: cst.Call, keywords: set[str]) -> cst.Call:
    """Takes keyword arguments away, with the comments behind and directly above them."""
    kept: list[cst.Arg] = []
    leading: list[cst.BaseParenthesizableWhitespace] = []  # what comes before each of them
    space = call.whitespace_before_args
    for argument in call.args:
        behind = _behind(argument)
        if name_of(argument) in keywords:
            space = _joined(space, behind, is_first=not kept, is_last=argument is call.args[-1])
        else:
            kept.append(argument)
            leading.append(space)
            space = behind
    if len(kept) == len(call.args) or not kept:
        return call.with_changes(args=kept)
    for index, following in enumerate(leading[1:]):
        comma = kept[index].comma
        assert isinstance(comma, cst.Comma)
        kept[index] = kept[index].with_changes(comma=comma.with_changes(whitespace_after=following))
    comma = call.args[-1].comma
    if isinstance(comma, cst.Comma):
        kept[-1] = kept[-1].with_changes(comma=comma.with_changes(whitespace_after=space))
    else:
        kept[-1] = kept[-1].with_changes(comma=comma, whitespace_after_arg=space)
    return call.with_changes(args=kept, whitespace_before_args=leading[0])


def _behind(argument: cst.Arg) -> cst.BaseParenthesizableWhitespace:
    """The blanks, line ends and comments between an argument and the next one, or the closing bracket."""
    return argument.comma.whitespace_after if isinstance(argument.comma, cst.Comma) else argument.whitespace_after_arg


def _joined(
    before: cst.BaseParenthesizableWhitespace,
    behind: cst.BaseParenthesizableWhitespace,
    *,
    is_first: bool,
    is_last: bool,
) -> cst.BaseParenthesizableWhitespace:
    """What takes the place of an argument that is removed, from what was before and after it.

    Args:
        before: The blanks before it, with the comment after the former argument and those above this one.
        behind: The blanks after it, with its own comment and those above the next argument.
        is_first: Whether it comes after the opening bracket.
        is_last: Whether the closing bracket is next.
    """
    if not isinstance(before, cst.ParenthesizedWhitespace):
        return before if is_first and not is_last else behind
    if not isinstance(behind, cst.ParenthesizedWhitespace):  # others stand on its line
        return behind if is_last and not before.first_line.comment else before
    lines = [*_not_about_the_next(before.empty_lines), *behind.empty_lines]
    return behind.with_changes(first_line=before.first_line, empty_lines=lines)


def _not_about_the_next(lines: Sequence[cst.EmptyLine]) -> Sequence[cst.EmptyLine]:
    """Lines over an argument without the comment that is about it; an argument that is commented out stays."""
    count = len(lines)
    while count and (comment := lines[count - 1].comment) and not COMMENTED_OUT.match(comment.value):
        count -= 1
    return lines[:count]


def add_names(statement: cst.ImportFrom, kept: list[cst.ImportAlias], names: list[str]) -> list[cst.ImportAlias]:
    """Adds names to a `from` import; in their place where the names that are there are sorted."""
    opening = statement.lpar.whitespace_after if statement.lpar else cst.SimpleWhitespace("")
    for name in sorted(names, key=name_key):
        new = cst.ImportAlias(cst.Name(name))
        order = [name_key(alias.evaluated_name) for alias in kept]
        at = next((index for index, other in enumerate(order) if other > name_key(name)), len(kept))
        if order != sorted(order) or at == len(kept):
            kept = append(kept, new, opening)
        else:
            comma = _without_comment(opening) if is_multiline(opening) else COMMA.whitespace_after
            kept = [*kept[:at], new.with_changes(comma=cst.Comma(whitespace_after=comma)), *kept[at:]]
    return kept


def import_within(statement: cst.ImportFrom, width: int) -> cst.ImportFrom:
    """Gives each name of a `from` import its own line, in brackets, where the statement is longer than it may be."""
    names = statement.names
    if isinstance(names, cst.ImportStar) or statement.lpar is not None or len(code_of(statement)) <= width:
        return statement
    inside, closing = new_line(4), new_line(0)
    own_lines = [name.with_changes(comma=cst.Comma(whitespace_after=inside)) for name in names]
    own_lines[-1] = own_lines[-1].with_changes(comma=cst.Comma(whitespace_after=closing))
    return statement.with_changes(names=own_lines, lpar=cst.LeftParen(whitespace_after=inside), rpar=cst.RightParen())


def _without_comment(whitespace: cst.BaseParenthesizableWhitespace) -> cst.BaseParenthesizableWhitespace:
    """A line end without the comment on that line and the lines below it."""
    assert isinstance(whitespace, cst.ParenthesizedWhitespace)
    first_line = whitespace.first_line.with_changes(comment=None, whitespace=NO_BLANKS)
    return whitespace.with_changes(first_line=first_line, empty_lines=[])


def edit_call(call: cst.Call, edit: CallEdit, parse: ParseExpression, depth: int | None, room: int) -> cst.Call:
    """Carries out the changes to one call.

    Args:
        call: The call.
        edit: The changes.
        parse: Makes expressions of new code.
        depth: As in `dict_one_per_line_if_long`; None for a call that has to stay on its line, however long it gets.
        room: How many characters an argument may have on a line of its own.
    """
    given, had_one_line = 0 if edit.instead else len(call.args), has_one_line_of_arguments(call)
    arguments = _written_out(call, edit.instead, parse) if edit.instead else list(call.args)
    positional = [i for i, a in enumerate(arguments) if a.keyword is None and not a.star]
    for index, name in zip(positional, edit.names, strict=False):
        arguments[index] = arguments[index].with_changes(keyword=cst.Name(name), equal=EQUAL)
    if edit.first is not None:
        arguments[0] = arguments[0].with_changes(value=parse(edit.first), keyword=None, equal=cst.MaybeSentinel.DEFAULT)
    call = without(call.with_changes(args=arguments), edit.remove)
    arguments = list(call.args)
    values = dict(edit.values)
    for index, argument in enumerate(arguments):
        if argument.keyword is None:
            continue
        new_name = edit.rename.get(argument.keyword.value, argument.keyword.value)
        if new_name != argument.keyword.value:
            argument = _comment_renamed(argument, argument.keyword.value, new_name)
            arguments[index] = argument = argument.with_changes(keyword=cst.Name(new_name))
        if new_name in values:
            value = parse(values.pop(new_name))
            if isinstance(value, cst.Call | cst.Dict) and depth is not None:
                value = _within(value, new_name, _indent_of_arguments(call, depth), room + depth + 4)
            arguments[index] = argument.with_changes(value=value)
    defaults = {name: parse(values.pop(name)) for name in list(values) if name in edit.defaults}
    arguments = _with_defaults(arguments, defaults)
    for name, code in values.items():
        value = parse(code)
        if isinstance(value, cst.Dict) and depth is not None:
            value = dict_one_per_line_if_long(value, depth + 4)
        elif isinstance(value, cst.Call) and depth is not None:
            value = _within(value, name, _indent_of_arguments(call, depth), room + depth + 4)
        new = cst.Arg(keyword=cst.Name(name), value=value, equal=EQUAL)
        arguments = _before_unpacking(append(arguments, new, call.whitespace_before_args))
    before = call.whitespace_before_args if arguments else NO_BLANKS
    changes: dict[str, object] = {"args": arguments, "whitespace_before_args": before}
    if edit.function is not None:
        changes["func"] = parse(Code(edit.function) if isinstance(edit.function, str) else edit.function)
    edited = call.with_changes(**changes)
    grown = len(arguments) > given or edit.names or defaults or isinstance(edit.function, Code)
    if depth is not None and values and had_one_line:
        return one_per_line_if_full(edited, depth, room)
    return one_per_line_if_long(edited, depth, edit.values) if grown and depth is not None else edited


def _written_out(call: cst.Call, entries: Mapping[str, Code], parse: ParseExpression) -> list[cst.Arg]:
    """The arguments of a call with keywords in place of what it unpacks, each on its own line where the others are."""
    place = next(index for index, argument in enumerate(call.args) if argument.star == "**")
    opening = call.whitespace_before_args
    comma = cst.Comma(whitespace_after=_without_comment(opening)) if is_multiline(opening) else COMMA
    written = [
        cst.Arg(keyword=cst.Name(name), value=parse(code), equal=EQUAL, comma=comma) for name, code in entries.items()
    ]
    unpacked = call.args[place]
    behind = {"comma": unpacked.comma, "whitespace_after_arg": unpacked.whitespace_after_arg}
    return [*call.args[:place], *written[:-1], written[-1].with_changes(**behind), *call.args[place + 1 :]]


def _indent_of_arguments(call: cst.Call, depth: int) -> int | None:
    """How deep lines of arguments begin; None where they are aligned to the bracket."""
    before = call.whitespace_before_args
    if isinstance(before, cst.ParenthesizedWhitespace) and before.indent:
        return len(before.last_line.value)
    return None if is_over_lines(call) else depth + 4


def _within(value: cst.Call | cst.Dict, name: str, indent: int | None, width: int) -> cst.Call | cst.Dict:
    """The value of an argument with a line for each part, if it is too long for the argument's line."""
    if indent is None or "\n" in code_of(value) or indent + len(f"{name}={code_of(value)},") <= width:
        return value
    if isinstance(value, cst.Dict):
        return dict_one_per_line_if_long(value, indent, longest=0)
    return one_per_line_if_long(value, indent, longest=0)


def _comment_renamed(argument: cst.Arg, old: str, new: str) -> cst.Arg:
    """Names an argument anew in the comment behind it: `# set no_cuda for CPUs`. A plain word may mean anything."""
    behind = _behind(argument)
    comment = behind.first_line.comment if isinstance(behind, cst.ParenthesizedWhitespace) else None
    if comment is None or "_" not in old:
        return argument
    words = comment.with_changes(value=re.sub(rf"\b{old}\b", new, comment.value))
    return argument.with_deep_changes(comment, value=words.value)


def _with_defaults(arguments: list[cst.Arg], defaults: dict[str, cst.BaseExpression]) -> list[cst.Arg]:
    """Puts arguments before what is unpacked, into one dict: what is given twice is no TypeError there."""
    places = [index for index, argument in enumerate(arguments) if argument.star == "**"]
    if not defaults or not places:
        return arguments
    elements: list[cst.BaseDictElement] = [
        cst.DictElement(cst.SimpleString(string_literal(name)), value) for name, value in defaults.items()
    ]
    elements += [cst.StarredDictElement(arguments[place].value) for place in places]
    merged = arguments[places[-1]].with_changes(value=cst.Dict(elements))
    return [merged if index == places[-1] else a for index, a in enumerate(arguments) if index not in places[:-1]]


def _before_unpacking(arguments: list[cst.Arg]) -> list[cst.Arg]:
    """Moves the last argument before the `**` arguments that are at the end, unless comments stand there."""
    *others, new = arguments
    first = next((index for index, other in enumerate(others) if all(o.star == "**" for o in others[index:])), None)
    if first is None or any("#" in code_of(other) for other in arguments[first:]):
        return arguments
    places = arguments[first:]
    moved = [new, *others[first:]]
    layout = [(place.comma, place.whitespace_after_arg) for place in places]
    return [
        *others[:first],
        *(
            argument.with_changes(comma=comma, whitespace_after_arg=blanks)
            for argument, (comma, blanks) in zip(moved, layout, strict=True)
        ),
    ]


def edit_dict(node: cst.Dict, entries: dict[str, Code], parse: ParseExpression, depth: int) -> cst.Dict:
    """Adds entries to a dict display."""
    elements = list(node.elements)
    for key, code in entries.items():
        new = cst.DictElement(cst.SimpleString(string_literal(key)), parse(code))
        elements = append(elements, new, node.lbrace.whitespace_after)  # type: ignore[type-var]
    return dict_one_per_line_if_long(node.with_changes(elements=elements), depth)

"""The command line reference, from click."""

import inspect
from collections.abc import Iterator

import click

from raymigrate.cli import main
from scripts.pages.prose import cell

NAME = "raymigrate"


def page() -> str:
    """Markdown of the reference: a section for each command."""
    context = click.Context(main, info_name=NAME)
    lines = [
        "---\nhide: [navigation]\n---\n",  # a page without neighbours needs no list of them
        "# Command line",
        "",
        *_text(main.help),
        "",
        "| command | |",
        "|---|---|",
        *(
            f"| [`{c.command_path}`](#{_anchor(c)}) | {cell(c.command.get_short_help_str(200))} |"
            for c in _all(context)
        ),
        "",
    ]
    for child in _all(context):
        lines += _section(child)
    return "\n".join(lines)


def _all(context: click.Context) -> Iterator[click.Context]:
    """The contexts of the commands of a group, and of the commands of its groups."""
    group = context.command
    assert isinstance(group, click.Group)
    for name in sorted(group.list_commands(context), key=lambda name: (name != "convert", name)):
        command = group.get_command(context, name)
        if command is None or command.hidden:
            continue
        child = click.Context(command, info_name=name, parent=context)
        yield child
        if isinstance(command, click.Group):
            yield from _all(child)


def _section(context: click.Context) -> Iterator[str]:
    command = context.command
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    yield from (f"## `{context.command_path}` {{ #{_anchor(context)} }}", "", "```text", usage, "```", "")
    yield from (*_text(command.help), "")
    records = [
        record
        for parameter in command.get_params(context)
        if (record := parameter.get_help_record(context)) and record[1] and "--help" not in parameter.opts
    ]
    if records:
        yield from ("| option | |", "|---|---|")
        for option, text in records:
            yield f"| `{option}` | {cell(text).replace('<', '&lt;').replace('[', chr(92) + '[')} |"
        yield ""


def _anchor(context: click.Context) -> str:
    return context.command_path.replace(" ", "-")


def _text(text: str | None) -> list[str]:
    """A help text as Markdown: what click keeps as it is, after a line with a backspace, is code."""
    lines = []
    for paragraph in inspect.cleandoc(text or "").split("\n\n"):
        kept = paragraph.startswith("\b\n")
        lines += ["```text", paragraph[2:], "```", ""] if kept else [paragraph, ""]
    return lines

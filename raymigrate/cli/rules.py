"""`raymigrate rules` and `raymigrate explain`."""

import json
import re
import sys
from dataclasses import asdict

import click

from raymigrate.base.errors import NO_STDIN
from raymigrate.run.rules import every_rule, explanation, line_of, rule_by_code, rules_by_name, rules_by_text

NOTHING_KNOWN = (
    "No rule knows this text. `raymigrate rules` lists what is known. If a legacy script raises it on current"
    " libraries, please report it with the last lines of the traceback."
)


@click.command()
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text")
def rules(output_format: str) -> None:
    """List every rule, one line each."""
    if output_format == "json":
        click.echo(json.dumps([asdict(rule) for rule in every_rule()], indent=2))
    else:
        for rule in every_rule():
            click.echo(line_of(rule))


@click.command()
@click.argument("code_or_text", nargs=-1, required=True)
def explain(code_or_text: tuple[str, ...]) -> None:
    """Tell what a rule is about: what happens at run time, what to do, where it is documented.

    CODE_OR_TEXT is one or more codes of rules, a name such as TransformersTrainer, or the text of an error: a message,
    a traceback or a log; - reads it from stdin. With a text every rule that it leads to is shown, the most specific
    one first; of a name that many rules speak of, the rules are listed.
    """
    text = " ".join(code_or_text)
    codes = re.split(r"[\s,]+", text.strip().upper())
    if all(re.fullmatch(r"RM\d+", code) for code in codes):
        try:
            click.echo("\n\n".join(explanation(rule_by_code(code)) for code in codes))
        except KeyError as error:
            raise click.UsageError(f"No rule has the code {error.args[0]}; `raymigrate rules` lists them.") from None
        return
    if text == "-" and sys.stdin is None:
        raise click.UsageError(NO_STDIN)
    found = rules_by_text(sys.stdin.buffer.read().decode(errors="replace") if text == "-" else text)
    named = [] if found else rules_by_name(text)
    if len(named) > 1:
        lines = "\n".join(line_of(rule) for rule in named)
        click.echo(f"Rules that speak of {text}; `raymigrate explain {named[0].code}` shows the first:\n{lines}")
        return
    if not (found := found or named):
        raise click.ClickException(NOTHING_KNOWN)
    click.echo("\n\n".join(explanation(rule) for rule in found))

"""What ends a run at once, with exit code 2."""

import click

NO_STDIN = "Standard input is closed; there is nothing to read from it."


class CannotWorkError(click.ClickException):
    """The tool cannot do its work; the message says why and is all that is printed."""

    exit_code = 2

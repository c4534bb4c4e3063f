"""`raymigrate config`: what becomes of the file of `accelerate launch` on Ray."""

import json
from pathlib import Path

import click

from raymigrate.base.errors import CannotWorkError
from raymigrate.facts.accelerate.accelerate_config import read_file
from raymigrate.facts.accelerate.launch_file import launch_form
from raymigrate.facts.accelerate.launch_form import NoRayFormError, RejectedFileError
from raymigrate.reporting.accelerate_table import as_json, as_text


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text", help="Format of the table.")
@click.pass_context
def config(ctx: click.Context, file: Path, output_format: str) -> None:
    """Show what becomes of a file of `accelerate config` on Ray: each key, what the launcher did, the form on Ray.

    FILE is the YAML or JSON file that `accelerate launch --config_file` takes. Exit code 1: there is no form on Ray, or
    accelerate rejects the file.
    """
    try:
        values = read_file(file)
    except OSError as error:
        raise CannotWorkError(f"{file}: cannot be read: {error.strerror or error}.") from None
    except ValueError as error:
        raise CannotWorkError(f"{file}: cannot be read: it {error}.") from None
    try:
        form = launch_form(values, str(file))
    except (NoRayFormError, RejectedFileError) as error:
        if output_format == "json":
            click.echo(json.dumps({"file": str(file), "refused": str(error)}, indent=2))
            ctx.exit(1)
        raise click.ClickException(f"{file}: {error}") from None
    click.echo(as_json(file, form) if output_format == "json" else "\n".join(as_text(file, form)))

"""The option `--from-ray`, which convert and verify share."""

import re

import click


def ray_version(ctx: click.Context, parameter: click.Parameter, value: str) -> str:
    """Refuses what is not a version of Ray from before Train V2; "" is not given."""
    if value and not re.fullmatch(r"2\.(?:\d|[1-4]\d|50)(?:\.\d+)?", value):
        message = f"{value!r} is not a version of Ray from 2.0 to 2.50, such as 2.4 or 2.7.1"
        raise click.BadParameter(message, ctx, parameter)
    return value

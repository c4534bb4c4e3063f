"""`raymigrate config`: the file of `accelerate launch` as a table, and what to write for it on Ray."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from raymigrate.base.errors import CannotWorkError

if TYPE_CHECKING:
    from raymigrate.facts.launch_form import LaunchForm, Row

HEADINGS = ("KEY", "ACCELERATE LAUNCH", "ON RAY")
WIDTH = 120  # where there is no terminal
WIDEST = (44, 50)  # columns; the last one takes what is left
NO_RAY_FORM = (
    "{kind} is started by accelerate itself (TPU, SageMaker, Megatron-LM); Ray Train has no equal form."  # as RM820
)
REJECTED = "accelerate 1.15 rejects this file: {message}"


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text", help="Format of the table.")
@click.pass_context
def config(ctx: click.Context, file: Path, output_format: str) -> None:
    """Show what becomes of a file of `accelerate config` on Ray: each key, what the launcher did, the form on Ray.

    FILE is the YAML or JSON file that `accelerate launch --config_file` takes. Exit code 1: there is no form on Ray, or
    accelerate rejects the file.
    """
    from raymigrate.facts.accelerate_config import read_file  # noqa: PLC0415
    from raymigrate.facts.launch_file import launch_form  # noqa: PLC0415
    from raymigrate.facts.launch_form import NoRayFormError, RejectedFileError  # noqa: PLC0415

    try:
        values = read_file(file)
    except OSError as error:
        raise CannotWorkError(f"{file}: cannot be read: {error.strerror or error}.") from None
    except ValueError as error:
        raise CannotWorkError(f"{file}: cannot be read: it {error}.") from None
    try:
        form = launch_form(values, str(file))
    except NoRayFormError as error:
        _refuse(ctx, file, NO_RAY_FORM.format(kind=error), output_format)
    except RejectedFileError as error:
        _refuse(ctx, file, REJECTED.format(message=error), output_format)
    else:
        click.echo(_as_json(file, form) if output_format == "json" else "\n".join(_as_text(file, form)))


def _refuse(ctx: click.Context, file: Path, message: str, output_format: str) -> None:
    if output_format == "json":
        import json  # noqa: PLC0415

        click.echo(json.dumps({"file": str(file), "refused": message}, indent=2))
        ctx.exit(1)
    raise click.ClickException(f"{file}: {message}")


def _as_json(file: Path, form: LaunchForm) -> str:
    import json  # noqa: PLC0415

    document = {
        "file": str(file),
        "distributed_type": form.kind,
        "keys": [asdict(row) for row in form.rows],
        "scaling_config": form.scaling_arguments(),
        "torch_config": form.torch_config,
        "accelerator": form.accelerator_arguments(),
        "imports": dict(form.imports()),
        "variables": form.variables,
        "variables_instead_of_arguments": form.worker_variables(),
    }
    return json.dumps(document, indent=2, default=str)


def _as_text(file: Path, form: LaunchForm) -> Iterator[str]:
    workers = "number of workers from the command line" if form.workers is None else f"{form.workers} workers"
    yield f"{file}: {form.kind}, {workers.replace('1 workers', '1 worker') if form.workers == 1 else workers}"
    yield ""
    yield from _table([HEADINGS, *map(_cells, form.rows)])
    yield ""
    yield "In the script that starts the training:"
    yield ""
    yield from textwrap.indent(_call("ScalingConfig", _scaling(form)), "    ").splitlines()
    if form.use_gpu is None:
        yield "    # without a GPU: use_gpu=False, and Accelerator(cpu=True) in the training function"
    if form.torch_config:
        yield from textwrap.indent(_call("TorchConfig", form.torch_config), "    ").splitlines()
    if form.variables:
        yield from textwrap.indent(_run_config(form.variables), "    ").splitlines()
    yield ""
    yield "In the training function:"
    yield ""
    for name, module in sorted(form.imports().items()):
        yield f"    from {module} import {name}"
    yield from textwrap.indent(_call("Accelerator", _accelerator(form)), "    ").splitlines()
    if form.worker_variables() != form.variables:
        yield ""
        yield "Where a library or a Trainer makes the Accelerator, the environment of the workers instead of arguments:"
        yield ""
        yield from textwrap.indent(_run_config(form.worker_variables()), "    ").splitlines()


def _scaling(form: LaunchForm) -> dict[str, str]:
    arguments = form.scaling_arguments()
    if form.use_gpu is None:
        arguments["use_gpu"] = "True"
    return arguments if form.workers is not None else {"num_workers": "...", **arguments}


def _accelerator(form: LaunchForm) -> dict[str, str]:
    on_cpu = form.use_gpu is False and not form.resources
    return {**form.accelerator_arguments(), **({"cpu": "True"} if on_cpu else {})}


def _call(name: str, arguments: Mapping[str, str]) -> str:
    """A call, on one line if it is short."""
    line = f"{name}({', '.join(f'{key}={value}' for key, value in arguments.items())})"
    if len(line) <= 100 and "\n" not in line:
        return line
    return f"{name}(\n" + "".join(f"    {key}={value},\n" for key, value in arguments.items()) + ")"


def _run_config(variables: Mapping[str, str]) -> str:
    from raymigrate.facts.literals import string_literal  # noqa: PLC0415

    entries = "".join(f'            "{name}": {string_literal(value)},\n' for name, value in variables.items())
    return f'RunConfig(\n    worker_runtime_env={{\n        "env_vars": {{\n{entries}        }}\n    }}\n)'


def _cells(row: Row) -> tuple[str, str, str]:
    import json  # noqa: PLC0415

    from raymigrate.facts.literals import shortened_text  # noqa: PLC0415

    key = row.key.rpartition(".")[2]
    value = shortened_text(row.value if isinstance(row.value, str) else json.dumps(row.value, default=str))
    name = f"{key}: {value}" if row.in_file else f"({key}: {value} by default)" if row.value is not None else f"({key})"
    return name, row.launch, "; ".join(filter(None, (row.ray, row.remark)))


def _table(rows: list[tuple[str, str, str]]) -> Iterator[str]:
    """Columns that fit the terminal."""
    total = shutil.get_terminal_size((WIDTH, 0)).columns
    widths = [min(max(len(row[i]) for row in rows), most, total // 3) for i, most in enumerate(WIDEST)]
    widths.append(max(total - sum(widths) - 4, 20))
    for row in rows:
        cells = [
            textwrap.wrap(cell, width, break_on_hyphens=False) or [""] for cell, width in zip(row, widths, strict=True)
        ]
        for i in range(max(map(len, cells))):
            line = [cell[i] if i < len(cell) else "" for cell in cells]
            yield "  ".join(f"{text:{width}}" for text, width in zip(line, widths, strict=True)).rstrip()

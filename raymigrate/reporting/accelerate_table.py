"""The file of `accelerate launch` as a table, and what to write for it on Ray."""

from __future__ import annotations

import json
import shutil
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from raymigrate.facts.syntax.literals import shortened_text, string_literal

if TYPE_CHECKING:
    from raymigrate.facts.accelerate.launch_form import LaunchForm, Row

HEADINGS = ("KEY", "ACCELERATE LAUNCH", "ON RAY")
WIDTH = 120  # where there is no terminal
WIDEST = (44, 50)  # columns; the last one takes what is left


def as_json(file: Path, form: LaunchForm) -> str:
    """What becomes of a file, for programs."""

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


def as_text(file: Path, form: LaunchForm) -> Iterator[str]:
    """The lines of the table, and of what to write on Ray."""
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
    entries = "".join(f'            "{name}": {string_literal(value)},\n' for name, value in variables.items())
    return f'RunConfig(\n    worker_runtime_env={{\n        "env_vars": {{\n{entries}        }}\n    }}\n)'


def _cells(row: Row) -> tuple[str, str, str]:
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

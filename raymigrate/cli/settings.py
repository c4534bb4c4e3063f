# ruff: noqa: PTH100, PTH109, PTH118, PTH120, PTH123, PTH112 - works on strings, as discovery.py does: pathlib costs 5 ms
"""Settings of a project: the table [tool.raymigrate] of its pyproject.toml.

They have the names of the options of `raymigrate convert`, with dashes or underscores. The file is looked for on every
run, so this module imports nothing: a TOML parser only where the table is there.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import click

from raymigrate.base.errors import CannotWorkError
from raymigrate.base.toml import toml_values
from raymigrate.base.words import one_line
from raymigrate.cli.suggestions import closest

FILE = "pyproject.toml"
TABLE = b"raymigrate"
# Options that belong to one run, not to a project.
NOT_SETTINGS = frozenset(
    {
        "paths",
        "diff",
        "check",
        "interactive",
        "stdin_filename",
        "report",
        "write_baseline",
        "isolated",
        "force_exclude",
        "help",
    }
)

# What such tools call it -> what it is here.
OF_OTHER_TOOLS = {
    "--dry-run": "`raymigrate diff` shows what would change, `raymigrate check` lists it.",
    "--fix": "`raymigrate PATH` converts; no option is needed for it.",
    "--write": "`raymigrate PATH` converts; no option is needed for it.",
}


@dataclass(frozen=True)
class Settings:
    """What a pyproject.toml says.

    Args:
        file: The file; empty if there is none.
        values: Names of parameters to values: the whole table, or what of it the command line does not overrule.
    """

    file: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)

    @property
    def folder(self) -> str:
        """The folder that patterns of the settings are relative to."""
        return os.path.dirname(os.path.abspath(self.file))

    @property
    def exclude_base(self) -> str:
        """The folder that the patterns of --exclude are relative to; empty for the current one."""
        return self.folder if "exclude" in self.values else ""


def find_settings(paths: Sequence[str]) -> Settings:
    """Reads the settings that hold for some paths.

    They are in the nearest pyproject.toml with the table, from the folder that the paths share upwards, to the root of
    the git repository. A file without the table is ignored: a repository of several packages has several.

    Raises:
        CannotWorkError: If the file is not TOML, or cannot be read.
    """
    folder = _shared_folder(paths)
    while True:
        file = os.path.join(folder, FILE)
        try:
            with open(file, "rb") as stream:
                data = stream.read()
        except OSError as error:
            if os.path.isfile(file):  # noqa: PTH113 - what it says must not be passed over
                raise CannotWorkError(one_line(f"{file}: cannot be read: {error.strerror or error}")) from None
            data = b""
        if TABLE in data:
            table = _table(file, data)
            if table is not None:
                return Settings(file, {name.replace("-", "_"): value for name, value in table.items()})
        parent = os.path.dirname(folder)
        if parent == folder or os.path.lexists(os.path.join(folder, ".git")):
            return Settings()
        folder = parent


def _shared_folder(paths: Sequence[str]) -> str:
    absolute = [os.path.abspath(path) for path in paths]
    try:
        shared = os.path.commonpath(absolute)
    except ValueError:  # no paths, or on several drives
        return os.getcwd()
    return shared if os.path.isdir(shared) else os.path.dirname(shared)


def _table(file: str, data: bytes) -> Mapping[str, Any] | None:
    try:
        tool = toml_values(data.decode()).get("tool")
    except (ValueError, RecursionError) as error:  # no TOML, no UTF-8, a number of thousands of digits, too deep
        raise CannotWorkError(one_line(f"{file}: is not TOML: {error}")) from None
    table = tool.get("raymigrate") if isinstance(tool, dict) else None
    if table is not None and not isinstance(table, dict):
        raise CannotWorkError(one_line(f"{file}: tool.raymigrate is not a table"))
    return table


class ConfigurableCommand(click.Command):
    """A command whose options can be set in pyproject.toml; the command line wins."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Puts the settings where the command line says nothing."""
        try:
            rest = super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if meant := OF_OTHER_TOOLS.get(error.option_name):
                raise click.UsageError(f"No such option: {error.option_name}. {meant}", ctx) from None
            raise
        settings = Settings()
        if not (ctx.params.get("isolated") or ctx.resilient_parsing):
            named = [path for path in ctx.params["paths"] if path != "-"] or [ctx.params["stdin_filename"] or "."]
            settings = self._applied(ctx, find_settings(named))
        ctx.obj = settings
        return rest

    def _applied(self, ctx: click.Context, settings: Settings) -> Settings:
        """Those of the settings that count."""
        applied: dict[str, Any] = {}
        options = {str(p.name): p for p in self.params if isinstance(p, click.Option) and p.name not in NOT_SETTINGS}
        for name, value in settings.values.items():
            where = f"{settings.file}: [tool.raymigrate] {name.replace('_', '-')}"
            option = options.get(name)
            if option is None:
                raise CannotWorkError(one_line(f"{where}: there is no such setting{_hint(name, options)}"))
            _check_type(option, value, where)
            source = ctx.get_parameter_source(name)
            if source is not None and source.name == "DEFAULT":
                try:
                    ctx.params[name] = applied[name] = option.process_value(ctx, value)
                except click.BadParameter as error:
                    raise CannotWorkError(one_line(f"{where}: {error.message}")) from None
        return Settings(settings.file, applied)


def _check_type(option: click.Option, value: object, where: str) -> None:
    if option.is_flag:
        fits, wanted = isinstance(value, bool), "true or false"
    elif option.multiple:
        fits, wanted = isinstance(value, list) and all(isinstance(item, str) for item in value), "a list of strings"
    elif isinstance(option.type, click.types.IntParamType):
        fits, wanted = isinstance(value, int) and not isinstance(value, bool), "a whole number"
    else:
        fits, wanted = isinstance(value, str), "a string"
    if not fits:
        raise CannotWorkError(one_line(f"{where}: must be {wanted}, not {value!r}"))


def _hint(name: str, options: Mapping[str, object]) -> str:
    close = closest(name, options)
    known = ", ".join(sorted(option.replace("_", "-") for option in options))
    return f"; did you mean {close.replace('_', '-')}?" if close else f"; there are {known}"

"""The command line. Nothing heavy is imported before a command needs it."""

import errno
import io
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import click

from raymigrate import __version__
from raymigrate.base.errors import CannotWorkError
from raymigrate.base.ray_version import ray_version
from raymigrate.cli.settings import ConfigurableCommand
from raymigrate.reporting import FORMATS
from raymigrate.reporting.terminal import COLOUR_CHOICES, use_colour

# Command -> module that holds it; the module is imported only when the command is called.
LATE_COMMANDS = {
    "config": "raymigrate.cli.config",
    "doctor": "raymigrate.runtime.doctor",
    "env": "raymigrate.runtime.environments.command",
    "explain": "raymigrate.cli.rules",
    "hub": "raymigrate.runtime.hub.command",
    "rules": "raymigrate.cli.rules",
    "verify": "raymigrate.runtime.verify.command",
}
DISK_FULL = (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC))
CODES = "CODE[,CODE]"
STYLES = ("auto", "inline", "adapter")
HELPERS = (
    "Where to write the classes and functions that converted scripts need: into each, or into one module per folder."
)
TO_RAY = "Also move plain Trainer and Accelerate scripts, which use no Ray yet, to Ray Train."
TO_ACCELERATE = "Also move plain PyTorch training loops to accelerate."
WORKERS = "With --to-ray: how many workers train."
FROM_RAY = "The Ray that the code was written for; by default what its pins and imports show, else 2.6."


class DefaultConvert(click.Group):
    """A group whose default command converts: `raymigrate path/` needs no word for it.

    A path that is named like a command is reached as `./verify`.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Puts `convert` before arguments that name no command."""
        first = args[0] if args else "--help"
        if first not in self.list_commands(ctx) and first not in ("--help", "-h", "--version"):
            args = ["convert", *args]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands, with those that are imported only when they are called."""
        return [*super().list_commands(ctx), *LATE_COMMANDS]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Imports such a command when it is called."""
        if name not in LATE_COMMANDS:
            return super().get_command(ctx, name)
        command: click.Command = getattr(import_module(LATE_COMMANDS[name]), name)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Says of a full disk that the output is lost; the files that are converted have messages of their own."""
        _prepare_streams()
        try:
            try:
                return super().invoke(ctx)
            finally:
                sys.stdout.flush()
        except OSError as error:
            if error.errno not in DISK_FULL:
                raise
            # Python would try once more to write what is left, and end with an exit code of its own.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            message = f"The output could not be written ({error.strerror}); make room and run raymigrate again."
            raise CannotWorkError(message) from None

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Shows the two forms."""
        formatter.write_usage("raymigrate", "[OPTIONS] PATH...")
        formatter.write_usage("raymigrate", "COMMAND [ARGS]...")

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Shows the first sentence of each command whole, which click cuts after 45 letters."""
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.get_short_help_str(200)) for name, command in commands if command])


@click.group(cls=DefaultConvert, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="raymigrate")
@click.pass_context
def main(ctx: click.Context) -> None:
    """Rewrite legacy Ray Train scripts for Hugging Face models to current Ray.

    `raymigrate PATH...` converts files and folders in place; `raymigrate convert --help` lists its options.

    Exit codes: 0 nothing legacy is left, 1 something is left to do (or, with --check and --diff, would change), 2 the
    tool could not do its work.
    """
    ctx.color = use_colour("auto")


def _prepare_streams() -> None:
    """Refuses a closed stdout, and lets no character of a text end the run because the terminal does not know it.

    Raises:
        CannotWorkError: If stdout is closed.
    """
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass  # a closed one would be given to the next file that is opened: what a crash prints would land in it
    if sys.stderr is None:
        sys.stderr = open(descriptor, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - of a descriptor, for good
    else:
        os.close(descriptor)
    if sys.stdout is None:
        raise CannotWorkError("Standard output is closed; send it to /dev/null to do without it.")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _codes(ctx: click.Context, parameter: click.Parameter, value: Sequence[str]) -> tuple[str, ...]:
    """Splits comma lists, and refuses codes that no rule has."""
    codes = tuple(code.strip() for item in value for code in item.split(",") if code.strip())
    if codes:
        from raymigrate.run.rules import every_rule  # noqa: PLC0415 - loads every codemod

        for code in codes:
            if not any(rule.code.startswith(code) for rule in every_rule()):
                raise click.BadParameter(f"no rule has the code {code}; see `raymigrate rules`", ctx, parameter)
    return codes


@main.command(cls=ConfigurableCommand)
@click.argument("paths", nargs=-1, required=True)
@click.option("--diff", is_flag=True, help="Print a unified diff to stdout and write nothing.")
@click.option("--check", is_flag=True, help="Write nothing; exit 1 if something would change.")
@click.option("--interactive", is_flag=True, help="Show each conversion and ask whether to make it.")
@click.option("--select", multiple=True, metavar=CODES, callback=_codes, help="Only these rules, by code or prefix.")
@click.option("--ignore", multiple=True, metavar=CODES, callback=_codes, help="Not these rules.")
@click.option("--unsafe/--no-unsafe", help="Also apply rewrites that can change behaviour.")
@click.option(
    "--freeze-numerics/--no-freeze-numerics", help="Write out the defaults that changed since transformers 4.30."
)
@click.option("--from-ray", default="", metavar="VERSION", callback=ray_version, help=FROM_RAY)
@click.option("--guide/--no-guide", help="Write the short data form of Ray's guide, which changes the training.")
@click.option(
    "--style",
    type=click.Choice(STYLES),
    default="auto",
    help="Convert the init function itself (inline), or call it (adapter).",
)
@click.option("--helpers", type=click.Choice(("inline", "module")), default="inline", help=HELPERS)
@click.option("--to-ray/--no-to-ray", help=TO_RAY)
@click.option("--to-accelerate/--no-to-accelerate", help=TO_ACCELERATE)
@click.option("--workers", type=click.IntRange(1), metavar="N", help=WORKERS)
@click.option("--gpu/--cpu", default=None, help="With --to-ray: whether each worker has a GPU.")
@click.option("--docs/--no-docs", help="Also convert code blocks of Markdown and reStructuredText pages.")
@click.option("--todo/--no-todo", help="Leave a TODO comment at everything that is left for a person.")
@click.option("--exclude", multiple=True, metavar="GLOB", help="Leave these paths out; .gitignore syntax.")
@click.option("--force-exclude", is_flag=True, help="Leave excluded files out even if they are named as PATHS.")
@click.option("--jobs", type=click.IntRange(0), default=0, help="Number of processes; 0: as many as are useful.")
@click.option("--output-format", type=click.Choice(FORMATS), default="text", help="Format of the findings.")
@click.option("--group-by", type=click.Choice(("file", "rule")), default="file", help="Order of findings in text.")
@click.option("--report", help="Also write a report: .md for a pull request, .html to look at.")
@click.option("--baseline", metavar="FILE", help="Report only what is not in this file; see --write-baseline.")
@click.option("--write-baseline", metavar="FILE", help="Write all findings to FILE, as a baseline, and exit 0.")
@click.option("--statistics/--no-statistics", help="Count the findings per rule.")
@click.option("--color", type=click.Choice(COLOUR_CHOICES), default="auto", help="Colour; auto heeds NO_COLOR.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")
@click.option("-v", "--verbose", is_flag=True, help="Also list what was converted and what was skipped.")
@click.option("--stdin-filename", metavar="FILE", help="With PATH `-`: the file name for what comes from stdin.")
@click.option("--isolated", is_flag=True, help="Do not read [tool.raymigrate] of pyproject.toml.")
@click.pass_context
def convert(ctx: click.Context, /, paths: tuple[str, ...], **choices: Any) -> None:
    """Convert files and folders in place (the default command).

    PATH `-` converts one file from stdin to stdout. Options that are not given come from the table [tool.raymigrate] of
    the nearest pyproject.toml.
    """
    _convert(ctx, paths, choices)


def _only_shown(name: str, text: str) -> click.Command:
    """A command that does what `convert` does with an option of that name."""

    @click.pass_context
    def callback(ctx: click.Context, /, paths: tuple[str, ...], **choices: Any) -> None:
        _convert(ctx, paths, {**choices, "check": False, "diff": False, "interactive": False, name: True})

    parameters = [p for p in convert.params if p.name not in ("check", "diff", "interactive")]
    return ConfigurableCommand(name, params=parameters, callback=callback, help=text)


main.add_command(_only_shown("check", "Write nothing; exit 1 if something would change: `convert --check`."))
main.add_command(_only_shown("diff", "Write nothing; print a diff of what would change: `convert --diff`."))


def _convert(ctx: click.Context, paths: tuple[str, ...], choices: dict[str, Any]) -> None:
    from raymigrate.cli.convert import convert_paths  # noqa: PLC0415 - what other commands do without

    ctx.color = use_colour(choices.pop("color"))
    sys.exit(convert_paths(ctx, paths, choices))

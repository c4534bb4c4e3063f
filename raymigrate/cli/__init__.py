"""The command line: words in, exit code out. Subcommands are imported where they are run."""

from raymigrate.cli.commands import main

__all__ = ["main"]

"""The tools that raymigrate is compared with, in an environment of their own."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

REQUIREMENTS = Path(__file__).with_name("requirements.txt")
# Names the files in a folder for tools that want files.
EACH_FILE = ("sh", "-c", 'find . -name "*.py" -print0 | xargs -0 "$@"', "sh")


@dataclass(frozen=True)
class Tool:
    """A way to use a peer.

    Args:
        name: How tables call it.
        command: The command, or a Python module as in `python -m libcst.tool`.
        arguments: What goes before the paths.
        takes_folders: Whether a path may be a folder.
        slow: Whether it takes half a second or more for a file: it runs once, and over fewer files.
    """

    name: str
    command: str
    arguments: Sequence[str] = ()
    takes_folders: bool = True
    slow: bool = False


RUFF = ("check", "--isolated", "--no-cache", "--quiet", "--exit-zero")
AST_GREP = ("run", "--pattern", "session.report($$$A)", "--lang", "py")
CODEMOD = ("codemod", "--no-format", "--hide-progress")
RENAME = (*CODEMOD, "rename.RenameCommand", "--old_name=ray.air.session.report", "--new_name=ray.train.report")

RUFF_RULE = Tool("ruff check, 1 rule", "ruff", (*RUFF, "--select", "F401"))
RUFF_FIX = Tool("ruff check --select UP --fix", "ruff", (*RUFF, "--select", "UP", "--fix"))
AST_GREP_FIND = Tool("ast-grep, 1 pattern", "ast-grep", AST_GREP)
AST_GREP_REWRITE = Tool("ast-grep, 1 rewrite", "ast-grep", (*AST_GREP, "--rewrite", "train.report($$$A)", "-U"))
PYUPGRADE = Tool("pyupgrade", "pyupgrade", ("--py310-plus", "--exit-zero-even-if-changed"), takes_folders=False)
DJANGO_UPGRADE = Tool(
    "django-upgrade --check", "django-upgrade", ("--check", "--target-version", "5.2"), takes_folders=False
)
FIXIT = Tool("fixit lint, 1 rule", "fixit", ("--rules", "fixit.rules.use_fstring", "lint"), slow=True)
LIBCST_NOOP = Tool("libcst.tool, no-op", "libcst.tool", (*CODEMOD, "noop.NOOPCommand"), slow=True)
LIBCST_RENAME = Tool("libcst.tool, RenameCommand", "libcst.tool", RENAME, slow=True)
BUMP_PYDANTIC = Tool("bump-pydantic --diff", "bump-pydantic", ("--diff", "--log-file", os.devnull), slow=True)


class Peers:
    """Finds the tools; installs them once.

    Args:
        cache: Where their environment is kept.
    """

    def __init__(self, cache: Path) -> None:
        self._cache = cache
        self._missing: set[str] = set()

    def line(self, tool: Tool, *names: str) -> list[str] | None:
        """The command line of a tool over a folder's files, to be run in it; None, after telling so, if it is missing.

        Args:
            tool: The tool.
            names: Files in the folder; none: all.
        """
        start = self._find(tool.command)
        if start is None:
            if tool.command not in self._missing:
                self._missing.add(tool.command)
                print(f"{tool.command} is missing: left out", file=sys.stderr)
            return None
        line = [*start, *tool.arguments]
        if not names and not tool.takes_folders:
            return [*EACH_FILE, *line]
        return [*line, *(names or ".")]

    def _find(self, command: str) -> list[str] | None:
        if "." in command:
            package = command.partition(".")[0]
            installed = any((self._folder / "lib").glob(f"python*/site-packages/{package}"))
            return [str(self._folder / "bin" / "python"), "-m", command] if installed else None
        found = shutil.which(command, path=f"{self._folder / 'bin'}{os.pathsep}{os.environ['PATH']}")
        return None if found is None else [found]

    @cached_property
    def _folder(self) -> Path:
        """The environment, installed anew when its requirements change."""
        folder = self._cache / "peers"
        installed = folder / "installed.txt"
        wanted = REQUIREMENTS.read_text()
        if not installed.exists() or installed.read_text() != wanted:
            print(f"installing the peers into {folder}", file=sys.stderr)
            subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
            for line in wanted.splitlines():  # one by one: what cannot be had takes no other along
                if not line.startswith("#"):
                    subprocess.run([folder / "bin" / "pip", "install", "--quiet", line], check=False)
            installed.write_text(wanted)
        return folder

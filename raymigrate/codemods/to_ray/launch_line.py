"""A line that starts a plain script: which script that is, what it gives the script, and what it becomes with Ray."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from raymigrate.base.expressions import lazy_regex
from raymigrate.documents.python_commands import UNKNOWN

OF_ACCELERATE = ("accelerate ", "accelerate-launch ")
OPTION_OF_PYTHON = r"\s+-(?:[WX]\s+[^\s-]\S*|(?!m\b)[A-Za-z]\S*)"  # -u, -Wignore, -X dev
OF_ACCELERATE_MODULE = lazy_regex(rf"python[\d.]*(?:{OPTION_OF_PYTHON})* -m accelerate[. ]")
SECRETS = lazy_regex(r"KEY|TOKEN|SECRET|PASSWORD")
# What a launcher or the user gives each process, and Ray gives its workers itself.
OF_LAUNCHERS = frozenset({"MASTER_ADDR", "MASTER_PORT", "RANK", "LOCAL_RANK", "NODE_RANK", "GROUP_RANK", "WORLD_SIZE"})


@dataclass(frozen=True)
class Launch:
    """A line that starts a script with `accelerate launch`, or with a launcher of torch or of DeepSpeed.

    Args:
        file: Where it stands.
        line: Its number.
        text: The command.
        flags: Flags of accelerate's launcher and their values; empty for a switch.
        cell: The number of the cell that it stands in; 0 for files without cells.
        is_plain: Whether it starts the script without a launcher: `python train.py`.
        variables: The variables of the environment before it, and their values.
    """

    file: Path
    line: int
    text: str
    flags: dict[str, str] = field(default_factory=dict)
    cell: int = 0
    is_plain: bool = False
    variables: dict[str, str] = field(default_factory=dict)

    @property
    def shown(self) -> str:
        """The command with the variables before it; what is secret of them is not shown."""
        return f"{_shown(self.variables)}{self.text}"

    @property
    def may_read_file(self) -> bool:
        """Whether its launcher reads a file of accelerate: those of torch and of DeepSpeed do not."""
        return self.text.startswith(OF_ACCELERATE) or OF_ACCELERATE_MODULE.match(self.text) is not None

    def names(self, settings: Path) -> bool:
        """Whether it names a file of accelerate, in its own folder or from one above it."""
        name = self.flags.get("config_file", "")
        return any(Path(os.path.normpath(base / name)) == settings for base in self.file.absolute().parents)

    @property
    def place(self) -> str:
        """Where it stands in its file."""
        return f"cell {self.cell}:{self.line}" if self.cell else str(self.line)

    @property
    def known_flags(self) -> dict[str, str]:
        """The flags whose value is not one of a variable of the shell."""
        return {name: value for name, value in self.flags.items() if not any(sign in value for sign in "$<{")}

    def starts(self, script: Path, folders: Sequence[Path]) -> bool:
        """Whether it starts a script.

        Which folder a line runs in is not seen: it may be the line's own, or one that leads to the script. In a folder
        that does not lead to it, the line must give a way to it; in others its name is enough, behind a variable of
        the shell, say.

        Args:
            script: The script.
            folders: Its folder, and those above it in its project.
        """
        if script.stem not in self.text:  # as in nearly all lines of a project
            return False
        near = self.file.parent.absolute() in folders or self.file.absolute() == script
        return any(
            self._is_name(word, script.name) and self._may_lead_to(word, script, folders, near=near)
            for word in self.text.split()
        )

    def _may_lead_to(self, word: str, script: Path, folders: Sequence[Path], *, near: bool) -> bool:
        path = Path(word if word.endswith(".py") else f"{word.replace('.', '/')}.py")
        for base in (self.file.parent.absolute(), *self.file.absolute().parent.parents):
            place = Path(os.path.normpath(base / path))
            if place == script or place.exists():
                return place == script
            if base in folders:
                break
        return near or any(folder / path == script for folder in folders)

    def command(self, script: str) -> str:
        """What starts the script as it is named there, without the launcher and without arguments."""
        name = next((word for word in self.text.split() if self._is_name(word, script)), script)
        name = script if UNKNOWN in name else name
        kept = {name: value for name, value in self.variables.items() if name not in OF_LAUNCHERS}
        return _shown(kept) + (f"python {name}" if Path(name).name == script else f"python -m {name}")

    def own_arguments(self, script: str) -> list[str]:
        """The words behind the script's name, which the script gets."""
        words = self.text.split()
        return words[next((n for n, word in enumerate(words) if self._is_name(word, script)), len(words)) + 1 :]

    def options(self, script: str) -> dict[str, str]:
        """The options behind the script's name, with underscores, and their values; those without one are left out."""
        words = self.own_arguments(script)
        pairs = [word.partition("=") for word in words]
        found = {name.lstrip("-").replace("-", "_"): value for name, sign, value in pairs if sign and name[:1] == "-"}
        for name, value in pairwise(words):
            if name.startswith("--") and "=" not in name and not value.startswith("-"):
                found[name.lstrip("-").replace("-", "_")] = value
        return found

    def _is_name(self, word: str, script: str) -> bool:
        words = self.text.split()
        by_module = words[0].startswith("python") and "-m" in words  # python -u -m torch.distributed.launch
        behind = words[words.index("-m") + 2 :] if by_module else words[1:]
        of_another = not (self.is_plain or self.may_read_file) and not {"-m", "--module"}.isdisjoint(behind)
        is_module = "m" in self.flags or "module" in self.flags or of_another
        return Path(word).name == script or (is_module and word.rpartition(".")[2] == script.removesuffix(".py"))


def _shown(variables: dict[str, str]) -> str:
    """Variables as they stand before a command."""
    return "".join(f"{name}={'...' if SECRETS.search(name) else value} " for name, value in variables.items())


def is_launched_one_way(launches: list[Launch]) -> bool:
    """Whether all lines that launch a script say the same."""
    return len({tuple(sorted(launch.flags.items())) for launch in launches}) == 1


def common_variables(launches: list[Launch]) -> dict[str, str]:
    """The variables that all lines which launch a script give it, with values that are written out."""
    given = [{name: value.strip("\"'") for name, value in launch.variables.items()} for launch in launches]
    shared = dict(set.intersection(*(set(variables.items()) for variables in given))) if given else {}
    return {name: value for name, value in sorted(shared.items()) if not any(sign in value for sign in "$<{")}

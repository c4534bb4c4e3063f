"""The names and arguments that legacy scripts used and that the target versions no longer have.

The table behind it is data: `scripts/generate_removed_names.py` writes it from the libraries' own releases.
"""

from functools import cache
from pathlib import Path

TABLE = Path(__file__).parent / "data" / "removed_names.json"


class RemovedNames:
    """Answers for qualified names, such as "ray.air.Checkpoint"."""

    def __init__(
        self,
        versions: dict[str, str],
        names: frozenset[str],
        modules: frozenset[str],
        arguments: dict[str, frozenset[str]],
    ) -> None:
        self.versions = versions
        self.names = names
        self.modules = modules
        self.arguments = arguments

    def is_removed(self, qualified_name: str) -> bool:
        """Whether a module, class or function is gone, or stands inside one that is."""
        name = qualified_name
        while name:
            if name in self.names or name in self.modules:
                return True
            name = name.rpartition(".")[0]
        return False

    def removed_arguments(self, qualified_name: str) -> frozenset[str]:
        """The arguments that a class or function used to take and now refuses."""
        return self.arguments.get(qualified_name, frozenset())


@cache
def load() -> RemovedNames:
    """Reads the table, once."""
    import json  # noqa: PLC0415 - most runs never get this far

    table = json.loads(TABLE.read_text(encoding="utf-8"))
    return RemovedNames(
        versions=table["versions"],
        names=frozenset(f"{module}.{name}" for module, names in table["removed"].items() for name in names),
        modules=frozenset(table["removed_modules"]),
        arguments={name: frozenset(arguments) for name, arguments in table["removed_arguments"].items()},
    )

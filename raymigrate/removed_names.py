"""Names that old versions of Ray, transformers, accelerate, datasets and evaluate had and the pinned ones have not."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

TABLE = Path(__file__).parent / "data" / "removed_names.json"


@dataclass(frozen=True)
class RemovedNames:
    """The table, as scripts/generate_removed_names.py made it.

    Args:
        versions: Library to the version that the table speaks of.
        names: Qualified names that are gone from modules that still exist.
        modules: Modules that are gone.
    """

    versions: dict[str, str]
    names: frozenset[str]
    modules: frozenset[str]

    def is_removed(self, qualified: str) -> bool:
        """Whether a qualified name is gone, by itself or with its module."""
        if qualified in self.names or qualified in self.modules:
            return True
        module = qualified.rpartition(".")[0]
        while module:
            if module in self.modules:
                return True
            module = module.rpartition(".")[0]
        return False


@cache
def load() -> RemovedNames:
    """Reads the table."""
    import json  # noqa: PLC0415 - only files that import ray get here

    document = json.loads(TABLE.read_text(encoding="utf-8"))
    names = frozenset(f"{module}.{name}" for module, names in document["removed"].items() for name in names)
    return RemovedNames(document["versions"], names, frozenset(document["removed_modules"]))

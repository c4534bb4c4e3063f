"""A project of which only one file at a time may be read: the first look at each file of a run."""

from collections.abc import Sequence

from raymigrate.base.findings import Finding
from raymigrate.facts.projects.helpers import NOTHING_SHARED, SharedHelpers
from raymigrate.facts.projects.project import Project
from raymigrate.facts.projects.searched import Paths, Searched
from raymigrate.facts.syntax.module import Module


class OtherFileNeeded(Exception):
    """A file cannot be converted without reading another one."""


class Alone(Project):
    """A project of which only one file at a time may be read.

    It tells files that can be converted on their own, in any process, from those that need the others.

    Args:
        shared: As in `Project`.
        run: Tells runs apart. The files of a run mostly lie in the same folders and import the same modules, which each
            process searches once.
        tops: As in `Project`.
    """

    last: tuple[int, Searched, Paths] = (0, Searched(), Paths())

    def __init__(self, shared: SharedHelpers = NOTHING_SHARED, run: int = 0, tops: Sequence[str] = ()) -> None:
        super().__init__(tops, shared=shared)
        if not run or self.last[0] != run:
            Alone.last = run, self.searched, self.paths
        _, self.searched, paths = self.last
        if not shared.texts:  # else an import may lead to a file that is still to be written
            self.paths = paths

    @classmethod
    def found_in(cls, run: int) -> Searched:
        """What the first looks of a run found in files, for the looks that follow; nothing if others made them."""
        last, searched, _ = cls.last
        return searched if last == run else Searched()

    def read_others(self, path: str) -> None:
        """Refuses.

        Raises:
            OtherFileNeeded: Always.
        """
        raise OtherFileNeeded(path)

    def module(self, path: str) -> Module | None:
        """Refuses.

        Raises:
            OtherFileNeeded: Always.
        """
        raise OtherFileNeeded(path)

    def findings(self, path: str) -> Sequence[Finding]:
        """Refuses.

        Raises:
            OtherFileNeeded: Always.
        """
        raise OtherFileNeeded(path)

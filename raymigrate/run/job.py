"""What is done with each file of a run."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from raymigrate.base.collecting import no_search_for_cycles
from raymigrate.base.isolation import working_on
from raymigrate.base.options import Options
from raymigrate.documents import UndecodableError, open_document
from raymigrate.facts.projects.alone import Alone, OtherFileNeeded
from raymigrate.facts.projects.helpers import NOTHING_SHARED, SharedHelpers
from raymigrate.files.contents import read_bytes
from raymigrate.files.discovery import CONFIGURATION
from raymigrate.files.needles import PINS
from raymigrate.pins.evidence import uses_ray
from raymigrate.run.configuration_names import legacy_names
from raymigrate.run.conversion import broken, convert_document, crashed, failed
from raymigrate.run.gates import concerns
from raymigrate.run.other_lines import with_lines_settled
from raymigrate.run.outcome import FileResult
from raymigrate.run.replaced_names import with_told_once
from raymigrate.run.writing import written

if TYPE_CHECKING:
    from raymigrate.facts.projects.project import Project

RUNS = itertools.count(1)


@dataclass(frozen=True)
class Job:
    """What to do with each file.

    Args:
        options: For the codemods.
        rewrite: Whether to work the new text out; False only tells whether there would be one.
        write: Whether to write it to the file.
        crashed: Files that ended the process when they were worked on, by real path, and how it ended.
        shared: The helpers that scripts import from modules which the run writes.
        run: Tells this run from others in the same process, in which files may have changed; each plan has its own.
        for_ray: Whether each file is for Ray whatever it says itself, so that what it installs is a concern.
        tops: The folders that were named, whose files may use each other.
    """

    options: Options
    rewrite: bool = True
    write: bool = True
    crashed: Mapping[str, str] = field(default_factory=dict)
    shared: SharedHelpers = NOTHING_SHARED
    run: int = field(default_factory=RUNS.__next__)
    for_ray: bool = False
    tops: Sequence[str] = ()

    def __call__(self, path: str, project: Project | None = None) -> FileResult:
        """Converts one file and writes it; every problem with it becomes a finding. For the arguments see `convert`."""
        [result] = self.finished([self.look(path, project)])
        return result

    def first_look(self, path: str) -> FileResult:
        """Converts one file, if it can do without others."""
        return self.look(path)

    def look(self, path: str, project: Project | None = None) -> FileResult:
        """Converts one file and writes nothing yet; every problem with it becomes a finding. See `convert`."""
        try:
            data = read_bytes(path)
        except OSError as error:
            return failed(path, f"cannot be read: {error.strerror or error}.")
        return self.convert(path, data, project)

    def convert(self, path: str, data: bytes, project: Project | None = None) -> FileResult:
        """Converts the bytes of one file and writes nothing; every problem with them becomes a finding.

        Places are those in the text of the document; `FileResult.in_cells` gives those in the file.

        Args:
            path: The file.
            data: Its bytes.
            project: The files that may be read besides; without, a file that cannot do without others waits.
        """
        is_part = self.options.part_of_job or self.options.part_of_loop
        if not is_part and not concerns(data, path, self.options):
            return FileResult(path)

        if how := self.crashed and self.crashed.get(os.path.realpath(path)):
            return crashed(path, how)
        try:
            with working_on(path), no_search_for_cycles(len(data)):
                return self._converted(path, data, project or Alone(self.shared, self.run, self.tops))
        except OtherFileNeeded:
            return FileResult(path, waits=True)
        except UndecodableError as error:
            return failed(path, f"{error}.", error.line, error.column)
        except OSError as error:
            return failed(path, f"cannot be read: {error.strerror or error}.")
        except Exception as error:  # whatever it is, the other files are done
            return broken(path, error)

    def _converted(self, path: str, data: bytes, project: Project) -> FileResult:
        if path.endswith(CONFIGURATION):
            return legacy_names(path, data, self.options, project)
        document = open_document(data, path, for_ray=self.for_ray or (self.options.names(PINS) and uses_ray(data)))
        result = convert_document(document, path, self.options, rewrite=self.rewrite, project=project)
        if result.after is not None:
            _ = result.new_bytes  # its encoding may lack a character
        return result

    def finished(
        self,
        results: Sequence[FileResult],
        together: Sequence[Sequence[str]] = (),
        leads_out: Callable[[str], bool] = lambda path: False,
    ) -> list[FileResult]:
        """The results as a reader of the files sees them, once those are written that the job writes.

        Args:
            results: Results with places in the texts as they were read.
            together: Paths of files that change together or not at all.
            leads_out: Tells of a path whether it leads to where nothing may be written.
        """
        if self.write:
            results = list(map(with_told_once, written(results, together, leads_out)))
        return [result.in_cells() for result in with_lines_settled(results)]

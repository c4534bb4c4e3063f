"""Files that replace names in modules which a run converts: tests, which need not hold a word of Ray themselves."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace

from raymigrate.base.expressions import lazy_regex
from raymigrate.base.findings import Kind
from raymigrate.codemods.gone.names_in_strings import RM695
from raymigrate.codemods.gone.names_of_own_modules import IS_GONE
from raymigrate.facts.projects.project import Project
from raymigrate.facts.projects.project_uses import files_with, module_name
from raymigrate.run.outcome import FileResult

REPLACES = (b"patch", b"mocker", b"setattr", b"delattr")
WORD = lazy_regex(rb"\w+")


def replacing_files(results: Iterable[FileResult], project: Project) -> Iterator[str]:
    """The files that may replace a name in a module that loses names of legacy Ray.

    Args:
        results: What became of the modules.
        project: Their project.
    """
    modules: dict[str, set[bytes]] = {}  # by folder
    for result in results:
        if result.changes and result.is_legacy:
            modules.setdefault(project.folder(result.path), set()).add(os.fsencode(module_name(result.path)))
    for folder, names in modules.items():
        for path, data in files_with(project, folder, *REPLACES):
            is_spelled = path.endswith(".py") and any(name in data for name in names)
            if is_spelled and not names.isdisjoint(WORD.findall(data)):
                yield project.name(path)


def with_told_once(result: FileResult) -> FileResult:
    """The result of a file that stays, once others are written: no later run tells which of their names are gone."""
    gone = [finding for finding in result.findings if finding.kind is Kind.MANUAL and finding.code == RM695.code]
    count = sum(IS_GONE in finding.message for finding in gone) if result.after is None else 0
    return replace(result, told_once=result.told_once + count) if count else result

"""The second look at files that import each other: when all of them hold their new texts.

`engine.convert` proves of each file that a second run would not change it, beside the others as they were. What another
file holds decides what a file needs: which function a trainer gets, who calls a function.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from raymigrate.base.findings import Kind
from raymigrate.base.options import Options
from raymigrate.documents import Plain
from raymigrate.facts.projects.project import Project
from raymigrate.facts.syntax.own_modules import may_import_files
from raymigrate.run.conversion import left
from raymigrate.run.engine import convert
from raymigrate.run.file_rules import RM903
from raymigrate.run.outcome import FileResult, codes_of


def looked_at_again(changed: Mapping[str, FileResult], project: Project, options: Options) -> dict[str, FileResult]:
    """What a second run says of the files that change and have a neighbour that does.

    Args:
        changed: The files with a new text, by real path.
        project: The project as it is.
        options: What the user asked for.

    Returns:
        By real path, the results that differ: with what is left in the new text, or refused, as it would change again.
    """
    beside = _neighbours(changed, project)
    if not beside:
        return {}
    later = project.holding({real: result.new_bytes for real, result in changed.items()})
    return {real: _again(changed[real], later, options) for real in sorted(beside)}


def _neighbours(changed: Mapping[str, FileResult], project: Project) -> set[str]:
    """The files of which one imports the other."""
    found: set[str] = set()
    for real, result in changed.items():
        for imported in _imports(result, project):
            if imported in changed and imported != real:
                found |= {real, imported}
    return found


def _imports(result: FileResult, project: Project) -> Iterator[str]:
    if may_import_files(result.before) and (module := project.module(result.path)) is not None:
        yield from (project.real(path) for path, _ in project.imported_files(module))


def _again(result: FileResult, later: Project, options: Options) -> FileResult:
    assert result.after is not None
    again = convert(result.after, result.path, options, rewrite=False, project=later)
    if not again.changes:
        return replace(result, left=again.findings) if isinstance(result.document, Plain) else result
    codes = codes_of(finding for finding in again.findings if finding.kind is Kind.CONVERTED)
    message = f"left as it was: a second run would change it again ({codes}), as files that it works with change too."
    return left(result.path, RM903, message, result.before)

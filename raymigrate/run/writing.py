"""Writes what a run found out: each file, or files that change together, as a whole or not at all."""

import os
from collections.abc import Callable, Collection, Iterator, Sequence

from raymigrate.base.signals import undisturbed
from raymigrate.files.contents import NewFile, read_bytes, stage, sync_directories, write_atomically
from raymigrate.run.conversion import failed
from raymigrate.run.outcome import FileResult

CHANGED = "changed while it was being converted; run raymigrate again."


def written(
    results: Sequence[FileResult], together: Sequence[Collection[str]], leads_out: Callable[[str], bool]
) -> list[FileResult]:
    """Writes the files that change.

    Args:
        results: What became of each file, with places in the text as it was read.
        together: The paths of files that are written together or not at all.
        leads_out: Tells of a path whether it leads to where nothing may be written.

    Returns:
        The results in the same order: written, or with an error in place of their findings.
    """
    due = {result.path: result for result in results if result.after is not None and not result.is_written}
    groups = [[due[path] for path in group if path in due] for group in together]
    grouped = {result.path for group in groups for result in group}
    done: dict[str, FileResult] = {}
    for group in (*groups, *([result] for path, result in due.items() if path not in grouped)):
        done.update((result.path, result) for result in _written_together(group, leads_out))
    return [done.get(result.path, result) for result in results]


def _written_together(results: Sequence[FileResult], leads_out: Callable[[str], bool]) -> list[FileResult]:
    """Writes files, or none of them.

    All new contents lie on the disk before the first file gets its own: after that only renaming is left, for which a
    full disk has room. SIGKILL between two of the renames leaves files of both kinds, and what was not renamed yet, by
    which the next run knows.
    """
    staged, committed = [], []
    current = None
    try:
        for current in results:
            _refuse_elsewhere(current, leads_out)
            staged.append((NewFile if current.is_new else stage)(current.path, current.new_bytes))
        with undisturbed():
            for current in results:
                _refuse_changed(current)
            for current, new in zip(results, staged, strict=True):
                _refuse_changed(current)
                _refuse_elsewhere(current, leads_out)
                new.commit()
                committed.append(current)
    except OSError as error:
        assert current is not None
        return [*_not_written(results, committed, current, error)]
    finally:
        for new in staged:
            new.discard()
        sync_directories(result.path for result in committed)
    return [result.written() for result in results]


class _ChangedError(OSError):
    """A file is not any more what was read."""


def _refuse_changed(result: FileResult) -> None:
    if not result.is_new and read_bytes(result.path) != result.old_bytes:
        raise _ChangedError


def _refuse_elsewhere(result: FileResult, leads_out: Callable[[str], bool]) -> None:
    """Somebody may have put a link in the place of a file, or of a folder around it, since it was read."""
    if leads_out(result.path):
        raise _ChangedError


def _not_written(
    results: Sequence[FileResult], committed: Sequence[FileResult], culprit: FileResult, error: OSError
) -> Iterator[FileResult]:
    """Takes back what was written of files that change together, and says why."""
    for result in results:
        message = f"left as it was: {culprit.path}, which it has to change with, cannot be written."
        if result is culprit:
            reason = error.strerror or error
            message = CHANGED if isinstance(error, _ChangedError) else f"cannot be written, and is as it was: {reason}."
        elif result in committed:
            message = _taken_back(result) or message
        yield failed(result.path, message)


def _taken_back(result: FileResult) -> str:
    """Gives a file its old text, unless somebody changed it since it got the new one; says why if it did not."""
    try:
        if read_bytes(result.path) != result.new_bytes:
            return "was changed by somebody else while it was being converted; see which text it should have."
        if result.is_new:
            os.unlink(result.path)  # noqa: PTH108 - as everywhere on this path
        else:
            write_atomically(result.path, result.old_bytes)
    except OSError as error:
        return f"cannot be given its old text: {error.strerror or error}."
    return ""

# ruff: noqa: PTH105, PTH110, PTH108, PTH116, PTH118, PTH120 - works on strings, as discovery.py does
"""Reads files, and writes them so that nothing is ever lost."""

import contextlib
import errno
import os
import stat
from collections.abc import Iterable
from typing import Protocol

BINARY = getattr(os, "O_BINARY", 0)
READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | BINARY
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | BINARY


def read_bytes(path: str, *, at_most: int | None = None) -> bytes:
    """The content of a regular file; a named pipe or a device might never end, so none is read.

    Args:
        path: The file.
        at_most: The number of bytes from which on it is too large.

    Raises:
        OSError: If it cannot be read.
    """
    descriptor = os.open(path, READ)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", path)
        if at_most is not None and status.st_size > at_most:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), path)
        with open(descriptor, "rb", buffering=0, closefd=False) as stream:
            return stream.readall()
    finally:
        os.close(descriptor)


def write_file(path: str, data: bytes) -> None:
    """Writes a file that may be new, so that whatever happens it holds all of the old, or nothing, or all of the new.

    Raises:
        OSError: If the file could not be written.
    """
    if os.path.exists(path):
        write_atomically(path, data)
        return
    staged = NewFile(path, data)
    try:
        os.replace(staged.new, path)
    finally:
        staged.discard()


class Staged(Protocol):
    """New content that lies on the disk beside its file, so that little can go wrong with putting it in."""

    def commit(self) -> None:
        """Gives the file its new content; after an OSError it holds the old one.

        Nothing more, so that files that change together do so in one moment; see `sync_directories` for what is left.
        """

    def discard(self) -> None:
        """Takes away what lies beside the file, if it is still there."""


def write_atomically(path: str, data: bytes) -> None:
    """Replaces the content of an existing file, so that whatever happens it holds all of the old or all of the new.

    Args:
        path: The file.
        data: Its new content.

    Raises:
        OSError: If the file could not be written; it is unchanged. See `stage`.
    """
    staged = stage(path, data)
    try:
        staged.commit()
    finally:
        staged.discard()
    sync_directories([path])


def stage(path: str, data: bytes) -> Staged:
    """Prepares new content for an existing file, which it gets by `commit`, or does not by `discard`.

    Mode and owner stay (the owner as far as the system allows), and so does a symbolic link: its target is written.

    A file with several hard links cannot be swapped for another: its other names would keep the old content. So it
    is overwritten in place, after a copy of the old content has been secured beside it: an error puts the old content
    back. If the process is killed in the middle, what is sure to be left is that copy, `.raymigrate-*.old`; of any
    other file the new content may be left beside it, `.raymigrate-*.new`. The next run names it: see `is_left_over`.

    Args:
        path: The file.
        data: Its new content.

    Raises:
        OSError: If the content could not be prepared. PermissionError in particular for a file that has no write
            permission, even where the rights of the user or of the directory would allow to replace it.
    """
    target = os.path.realpath(path, strict=True)
    status = os.stat(target)
    if not status.st_mode & 0o222 or not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, "the file is read-only", path)
    kind = _Overwriting if status.st_nlink > 1 else _Replacement
    return kind(target, data, status)


class _Replacement:
    """A new file beside the old one, which takes its name."""

    def __init__(self, target: str, data: bytes, status: os.stat_result) -> None:
        self._target, self._new = target, _beside(target, "new")
        _write_beside(self._new, data, status)

    def commit(self) -> None:
        """See `Staged`."""
        os.replace(self._new, self._target)

    def discard(self) -> None:
        """See `Staged`."""
        _remove(self._new)


class NewFile:
    """Prepares a file that is not there yet; see `stage`. One that is there by then stays as it is.

    Args:
        path: The file.
        data: Its content.

    Raises:
        OSError: If the content could not be prepared.
    """

    def __init__(self, path: str, data: bytes) -> None:
        self._target, self.new = path, _beside(path, "new")
        try:
            descriptor = os.open(self.new, NEW, 0o666)
            try:
                _write_all(descriptor, data)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except BaseException:
            _remove(self.new)
            raise

    def commit(self) -> None:
        """See `Staged`."""
        if os.path.lexists(self._target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), self._target)
        os.replace(self.new, self._target)

    def discard(self) -> None:
        """See `Staged`."""
        _remove(self.new)


class _Overwriting:
    """A copy of the old content beside a file that is to be overwritten in place."""

    def __init__(self, target: str, data: bytes, status: os.stat_result) -> None:
        self._target, self._copy, self._data = target, _beside(target, "old"), data
        self._old = read_bytes(target)
        _write_beside(self._copy, self._old, status, named=True)

    def commit(self) -> None:
        """See `Staged`."""
        copy, self._copy = self._copy, ""  # from here on only a file that is whole lets it go
        try:
            _write_over(self._target, self._data)
        except BaseException:
            _write_over(self._target, self._old)
            self._copy = copy
            raise
        self._copy = copy

    def discard(self) -> None:
        """See `Staged`."""
        if self._copy:
            _remove(self._copy)


def _write_beside(path: str, data: bytes, status: os.stat_result, *, named: bool = False) -> None:
    """Writes a new file or leaves nothing; `named` makes its name last through a power failure as well."""
    try:
        _write_new(path, data, status)
        if named:
            sync_directories([path])
    except BaseException:
        _remove(path)
        raise


def _beside(target: str, suffix: str) -> str:
    """A new name in the directory of the target: hidden, and short, as that of the target may be as long as can be."""
    return os.path.join(os.path.dirname(target), f".raymigrate-{os.urandom(8).hex()}.{suffix}")


def is_left_over(name: str) -> bool:
    """Whether a file has the name of what lies beside another while that is written, or since a run was killed."""
    return name.startswith(".raymigrate-") and name.endswith((".new", ".old"))


def _write_new(path: str, data: bytes, status: os.stat_result) -> None:
    """Writes a new file with the mode and owner of another; nobody else may read it before it has them."""
    descriptor = os.open(path, NEW, 0o600)
    try:
        _write_all(descriptor, data)
        if hasattr(os, "fchown"):
            _give(descriptor, status)
            os.fchmod(descriptor, stat.S_IMODE(status.st_mode))  # last, as a change of the owner drops some bits
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _give(descriptor: int, status: os.stat_result) -> None:
    """Gives a file the owner and group of another, or its group alone: only root may give files away."""
    for owner in (status.st_uid, -1):
        with contextlib.suppress(OSError):
            os.fchown(descriptor, owner, status.st_gid)
            return


def _write_over(path: str, data: bytes) -> None:
    """Writes into an existing file, and cuts it only once all is written: that way a full disk takes nothing away."""
    descriptor = os.open(path, os.O_WRONLY | BINARY)
    try:
        _write_all(descriptor, data)
        os.ftruncate(descriptor, len(data))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _remove(path: str) -> None:
    """Takes a file away that nobody needs, if it is there; one that stays does not end a run."""
    with contextlib.suppress(OSError):
        os.unlink(path)


def sync_directories(paths: Iterable[str]) -> None:
    """Makes changes of names last through a power failure, where the system can."""
    for directory in sorted({os.path.dirname(os.path.realpath(path)) for path in paths}):
        with contextlib.suppress(OSError):
            descriptor = os.open(directory, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

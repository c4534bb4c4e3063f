"""Reads files, and writes them so that at any moment the old or the new content is there."""

import contextlib
import os
import stat
import tempfile
from pathlib import Path


def read_bytes(path: str) -> bytes:
    """The content of a file.

    Raises:
        OSError: If it cannot be read.
    """
    return Path(path).read_bytes()


def write_atomically(path: str, data: bytes) -> None:
    """Replaces the content of a file, or leaves it as it is.

    A temporary file beside it is written, synchronised and renamed over it, so a crash or a full disk at any moment
    leaves the old content. A symbolic link stays one: its target is replaced. Mode and owner are kept. A file with
    several hard links is the one exception: a rename would cut them, so it is overwritten in place after the new
    content was stored beside it, and put back if that fails.

    Args:
        path: An existing file.
        data: Its new content.

    Raises:
        PermissionError: If nobody may write the file.
        OSError: If it cannot be written; the file is as it was.
    """
    target = os.path.realpath(path)
    status = os.stat(target)
    if not status.st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH):
        raise PermissionError(13, "it is read-only", path)
    temporary = _write_beside(target, data, status)
    try:
        if status.st_nlink > 1:
            _overwrite(target, data)
        else:
            os.replace(temporary, target)
            temporary = ""
            _synchronise_folder(os.path.dirname(target))
    finally:
        if temporary:
            with contextlib.suppress(OSError):
                os.unlink(temporary)


def _write_beside(target: str, data: bytes, status: os.stat_result) -> str:
    """Writes a temporary file in the folder of the target, with its mode and owner; returns its path."""
    descriptor, temporary = tempfile.mkstemp(prefix=".raymigrate-", dir=os.path.dirname(target))
    try:
        try:
            _write_all(descriptor, data)
            os.fchmod(descriptor, stat.S_IMODE(status.st_mode))
            with contextlib.suppress(OSError):  # giving a file away needs privileges
                os.fchown(descriptor, status.st_uid, status.st_gid)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    return temporary


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _overwrite(target: str, data: bytes) -> None:
    """Overwrites a file in place, and puts the old content back if that fails."""
    old = read_bytes(target)
    descriptor = os.open(target, os.O_WRONLY)
    try:
        try:
            _fill(descriptor, data)
        except BaseException:
            _fill(descriptor, old)
            raise
    finally:
        os.close(descriptor)


def _fill(descriptor: int, data: bytes) -> None:
    os.lseek(descriptor, 0, os.SEEK_SET)
    _write_all(descriptor, data)
    os.ftruncate(descriptor, len(data))
    os.fsync(descriptor)


def _synchronise_folder(folder: str) -> None:
    """Makes the rename last; some file systems do not offer it."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

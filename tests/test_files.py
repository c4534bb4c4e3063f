"""Writing a file never loses it: whatever fails, and whenever, the old content or the new is there."""

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from raymigrate.files.contents import read_bytes, write_atomically

OLD = b"old content, longer than the new\n" * 3000
NEW = b"new content\n"
# What is called on the way to a written file.
SYSTEM_CALLS = ["open", "write", "fsync", "fchown", "fchmod", "ftruncate", "close", "replace", "unlink"]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "train.py"
    path.write_bytes(OLD)
    return path


@pytest.fixture(params=["one name", "two names"])
def any_file(request: pytest.FixtureRequest, file: Path) -> Path:
    """A file to be replaced, and one that has to be overwritten in place, as it has a second name."""
    if request.param == "two names":
        (file.parent / "second name").hardlink_to(file)
    return file


def others(file: Path) -> list[Path]:
    """What else is in the directory."""
    return [path for path in file.parent.iterdir() if path != file and path.name != "second name"]


class TestWriting:
    def test_the_content_is_replaced_and_nothing_else_is_left(self, any_file: Path) -> None:
        for data in (NEW, OLD * 2, b"", b"\xff\0\r\n", NEW):
            write_atomically(str(any_file), data)
            assert read_bytes(str(any_file)) == data
            assert others(any_file) == []

    @pytest.mark.parametrize("mode", [0o755, 0o600, 0o664, 0o2775])
    def test_the_mode_is_kept(self, any_file: Path, mode: int) -> None:
        any_file.chmod(mode)
        write_atomically(str(any_file), NEW)
        assert any_file.stat().st_mode & 0o7777 == mode

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
    def test_the_owner_is_kept(self, any_file: Path) -> None:
        os.chown(any_file, 1234, 5678)
        any_file.chmod(0o4755)  # a bit that a change of the owner drops
        write_atomically(str(any_file), NEW)
        status = any_file.stat()
        assert (status.st_uid, status.st_gid) == (1234, 5678)
        assert status.st_mode & 0o7777 == 0o4755

    def test_an_owner_that_cannot_be_kept_is_no_failure(self, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(os, "fchown", failure(errno.EPERM))
        write_atomically(str(file), NEW)
        assert file.read_bytes() == NEW

    def test_nobody_else_can_read_the_new_content_before_the_mode_is_set(
        self, file: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def look(descriptor: int, data: bytes) -> int:
            modes.append(os.fstat(descriptor).st_mode & 0o777)
            return real_write(descriptor, data)

        real_write, modes = os.write, list[int]()
        monkeypatch.setattr(os, "write", look)
        write_atomically(str(file), NEW)
        assert modes == [0o600]

    def test_a_symbolic_link_stays_and_its_target_is_written(self, any_file: Path, tmp_path: Path) -> None:
        folder = tmp_path / "folder"
        folder.mkdir()
        (folder / "link.py").symlink_to("../train.py")
        (folder / "link to link.py").symlink_to("link.py")
        write_atomically(str(folder / "link to link.py"), NEW)
        assert (folder / "link to link.py").readlink() == Path("link.py")
        assert (folder / "link.py").readlink() == Path("../train.py")
        assert any_file.read_bytes() == NEW
        assert sorted(path.name for path in folder.iterdir()) == ["link to link.py", "link.py"]

    def test_all_hard_links_see_the_new_content(self, file: Path) -> None:
        second = file.parent / "second name"
        second.hardlink_to(file)
        number = file.stat().st_ino
        write_atomically(str(file), NEW)
        assert second.read_bytes() == NEW
        assert second.stat().st_ino == file.stat().st_ino == number

    @pytest.mark.parametrize("name", ["x" * 252 + ".py", "with space.py", "new\nline.py", "invalid\udcff.py", "-"])
    def test_any_name_relative_to_the_working_directory(
        self, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        Path(name).write_bytes(OLD)
        write_atomically(name, NEW)
        assert Path(name).read_bytes() == NEW


class TestRefusing:
    @pytest.mark.parametrize("mode", [0o444, 0o555])
    def test_a_read_only_file_even_for_root(self, any_file: Path, mode: int) -> None:
        any_file.chmod(mode)
        with pytest.raises(PermissionError, match="read-only"):
            write_atomically(str(any_file), NEW)
        assert any_file.read_bytes() == OLD
        assert others(any_file) == []

    def test_a_file_that_somebody_else_may_write(self, any_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(os, "access", lambda *_: False)
        with pytest.raises(PermissionError):
            write_atomically(str(any_file), NEW)
        assert any_file.read_bytes() == OLD

    @pytest.mark.parametrize("name", ["missing.py", "broken.py", "loop.py"])
    def test_what_is_not_there(self, tmp_path: Path, name: str) -> None:
        (tmp_path / "broken.py").symlink_to("missing.py")
        (tmp_path / "loop.py").symlink_to("loop.py")
        with pytest.raises(OSError, match=r"No such file|Too many levels"):
            write_atomically(str(tmp_path / name), NEW)
        with pytest.raises(OSError, match=name):
            read_bytes(str(tmp_path / name))
        assert not (tmp_path / "missing.py").exists()


def failure(number: int) -> Callable[..., object]:
    def fail(*_: object, **__: object) -> object:
        raise OSError(number, os.strerror(number))

    return fail


def on_call(
    monkeypatch: pytest.MonkeyPatch, names: list[str], act: Callable[[int, str, tuple[object, ...]], None]
) -> None:
    """Has `act` called with number, name and arguments before each of these system calls."""
    count = iter(range(1_000_000))

    def patch(name: str) -> None:
        real = getattr(os, name)

        def called(*arguments: object, **options: object) -> object:
            act(next(count), name, arguments)
            return real(*arguments, **options)

        monkeypatch.setattr(os, name, called)

    for name in names:
        patch(name)


class TestFailing:
    """A full disk, or anything else that fails: the old file is whole, and no other file is left."""

    @pytest.mark.parametrize("name", ["write", "fsync", "replace", "ftruncate", "open", "fchmod"])
    @pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
    def test_at_every_call(
        self, any_file: Path, monkeypatch: pytest.MonkeyPatch, name: str, error: BaseException
    ) -> None:
        for number in range(10):
            with monkeypatch.context() as patch:
                on_call(patch, [name], self.fail_at(number, error))
                try:
                    write_atomically(str(any_file), NEW)
                except (OSError, KeyboardInterrupt) as raised:
                    assert raised is error
            if any_file.read_bytes() == NEW:
                return  # so often it is not called; or it is the sync of the directory, after which all is done
            assert any_file.read_bytes() == OLD
            assert others(any_file) == []
        pytest.fail("the file is never written")

    def test_in_the_middle_of_a_write(self, any_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The disk takes 100 bytes at a time, and then no more new bytes."""

        def write(descriptor: int, data: bytes) -> int:
            position = os.lseek(descriptor, 0, os.SEEK_CUR)
            if bytes(data[:3]) == b"new" and position >= 300:
                raise OSError(errno.ENOSPC, "No space left on device")
            return real_write(descriptor, data[:100] if bytes(data[:3]) == b"new" else data)

        real_write = os.write
        monkeypatch.setattr(os, "write", write)
        with pytest.raises(OSError, match="No space left"):
            write_atomically(str(any_file), b"new " * 1000)
        assert any_file.read_bytes() == OLD
        assert others(any_file) == []

    def test_if_even_the_old_content_cannot_be_put_back_a_copy_of_it_stays(
        self, file: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (file.parent / "second name").hardlink_to(file)
        on_call(monkeypatch, ["ftruncate"], self.fail_at(None, OSError(errno.EIO, "Input/output error")))
        with pytest.raises(OSError, match="Input/output error"):
            write_atomically(str(file), NEW)
        (copy,) = others(file)
        assert copy.read_bytes() == OLD

    @staticmethod
    def fail_at(number: int | None, error: BaseException) -> Callable[[int, str, tuple[object, ...]], None]:
        """Raises an error at the call with a number, or at every call."""

        def act(count: int, name: str, arguments: tuple[object, ...]) -> None:
            if number in {None, count}:
                raise error

        return act

    @pytest.fixture
    def full_disk(self, tmp_path: Path) -> Iterator[Path]:
        """A disk of 256 KiB, nearly full."""
        disk = tmp_path / "disk"
        disk.mkdir()
        if os.geteuid() or os.system(f"mount -t tmpfs -o size=256k tmpfs '{disk}' 2>/dev/null"):
            pytest.skip("no disk can be mounted here")
        yield disk
        os.system(f"umount '{disk}'")

    @pytest.mark.parametrize("names", [1, 2])
    def test_on_a_disk_that_is_really_full(self, full_disk: Path, names: int) -> None:
        file = full_disk / "train.py"
        file.write_bytes(OLD)
        if names == 2:
            (full_disk / "second name").hardlink_to(file)
        with pytest.raises(OSError, match="No space left"):
            write_atomically(str(file), OLD * 2)
        assert file.read_bytes() == OLD
        assert others(file) == []


class TestKilled:
    """The process ends at a system call without any cleanup, as by SIGKILL."""

    def test_at_every_call(self, any_file: Path) -> None:
        has_second_name = any_file.stat().st_nlink > 1
        for number in range(40):
            ended = self.write_and_end_at(any_file, number)
            whole = [path.read_bytes() for path in (any_file, *others(any_file))]
            if has_second_name:
                assert whole[0] == NEW or OLD in whole, "in place: a copy of the old content, if not the new"
            else:
                assert whole[0] in (OLD, NEW)
            if not ended:
                assert whole == [NEW]
                assert number > 5
                return
            any_file.write_bytes(OLD)
            for path in others(any_file):
                assert path.name.startswith(".raymigrate-"), "hidden, so a later run does not take it for source"
                path.unlink()
        pytest.fail("the file is never written")

    @staticmethod
    def write_and_end_at(file: Path, number: int) -> bool:
        """Writes in another process, which ends at a system call; whether it did."""

        def end(count: int, name: str, arguments: tuple[object, ...]) -> None:
            if count == number:
                if name == "write":
                    descriptor, data = arguments
                    real_write(descriptor, data[: len(data) // 2])  # type: ignore[arg-type,index]
                os._exit(9)

        real_write = os.write
        process = os.fork()
        if process == 0:
            on_call(pytest.MonkeyPatch(), SYSTEM_CALLS, end)
            write_atomically(str(file), NEW)
            os._exit(0)
        return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 9

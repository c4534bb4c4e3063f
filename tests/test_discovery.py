"""Which files are looked at, which are left out, and that nothing on the way can stop the search."""

import codecs
import contextlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from raymigrate.files.discovery import Discovery, discover
from raymigrate.files.scanner import Search, Words
from tests.trees import CLEAN, LEGACY, NEEDLES, find, found, problem, write


@pytest.fixture(autouse=True)
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every test works in an empty directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


class TestCandidates:
    def test_files_that_hold_a_needle_sorted(self) -> None:
        write("b.py", "a/z.py", "a.py")
        write("clean.py", "a/clean.py", text=CLEAN)
        result = find()
        assert result.candidates == ["a.py", "a/z.py", "b.py"]
        assert result.scanned == 5

    @pytest.mark.parametrize("text", ["import ray\n", "from ray import train", "x = 'ray.train.torch'", "\0ray.air"])
    def test_any_needle_anywhere(self, text: str) -> None:
        write("a.py", text=text)
        assert found() == ["a.py"]

    def test_only_files_with_a_suffix(self) -> None:
        write("a.py", "a.ipynb", "a.txt", "py")
        assert found() == ["a.py"]
        assert found(suffixes={".py", ".ipynb"}) == ["a.ipynb", "a.py"]

    def test_paths_are_written_as_the_user_wrote_them(self, tree: Path) -> None:
        write("src/a.py")
        assert found("src") == found("src/") == found("./src") == found(".") == ["src/a.py"]
        assert found(str(tree)) == [str(tree / "src/a.py")]
        assert found("src/../src") == ["src/../src/a.py"]
        assert found("./src/a.py") == ["src/a.py"]

    def test_a_named_file_is_always_looked_at(self) -> None:
        write("build/a.py", ".hidden.py", "script", "ignored.py")
        write(".gitignore", text="ignored.py")
        named = [".hidden.py", "build/a.py", "ignored.py", "script"]
        assert found(*named, exclude=["*"]) == named
        assert found(".", "ignored.py") == ["ignored.py"]

    def test_a_file_reached_twice_is_listed_once(self) -> None:
        write("a/b.py")
        result = find("a", "a/b.py", "./a", ".")
        assert result.candidates == ["a/b.py"]
        assert result.scanned == 1

    def test_a_file_with_several_names_is_listed_once(self) -> None:
        write("b.py")
        Path("a.py").symlink_to("b.py")
        assert found() == ["b.py"], "the file rather than a link to it"
        assert found(".", "a.py") == ["a.py"], "but the link where that was named"
        Path("a.py").unlink()
        Path("a.py").hardlink_to("b.py")
        assert found() == ["a.py"]

    @pytest.mark.parametrize("name", ["with space.py", "new\nline.py", "中文.py", "-rf.py", "invalid\udcff.py"])
    def test_any_name(self, name: str) -> None:
        write(name)
        assert found() == [name]
        assert found("./" + name) == [name]

    def test_an_empty_file_and_no_paths(self) -> None:
        write("a.py", text="")
        assert found() == []
        assert discover([], needles=NEEDLES) == Discovery([], [], 0)


class TestLeftOut:
    @pytest.mark.parametrize("name", [".git", ".venv", ".tox", "venv", "node_modules", "__pycache__", "build", "dist"])
    def test_directories_without_source_of_the_project(self, name: str) -> None:
        write(f"{name}/a.py", f"pkg/{name}/a.py")
        assert found() == []
        assert found(name) == [f"{name}/a.py"], "but where the user names it"

    def test_virtual_environments_of_any_name(self) -> None:
        write("env311/pyvenv.cfg", "env311/lib/a.py", "b.py")
        assert found() == ["b.py"]
        assert found("env311") == ["env311/lib/a.py"]

    def test_hidden_files(self) -> None:
        write(".#lock.py", ".cache/a.py")
        assert found() == []


class TestLinks:
    def test_a_link_to_a_file_is_followed(self, tmp_path_factory: pytest.TempPathFactory) -> None:
        elsewhere = tmp_path_factory.mktemp("elsewhere") / "real.py"
        elsewhere.write_text(LEGACY)
        Path("link.py").symlink_to(elsewhere)
        assert found() == ["link.py"]

    def test_a_link_to_a_directory_is_not_followed(self) -> None:
        write("real/a.py")
        Path("link").symlink_to("real")
        Path("link.py").symlink_to("real")
        assert found() == ["real/a.py"]
        assert found("link") == ["link/a.py"], "but where the user names it"

    def test_loops_and_broken_links_in_a_tree_are_passed_over(self) -> None:
        write("pkg/a.py")
        Path("pkg/loop").symlink_to("..")
        Path("pkg/itself.py").symlink_to("itself.py")
        Path("pkg/itself").symlink_to("itself")
        Path("pkg/broken.py").symlink_to("nowhere.py")
        Path("pkg/broken").symlink_to("nowhere")
        assert found() == ["pkg/a.py"]
        assert found("pkg/loop") == ["pkg/loop/pkg/a.py"]

    def test_a_broken_link_that_is_named(self) -> None:
        Path("broken.py").symlink_to("nowhere.py")
        assert problem("broken.py") == "is a link to nowhere.py, which does not exist; correct or remove the link."

    def test_a_loop_that_is_named(self) -> None:
        Path("itself.py").symlink_to("itself.py")
        assert "Too many levels of symbolic links" in problem("itself.py")


class TestProblems:
    def test_one_bad_path_does_not_stop_the_others(self) -> None:
        write("a.py", "z.py")
        result = find("a.py", "missing.py", "z.py")
        assert result.candidates == ["a.py", "z.py"]
        assert [(p.path, p.message) for p in result.problems] == [
            ("missing.py", "does not exist; check how it is written.")
        ]

    def test_a_directory_called_like_a_file_is_walked(self) -> None:
        write("pkg.py/a.py")
        assert found() == found("pkg.py") == ["pkg.py/a.py"]

    @pytest.mark.parametrize("name", [".raymigrate-0f.new", ".raymigrate-0f.old"])
    def test_what_a_killed_run_left_is_told(self, name: str) -> None:
        write("a.py", f"src/{name}", "src/.raymigrate-folder")  # the last one marks a folder of verify
        assert [p.path for p in find().problems] == [f"src/{name}"]
        assert "take them back from version control" in problem()
        assert find().candidates == ["a.py"]

    @pytest.mark.parametrize("kind", ["a named pipe", "a socket", "a device"])
    def test_what_is_no_file_is_never_opened(self, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
        write("a.py")
        if kind == "a named pipe":
            os.mkfifo("odd.py")
        elif kind == "a socket":
            socket.socket(socket.AF_UNIX).bind("odd.py")
        elif os.geteuid() == 0:
            with contextlib.suppress(PermissionError):
                os.mknod("odd.py", 0o20644, os.makedev(1, 3))
        if not os.path.lexists("odd.py"):
            pytest.skip("only root may make a device")
        for result in (find(), find("a.py", "odd.py")):
            assert result.candidates == ["a.py"]
            assert [p.message for p in result.problems] == [
                f"is {kind} and was not opened; copy its text to a file, or pipe it into `raymigrate -`."
            ]

    def test_a_pipe_that_takes_the_place_of_a_file_does_not_block(self) -> None:
        os.mkfifo("pipe.py")
        with Search(Words(NEEDLES), 1) as search:
            search.add(["pipe.py"])
            assert search.result() == ([], [])

    def test_an_unreadable_file(self, as_nobody: None) -> None:
        write("a.py", "secret.py")
        Path("secret.py").chmod(0)
        assert find().candidates == ["a.py"]
        message = "cannot be read (Permission denied); make it readable, or leave it out with --exclude."
        assert problem() == problem("secret.py") == message
        assert found(exclude=["secret.py"]) == ["a.py"]
        write(".gitignore", text="secret.py")
        assert found() == ["a.py"]

    def test_an_unreadable_directory(self, as_nobody: None) -> None:
        write("a.py", "secret/b.py")
        Path("secret").chmod(0)
        result = find()
        assert result.candidates == ["a.py"]
        assert [p.path for p in result.problems] == ["secret/"]
        assert "Permission denied" in problem("secret")
        assert found(exclude=["secret"]) == ["a.py"]

    def test_an_unreadable_gitignore(self, as_nobody: None) -> None:
        write("a.py", ".gitignore", "pkg/b.py")
        Path(".git").mkdir()
        Path(".gitignore").chmod(0)
        assert find().candidates == ["a.py", "pkg/b.py"]
        assert [Path(p.path).name for p in find().problems + find("pkg").problems] == [".gitignore"] * 2

    def test_a_file_that_is_too_large(self) -> None:
        with Path("huge.py").open("wb") as stream:
            stream.truncate(50_000_000)
        assert found() == [], "no matter, without a needle"
        with Path("huge.py").open("ab") as stream:
            stream.write(LEGACY.encode())
        assert problem() == "has 50.0 MB, over the limit of 2 MB for a source file; leave it out with --exclude."

    @pytest.fixture
    def as_nobody(self, tree: Path) -> Iterator[None]:
        """Root may read everything, so the test runs as somebody else."""
        if os.geteuid() != 0:
            yield
            return
        for directory in (tree, *tree.parents[:-2]):
            directory.chmod(0o777)
        codecs.lookup("utf-8-sig")  # that somebody else may not be able to read Python's own modules
        os.seteuid(65534)
        yield
        os.seteuid(0)

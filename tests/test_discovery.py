"""Which files are looked at, which are left out, and that nothing on the way can stop the search."""

import contextlib
import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from raymigrate import scanner
from raymigrate.discovery import Discovery, discover
from raymigrate.scanner import Search, Words

NEEDLES = (b"import ray", b"from ray", b"ray.train", b"ray.air")
LEGACY = "from ray.air import session\n"
CLEAN = "import numpy\n\narray = numpy.array([1])\n"


@pytest.fixture(autouse=True)
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every test works in an empty directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(*paths: str, text: str = LEGACY) -> None:
    for path in paths:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(text, encoding="utf-8", errors="surrogateescape")


def find(*paths: str, **options: object) -> Discovery:
    return discover(paths or (".",), needles=NEEDLES, **options)  # type: ignore[arg-type]


def found(*paths: str, **options: object) -> list[str]:
    """The candidates of a search that met no problem."""
    result = find(*paths, **options)
    assert result.problems == []
    return result.candidates


def problem(*paths: str) -> str:
    """The message of the only problem of a search."""
    (only,) = find(*paths).problems
    return only.message


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

    def test_gitignore(self) -> None:
        write(".gitignore", text="generated/\n*_pb2.py\n!keep_pb2.py\n# comment\n\n/top.py\r\n")
        write("generated/a.py", "a_pb2.py", "keep_pb2.py", "top.py", "pkg/top.py", "pkg/generated/a.py", "pkg/b_pb2.py")
        assert found() == ["keep_pb2.py", "pkg/top.py"]

    def test_an_inner_gitignore_beats_an_outer_one(self) -> None:
        write(".gitignore", text="a.py\n")
        write("pkg/.gitignore", text="!a.py\nb.py\n")
        write("a.py", "b.py", "pkg/a.py", "pkg/b.py", "pkg/deep/a.py", "pkg/deep/b.py")
        assert found() == ["b.py", "pkg/a.py", "pkg/deep/a.py"]

    def test_a_file_in_an_ignored_directory_cannot_come_back(self) -> None:
        write(".gitignore", text="out/\n!out/a.py\n")
        write("out/a.py")
        assert found() == []

    def test_a_gitignore_above_holds_up_to_the_root_of_the_repository(self) -> None:
        write(".gitignore", text="a.py\n")
        write("repository/.gitignore", text="b.py\n/src/c.py\n")
        write(*(f"repository/src/{name}.py" for name in "abc"))
        assert found("repository/src") == [f"repository/src/{name}.py" for name in "abc"]
        Path("repository/.git").mkdir()
        assert found("repository/src") == ["repository/src/a.py"]

    def test_a_named_directory_is_walked_though_it_is_ignored(self) -> None:
        Path(".git").mkdir()
        write(".gitignore", text="out/\n")
        write("out/a.py", "out/deep/b.py", "out/c.py", "out/.gitignore")
        write("out/.gitignore", text="c.py")
        assert found() == []
        assert found("out") == ["out/a.py", "out/deep/b.py"]
        assert found("out/deep") == ["out/deep/b.py"]

    def test_lines_of_a_gitignore_that_are_no_pattern_are_passed_over(self) -> None:
        Path(".gitignore").write_bytes(b"\xef\xbb\xbfa.py\n!\n/\n///\n[\n[z-a]*\n*[[:alpha:]]*\n*\\\nb\xff.py   \n")
        write("a.py", "b\udcff.py", "c.py")
        assert found() == ["c.py"]

    def test_exclude(self) -> None:
        write("a.py", "pkg/a.py", "pkg/b.py", "old/a.py", "pkg/old/a.py")
        assert found(exclude=["/old/", "pkg/b.py"]) == ["a.py", "pkg/a.py", "pkg/old/a.py"]
        assert found("pkg", exclude=["/old"]) == ["pkg/a.py", "pkg/b.py"], "relative to what is walked"

    def test_exclude_beats_gitignore(self) -> None:
        write(".gitignore", text="a.py\n!b.py\n")
        write("a.py", "b.py", "c.py")
        assert found(exclude=["b.py", "!a.py"]) == ["a.py", "c.py"]


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
        assert problem() == "has 50 MB, over the limit of 20 MB for a source file; leave it out with --exclude."

    @pytest.fixture
    def as_nobody(self, tree: Path) -> Iterator[None]:
        """Root may read everything, so the test runs as somebody else."""
        if os.geteuid() != 0:
            yield
            return
        for directory in (tree, *tree.parents[:-2]):
            directory.chmod(0o777)
        os.seteuid(65534)
        yield
        os.seteuid(0)


class TestManyFiles:
    """From some thousand files on, other processes help; the result is that of one process."""

    @pytest.fixture(autouse=True)
    def small_shares(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(scanner, "FILES_PER_PROCESS", 10)
        for number in range(100):
            write(f"pkg{number % 7}/file{number}.py", text=LEGACY if number % 3 == 0 else CLEAN)
        write("invalid\udcff.py")
        os.mkfifo("pipe.py")
        write("gone.py")

    @pytest.mark.parametrize("jobs", [0, 2, 5])
    def test_same_result_as_one_process(self, jobs: int, forks: list[int]) -> None:
        one = find(jobs=1)
        assert forks == []
        assert len(one.candidates) == 36
        assert find(jobs=jobs) == one
        assert bool(forks) == (jobs != 0 or len(os.sched_getaffinity(0)) > 1)

    def test_failures_of_other_processes_are_reported(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def failing_open(path: str, flags: int) -> int:
            if path.startswith("pkg"):
                raise PermissionError(13, "Permission denied")
            return real_open(path, flags)

        real_open = os.open
        monkeypatch.setattr(os, "open", failing_open)
        assert len([p for p in find(jobs=3).problems if "Permission denied" in p.message]) == 100

    @pytest.mark.parametrize("cause", ["killed", "no process"])
    def test_files_of_a_process_that_was_lost_are_searched_here(
        self, cause: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        expected = find(jobs=1)
        real_fork, parent = os.fork, os.getpid()

        def lost_fork() -> int:
            if cause == "no process":
                raise BlockingIOError
            process = real_fork()
            if os.getpid() != parent:
                os.kill(os.getpid(), 9)
            return process

        monkeypatch.setattr(os, "fork", lost_fork)
        assert find(jobs=3) == expected

    def test_no_process_is_left_behind_by_an_interrupt(self, forks: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
        def interrupted(*_: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(scanner, "_read_result", interrupted)
        with pytest.raises(KeyboardInterrupt):
            find(jobs=3)
        assert forks
        for process in forks:
            with pytest.raises(ProcessLookupError):
                os.kill(process, 0)

    @pytest.fixture
    def forks(self, monkeypatch: pytest.MonkeyPatch) -> list[int]:
        """The processes that were started."""
        real_fork, started = os.fork, list[int]()

        def recording_fork() -> int:
            process = real_fork()
            started.append(process)
            return process

        monkeypatch.setattr(os, "fork", recording_fork)
        return started


class TestWords:
    @given(
        words=st.lists(st.binary(min_size=1, max_size=6), min_size=1, max_size=4),
        pieces=st.lists(st.binary(max_size=5) | st.integers(0, 3)),
    )
    def test_same_as_a_loop(self, words: list[bytes], pieces: list[bytes | int]) -> None:
        data = b"".join(words[p % len(words)][: 1 + p] if isinstance(p, int) else p for p in pieces)
        assert Words(words).found_in(data) == any(word in data for word in words)

    @pytest.mark.parametrize("cut", range(len("from ray") + 1))
    def test_a_word_across_the_edge_of_two_blocks(self, cut: int) -> None:
        for blocks in (1, 3):
            write("a.py", text="x" * (blocks * scanner.BLOCK - cut) + "from ray")
            assert found() == ["a.py"]

    def test_a_file_of_exactly_one_block(self) -> None:
        write("a.py", text="x" * scanner.BLOCK)
        assert found() == []


class TestLikeGit:
    """.gitignore means here what it means to git."""

    PATTERNS = st.builds(
        "{}{}{}{}".format,
        st.sampled_from(["", "", "!"]),
        st.sampled_from(["", "", "/", "**/"]),
        st.lists(
            st.sampled_from(
                ["a", "b.py", "out", "src", "*", "**", "*.py", "?", "[a-o]*", "[!b]*", "\\a", "[]a]", "o**t"]
            ),
            min_size=1,
            max_size=3,
        ).map("/".join),
        st.sampled_from(["", "", "/", "/*", "/**", " ", "\\"]),
    )

    @settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(outer=st.lists(PATTERNS, max_size=4), inner=st.lists(PATTERNS, max_size=3))
    def test_same_files_as_git(self, tree: Path, outer: list[str], inner: list[str]) -> None:
        if not Path(".git").exists():
            self.make_repository()
        write(".gitignore", text="\n".join(outer))
        write("src/.gitignore", text="\n".join(inner))
        command = ["git", "-c", "core.excludesFile=/dev/null", "ls-files", "-o", "--exclude-standard", "*.py"]
        listed = sorted(subprocess.check_output(command, text=True).splitlines())
        assert found() == listed
        in_source = [path for path in listed if path.startswith("src/")]
        if in_source:  # otherwise src may be ignored, and is walked all the same as it is named
            assert found("src") == in_source

    @staticmethod
    def make_repository() -> None:
        subprocess.run(["git", "init", "-q"], check=True)
        for parent in ("", "a/", "out/", "src/", "src/a/", "src/out/", "out/src/", "a/out/src/"):
            write(*(parent + name for name in ("a.py", "b.py", "out.py")))

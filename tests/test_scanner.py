"""Searching files for words: quickly, with the help of other processes, and with the result of a plain loop."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raymigrate.files import scanner
from raymigrate.files.scanner import Words
from tests.trees import CLEAN, LEGACY, find, found, write


@pytest.fixture(autouse=True)
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every test works in an empty directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


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

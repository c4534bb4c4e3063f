"""What .gitignore and --exclude leave out: what git would."""

import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.trees import found, write


@pytest.fixture(autouse=True)
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every test works in an empty directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


class TestPatterns:
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

    @pytest.mark.parametrize("kind", ["a repository", "a submodule"])
    def test_patterns_around_a_repository_do_not_hold_inside_it(self, kind: str) -> None:
        write(".gitignore", text="a.py\nout/\n")
        write(*(f"{folder}/{name}.py" for folder in ("inner", "inner/pkg", "out", "other") for name in "abc"))
        write("inner/.gitignore", text="b.py\n")
        for folder in ("inner", "out"):
            Path(folder, ".git").mkdir() if kind == "a repository" else write(f"{folder}/.git", text="gitdir: x\n")
        of_inner = [f"{folder}/{name}.py" for folder in ("inner", "inner/pkg") for name in "ac"]
        assert found("inner") == of_inner
        assert found() == [*of_inner, "other/b.py", "other/c.py"]
        assert found(exclude=["a.py"]) == [*(path for path in of_inner if path[-4] != "a"), "other/b.py", "other/c.py"]

    def test_lines_of_a_gitignore_that_are_no_pattern_are_passed_over(self) -> None:
        Path(".gitignore").write_bytes(b"\xef\xbb\xbfa.py\n!\n/\n///\n[\n[z-a]*\n*[[:alpha:]]*\n*\\\nb\xff.py   \n")
        write("a.py", "b\udcff.py", "c.py")
        assert found() == ["c.py"]

    @pytest.mark.parametrize("pattern", ["*a*a*a*a*ab", "*a" * 50 + "b", "**/a*/" * 50 + "b", "[a-c]*" * 50 + "b"])
    def test_many_stars_take_no_time(self, pattern: str) -> None:
        write(".gitignore", text=pattern)
        write(f"{'a' * 200}.py", f"{'a/' * 100}a.py")
        start = time.process_time()
        assert len(found()) == 2
        assert time.process_time() - start < 2  # with five groups it took half a minute

    def test_exclude(self) -> None:
        write("a.py", "pkg/a.py", "pkg/b.py", "old/a.py", "pkg/old/a.py")
        assert found(exclude=["/old/", "pkg/b.py"]) == ["a.py", "pkg/a.py", "pkg/old/a.py"]
        assert found("pkg", exclude=["/old"]) == ["pkg/a.py", "pkg/b.py"], "relative to what is walked"

    def test_exclude_beats_gitignore(self) -> None:
        write(".gitignore", text="a.py\n!b.py\n")
        write("a.py", "b.py", "c.py")
        assert found(exclude=["b.py", "!a.py"]) == ["a.py", "c.py"]


class TestLikeGit:
    """.gitignore means here what it means to git."""

    PATTERNS = st.builds(
        "{}{}{}{}".format,
        st.sampled_from(["", "", "!"]),
        st.sampled_from(["", "", "/", "**/"]),
        st.lists(
            st.sampled_from(
                [
                    "a",
                    "b.py",
                    "out",
                    "src",
                    "*",
                    "**",
                    "*.py",
                    "?",
                    "[a-o]*",
                    "[!b]*",
                    "\\a",
                    "[]a]",
                    "o**t",
                    "*o*u*",
                    "*[b-u]*y",
                ]
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

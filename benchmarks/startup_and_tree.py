"""How long raymigrate takes where there is nothing to do: over a large tree, and for one clean file.

Everything is measured in one run, in turns, and reported against a yardstick of the same minute (ripgrep, the bare
interpreter), because the speed of a shared machine drifts. See benchmarks/README.md.
"""

import argparse
import itertools
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY))

from raymigrate.discovery import SKIPPED  # noqa: E402 - the repository need not be installed
from raymigrate.gates import NEEDLES  # noqa: E402

TREE_FILES = 12_000
MOST_TIMES_RIPGREP = 2.5
MOST_MILLISECONDS_ABOVE_PYTHON = 45
# No directory that raymigrate would skip: both must read the same files.
LEFT_OUT = SKIPPED | {"ray", "raymigrate"}


def main() -> int:
    options = parse_arguments()
    tree = options.cache / "tree"
    files, size = build_tree(tree)
    print(f"tree: {files:,} Python files, {size / 1e6:.0f} MB, none of them with a word that raymigrate looks for")
    passed = [report_tree(options, tree), report_clean_file(options)]
    return 1 if options.assert_targets and not all(passed) else 0


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--command",
        type=shlex.split,
        default=[sys.executable, "-m", "raymigrate", "--check"],
        help="what to measure; the path is appended (default: python -m raymigrate --check)",
    )
    parser.add_argument("--runs", type=int, default=20, help="runs of each command; the fastest counts (default: 20)")
    parser.add_argument("--assert", action="store_true", dest="assert_targets", help="exit 1 if a target is missed")
    parser.add_argument(
        "--cache",
        type=Path,
        default=Path(tempfile.gettempdir()) / "raymigrate-benchmark",
        help="where the tree is kept between runs (default: %(default)s)",
    )
    return parser.parse_args()


def report_tree(options: argparse.Namespace, tree: Path) -> bool:
    yardstick, name = searcher(tree)
    times = fastest(options, {name: yardstick, "raymigrate": [*options.command, str(tree)]})
    ratio = times["raymigrate"] / times[name]
    print(f"{name:24}{times[name]:8.1f} ms")
    print(
        f"{'raymigrate, tree':24}{times['raymigrate']:8.1f} ms  {ratio:.2f} times {name} (target {MOST_TIMES_RIPGREP})"
    )
    return ratio <= MOST_TIMES_RIPGREP


def report_clean_file(options: argparse.Namespace) -> bool:
    clean = options.cache / "clean.py"
    clean.write_text("import os\n\nprint(os.getcwd())\n")
    commands = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "raymigrate, clean file": [*options.command, str(clean)],
    }
    script = Path(sys.executable).with_name("raymigrate")
    if script.exists():
        commands["console script"] = [str(script), "--check", str(clean)]
    times = fastest(options, commands)
    bare = times.pop("python -c pass")
    print(f"{'python -c pass':24}{bare:8.1f} ms")
    for name, milliseconds in times.items():
        above = milliseconds - bare
        print(f"{name:24}{milliseconds:8.1f} ms  {above:+.1f} ms (target {MOST_MILLISECONDS_ABOVE_PYTHON:+})")
    return all(milliseconds - bare <= MOST_MILLISECONDS_ABOVE_PYTHON for milliseconds in times.values())


def searcher(tree: Path) -> tuple[list[str], str]:
    """The command that looks for the same words, and its name: ripgrep, or grep where that is missing."""
    words = [argument for needle in NEEDLES for argument in ("-e", needle.decode())]
    if shutil.which("rg"):
        return ["rg", "-l", "-tpy", "-F", *words, str(tree)], "rg -l"
    print("ripgrep is not installed: compared with grep, which is some 4 times slower; the target means ripgrep")
    return ["grep", "-rlF", "--include=*.py", *words, str(tree)], "grep -rl"


def fastest(options: argparse.Namespace, commands: dict[str, list[str]]) -> dict[str, float]:
    """Milliseconds of the fastest of many runs of each command; they take turns, so that noise hits all alike."""
    # Bytecode is cached as for an installed package, but not in the repository.
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY), "PYTHONPYCACHEPREFIX": str(options.cache / "bytecode")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    best = dict.fromkeys(commands, float("inf"))
    for _, (name, command) in itertools.product(range(options.runs), commands.items()):
        start = time.perf_counter()
        result = subprocess.run(command, env=environment, capture_output=True, check=False)
        best[name] = min(best[name], 1000 * (time.perf_counter() - start))
        if result.returncode not in {0, 1} or b"Traceback" in result.stderr:
            sys.exit(f"{shlex.join(command)} failed:\n{result.stderr.decode()}")
    return best


def build_tree(tree: Path) -> tuple[int, int]:
    """Fills the tree once, from this interpreter's packages and standard library; gives its files and bytes."""
    if not tree.exists():
        unfinished = tree.with_name("unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        for source, target in itertools.islice(copies(), TREE_FILES):
            destination = unfinished / target
            destination.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, destination)
        unfinished.rename(tree)
    sizes = [path.stat().st_size for path in tree.rglob("*.py")]
    return len(sizes), sum(sizes)


def copies() -> Iterator[tuple[Path, Path]]:
    """Files without a needle and their places in the tree, over and over again."""
    sources = {name: Path(sysconfig.get_path(name)) for name in ("purelib", "stdlib")}
    for round_number in itertools.count():
        for label, source in sources.items():
            for directory, subdirectories, names in os.walk(source):
                subdirectories[:] = sorted(name for name in set(subdirectories) - LEFT_OUT if not name.startswith("."))
                for name in sorted(names):
                    path = Path(directory, name)
                    if name.endswith(".py") and not contains_needle(path):
                        yield path, Path(str(round_number), label, path.relative_to(source))


def contains_needle(path: Path) -> bool:
    data = path.read_bytes()
    return any(needle in data for needle in NEEDLES)


if __name__ == "__main__":
    sys.exit(main())

"""What is measured, side by side with the peers: each function gives a table and tells whether its targets are met."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import inputs
import peers
from measure import Command, Time, in_turns
from reports import Report, Target

TREE_FILES = 12_000
LEGACY_SCRIPTS = 500
SAMPLE = 60  # of them for slow peers
HOOK_FILES = 20
RAYMIGRATE = (sys.executable, "-m", "raymigrate")
SEARCH = (
    "import sys; from raymigrate.files.discovery import discover; from raymigrate.files.needles import NEEDLES;"
    " discover(sys.argv[1:], needles=NEEDLES)"
)


@dataclass(frozen=True)
class Settings:
    """How to measure.

    Args:
        cache: Where inputs, peers and bytecode are kept.
        runs: Runs of each command that takes less than a second; others get fewer.
        peers: The tools to compare with.
    """

    cache: Path
    runs: int
    peers: peers.Peers

    def times(self, commands: dict[str, Command]) -> dict[str, Time]:
        """The fastest run of each command, by name."""
        return in_turns(commands, self.cache)

    def with_peers(
        self,
        tools: Sequence[peers.Tool],
        runs: int,
        folder: Path,
        *names: str,
        prepare: Callable[[], object] = lambda: None,
    ) -> dict[str, Command]:
        """The commands of the tools that are there, over a folder or some of its files."""
        lines = {tool: self.peers.line(tool, *names) for tool in tools}
        return {
            tool.name: Command(line, 1 if tool.slow else runs, prepare, folder)
            for tool, line in lines.items()
            if line is not None
        }


def tree(settings: Settings) -> Report:
    """(a) A large tree without legacy code."""
    folder = inputs.clean_tree(settings.cache, TREE_FILES)
    words = tuple(argument for needle in inputs.NEEDLES for argument in ("-e", needle.decode()))
    ripgrep = peers.Tool("rg -l", "rg", ("-l", "-tpy", "-F", *words))
    grep = peers.Tool("grep -rl", "grep", ("-rlF", "--include=*.py", *words))
    runs = settings.runs
    times = settings.times(
        {
            **settings.with_peers([ripgrep], runs, folder),
            "raymigrate --check": Command([*RAYMIGRATE, "--check", folder], runs, exits=(0,)),
            "its search alone": Command([sys.executable, "-c", SEARCH, folder], runs, exits=(0,)),
            **settings.with_peers([grep, peers.RUFF_RULE], max(1, runs // 4), folder),
            **settings.with_peers([peers.AST_GREP_FIND, peers.DJANGO_UPGRADE], 1, folder),
        }
    )
    ours = times["raymigrate --check"]
    yardstick = times.get(ripgrep.name)
    report = Report(
        f"(a) {TREE_FILES:,} files, {inputs.megabytes(folder)} MB, without legacy code",
        ("", "ms", "CPU ms", f"times {ripgrep.name if yardstick else 'raymigrate'}"),
    )
    for name, time in times.items():
        report.rows.append((name, f"{time.wall:.0f}", f"{time.cpu:.0f}", f"{time.wall / (yardstick or ours).wall:.2f}"))
    if yardstick:
        ratio, cpu = ours.wall / yardstick.wall, ours.cpu / yardstick.cpu
        report.targets = [Target("raymigrate --check", ratio, 2.5, "times rg -l", cpu)]
    return report


def one_file(settings: Settings) -> Report:
    """(b) One file, cold start; and the 20 files that pre-commit passes."""
    files = inputs.clean_files(settings.cache, HOOK_FILES)
    modern = inputs.modern_files(settings.cache, HOOK_FILES)
    ours = partial(Command, runs=settings.runs, exits=(0,))
    check, hook = (*RAYMIGRATE, "--check"), (*RAYMIGRATE, "--check", "--force-exclude")
    script = Path(sys.executable).with_name("raymigrate")
    commands = {
        "python -c pass": ours([sys.executable, "-c", "pass"]),
        "raymigrate, 1 clean file": ours([*check, files[0]]),
        "raymigrate, 20 clean files": ours([*hook, *files]),
        "raymigrate, 20 scripts for current Ray": ours([*hook, *modern]),
        "python -c 'import libcst'": ours([sys.executable, "-c", "import libcst"]),
    }
    if script.exists():
        commands["the command raymigrate, 1 clean file"] = ours([script, "--check", files[0]])
    quick = [peers.RUFF_RULE, peers.AST_GREP_FIND, peers.PYUPGRADE, peers.DJANGO_UPGRADE]
    slow = [peers.FIXIT, peers.LIBCST_NOOP, peers.BUMP_PYDANTIC]
    for count, tools in ((1, [*quick, *slow]), (HOOK_FILES, quick)):
        names = [file.name for file in files[:count]]
        for name, command in settings.with_peers(tools, settings.runs, files[0].parent, *names).items():
            commands[f"{name}, {count} file{'s' * (count > 1)}"] = command
    times = settings.times(commands)
    bare = times["python -c pass"]
    report = Report("(b) one file and twenty, cold start", ("", "ms", "CPU ms", "ms above python"))
    for name, time in times.items():
        report.rows.append((name, f"{time.wall:.0f}", f"{time.cpu:.0f}", f"{time.wall - bare.wall:+.0f}"))
    one, twenty = times["raymigrate, 1 clean file"], times["raymigrate, 20 clean files"]
    above, above_cpu = one.wall - bare.wall, one.cpu - bare.cpu
    report.targets = [
        Target("1 clean file", above, 45, "ms above the bare interpreter", above_cpu),
        Target("20 clean files, as pre-commit passes them", twenty.wall, 60, "ms", twenty.cpu),
    ]
    return report


def legacy_scripts(settings: Settings) -> Report:
    """(c) A tree of legacy scripts: what each costs beyond the start, which is the time for one alone."""
    times: dict[tuple[str, int], Time] = {}
    counts = {}
    ours = {"raymigrate": (), "raymigrate --jobs 1": ("--jobs", "1"), "raymigrate --check": ("--check",)}
    quick = [peers.RUFF_FIX, peers.AST_GREP_REWRITE, peers.PYUPGRADE, peers.DJANGO_UPGRADE]
    slow = [peers.FIXIT, peers.LIBCST_NOOP, peers.LIBCST_RENAME, peers.BUMP_PYDANTIC]
    runs = max(1, settings.runs // 5)
    for count, tools in ((1, [*quick, *slow]), (LEGACY_SCRIPTS, quick), (SAMPLE, slow)):
        folder = settings.cache / f"legacy-{count}"
        prepare = partial(inputs.legacy_scripts, folder, count)
        prepare()
        commands = {
            name: Command([*RAYMIGRATE, *arguments, folder], runs, prepare, exits=(0, 1))
            for name, arguments in (ours.items() if count != SAMPLE else ())
        }
        commands |= settings.with_peers(tools, runs, folder, prepare=prepare)
        times |= {(name, count): time for name, time in settings.times(commands).items()}
        counts |= dict.fromkeys(commands, count)
    report = Report(
        f"(c) {LEGACY_SCRIPTS} legacy scripts ({SAMPLE} for slow peers)",
        ("", "scripts", "start, ms", "all, ms", "a script, ms", "a script, CPU ms", "times raymigrate"),
    )
    each = {name: _for_each(times[name, 1], times[name, count], count) for name, count in counts.items()}
    ours_each = each["raymigrate"]
    for name, count in counts.items():
        totals = (f"{times[name, 1].wall:.0f}", f"{times[name, count].wall:.0f}")
        single = (f"{each[name].wall:.1f}", f"{each[name].cpu:.1f}", f"{each[name].wall / ours_each.wall:.2f}")
        report.rows.append((name, str(count), *totals, *single))
    report.targets = [Target("raymigrate", ours_each.wall, 30, "ms a script beyond the start", ours_each.cpu)]
    return report


def _for_each(first: Time, together: Time, count: int) -> Time:
    return Time((together.wall - first.wall) / (count - 1), (together.cpu - first.cpu) / (count - 1))


def long_file(settings: Settings) -> Report:
    """(d) One file of 20,000 lines, with a little legacy code and with none."""
    place = settings.cache / "long" / "long.py"
    place.parent.mkdir(exist_ok=True)
    clean, legacy = (partial(inputs.long_file, place, legacy=legacy) for legacy in (False, True))
    legacy()
    runs = max(1, settings.runs // 5)
    quick = [peers.RUFF_FIX, peers.AST_GREP_REWRITE, peers.PYUPGRADE, peers.DJANGO_UPGRADE]
    slow = [peers.FIXIT, peers.LIBCST_NOOP, peers.LIBCST_RENAME]  # bump-pydantic takes minutes
    parse = "import ast, sys; ast.parse(open(sys.argv[1]).read())"
    parse_with_libcst = "import libcst, sys; libcst.parse_module(open(sys.argv[1]).read())"
    times = settings.times(
        {
            "ast.parse": Command([sys.executable, "-c", parse, place], runs, legacy, exits=(0,)),
            "libcst.parse_module": Command([sys.executable, "-c", parse_with_libcst, place], runs, legacy, exits=(0,)),
            "raymigrate, none legacy": Command([*RAYMIGRATE, place], runs, clean, exits=(0, 1)),
            "raymigrate --check": Command([*RAYMIGRATE, "--check", place], runs, legacy, exits=(1,)),
            "raymigrate": Command([*RAYMIGRATE, place], runs, legacy, exits=(0, 1)),
            **settings.with_peers(quick, runs, place.parent, place.name, prepare=legacy),
            **settings.with_peers(slow, 1, place.parent, place.name, prepare=legacy),
        }
    )
    ours = times["raymigrate"].wall
    report = Report(
        f"(d) one file of {len(place.read_text().splitlines()):,} lines", ("", "ms", "CPU ms", "times raymigrate")
    )
    for name, time in times.items():
        report.rows.append((name, f"{time.wall:.0f}", f"{time.cpu:.0f}", f"{time.wall / ours:.2f}"))
    return report

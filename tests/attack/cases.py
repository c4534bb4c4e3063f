"""The attacks. Those on verify and on the hub are in tests/runtime: they need the libraries of the jobs."""

from __future__ import annotations

import encodings.aliases
import json
import os
import shutil
import socket
import subprocess
from contextlib import closing
from pathlib import Path

from tests.attack import faults, inputs, processes
from tests.attack.command import CASES, CONVERTED, SMALL, Neighbours, attack, got, run
from tests.conftest import FIXTURES
from tests.test_faults import BAD, NOTEBOOKS

CONFIG = FIXTURES / "accelerate_trainer/config_path_yaml"
__all__ = ["CASES", "faults", "processes"]
TOLD = "told, exit code 2, the others converted"


# -- bad files ------------------------------------------------------------------------------------------
# (Quick tests of the same are in `tests/test_faults.py`.)


def _one_bad_file(folder: Path, name: str, text: str | bytes) -> str:
    neighbours = Neighbours(folder)
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
    ended = run(folder, ".")
    told = f"{name}:".encode() in ended.stderr and ended.code == 2
    slow = (ended.seconds > 20, f"{ended.seconds:.0f} s of CPU time")
    return got(ended.problems, slow, (not told, "not told"), (not neighbours.are_done(), "others not done"), well=TOLD)


for title, content in BAD.items():
    attack(f"a script with {title}", TOLD, slow=True)(
        lambda folder, content=content: _one_bad_file(folder, "m.py", content)
    )
for title, content in NOTEBOOKS.items():
    if "\\u" not in content:
        attack(f"a notebook with {title}", TOLD, slow=True)(
            lambda folder, content=content: _one_bad_file(folder, "m.ipynb", content)
        )


WELL = "each converted or told, in less than 5 s"


def _many(folder: Path, files: dict[str, bytes], *options: str) -> str:
    """Each of some files alone, so that each has its time; what none may do, and that a neighbour is converted."""
    wrong = []
    for title, data in files.items():
        place = folder / str(len(list(folder.iterdir())))
        place.mkdir()
        neighbours = Neighbours(place)
        name = f"m{title.partition('.')[2] and '.' + title.rpartition('.')[2]}"
        (place / name).write_bytes(data)
        ended = run(place, "--jobs", "1", *options, ".")
        told = f"{name}:".encode() in ended.stderr
        changed = (place / name).read_bytes() != data
        wrong += [f"{title}: {problem}" for problem in ended.problems]
        if ended.seconds > 5:
            wrong.append(f"{title}: {ended.seconds:.0f} s")
        if ended.code == 2 and (changed or not told):
            wrong.append(f"{title}: an error that is not told, or not of a file left as it was")
        if not neighbours.are_done():
            wrong.append(f"{title}: others not done")
    return got(wrong, well=WELL)


@attack("nested and long code of every kind", WELL, slow=True)
def shapes(folder: Path) -> str:
    return _many(folder, {f"{title}.py": f"{SMALL}{text}\n".encode() for title, text in inputs.SHAPES.items()})


@attack("scripts that are stored oddly", WELL, slow=True)
def stored(folder: Path) -> str:
    return _many(folder, {f"{title}.py": data for title, data in inputs.STORED.items()})


@attack("notebooks that Jupyter did not write", WELL, slow=True)
def notebooks(folder: Path) -> str:
    return _many(folder, {f"{title}.ipynb": text.encode() for title, text in inputs.NOTEBOOKS.items()})


@attack("pages whose blocks do not end", WELL, slow=True)
def pages(folder: Path) -> str:
    files = {f"{title}.{'rst' if 'rst' in title else 'md'}": text.encode() for title, text in inputs.PAGES.items()}
    return _many(folder, files, "--docs")


@attack("every codec of Python as coding cookie, with bytes that are not of it", "no traceback, the others converted")
def codecs(folder: Path) -> str:
    neighbours = Neighbours(folder)
    for name in sorted(set(encodings.aliases.aliases.values())):
        (folder / f"c_{name}.py").write_bytes(f"# coding: {name}\n{SMALL}".encode() + b"# \xff\xfe\xe9\n")
    ended = run(folder, ".")
    return got(
        ended.problems,
        (not neighbours.are_done(), "others not done"),
        well="no traceback, the others converted",
    )


@attack("a script of 138,000 statements", "refused with less than 1 GB", slow=True)
def large(folder: Path) -> str:
    text = SMALL + "".join(f'x{n} = g({n}, a=[1, 2], b="t")\n' for n in range(138_000))
    (folder / "m.py").write_text(text)
    ended = run(folder, "m.py")
    return got(
        ended.problems,
        (ended.code != 2, f"exit code {ended.code}"),
        (ended.megabytes > 1000, f"{ended.megabytes:.0f} MB"),
        well="refused with less than 1 GB",
    )


@attack("the largest script that is converted", "less than 1 GB", slow=True)
def just_not_too_large(folder: Path) -> str:
    (folder / "m.py").write_text(SMALL + "".join(f'x{n} = g({n}, a=[1, 2], b="t")\n' for n in range(9_000)))
    ended = run(folder, "m.py", limit=600)
    wrong = (ended.megabytes > 1000, f"{ended.megabytes:.0f} MB")
    return got(ended.problems, (ended.code != 0, f"exit code {ended.code}"), wrong, well="less than 1 GB")


# -- what a job reads -----------------------------------------------------------------------------------


def _with_configuration(folder: Path, text: str) -> str:
    shutil.copy(CONFIG / "before.py", folder / "train.py")
    [name] = [path.name for path in CONFIG.glob("*.yaml")]
    (folder / name).write_text(text)
    ended = run(folder, ".")
    code = (folder / "train.py").read_text()
    return got(
        ended.problems,
        (ended.seconds > 10, f"{ended.seconds:.0f} s"),
        (ended.megabytes > 500, f"{ended.megabytes:.0f} MB"),
        ('" + __import__' in code, "its text became code"),
        well="read as data",
    )


for title, content in {
    "text that looks like code": 'mixed_precision: \'no" + __import__("os").popen("touch PWNED").read() + "\'\n',
    "a billion laughs": "a0: &a0 [x,x,x,x,x,x,x,x,x]\n"
    + "".join(f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 10)),
    "a tag that runs code": "mixed_precision: !!python/object/apply:os.system ['touch PWNED']\n",
    "numbers for keys": "1: 2\n~: 1\n",
    "other types than it should hold": "fsdp_config: hello\ndeepspeed_config: {zero_stage: [1]}\nmixed_precision: {}\n",
    "lists in each other": "a: " + "[" * 5_000 + "]" * 5_000 + "\n",
}.items():
    attack(f"an accelerate config with {title}", "read as data", slow=True)(
        lambda folder, content=content: _with_configuration(folder, content)
    )


@attack("a .gitignore of many stars", "less than 5 s")
def stars(folder: Path) -> str:
    (folder / ".gitignore").write_text("*a" * 12 + "b\n")
    (folder / ("a" * 200 + ".py")).write_text(SMALL)
    ended = run(folder, ".")
    return got(ended.problems, (ended.seconds > 5, f"{ended.seconds:.0f} s"), well="less than 5 s")


@attack("modules beside the script that are named like those of raymigrate", "none is run")
def shadows(folder: Path) -> str:
    for name in ("click", "libcst", "yaml", "ast", "re", "json", "sitecustomize", "packaging"):
        (folder / f"{name}.py").write_text("open('PWNED', 'w')\n")
    (folder / "x.py").write_text("import click\n" + SMALL)
    ended = run(folder, "x.py")
    return got(ended.problems, ((folder / "PWNED").exists(), "one was run"), well="none is run")


# -- names ----------------------------------------------------------------------------------------------

ODD = [
    b"a\n::warning::x.py",
    b"bad\xff.py",
    b"-rf.py",
    b"\x1b[31m.py",
    b"a b'c\".py",
    b"%0A::.py",
    b"a" * 252 + b".py",
    "\u202egnp.py".encode(),
]


@attack("names with line ends, control characters and bytes that are not text", "well-formed output in every format")
def names(folder: Path) -> str:
    (folder / "p\n::warning::PWNED").mkdir()
    for name in ODD:
        for place in (os.fsencode(folder), os.fsencode(folder / "p\n::warning::PWNED")):
            with open(os.path.join(place, name), "w") as file:  # noqa: PTH118, PTH123 - no text
                file.write(SMALL)
    wrong = []
    for form in ("text", "github", "json", "sarif"):
        ended = run(folder, "--check", "--output-format", form, "-v", "--report", "r.md", ".")
        wrong += ended.problems
        lines = (ended.stdout + ended.stderr).splitlines()
        if any(line.startswith(b"::warning::") for line in lines) or (b"\x1b[31m." in ended.stdout):
            wrong.append(f"{form}: a name speaks to the terminal or to GitHub")
        if form in ("json", "sarif"):
            try:
                json.loads(ended.stdout.decode())
            except ValueError as error:
                wrong.append(f"{form}: {error}")
    wrong += run(folder, "-q", ".").problems
    if any(path.read_text() != CONVERTED for path in folder.rglob("*.py")):
        wrong.append("one is not converted")
    return got(wrong, well="well-formed output in every format")


# -- places ---------------------------------------------------------------------------------------------


@attack("two projects below one relative path", "converted as each alone is")
def two_projects(folder: Path) -> str:
    projects = ("init_in_config", "text_classifier")
    for name in projects:
        shutil.copytree(FIXTURES / "projects" / name / "before", folder / "v" / name)
    ended = run(folder, "v")
    wrong = [
        str(path)
        for name in projects
        for path in (FIXTURES / "projects" / name / "after").rglob("*.py")
        if (folder / "v" / name / path.relative_to(FIXTURES / "projects" / name / "after")).read_bytes()
        != path.read_bytes()
    ]
    return got([*ended.problems, *wrong], well="converted as each alone is")


@attack("a link in the folder to a script outside", "named, not written")
def link_out(folder: Path) -> str:
    (folder / "outside.py").write_text(SMALL)
    (folder / "p").mkdir()
    (folder / "p/link.py").symlink_to("../outside.py")
    ended = run(folder, "p")
    written = (folder / "outside.py").read_text() != SMALL
    return got(
        ended.problems, (written, "written"), (b"RM908" not in ended.stdout, "not named"), well="named, not written"
    )


@attack("loops of links, a socket, a device and a named pipe", TOLD)
def no_files(folder: Path) -> str:
    neighbours = Neighbours(folder)
    (folder / "loop").symlink_to(".")
    (folder / "self.py").symlink_to("self.py")
    os.mkfifo(folder / "pipe.py")
    (folder / "zero.py").symlink_to("/dev/zero")
    with closing(socket.socket(socket.AF_UNIX)) as server:
        here = Path.cwd()
        os.chdir(folder)  # the name of a socket is short
        try:
            server.bind("socket.py")
        finally:
            os.chdir(here)
        ended = run(folder, ".", "/dev/zero")
    told = ended.code == 2 and b"pipe.py:" in ended.stderr and b"socket.py:" in ended.stderr
    return got(ended.problems, (not told, "not told"), (not neighbours.are_done(), "others not done"), well=TOLD)


@attack("--report with the name of a script, of a pipe, of a folder", "refused, nothing written")
def reports(folder: Path) -> str:
    neighbours = Neighbours(folder)
    os.mkfifo(folder / "pipe.md")
    (folder / "folder.md").mkdir()
    wrong = []
    for name in ("a.py", "pipe.md", "folder.md", "missing/r.md"):
        ended = run(folder, "--report", name, ".", limit=60)
        wrong += ended.problems + ([f"{name}: exit code {ended.code}"] if ended.code != 2 else [])
    changed = any((folder / name).read_text() != SMALL for name in neighbours.names)
    return got(wrong, (changed, "something written"), well="refused, nothing written")


@attack("closed standard streams", "no traceback, exit code 0 to 2")
def streams(folder: Path) -> str:
    Neighbours(folder)
    ways = [
        ("--diff", ".", "| head -1"),
        ("--check", ".", ">&-"),
        ("--check", ".", "2>&-"),
        ("-", "", "<&-"),
        ("--check", ".", "2>/dev/full"),
    ]
    wrong = [problem for *given, shell in ways for problem in run(folder, *filter(None, given), shell=shell).problems]
    return got(wrong, well="no traceback, exit code 0 to 2")


@attack("a full disk", "old bytes, exit code 2, no other file, no half report", slow=True)
def full_disk(folder: Path) -> str:
    expected = "old bytes, exit code 2, no other file, no half report"
    place = folder / "disk"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", place], capture_output=True).returncode:  # noqa: PLW1510
        return f"{expected} (not tried: no right to mount)"
    try:
        (place / "x.py").write_text(SMALL + "# x\n" * 1000)
        before = (place / "x.py").read_bytes()
        with open(place / "filler", "wb", buffering=0) as filler:  # noqa: PTH123
            try:
                while True:
                    filler.write(b"x" * 4096)
            except OSError:
                pass
        ended = run(place, "--report", "r.md", "x.py")
        left = sorted(path.name for path in place.iterdir())
        return got(
            ended.problems,
            (ended.code != 2, f"exit code {ended.code}"),
            ((place / "x.py").read_bytes() != before, "changed"),
            (left != ["filler", "x.py"], str(left)),
            well=expected,
        )
    finally:
        subprocess.run(["umount", place], check=False)

"""`raymigrate doctor`: what is installed, which arms of `raymigrate verify` can run here, what to install.

Versions are read from package metadata, and which GPUs torch sees is asked in a process of its own. So it works where
neither ray nor torch is installed, and where torch is broken.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

import click

from raymigrate import __version__
from raymigrate.base.extras import install

VERSION = 1  # of the JSON document; rises when a field changes
INSTALL = install("verify")
REQUIREMENT = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^\]]*\])?(?:>=([\d.]+))?\s*;\s*extra\s*==\s*['\"]verify['\"]")
GPUS = (
    "import json, torch; print(json.dumps([torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]))"
)
ARMS = {
    "A": "the original on the real old Ray",
    "O": "the conversion alone: current Ray, old libraries",
    "B": "the original under a stand-in, current libraries",
    "C": "the converted script, current libraries",
}
OLD_RAYS = ("2.6", "2.7")
ENVIRONMENT_BYTES = 3_000_000_000  # one of them, pip's downloads included
SHARED_MEMORY_BYTES = 1_000_000_000  # a container gets 64 MB unless it asks for more
# `/ray/session_2026-11-21_07-37-50_123456_1234567/sockets/plasma_store`: what Ray puts after its folder.
# Source: ray/_private/node.py; the limits: validate_socket_filepath in ray/_private/utils.py.
SOCKET = "/ray/session_0000-00-00_00-00-00_000000_0000000/sockets/plasma_store"
SOCKET_LIMIT = 103 if sys.platform == "darwin" else 107


@dataclass(frozen=True)
class Package:
    """A package that `raymigrate verify` needs.

    Args:
        name: As pip knows it.
        installed: Its version, or None.
        needed: The oldest version that will do, or "".
    """

    name: str
    installed: str | None
    needed: str
    fits: bool = field(init=False)

    def __post_init__(self) -> None:
        fits = self.installed is not None and _numbers(self.installed) >= _numbers(self.needed)
        object.__setattr__(self, "fits", fits)


@dataclass(frozen=True)
class Arm:
    """Whether an arm can run.

    Args:
        letter: "A", "O", "B" or "C".
        title: What it runs.
        state: "ready", "on demand" (verify makes its environment first) or "lacking".
        reason: Why it is not ready, or "".
        command: What to do about it, or "".
    """

    letter: str
    title: str
    state: str
    reason: str = ""
    command: str = ""


@dataclass(frozen=True)
class Report:
    """Everything that `doctor` tells; the fields of its JSON document.

    Args:
        ready: Whether the default arms, B and C, can run.
        raymigrate: Its version.
        python: Version of the interpreter.
        executable: Where the interpreter is.
        packages: What `verify` needs.
        gpus: Names of the GPUs that torch sees; None if it could not be asked.
        arms: Whether each can run.
        environments: Name -> folder, or None if it is not made.
        hub: Folder of the offline hub.
        hub_built: Whether it is there already.
        cache: Where hub and environments lie.
        cache_free_bytes: Free space there.
        cpus: How many CPUs may be used.
        memory_bytes: How much memory may be used; None if it is not known.
        warnings: What could hurt.
        version: Of this document.
    """

    ready: bool
    raymigrate: str
    python: str
    executable: str
    packages: list[Package]
    gpus: list[str] | None
    arms: list[Arm]
    environments: dict[str, str | None]
    hub: str
    hub_built: bool
    cache: str
    cache_free_bytes: int
    cpus: int
    memory_bytes: int | None
    warnings: list[str]
    version: int = VERSION


@click.command()
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text", help="Format of the report.")
def doctor(output_format: str) -> None:
    """Tell what is installed, which arms of verify can run here, and how to get the others.

    Exit codes: 0 the default arms (B and C) can run, 2 they cannot.
    """
    report = examine()
    if output_format == "json":
        click.echo(json.dumps(asdict(report), indent=2, ensure_ascii=False))
    else:
        for line in _lines(report):
            click.echo(line)
    sys.exit(0 if report.ready else 2)


def examine() -> Report:
    """Looks at everything; changes nothing and imports nothing heavy."""
    from raymigrate.files.discovery import processors  # noqa: PLC0415
    from raymigrate.runtime import environments  # noqa: PLC0415
    from raymigrate.runtime.hub.assets import assets_version  # noqa: PLC0415
    from raymigrate.runtime.hub.repository import VERSION_FILE  # noqa: PLC0415

    packages = needed_packages()
    made = {name: environments.find(name) for name in environments.names()}
    arms = _arms(packages, {name for name, environment in made.items() if environment})
    cache = environments.cache_folder().parent
    hub = cache / "hub" / assets_version()
    free = shutil.disk_usage(next(folder for folder in (cache, *cache.parents) if folder.exists())).free
    return Report(
        ready=all(arm.state == "ready" for arm in arms if arm.letter in "BC"),
        raymigrate=__version__,
        python=platform.python_version(),
        executable=sys.executable,
        packages=packages,
        gpus=_gpus(packages),
        arms=arms,
        environments={name: str(found.folder) if found else None for name, found in made.items()},
        hub=str(hub),
        hub_built=(hub / VERSION_FILE).is_file(),
        cache=str(cache),
        cache_free_bytes=free,
        cpus=processors(),
        memory_bytes=_memory(),
        warnings=list(_warnings(cache, free, complete=None not in made.values())),
    )


def needed_packages() -> list[Package]:
    """What the extra `verify` of this package asks for, beside what is installed."""
    try:
        requirements = importlib.metadata.requires("raymigrate") or []
    except importlib.metadata.PackageNotFoundError:  # run from its sources
        return [Package("raymigrate[verify]", None, "")]
    found = (REQUIREMENT.match(requirement) for requirement in requirements)
    return [Package(match[1], _installed(match[1]), match[2] or "") for match in found if match]


def _installed(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _numbers(version: str) -> tuple[int, ...]:
    """The leading numbers of a version, without zeros at the end: "5.0.0rc1" -> (5,)."""
    numbers = [int(number) for number in re.match(r"[\d.]*", version)[0].split(".") if number]  # type: ignore[index]
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)


def _arms(packages: list[Package], made: set[str]) -> list[Arm]:
    from raymigrate.runtime.environments import EnvironmentFailure  # noqa: PLC0415
    from raymigrate.runtime.environments.interpreters import choose  # noqa: PLC0415

    def arm(letter: str, state: str, reason: str = "", command: str = "") -> Arm:
        return Arm(letter, ARMS[letter], state, reason, command)

    if sys.platform == "win32":
        return [arm(letter, "lacking", "verify runs on Linux and macOS only", "use WSL") for letter in ARMS]
    absent = ", ".join(package.name for package in packages if package.installed is None)
    old = ", ".join(
        f"{package.name} {package.installed}" for package in packages if package.installed and not package.fits
    )
    lacks = "; ".join(f"{what}: {which}" for what, which in (("not installed", absent), ("too old", old)) if which)
    if lacks:
        return [arm(letter, "lacking", lacks, INSTALL) for letter in ARMS]
    arms = []
    for letter, fitting in (("A", OLD_RAYS), ("O", ("current",))):
        if made.intersection(fitting):
            arms.append(arm(letter, "ready"))
            continue
        try:
            choose()
        except EnvironmentFailure as error:
            arms.append(arm(letter, "lacking", str(error)))
        else:
            reason = "verify makes its environment first; to make it now:"
            arms.append(arm(letter, "on demand", reason, f"raymigrate env create {fitting[0]}"))
    return [*arms, arm("B", "ready"), arm("C", "ready")]


def _gpus(packages: list[Package]) -> list[str] | None:
    """Names of the GPUs; asked in another process, since a broken torch can take its process down."""
    torch = next((package.installed for package in packages if package.name == "torch"), None)
    if torch is None or torch.endswith("+cpu"):
        return []
    try:
        answer = subprocess.run([sys.executable, "-c", GPUS], capture_output=True, text=True, timeout=120, check=True)
        return [str(name) for name in json.loads(answer.stdout.splitlines()[-1])]
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        return None


def _memory() -> int | None:
    """Memory of the machine, or of the container if that is less."""
    try:
        machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            return min(machine, int(Path(limit).read_text(encoding="ascii")))
        except (OSError, ValueError):  # no such file, or "max"
            continue
    return machine


def _warnings(cache: Path, free: int, *, complete: bool) -> Iterator[str]:
    if not complete and free < ENVIRONMENT_BYTES:
        yield (
            f"{cache} has {_gigabytes(free)} free, and an environment takes up to {_gigabytes(ENVIRONMENT_BYTES)}:"
            " set XDG_CACHE_HOME to a folder on a larger disk."
        )
    shared = Path("/dev/shm")
    if sys.platform == "linux" and (not shared.is_dir() or shutil.disk_usage(shared).free < SHARED_MEMORY_BYTES):
        yield (
            f"/dev/shm has less than {_gigabytes(SHARED_MEMORY_BYTES)} free: Ray's object store goes to /tmp, which is"
            " slower, and data loaders with several processes can crash. In a container: --shm-size=4g."
        )
    read = ("RAY_TMPDIR", "TMPDIR") if sys.platform == "linux" else ("RAY_TMPDIR",)  # as Ray does
    variable = next((name for name in read if os.environ.get(name)), None)
    if variable:
        length = len(os.fsencode(os.environ[variable].rstrip("/") + SOCKET))
        if length > SOCKET_LIMIT:
            yield (
                f"{variable} is too long for Ray: paths of its sockets there have up to {length} bytes of at most"
                f" {SOCKET_LIMIT}. Set RAY_TMPDIR to a shorter folder, such as /tmp; verify takes /tmp by itself."
            )
    if sys.platform != "win32" and not os.access("/tmp", os.W_OK):
        yield "/tmp cannot be written to: verify keeps Ray's sockets there."


def _gigabytes(count: int) -> str:
    return f"{count / 1e9:.1f} GB"


def _lines(report: Report) -> Iterator[str]:
    """The report for people."""
    from raymigrate.runtime.environments import locks  # noqa: PLC0415

    def row(name: str, value: str) -> str:
        return f"  {name:<14}{value}".rstrip()

    yield "Installed"
    yield row("raymigrate", report.raymigrate)
    yield row("python", f"{report.python}  {report.executable}")
    for package in report.packages:
        wanted = "" if package.fits else f"  (verify needs {package.needed or 'it'})"
        yield row(package.name, f"{package.installed or '-'}{wanted}")
    yield ""
    yield "Arms of verify"
    for arm in report.arms:
        yield row(f"{arm.letter}  {arm.state}", arm.title)
        if arm.reason:
            yield row("", arm.reason)
        if arm.state == "on demand":
            yield row("", arm.command)
    yield ""
    yield "Environments"
    for name, folder in report.environments.items():
        yield row(name, f"{locks.lock(name).title}: {folder or f'not made (raymigrate env create {name})'}")
    yield ""
    yield "Machine"
    memory = "" if report.memory_bytes is None else f", {_gigabytes(report.memory_bytes)} of memory"
    yield row("CPUs", f"{report.cpus}{memory}")
    yield row("GPUs", "torch could not be asked" if report.gpus is None else ", ".join(report.gpus) or "none")
    yield row("cache", f"{report.cache}, {_gigabytes(report.cache_free_bytes)} free")
    yield row("offline hub", report.hub if report.hub_built else "not built; --offline builds it, in seconds")
    for warning in report.warnings:
        yield f"\nWarning: {warning}"
    yield ""
    if report.ready:
        yield "raymigrate verify can run its default arms, B and C."
    else:
        command = next(arm.command for arm in report.arms if arm.state == "lacking" and arm.letter in "BC")
        yield f"raymigrate verify cannot run here yet: {command}"
        yield "To convert scripts nothing more is needed."

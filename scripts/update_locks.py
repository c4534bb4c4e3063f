"""Writes into the locks the hashes of all wheels that pip may take for them, as PyPI's index tells them.

    pip install uv
    python scripts/update_locks.py [LOCK...]

The pins stay as they are: to change one, edit its line, and run this. uv asks the index (PEP 503, PEP 751); of what it
tells, the wheels are kept that fit a Python of the environments on Linux or macOS. Source for hashes:
https://pip.pypa.io/en/stable/topics/secure-installs/
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import unquote, urlsplit

import tomllib
from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.utils import canonicalize_name, parse_wheel_filename

from raymigrate.runtime.environments.locks import FOLDER, PYTHONS, Lock, lock, names

INDEX = "https://pypi.org/simple"
# Where current torch has wheels: neither for musl's Linux nor for Macs with Intel's processors, and on Windows the
# environments cannot be made.
PLATFORM = re.compile(r"any|(?:many)?linux\w*_(?:x86_64|aarch64)|macosx_\w+_(?:arm64|universal2)")


def supported_tags() -> set[tuple[str, str]]:
    """Interpreter and ABI of every wheel that a Python of the environments can take."""
    tags: set[Tag] = set()
    for version in PYTHONS:
        interpreter = f"cp{version[0]}{version[1]}"
        tags |= {*cpython_tags(version, platforms=["any"]), *compatible_tags(version, interpreter, ["any"])}
    return {(tag.interpreter, tag.abi) for tag in tags}


def is_wanted(wheel: str, supported: set[tuple[str, str]]) -> bool:
    """Whether an environment may install a wheel of this file name."""
    tags = parse_wheel_filename(wheel)[3]
    return any((tag.interpreter, tag.abi) in supported and PLATFORM.fullmatch(tag.platform) for tag in tags)


def hashes(pins: list[str]) -> dict[str, list[str]]:
    """Package -> SHA-256 of its wheels.

    Args:
        pins: Lines `name==version`.
    """
    lowest = ".".join(map(str, min(PYTHONS)))
    with tempfile.TemporaryDirectory() as folder:
        asked, told = Path(folder, "pins.in"), Path(folder, "pylock.toml")
        asked.write_text("\n".join(pins), encoding="utf-8")
        options = ["--no-config", "--index-url", INDEX, "--universal", "--python-version", lowest, "--no-deps"]
        output = ["--no-build", "--quiet", "--format", "pylock.toml", "--output-file", str(told)]
        subprocess.run([sys.executable, "-m", "uv", "pip", "compile", *options, *output, str(asked)], check=True)
        packages = tomllib.loads(told.read_text(encoding="utf-8"))["packages"]
    supported = supported_tags()
    return {
        package["name"]: sorted(
            wheel["hashes"]["sha256"]
            for wheel in package["wheels"]
            if is_wanted(unquote(Path(urlsplit(wheel["url"]).path).name), supported)
        )
        for package in packages
    }


def with_hashes(text: str, found: dict[str, list[str]]) -> str:
    """A lock with the given hashes below each of its pins; comments and pins stay.

    Raises:
        SystemExit: If no wheel of a package fits.
    """
    lines = []
    for line in text.splitlines():
        if line.startswith("    --hash="):
            continue
        line = line.removesuffix(" \\")
        if line and not line.startswith("#"):
            digests = found.get(canonicalize_name(line.partition("==")[0]))
            if not digests:
                raise SystemExit(f"There is no wheel for {line}.")
            line = " \\\n".join([line, *(f"    --hash=sha256:{digest}" for digest in digests)])
        lines.append(line)
    return "\n".join(lines) + "\n"


def update(item: Lock) -> None:
    """Writes a lock anew."""
    pins = [f"{name}=={version}" for name, version in item.versions.items()]
    path = FOLDER / item.path.name
    path.write_text(with_hashes(item.text, hashes(pins)), encoding="utf-8")
    print(f"{item.name}: {len(pins)} packages")


def main() -> None:
    """Runs what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("locks", nargs="*", metavar="LOCK", help=f"of {', '.join(names())}; default: all")
    for name in parser.parse_args().locks or names():
        update(lock(name))


if __name__ == "__main__":
    main()

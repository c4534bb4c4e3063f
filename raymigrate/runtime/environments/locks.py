"""The lock files: exact versions and hashes of everything in an environment but torch.

torch is installed in the version that runs here, so that the kernels are the same in every arm: which one that is, and
whether it is a build for CPUs or for some CUDA, is not known before, and neither are its hashes.
"""

import hashlib
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

FOLDER = Path(__file__).parent / "locks"
# The newest first: it is the first choice. Of tokenizers 0.13 and pandas 2.0 there are no wheels for Python 3.12, of
# today's torch none for Python 3.9.
PYTHONS = ((3, 11), (3, 10))
TITLES = {"ray": "Ray", "transformers": "transformers", "accelerate": "accelerate"}
PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;]+)(?:\s*;\s*([^\\]+?))?(?: \\)?$")


@dataclass(frozen=True)
class Lock:
    """A lock file.

    Args:
        path: Where it is; its stem is the name of the environment.
    """

    path: Path

    @property
    def name(self) -> str:
        """Name of the environment."""
        return self.path.stem

    @cached_property
    def text(self) -> str:
        """The whole file."""
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def versions(self) -> dict[str, str]:
        """Package, in lower case -> version."""
        pins = (PIN.match(line) for line in self.text.splitlines())
        return {pin[1].lower(): pin[2] for pin in pins if pin}

    @property
    def title(self) -> str:
        """What a person wants to know of it, such as "Ray 2.6.3, transformers 4.30.2, accelerate 0.20.3"."""
        return ", ".join(f"{title} {self.versions[name]}" for name, title in TITLES.items() if name in self.versions)

    def digest(self, torch: str) -> str:
        """Names the content of an environment: another lock or another torch makes another one."""
        pins = [line for line in self.text.splitlines() if line and not line.startswith("#")]
        return hashlib.sha256("\n".join([*pins, f"torch=={torch}"]).encode()).hexdigest()[:12]


def names() -> tuple[str, ...]:
    """Every environment that can be made."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.txt")))


def lock(name: str) -> Lock:
    """The lock of an environment.

    Raises:
        KeyError: If there is none of this name.
    """
    if name not in names():
        raise KeyError(name)
    return Lock(FOLDER / f"{name}.txt")

"""Which versions the converted code needs, and whether a version range lets them in.

A range is left alone as long as it allows one version that is new enough: with `transformers>=4.30` pip installs the
current one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet
    from packaging.version import Version
from pathlib import Path

from raymigrate.base.expressions import lazy_regex
from raymigrate.knowledge.integrations import INTEGRATION_OF, LOWEST_OF_INTEGRATIONS, is_used

# The lowest versions that the converted code runs on. ray: Train V2 is the default from 2.51 on (ray#57857).
# transformers: a warmup_steps below 1 is a ratio from 5.0 on (docs/semantics/libraries.md). The rest is what they need:
# the metadata of transformers 5.0 names huggingface-hub, tokenizers (of which 0.22.0 excludes that huggingface-hub) and
# Python, and accelerate 1.1; without unwrap_model(keep_torch_compile=) (1.3) its Trainer does not train (run with 1.2.0
# and 1.3.0); transformers 5.23 works with torch from 2.6 on; with huggingface-hub 1.x datasets 2.16 works, and 2.14
# cannot be imported (measured).
TARGET = {
    "ray": "2.51",
    "transformers": "5.0",
    "accelerate": "1.3",
    "datasets": "2.16",
    "torch": "2.6",
    "python": "3.10",
}
# What goes with them, by the version with which it does:
# * ray: `import ray.train` of 2.56 and later ends with an ImportError beside pydantic 1 and pyarrow 16 (measured with
#   2.60: ray/_common/pydantic_compat.py, ray/data/_internal/utils/arrow_utils.py). Only the extras of Ray ask for them,
#   so that pip installs plain Ray beside any; of pydantic 2 the metadata excludes 2.0 to 2.4 from 2.51 on.
# * transformers: peft in dependency_versions_table.py of 5.0; bitsandbytes: BITSANDBYTES_MIN_VERSION in its
#   import_utils.py, without which loading in 4 or 8 bits ends; evaluate.load() of 0.4.1 to 0.4.5 ends with an
#   AttributeError, that of 0.4.0 and 0.4.6 does not (measured with huggingface-hub 1.3 and 2.4, datasets 3.2 and 5.2).
#   trl: its trainers up to 0.28.0 cannot be imported beside 5.23 ("No module named 'weave'" or 'mergekit', since
#   _is_package_available() returns a pair there), those of 0.29.0 can (measured).
# * torch: a version of torchvision, torchaudio, xformers, vllm, and of torchdata up to 0.7.0, names one torch in its
#   metadata: read in the last that names an older one, and in the one given here. deepspeed up to 0.14.3 imports
#   _get_socket_with_port from torch.distributed.elastic.agent.server.api, which 2.6 does not have; up to 0.15.4 it
#   cannot load its own checkpoints (UnpicklingError: weights_only of torch.load is True from 2.6 on; saved and loaded
#   with 0.15.4 and 0.16.0, torch 2.13 and pydantic 2.14).
# * pydantic: fastapi 0.99 requires an older one.
# * pyarrow, of which datasets 5 requires 24 and pip takes the newest: importing 26.0.1 beside numpy 1.26 ends with
#   "pyarrow requires NumPy 2.0 or newer" (measured), of which its metadata says nothing.
# * numpy: importing pandas 1.5.3 beside numpy 2.4 ends with "numpy.dtype size changed" (measured); pandas 2.2.2 is
#   the first that is built for numpy 2 (its release notes). Importing wandb 0.17.1 ends with "`np.float_` was removed"
#   (measured, 0.17.2 does not). tensorflow, scipy, scikit-learn: metadata of 2.17.1, 1.12.0 and 1.4.1.post1.
# * mlflow up to 2.15.1 requires pyarrow<16, modin 0.26 pandas<2.2 (their metadata).
COMPANIONS = {
    "ray >= 2.56": {"pydantic": "2.5", "pyarrow": "17.0"},
    "transformers >= 5.0": {
        "huggingface-hub": "1.3",
        "tokenizers": "0.22.1",
        "peft": "0.18",
        "bitsandbytes": "0.46.1",
        "evaluate": "0.4.6",
        "trl": "0.29",
    },
    "torch >= 2.6": {
        "torchvision": "0.21",
        "torchaudio": "2.6",
        "torchdata": "0.7.1",
        "xformers": "0.0.29.post2",
        "vllm": "0.8",
        "deepspeed": "0.16",
    },
    "pydantic >= 2.5": {"fastapi": "0.100"},
    "pyarrow >= 26.0": {"numpy": "2.0"},
    "pyarrow >= 17.0": {"mlflow": "2.16"},
    "numpy >= 2.0": {
        "pandas": "2.2.2",
        "wandb": "0.17.2",
        "tensorflow": "2.18",
        "scipy": "1.13",
        "scikit-learn": "1.4.2",
    },
    "pandas >= 2.2.2": {"modin": "0.27"},
}
# Of these, the older versions that do not go with them begin with this one; those before it do.
FAILS_FROM = {"evaluate": "0.4.1"}
# Packages of which no version goes with that torch, and what to do. torchtext: importing 0.18, whose metadata names any
# torch from 2.3 on, ends with an OSError on 2.13 (measured). functorch 2.0.0 requires torch<2.1.
ENDED = {
    "torchtext": "Take it out: its last version, 0.18, is built for torch 2.3. datasets and tokenizers read text.",
    "functorch": "Take it out, and import from torch.func: functorch is a part of torch since 2.0.",
}
# What all these require of others, as scripts/generate_lowest_versions.py reads it in their metadata.
LOWEST_VERSIONS = Path(__file__).parent / "tables" / "lowest_versions.txt"
BY_HAND = TARGET | {name: version for group in COMPANIONS.values() for name, version in group.items()}
_REQUIRED = [line.split() for line in LOWEST_VERSIONS.read_text(encoding="utf-8").splitlines()]
REQUIRED = frozenset(name for name, _, _ in _REQUIRED)
LOWEST = BY_HAND | LOWEST_OF_INTEGRATIONS | {n: version for n, version, _ in _REQUIRED} | dict.fromkeys(ENDED, "")
GOES_WITH = (
    INTEGRATION_OF
    | {name: group for group, companions in COMPANIONS.items() for name in companions}
    | {name: f"{library} >= {BY_HAND[library]}" for name, _, library in _REQUIRED}
)
# Other names of the same: conda splits Ray, and calls PyTorch otherwise.
SAME = {
    "pytorch": "torch",
    "ray-core": "ray",
    "ray-default": "ray",
    "ray-train": "ray",
    "ray-air": "ray",
    "ray-data": "ray",
    "dask-core": "dask",
    "py-xgboost": "xgboost",
}
PACKAGES = "|".join(name.replace("-", "[-_.]") for name in LOWEST).encode()

NAME = r"(?P<name>[A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?)(?![\w-])"
EXTRAS = r"(?:\s*\[[\w\s,.-]*\])?"
CLAUSE = r"(?:===?|~=|!=|<=|>=|<|>)\s*[\w.*+!-]+"
# A requirement with a range at the start of a text, as in PEP 508: `ray[train] >=2.6, <2.9`.
REQUIREMENT = lazy_regex(rf"{NAME}{EXTRAS}\s*(?P<specifier>{CLAUSE}(?:\s*,\s*{CLAUSE})*)")
# A wheel, archive or tag that stands for a version: `transformers @ git+https://.../transformers@v4.30.2`.
ADDRESS = lazy_regex(
    rf"(?:-e\s+|--editable[\s=]+)?(?:{NAME}{EXTRAS}\s*@\s*)?"
    r"(?:git\+|https?://|file:)\S*/(?P<project>[\w-]+?)(?:\.git)?(?:[-@]v?|/archive/(?:refs/tags/)?v?)"
    r"(?P<version>\d+(?:\.\d+)+)\S*"
)


@dataclass(frozen=True)
class Pin:
    """A version range of a package in `LOWEST`.

    Args:
        name: The package, under its name in `LOWEST`.
        written: The requirement as it is written.
        start: Where it starts in the text of the file.
        versions: The versions that it allows, as pip writes a range.
        place: Start and end of what is to be replaced.
        replacement: What takes its place; "" where a person has to decide.
        obstacle: Why that is, and what to do, in one sentence.
    """

    name: str
    written: str
    start: int
    versions: str
    place: tuple[int, int] = (0, 0)
    replacement: str = ""
    obstacle: str = ""

    def __post_init__(self) -> None:
        if self.name in ENDED:
            object.__setattr__(self, "obstacle", ENDED[self.name])

    @property
    def replaceable(self) -> bool:
        """Whether it is sure what to write in its place."""
        return bool(self.replacement) and not self.obstacle

    @property
    def lowest(self) -> str:
        """The lowest version that the converted code runs on; "" where it runs on none."""
        return LOWEST[self.name]

    @property
    def is_too_low(self) -> bool:
        """Whether it excludes what the converted code needs."""
        if self.name in ENDED:
            return True
        fails_from = FAILS_FROM.get(self.name)
        does_as_well = fails_from is not None and keeps_out(self.versions, fails_from)
        return keeps_out(self.versions, self.lowest) and not does_as_well

    def matters_to(self, texts: Iterable[str]) -> bool:
        """Whether the package is anybody's concern beside some scripts: it may be for a part of Ray only."""
        part = INTEGRATION_OF.get(self.name)
        return part is None or is_used(part, texts)

    @property
    def message(self) -> str:
        """What is wrong with it."""
        written = " ".join(self.written.split())
        if self.name in ENDED:
            return f"{written}: no version of {self.name} goes with torch >= {LOWEST['torch']}."
        beside = GOES_WITH.get(self.name)
        first = f"the first since {FAILS_FROM[self.name]}" if self.name in FAILS_FROM else "the first"
        why = f"{first} that goes with {beside}" if beside else "which the code needs once it is converted"
        return f"{written} excludes {self.name} >= {self.lowest}, {why}."


def package(name: str) -> str:
    """The normalized name of a package; that of PyPI where conda has another."""
    normalized = re.sub(r"[-_.]+", "-", name).lower()
    return SAME.get(normalized, normalized)


def keeps_out(specifier: str, lowest: str) -> bool:
    """Whether a range allows no version from `lowest` on; one that cannot be read counts as allowing some.

    A range is a set of intervals that begin and end at the versions it names: it is enough to ask about these, about
    versions a little above them, and about one far above.
    """
    try:
        clauses = read_specifier(specifier)
        version = _packaging().version.Version
        named = [version(clause.version.removesuffix(".*")) for clause in clauses]
        bottom = version(lowest)
        tried = [bottom, version("99999"), *named, *(version(f"{v.base_version}.0.1") for v in [bottom, *named])]
        return bool(named) and not any(v >= bottom and clauses.contains(v, prereleases=True) for v in tried)
    except ValueError:  # no range, or a number of thousands of digits
        return False


def read_specifier(text: str) -> SpecifierSet:
    """A range of versions as pip reads it.

    Raises:
        ValueError: If it is none.
    """
    found: SpecifierSet = _packaging().specifiers.SpecifierSet(text)
    return found


def read_version(text: str) -> Version:
    """A version as pip reads it, which can be compared.

    Raises:
        ValueError: If it is none.
    """
    found: Version = _packaging().version.Version(text)
    return found


def _packaging() -> ModuleType:
    import packaging.specifiers  # noqa: PLC0415 - 20 ms, and few runs meet a pin

    return packaging


def requirement_pins(text: str, start: int = 0) -> Iterator[Pin]:
    """The pin of a requirement as pip reads it.

    Args:
        text: A text at whose start a requirement may stand.
        start: Where that text starts in the file.
    """
    match = REQUIREMENT.match(text)
    if match is None:
        yield from _address_pins(text, start)
        return
    name, specifier = package(match["name"]), match["specifier"]
    if name not in LOWEST:
        return
    if "+" in specifier:  # torch==1.13.1+cu117, which an index of its own offers
        obstacle = f"It names a build; choose the build of {name} >= {LOWEST[name]} that fits, and its index."
        yield Pin(name, match[0], start, specifier, obstacle=obstacle)
        return
    place = (start + match.start("specifier"), start + match.end("specifier"))
    space = " " if re.match(r"[<>=!~]+\s", specifier) else ""
    yield Pin(name, match[0], start, specifier, place, f">={space}{LOWEST[name]}")


def _address_pins(text: str, start: int) -> Iterator[Pin]:
    match = ADDRESS.match(text)
    if match is None:
        return
    name = package(match["name"] or match["project"])
    versions = f"=={match['version']}"
    if name in LOWEST:
        obstacle = f"Take the address of {name} >= {LOWEST[name]}, or its name only."
        yield Pin(name, match[0], start, versions, obstacle=obstacle)


def conda_specifier(text: str) -> str:
    """A range of conda as pip would write it: `=4.30` is `==4.30.*` there, and a build may follow."""
    if match := re.fullmatch(r"=(?P<version>[\w.]+?)(?:\.?\*)?(?:=[\w.*]+)?", text):
        return f"=={match['version']}.*"
    return re.sub(r"^(==[\w.]+)=[\w.*]+$", r"\1", text)


def poetry_specifier(text: str) -> str:
    """A range of Poetry as pip would write it: `^4.30`, `~4.30`, `4.30.2`, `4.*`."""
    clauses = []
    for clause in filter(None, (part.strip() for part in text.split(","))):
        match = re.fullmatch(r"(?P<sign>[\^~]?)\s*v?(?P<version>\d+(?:\.\d+)*)(?P<star>\.\*)?", clause)
        if match is None:
            clauses.append(clause)  # the same as with pip
        elif match["sign"]:
            clauses += [f">={match['version']}", f"<{_next(match['version'], match['sign'])}"]
        else:
            clauses.append(f"=={match['version']}{match['star'] or ''}")
    return ",".join(clauses)


def _next(version: str, sign: str) -> str:
    """The version that `^version` or `~version` ends before."""
    parts = [int(part) for part in version.split(".")]
    if sign == "~":
        place = min(1, len(parts) - 1)
    else:
        place = next((index for index, part in enumerate(parts) if part), len(parts) - 1)
    return ".".join(map(str, [*parts[:place], parts[place] + 1]))


def conda_pins(item: str, start: int = 0) -> Iterator[Pin]:
    """The pin of a dependency as conda reads it: `pytorch=1.13.1=py3.9_cuda11.7`."""
    match = re.match(rf"(?:[\w.-]+::)?{NAME}\s*(?P<specifier>[=<>!~][^\s#]*)", item)
    name = package(match["name"]) if match else ""
    versions = conda_specifier(match["specifier"]) if match else ""
    if match and name in LOWEST:
        place = (start + match.start("specifier"), start + match.end("specifier"))
        yield Pin(name, match[0], start, versions, place, f">={LOWEST[name]}")

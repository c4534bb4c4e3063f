# ruff: noqa: PTH100, PTH118, PTH120 - works on strings, as discovery.py does
"""Which Ray a script was written for: what the user says, else the pins of its project, else what it imports.

And what these pins say of the Trainer of transformers.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from raymigrate.base.expressions import lazy_regex
from raymigrate.documents.install_commands import install_commands
from raymigrate.facts.projects.project import Project
from raymigrate.facts.ray_train.results import is_any_checkpoint
from raymigrate.facts.syntax.kept import kept
from raymigrate.knowledge.legacy import BATCH_PREDICTORS, TRAINERS
from raymigrate.knowledge.versions import Pin, read_specifier
from raymigrate.pins.environments import environment_pins
from raymigrate.pins.files import Dated, PinFile, as_they_are, folders_of_lists, read, readers_in
from raymigrate.pins.readers import Reader

if TYPE_CHECKING:
    from raymigrate.facts.syntax.module import Module

Version = tuple[int, int]
OLDEST, NEWEST = (2, 0), (2, 50)  # Train V2 is the default from 2.51 on: such a pin was raised for converted code
USUAL = (2, 6)
MINORS = range(NEWEST[1] + 1)
PRERELEASE = lazy_regex(r"(==\s*\d+\.\d+\.\d+)(?:a|b|rc|\.dev)\d+")  # such as 2.0.0rc0, which has what 2.0.0 has
PATCHES = range(10)
AVERAGING_SINCE = 55  # of transformers 4: average_tokens_across_devices was False up to 4.53.3, True in 4.55.4

HF = "ray.train.huggingface"
# What came with a version, with all that is below it (docs/semantics/names.md; Ray 2.6.3 was looked at).
CAME_WITH: tuple[tuple[str, Version], ...] = (
    (f"{HF}.accelerate", (2, 4)),
    (f"{HF}.AccelerateTrainer", (2, 5)),
    (f"{HF}.TransformersTrainer", (2, 5)),
    (f"{HF}.TransformersCheckpoint", (2, 5)),
    (f"{HF}.TransformersPredictor", (2, 5)),
    (f"{HF}.transformers", (2, 5)),
    ("ray.train.DataConfig", (2, 6)),
    (f"{HF}.transformers.RayTrainReportCallback", (2, 7)),
    (f"{HF}.transformers.prepare_trainer", (2, 7)),
    *((f"ray.train.{name}Config", (2, 7)) for name in ("Run", "Scaling", "Checkpoint", "Failure", "Sync")),
    *((f"ray.train.{name}", (2, 7)) for name in ("Checkpoint", "Result", "get_checkpoint", "get_context")),
)
# Also functions of Ray <= 2.2, so that they tell something only beside what came later.
CAME_BACK = ("ray.train.report", "ray.train.get_dataset_shard")
MOVED_IN = (2, 7)  # names of ray.air, to ray.train: an earlier run of ours writes these too
# What Ray 2.7 raised for, and an earlier run may have left (docs/semantics/names.md).
GONE_IN_2_7 = ("ray.air.Checkpoint", "ray.air.checkpoint", "ray.air.callbacks", "ray.train.batch_predictor")
# What Ray 2.7 raised for as soon as it was called (2.7.0 air/checkpoint.py:172, train/batch_predictor.py), and what its
# framework checkpoints did not have (2.7.0 train/_checkpoint.py); importing alone does not count.
OLD_CHECKPOINTS = ("ray.air.Checkpoint", "ray.air.checkpoint.Checkpoint")
MADE = ("from_bytes", "from_checkpoint", "from_dict", "from_object_ref", "from_uri")
CALLED_BEFORE_2_7 = (
    *OLD_CHECKPOINTS,
    *(f"{name}.{maker}" for name in OLD_CHECKPOINTS for maker in (*MADE, "from_directory")),
    *(f"ray.train.torch.{place}TorchCheckpoint.{maker}" for place in ("", "torch_checkpoint.") for maker in MADE),
    *BATCH_PREDICTORS,
    *(f"{name}.{maker}" for name in BATCH_PREDICTORS for maker in ("from_checkpoint", "from_pandas_udf")),
)


class WrittenFor(NamedTuple):
    """The versions of Ray that code can have been written for.

    Args:
        lowest: The first one that is possible.
        highest: The last one that is possible.
        version: The one to assume.
        by_moved_names: Whether nothing tells it but names that an earlier run may have written beside a trainer that
            it left.
    """

    lowest: Version
    highest: Version
    version: Version
    by_moved_names: bool = False

    def surely_before(self, version: Version) -> bool:
        """Whether it is known, and not only assumed, that the code ran on versions before this one."""
        return self.highest < version


def written_for(module: Module, path: str = "", said: str = "") -> WrittenFor:
    """The Ray that a module was written for: `--from-ray`, its pins, what it imports, or 2.6.

    A pin that is too low for what the module imports tells nothing. A call that Ray 2.7 raised for shows an earlier
    one, unless the pins keep all of these out. Rules tell no versions from 2.7 on apart, so no pins are read for what
    imports names of that; but beside a legacy trainer such names may be of an earlier run.

    Args:
        module: The module.
        path: Its file, beside which pins are looked for; "" for text without one.
        said: What the user says, such as "2.6"; "" to look for it.
    """
    if said:
        major, minor = said.split(".")[:2]
        version = (int(major), int(minor))
        return WrittenFor(version, version, version)
    imported = imported_since(module)
    by_moved_names = imported == MOVED_IN and any(module.references_within(*TRAINERS))
    pinned = _pinned(module, path) if imported < MOVED_IN or by_moved_names else None
    if by_moved_names:
        if (pinned is not None and pinned.highest < MOVED_IN) or _shows_older(module):
            imported = imported_since(module, before=MOVED_IN)
        elif pinned is None or pinned.lowest < MOVED_IN:
            return WrittenFor(imported, NEWEST, imported, by_moved_names=True)
    if pinned is None or pinned.highest < imported:
        return WrittenFor(imported, _highest(module, imported, NEWEST), max(imported, USUAL))
    lowest = max(pinned.lowest, imported)
    return WrittenFor(lowest, _highest(module, lowest, pinned.highest), lowest)


def _highest(module: Module, lowest: Version, highest: Version) -> Version:
    """The last Ray that a module can have been written for, of those that pins and imports allow."""
    is_open = lowest < MOVED_IN <= highest
    return USUAL if is_open and _calls_what_is_older(module) else highest


def _calls_what_is_older(module: Module) -> bool:
    """Whether a module calls what Ray 2.7 raised for."""
    if any(module.calls(*CALLED_BEFORE_2_7)):
        return True
    return any(is_any_checkpoint(module, method.value) for _, method in module.method_calls("to_dict"))


def imported_since(module: Module, before: Version = NEWEST) -> Version:
    """The first Ray that has all that a module uses of it, of what came before some version."""
    since = OLDEST
    # An older Ray has the others by another import.
    references = [reference for reference in module.references if reference.binding.node not in module.with_former]
    for name, version in CAME_WITH:
        if since < version < before and any(reference.is_within(name) for reference in references):
            since = version
    came_back = (2, 3) < since < MOVED_IN < before
    if came_back and any(reference.qualified in CAME_BACK for reference in references):
        return MOVED_IN
    return since


def _shows_older(module: Module) -> bool:
    """Whether a module with a legacy trainer cannot have run on Ray 2.7.

    Its trainers took the training function by keyword only (docs/semantics/names.md).
    """
    given = (call.args[:1] for call in module.calls(*TRAINERS))
    by_position = any(first and not isinstance(first[0], ast.Starred) for first in given)
    return by_position or any(module.references_within(*GONE_IN_2_7))


class Range(NamedTuple):
    """The first and the last Ray before Train V2 that a pin allows."""

    lowest: Version
    highest: Version

    @property
    def width(self) -> int:
        """How little it says: 0 for one version."""
        return self.highest[1] - self.lowest[1]


@lru_cache(maxsize=16)  # a range is asked about up to 510 versions, and the scripts of a project have one or two
def admitted(versions: str) -> Range | None:
    """The versions of Ray before Train V2 in a range; None if there are none, or it cannot be read."""
    try:
        clauses = read_specifier(PRERELEASE.sub(r"\1", versions))
        minors = [minor for minor in MINORS if any(clauses.contains(f"2.{minor}.{patch}") for patch in PATCHES)]
    except ValueError:  # no range, or a number of thousands of digits
        return None
    return Range((2, minors[0]), (2, minors[-1])) if minors else None


def _pinned(module: Module, path: str) -> Range | None:
    """What the nearest pins say: those in the script, in its folder, in the folders above it up to the project's.

    Of several the narrowest counts, such as an exact version; of several of these, what they allow together.
    """
    for ranges in _ranges(module, path):
        if ranges:
            width = min(found.width for found in ranges)
            best = [found for found in ranges if found.width == width]
            return Range(min(found.lowest for found in best), max(found.highest for found in best))
    return None


def _ranges(module: Module, path: str) -> Iterator[list[Range]]:
    """The ranges of Ray in each of these places, the nearest first."""
    for found in _pins(module, path, "ray"):
        yield [admits for versions in found if (admits := admitted(versions))]


def averages_tokens(module: Module, path: str) -> bool:
    """Whether the nearest pins allow transformers 4.55 to 4.57 and none before, whose Trainer averaged otherwise.

    A pin for transformers 5 alone tells nothing: it may have been raised (docs/semantics/libraries.md).
    """
    found = next(filter(None, _pins(module, path, "transformers")), [])
    return bool(found) and all(map(_admits_late, found))


@lru_cache(maxsize=16)
def _admits_late(versions: str) -> bool:
    try:
        clauses = read_specifier(versions)
        admits = [minor for minor in range(58) if any(clauses.contains(f"4.{minor}.{patch}") for patch in PATCHES)]
    except ValueError:
        return False
    return min(admits, default=0) >= AVERAGING_SINCE


def _pins(module: Module, path: str, package: str) -> Iterator[list[str]]:
    """What a script, the files in its folder and those in the folders above it say of a package, the nearest first."""
    yield _of_package((pin for _, pin in environment_pins(module)), package)
    if not path:
        return
    yield _in_files(as_they_are([(os.path.abspath(path), _install_commands)]), package)
    for files in files_near(module, path):
        yield _in_files(files, package)


@kept
def files_near(_: Module, path: str) -> list[tuple[Dated, ...]]:
    """The files that may pin versions in the folder of a module, and in each one above it up to the project's.

    They are looked for once, though it is asked for one package after the other.
    """
    found: list[tuple[Dated, ...]] = []
    folder, top = os.path.dirname(os.path.abspath(path)), Project().folder(path)
    while True:
        places = folders_of_lists(os.path.join(folder, ""))
        found.append(as_they_are(file for place in places for file in readers_in(place)))
        if folder == top:
            return found
        folder = os.path.dirname(folder)


def _of_package(pins: Iterable[Pin], package: str) -> list[str]:
    return [pin.versions for pin in pins if pin.name == package]


@lru_cache(maxsize=512)  # by folder and package: each script of one asks
def _in_files(files: tuple[Dated, ...], package: str) -> list[str]:
    """The versions of a package in files; they are read once, unless one is changed."""
    return [found for file in files for found in _in_file(file.path, file.reader, package)]


def _in_file(path: str, reader: Reader, package: str) -> list[str]:
    try:
        return _of_package(PinFile(path, reader, read(path)).pins, package)
    except Exception:  # whatever a reader raises costs its file only, of which pin_results() tells
        return []


def _install_commands(text: str) -> Iterator[Pin]:
    """What the cells and the docstring of a script tell to install."""
    return install_commands(text.replace("# MAGIC ", ""))

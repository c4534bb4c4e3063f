"""What a user asks of a verification."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from raymigrate.base.options import Options
from raymigrate.runtime.verify.arms import Overrides
from raymigrate.runtime.verify.cluster import Cluster
from raymigrate.runtime.verify.pins import PINS
from raymigrate.runtime.verify.scripts import Sources


@dataclass(frozen=True)
class Request:
    """What the user asked for.

    Args:
        sources: The two versions of the job.
        arguments: Command-line arguments of the script.
        letters: The arms, in the order in which they run.
        old_ray: Environment of arm A, "2.6" or "2.7".
        options: For the conversion.
        dropped_pins: Pins that are off.
        overrides: The same for every arm.
        offline: Whether models and datasets come from the offline hub.
        hub_size: Size of the offline hub's models, "tiny" or "full".
        timeout: Seconds for each run.
        repeat: How often each arm runs.
        cluster: Where the arms run; None for a Ray of their own on this machine.
        kill_worker: Whether each arm that trains on Ray runs once more with a worker killed in the middle.
        launches: Arm -> the words that start it, for two scripts as they are; Python or torchrun by itself.
        environments: Arm -> requirements file or folder of its environment, for two scripts as they are.
        command: The command line that repeats it.
    """

    sources: Sources
    arguments: tuple[str, ...] = ()
    letters: tuple[str, ...] = ("B", "C")
    old_ray: str = "2.6"
    options: Options = field(default_factory=Options)
    dropped_pins: tuple[str, ...] = ()
    overrides: Overrides = field(default_factory=Overrides)
    offline: bool = False
    hub_size: str = "tiny"
    timeout: float = 3600.0
    repeat: int = 1
    kill_worker: bool = False
    launches: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    environments: Mapping[str, Path] = field(default_factory=dict)
    cluster: Cluster | None = None
    command: str = ""

    @property
    def processes(self) -> int:
        """In how many processes a plain script trains, unless the converted one says otherwise."""
        return self.overrides.workers or self.options.workers or 1

    @property
    def pins(self) -> dict[str, Any]:
        """Pin -> value, of those that are on."""
        return {pin.name: pin.value for pin in PINS if pin.name not in self.dropped_pins}

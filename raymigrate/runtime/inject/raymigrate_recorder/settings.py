"""What `raymigrate verify` asks of the recorder, read from the environment variable RAYMIGRATE_RECORDER."""

from __future__ import annotations

import json
import os
from typing import Any, NamedTuple


class Settings(NamedTuple):
    """Settings of one arm; the same in every arm but for the folders.

    Args:
        trace: Folder for the events and weights.
        storage: Folder that takes the place of the script's `storage_path`, so that no arm sees another's results.
        pins: Determinism pins that are on, by name; the values are theirs.
        workers: Number of workers instead of the script's, or None.
        device: "cpu" or "gpu" instead of the script's, or None.
        precision: "fp32", "bf16" or "fp16" instead of the script's mixed precision, or None.
        max_steps: Number of optimizer steps after which the job stops, or None.
        cluster: Whether the job runs on a cluster that is there already, not on a Ray of its own.
        plain: Name of the script, if it trains in processes of its own, with no Ray around them; else empty.
        kill: `{"rank": r, "step": n}` to kill that worker once before its step n + 1, or None.
    """

    trace: str
    storage: str
    pins: dict[str, Any]
    workers: int | None = None
    device: str | None = None
    precision: str | None = None
    max_steps: int | None = None
    cluster: bool = False
    plain: str = ""
    kill: dict[str, int] | None = None


settings = Settings(**json.loads(os.environ["RAYMIGRATE_RECORDER"]))

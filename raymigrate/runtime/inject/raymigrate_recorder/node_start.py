"""Lets `ray.init()` wait longer for its raylet than Ray's own 30 seconds, which are a constant.

Not a record: on a machine that does much else a raylet takes longer, and the arm would end with "The current node timed
out during startup" (ray/_private/node.py, `Node.__init__`, in Ray 2.4 to 2.60).
"""

from __future__ import annotations

import functools
import time
from types import ModuleType
from typing import Any

from raymigrate_recorder.importing import after

SECONDS = 180
PAUSE_SECONDS = 0.2


def install() -> None:
    """Sets the hook when Ray is imported."""
    after("ray._private.services")(_wait_longer)


def _wait_longer(module: ModuleType) -> None:
    """Lets `get_node`, which Ray asks until its 30 seconds are over, answer only when the node is there."""
    get_node = module.get_node

    @functools.wraps(get_node)
    def patient(*args: Any, **kwargs: Any) -> Any:
        end = time.monotonic() + SECONDS
        while True:
            try:
                return get_node(*args, **kwargs)
            except RuntimeError:  # the node is not known yet
                if time.monotonic() > end:
                    raise
            time.sleep(PAUSE_SECONDS)

    vars(module)["get_node"] = patient

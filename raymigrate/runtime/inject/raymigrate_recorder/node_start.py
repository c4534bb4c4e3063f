"""Lets `ray.init()` wait longer for its raylet than Ray's own 30 seconds, which are a constant.

Not a record: on a machine that does much else a raylet takes longer, and the arm would end with "The current node timed
out during startup" (ray/_private/node.py, `Node.__init__`, Ray 2.6 and 2.60).
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

from raymigrate_recorder.importing import after

SECONDS = 180
PAUSE_SECONDS = 0.2


def install() -> None:
    """Sets the hook when Ray is imported."""
    after("ray._private.services")(_wait_longer)


def _wait_longer(module: ModuleType) -> None:
    """Lets the function with which Ray waits for its node wait longer."""
    if hasattr(module, "get_node"):
        vars(module)["get_node"] = _patient(module.get_node)
    elif hasattr(module, "wait_for_node"):  # Ray 2.6
        vars(module)["wait_for_node"] = functools.partial(module.wait_for_node, timeout=SECONDS)


def _patient(get_node: Callable[..., Any]) -> Callable[..., Any]:
    """`get_node`, which Ray asks until its 30 seconds are over; answers only when the node is there."""

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

    return patient

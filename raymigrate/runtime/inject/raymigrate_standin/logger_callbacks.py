"""`WandbLoggerCallback` and similar callbacks, which `RunConfig(callbacks=)` took.

They told a service what was reported and had no part in training. Current Ray has them for Tune, but each needs its
service's library when it is made; this one needs nothing and tells nobody.
"""

from __future__ import annotations

from typing import Any

from ray.tune import Callback


class LoggerCallback(Callback):  # type: ignore[misc]
    """Logs nothing, whatever it is given."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

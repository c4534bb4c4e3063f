"""Put on PYTHONPATH by `raymigrate verify`: Python imports this file at the start of every process of an arm.

The driver, Ray's controllers and the workers so get the recorder (and arm B the stand-in for the old trainers) without
an edit to the script. Nothing heavy is imported here: hooks wait until the script itself imports what they hook.
"""

import gc
import os
import sys


def _chain() -> None:
    """Runs the sitecustomize that this file hides, if there is one (Debian's Python and some notebooks have one)."""
    import importlib.machinery
    import importlib.util

    here = os.path.dirname(os.path.abspath(__file__))
    others = [path for path in sys.path if os.path.abspath(path or ".") != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


_chain()
if os.environ.get("RAYMIGRATE_RECORDER"):
    # An arm has eight processes that do little but import torch and Ray, and collecting seldom saves a sixth of that.
    gc.set_threshold(100_000, 50, 100)

    from raymigrate_cluster import name_own_cluster
    from raymigrate_workers import fork_if_worker

    name_own_cluster()
    fork_if_worker()

    import raymigrate_recorder
    from raymigrate_recorder.importing import after

    if os.environ.get("RAYMIGRATE_STANDIN"):
        import raymigrate_standin

        raymigrate_standin.install(after)
    raymigrate_recorder.install()

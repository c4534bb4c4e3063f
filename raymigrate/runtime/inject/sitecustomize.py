"""Put on PYTHONPATH by `raymigrate verify`: Python imports this file at the start of every process of an arm.

The driver, Ray's controllers and the workers so get the recorder (and arm B the stand-in for the old trainers) without
an edit to the script. Nothing heavy is imported here: hooks wait until the script itself imports what they hook.
"""

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


def _own_cluster() -> None:
    """Lets a Ray worker find its own cluster.

    The state API, which Train V2's PlacementGroupCleaner asks, takes any cluster of the machine unless RAY_ADDRESS is
    set; with two clusters that ends the run (ray/_private/services.py, canonicalize_bootstrap_address).
    """
    try:
        with open("/proc/self/cmdline", "rb") as stream:
            arguments = stream.read().decode(errors="replace").split("\0")
    except OSError:  # not Linux: one cluster at a time
        return
    if any("default_worker.py" in argument for argument in arguments):
        for argument in arguments:
            if argument.startswith("--gcs-address="):
                os.environ["RAY_ADDRESS"] = argument.split("=", 1)[1]


_chain()
if os.environ.get("RAYMIGRATE_RECORDER"):
    import raymigrate_recorder
    from raymigrate_recorder.importing import after

    _own_cluster()
    if os.environ.get("RAYMIGRATE_STANDIN"):
        import raymigrate_standin

        raymigrate_standin.install(after)
    raymigrate_recorder.install()

"""Lets a Ray worker find its own cluster where a machine runs several."""

import os


def name_own_cluster() -> None:
    """Names the cluster of this worker in RAY_ADDRESS; does nothing in other processes.

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

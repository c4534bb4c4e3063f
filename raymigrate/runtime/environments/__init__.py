"""Isolated environments with old libraries, in which `raymigrate verify` runs its arms A and O.

    environment = find("2.6") or ensure("2.6", progress=print)
    subprocess.run([environment.python, "train.py"], env={**os.environ, **environment.variables}, check=True)

Each is a virtual environment in the user's cache, made with venv and pip from a lock file of this package, plus torch
in the version that is installed here, so that the kernels are the same in every arm.
"""

from raymigrate.runtime.environments.environment import Environment, EnvironmentFailure, cache_folder, find, remove
from raymigrate.runtime.environments.locks import names
from raymigrate.runtime.environments.making import ensure
from raymigrate.runtime.environments.requirements import named

__all__ = ["Environment", "EnvironmentFailure", "cache_folder", "ensure", "find", "named", "names", "remove"]

"""What parts of Ray ask of the libraries that they integrate, and how a script shows that it uses such a part.

Ray's metadata names none of these libraries, so pip installs any version beside Ray: then the import or the call fails.
"""

import re
from collections.abc import Iterable

from raymigrate.base.expressions import lazy_regex

# Read in Ray 2.60. ray.util.dask: util/dask/__init__.py ("Dask on Ray requires Dask version 2024.11.0 or later"); every
# distributed requires the dask of its own version. ray.train.xgboost: train/xgboost/config.py imports
# xgboost.collective, which the wheel of xgboost 1.6.2 lacks and that of 1.7.1 has; xgboost_trainer.py asks for 1.7.
# ray.tune.search.optuna: optuna_search.py ("requires the `optuna` version to be >= 3.0.0"). ray.util.spark:
# util/spark/cluster_init.py ("requires pyspark >= 3.3"). ray.data.from_daft: data/read_api.py (daft >= 0.7.0).
INTEGRATIONS = {
    "ray.util.dask": {"dask": "2024.11", "distributed": "2024.11"},
    "ray.train.xgboost": {"xgboost": "1.7"},
    "ray.tune.search.optuna": {"optuna": "3.0"},
    "ray.util.spark": {"pyspark": "3.3"},
    "ray.data.from_daft": {"daft": "0.7"},
}
LOWEST_OF_INTEGRATIONS = {name: version for libraries in INTEGRATIONS.values() for name, version in libraries.items()}
INTEGRATION_OF = {name: part for part, libraries in INTEGRATIONS.items() for name in libraries}
# Other ways to use a part than to name it: names that it gives, its former place, and what imports it within Ray.
_OTHER_WAYS = {
    "ray.util.dask": r"\b(?:ray_dask_get|enable_dask_on_ray)\b|\bray\.data\b[\s\S]*(?:\bfrom_dask|\.to_dask)\(",
    "ray.train.xgboost": r"\btrain\.xgboost\.",
    "ray.tune.search.optuna": r"\btune\.(?:search|suggest)\.optuna\b|\bcreate_searcher\(\s*[\"']optuna\b",
    "ray.util.spark": r"\bsetup_ray_cluster\b",
    "ray.data.from_daft": r"\bdata\.from_daft\(",
}


def _named(part: str) -> str:
    parent, _, last = part.rpartition(".")
    names = r"(?:\([^)]*?|[^\n\\#;(]*?)"  # those that are imported before it
    return rf"\b{re.escape(part)}\b|\bfrom\s+{re.escape(parent)}\s+import\b[ \t]*{names}\b{last}\b"


_SIGNS = {part: lazy_regex(f"{_named(part)}|{_OTHER_WAYS[part]}") for part in INTEGRATIONS}


def is_used(part: str, texts: Iterable[str]) -> bool:
    """Whether one of some scripts uses a part of Ray.

    Args:
        part: A name in `INTEGRATIONS`.
        texts: The scripts.
    """
    return any(_SIGNS[part].search(text) for text in texts)

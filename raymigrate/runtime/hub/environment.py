"""The environment variables that make a process use a hub."""

import os
from pathlib import Path

# Each library also has a variable of its own for its cache, which wins over HF_HOME.
# Sources: huggingface_hub/constants.py, datasets/config.py, evaluate/config.py, transformers/utils/hub.py.
CACHES = {
    "HF_HUB_CACHE": "hub",
    "HUGGINGFACE_HUB_CACHE": "hub",
    "TRANSFORMERS_CACHE": "hub",
    "PYTORCH_TRANSFORMERS_CACHE": "hub",
    "PYTORCH_PRETRAINED_BERT_CACHE": "hub",
    "HF_ASSETS_CACHE": "assets",
    "HUGGINGFACE_ASSETS_CACHE": "assets",
    "HF_XET_CACHE": "xet",
    "HF_DATASETS_CACHE": "datasets",
    "HF_EVALUATE_CACHE": "evaluate",
    "HF_METRICS_CACHE": "metrics",
    "HF_MODULES_CACHE": "modules",
}
OFFLINE_MODES = ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "HF_EVALUATE_OFFLINE", "TRANSFORMERS_OFFLINE")
LOOPBACK = "127.0.0.1"


def hub_environment(url: str, cache_directory: Path) -> dict[str, str]:
    """What to add to the environment of a process, so that it downloads from a hub.

    Variables of the present process that would lead elsewhere are overridden: other caches, offline modes, a proxy.

    Args:
        url: Where the hub answers, `HubServer.url`.
        cache_directory: Folder for what the libraries download. One for each hub, never the user's own: there the tiny
            `gpt2` would take the place of the real one.

    Returns:
        Variables by name, to be laid over `os.environ`.
    """
    environment = {
        "HF_ENDPOINT": url,
        "HF_HOME": str(cache_directory),
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_HUB_DISABLE_XET": "1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        "HF_DATASETS_DISABLE_PROGRESS_BARS": "1",
        "HF_UPDATE_DOWNLOAD_COUNTS": "0",  # datasets and evaluate tell Amazon S3 of every load, whatever the endpoint
        "TOKENIZERS_PARALLELISM": "false",
    }
    environment |= {name: str(cache_directory / part) for name, part in CACHES.items() if name in os.environ}
    environment |= {name: "0" for name in OFFLINE_MODES if name in os.environ}
    for name in ("NO_PROXY", "no_proxy"):  # which of the two is read differs between the libraries' HTTP clients
        hosts = [host for host in os.environ.get(name, "").split(",") if host]
        environment[name] = ",".join(dict.fromkeys([*hosts, LOOPBACK]))
    return environment

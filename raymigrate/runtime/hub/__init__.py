"""The offline hub: serves tiny models, tokenizers, datasets and metrics over the Hugging Face Hub's own protocol.

Scripts need no change and no pre-filled cache: `HF_ENDPOINT` points huggingface_hub, transformers, datasets and
evaluate at it. The assets are generated, deterministic and far too small to be useful for anything but running jobs.
"""

from raymigrate.runtime.hub.assets import AssetError, build_hub, cached_hub
from raymigrate.runtime.hub.server import HubServer, hub_environment

__all__ = ["AssetError", "HubServer", "build_hub", "cached_hub", "hub_environment"]

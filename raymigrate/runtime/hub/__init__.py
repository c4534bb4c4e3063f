"""The offline hub: serves tiny models, tokenizers, datasets and metrics over the Hugging Face Hub's own protocol.

Scripts need no change and no pre-filled cache: `HF_ENDPOINT` points huggingface_hub, transformers, datasets and
evaluate at it. The assets are generated, deterministic and far too small to be useful for anything but running jobs.

    with serve_hub() as hub:
        environment = {**os.environ, **hub_environment(hub.url, cache_directory)}
        subprocess.run([sys.executable, "train.py"], env=environment, check=True)
"""

from raymigrate.runtime.hub.assets import AssetError, build_hub, cached_hub, ensure_hub
from raymigrate.runtime.hub.environment import hub_environment
from raymigrate.runtime.hub.server import HubServer, serve_hub

__all__ = ["AssetError", "HubServer", "build_hub", "cached_hub", "ensure_hub", "hub_environment", "serve_hub"]

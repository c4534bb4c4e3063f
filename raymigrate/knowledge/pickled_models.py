"""Which models of transformers 5 can be pickled, and work in the process that unpickles them.

Hidden states and attentions are captured by hooks, which cannot be pickled (transformers 5.23
utils/output_capturing.py), and only where a model of the class was made in the process (modeling_utils.py:1287).
Run with transformers 5.23 and torch 2.13, a small random model of each kind:
docs/semantics/libraries.md#pickled-models.
"""

import re
from enum import Enum

from raymigrate.base.expressions import lazy_regex


class Pickling(Enum):
    """What becomes of a model that goes to another process."""

    REFUSED = "torch refuses to pickle it"
    NEEDS_STATES = "it captures its own hidden states at each call, and fails without them"
    CAPTURES = "it captures its own hidden states at each call"
    COLLECTS = "it collects hidden states itself, without hooks"
    USUAL = "it captures hidden states where it is asked for them"


# Their weights are parametrized (torch.nn.utils.parametrizations.weight_norm); mms holds Wav2Vec2 and Vits.
REFUSED = lazy_regex(
    r"wav2vec2(?!bert)|hubert|wavlm|unispeech|encodec|^sew|^vits|^mms|^musicgen|^bark(?!semantic|coarse|fine)"
    r"|^speecht5forspeech|^speecht5asr|^speecht5vc"
)
NEEDS_STATES = lazy_regex(
    r"^(?:beit|segformer)forsemantic|^clipsegforimage|^dptfor|^zoedepth|^depthanything|^(?:vip|video)?llava|^chmv2"
)
CAPTURES = lazy_regex(r"^(?:mask2former|oneformer|upernet|groundingdino)")
# Those of the classes of transformers 4.33 whose modeling file has no `capture_outputs`.
COLLECTS = lazy_regex(
    r"^(?:bloom|canine|codegen|cvt|data2vecvision|deberta|deeplab|donut|falcon|flaubert|fnet|focalnet|funnel|glpn|gptj"
    r"|gptneo(?!x)|ibert|imagegpt|led|levit|longformer|longt5|luke|lxmert|megatronbert|mobile(?:net|vit)|mpnet|mpt|mra|mvp|nystromformer|openaigpt"
    r"|perceiver|poolformer|prophetnet|pvt|reformer|regnet|rembert|resnet|roformer|rwkv|squeezebert|swiftformer|swin2sr"
    r"|swinv2|tapas|timesformer|vilt|visualbert|xlm(?!roberta)|xlnet|yoso)"
)
# What an Auto class makes depends on the checkpoint; of these tasks most models need their states.
NEED_STATES = lazy_regex(r"^auto\w*for(?:semanticsegmentation|depthestimation)$")
SEGMENTS = lazy_regex(r"^auto\w*for(?:image|universal)segmentation$")
WITHOUT_STATES = lazy_regex(r"mobile(?:net|vit)|deeplab|data2vec|glpn|^maskformer")
SEGMENTERS = lazy_regex(r"^(?:segformer|mitb|beit|clipseg|dpt)")


def pickling(name: str, checkpoint: str = "") -> Pickling:
    """What becomes of a model in another process.

    Args:
        name: Its class, perhaps an Auto class.
        checkpoint: The name of its checkpoint; empty if unknown.
    """
    made_by, loaded = _plain(name), _plain(checkpoint.rpartition("/")[2])
    kind = loaded if made_by.startswith("auto") else made_by
    if REFUSED.search(kind):
        return Pickling.REFUSED
    if CAPTURES.match(kind):
        return Pickling.CAPTURES
    needed = NEED_STATES.match(made_by) or (SEGMENTS.match(made_by) and SEGMENTERS.match(loaded))
    if NEEDS_STATES.match(kind) or (needed and not WITHOUT_STATES.search(loaded)):
        return Pickling.NEEDS_STATES
    return Pickling.COLLECTS if COLLECTS.match(kind) else Pickling.USUAL


def _plain(name: str) -> str:
    return re.sub(r"[-_.]", "", name).lower()

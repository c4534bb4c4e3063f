"""Whether a model, and what prepares its inputs, is for images or for sounds, as far as a file shows it."""

import ast
import re
from collections.abc import Iterator
from enum import Enum

from raymigrate.base.expressions import lazy_regex
from raymigrate.facts.syntax.module import Module


class Modality(Enum):
    """What a model reads."""

    IMAGE = "image"
    AUDIO = "audio"


# Words in the names of models on the Hub: google/vit-base-patch16-224, facebook/wav2vec2-base.
WORDS = {
    Modality.IMAGE: frozenset(
        [
            *("beit", "bit", "clip", "convnext", "convnextv2", "cvt", "deit", "detr", "dino", "dinov2", "dit", "donut"),
            *(
                "dpt",
                "efficientnet",
                "focalnet",
                "glpn",
                "levit",
                "maskformer",
                "mask2former",
                "mobilenet",
                "mobilevit",
            ),
            *("oneformer", "poolformer", "regnet", "resnet", "segformer", "swin", "swinv2", "trocr", "upernet", "vit"),
            *("videomae", "yolos", "image", "vision"),
        ]
    ),
    Modality.AUDIO: frozenset(
        [
            *("ast", "audio", "clap", "encodec", "hubert", "mms", "musicgen", "s2t", "speech", "speecht5", "unispeech"),
            *("wav2vec2", "wavlm", "whisper", "voice"),
        ]
    ),
}
# What only classes of models for one of them are called.
MODELS = {
    Modality.IMAGE: lazy_regex(
        r"\w+For(?:DepthEstimation|Image\w+|InstanceSegmentation|MaskedImageModeling|ObjectDetection"
        r"|SemanticSegmentation|UniversalSegmentation|VideoClassification|ZeroShotImage\w+|ZeroShotObject\w+)"
    ),
    Modality.AUDIO: lazy_regex(r"\w+For(?:Audio\w+|CTC|SpeechSeq2Seq|TextToSpectrogram|TextToWaveform|XVector)"),
}
# Attributes, and arguments of the call, of what prepares the inputs.
ATTRIBUTES = {
    Modality.IMAGE: ("image_mean", "image_std", "size", "crop_size", "resample", "do_resize", "do_center_crop"),
    Modality.AUDIO: ("sampling_rate", "feature_size", "nb_max_frames"),
}
ARGUMENTS = {Modality.IMAGE: {"images", "segmentation_maps"}, Modality.AUDIO: {"raw_speech", "audio", "sampling_rate"}}
LIBRARIES = {
    Modality.IMAGE: {"PIL", "torchvision", "cv2", "albumentations", "skimage", "timm"},
    Modality.AUDIO: {"librosa", "torchaudio", "soundfile"},
}


def modality_of(module: Module, call: ast.Call) -> Modality | None:
    """What a call of `from_pretrained` loads something for.

    Args:
        module: The module.
        call: The call.

    Returns:
        The modality that all signs agree on, those of the object and of its name before those of the rest of the file;
        None where they do not agree, or there are none.
    """
    signs = {*_of_name(module, call), *_of_uses(module, call)} or {*_of_models(module), *_of_imports(module)}
    return signs.pop() if len(signs) == 1 else None


def _of_name(module: Module, call: ast.Call) -> Iterator[Modality]:
    name = module.constant(call.args[0]) if call.args else ...
    words = set(re.split(r"[-_/.]", name.lower())) if isinstance(name, str) else set()
    yield from (modality for modality, known in WORDS.items() if words & known)


def _of_uses(module: Module, call: ast.Call) -> Iterator[Modality]:
    """What is read of the object that a call gives, and what it is called with."""
    for modality, names in ATTRIBUTES.items():
        owners = (node.value for node in module.attributes(*names))
        if any(_may_come_from(module, owner, call) for owner in owners):
            yield modality
    for modality, arguments in ARGUMENTS.items():
        callers = (use.func for use, _ in module.keywords(*arguments))
        if any(_may_come_from(module, caller, call) for caller in callers):
            yield modality


def _may_come_from(module: Module, node: ast.expr, call: ast.Call) -> bool:
    return any(source.node is call for source in module.origins(node))


def _of_models(module: Module) -> Iterator[Modality]:
    """What the models of the file are for."""
    for reference in module.references_within("transformers"):
        parts = reference.qualified.split(".")
        yield from (modality for modality, known in MODELS.items() if any(map(known.fullmatch, parts)))


def _of_imports(module: Module) -> Iterator[Modality]:
    for statement in module.imports:
        named = [alias.name for alias in statement.names] if isinstance(statement, ast.Import) else [statement.module]
        roots = {(name or "").partition(".")[0] for name in named}
        yield from (modality for modality, known in LIBRARIES.items() if roots & known)

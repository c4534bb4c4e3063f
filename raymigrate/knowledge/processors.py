"""Processors of transformers: by the name of the class, which part of them prepares what is not text."""

# Classes with a `feature_extractor` or `current_processor` in transformers 4.30.2, and only an image_processor
# in 5.23 (the parameters of their constructors in models/*/processing_*.py).
OF_IMAGES = frozenset(
    f"{model}Processor"
    for model in (
        *("AltCLIP", "Blip", "Blip2", "CLIP", "CLIPSeg", "ChineseCLIP", "Donut", "Flava", "Git", "LayoutLMv2"),
        *("LayoutLMv3", "LayoutXLM", "Mgpstr", "OwlViT", "Pix2Struct", "Sam", "TrOCR", "Vilt"),
        *("VisionTextDualEncoder", "XCLIP"),
    )
)
# Those that still have a feature_extractor, and lost `current_processor` only.
OF_SOUNDS = frozenset(
    f"{model}Processor"
    for model in (
        *("Clap", "MCTCT", "Musicgen", "Pop2Piano", "SeamlessM4T", "Speech2Text", "Speech2Text2", "SpeechT5"),
        *("Wav2Vec2", "Wav2Vec2Bert", "Whisper"),
    )
)
AUTO = "AutoProcessor"
IMAGES, SOUNDS = "image_processor", "feature_extractor"


def part_of(processor: str) -> str:
    """The attribute in which a class of processors keeps what prepares images or sounds; empty if it is not known."""
    if processor in OF_IMAGES:
        return IMAGES
    return SOUNDS if processor in OF_SOUNDS else ""

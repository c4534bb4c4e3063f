"""RM702, for `image_processor.pad(images, return_tensors="pt")`.

Measured on transformers 5.23: pad() of an image processor gives a list and no mask, whatever return_tensors= says, or
has no such argument, as that of DETR. Up to 4.57 it gave pixel_values and pixel_mask. That of OneFormer still does.
"""

import ast

from raymigrate.base.expressions import lazy_regex
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.argument_rules import RM702
from raymigrate.codemods.phases import Phase
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import called_name, keyword_named
from raymigrate.knowledge.processors import IMAGES, OF_IMAGES, SOUNDS

METHOD, ARGUMENT = "pad", "return_tensors"
IMAGE_PROCESSOR = lazy_regex(r"\w+ImageProcessor(?:Fast|Pil)?")
OF_FORMER_NAME = lazy_regex(
    r"(?:BridgeTower|ConditionalDetr|DeformableDetr|Detr|Donut|MaskFormer|Swin2SR|Vilt|Yolos)FeatureExtractor"
)
KEEPS = "OneFormer"
ADVICE = (
    "Pad and stack the images in the script: torch.nn.functional.pad to the largest height and width, and a mask that"
    " is 1 where an image is and 0 where it is padded."
)


@codemod(METHOD, phase=Phase.LIBRARIES)
def padded_images(context: Context) -> None:
    """Tells of batches of images that are padded by an image processor."""
    module = context.module
    for call, method in module.method_calls(METHOD):
        keyword = keyword_named(call, ARGUMENT)
        if keyword is not None and _is_of_images(module, method.value):
            message = f"pad() of an image processor gives a list without a mask today, or refuses {ARGUMENT}="
            context.manual(RM702, keyword, f"{message}.", ADVICE)


def _is_of_images(module: Module, node: ast.expr) -> bool:
    """Whether a value is an image processor, or that of a processor."""
    if isinstance(node, ast.Attribute) and node.attr in (IMAGES, SOUNDS):
        if any(_class(source.module, source.node) in OF_IMAGES for source in module.origins(node.value)):
            return True
    return any(_pads_images(_class(source.module, source.node)) for source in module.origins(node))


def _class(module: Module, node: ast.AST) -> str:
    """The class of transformers of which a call makes or loads an object; empty if there is none."""
    name = called_name(module, node)
    is_one = name.startswith("transformers.")
    return name.removesuffix(".from_pretrained").rpartition(".")[2] if is_one else ""


def _pads_images(name: str) -> bool:
    """Whether a class is one of image processors whose pad() gives a list; once they were called feature extractors."""
    if IMAGE_PROCESSOR.fullmatch(name):
        return not name.startswith(KEEPS)
    return OF_FORMER_NAME.fullmatch(name) is not None

"""RM751 for image processors: where torchvision is installed, they resize images with it.

transformers 4.30 resized with PIL. ViTImageProcessor and similar classes of 5.23 use torchvision, and fall back to PIL
where that is missing; those that resize as before are named ViTImageProcessorPil, and `backend="pil"` lets
AutoImageProcessor find them (image_processing_auto.py, `_resolve_backend`). Measured with torchvision 0.28, noise of
500 x 600 resized to 224 x 224: 0.17 % of the values differ, by 1 of 255.
"""

import ast
from collections.abc import Iterator

from raymigrate.base.expressions import lazy_regex
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.auto_feature_extractors import LOADS, auto_feature_extractors
from raymigrate.codemods.libraries.freeze_numerics import RM751
from raymigrate.codemods.libraries.old_transformers import is_for_old_transformers
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.shared.moves import name_other
from raymigrate.facts.values import called_name
from raymigrate.knowledge.libraries import look_up

AUTO = "transformers.AutoImageProcessor.from_pretrained"
# A class of images, under its name of today or that of before; a name in "Fast" or "Pil" says what it resizes with.
CLASS = lazy_regex(
    r"(?P<name>transformers(?:\.\w+)*\.(?P<model>[A-Z]\w*)(?:ImageProcessor|FeatureExtractor))(?:\.from_pretrained)?"
)
CHOICE = ("backend", "use_fast")  # arguments with which a script says what AutoImageProcessor gives
WITH_TORCHVISION = (
    "Where torchvision is installed, it resizes images since transformers 5, before PIL: other last digits"
)


@codemod("ray", phase=Phase.LIBRARIES, after=[auto_feature_extractors])
def image_backends(context: Context) -> None:
    """Notes where images are resized otherwise; with --freeze-numerics they are resized as before."""
    freezes = context.options.freeze_numerics
    if not freezes and not is_for_old_transformers(context):
        return
    for call in _automatic(context):
        if not freezes:
            context.note(RM751, call, f'{WITH_TORCHVISION}. backend="pil" here resizes as before.')
        elif context.converts(RM751, call, f'{WITH_TORCHVISION}; now backend="pil".'):
            context.plan.call(call).set("backend", '"pil"')
    for call, old, new in _by_class(context):
        name = new.rpartition(".")[2]
        if not freezes:
            context.note(RM751, call, f"{WITH_TORCHVISION}. {name} resizes as before.")
        elif context.converts(RM751, call, f"{WITH_TORCHVISION}; now {name}."):
            name_other(context, context.module.reference_at[call.func], old, new)


def _automatic(context: Context) -> Iterator[ast.Call]:
    """Calls of AutoImageProcessor, and those of AutoFeatureExtractor that become some, which leave the choice to it."""
    for call in context.module.calls(AUTO, LOADS):
        reference = context.module.reference_at[call.func]
        is_one = reference.is_within(AUTO) or reference.root in context.rewritten
        if is_one and {keyword.arg for keyword in call.keywords}.isdisjoint(CHOICE):
            yield call


def _by_class(context: Context) -> Iterator[tuple[ast.Call, str, str]]:
    """Calls that make an image processor of some class: each with the class, and the one of PIL."""
    for call in context.module.calls_if(CLASS.fullmatch):
        found = CLASS.fullmatch(called_name(context.module, call))
        pil = f"transformers.{found['model']}ImageProcessorPil" if found is not None else ""
        if found is not None and look_up(pil).gone is None:
            yield call, found["name"], pil

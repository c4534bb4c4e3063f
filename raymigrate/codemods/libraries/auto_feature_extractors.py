"""RM727: AutoFeatureExtractor for models of images.

transformers 4 found image processors with it too. 5.23 looks among feature extractors of sounds only, in
feature_extraction_auto.py, and raises a ValueError for a model of images, whichever of the old keys its
preprocessor_config.json has (measured: image_processor_type, feature_extractor_type, neither).
"""

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.argument_rules import GUIDE
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.shared.moves import name_other
from raymigrate.facts.hugging_face.modalities import Modality, modality_of

RM727 = Rule(
    "RM727",
    "AutoFeatureExtractor for a model of images",
    "transformers >= 5 finds only feature extractors for audio with it, and no image processors: ValueError:"
    " Unrecognized feature extractor.",
    "AutoImageProcessor takes its place where the file shows that the model is one of images: by its name, by what is"
    " read of the feature extractor, or by the models that the file loads.",
    GUIDE,
    errors=("Unrecognized feature extractor in",),
)
OLD, NEW = "transformers.AutoFeatureExtractor", "transformers.AutoImageProcessor"
LOADS = f"{OLD}.from_pretrained"


@codemod("AutoFeatureExtractor", phase=Phase.LIBRARIES)
def auto_feature_extractors(context: Context) -> None:
    """Loads what prepares images with AutoImageProcessor."""
    for reference in context.references(LOADS):
        call = context.module.calling(reference.node)
        if call is None:
            continue
        modality = modality_of(context.module, call)
        if modality is Modality.AUDIO:
            continue
        message = "AutoFeatureExtractor raises a ValueError for a model of images today"
        if modality is None:
            advice = "If this is one, use AutoImageProcessor; for sounds it is right as it is."
            context.manual(RM727, reference.node, f"{message}.", advice)
        elif context.converts(RM727, reference.node, f"{message}; now AutoImageProcessor."):
            name_other(context, reference, OLD, NEW)

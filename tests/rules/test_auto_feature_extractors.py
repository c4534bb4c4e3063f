"""RM727: AutoFeatureExtractor finds nothing for images today."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
import ray
import transformers
from transformers import AutoFeatureExtractor
{imports}

class Batches:
    def __init__(self, config):
        self.extractor = {call}
        self.model = {model}.from_pretrained(config["model"])

    def __call__(self, batch):
        return {use}
"""
TEXT = "transformers.AutoModel"
UNSEEN = 'AutoFeatureExtractor.from_pretrained(config["model"])'


def script(call: str = UNSEEN, model: str = TEXT, use: str = "self.extractor(batch)", imports: str = "") -> str:
    return SCRIPT.format(call=call, model=model, use=use, imports=imports)


@pytest.mark.parametrize(
    ("given", "now"),
    [
        (
            {"call": 'AutoFeatureExtractor.from_pretrained("google/vit-base-patch16-224-in21k")'},
            "= AutoImageProcessor.",
        ),
        (
            {"call": 'transformers.AutoFeatureExtractor.from_pretrained("x/detr-r50")'},
            "= transformers.AutoImageProcessor.",
        ),
        (
            {
                "call": 'Auto.from_pretrained("a/beit")',
                "imports": "from transformers import AutoFeatureExtractor as Auto",
            },
            "= AutoImageProcessor.",
        ),
        ({"model": "transformers.AutoModelForImageClassification"}, "= AutoImageProcessor."),
        ({"model": "transformers.SegformerForSemanticSegmentation"}, "= AutoImageProcessor."),
        ({"use": "batch - self.extractor.image_mean"}, "= AutoImageProcessor."),
        ({"use": 'self.extractor(images=batch["image"])'}, "= AutoImageProcessor."),
        ({"imports": "from PIL import Image"}, "= AutoImageProcessor."),
        ({"imports": "import torchvision.transforms as T"}, "= AutoImageProcessor."),
    ],
)
def test_what_prepares_images_is_loaded_as_it_is_today(given: dict[str, str], now: str) -> None:
    outcome = converted(script(**given))
    assert now in outcome.text
    assert len(outcome.lines("RM727", Kind.CONVERTED)) == 1


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"model": "transformers.AutoModelForAudioClassification", "imports": "import torchvision"},
        {"call": 'AutoFeatureExtractor.from_pretrained("audio-and-vision")'},
    ],
)
def test_a_model_of_which_nothing_is_known_is_told(given: dict[str, str]) -> None:
    assert len(converted(script(**given)).lines("RM727", Kind.MANUAL)) == 1


@pytest.mark.parametrize(
    "given",
    [
        {"call": 'AutoFeatureExtractor.from_pretrained("facebook/wav2vec2-base")', "imports": "import PIL"},
        {"model": "transformers.AutoModelForCTC"},
        {"use": "self.extractor(batch, sampling_rate=16000)", "imports": "import torchvision"},
        {"imports": "import librosa"},
    ],
)
def test_sounds_are_no_news(given: dict[str, str]) -> None:
    outcome = converted(script(**given))
    assert "RM727" not in [code for code, _, _ in outcome.findings]

"""RM702: image processors that pad a batch."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

HEAD = """
import transformers
from ray.air import session
from transformers import AutoImageProcessor, AutoTokenizer, DetrImageProcessor, ViltProcessor

"""


@pytest.mark.parametrize(
    "use",
    [
        'DetrImageProcessor().pad(rows, return_tensors="pt")',
        'p = AutoImageProcessor.from_pretrained("facebook/detr-resnet-50")\np.pad(rows, return_tensors="pt")',
        'p = ViltProcessor.from_pretrained("v")\np.image_processor.pad(rows, return_tensors="pt")',
        'p = ViltProcessor.from_pretrained("v")\np.feature_extractor.pad(rows, return_tensors="pt")',
        'p = transformers.YolosFeatureExtractor.from_pretrained("v")\np.pad(rows, return_tensors="pt")',
        'def f(p):\n    return p.pad(rows, return_tensors="pt")\n\n\nf(DetrImageProcessor())',
    ],
)
def test_a_batch_without_tensors_is_told(use: str) -> None:
    outcome = converted(HEAD + use)
    assert [kind for code, kind, _ in outcome.findings if code == "RM702"] == [Kind.MANUAL]


@pytest.mark.parametrize(
    "use",
    [
        'AutoTokenizer.from_pretrained("a").pad(rows, return_tensors="pt")',
        'transformers.Wav2Vec2FeatureExtractor().pad(rows, return_tensors="pt")',
        'transformers.AutoFeatureExtractor.from_pretrained("openai/whisper-small").pad(rows, return_tensors="pt")',
        'transformers.OneFormerImageProcessor.from_pretrained("o").pad(rows, return_tensors="pt")',
        "DetrImageProcessor().pad(rows, padded_size=(9, 9))",
        'def f(p):\n    return p.pad(rows, return_tensors="pt")',
    ],
)
def test_others_are_left_alone(use: str) -> None:
    assert not {code for code, _, _ in converted(HEAD + use).findings} & {"RM702"}

"""RM721, for models: methods that transformers 5 removed."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
import ray
from elsewhere import anything, load
from transformers import AutoModel, AutoModelForCTC, GPT2LMHeadModel, Wav2Vec2ForCTC, pipeline

{use}
"""


@pytest.mark.parametrize(
    "use",
    [
        "AutoModelForCTC.from_pretrained('a').{method}()",
        "model = Wav2Vec2ForCTC.from_pretrained('a').to('cuda')\nmodel.{method}()",
        "model = Wav2Vec2ForCTC.from_pretrained('a')\nmodel = model.half()\nmodel.{method}()",
        "def make():\n    return AutoModelForCTC.from_pretrained('a')\n\nmake().{method}()",
        "model = AutoModel.from_pretrained('a') if ray else Wav2Vec2ForCTC(None)\nmodel.{method}()",
    ],
)
def test_what_freezes_the_features_of_a_speech_model_is_renamed(use: str) -> None:
    outcome = converted(SCRIPT.format(use=use.replace("{method}", "freeze_feature_extractor")))
    assert outcome.text.count("freeze_feature_encoder()") == 1
    assert "freeze_feature_extractor" not in outcome.text
    assert len(outcome.lines("RM721", Kind.CONVERTED)) == 1


@pytest.mark.parametrize(
    "method", ["parallelize", "prune_heads", "to_bettertransformer", "greedy_search", "get_head_mask"]
)
def test_a_method_of_a_model_that_nothing_replaces_is_told(method: str) -> None:
    use = f"model = GPT2LMHeadModel.from_pretrained('gpt2')\nmodel.{method}()"
    assert converted(SCRIPT.format(use=use)).lines("RM721", Kind.MANUAL) == [6]


def test_a_method_that_only_models_had_is_told_where_the_object_is_unknown() -> None:
    use = "def run(model):\n    model.prune_heads({1: [2]})\n    model.beam_search()\n\nrun(AutoModel)"
    outcome = converted(SCRIPT.format(use=use))
    assert outcome.lines("RM721", Kind.MANUAL) == [6], "and nothing of beam_search(), which others have too"


@pytest.mark.parametrize(
    "use",
    [
        "anything.prune_heads()",
        "load('spark').parallelize([1])",
        "beams = load('searcher')\nbeams.beam_search(3)",
        "pipe = pipeline('ner')\npipe.greedy_search()",
        "class Model:\n    def prune_heads(self):\n        return 1\n\nModel().prune_heads()",
        "model = GPT2LMHeadModel.from_pretrained('gpt2')\nmodel.freeze_feature_encoder()\nmodel.generate()",
    ],
)
def test_methods_of_other_objects_are_left_alone(use: str) -> None:
    assert not [code for code, _, _ in converted(SCRIPT.format(use=use)).findings if code == "RM721"]


def test_a_class_of_the_file_with_a_method_of_that_name_hides_no_model() -> None:
    script = """
    import ray
    from torch import nn
    from transformers import Wav2Vec2ForCTC

    class Own(nn.Module):
        def freeze_feature_extractor(self):
            encoder = Wav2Vec2ForCTC.from_pretrained("a")
            encoder.freeze_feature_extractor()

    own = Own()
    own.freeze_feature_extractor()
    """
    outcome = converted(script)
    assert "encoder.freeze_feature_encoder()" in outcome.text
    assert "own.freeze_feature_extractor()" in outcome.text

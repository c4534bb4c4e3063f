"""RM723 and RM701: the parts of processors."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

HEAD = """
import transformers
from ray.air import session
from transformers import AutoProcessor, CLIPProcessor, DonutProcessor, TrOCRProcessor, WhisperProcessor

"""
WHISPER = 'w = WhisperProcessor.from_pretrained("w")\n'
CLIP = 'p = CLIPProcessor.from_pretrained("x")\n'


@pytest.mark.parametrize(
    "script",
    [
        CLIP + "p.feature_extractor(images=1)",
        CLIP + "p.feature_extractor.size = 3",
        CLIP + "p.current_processor",
        "p = transformers.DonutProcessor(1, 2)\nprint(p.feature_extractor)",
        "def f(p: TrOCRProcessor):\n    return p.feature_extractor",
        'class A:\n    def __init__(self):\n        self.p = TrOCRProcessor.from_pretrained("x")\n\n'
        "    def f(self):\n        return self.p.feature_extractor",
        CLIP + "def f(p):\n    return p.feature_extractor\nf(p)",
        'p = AutoProcessor.from_pretrained("microsoft/trocr-base-handwritten")\np.feature_extractor',
        'p = TrOCRProcessor.from_pretrained("x") if HEAD else DonutProcessor.from_pretrained("y")\np.feature_extractor',
    ],
)
def test_a_processor_of_images_has_an_image_processor(script: str) -> None:
    outcome = converted(HEAD + script)
    assert len(outcome.lines("RM723", Kind.CONVERTED)) == 1
    assert "p.image_processor" in outcome.text and "p.feature_extractor" not in outcome.text
    assert not outcome.lines("RM723", Kind.MANUAL)


def test_the_current_processor_of_sounds_is_its_feature_extractor() -> None:
    outcome = converted(HEAD + 'w = WhisperProcessor.from_pretrained("w")\nw.current_processor.pad(1)')
    assert "w.feature_extractor.pad(1)" in outcome.text


@pytest.mark.parametrize(
    ("block", "after"),
    [
        ("with w.as_target_processor():\n    x = w('a').input_ids\n", "x = w.tokenizer('a').input_ids\n"),
        ("with w.as_target_processor(): x = w('a')\n", "x = w.tokenizer('a')\n"),
        ("with w.as_target_processor(): x = w('a')  # ids\n", "x = w.tokenizer('a')  # ids\n"),
        (
            "with w.as_target_processor():  # ids\n    # of all\n    x = w(['a'], padding=True)  # padded\n",
            "# ids\n# of all\nx = w.tokenizer(['a'], padding=True)  # padded\n",
        ),
        (
            "with w.as_target_processor():\n    x = w.pad(1, padding=True)\n    print(w.batch_decode(x))\n",
            "x = w.tokenizer.pad(1, padding=True)\nprint(w.batch_decode(x))\n",
        ),
        (
            "with w.as_target_processor():\n    x = w('a')\n    # the last one\ny = x\n",
            "x = w.tokenizer('a')\n# the last one\ny = x\n",
        ),
    ],
)
def test_labels_are_made_by_the_tokenizer(block: str, after: str) -> None:
    outcome = converted(HEAD + WHISPER + block)
    assert outcome.text.endswith(WHISPER + after)
    assert len(outcome.lines("RM723", Kind.CONVERTED)) == 1 and not outcome.lines("RM723", Kind.MANUAL)


def test_the_current_processor_of_the_block_is_the_tokenizer() -> None:
    outcome = converted(HEAD + WHISPER + "with w.as_target_processor():\n    x = w.current_processor('a')\n")
    assert outcome.text.endswith(WHISPER + "x = w.tokenizer('a')\n")


@pytest.mark.parametrize(
    "collator",
    [
        "@dataclass\nclass Collator:\n    processor: WhisperProcessor\n\n    def __call__(self, rows):\n",
        "class Collator:\n    def __init__(self, processor: WhisperProcessor):\n        self.processor = processor\n\n"
        "    def __call__(self, rows):\n",
    ],
)
def test_a_collator_pads_labels_with_the_tokenizer(collator: str) -> None:
    block = "        with self.processor.as_target_processor():\n            return self.processor.pad(rows)\n"
    outcome = converted(f"from dataclasses import dataclass\n{HEAD}{collator}{block}")
    assert "        return self.processor.tokenizer.pad(rows)\n" in outcome.text


def test_a_method_of_a_class_of_the_file_is_its_own() -> None:
    own = "class P:\n    def as_target_processor(self):\n        return open('a')\n\n\n"
    outcome = converted(HEAD + own + "def f(p: P):\n    with p.as_target_processor():\n        p('a')\n")
    assert not outcome.lines("RM723", Kind.MANUAL)


@pytest.mark.parametrize(
    "script",
    [
        "def f(name):\n    p = AutoProcessor.from_pretrained(name)\n    return p.feature_extractor",
        "def f(name):\n    p = AutoProcessor.from_pretrained(name)\n    return p.current_processor",
        CLIP + 'w = WhisperProcessor.from_pretrained("w")\nq = p if session else w\nq.feature_extractor',
        WHISPER + "with w.as_target_processor():\n    x = print(w)",
        WHISPER + "with w.as_target_processor(), open('a'):\n    x = w('a')",
        WHISPER + "with w.as_target_processor() as same:\n    x = w('a')",
        WHISPER + "with w.as_target_processor():\n    x = w.save_pretrained('a')",
        WHISPER + "def e(t):\n    return w(t)\nwith w.as_target_processor():\n    w.pad(e('a'))",
        WHISPER + "from own import e\nwith w.as_target_processor():\n    e('a')",
        WHISPER + "v = w\nwith v.as_target_processor():\n    x = w(v('a'))",
        WHISPER + "with w.as_target_processor():\n    x = lambda a: w(a)",
        WHISPER + "with w.as_target_processor():\n    def e(w):\n        return w('a')",
        "def f(p):\n    with p.as_target_processor():\n        return p('a')",
        WHISPER + "with w.as_target_processor():\n    x = w",
        WHISPER + "with open('a'):\n    w.as_target_processor()",
    ],
)
def test_what_is_not_seen_is_told(script: str) -> None:
    assert len(converted(HEAD + script).lines("RM723", Kind.MANUAL)) == 1


def test_the_current_processor_of_a_block_of_what_is_not_seen_stays() -> None:
    use = "def f(p):\n    with p.as_target_processor():\n        return p.current_processor('a')"
    assert use in converted(HEAD + use).text


def test_what_may_be_a_processor_of_images_is_named() -> None:
    outcome = converted(HEAD + "def f(name):\n    p = AutoProcessor.from_pretrained(name)\n    p.feature_extractor")
    assert any(message.startswith("If p is a processor of images") for message in outcome.messages)


def test_an_argument_has_its_new_name() -> None:
    outcome = converted(HEAD + "p = TrOCRProcessor(feature_extractor=1, tokenizer=2)")
    assert "TrOCRProcessor(image_processor=1, tokenizer=2)" in outcome.text


@pytest.mark.parametrize(
    "script",
    [
        'w = WhisperProcessor.from_pretrained("w")\nw.feature_extractor',
        'w = AutoProcessor.from_pretrained("openai/whisper-small")\nw.feature_extractor',
        "class M:\n    feature_extractor = None\n\n\nM().feature_extractor",
        "def f(model):\n    return model.feature_extractor, model.current_processor",
        'm = transformers.Wav2Vec2Model.from_pretrained("w")\nm.feature_extractor',
        CLIP + 'if hasattr(p, "feature_extractor"):\n    p.feature_extractor',
        CLIP + "p.image_processor",
        "w = WhisperProcessor(feature_extractor=1, tokenizer=2)",
        'p = transformers.pipeline("image-classification", feature_extractor=1)\np.feature_extractor',
    ],
)
def test_others_have_a_feature_extractor(script: str) -> None:
    outcome = converted(HEAD + script)
    assert not {"RM723", "RM701"} & {code for code, _, _ in outcome.findings}

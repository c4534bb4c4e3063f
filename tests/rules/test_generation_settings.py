"""RM755: generation parameters in the config of a model."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

LEGACY = "import transformers\nfrom ray.air import session\nfrom transformers import *\n".replace("*", "T5Config")
T5 = 'model = transformers.AutoModelForSeq2SeqLM.from_pretrained("t5")\n'
BERT = 'model = transformers.AutoModelForSequenceClassification.from_pretrained("b")\n'


@pytest.mark.parametrize(
    "use", ["model.config.num_beams = 4", "model.config.temperature = 2", "print(model.config.max_length)"]
)
def test_a_model_that_generates_has_them_in_its_generation_config(use: str) -> None:
    outcome = converted(LEGACY + T5 + use)
    assert use.replace("config", "generation_config") in outcome.text
    assert outcome.lines("RM755", Kind.CONVERTED) == [5]


@pytest.mark.parametrize(
    "use",
    [
        BERT + "model.config.max_length = 128",
        T5 + 'setattr(model.config, "num_beams", 4)',
        T5 + 'model.config.update({"num_beams": 4, "max_length": 9})',
        'c = transformers.AutoConfig.from_pretrained("t5")\nc.num_beams = 4',
        T5 + "k = model.config\nk.num_beams = 4",
        BERT + "k = model.config\nprint(k.vocab_size, k.max_length)",
        "def f(model):\n    c = model.config\n    c.num_beams = 4",
        "c = T5Config(max_length=64)",
        T5 + 'print(f"{model.config.num_beams}")',
        T5.replace('"t5")', '"t5", num_beams=4, max_length=9)'),
        "def f(model):\n    model.config.max_length = 128",
        "class A:\n    def f(self):\n        self.model.config.max_length = 128",
        'm = transformers.T5ForConditionalGeneration.from_pretrained("t5", num_beams=4)',
        'c = transformers.AutoConfig.from_pretrained("t5", num_beams=4)',
        'c = T5Config.from_pretrained("t5", max_length=64)',
    ],
)
def test_what_is_not_seen_to_generate_is_told(use: str) -> None:
    outcome = converted(LEGACY + use)
    assert len(outcome.lines("RM755", Kind.MANUAL)) == 1


@pytest.mark.parametrize(
    "use",
    [
        "class A:\n    def f(self):\n        self.config.max_length = 128",
        "def f(args):\n    args.config.max_length = 128",
        "def f(c):\n    c.num_beams = 4",
        T5 + "k = model.generation_config\nk.num_beams = 4",
        "def f(trainer):\n    c = trainer.config\n    c.num_beams = 4",
        "q = transformers.GenerationConfig(max_length=4)\nq.num_beams = 4",
        "class M:\n    config = None\n\n\nmodel = M()\nmodel.config.temperature = 2",
        T5 + "model.config.pad_token_id = 0\nmodel.generation_config.max_length = 9",
        'm = transformers.ASTForAudioClassification.from_pretrained("a", max_length=9)',
        'g = transformers.GenerationConfig.from_pretrained("t5", max_length=9)',
        't = transformers.AutoTokenizer.from_pretrained("t5", max_length=9)',
    ],
)
def test_what_is_no_generation_parameter_of_a_model_stays(use: str) -> None:
    outcome = converted(LEGACY + use)
    assert not any(code == "RM755" for code, _, _ in outcome.findings)


def test_the_parentheses_of_a_model_that_gets_its_name_there_stay() -> None:
    made = T5.replace("model = ", "").strip()
    outcome = converted(f"{LEGACY}(model := {made}).config.num_beams = 4\nprint(model)\n")
    assert f"(model := {made}).generation_config.num_beams = 4" in outcome.text


def test_a_model_that_is_moved_is_the_same_model() -> None:
    outcome = converted(LEGACY + T5.strip() + '.to("cuda")\nmodel.config.num_beams = 4')
    assert outcome.lines("RM755", Kind.CONVERTED) == [5]

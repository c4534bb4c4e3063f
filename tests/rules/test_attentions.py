"""RM771: attentions that are asked for, of models that have none."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

HEAD = "import ray.train\nfrom transformers import AutoConfig, AutoModel\n"
MODEL = 'model = AutoModel.from_pretrained("m").to("cpu")\n'
EAGER = 'model = AutoModel.from_pretrained("m", attn_implementation="eager").to("cpu")\n'
CALL = "seen = model(ids, output_attentions=True).attentions[-1]\n"


@pytest.mark.parametrize(
    "call", [CALL, "model.generate(ids, output_attentions=True)\n", CALL.replace("seen = model", "m = model\nseen = m")]
)
def test_the_model_is_made_with_attentions(call: str) -> None:
    outcome = converted(HEAD + MODEL + call)
    assert outcome.text == HEAD + EAGER + call
    assert len(outcome.lines("RM771", Kind.CONVERTED)) == 1


def test_one_that_a_module_keeps_is_too() -> None:
    head = "import ray.train\nimport torch\nfrom transformers import AutoModel\nclass M(torch.nn.Module):\n"
    made = head + '    def __init__(self):\n        self.bert = AutoModel.from_pretrained("m")\n'
    call = "    def forward(self, ids):\n        return self.bert(ids, output_attentions=True)\n"
    assert 'from_pretrained("m", attn_implementation="eager")' in converted(made + call).text


@pytest.mark.parametrize(
    "use",
    [
        'model = AutoModel.from_pretrained("m", **more)\n' + CALL,
        'model = AutoModel.from_pretrained("m", config=config)\n' + CALL,
        "model = AutoModel.from_config(config)\n" + CALL,
        "print(AutoModel)\ndef run(model, ids):\n    return model(ids, output_attentions=True)\n",
        MODEL + "model.config.output_attentions = True\n",
    ],
)
def test_what_cannot_be_changed_is_told(use: str) -> None:
    outcome = converted(HEAD + use)
    assert outcome.text == HEAD + use
    assert len(outcome.lines("RM771", Kind.MANUAL)) == 1


@pytest.mark.parametrize(
    "use",
    [
        EAGER + CALL,
        'model = AutoModel.from_pretrained("m", output_attentions=True)\n' + CALL,
        'config = AutoConfig.from_pretrained("m", output_attentions=True)\n' + CALL,
        MODEL + 'model.set_attn_implementation("eager")\n' + CALL,
        MODEL + CALL.replace("True", "False"),
        MODEL + CALL.replace("True", "flag"),
        'config = AutoConfig.from_pretrained("m")\nconfig.output_attentions = True\n',
    ],
)
def test_where_nothing_is_missing(use: str) -> None:
    assert "RM771" not in [code for code, _, _ in converted(HEAD + use).findings]

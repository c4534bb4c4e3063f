"""RM770: classes of models that a script derives from PreTrainedModel."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

HEAD = (
    "import ray.train\nimport transformers\nfrom transformers import BertModel, BertPreTrainedModel, PreTrainedModel\n"
)


def model(base: str, *last: str, name: str = "Tagger") -> str:
    lines = ["super().__init__(config)", "self.bert = BertModel(config)", *last]
    body = "".join(f"        {line}\n" for line in lines)
    return f"class {name}({base}):\n    def __init__(self, config):\n{body}"


@pytest.mark.parametrize(
    "base",
    ["BertPreTrainedModel", "PreTrainedModel", "transformers.PreTrainedModel", "transformers.RobertaPreTrainedModel"],
)
def test_init_weights_becomes_post_init(base: str) -> None:
    outcome = converted(HEAD + model(base, "self.init_weights()"))
    assert outcome.text == HEAD + model(base, "self.post_init()")
    assert len(outcome.lines("RM770", Kind.CONVERTED)) == 1


@pytest.mark.parametrize(
    "classes",
    [
        model("BertPreTrainedModel"),
        model("BertPreTrainedModel", "self.apply(self._init_weights)"),
        model("BertPreTrainedModel", "self.init_weights(True)"),
        model("Base").replace("class", "class Base(PreTrainedModel):\n    pass\n\n\nclass", 1),
    ],
)
def test_what_is_not_sure_is_told(classes: str) -> None:
    outcome = converted(HEAD + classes)
    assert outcome.text == HEAD + classes
    assert len(outcome.lines("RM770", Kind.MANUAL)) == 1


def test_a_class_that_another_one_here_extends_is_told_of_once() -> None:
    classes = model("BertPreTrainedModel", "self.init_weights()") + model("Tagger", name="Other")
    assert [code for code, _, _ in converted(HEAD + classes).findings] == ["RM770"]


@pytest.mark.parametrize(
    "classes",
    [
        model("BertPreTrainedModel", "self.post_init()"),
        model("BertModel", "self.init_weights()"),  # which calls it
        model("torch.nn.Module", "self.init_weights()"),
        model("mine.PreTrainedModel", "self.init_weights()"),
        "class Tagger(BertPreTrainedModel):\n    pass\n",
        "model = BertModel.from_pretrained('m')\nmodel.init_weights()\n",
    ],
)
def test_classes_that_have_what_they_need(classes: str) -> None:
    outcome = converted(f"import torch\nimport mine\n{HEAD}{classes}")
    assert "RM770" not in [code for code, _, _ in outcome.findings]

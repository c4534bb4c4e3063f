"""RM759: outputs of models, unpacked as if they were tuples."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

HEAD = """
import ray
import torch
from elsewhere import Other, batch, other
from transformers import AutoConfig, AutoModel, BertForSequenceClassification, BertModel, BertTokenizer, pipeline

"""
MODULE = """
class Classifier(torch.nn.Module):
    def __init__(self, config):
        super().__init__()
        self.bert = {made}
        self.head = torch.nn.Linear(8, 2)

    def forward(self, ids, mask):
        {use}
        return self.head(pooled)
"""


@pytest.mark.parametrize(
    ("made", "use"),
    [
        ("BertModel.from_pretrained('a')", "_, pooled = self.bert(input_ids=ids, attention_mask=mask)"),
        ("BertModel(config)", "_, pooled = self.bert(ids, mask)"),
        ("AutoModel.from_pretrained('a')", "(hidden, pooled) = self.bert(ids, attention_mask=mask)"),
        ("AutoModel.from_config(config)", "hidden, pooled, *rest = self.bert(ids)"),
        ("BertModel(config).eval()", "[_, pooled] = self.bert(ids)"),
    ],
)
def test_a_model_inside_a_module_is_asked_for_the_tuple(made: str, use: str) -> None:
    outcome = converted(HEAD + MODULE.format(made=made, use=use))
    assert outcome.lines("RM759", Kind.CONVERTED)
    assert "return_dict=False)" in outcome.text


def test_a_model_of_a_script_is_asked_for_the_tuple() -> None:
    use = "model = BertForSequenceClassification.from_pretrained('a')\nloss, logits = model(batch, labels=batch)\n"
    assert "model(batch, labels=batch, return_dict=False)" in converted(HEAD + use).text


def test_outputs_that_have_a_name_are_told() -> None:
    use = "model = BertModel.from_pretrained('a')\nout = model(batch)\nhidden, pooled = out\nprint(out.pooler_output)\n"
    outcome = converted(HEAD + use)
    assert outcome.lines("RM759", Kind.MANUAL) == [8]


@pytest.mark.parametrize(
    "use",
    [
        "_, x = BertModel.from_pretrained('a')(batch, return_dict=False)",
        "_, x = BertModel.from_pretrained('a', return_dict=False)(batch)",
        "m = BertModel.from_pretrained('a')\n_, x = m(batch, **other)",
        "c = AutoConfig.from_pretrained('a', return_dict=False)\nm = BertModel(c)\n_, x = m(batch)",
        "m = BertModel.from_pretrained('a')\nm.config.return_dict = False\n_, x = m(batch)",
        "x = BertModel.from_pretrained('a')(batch)[1]",
        "m = BertModel.from_pretrained('a')\na, b = m(batch)[:2]",
        "m = BertModel.from_pretrained('a')\na, b = m(batch).to_tuple()",
        "m = BertModel.from_pretrained('a')\na, b = m(batch).values()",
        "m = BertModel.from_pretrained('a')\na, b = m.get_input_embeddings(), 1",
        "m, info = BertModel.from_pretrained('a', output_loading_info=True)",
        "a, b = Other()(batch)",
        "class M:\n    def __init__(self, m):\n        self.m = m\n\n    def f(self):\n        a, b = self.m(batch)",
        "a, b = pipeline('ner')(batch)",
        "a, b = BertTokenizer.from_pretrained('a')(batch)",
        "class M(torch.nn.Module):\n    def forward(self, x):\n        return x, x\n\na, b = M()(batch)",
    ],
)
def test_what_is_a_tuple_or_no_output_is_left_alone(use: str) -> None:
    outcome = converted(HEAD + use + "\n")
    assert not [code for code, _, _ in outcome.findings if code == "RM759"]

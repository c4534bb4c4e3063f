"""--to-accelerate: a pipeline asks a model for its class and configuration, which its wrapper does not have."""

import pytest

from tests.rules.test_to_accelerate import HEAD, LOOP, accelerated

PIPELINE = "from transformers import pipeline, TextClassificationPipeline\nimport transformers\n"


@pytest.mark.parametrize(
    "call",
    [
        'pipeline("ner", model={})',
        'pipeline("ner", {})',
        'transformers.pipeline(task="ner", model={}, device=0)',
        "TextClassificationPipeline(model={}, tokenizer=tokenizer)",
        'pipeline("ner", model={}.to("cpu"))',
        'pipeline("ner", model={}.to("cpu").eval())',
    ],
)
def test_a_pipeline_gets_the_model_without_its_wrapper(call: str) -> None:
    text = accelerated(LOOP, f"pipe = {call.format('model')}\n", head=PIPELINE + HEAD).text
    assert text.endswith(f"pipe = {call.format('accelerator.unwrap_model(model)')}\n")


@pytest.mark.parametrize("call", ["torch.nn.utils.parameters_to_vector(model)", "pipeline('ner', model=other)"])
def test_others_get_what_they_got(call: str) -> None:
    text = accelerated(LOOP, f"pipe = {call}\n", head=PIPELINE + HEAD).text
    assert text.endswith(f"pipe = {call}\n")

"""RM762: methods of transformers' models that a script replaces."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

LEGACY = """import transformers
from ray.air import session
from transformers import LlamaForCausalLM
from transformers.models.llama import modeling_llama
from transformers.models.llama.modeling_llama import LlamaAttention as Attention


def fast(self, hidden_states, attention_mask=None):
    return hidden_states, None, None


"""


@pytest.mark.parametrize(
    ("use", "told"),
    [
        ("Attention.forward = fast", "transformers 5 calls it with other arguments"),
        ("modeling_llama.LlamaAttention.forward = fast", "transformers 5 calls it"),
        ("transformers.models.llama.modeling_llama.LlamaAttention.forward = fast", "transformers 5 calls it"),
        ("Attention.forward = fast if session else Attention.forward", "transformers 5 calls it"),
        ("setattr(Attention, 'forward', fast)", "transformers 5 calls it"),
        ("def patch():\n    Attention.forward = fast", "transformers 5 calls it"),
        ("modeling_llama.apply_rotary_pos_emb = fast", "transformers 5 may call it"),
        ("LlamaForCausalLM.forward = fast", "transformers 5 may call it"),
        ("modeling_llama.LlamaModel._prepare_decoder_attention_mask = fast", "it has no effect"),
    ],
)
def test_a_method_that_is_replaced_is_told(use: str, told: str) -> None:
    outcome = converted(LEGACY + use)
    assert len(outcome.lines("RM762", Kind.MANUAL)) == 1
    assert told in " ".join(outcome.messages)


@pytest.mark.parametrize(
    ("use", "is_there"),
    [
        ("Attention.forward = fast", True),
        ("modeling_llama.apply_rotary_pos_emb = fast", True),
        ("before = Attention.attend\nAttention.attend = fast", True),
        ("Attention.features = fast", False),
        ("setattr(LlamaForCausalLM, 'features', fast)", False),
        ("modeling_llama.LlamaModel.features = fast", False),
    ],
)
def test_a_method_that_may_be_new_is_not_said_to_be_replaced(use: str, is_there: bool) -> None:
    (told,) = [
        message
        for message in converted(LEGACY + use).messages
        if " is replaced here" in message or " is set here" in message
    ]
    assert (" is replaced here" in told) == is_there


@pytest.mark.parametrize(
    "use",
    [
        "class Own(Attention):\n    pass\n\n\nOwn.forward = fast",
        "LlamaForCausalLM.supports_gradient_checkpointing = True",
        "LlamaForCausalLM._no_split_modules = ['LlamaDecoderLayer']",
        "LlamaForCausalLM.config_class = transformers.LlamaConfig",
        "model = LlamaForCausalLM.from_pretrained('m')\nmodel.config.use_cache = False",
        "transformers.Trainer._save = fast",
        "before = Attention.forward",
    ],
)
def test_settings_and_own_classes_are_left_alone(use: str) -> None:
    assert "RM762" not in [code for code, _, _ in converted(LEGACY + use).findings]


@pytest.mark.parametrize("name", ["LlamaFlashAttention2.forward", "LLAMA_ATTENTION_CLASSES"])
def test_what_is_gone_is_told_once(name: str) -> None:
    outcome = converted(f"{LEGACY}modeling_llama.{name} = fast")
    assert outcome.lines("RM692", Kind.MANUAL)
    assert not outcome.lines("RM762", Kind.MANUAL)

"""Models of the right architecture with seeded random weights, under the names that the real checkpoints use.

Dropout is 0 in the tiny models, so that a forward pass draws no random numbers and two runs can be compared; the task
head is part of the checkpoint, so that `from_pretrained` creates nothing at random.
"""

from dataclasses import dataclass
from pathlib import Path

from raymigrate.runtime.hub.text import SEED
from raymigrate.runtime.hub.tokenizers import bert_tokenizer, gpt2_tokenizer, write_json

Shapes = dict[str, tuple[tuple[int, ...], str]]  # name -> shape, and how it is filled: "normal", "ones", "zeros"


@dataclass(frozen=True)
class Dimensions:
    """Size of the models.

    Args:
        hidden: Width.
        layers: Number of layers.
        heads: Number of attention heads.
        intermediate: Width of BERT's feed-forward layers.
        gpt2_vocabulary: Number of tokens of GPT-2.
        deviation: Standard deviation of the random weights; larger than the 0.02 of the real models in tiny ones,
            where gradients would be too small to learn from in a few steps.
    """

    hidden: int
    layers: int
    heads: int
    intermediate: int
    gpt2_vocabulary: int
    deviation: float


SIZES = {"tiny": Dimensions(64, 2, 4, 128, 600, 0.08)}


def _write_weights(path: Path, shapes: Shapes, seed: str, deviation: float) -> None:
    import torch  # noqa: PLC0415 - seconds, and only for building
    from safetensors.torch import save_file  # noqa: PLC0415

    random = torch.Generator().manual_seed(SEED + sum(map(ord, seed)))
    tensors = {}
    for name, (shape, filling) in shapes.items():
        if filling == "normal":
            tensors[name] = torch.randn(shape, generator=random) * deviation
        else:
            tensors[name] = torch.ones(shape) if filling == "ones" else torch.zeros(shape)
    save_file(tensors, str(path), metadata={"format": "pt"})


def _linear(name: str, inputs: int, outputs: int) -> Shapes:
    return {f"{name}.weight": ((outputs, inputs), "normal"), f"{name}.bias": ((outputs,), "zeros")}


def _norm(name: str, width: int) -> Shapes:
    return {f"{name}.weight": ((width,), "ones"), f"{name}.bias": ((width,), "zeros")}


def bert(folder: Path, size: Dimensions, *, lowercase: bool) -> None:
    """Writes a BERT: tokenizer, config, weights with the heads for masked words and for two classes."""
    vocabulary = bert_tokenizer(folder, lowercase=lowercase)
    width, inner = size.hidden, size.intermediate
    config = {
        "architectures": ["BertForMaskedLM"],
        "model_type": "bert",
        "attention_probs_dropout_prob": 0.0,
        "hidden_dropout_prob": 0.0,
        "hidden_act": "gelu",
        "hidden_size": width,
        "initializer_range": 0.02,
        "intermediate_size": inner,
        "layer_norm_eps": 1e-12,
        "max_position_embeddings": 512,
        "num_attention_heads": size.heads,
        "num_hidden_layers": size.layers,
        "pad_token_id": 0,
        "type_vocab_size": 2,
        "vocab_size": vocabulary,
    }
    shapes: Shapes = {
        "bert.embeddings.word_embeddings.weight": ((vocabulary, width), "normal"),
        "bert.embeddings.position_embeddings.weight": ((512, width), "normal"),
        "bert.embeddings.token_type_embeddings.weight": ((2, width), "normal"),
        **_norm("bert.embeddings.LayerNorm", width),
    }
    for number in range(size.layers):
        layer = f"bert.encoder.layer.{number}"
        for part in ("query", "key", "value"):
            shapes |= _linear(f"{layer}.attention.self.{part}", width, width)
        shapes |= _linear(f"{layer}.attention.output.dense", width, width)
        shapes |= _norm(f"{layer}.attention.output.LayerNorm", width)
        shapes |= _linear(f"{layer}.intermediate.dense", width, inner)
        shapes |= _linear(f"{layer}.output.dense", inner, width)
        shapes |= _norm(f"{layer}.output.LayerNorm", width)
    shapes |= _linear("bert.pooler.dense", width, width)
    shapes |= {"cls.predictions.bias": ((vocabulary,), "zeros")}
    shapes |= _linear("cls.predictions.transform.dense", width, width)
    shapes |= _norm("cls.predictions.transform.LayerNorm", width)
    shapes |= _linear("cls.seq_relationship", width, 2)
    shapes |= _linear("classifier", width, 2)
    write_json(folder / "config.json", config)
    _write_weights(folder / "model.safetensors", shapes, "bert", size.deviation)


def gpt2(folder: Path, size: Dimensions) -> None:
    """Writes a GPT-2: tokenizer, config, weights."""
    vocabulary = gpt2_tokenizer(folder, size.gpt2_vocabulary)
    width = size.hidden
    config = {
        "architectures": ["GPT2LMHeadModel"],
        "model_type": "gpt2",
        "activation_function": "gelu_new",
        "attn_pdrop": 0.0,
        "embd_pdrop": 0.0,
        "resid_pdrop": 0.0,
        "bos_token_id": 0,
        "eos_token_id": 0,
        "initializer_range": 0.02,
        "layer_norm_epsilon": 1e-5,
        "n_ctx": 1024,
        "n_embd": width,
        "n_head": size.heads,
        "n_layer": size.layers,
        "n_positions": 1024,
        "vocab_size": vocabulary,
    }
    shapes: Shapes = {
        "wte.weight": ((vocabulary, width), "normal"),
        "wpe.weight": ((1024, width), "normal"),
        **_norm("ln_f", width),
    }
    for number in range(size.layers):
        shapes |= {**_norm(f"h.{number}.ln_1", width), **_norm(f"h.{number}.ln_2", width)}
        for part, (inputs, outputs) in {
            "attn.c_attn": (width, 3 * width),
            "attn.c_proj": (width, width),
            "mlp.c_fc": (width, 4 * width),
            "mlp.c_proj": (4 * width, width),
        }.items():  # GPT-2's Conv1D keeps weights as inputs x outputs
            shapes[f"h.{number}.{part}.weight"] = ((inputs, outputs), "normal")
            shapes[f"h.{number}.{part}.bias"] = ((outputs,), "zeros")
    write_json(folder / "config.json", config)
    _write_weights(folder / "model.safetensors", shapes, "gpt2", size.deviation)

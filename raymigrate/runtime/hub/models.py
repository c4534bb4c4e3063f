"""Models of the right architecture with seeded random weights, under the names that the real checkpoints use.

Dropout is 0 in the tiny models: a forward pass then draws no random numbers, so that runs on library versions that
draw them in another order can still be compared bit by bit. For the same reason the classification head may be part of
the checkpoint, which it is not in the real ones: `from_pretrained` then creates nothing at random.

Left out on purpose: GPT-2's `h.N.attn.bias`, 4 MB a layer in the real file, a constant mask that every supported
transformers ignores.
"""

from dataclasses import dataclass
from pathlib import Path

from raymigrate.runtime.hub.text import generator
from raymigrate.runtime.hub.tokenizers import bert_tokenizer, gpt2_tokenizer, write_json

Shapes = dict[str, tuple[tuple[int, ...], str]]  # name -> shape, and how it is filled: "normal", "ones", "zeros"

BERT_POSITIONS = 512
GPT2_POSITIONS = 1024


@dataclass(frozen=True)
class Dimensions:
    """Size of the models.

    Args:
        hidden: Width.
        layers: Number of layers; the distilled models have half of them, as the real ones do.
        heads: Number of attention heads.
        intermediate: Width of the feed-forward layers of BERT and DistilBERT.
        gpt2_vocabulary: Largest number of tokens of GPT-2.
        bert_embeddings: Least number of rows of BERT's word embeddings; those behind the vocabulary are never used.
        gpt2_embeddings: The same for GPT-2.
        bert_deviation: Standard deviation of the random weights of BERT and DistilBERT. Larger than the 0.02 of the
            real models in tiny ones, where gradients would be too small to learn anything in a few steps; 0.16 did
            best on the whole among six values from 0.02 to 0.3, on MRPC and CoLA at learning rates of 5e-5 to 1e-3.
        gpt2_deviation: The same for GPT-2; 0.08 did best among four values from 0.02 to 0.16 on wikitext.
        dropout: Every dropout probability.
    """

    hidden: int
    layers: int
    heads: int
    intermediate: int
    gpt2_vocabulary: int
    bert_embeddings: int
    gpt2_embeddings: int
    bert_deviation: float
    gpt2_deviation: float
    dropout: float


SIZES = {
    "tiny": Dimensions(
        hidden=64,
        layers=2,
        heads=4,
        intermediate=128,
        gpt2_vocabulary=600,
        bert_embeddings=0,
        gpt2_embeddings=0,
        bert_deviation=0.16,
        gpt2_deviation=0.08,
        dropout=0.0,
    ),
    # The dimensions of the real checkpoints: 110 million parameters for BERT-base, 124 million for GPT-2.
    "full": Dimensions(
        hidden=768,
        layers=12,
        heads=12,
        intermediate=3072,
        gpt2_vocabulary=600,
        bert_embeddings=28996,
        gpt2_embeddings=50257,
        bert_deviation=0.02,
        gpt2_deviation=0.02,
        dropout=0.1,
    ),
}


def bert(folder: Path, size: Dimensions, *, lowercase: bool, task_heads: bool) -> None:
    """Writes a BERT: tokenizer, config, weights.

    Args:
        folder: Its repository.
        size: Its dimensions.
        lowercase: Whether it is an uncased one.
        task_heads: Whether the weights hold a classifier of two classes.
    """
    vocabulary = max(bert_tokenizer(folder, lowercase=lowercase), size.bert_embeddings)
    width = size.hidden
    config = {
        "architectures": ["BertForMaskedLM"],
        "model_type": "bert",
        "attention_probs_dropout_prob": size.dropout,
        "hidden_dropout_prob": size.dropout,
        "hidden_act": "gelu",
        "hidden_size": width,
        "initializer_range": 0.02,
        "intermediate_size": size.intermediate,
        "layer_norm_eps": 1e-12,
        "max_position_embeddings": BERT_POSITIONS,
        "num_attention_heads": size.heads,
        "num_hidden_layers": size.layers,
        "pad_token_id": 0,
        "type_vocab_size": 2,
        "vocab_size": vocabulary,
    }
    shapes = _bert_embeddings("bert.embeddings", vocabulary, width)
    shapes["bert.embeddings.token_type_embeddings.weight"] = ((2, width), "normal")
    for number in range(size.layers):
        shapes |= _bert_layer(f"bert.encoder.layer.{number}", size)
    shapes |= _linear("bert.pooler.dense", width, width)
    shapes |= {"cls.predictions.bias": ((vocabulary,), "zeros")}
    shapes |= _linear("cls.predictions.transform.dense", width, width)
    shapes |= _norm("cls.predictions.transform.LayerNorm", width)
    shapes |= _linear("cls.seq_relationship", width, 2)
    if task_heads:
        shapes |= _linear("classifier", width, 2)
    write_json(folder / "config.json", config)
    _write_weights(folder, shapes, size.bert_deviation)


def distilbert(folder: Path, size: Dimensions, *, task_heads: bool) -> None:
    """Writes an uncased DistilBERT: tokenizer, config, weights. Arguments as for `bert`."""
    vocabulary = max(bert_tokenizer(folder, lowercase=True), size.bert_embeddings)
    width, layers = size.hidden, max(1, size.layers // 2)
    config = {
        "architectures": ["DistilBertForMaskedLM"],
        "model_type": "distilbert",
        "activation": "gelu",
        "attention_dropout": size.dropout,
        "dim": width,
        "dropout": size.dropout,
        "hidden_dim": size.intermediate,
        "initializer_range": 0.02,
        "max_position_embeddings": BERT_POSITIONS,
        "n_heads": size.heads,
        "n_layers": layers,
        "pad_token_id": 0,
        "qa_dropout": size.dropout,
        "seq_classif_dropout": size.dropout,
        "sinusoidal_pos_embds": False,
        "tie_weights_": True,
        "vocab_size": vocabulary,
    }
    shapes = _bert_embeddings("distilbert.embeddings", vocabulary, width)
    for number in range(layers):
        shapes |= _distilbert_layer(f"distilbert.transformer.layer.{number}", size)
    shapes |= {**_linear("vocab_transform", width, width), **_norm("vocab_layer_norm", width)}
    shapes |= {"vocab_projector.bias": ((vocabulary,), "zeros")}  # its weight is that of the word embeddings
    if task_heads:
        shapes |= {**_linear("pre_classifier", width, width), **_linear("classifier", width, 2)}
    write_json(folder / "config.json", config)
    _write_weights(folder, shapes, size.bert_deviation)


def gpt2(folder: Path, size: Dimensions, *, distilled: bool = False) -> None:
    """Writes a GPT-2: tokenizer, config, weights.

    Args:
        folder: Its repository.
        size: Its dimensions.
        distilled: Whether it is DistilGPT-2, which has half the layers.
    """
    vocabulary = max(gpt2_tokenizer(folder, size.gpt2_vocabulary), size.gpt2_embeddings)
    width, layers = size.hidden, max(1, size.layers // 2) if distilled else size.layers
    config = {
        "architectures": ["GPT2LMHeadModel"],
        "model_type": "gpt2",
        "activation_function": "gelu_new",
        "attn_pdrop": size.dropout,
        "bos_token_id": 0,
        "embd_pdrop": size.dropout,
        "eos_token_id": 0,
        "initializer_range": 0.02,
        "layer_norm_epsilon": 1e-5,
        "n_ctx": GPT2_POSITIONS,
        "n_embd": width,
        "n_head": size.heads,
        "n_layer": layers,
        "n_positions": GPT2_POSITIONS,
        "resid_pdrop": size.dropout,
        "summary_first_dropout": size.dropout,
        "task_specific_params": {"text-generation": {"do_sample": True, "max_length": 50}},
        "vocab_size": vocabulary,
    }
    shapes: Shapes = {
        "wte.weight": ((vocabulary, width), "normal"),
        "wpe.weight": ((GPT2_POSITIONS, width), "normal"),
        **_norm("ln_f", width),
    }
    for number in range(layers):
        shapes |= _gpt2_layer(f"h.{number}", width)
    write_json(folder / "config.json", config)
    _write_weights(folder, shapes, size.gpt2_deviation)


def _bert_embeddings(name: str, vocabulary: int, width: int) -> Shapes:
    return {
        f"{name}.word_embeddings.weight": ((vocabulary, width), "normal"),
        f"{name}.position_embeddings.weight": ((BERT_POSITIONS, width), "normal"),
        **_norm(f"{name}.LayerNorm", width),
    }


def _bert_layer(name: str, size: Dimensions) -> Shapes:
    width, inner = size.hidden, size.intermediate
    shapes: Shapes = {}
    for part in ("query", "key", "value"):
        shapes |= _linear(f"{name}.attention.self.{part}", width, width)
    shapes |= _linear(f"{name}.attention.output.dense", width, width)
    shapes |= _norm(f"{name}.attention.output.LayerNorm", width)
    shapes |= _linear(f"{name}.intermediate.dense", width, inner)
    shapes |= _linear(f"{name}.output.dense", inner, width)
    return shapes | _norm(f"{name}.output.LayerNorm", width)


def _distilbert_layer(name: str, size: Dimensions) -> Shapes:
    width, inner = size.hidden, size.intermediate
    shapes: Shapes = {}
    for part in ("q_lin", "k_lin", "v_lin", "out_lin"):
        shapes |= _linear(f"{name}.attention.{part}", width, width)
    shapes |= {**_linear(f"{name}.ffn.lin1", width, inner), **_linear(f"{name}.ffn.lin2", inner, width)}
    return {**shapes, **_norm(f"{name}.sa_layer_norm", width), **_norm(f"{name}.output_layer_norm", width)}


def _gpt2_layer(name: str, width: int) -> Shapes:
    shapes = {**_norm(f"{name}.ln_1", width), **_norm(f"{name}.ln_2", width)}
    for part, inputs, outputs in (
        ("attn.c_attn", width, 3 * width),
        ("attn.c_proj", width, width),
        ("mlp.c_fc", width, 4 * width),
        ("mlp.c_proj", 4 * width, width),
    ):
        # GPT-2's Conv1D keeps its weight as inputs x outputs, a Linear the other way round.
        shapes[f"{name}.{part}.weight"] = ((inputs, outputs), "normal")
        shapes[f"{name}.{part}.bias"] = ((outputs,), "zeros")
    return shapes


def _linear(name: str, inputs: int, outputs: int) -> Shapes:
    return {f"{name}.weight": ((outputs, inputs), "normal"), f"{name}.bias": ((outputs,), "zeros")}


def _norm(name: str, width: int) -> Shapes:
    return {f"{name}.weight": ((width,), "ones"), f"{name}.bias": ((width,), "zeros")}


def _write_weights(folder: Path, shapes: Shapes, deviation: float) -> None:
    """Writes the weights file; numpy is enough for it, and is loaded in a tenth of the time that torch takes."""
    import numpy as np  # noqa: PLC0415 - only for building
    from safetensors.numpy import save_file  # noqa: PLC0415

    # RandomState, not default_rng: numpy promises that its numbers never change (NEP 19).
    random = np.random.RandomState(generator(f"weights-{folder.name}").getrandbits(32))
    tensors = {}
    for name, (shape, filling) in shapes.items():
        if filling == "normal":
            tensors[name] = (random.standard_normal(shape) * deviation).astype(np.float32)
        else:
            tensors[name] = np.full(shape, 1.0 if filling == "ones" else 0.0, dtype=np.float32)
    # transformers refuses a file that does not say "pt", "tf", "flax" or "mlx" here.
    save_file(tensors, str(folder / "model.safetensors"), metadata={"format": "pt"})

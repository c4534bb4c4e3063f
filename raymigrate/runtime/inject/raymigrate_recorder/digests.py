"""Short hashes of tensors, batches and rows. Equal values have equal hashes, whatever library made the tensor."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

# The input that tells one row from another, if the model takes it.
ROW_INPUTS = ("input_ids", "pixel_values", "input_values", "input_features", "inputs_embeds")


def tensor_digest(tensor: Any) -> str:
    """Hash of a tensor's values. Integers of all widths hash alike, and so do bfloat16 values and their float32."""
    import torch

    tensor = tensor.detach().cpu()
    if tensor.dtype in (torch.bfloat16, torch.float16):
        tensor = tensor.float()
    elif not tensor.is_floating_point() and not tensor.is_complex():
        tensor = tensor.long()
    return hashlib.sha1(tensor.contiguous().numpy().tobytes()).hexdigest()[:16]


def described(tensor: Any) -> list[Any]:
    """Shape, dtype and hash of a tensor, fit for JSON."""
    return [list(tensor.shape), str(tensor.dtype).replace("torch.", ""), tensor_digest(tensor)]


def named_tensors(value: Any) -> Iterator[tuple[str, Any]]:
    """The tensors in the arguments of a model, or in what a checkpoint holds, by their path in it."""
    import torch

    return ((name, leaf) for name, leaf in named_leaves(value) if isinstance(leaf, torch.Tensor))


def named_leaves(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """What nested lists, tuples and mappings hold, `BatchEncoding` included, by its path in them."""
    if isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from named_leaves(item, f"{name}[{index}]")
    elif hasattr(value, "items"):
        for key, item in value.items():
            yield from named_leaves(item, f"{name}.{key}" if name else str(key))
    else:
        yield name, value


def batch_of(args: Any, kwargs: Any) -> dict[str, Any]:
    """What a model was given: `tensors`, name -> shape, dtype, hash; and `rows`, one hash per row without its padding.

    Scalars are left out: transformers passes a count of tokens beside the batch since 4.46.
    """
    tensors = {name: t for name, t in (*named_tensors(args), *named_tensors(kwargs)) if t.dim() > 0}
    return {"tensors": {name: described(tensor) for name, tensor in tensors.items()}, "rows": row_digests(tensors)}


def row_digests(tensors: dict[str, Any]) -> list[str]:
    """One hash for each row of a batch; with an attention mask, of its unmasked part only."""
    if not tensors:
        return []
    name = next((name for name in ROW_INPUTS if name in tensors), min(tensors))
    rows, mask = tensors[name].detach().cpu(), tensors.get("attention_mask")
    if mask is None or mask.shape != rows.shape:
        return [tensor_digest(row)[:8] for row in rows]
    return [tensor_digest(row[kept.bool()])[:8] for row, kept in zip(rows, mask.detach().cpu())]


def model_digests(model: Any) -> dict[str, str]:
    """Hash of every parameter, by its name in the bare model."""
    return {plain_name(name): tensor_digest(parameter) for name, parameter in model.named_parameters()}


def plain_name(name: str) -> str:
    """A parameter's name without what DDP, FSDP and torch.compile put before it."""
    parts = [part for part in name.split(".") if part not in ("module", "_orig_mod", "_fsdp_wrapped_module")]
    return ".".join(parts)


def numbers(metrics: Any) -> dict[str, Any]:
    """Metrics as JSON knows them: numpy's and torch's scalars become numbers."""
    plain = {}
    for key, value in dict(metrics or {}).items():
        value = value.item() if hasattr(value, "item") and getattr(value, "size", 1) == 1 else value
        if isinstance(value, (bool, int, float, str)):
            plain[str(key)] = value
    return plain


def plain_settings(config: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """The plain values of a train function's configuration; they tell the trials of a Tuner apart."""
    for key, value in sorted(config.items(), key=str) if isinstance(config, dict) else ():
        if isinstance(value, (str, int, float)):
            yield f"{name}{key}", value
        yield from plain_settings(value, f"{name}{key}.")

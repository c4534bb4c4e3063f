"""Functions of torch that limit gradients: those of the Accelerator, which unscales the gradients first."""

from __future__ import annotations

import ast

from raymigrate.codemods.to_accelerate.changes import Changes
from raymigrate.codemods.to_accelerate.rules import Refusal
from raymigrate.facts.module import Module
from raymigrate.facts.values import has_unpacking

CLIPS = ("torch.nn.utils.clip_grad_norm", "torch.nn.utils.clip_grad_value", "torch.nn.utils.clip_grad.clip_grad_")
METHODS = {
    "clip_grad_norm_": "clip_grad_norm_",
    "clip_grad_norm": "clip_grad_norm_",
    "clip_grad_value_": "clip_grad_value_",
}
# What the Accelerator's methods take, and what more torch's functions do (accelerate/accelerator.py, 1.15;
# torch/nn/utils/clip_grad.py).
PARAMETERS = {
    "clip_grad_norm_": ("parameters", "max_norm", "norm_type", "error_if_nonfinite", "foreach"),
    "clip_grad_value_": ("parameters", "clip_value", "foreach"),
}
TAKEN = frozenset({"parameters", "max_norm", "norm_type", "clip_value"})
RAISES, HOW = "error_if_nonfinite", "foreach"  # the second says how to compute, not what


def clips_gradients(module: Module, call: ast.Call) -> bool:
    """Whether a call limits gradients."""
    return (module.qualified(call.func) or "").startswith(CLIPS)


def clip_gradients(module: Module, changes: Changes, *, scales: bool) -> None:
    """Plans the edits.

    Args:
        module: The script.
        changes: The edits.
        scales: Whether the Accelerator scales the loss: what torch's function sees is scaled then.

    Raises:
        Refusal: If a call needs torch's function, and gets gradients that are still scaled.
    """
    for call in module.of_type(ast.Call):
        if not clips_gradients(module, call) or changes.is_gone(call):
            continue
        method = METHODS.get((module.qualified(call.func) or "").rpartition(".")[2])
        if method is None:
            continue
        given = dict(zip(PARAMETERS[method], call.args, strict=False))
        given |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg is not None}
        if has_unpacking(call) or not _is_false(given.get(RAISES)):
            if scales:
                raise Refusal(call, f"{method}() is given what the Accelerator's does not take")
        elif given.keys() <= TAKEN:
            changes.replace(call.func, f"accelerator.{method}")
        else:
            by_name = [keyword.arg for keyword in call.keywords]
            parts = {name: value for name, value in given.items() if name in TAKEN}
            code = ", ".join(f"{name}=${name}" if name in by_name else f"${name}" for name in parts)
            changes.replace(call, f"accelerator.{method}({code})", **parts)


def _is_false(value: ast.expr | None) -> bool:
    return value is None or (isinstance(value, ast.Constant) and not value.value)

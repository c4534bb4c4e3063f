"""Functions of torch that limit gradients: those of the Accelerator, which unscales the gradients first."""

import ast

from raymigrate.codemods.to_accelerate.changes import Changes
from raymigrate.codemods.to_accelerate.rules import Refusal
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import called_name, has_unpacking, named_arguments, unpacked_dicts

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
RAISES = "error_if_nonfinite"  # `foreach=` says how to compute, not what


def clips_gradients(module: Module, call: ast.Call) -> bool:
    """Whether a call limits gradients."""
    return called_name(module, call).startswith(CLIPS)


def is_taken(module: Module, call: ast.Call) -> bool:
    """Whether the Accelerator has a method for a call that limits gradients, and for all that it is given."""
    method = _method(module, call)
    return method is not None and not _in_the_way(call, method)


def clip_gradients(module: Module, changes: Changes, *, scales: bool, is_unscaled: bool) -> None:
    """Plans the edits.

    Args:
        module: The script.
        changes: The edits.
        scales: Whether the Accelerator scales the loss: what torch's function sees is scaled then.
        is_unscaled: Whether code of the loop unscales the gradients: what sees them stays torch's function.

    Raises:
        Refusal: If a call needs torch's function, and gets gradients that are still scaled.
    """
    for call in module.of_type(ast.Call):
        if is_unscaled or not clips_gradients(module, call) or changes.is_gone(call):
            continue
        method = _method(module, call)
        if method is None:
            continue
        given = named_arguments(call, PARAMETERS[method])
        if in_the_way := _in_the_way(call, method):
            if scales:
                reason = f"{method}() is given {in_the_way}, which the Accelerator's does not take"
                raise Refusal(call, f"{reason}; take that away, or call scaler.unscale_(optimizer) before")
        elif given.keys() <= TAKEN:
            changes.replace(call.func, f"accelerator.{method}")
        else:
            by_name = [keyword.arg for keyword in call.keywords]
            parts = {name: value for name, value in given.items() if name in TAKEN}
            code = ", ".join(f"{name}=${name}" if name in by_name else f"${name}" for name in parts)
            changes.replace(call, f"accelerator.{method}({code})", **parts)


def _method(module: Module, call: ast.Call) -> str | None:
    return METHODS.get(called_name(module, call).rpartition(".")[2])


def _in_the_way(call: ast.Call, method: str) -> str:
    """What a call is given that the Accelerator's method does not take, or that cannot be seen; empty if nothing."""
    if has_unpacking(call):
        starred = [given for given in call.args if isinstance(given, ast.Starred)]
        return f"`{ast.unparse(starred[0]) if starred else f'**{ast.unparse(unpacked_dicts(call)[0])}'}`"
    value = named_arguments(call, PARAMETERS[method]).get(RAISES)
    is_false = value is None or (isinstance(value, ast.Constant) and not value.value)
    return "" if is_false else f"{RAISES}="

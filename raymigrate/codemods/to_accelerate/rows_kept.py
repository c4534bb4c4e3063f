"""Whether what is made of the outputs of a model still has a row for each row of the batch, or is one value of it."""

from __future__ import annotations

import ast

from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import argument, called_name, is_method_call, last_name

LOSS = "loss"  # the attribute of what models of transformers return
# These make one value of all rows, unless they are told to work along another dimension than the first.
REDUCTIONS = frozenset(
    {
        *("mean", "sum", "prod", "max", "min", "amax", "amin", "argmax", "argmin", "median", "mode", "std", "var"),
        *("norm", "any", "all", "nanmean", "nansum", "logsumexp", "count_nonzero"),
    }
)
NUMBERS = frozenset({"item", "dim", "numel"})
# What gives rows of another kind, or none, whatever it is told.
MIXING = frozenset(
    {
        *("einsum", "tensordot", "dot", "vdot", "trace", "dist", "cov", "corrcoef", "t", "permute", "transpose"),
        *("bincount", "histc", "unique", "nonzero", "masked_select", "len"),
    }
)
SHAPES = frozenset({"view", "reshape", "flatten"})  # `logits.view(-1, classes)` has a row for each token
PAIRS = ("max", "min", "topk", "sort", "median", "mode", "kthvalue")  # with values and indices, each by row
LOSSES = ("_loss", "cross_entropy", "cross_entropy_with_logits", "kl_div", "with_logits", "nll_loss")
FUNCTIONAL = "torch.nn.functional."
OF_CLASSES = ("argmax", "softmax", "log_softmax", "sigmoid", "topk", "max", "sort")  # of logits, and never of a loss


def keeps_rows(module: Module, outputs: ast.expr, value: ast.expr) -> bool:
    """Whether a value has a row for each one of the outputs that it is made of, as each step between them shows.

    What no step shows is taken for one value: rows that are gathered before it are right in any case.

    Args:
        module: The module.
        outputs: The outputs of a model, which are part of the value.
        value: The value.
    """
    inner: ast.AST = outputs
    while inner is not value:
        parent = module.parent_of[inner]
        if isinstance(parent, ast.Attribute) and parent.attr in (LOSS, "T"):
            return False
        if isinstance(parent, ast.Subscript) and parent.value is inner:
            is_tensor = isinstance(outputs, ast.Name) and isinstance(module.value(outputs), ast.Attribute)  # its logits
            if not _item_has_rows(module, parent, is_part=inner is outputs and not is_tensor):
                return False
        if isinstance(parent, ast.Call) and not _step_keeps_rows(module, parent, inner):
            return False
        inner = parent
    return True


def _item_has_rows(module: Module, item: ast.Subscript, *, is_part: bool) -> bool:
    """Whether an item has a row for each one of the batch: a part of the outputs, but not a row of such a part."""
    key, owner = module.constant(item.slice), item.value
    if is_part:
        return key != LOSS and not (key == 0 and is_first_a_loss(module, owner))
    return (
        not isinstance(key, int) or is_method_call(owner, *PAIRS) or last_name(getattr(owner, "func", owner)) in PAIRS
    )


def _step_keeps_rows(module: Module, call: ast.Call, inner: ast.AST) -> bool:
    is_method = call.func is inner
    name = last_name(call.func) or ""
    if name in NUMBERS or name in MIXING:
        return False
    first = argument(call, 0 if is_method else 1, "dim", "axis", "shape", "start_dim")
    along = module.constant(first)
    if name in REDUCTIONS:
        return isinstance(along, int) and along not in (0, -2)
    if name in SHAPES:
        return first is not None and along not in (0, -1)
    if is_method:
        return True
    function = called_name(module, call)
    if function.startswith(FUNCTIONAL) and name.endswith(LOSSES):
        reduction = argument(call, len(call.args), "reduction")
        return reduction is not None and module.constant(reduction) == "none"
    return function.startswith("torch.") or _is_by_row(module, call.func)


def _is_by_row(module: Module, function: ast.expr) -> bool:
    """Whether a function is a module of torch, such as `nn.Softmax(1)`; losses give the mean of the rows by default."""
    made = [end.node for end in module.origins(function)]
    names = [called_name(module, call) for call in made]
    if not names or not all(name.startswith("torch.nn.") for name in names):
        return False
    return not any(
        name.endswith("Loss") and module.constant(argument(call, len(call.args), "reduction") or call) != "none"  # type: ignore[attr-defined, arg-type]
        for name, call in zip(names, made, strict=True)
    )


def is_first_a_loss(module: Module, outputs: ast.AST) -> bool:
    """Whether the first of the outputs is the loss, as it is where a model of transformers is given labels.

    For `model(**batch)` the use of the first output decides: where no class is chosen from it, it is not logits.

    Args:
        module: The module.
        outputs: The call of the model, or a name for what it returns.
    """
    call = module.value(outputs) if isinstance(outputs, ast.Name) else outputs
    if not isinstance(call, ast.Call):
        return False
    if any(keyword.arg == "labels" and module.constant(keyword.value) is not None for keyword in call.keywords):
        return True
    if all(keyword.arg is not None for keyword in call.keywords):
        return False
    reads = module.uses_of(outputs) if isinstance(outputs, ast.Name) else [outputs]
    return not any(_chooses_class(module, module.parent_of[read]) for read in reads)


def _chooses_class(module: Module, first: ast.AST) -> bool:
    """Whether a class is chosen from the first output, or from the name that it gets."""
    if not isinstance(first, ast.Subscript) or module.constant(first.slice) != 0:
        return False
    name = module.name_of(first)
    places: list[ast.AST] = [first, *(module.uses_of(name) if name is not None else ())]
    for place in places:
        while isinstance(module.parent_of[place], (ast.Attribute, ast.Call)):
            place = module.parent_of[place]
            if isinstance(place, ast.Call) and (
                is_method_call(place, *OF_CLASSES) or last_name(place.func) in OF_CLASSES
            ):
                return True
    return False

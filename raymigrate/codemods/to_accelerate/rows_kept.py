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
LOSSES = ("_loss", "cross_entropy", "cross_entropy_with_logits", "kl_div", "with_logits", "nll_loss")
FUNCTIONAL = "torch.nn.functional."
OF_CLASSES = ("argmax", "softmax", "log_softmax", "sigmoid", "topk", "max", "sort")  # of logits, and never of a loss


def keeps_rows(module: Module, outputs: ast.expr, value: ast.expr) -> bool:
    """Whether a value has a row for each one of the outputs that it is made of, as each step between them shows.

    Args:
        module: The module.
        outputs: The outputs of a model, which are part of the value.
        value: The value.
    """
    inner: ast.AST = outputs
    while inner is not value:
        parent = module.parent_of[inner]
        if isinstance(parent, ast.Attribute) and parent.attr == LOSS:
            return False
        if isinstance(parent, ast.Subscript) and parent.value is inner and is_first_a_loss(module, inner):
            if module.constant(parent.slice) == 0:
                return False
        if isinstance(parent, ast.Call) and not _step_keeps_rows(module, parent, inner):
            return False
        inner = parent
    return True


def _step_keeps_rows(module: Module, call: ast.Call, inner: ast.AST) -> bool:
    is_method = call.func is inner
    name = last_name(call.func) or ""
    if is_method and name in NUMBERS:
        return False
    if name in REDUCTIONS:
        along = argument(call, 0 if is_method else 1, "dim", "axis")
        return along is not None and module.constant(along) != 0
    if is_method:
        return True
    function = called_name(module, call)
    if function.startswith(FUNCTIONAL) and name.endswith(LOSSES):
        reduction = argument(call, len(call.args), "reduction")
        return reduction is not None and module.constant(reduction) == "none"
    return not _is_loss_module(module, call.func)


def _is_loss_module(module: Module, function: ast.expr) -> bool:
    """Whether a function is a loss of torch: `nn.CrossEntropyLoss()`, which gives the mean of the rows by default."""
    made = [end.node for end in module.origins(function) if isinstance(end.node, ast.Call)]
    return any(
        called_name(module, call).startswith("torch.nn.")
        and called_name(module, call).endswith("Loss")
        and module.constant(argument(call, len(call.args), "reduction") or call) != "none"
        for call in made
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

"""RM856: all_reduce(), which changes the tensor that it gets, becomes accelerator.reduce(), which gives a new one.

That adds up, and knows the greatest value since a late version only: others are worked out of what gather() gives.
"""

import ast

from raymigrate.codemods.to_accelerate.changes import Changes
from raymigrate.codemods.to_accelerate.held_tensors import PLACES, HeldTensors
from raymigrate.codemods.to_accelerate.objects import ObjectView
from raymigrate.codemods.to_accelerate.rules import RM856, Refusal
from raymigrate.codemods.to_accelerate.training import Training
from raymigrate.facts.values import argument, is_none

ALL_REDUCE = "torch.distributed.all_reduce"
SUM = "torch.distributed.ReduceOp.SUM"
REDUCTIONS = {"SUM": "sum", "AVG": "mean"}
# What becomes of the values of all processes for one tensor, which gather() puts in a dimension of their own.
OF_GATHERED = {"MAX": "amax(0)", "MIN": "amin(0)", "PRODUCT": "prod(0, dtype={source}.dtype)"}
OF_OTHERS = "all_reduce() changes a tensor that other code holds too, and accelerator.reduce() gives a new one"


class Reductions:
    """What processes add up together.

    Args:
        training: What is trained.
    """

    def __init__(self, training: Training) -> None:
        self.module = training.module
        self.held = HeldTensors(training)

    def convert(self, changes: Changes) -> None:
        """Plans the edits.

        Raises:
            Refusal: If another tensor than that of a name would have to change, or it is none of what is known of all.
        """
        for call in self.module.calls(ALL_REDUCE):
            tensor, how, group = argument(call, 0, "tensor"), argument(call, 1, "op"), argument(call, 2, "group")
            name = self.module.qualified(how) if how is not None else SUM
            operation = (name or "").rpartition(".")[2]
            statement = self.module.statement(call)
            is_plain = self.module.is_statement(call) and is_none(group)
            if not isinstance(tensor, PLACES) or operation not in (*REDUCTIONS, *OF_GATHERED) or not is_plain:
                raise Refusal(call, "what all_reduce() does here has no equal in accelerate")
            if isinstance(tensor, ast.Name) and self.held.is_held(tensor):
                raise Refusal(call, f"{OF_OTHERS}; work on a clone(), and return that")
            method = "reduce" if operation in REDUCTIONS else "gather"
            changes.converted(RM856, call, f"all_reduce() becomes accelerator.{method}(), which gives a new tensor.")
            changes.kept.add(tensor)
            function = f"accelerator.{method}"
            if self._is_in_other_class(call):
                function = f"accelerate.utils.{method}"  # the same for code that the Accelerator is not handed to
                changes.edits.append(lambda: changes.context.plan.need_import("accelerate.utils"))
            changes.restate(statement, _code(self.module.source(tensor), function, operation))

    def _is_in_other_class(self, node: ast.AST) -> bool:
        """Whether code is in a class that holds none of what is trained, as one that counts."""
        owner = self.module.owner if isinstance(self.module, ObjectView) else None
        classes = [parent for parent in self.module.ancestors(node) if isinstance(parent, ast.ClassDef)]
        return bool(classes) and classes[-1] is not owner


def _code(source: str, function: str, operation: str) -> str:
    """The statement that gives a tensor what a function of accelerate makes of those of all processes."""
    if operation in REDUCTIONS:
        return f'{source} = {function}({source}, reduction="{REDUCTIONS[operation]}")'
    return f"{source} = {function}({source}[None]).{OF_GATHERED[operation].format(source=source)}"

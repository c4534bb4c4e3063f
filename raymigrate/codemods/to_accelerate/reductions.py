"""RM856: all_reduce(), which changes the tensor that it gets, becomes accelerator.reduce(), which gives a new one."""

from __future__ import annotations

import ast

from raymigrate.codemods.to_accelerate.changes import Changes
from raymigrate.codemods.to_accelerate.objects import ObjectView, is_attribute
from raymigrate.codemods.to_accelerate.rules import RM856, Refusal
from raymigrate.codemods.to_accelerate.training import Training
from raymigrate.facts.functions import returned_values
from raymigrate.facts.values import argument, is_none, reaching

ALL_REDUCE = "torch.distributed.all_reduce"
SUM = "torch.distributed.ReduceOp.SUM"
REDUCTIONS = {"SUM": "sum", "AVG": "mean"}
PLACES = (ast.Name, ast.Attribute, ast.Subscript)  # what a new tensor can be put into
LOOPS = (ast.For, ast.AsyncFor)
OF_OTHERS = "all_reduce() changes a tensor that other code holds too, and accelerator.reduce() gives a new one"


class Reductions:
    """What processes add up together.

    Args:
        training: What is trained.
    """

    def __init__(self, training: Training) -> None:
        self.module = training.module
        self.variables = training.variables

    def convert(self, changes: Changes) -> None:
        """Plans the edits.

        Raises:
            Refusal: If another tensor than that of a name would have to change, or it is not a sum or mean of all.
        """
        for call in self.module.calls(ALL_REDUCE):
            tensor, how, group = argument(call, 0, "tensor"), argument(call, 1, "op"), argument(call, 2, "group")
            name = self.module.qualified(how) if how is not None else SUM
            reduction = REDUCTIONS.get((name or "").rpartition(".")[2])
            statement = self.module.statement(call)
            is_alone = isinstance(statement, ast.Expr) and statement.value is call
            if not isinstance(tensor, PLACES) or reduction is None or not is_alone or not is_none(group):
                raise Refusal(call, "what all_reduce() does here has no equal in accelerate")
            if isinstance(tensor, ast.Name) and self._is_held_by_others(tensor):
                raise Refusal(call, f"{OF_OTHERS}; work on a clone(), and return that")
            changes.converted(RM856, call, "all_reduce() becomes accelerator.reduce(), which gives a new tensor.")
            changes.kept.add(tensor)
            source, reduce = self.module.source(tensor), "accelerator.reduce"
            if self._is_in_other_class(call):
                reduce = "accelerate.utils.reduce"  # the same for code that the Accelerator is not handed to
                changes.edits.append(lambda: changes.context.plan.need_import("accelerate.utils"))
            changes.restate(statement, f'{source} = {reduce}({source}, reduction="{reduction}")')

    def _is_in_other_class(self, node: ast.AST) -> bool:
        """Whether code is in a class that holds none of what is trained, as one that counts."""
        owner = self.module.owner if isinstance(self.module, ObjectView) else None
        classes = [parent for parent in self.module.ancestors(node) if isinstance(parent, ast.ClassDef)]
        return bool(classes) and classes[-1] is not owner

    def _is_held_by_others(self, tensor: ast.Name) -> bool:
        """Whether more than this name stands for a tensor, so that its new value would be missed."""
        variable = self.variables.spelled(tensor)
        if variable is None or is_attribute(variable.name):
            return False
        function = self.module.function(tensor)
        if variable.scope is not self.module.scope_of[self.module.statement(tensor)]:
            return function is not None  # a name of the module, or of a function around this one
        for binding in reaching(self.module, tensor):
            value = self.module.assigned(binding.node)
            if isinstance(binding.node, ast.arg):
                if not isinstance(function, ast.FunctionDef) or not self._is_handed_back(tensor.id, function):
                    return True
            elif isinstance(self.module.statement(binding.node), LOOPS):
                return True  # one of several that are kept elsewhere
            elif isinstance(value, PLACES) and not isinstance(self.module.value(value), ast.Call):
                return True
        return False

    def _is_handed_back(self, name: str, function: ast.FunctionDef) -> bool:
        """Whether a function returns what becomes of a parameter, and its calls take that."""
        returned = returned_values(self.module, function)
        reads = [{part.id for part in ast.walk(value) if isinstance(part, ast.Name)} for value in returned if value]
        calls = self.variables.calls_of(function)
        is_taken = not any(isinstance(self.module.parent_of[call], ast.Expr) for call in calls)
        return bool(reads) and len(reads) == len(returned) and all(name in read for read in reads) and is_taken

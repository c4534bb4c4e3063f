"""RM856: all_gather() into a list that the script makes for it becomes accelerator.gather(), which gives what is read.

`gathered = [torch.zeros_like(x) for _ in range(size)]`, `dist.all_gather(gathered, x)` and `torch.cat(gathered)` are
one tensor; with one process accelerator.gather() gives `x` itself. The objects of all_gather_object() stay a list.
"""

from __future__ import annotations

import ast

from raymigrate.codemods.to_accelerate.changes import Changes
from raymigrate.codemods.to_accelerate.gathered_order import GatheredOrder
from raymigrate.codemods.to_accelerate.gradients import JOINS, Gradients
from raymigrate.codemods.to_accelerate.held_tensors import PLACES
from raymigrate.codemods.to_accelerate.obstacles import not_converted
from raymigrate.codemods.to_accelerate.rules import RM856, Refusal
from raymigrate.codemods.to_accelerate.training import Training
from raymigrate.facts.values import argument, called_name, is_none

ALL_GATHER = "torch.distributed.all_gather"
ALL_GATHER_OBJECT = "torch.distributed.all_gather_object"
GATHER_OBJECT = "accelerate.utils.gather_object"


class GatheredLists:
    """What processes gather into lists.

    Args:
        training: What is trained.
    """

    def __init__(self, training: Training) -> None:
        self.module = training.module
        self.gradients = Gradients(training)
        self.order = GatheredOrder(training)

    def convert(self, changes: Changes) -> None:
        """Plans the edits.

        Raises:
            Refusal: If something else is done with such a list, or it is not seen where it is made.
        """
        for call in self.module.calls(ALL_GATHER):
            gathered, given = self._parts(call, "tensor_list", "tensor")
            joins = [self._join(use) for use in self._uses(call, gathered)]
            if not isinstance(given, PLACES) or None in joins:
                raise Refusal(call, not_converted(ALL_GATHER))
            changes.converted(RM856, call, "all_gather() becomes accelerator.gather(), which gives one tensor.")
            changes.kept.add(given)
            # all_gather() filled tensors without a gradient; in one process gather() gives what it is given.
            rest = ".detach()" if self.gradients.may_have(given) else ""
            self._fill(changes, call, gathered, f"accelerator.gather({self.module.source(given)}){rest}")
            for join in joins:
                changes.replace(join, gathered.id)  # type: ignore[arg-type]
        for call in self.module.calls(ALL_GATHER_OBJECT):
            gathered, given = self._parts(call, "object_list", "obj")
            objects = given.elts if isinstance(given, (ast.Tuple, ast.List)) else [given] if given else []
            if given is None or not objects or not all(isinstance(each, PLACES) for each in objects):
                raise Refusal(call, not_converted(ALL_GATHER_OBJECT))
            for use in self._uses(call, gathered):
                self.order.check(use)
            changes.converted(RM856, call, f"all_gather_object() becomes {GATHER_OBJECT}(), which gives the list.")
            changes.kept.update(objects)
            changes.edits.append(lambda: changes.context.plan.need_import("accelerate.utils"))
            self._fill(changes, call, gathered, f"{GATHER_OBJECT}([{self.module.source(given)}])")

    def _parts(self, call: ast.Call, into: str, what: str) -> tuple[ast.Name, ast.expr | None]:
        """The list that a call fills, which a statement before it makes for that alone, and what is gathered."""
        gathered, group, later = argument(call, 0, into), argument(call, 2, "group"), argument(call, 3, "async_op")
        is_plain = (
            self.module.is_statement(call)
            and is_none(group)
            and (later is None or self.module.constant(later) is False)
        )
        if not isinstance(gathered, ast.Name) or not is_plain or self._maker(gathered) is None:
            raise Refusal(call, not_converted(called_name(self.module, call)))
        return gathered, argument(call, 1, what)

    def _maker(self, gathered: ast.Name) -> ast.Assign | None:
        """The statement that makes a list in the block of the call: `[torch.zeros_like(x) for _ in range(size)]`."""
        bound = self.module.definition(gathered)
        made = self.module.parent_of[bound] if bound is not None else None
        if not isinstance(made, ast.Assign) or len(made.targets) != 1:
            return None
        is_beside = self.module.parent_of[made] is self.module.parent_of[self.module.statement(gathered)]
        is_repeated = isinstance(made.value, ast.BinOp) and isinstance(made.value.op, ast.Mult)
        return made if is_beside and (is_repeated or isinstance(made.value, ast.ListComp)) else None

    def _uses(self, call: ast.Call, gathered: ast.Name) -> list[ast.Name]:
        """What else reads the list that a call fills."""
        bound = self.module.definition(gathered)
        uses = [use for use in self.module.uses_of(gathered) if use is not gathered]
        mine = [use for use in uses if self.module.definition(use) in (bound, None)]
        if any(self.module.start(use) < self.module.start(call) for use in mine):
            raise Refusal(call, not_converted(called_name(self.module, call)))
        return mine

    def _join(self, use: ast.Name) -> ast.Call | None:
        """The call that makes one tensor of a list, along its first dimension."""
        call = self.module.parent_of[use]
        if not isinstance(call, ast.Call) or self.module.qualified(call.func) not in JOINS or call.args[:1] != [use]:
            return None
        dimension = argument(call, 1, "dim", "axis")
        return call if dimension is None or self.module.constant(dimension) == 0 else None

    def _fill(self, changes: Changes, call: ast.Call, gathered: ast.Name, value: str) -> None:
        made = self._maker(gathered)
        assert made is not None
        changes.drop(made)
        changes.restate(self.module.statement(call), f"{gathered.id} = {value}")

"""RM856: all_gather() into a list that the script makes for it becomes accelerator.gather(), which gives what is read.

`gathered = [torch.zeros_like(x) for _ in range(size)]`, `dist.all_gather(gathered, x)` and `torch.cat(gathered)` are
one tensor; with one process accelerator.gather() gives `x` itself. The objects of all_gather_object() stay a list.
"""

import ast

from raymigrate.codemods.to_accelerate.changes import Changes
from raymigrate.codemods.to_accelerate.gradients import JOINS, Gradients
from raymigrate.codemods.to_accelerate.held_tensors import PLACES
from raymigrate.codemods.to_accelerate.obstacles import not_converted
from raymigrate.codemods.to_accelerate.rules import RM856, Refusal
from raymigrate.codemods.to_accelerate.sides import Side
from raymigrate.codemods.to_accelerate.training import Training
from raymigrate.facts.syntax.nodes import Assignment, is_assignment, only_target, targets_of
from raymigrate.facts.values import argument, called_name, is_none

ALL_GATHER = "torch.distributed.all_gather"
ALL_GATHER_OBJECT = "torch.distributed.all_gather_object"
GATHER_OBJECT = "accelerate.utils.gather_object"
# What takes all that was gathered, one process after the other.
TAKE_ALL = frozenset({"sum", "len", "any", "all", "max", "min", "print", "list", "tuple", "set"})
JOIN = frozenset({"chain", "from_iterable", "cat", "concat", "concatenate", "hstack", "vstack", "mean", "sum"})
ROWS = (
    "what the processes gather is read by their numbers or side by side, as where the rows of a DistributedSampler are"
    " put back into their order; the Accelerator gives each process whole batches in turn, and that order would be"
    " another"
)


class GatheredLists:
    """What processes gather into lists.

    Args:
        training: What is trained.
    """

    def __init__(self, training: Training) -> None:
        self.module = training.module
        self.gradients = Gradients(training)
        self.order = _GatheredOrder(training)

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

    def _maker(self, gathered: ast.Name) -> Assignment | None:
        """The statement that makes a list in the block of the call: `[torch.zeros_like(x) for _ in range(size)]`."""
        bound = self.module.definition(gathered)
        made = self.module.parent_of[bound] if bound is not None else None
        if not is_assignment(made) or only_target(made) is None:
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


class _GatheredOrder(Side):
    """The order of what processes gather."""

    def check(self, node: ast.expr, seen: frozenset[ast.AST] = frozenset()) -> None:
        """Looks at what is done with a list that has an item of each process.

        Args:
            node: What gives the list.
            seen: What is being followed.

        Raises:
            Refusal: If that may count on the order of the rows.
        """
        parent = self.module.parent_of[node]
        if node in seen or self._takes_all(node, parent):
            return
        seen |= {node}
        targets = targets_of(parent) if is_assignment(parent) else []
        variable = self.variables.spelled(targets[0]) if len(targets) == 1 else None
        function = self.module.function(node) if isinstance(parent, ast.Return) else None
        if variable is not None:
            passed: list[ast.expr] = list(self.variables.reads(variable))
        elif function is not None and len(calls := self.module.calls_of(function)) == len(
            self.module.uses_of(function)
        ):
            passed = list(calls)
        else:
            raise Refusal(node, ROWS)
        for use in passed:
            self.check(use, seen)

    def _takes_all(self, node: ast.expr, parent: ast.AST) -> bool:
        """Whether something reads the processes one after the other, or one that it names."""
        if isinstance(parent, (ast.For, ast.comprehension)):
            return parent.iter is node
        if isinstance(parent, ast.Subscript):
            around = self.module.parent_of[parent]
            is_zipped = isinstance(around, (ast.Call, ast.Starred)) and "zip" in ast.unparse(
                around.func if isinstance(around, ast.Call) else self.module.parent_of[around]
            )
            return parent.value is node and type(self.module.constant(parent.slice)) is int and not is_zipped
        starred = isinstance(parent, ast.Starred)
        call = self.module.parent_of[parent] if starred else parent
        if not isinstance(call, ast.Call) or node is call.func:
            return isinstance(parent, ast.Expr)
        name = self.module.qualified(call.func)
        if name is None:
            called = call.func.id if isinstance(call.func, ast.Name) else ""
            return not starred and (called in TAKE_ALL or (called == "map" and not call.args[2:]))
        return name.rpartition(".")[2] in JOIN and (not starred or name.endswith("chain"))

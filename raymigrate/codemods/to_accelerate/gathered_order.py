"""What reads the list that processes gather: not what counts on the order in which a DistributedSampler gave rows."""

import ast

from raymigrate.codemods.to_accelerate.rules import Refusal
from raymigrate.codemods.to_accelerate.sides import Side

# What takes all that was gathered, one process after the other.
TAKE_ALL = frozenset({"sum", "len", "any", "all", "max", "min", "print", "list", "tuple", "set"})
JOIN = frozenset({"chain", "from_iterable", "cat", "concat", "concatenate", "hstack", "vstack", "mean", "sum"})
ROWS = (
    "what the processes gather is read by their numbers or side by side, as where the rows of a DistributedSampler are"
    " put back into their order; the Accelerator gives each process whole batches in turn, and that order would be"
    " another"
)


class GatheredOrder(Side):
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
        targets = parent.targets if isinstance(parent, ast.Assign) else []
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

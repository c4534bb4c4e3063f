"""RM856: a DistributedSampler that a function returns beside its loader, as `return loader, sampler`."""

import ast

from raymigrate.codemods.to_accelerate.changes import Changes
from raymigrate.codemods.to_accelerate.sides import Side
from raymigrate.codemods.to_accelerate.variables import Variable
from raymigrate.facts.projects.callers import reads_elsewhere
from raymigrate.facts.syntax.functions import returned_values
from raymigrate.facts.syntax.nodes import is_assignment, only_target
from raymigrate.facts.values import has_starred


class ReturnedSamplers(Side):
    """The functions that return samplers which go.

    Args:
        training: What is trained.
    """

    def take_out(self, changes: Changes, samplers: list[Variable]) -> dict[Variable, list[ast.stmt]]:
        """Takes samplers out of the tuples that functions return, where every call takes these apart.

        Args:
            changes: What is planned.
            samplers: The variables that hold the samplers.

        Returns:
            The variables to which the calls gave them, each with the statements that did.
        """
        found: dict[Variable, list[ast.stmt]] = {}
        places: dict[ast.FunctionDef, set[int]] = {}
        for sampler in samplers:
            for read in self.variables.reads(sampler):
                parent, function = self.module.parent_of[read], self.module.function(read)
                is_returned = isinstance(parent, ast.Tuple) and isinstance(self.module.parent_of[parent], ast.Return)
                if isinstance(parent, ast.Tuple) and is_returned and isinstance(function, ast.FunctionDef):
                    places.setdefault(function, set()).add(parent.elts.index(read))
        for function, items in places.items():
            returned = self._tuples(returned_values(self.module, function))
            taken = self._taken(function)
            lengths = {len(values.elts) for values in (*returned, *taken)}
            if not returned or not taken or len(lengths) != 1 or reads_elsewhere(self.module, function):
                continue
            names = [(target, self.variables.spelled(target.elts[item])) for target in taken for item in items]
            named = [(target, name) for target, name in names if name is not None]
            if len(items) in lengths or len(named) < len(names):
                continue  # nothing would be left of the tuple, or what reads a sampler cannot be seen
            for target, name in named:
                found.setdefault(name, []).append(self.module.statement(target))
            for values in (*returned, *taken):
                left = [value for number, value in enumerate(values.elts) if number not in items]
                parts = {f"value_{number}": value for number, value in enumerate(left)}
                changes.replace(values, ", ".join(f"${part}" for part in parts), **parts)
        return found

    def _tuples(self, values: list[ast.expr | None]) -> list[ast.Tuple]:
        """The tuples among some values; none where others are among them, or parts of one are not seen."""
        tuples = [value for value in values if isinstance(value, ast.Tuple) and not has_starred(value.elts)]
        return tuples if len(tuples) == len(values) else []

    def _taken(self, function: ast.FunctionDef) -> list[ast.Tuple]:
        """What the calls of a function assign its tuple to, item by item; none where one does otherwise."""
        targets = list[ast.expr | None]()
        for use in self.module.uses_of(function):
            call = self.module.parent_of[use]
            statement = self.module.parent_of.get(call)
            is_assigned = is_assignment(statement) and statement.value is call
            targets.append(only_target(statement) if is_assigned else None)
        return self._tuples(targets) if not function.decorator_list else []

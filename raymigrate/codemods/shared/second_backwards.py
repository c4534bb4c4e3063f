"""RM828 and RM858: a second backward() through one run of a model, which DistributedDataParallel does not average.

It averages gradients in the first backward() after a run of the model. What a later one adds stays that of one process,
nothing is raised, and the weights of the processes drift apart (measured with torch 2.13 and two processes on gloo).
"""

import ast
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping

from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import names_in, targets_of

LOOPS = (ast.For, ast.While)
CUT = frozenset({"detach", "item", "numpy", "tolist", "argmax"})  # what gives a value without its graph
MESSAGE = (
    "A model that has run once goes through two backward() here: under several processes the gradients of the first are"
    " averaged alone, those of this one stay of each process, and their weights drift apart, with no error."
)
ADVICE = (
    "Where the gradients of both are added up, call backward() once, on the sum of the losses; else let the model run"
    " once more before this one."
)
Models = Callable[[ast.expr], Collection[Hashable]]


def second_backwards(module: Module, losses: Mapping[ast.Call, ast.expr], models: Models) -> Iterator[ast.Call]:
    """The calls of backward() that go through a run of a model through which an earlier one has gone.

    Args:
        module: The module.
        losses: The calls of backward(), each with its loss.
        models: Which models an expression that is called stands for; none of anything else.
    """
    graphs = _Graphs(module, losses, models)
    calls = sorted(losses, key=module.start)
    for number, later in enumerate(calls):
        if any(graphs.is_run_again(earlier, later) for earlier in calls[:number]):
            yield later


class _Graphs:
    """From which runs of the models losses are computed: see `second_backwards`."""

    def __init__(self, module: Module, losses: Mapping[ast.Call, ast.expr], models: Models) -> None:
        self.module = module
        self.losses = losses
        self.models = models
        self._of_loops: dict[ast.AST, list[ast.Assign | ast.AnnAssign | ast.AugAssign]] = {}
        self._of_losses: dict[ast.Call, dict[ast.Call, Collection[Hashable]]] = {}

    def is_run_again(self, earlier: ast.Call, later: ast.Call) -> bool:
        """Whether a backward() goes through a run of a model through which an earlier one has gone."""
        loop = self._loop(earlier)
        if loop is None or loop is not self._loop(later) or self._are_alternatives(earlier, later):
            return False
        first, second = self._runs(earlier, loop), self._runs(later, loop)
        done = {model for models in first.values() for model in models}
        again = (run for run, models in second.items() if not done.isdisjoint(models))
        return any(self.module.start(run) < self.module.start(earlier) for run in again)

    def _loop(self, node: ast.AST) -> ast.AST | None:
        """The innermost loop around code of one function."""
        function = self.module.function(node)
        around = (parent for parent in self.module.ancestors(node) if isinstance(parent, LOOPS))
        return next((parent for parent in around if self.module.function(parent) is function), None)

    def _are_alternatives(self, one: ast.AST, other: ast.AST) -> bool:
        """Whether code stands in the two branches of an `if`."""
        for parent in self.module.ancestors(one):
            if isinstance(parent, ast.If) and self.module.inside(other, parent):
                sides = [any(self.module.inside(node, part) for part in parent.body) for node in (one, other)]
                return sides[0] != sides[1]
        return False

    def _runs(self, backward: ast.Call, loop: ast.AST) -> dict[ast.Call, Collection[Hashable]]:
        """The calls of models that a loss comes from, in the loop around its backward(), each with the models."""
        if backward not in self._of_losses:
            self._of_losses[backward] = self._found(self.losses[backward], loop)
        return self._of_losses[backward]

    def _found(self, loss: ast.expr, loop: ast.AST) -> dict[ast.Call, Collection[Hashable]]:
        found: dict[ast.Call, Collection[Hashable]] = {}
        waiting: list[ast.AST] = [loss]
        seen: set[ast.AST] = set()  # each value is followed once, however often sums of sums lead to it
        while waiting:
            node = waiting.pop()
            if node in seen or isinstance(node, ast.Lambda):
                continue
            seen.add(node)
            if isinstance(node, ast.Call):
                if getattr(node.func, "attr", "") in CUT:
                    continue
                if models := self.models(node.func):
                    found[node] = models
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                waiting += self._given(node, loop)
            waiting += ast.iter_child_nodes(node)
        return found

    def _assignments(self, loop: ast.AST) -> list[ast.Assign | ast.AnnAssign | ast.AugAssign]:
        """The assignments in a loop, in source order."""
        if loop not in self._of_loops:
            below = self.module.below(loop)
            found = [part for part in below if isinstance(part, (ast.Assign, ast.AnnAssign, ast.AugAssign))]
            self._of_loops[loop] = sorted(found, key=self.module.start)
        return self._of_loops[loop]

    def _given(self, name: ast.Name, loop: ast.AST) -> list[ast.expr]:
        """What a name has got last before it is read here, in the loop."""
        here = self.module.start(name)
        values: list[ast.expr] = []
        for statement in reversed(self._assignments(loop)):
            if self.module.end(statement) > here or statement.value is None:
                continue
            targets = targets_of(statement)
            given = [value for target in targets for value in _parts(target, statement.value, name.id)]
            values += given
            if given and not isinstance(statement, ast.AugAssign):
                break
        return values


def _parts(target: ast.expr, value: ast.expr, name: str) -> list[ast.expr]:
    """What a name gets where a value is assigned, of a tuple its own part."""
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        pairs = zip(target.elts, value.elts, strict=True)
        return [part for one, other in pairs for part in _parts(one, other, name)]
    return [value] if name in names_in(target) else []

"""RM858: sums, lists and progress bars of a training loop, which are those of one process under several."""

import ast
from collections.abc import Collection, Iterator
from functools import cached_property

from raymigrate.codemods.to_accelerate.changes import Changes
from raymigrate.codemods.to_accelerate.rules import RM858
from raymigrate.codemods.to_accelerate.sides import Side
from raymigrate.codemods.to_accelerate.training import Loop, Training
from raymigrate.facts.syntax.nodes import is_assignment, names_in, only_target, targets_of
from raymigrate.facts.values import all_arguments, class_named, is_call_by_name, is_method_call, reaching

ADDS_UP = tuple(f"torch.distributed.{name}" for name in ("all_reduce", "all_gather", "all_gather_object", "reduce"))
FILLS = ("append", "extend", "update", "add", "add_batch")


class OneProcess(Side):
    """What a training loop counts or shows.

    Args:
        training: What is trained.
        loops: The loops that train.
    """

    def __init__(self, training: Training, loops: list[Loop]) -> None:
        super().__init__(training)
        self.loops = loops

    def tell(self, changes: Changes, counted: Collection[Loop]) -> None:
        """Plans the findings.

        Args:
            changes: The edits of the conversion.
            counted: The loops whose rows are gathered before they are counted.
        """
        for loop in self.loops:
            for node, target in self.added(loop) if loop not in counted else ():
                changes.note(
                    RM858,
                    node,
                    f"With several processes `{ast.unparse(target)}` counts the batches of one of them, a part of the"
                    " rows.",
                )
                break
        for call in self.module.of_type(ast.Call):
            if self.training.is_bar(call) and any(map(self._is_length, self._counted_by(call))):
                changes.note(
                    RM858, call, "With several processes the bar stops before its end: each of them takes fewer steps."
                )

    def added(self, loop: Loop) -> Iterator[tuple[ast.AST, ast.expr]]:
        """What a loop adds to from batch to batch, with where; a sum of losses begins anew in each."""
        below = list(self.module.below(loop.node))
        stores = [n for n in below if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
        anew = {name.id for name in stores if not self._goes_on(self.module.parent_of[name])}
        single = {name.id for name in stores if name.id in anew and not self._is_reset(name, loop)}
        of_all = self._of_all_processes(loop.node)
        target: ast.expr
        for node in below:
            if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
                target, added = node.target, [node.value]
            elif is_assignment(node) and self._goes_on(node):
                target, added = targets_of(node)[0], [node.value]
            elif is_method_call(node, *FILLS):
                target, added = node.func.value, all_arguments(node)
            else:
                continue
            parts = [part for value in added for part in ast.walk(value)]
            names = {part.id for part in parts if isinstance(part, ast.Name)}
            is_of_all = any(self.adds_up(part) for part in parts if isinstance(part, ast.Call))
            is_single = isinstance(target, ast.Name) and target.id in single
            is_own = is_single or is_of_all or self._is_added_up(target)
            if names & anew and not names & of_all and not is_own and not self._is_tool(target):
                yield node, target

    def _is_reset(self, name: ast.Name, loop: Loop) -> bool:
        """Whether a sum goes on here, or begins again after some batches: `if step % 100 == 0: running = 0.0`."""
        statement = self.module.parent_of[name]
        if self._goes_on(statement):
            return True
        around = self.module.ancestors(name)
        is_chosen = any(isinstance(parent, ast.If) and self.module.inside(parent, loop.node) for parent in around)
        value = statement.value if is_assignment(statement) else None
        return is_chosen and isinstance(value, (ast.Constant, ast.List))

    def _goes_on(self, statement: ast.AST) -> bool:
        """Whether a statement goes on from the value of what it binds: `total += loss`, `mean = 0.9 * mean + loss`."""
        if isinstance(statement, ast.AugAssign):
            return True
        only = only_target(statement)
        if not is_assignment(statement) or only is None:
            return False
        target, waiting = ast.unparse(only), [statement.value]
        while waiting:
            part = waiting.pop()
            if isinstance(part, ast.BinOp):
                waiting += [part.left, part.right]
            elif part is not statement.value and ast.unparse(part) == target:
                return True
        return False

    def _is_tool(self, target: ast.expr) -> bool:
        """Whether something counts no rows, as a progress bar or a GradScaler, or adds them up over all processes."""
        makers = [maker for variable in self.variables.of(target) for maker in self.variables.makers(variable)]
        value = self.module.value(target)
        calls = [node for node in (*makers, value) if isinstance(node, ast.Call)]
        return any(self.training.is_bar(c) or self.training.is_scaler(c) or self._is_of_all(c) for c in calls)

    def _is_of_all(self, made: ast.Call) -> bool:
        """Whether the class of an object has a method that adds up over all processes."""
        home, definition = class_named(self.module, made.func) or (self.module, None)
        return definition is not None and any(home.inside(call, definition) for call in home.calls(*ADDS_UP))

    def _is_added_up(self, target: ast.expr) -> bool:
        """Whether the script adds up what a sum, a slot of a tensor or of a dict, holds over all processes itself."""
        return ast.unparse(whole(target)) in self._added_up

    @cached_property
    def _added_up(self) -> frozenset[str]:
        """What the script adds up over all processes, itself or by a function of its own, as it is spelled."""
        adding = [*self.module.calls(*ADDS_UP)]
        adding += [call for call in self.module.of_type(ast.Call) if self.adds_up(call)]
        waiting = [value for call in adding for value in all_arguments(call)]
        found: set[str] = set()
        while waiting:
            for part in ast.walk(waiting.pop()):
                if isinstance(part, (ast.Name, ast.Attribute)) and (spelled := ast.unparse(part)) not in found:
                    found.add(spelled)
                    if isinstance(part, ast.Name):  # sums = torch.tensor([loss, rows])
                        made = (self.module.assigned(binding.node) for binding in reaching(self.module, part))
                        waiting += [value for value in made if value is not None]
        return frozenset(found)

    def _of_all_processes(self, loop: ast.AST) -> set[str]:
        """The names in a loop of what the script adds up over all processes itself, or has a function of its own do."""
        here = self.module.function(loop)
        sums = [call for call in self.module.calls(*ADDS_UP) if self.module.function(call) is here]
        found = {name for call in sums for name in names_in(call)}
        for statement in self.module.below(loop):
            if is_assignment(statement):
                calls = [part for part in ast.walk(statement.value) if isinstance(part, ast.Call)]
                if any(map(self.adds_up, calls)):
                    parts = [part for target in targets_of(statement) for part in ast.walk(target)]
                    found |= {part.id for part in parts if isinstance(part, ast.Name)}
        return found

    def adds_up(self, call: ast.Call) -> bool:
        """Whether a function of the project, which is called, adds up over all processes."""
        module, function = self.module, self.variables.called(call)
        if function is None and (definition := module.elsewhere(call.func)) is not None:
            module, function = definition.module, definition.function
        return function is not None and any(module.inside(inner, function) for inner in module.calls(*ADDS_UP))

    def _counted_by(self, bar: ast.Call) -> Iterator[ast.Name]:
        """The names from which a bar knows how many steps there are."""
        totals = [node for node in bar.args[:1] if isinstance(node, ast.Call) and ast.unparse(node.func) == "range"]
        for total in (*totals, *(keyword.value for keyword in bar.keywords if keyword.arg == "total")):
            yield from (part for part in ast.walk(total) if isinstance(part, ast.Name))

    def _is_length(self, name: ast.Name) -> bool:
        value = self.module.value(name)
        return value is not name and any(
            is_call_by_name(part, "len")
            and bool(part.args)
            and self.training.is_loaders(self.variables.of(part.args[0]))
            for part in ast.walk(value)
        )


def whole(target: ast.expr) -> ast.expr:
    """The tensor, list or dict that a slot is of: `sums` of `sums[0]`."""
    while isinstance(target, ast.Subscript):
        target = target.value
    return target

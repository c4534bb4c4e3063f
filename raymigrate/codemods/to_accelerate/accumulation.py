"""Gradient accumulation: accelerator.accumulate() where it trains as the loop did, else the loop's own condition."""

import ast

from raymigrate.codemods.to_accelerate.changes import Changes
from raymigrate.codemods.to_accelerate.rules import RM853
from raymigrate.codemods.to_accelerate.sides import Side
from raymigrate.codemods.to_accelerate.training import Loop
from raymigrate.codemods.to_accelerate.variables import Variable
from raymigrate.facts.syntax.nodes import is_assignment, is_negation, only_target
from raymigrate.facts.values import is_method_call


class Accumulation(Side):
    """The condition under which the optimizer of a loop takes a step.

    Args:
        training: What is trained.
    """

    def convert(self, changes: Changes, prepared_schedulers: frozenset[Variable]) -> ast.expr | None:
        """Plans the edits.

        Returns:
            The `gradient_accumulation_steps=` of the Accelerator; None where it has none.
        """
        found = None
        for call in self.training.backwards:
            loop = self.training.training_loop(call)
            if loop is None or not self.module.inside(call, loop.node):
                continue
            condition = self._condition(loop)
            if condition is None or self.module.inside(call, condition):  # `if phase == "train":` around both
                continue
            steps = self._steps_with_tail(condition.test, loop)
            divisions = self._divisions(loop, steps) if steps is not None else None
            if steps is None or divisions is None or not self._can_be_named(steps) or len(self.training.models) != 1:
                changes.note(
                    RM853,
                    condition,
                    "The loop accumulates gradients by its own condition, which stays, and so does the division of the"
                    " loss: accelerator.accumulate() would take other steps.",
                )
                continue
            changes.converted(RM853, condition, "The loop accumulates gradients: accelerator.accumulate() does so now.")
            self._accumulate(changes, loop, condition, divisions, prepared_schedulers)
            changes.kept.add(steps)
            found = steps
        return found

    def _condition(self, loop: Loop) -> ast.If | None:
        """The `if` in the body of a loop under which its optimizer takes a step."""
        for statement in loop.node.body:
            if isinstance(statement, ast.If) and not statement.orelse:
                steps = [c for c in self.training.method_calls("step") if self.module.inside(c, statement)]
                optimizers = set(self.training.optimizers)
                if any(self.variables.of(c.func.value) & optimizers for c in steps):  # type: ignore[attr-defined]
                    return statement
        return None

    def _steps_with_tail(self, test: ast.expr, loop: Loop) -> ast.expr | None:
        """The number of batches for each step, if the last batch of an epoch always makes one as well."""
        if not isinstance(test, ast.BoolOp) or not isinstance(test.op, ast.Or) or len(test.values) != 2:
            return None
        if loop.index is None or loop.start not in (0, 1):
            return None
        for first, second in (test.values, test.values[::-1]):
            steps = self._every(first, loop)
            if steps is not None and self._is_last(second, loop):
                return steps
        return None

    def _every(self, test: ast.expr, loop: Loop) -> ast.expr | None:
        """`k` of `(i + 1) % k == 0` or of `not (i + 1) % k`."""
        if is_negation(test):
            remainder = test.operand
        elif self._equals(test) and self.module.constant(test.comparators[0]) == 0:  # type: ignore[attr-defined]
            remainder = test.left  # type: ignore[attr-defined]
        else:
            return None
        if not isinstance(remainder, ast.BinOp) or not isinstance(remainder.op, ast.Mod):
            return None
        return remainder.right if self._counted(remainder.left, loop) == 1 else None

    def _is_last(self, test: ast.expr, loop: Loop) -> bool:
        """Whether a condition holds for the last batch alone: `i + 1 == len(loader)`, `i == len(loader) - 1`."""
        if not self._equals(test):
            return False
        assert isinstance(test, ast.Compare)
        for one, other in ((test.left, test.comparators[0]), (test.comparators[0], test.left)):
            counted, short = self._counted(one, loop), 0
            if isinstance(other, ast.BinOp) and isinstance(other.op, ast.Sub):
                taken = self.module.constant(other.right)
                other, short = other.left, taken if isinstance(taken, int) else 1 << 30
            if counted is not None and counted + short == 1 and self._is_length(other, loop):
                return True
        return False

    def _equals(self, test: ast.expr) -> bool:
        return isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq)

    def _counted(self, node: ast.expr, loop: Loop) -> int | None:
        """By how much an expression is ahead of a count of batches that begins with 0: 1 for `i + 1`."""
        ahead = 0
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            added = self.module.constant(node.right)
            if not isinstance(added, int):
                return None
            node, ahead = node.left, added
        index = loop.index
        if not isinstance(node, ast.Name) or index is None or self.module.definition(node) is not index:
            return None
        assert isinstance(loop.start, int)
        return ahead + loop.start

    def _is_length(self, node: ast.expr, loop: Loop) -> bool:
        node = self.module.value(node)
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.func.id != "len":
            return False
        homes = self.variables.of(node.args[0]) if node.args else frozenset()
        return bool(homes) and homes == self.variables.of(loop.loaders[0][0])

    # -- the division --------------------------------------------------------------------------

    def _divisions(self, loop: Loop, steps: ast.expr) -> list[tuple[ast.AST, ast.expr]] | None:
        """The one place where the loss is divided by the number of steps, with what is divided there.

        None where it is not divided, or where the divided loss is read by more than backward().
        """
        backwards = [call for call in self.training.backwards if self.module.inside(call, loop.node)]
        if len(backwards) != 1:
            return None
        loss = self._loss(backwards[0])
        if self._is_divided(loss, steps):
            assert isinstance(loss, ast.BinOp)
            return [(loss, loss.left)]
        if not isinstance(loss, ast.Name):
            return None
        for statement in loop.node.body:
            divided = self._divided_by(statement, loss.id, steps)
            if divided is not None and not self._read_below(loop, statement, loss):
                return [(statement, divided)]
        return None

    def _loss(self, call: ast.Call) -> ast.expr:
        assert isinstance(call.func, ast.Attribute)
        owner = call.func.value
        return owner.args[0] if is_method_call(owner, "scale") and owner.args else owner

    def _is_divided(self, node: ast.expr, steps: ast.expr) -> bool:
        is_division = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)
        return is_division and ast.unparse(node.right) == ast.unparse(steps)  # type: ignore[attr-defined]

    def _divided_by(self, statement: ast.stmt, loss: str, steps: ast.expr) -> ast.expr | None:
        """What a statement divides to give the loss: `loss = loss / k`, `loss /= k`, `loss = criterion(...) / k`."""
        if isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Div):
            target, same = statement.target, ast.unparse(statement.value) == ast.unparse(steps)
            return target if same and isinstance(target, ast.Name) and target.id == loss else None
        if is_assignment(statement):
            named = only_target(statement)
            if isinstance(named, ast.Name) and named.id == loss and self._is_divided(statement.value, steps):
                assert isinstance(statement.value, ast.BinOp)
                return statement.value.left
        return None

    def _read_below(self, loop: Loop, statement: ast.stmt, loss: ast.Name) -> bool:
        reads = self.module.uses_of(loss)
        line = self.module.start(statement)[0]
        return any(r is not loss and self.module.start(r)[0] > line for r in reads if self.module.inside(r, loop.node))

    def _can_be_named(self, steps: ast.expr) -> bool:
        """Whether the number of steps can be written where the Accelerator is made: a number, or a name for one."""
        return isinstance(steps, (ast.Constant, ast.Name, ast.Attribute))

    # -- edits ---------------------------------------------------------------------------------

    def _accumulate(
        self,
        changes: Changes,
        loop: Loop,
        condition: ast.If,
        divisions: list[tuple[ast.AST, ast.expr]],
        prepared: frozenset[Variable],
    ) -> None:
        for place, divided in divisions:
            if isinstance(place, ast.expr):
                changes.replace(place, "$loss", loss=divided)
            elif isinstance(divided, ast.Name) and isinstance(place, (ast.AugAssign, ast.Assign, ast.AnnAssign)):
                changes.drop(place)
            elif is_assignment(place):
                changes.replace(place.value, "$loss", loss=divided)
        body = loop.node.body
        if all(self._is_step(statement, prepared) for statement in condition.body):
            changes.instead(condition, condition.body)
        else:
            changes.replace(condition.test, "accelerator.sync_gradients")
        call = next(c for c in self.training.backwards if self.module.inside(c, loop.node))
        model = self._model_name(call)
        changes.put_into(body[: body.index(condition) + 1], f"with accelerator.accumulate({model}):")

    def _model_name(self, call: ast.Call) -> str:
        """The name of the model where the loop is."""
        model = self.training.models[0]
        function = self.module.function(call)
        names = {
            node.id
            for node in self.module.of_type(ast.Name)
            if self.module.function(node) is function and self.variables.of(node) == {model}
        }
        return min(names, default=model.name)

    def _is_step(self, statement: ast.stmt, prepared: frozenset[Variable]) -> bool:
        """Whether a statement is a step of what is prepared, which counts batches by itself."""
        if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
            return False
        func = statement.value.func
        if not isinstance(func, ast.Attribute) or func.attr not in ("step", "zero_grad"):
            return False
        return self.variables.of(func.value) <= ({*self.training.optimizers} | prepared)

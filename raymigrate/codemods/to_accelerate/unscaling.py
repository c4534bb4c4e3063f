"""scaler.unscale_(): what the loop does with its gradients between that and the step."""

import ast
from collections.abc import Mapping

from raymigrate.codemods.to_accelerate.changes import Changes
from raymigrate.codemods.to_accelerate.clipping import clips_gradients, is_taken
from raymigrate.codemods.to_accelerate.home import blocks_around
from raymigrate.codemods.to_accelerate.rules import RM852, Refusal
from raymigrate.codemods.to_accelerate.sides import Side
from raymigrate.codemods.to_accelerate.training import Training
from raymigrate.facts.syntax.nodes import LEAVES, blocks
from raymigrate.facts.values import last_name

SIMPLE = (ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign)
NUMBERS = frozenset({"float", "item", "detach", "cpu"})  # what is done with the norm that a clipping returns


class Unscaling(Side):
    """The calls of `unscale_()` in one training.

    accelerator.clip_grad_norm_() unscales by itself, and may be called once for each step. Where the loop does more
    with its gradients, `accelerator.unscale_gradients()` comes in place of `unscale_()`, and torch's functions stay.

    Args:
        training: What is trained.
        scaler_calls: The calls of methods of its GradScalers.

    Attributes:
        is_written: Whether gradients are unscaled where the loop says so, and not by accelerator.clip_grad_norm_().
        clips_often: Whether some are clipped in rounds that take no step, while they are accumulated.
    """

    def __init__(self, training: Training, scaler_calls: Mapping[ast.Call, str]) -> None:
        super().__init__(training)
        self.scaler_calls = scaler_calls
        self.calls = [call for call, method in scaler_calls.items() if method == "unscale_"]
        self.clips = [call for call in self.module.of_type(ast.Call) if clips_gradients(self.module, call)]
        self.followed: set[ast.Call] = set()  # clippings that follow an unscale_()
        quiet = [self._is_quiet(call) for call in self.calls]
        others = set(self.clips) - self.followed - self._in_plain()
        self.clips_often = bool(scaler_calls) and self._clips_without_step()
        self.is_written = (
            not all(quiet)
            or bool(self.calls and others)
            or (bool(scaler_calls) and self._clips_twice())
            or self.clips_often
        )

    def _clips_twice(self) -> bool:
        """Whether two clippings stand in one block: only one of the Accelerator's may come before a step."""
        alone = [clip for clip in self.clips if clip not in self.followed]
        blocks = {id(next(blocks_around(self.module, clip))[0]) for clip in alone}
        return len(blocks) < len(alone)

    def _clips_without_step(self) -> bool:
        """Whether a clipping runs where no step may follow: unscaling a second time before a step is a RuntimeError."""
        steps = [self._conditions(call) for call, method in self.scaler_calls.items() if method == "step"]
        plain = self._in_plain()
        alone = [clip for clip in self.clips if clip not in self.followed and clip not in plain]
        return bool(steps) and any(not any(step <= self._conditions(clip) for step in steps) for clip in alone)

    def _conditions(self, node: ast.AST) -> frozenset[str]:
        """The tests under which code runs, also those of the call of the function that it is in."""
        found, seen = set[str](), set[ast.AST]()
        child: ast.AST | None = node
        while child is not None and child not in seen:
            seen.add(child)
            parent = self.module.parent_of.get(child)
            if isinstance(parent, ast.If) and child is not parent.test and not self._steps_in_both(parent):
                found.add(f"{child in parent.orelse} {ast.dump(parent.test)}")
            block = next((block for block in blocks(parent) if child in block), []) if parent is not None else []
            before = block[: block.index(child)] if isinstance(child, ast.stmt) and block else []
            found.update(
                f"True {ast.dump(s.test)}" for s in before if isinstance(s, ast.If) and isinstance(s.body[-1], LEAVES)
            )
            calls = self.module.calls_of(child) if isinstance(child, ast.FunctionDef) else []
            child = calls[0] if len(calls) == 1 else parent
        return frozenset(found)

    def _steps_in_both(self, branch: ast.If) -> bool:
        """Whether a step follows whatever a test says: `if scaler is not None: scaler.step(optimizer) else: ...`."""
        sides = [[part for s in side for part in ast.walk(s)] for side in (branch.body, branch.orelse)]
        return all(any(isinstance(p, ast.Call) and last_name(p.func) == "step" for p in side) for side in sides)

    def _in_plain(self) -> set[ast.Call]:
        """The clippings of branches without a GradScaler."""
        found: set[ast.Call] = set()
        for branch in self.module.of_type(ast.If):
            blocks = [{part for s in block for part in ast.walk(s)} for block in (branch.body, branch.orelse)]
            for one, other in (blocks, blocks[::-1]):
                if any(call in one for call in self.calls) and not any(call in other for call in self.scaler_calls):
                    found.update(clip for clip in self.clips if clip in other)
        return found

    def _is_quiet(self, call: ast.Call) -> bool:
        """Whether nothing but one clipping of the Accelerator's kind sees the gradients before the step."""
        seen: list[ast.Call] = []
        for block, place in blocks_around(self.module, call):
            for later in block[place + 1 :]:
                if self._step(later) is not None:
                    self.followed.update(seen)
                    return len(seen) <= 1 and all(is_taken(self.module, clip) for clip in seen)
                if not self._is_harmless(later, seen):
                    return False
            if not isinstance(self.module.parent_of[block[place]], (ast.If, ast.With)):
                return False
        return False

    def _step(self, statement: ast.stmt) -> ast.Call | None:
        call = statement.value if isinstance(statement, ast.Expr) else None
        return call if isinstance(call, ast.Call) and self.scaler_calls.get(call) == "step" else None

    def _is_harmless(self, statement: ast.stmt, seen: list[ast.Call]) -> bool:
        """Whether a statement does nothing with gradients besides clipping; adds the clippings to `seen`."""
        if isinstance(statement, ast.Pass):
            return True
        if isinstance(statement, ast.If):
            is_plain = not any(isinstance(part, ast.Call) for part in ast.walk(statement.test))
            return is_plain and all(self._is_harmless(s, seen) for s in (*statement.body, *statement.orelse))
        if not isinstance(statement, SIMPLE):
            return False
        inner: set[ast.AST] = set()
        for part in ast.walk(statement):
            if isinstance(part, ast.Attribute) and part.attr == "grad":
                return False
            if not isinstance(part, ast.Call) or part in inner:
                continue
            if part in self.clips:
                seen.append(part)
                inner.update(ast.walk(part))
            elif self.scaler_calls.get(part) != "unscale_" and last_name(part.func) not in NUMBERS:
                return False
        return True

    # -- edits ---------------------------------------------------------------------------------

    def check(self, changes: Changes) -> None:
        """Checks that the Accelerator's steps come in the order of the loop's.

        Raises:
            Refusal: If they do not, or code that goes would unscale gradients for other code that stays.
        """
        for call in self.calls:
            if self.is_written and changes.is_gone(call):
                reason = "after scaler.unscale_(), more than one clipping sees the gradients in one of its branches"
                raise Refusal(call, f"{reason}; write one for both, with enabled= for autocast() and GradScaler")
            if changes.is_gone(call):
                continue
            own = self.variables.of(call.args[0]) if call.args else frozenset()
            function = self.module.function(call)
            after = [
                step
                for step, method in self.scaler_calls.items()
                if method == "step"
                and self.module.function(step) is function
                and self.module.start(step) > self.module.start(call)
            ]
            first = min(after, key=self.module.start, default=None)
            stepped = self.variables.of(first.args[0]) if first is not None and first.args else frozenset()
            if len(self.training.optimizers) > 1 and (first is None or own != stepped):
                reason = "scaler.unscale_() of one optimizer stands before the step of another"
                raise Refusal(call, f"{reason}, and accelerate ends scaling with each step; step first")

    def convert(self, changes: Changes, call: ast.Call) -> None:
        """Plans what becomes of a call of `unscale_()` that is a statement."""
        if not self.is_written:
            changes.drop(self.module.statement(call))
            return
        changes.converted(RM852, call, "scaler.unscale_(optimizer) becomes accelerator.unscale_gradients(optimizer).")
        changes.replace(call, "accelerator.unscale_gradients($optimizer)", optimizer=call.args[0])

"""Loops that train in one phase and evaluate in another: what they count is that of all processes.

Such a loop works out gradients under a condition, `if phase == "train":`. Gradients have to come from the rows of each
process by itself; so outputs and labels are gathered below the step of the optimizer, and what is counted there is
worked out once more from the rows of all processes.
"""

import ast
from dataclasses import dataclass, field

from raymigrate.codemods.to_accelerate.changes import Changes
from raymigrate.codemods.to_accelerate.evaluation import Evaluation
from raymigrate.codemods.to_accelerate.gathering import size_of
from raymigrate.codemods.to_accelerate.rules import RM855
from raymigrate.codemods.to_accelerate.sides import Side
from raymigrate.codemods.to_accelerate.training import Loop, Training
from raymigrate.facts.syntax.nodes import Assignment, is_assignment, only_target, targets_of


@dataclass
class Counted:
    """What a loop counts of the rows of one process.

    Args:
        place: The last statement of the loop's body that trains; below it the loop counts.
        outputs: The name of what the model gives.
        labels: The names of parts of the batch that are gathered with it.
        again: The statements to work out once more.
        sizes: Expressions for the number of rows of the batch.
    """

    place: int
    outputs: str
    labels: dict[str, None] = field(default_factory=dict)
    again: dict[Assignment, None] = field(default_factory=dict)
    sizes: list[ast.expr] = field(default_factory=list)


class Phases(Side):
    """The loops of a training that train and evaluate.

    Args:
        training: What is trained.
        evaluation: Its evaluation loops.
    """

    def __init__(self, training: Training, evaluation: Evaluation) -> None:
        super().__init__(training)
        self.evaluation = evaluation

    def convert(self, changes: Changes, loop: Loop) -> bool:
        """Plans the edits of a training loop, and says whether what it counts is that of all processes now."""
        found = self._counted(loop) if self._is_conditional(loop) else None
        again = [self._edited(changes, s) for s in sorted(found.again, key=self.module.start)] if found else []
        if found is None or None in again:
            return False
        changes.converted(RM855, loop.node, "The rows of all processes are gathered and counted, in each phase.")
        names = [found.outputs, *found.labels]
        values = [f"{found.outputs}.detach()", *found.labels]
        gathered = f"({', '.join(values)})" if len(values) > 1 else values[0]
        lines = [f"{', '.join(names)} = accelerator.gather_for_metrics({gathered})"]
        lines += [line for line in again if line is not None]
        changes.after(loop.node.body[found.place], "\n".join(lines))
        for size in found.sizes:
            changes.replace(size, f"{names[-1]}.size(0)")
        return True

    def _edited(self, changes: Changes, statement: Assignment) -> str | None:
        """A statement as the conversion leaves it; None where it changes more than what it moves."""
        text, start = self.module.source(statement), self.module.offset(statement)
        parts = [part for part in ast.walk(statement) if isinstance(part, ast.expr) and part in changes.expressions]
        for part in sorted(parts, key=self.module.offset, reverse=True):
            code = changes.expressions[part]
            kept = next(iter(code.parts.values()), "")
            if code.template not in ("$part.cpu()", "$owner") or isinstance(kept, str):
                return None
            new = code.template.replace("$part", "$owner").replace("$owner", self.module.source(kept))
            at = self.module.offset(part) - start
            text = f"{text[:at]}{new}{text[at + len(self.module.source(part)) :]}"
        return text

    def _is_conditional(self, loop: Loop) -> bool:
        """Whether gradients are worked out under a condition, so that the loop evaluates as well."""
        return self.training.around_backwards.get(loop.node, False)

    def _counted(self, loop: Loop) -> Counted | None:
        calls = self.evaluation.runs_models(loop.node)
        statement = self.module.statement(calls[0]) if len(calls) == 1 and len(loop.loaders) == 1 else None
        target = only_target(statement) if is_assignment(statement) and statement.value is calls[0] else None
        if statement is None or not isinstance(target, ast.Name) or not self.evaluation.is_in_body(statement, loop):
            return None
        if not self._is_tensor(target, loop):
            return None
        found = Counted(self._last_step(loop, statement), target.id)
        for node in loop.node.body[found.place + 1 :]:
            for read in (part for part in ast.walk(node) if isinstance(part, ast.Name)):
                if isinstance(read.ctx, ast.Load) and not self._is_known(read, loop, found, statement):
                    return None
        return found if found.again or found.labels else None

    def _is_tensor(self, outputs: ast.Name, loop: Loop) -> bool:
        """Whether a model gives one tensor, as the loop shows: it asks for no item or attribute of it."""
        reads = self.module.uses_of(outputs)
        for read in (read for read in reads if self.module.inside(read, loop.node)):
            parent = self.module.parent_of[read]
            is_method = self.module.calling(parent) is not None
            if isinstance(parent, ast.Attribute) and not is_method and parent.attr not in ("data", "shape"):
                return False
            if isinstance(parent, (ast.Subscript, ast.Starred)) and parent.value is read:
                return False
            if is_assignment(parent) and isinstance(targets_of(parent)[0], ast.Tuple):
                return False
        return True

    def _last_step(self, loop: Loop, statement: ast.stmt) -> int:
        """The position of the last statement that runs the model, works out gradients or takes a step."""
        nodes = [statement, *self.training.backwards, *self.training.method_calls("step")]
        return max(
            n for n, s in enumerate(loop.node.body) for node in nodes if s in (node, *self.module.ancestors(node))
        )

    def _is_known(self, read: ast.Name, loop: Loop, found: Counted, statement: ast.stmt) -> bool:
        """Whether the rows of all processes can stand for what a name holds; adds what that takes."""
        end = self.module.end(loop.node.body[found.place])
        bound = [binding.node for binding in self.module.bindings_of(read)]
        inside = [node for node in bound if self.module.inside(node, loop.node)]
        above = [node for node in inside if self.module.start(node) < end and node is not loop.index]
        if not above or read.id == found.outputs:
            return True
        if self.training.batch_of(read):
            if (size := size_of(self.module, read)) is not None:
                found.sizes.append(size)
            else:
                found.labels[read.id] = None
            return True
        made = self.module.parent_of[above[0]]
        while isinstance(made, (ast.Tuple, ast.List)):
            made = self.module.parent_of[made]
        if len(inside) > 1 or not is_assignment(made) or made is statement or self._trains_or_runs(made):
            return False
        if made in found.again:
            return True
        names = [part for part in ast.walk(made.value) if isinstance(part, ast.Name)]
        if not all(self._is_known(name, loop, found, statement) for name in names):
            return False
        found.again[made] = None
        return True

    def _trains_or_runs(self, statement: ast.stmt) -> bool:
        return self.training.trains(statement) or bool(self.evaluation.runs_models(statement))

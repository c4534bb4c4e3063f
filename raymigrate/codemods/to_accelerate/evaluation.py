"""Evaluation loops: the rows of all processes are gathered before they are counted.

Rows are gathered as late as that is possible without touching what follows: after the last expression that only the
outputs of the model go into. From there on the loop works as it did, on the rows of all processes.
"""

import ast
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property

from raymigrate.codemods.to_accelerate.gathering import Gathering, moved_to_cpu, size_of, split_tail
from raymigrate.codemods.to_accelerate.lengths import Lengths, lengths_of
from raymigrate.codemods.to_accelerate.rows_kept import LOSS, keeps_rows
from raymigrate.codemods.to_accelerate.sides import Side
from raymigrate.codemods.to_accelerate.texts import is_text
from raymigrate.codemods.to_accelerate.training import Loop
from raymigrate.codemods.to_accelerate.variables import Variable
from raymigrate.facts.syntax.nodes import Assignment, is_assignment, only_target, targets_of
from raymigrate.facts.syntax.scopes import FUNCTIONS
from raymigrate.facts.values import called_name, free_name, is_method_call, reaching

# Methods that work on each row by itself.
BY_ROW = frozenset({"argmax", "softmax", "log_softmax", "sigmoid", "squeeze", "detach", "float", "round", "topk"})
ARRAYS = frozenset({"numpy", "sklearn", "scipy", "pandas"})
SIZES = frozenset({"size", "shape", "__len__"})


class Evaluation(Side):
    """The evaluation loops of a training.

    Args:
        training: What is trained.
    """

    def runs_models(self, node: ast.AST) -> list[ast.Call]:
        """The calls of the trained models in a piece of code."""
        return self._calls_of(frozenset(self.training.models), node)

    def evaluates(self, node: ast.AST) -> list[ast.Call]:
        """The calls of the trained models, and of others such as one that is read back from where it was saved."""
        return self._calls_of(frozenset(self.training.models) | self._put_to_evaluation, node)

    def _calls_of(self, models: frozenset[Variable], node: ast.AST) -> list[ast.Call]:
        return [
            part
            for part in ast.walk(node)
            if isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and self.variables.of(part.func) & models
        ]

    @cached_property
    def _put_to_evaluation(self) -> frozenset[Variable]:
        """The variables on which `eval()` is called."""
        owners = (
            call.func.value for call in self.training.method_calls("eval") if isinstance(call.func, ast.Attribute)
        )
        return frozenset(variable for owner in owners for variable in self.variables.of(owner))

    def gathering(self, loop: Loop) -> Gathering | None:
        """How a loop gathers its rows; None where it cannot be seen how it uses what the model gives."""
        calls = self.evaluates(loop.node)
        if len(calls) != 1 or len(loop.loaders) != 1 or self._indexes_rows(loop) or self._has_rows_elsewhere(loop):
            return None
        statement = self.module.statement(calls[0])
        if not self.is_in_body(statement, loop):
            return None
        if isinstance(statement, (ast.AugAssign, ast.Expr)):
            found: Gathering | None = self._before(loop, statement, calls[0])
        elif is_assignment(statement) and not keeps_rows(self.module, calls[0], statement.value):
            found = self._before(loop, statement, calls[0])
        else:
            found = self._cut(loop, statement, calls[0]) if is_assignment(statement) else None
        if found is None or (self._lengths.differ and not self._lengths.are_filled):
            return None
        found.is_ragged = self._lengths.differ
        paired = self._paired(found)
        if paired is not None and self._with_labels(paired) and not (paired.labels or paired.texts):
            return paired
        is_whole = self._with_labels(found) and not (found.is_ragged and any("mask" in name for name in found.labels))
        return found if is_whole else None

    @cached_property
    def _lengths(self) -> Lengths:
        return lengths_of(self.module)

    def _paired(self, found: Gathering) -> Gathering | None:
        """Gathers predictions and labels where one statement puts them side by side, as accelerate's examples do."""
        if found.outputs:
            return None
        end = self.module.end(found.statement)
        names = (node for node in self.module.below(found.loop.node) if isinstance(node, ast.Name))
        read = next((n for n in names if n.id == found.name and self.module.start(n) >= end), None)
        statement = self.module.statement(read) if read is not None else None
        if not is_assignment(statement) or not self.is_in_body(statement, found.loop):
            return None
        [target, *others], value = targets_of(statement), statement.value
        if others or not isinstance(target, ast.Tuple) or not isinstance(value, ast.Tuple):
            return None
        is_output = [isinstance(part, ast.Name) and part.id == found.name for part in value.elts]
        known = all(output or self.training.batch_of(part) for output, part in zip(is_output, value.elts, strict=True))
        if not known or sum(is_output) != 1 or len(target.elts) != len(value.elts):
            return None
        if not all(isinstance(part, ast.Name) for part in target.elts):
            return None
        name = ast.unparse(target.elts[is_output.index(True)])
        return replace(
            found, statement=statement, is_after=True, name=name, labels={}, texts={}, sizes=[], together=value
        )

    def _has_rows_elsewhere(self, loop: Loop) -> bool:
        """Whether the first dimension is not that of the rows: `target[1:]` leaves out the first token of each text."""
        for node in self.module.below(loop.node):
            if not isinstance(node, ast.Subscript) or not isinstance(node.ctx, ast.Load):
                continue
            first = node.slice.elts[0] if isinstance(node.slice, ast.Tuple) and node.slice.elts else node.slice
            if isinstance(first, ast.Slice) and (first.lower or first.upper) and self._is_tensor(node.value, loop):
                return True
        return False

    def _is_tensor(self, node: ast.expr, loop: Loop) -> bool:
        """Whether an expression is a part of a batch, or what a model made of one."""
        if self.training.batch_of(node):
            return True
        value = self.module.value(node)
        return isinstance(node, ast.Name) and value in self.evaluates(loop.node)

    def _before(self, loop: Loop, statement: ast.stmt, call: ast.Call) -> Gathering | None:
        """Gathers outputs that have no name, such as `model(x).argmax(1)` in a sum of hits, before their statement."""
        output = self._part(call)
        if output is not call and not keeps_rows(self.module, call, output):
            return None
        while True:
            parent = self.module.parent_of[output]
            outer = self.module.calling(parent)
            if isinstance(parent, ast.Attribute) and parent.attr == "item":  # one number for the batch, and no rows
                return None
            if outer is None or not isinstance(parent, ast.Attribute) or parent.attr not in BY_ROW:
                break
            if not keeps_rows(self.module, output, outer):
                break
            output = outer
        is_plain = isinstance(output, ast.Attribute) and output.attr == "logits"
        return Gathering(
            loop, statement, is_after=False, outputs=[output], name="logits" if is_plain else "predictions"
        )

    def _indexes_rows(self, loop: Loop) -> bool:
        """Whether the number of a batch says which rows it has."""
        if loop.index is None:
            return False
        reads = self.module.uses_of(loop.index)
        return any(
            isinstance(parent, (ast.Subscript, ast.Slice)) for read in reads for parent in self._within(read, loop)
        )

    def _within(self, node: ast.AST, loop: Loop) -> Iterator[ast.AST]:
        for parent in self.module.ancestors(node):
            if parent is loop.node or isinstance(parent, ast.stmt):
                return
            yield parent

    def is_in_body(self, statement: ast.stmt, loop: Loop) -> bool:
        """Whether a statement runs once for each batch, perhaps within `with torch.no_grad()`."""
        parent = self.module.parent_of[statement]
        while isinstance(parent, ast.With):
            parent = self.module.parent_of[parent]
        return parent is loop.node

    # -- the outputs ---------------------------------------------------------------------------

    def _cut(self, loop: Loop, statement: Assignment, call: ast.Call) -> Gathering | None:
        current: Assignment = statement
        target = self._only_target(statement)
        if self._leaves_torch(statement):
            return None
        if target is not None and self._is_one_number(target, loop, statement):
            return None
        while target is not None:
            reads = self._reads_below(target, loop, current)
            if not reads:
                return None
            parts = [self._part(read) for read in reads]
            if any(part is not read for part, read in zip(parts, reads, strict=True)):
                return self._cut_parts(loop, current, parts)
            following = self.module.statement(reads[0])
            is_only = len(reads) == 1 and is_assignment(following) and self.is_in_body(following, loop)
            further = self._only_target(following) if is_only and is_assignment(following) else None
            if further is None or not self._goes_on(current, reads[0], further, loop):
                found = Gathering(loop, current, is_after=True, name=target.id)
                found.on_cpu = moved_to_cpu(current)
                return found
            assert is_assignment(following)
            current, target = following, further
        return None

    def _goes_on(self, current: ast.stmt, read: ast.Name, target: ast.Name, loop: Loop) -> bool:
        """Whether what follows works on rows on the device alone, so that they can be gathered after it."""
        following = self.module.statement(read)
        assert is_assignment(following)
        if self._is_one_number(target, loop, following) or not keeps_rows(self.module, read, following.value):
            return False
        return not (self._reads_batch(following) or self._leaves_torch(following) or moved_to_cpu(current))

    def _is_one_number(self, target: ast.Name, loop: Loop, statement: ast.stmt) -> bool:
        """Whether code below takes a tensor for one number of the batch: `loss.item()`, `float(loss)`."""
        for read in self._reads_below(target, loop, statement):
            parent = self.module.parent_of[read]
            is_float = isinstance(parent, ast.Call) and free_name(self.module, parent.func) == "float"
            if is_float or (isinstance(parent, ast.Attribute) and parent.attr == "item"):
                return True
        return False

    def _leaves_torch(self, statement: ast.stmt) -> bool:
        """Whether something is made of arrays of NumPy: `np.argmax(logits.numpy())`, and not just `logits.numpy()`."""
        assert is_assignment(statement)
        moved = moved_to_cpu(statement)
        head = split_tail(moved)[0] if moved is not None else statement.value
        calls = [part for part in ast.walk(head) if isinstance(part, ast.Call)]
        methods = {call.func.attr for call in calls if isinstance(call.func, ast.Attribute)}
        roots = {called_name(self.module, call).partition(".")[0] for call in calls}
        return bool(methods & {"numpy", "tolist", "item"} or roots & ARRAYS)

    def _only_target(self, statement: Assignment) -> ast.Name | None:
        """The name that a value gets, also of `_, predicted = torch.max(outputs, 1)`."""
        target = only_target(statement)
        if isinstance(target, ast.Tuple):
            values = [part for part in target.elts if isinstance(part, ast.Name) and not part.id.startswith("_")]
            name = called_name(self.module, statement.value)
            is_max = name in ("torch.max", "torch.topk", "torch.sort") or is_method_call(
                statement.value, "max", "topk", "sort"
            )
            return values[0] if len(values) == 1 and is_max else None
        return target if isinstance(target, ast.Name) else None

    def _reads_below(self, target: ast.Name, loop: Loop, statement: ast.stmt) -> list[ast.Name]:
        reads = self.module.uses_of(target)
        end = self.module.end(statement)
        return [read for read in reads if self.module.inside(read, loop.node) and self.module.start(read) >= end]

    def _part(self, read: ast.expr) -> ast.expr:
        """`outputs.logits` or `outputs[1]` of what a model returns; `data` of a tensor is the tensor."""
        parent = self.module.parent_of[read]
        if (
            isinstance(parent, ast.Attribute)
            and parent.value is read
            and parent.attr in ("logits", LOSS, "predictions")
        ):
            return parent
        if isinstance(parent, ast.Subscript) and parent.value is read and isinstance(parent.slice, ast.Constant):
            return parent
        return read

    def _cut_parts(self, loop: Loop, statement: ast.stmt, parts: list[ast.expr]) -> Gathering | None:
        """Gathers the parts of an output with several of them."""
        losses = [part for part in parts if not keeps_rows(self.module, _owner(part), part)]
        rows = [part for part in parts if part not in losses]
        if not rows or len({ast.unparse(part) for part in rows}) > 1 or isinstance(rows[0], ast.Name):
            return None
        first = self.module.statement(rows[0])
        is_taken = len(rows) == 1 and is_assignment(first) and self.is_in_body(first, loop)
        if is_taken and is_assignment(first) and keeps_rows(self.module, rows[0], first.value):
            target = self._only_target(first)
            if target is not None and not self._reads_batch(first) and not self._leaves_torch(first):
                found = self._further(loop, first, target)
                found.losses = losses
                return found
        found = Gathering(loop, statement, is_after=True, outputs=rows, name="logits", losses=losses)
        return found

    def _further(self, loop: Loop, statement: ast.stmt, target: ast.Name) -> Gathering:
        while True:
            reads = self._reads_below(target, loop, statement)
            following = self.module.statement(reads[0]) if len(reads) == 1 else None
            if not is_assignment(following) or not self.is_in_body(following, loop):
                break
            further = self._only_target(following)
            if further is None or not self._goes_on(statement, reads[0], further, loop):
                break
            statement, target = following, further
        return Gathering(loop, statement, is_after=True, name=target.id, on_cpu=moved_to_cpu(statement))

    def _reads_batch(self, statement: ast.stmt) -> bool:
        assert is_assignment(statement)
        return any(self.training.batch_of(part) for part in ast.walk(statement.value) if isinstance(part, ast.Name))

    # -- the labels ----------------------------------------------------------------------------

    def _with_labels(self, found: Gathering) -> bool:
        """Adds what is read of the batch below; False where something else that stands for rows is read there."""
        end = self.module.end(found.statement) if found.is_after else self.module.start(found.statement)
        start = self.module.start(found.loop.node)
        replaced = {part for taken in (*found.outputs, *found.losses) for part in ast.walk(taken)}
        for node in self.module.below(found.loop.node):
            if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Load) or self.module.start(node) < end:
                continue
            if any(isinstance(parent, FUNCTIONS) for parent in self._within(node, found.loop)):
                return False
            if node.id == found.name or node in replaced:
                continue
            made_below = {self._is_bound_below(binding.node, found, end) for binding in reaching(self.module, node)}
            if made_below == {True}:  # of what is gathered
                continue
            if True in made_below:
                return False
            if self.training.batch_of(node):
                if not self._add_label(found, node):
                    return False
                continue
            definition = self.module.definition(node)
            if definition is None or not hasattr(definition, "lineno"):
                continue
            bound = self.module.start(definition)
            if start <= bound < end and definition is not found.loop.index and not self._is_loss(found, definition):
                if self._depends_on_rows(definition, found):
                    return False
        return True

    def _add_label(self, found: Gathering, node: ast.Name) -> bool:
        """Adds a part of the batch; False where it is not seen which one."""
        part = self._item(node)
        if part is None:
            return False
        if self._is_size(part):
            found.sizes.append(part)
        else:
            kind = found.texts if is_text(self.module, part) else found.labels
            kind.setdefault(ast.unparse(part), []).append(part)
        return True

    def _is_bound_below(self, binding: ast.AST, found: Gathering, end: tuple[int, int]) -> bool:
        """Whether a name gets its value behind the place where rows are gathered, or by what is gathered there."""
        if not hasattr(binding, "lineno") or not self.module.inside(binding, found.loop.node):
            return False
        return self.module.start(binding) >= end or (
            found.together is not None and self.module.statement(binding) is found.statement
        )

    def _is_loss(self, found: Gathering, definition: ast.AST) -> bool:
        value = self.module.assigned(definition)
        return any(value is loss or (value and self.module.inside(loss, value)) for loss in found.losses)

    def _depends_on_rows(self, definition: ast.AST, found: Gathering) -> bool:
        """Whether a value that is bound above the place where rows are gathered stands for rows."""
        value = self.module.assigned(definition)
        return value is None or any(
            isinstance(part, ast.Name) and (self.training.batch_of(part) or part.id == found.name)
            for part in ast.walk(value)
        )

    def _item(self, node: ast.Name) -> ast.expr | None:
        """The part of a batch that is read: `labels`, `batch["labels"]`, `batch[1]`, `batch.label`."""
        parent = self.module.parent_of[node]
        if self._is_whole_batch(node):
            if isinstance(parent, ast.Subscript) and parent.value is node and isinstance(parent.slice, ast.Constant):
                return parent
            if isinstance(parent, ast.Attribute) and not isinstance(self.module.parent_of[parent], ast.Call):
                return parent
            return None
        return node

    def _is_whole_batch(self, node: ast.Name) -> bool:
        """Whether a name stands for a batch of several tensors, as its use by key or number in the loop shows."""
        reads = self.module.uses_of(node)
        return any(self._takes_item(read) for read in reads)

    def _takes_item(self, read: ast.Name) -> bool:
        parent = self.module.parent_of[read]
        if isinstance(parent, ast.keyword) and parent.arg is None:
            return True
        return isinstance(parent, ast.Subscript) and parent.value is read and isinstance(parent.slice, ast.Constant)

    def _is_size(self, part: ast.expr) -> bool:
        return size_of(self.module, part) is not None


def _owner(part: ast.expr) -> ast.expr:
    return part.value if isinstance(part, (ast.Attribute, ast.Subscript)) else part

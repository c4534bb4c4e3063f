"""Parts of batches that the loop kept on the CPU: prepared loaders give all of them on the device.

`labels.numpy()` worked as long as the labels never went to the GPU. So did `predictions.cpu() == labels`.
"""

import ast

from raymigrate.codemods.to_accelerate.changes import Changes
from raymigrate.codemods.to_accelerate.devices import Devices
from raymigrate.codemods.to_accelerate.gathering import Gathering
from raymigrate.codemods.to_accelerate.order import Order
from raymigrate.codemods.to_accelerate.sides import Side
from raymigrate.codemods.to_accelerate.texts import is_text
from raymigrate.codemods.to_accelerate.training import Training
from raymigrate.codemods.to_accelerate.variables import Variable
from raymigrate.facts.syntax.nodes import is_assignment, targets_of
from raymigrate.facts.values import called_name, reaching

NUMPY = ("numpy", "sklearn", "scipy", "pandas")
COLLECTS = frozenset({"append", "extend", "update", "add_batch", "add"})
BY_ROW = (ast.Compare, ast.BinOp)


class Hosts(Side):
    """The tensors of batches that code needs on the CPU.

    Args:
        training: What is trained.
        devices: Its devices.
        gatherings: Its evaluation loops.
    """

    def __init__(self, training: Training, devices: Devices, gatherings: list[Gathering]) -> None:
        super().__init__(training)
        self.moves = set(devices.moves())
        self.moved_back = {found.loop.node for found in gatherings if found.on_cpu is not None}

    def convert(self, changes: Changes, order: Order, loaders: frozenset[Variable]) -> None:
        """Moves back to the CPU what the loop never took from there."""
        for read in self.module.of_type(ast.Name):
            batch = self.training.batch_of(read) if isinstance(read.ctx, ast.Load) else frozenset()
            if not batch or not batch <= loaders or not order.holds(read) or changes.is_gone(read):
                continue
            if any(parent in self.moved_back for parent in self.module.ancestors(read)):
                continue
            part = self._part(read)
            if self._is_wanted_there(part) and not self.is_moved(read) and not is_text(self.module, part):
                changes.wrap(part, "$part.cpu()")

    def _part(self, read: ast.Name) -> ast.expr:
        """`batch["labels"]` and `batch[1]` as a whole."""
        parent = self.module.parent_of[read]
        return parent if isinstance(parent, ast.Subscript) and parent.value is read else read

    def _is_wanted_there(self, part: ast.expr) -> bool:
        """Whether code needs a tensor on the CPU."""
        parent = self.module.parent_of[part]
        outer = self.module.calling(parent)
        if isinstance(parent, ast.Attribute) and outer is not None:
            return parent.attr == "numpy" or self._is_beside_cpu(outer, part)
        if isinstance(parent, ast.Call) and part in parent.args:
            library = called_name(self.module, parent).partition(".")[0]
            is_method = isinstance(parent.func, ast.Attribute) and self.module.qualified(parent.func) is None
            collects = is_method and parent.func.attr in COLLECTS  # type: ignore[attr-defined]
            return library in NUMPY or bool(collects and self.moves) or self._is_beside_cpu(parent, part)
        return isinstance(parent, BY_ROW) and self._is_beside_cpu(parent, part)

    def _is_beside_cpu(self, node: ast.expr, part: ast.expr) -> bool:
        """Whether an expression puts a tensor together with one that was moved to the CPU."""
        others = [child for child in ast.iter_child_nodes(node) if child is not part and isinstance(child, ast.expr)]
        calls = [c for other in others for c in ast.walk(other) if isinstance(c, ast.Call) and part not in ast.walk(c)]
        names = {call.func.attr for call in calls if isinstance(call.func, ast.Attribute)}
        return bool(names & {"cpu", "numpy"})

    def is_moved(self, read: ast.Name) -> bool:
        """Whether the loop itself took a part of a batch to its device."""
        return self._is_moved(read, frozenset())

    def _is_moved(self, read: ast.Name, seen: frozenset[ast.AST]) -> bool:
        for binding in reaching(self.module, read):
            node = binding.node
            if node in seen:
                continue
            value = self.source(node)
            parts = [value, *ast.walk(value)] if value is not None else []
            if any(part in self.moves for part in parts):
                return True
            names = [p for p in parts if isinstance(p, ast.Name) and self.training.batch_of(p)]
            if isinstance(node, ast.arg):
                given = [p for v in self.variables.given(node) for p in ast.walk(v)]
                if any(part in self.moves for part in given):
                    return True
                names += [p for p in given if isinstance(p, ast.Name) and self.training.batch_of(p)]
            if any(self._is_moved(name, seen | {node}) for name in names):
                return True
        return self._is_moved_by_item(read)

    def source(self, node: ast.AST) -> ast.expr | None:
        """What an assignment gives a name: of a tuple that is unpacked the whole, where its parts are not seen."""
        if (value := self.module.assigned(node)) is not None:
            return value
        parent = self.module.parent_of.get(node)
        while isinstance(parent, (ast.Tuple, ast.List)):
            parent = self.module.parent_of[parent]
        return parent.value if is_assignment(parent) else None

    def _is_moved_by_item(self, read: ast.Name) -> bool:
        """Whether items of a batch are moved and put back: `batch[key] = batch[key].to(device)`.

        Of one item it is asked whether it may be among them: `batch["ids"]` is moved, and `batch["sizes"]` stays.
        """
        own = self.variables.spelled(read)
        part = self._part(read)
        asked = self._keys(part.slice) if isinstance(part, ast.Subscript) else None
        for move in self.moves:
            statement = self.module.statement(move)
            stored = targets_of(statement)[0] if is_assignment(statement) else None
            if isinstance(stored, ast.Subscript) and self.variables.spelled(stored.value) == own:
                keys = self._keys(stored.slice)
                if asked is None or keys is None or asked & keys:
                    return True
        return False

    def _keys(self, item: ast.expr) -> set[object] | None:
        """The keys that an item may be taken by; None where one is not known."""
        keys = [source.module.constant(source.node) for source in self.module.origins(item)]
        return set(keys) if all(isinstance(key, (str, int)) for key in keys) else None

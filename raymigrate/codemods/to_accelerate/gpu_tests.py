"""Tests that ask a device for a GPU: `device.type == "cuda"` is known before the Accelerator has a device."""

import ast

from raymigrate.codemods.to_accelerate.changes import Changes
from raymigrate.codemods.to_accelerate.devices import Devices
from raymigrate.codemods.to_accelerate.rules import RM852
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import is_negation

IS_THERE = "torch.cuda.is_available()"
NOT_THERE = f"not {IS_THERE}"
OTHERS = (
    "On a device that is neither the CPU nor a GPU of CUDA, such as mps, half precision was used too; the Accelerator"
    ' is made before it has its device, and asks for CUDA: there it trains in float32. Give it mixed_precision="fp16"'
    " to train as before on such a device."
)


class GpuTests:
    """What a module asks its devices.

    Args:
        module: The module.
        devices: Its devices.

    Attributes:
        asks_for_any: Whether it may be asked instead if there is a GPU at all: for fp16, which has no effect on a CPU.
        holds: Whether half precision is used where an expression is true, and not where it is false.
    """

    def __init__(self, module: Module, devices: Devices) -> None:
        self.asks_for_any = False
        self.holds = True
        self._replaced: list[ast.expr] = []
        self.module = module
        self.devices = devices

    def names(self, expression: ast.expr) -> list[ast.Name]:
        """The names in an expression, without those that it asks for a GPU."""
        asked = {part for test in self._tests(expression, self.holds) for part in ast.walk(test)}
        return [part for part in ast.walk(expression) if isinstance(part, ast.Name) and part not in asked]

    def source(self, expression: ast.expr) -> str:
        """The code of an expression that says whether there is a GPU where it asks a device for that."""
        text, first = self.module.source(expression), self.module.offset(expression)
        tests = self._tests(expression, self.holds)
        for test in sorted(tests, key=self.module.offset, reverse=True):
            start = self.module.offset(test) - first
            end = start + len(self.module.source(test))
            text = f"{text[:start]}{tests[test]}{text[end:]}"
        self._replaced += tests
        return text

    def tell(self, changes: Changes) -> None:
        """Tells of devices that may be neither the CPU nor a GPU of CUDA."""
        for test in self._replaced:
            if self._may_be_another(test):
                changes.note(RM852, test, OTHERS)

    def _tests(self, node: ast.expr, holds: bool) -> dict[ast.expr, str]:
        """What an expression asks devices, each with what asks the same of torch.

        Args:
            holds: Whether half precision is used where it is true.
        """
        if not self.asks_for_any:
            return {}
        if is_negation(node):
            inner = self._tests(node.operand, not holds)
            return {node: IS_THERE} if inner == {node.operand: NOT_THERE} else inner
        if isinstance(node, ast.Compare) and self._asks(node, holds):
            return {node: IS_THERE if holds else NOT_THERE}
        parts = (part for part in ast.iter_child_nodes(node) if isinstance(part, (ast.expr, ast.keyword)))
        values = [part.value if isinstance(part, ast.keyword) else part for part in parts]
        return {test: code for part in values for test, code in self._tests(part, holds).items()}

    def _asks(self, test: ast.Compare, holds: bool) -> bool:
        """Whether a comparison asks for a GPU: `device.type == "cuda"`, `device != torch.device("cpu")`.

        Args:
            holds: False: whether it holds where there is none, as of `device.type == "cpu"`.
        """
        if len(test.ops) != 1 or not isinstance(test.ops[0], (ast.Eq, ast.NotEq)):
            return False
        kind = "cuda" if isinstance(test.ops[0], ast.Eq) is holds else "cpu"
        return any(self._is_device(side) and self._kind(other) == kind for side, other in _sides(test))

    def _may_be_another(self, test: ast.expr) -> bool:
        """Whether a comparison with the CPU asks a device that may be neither that nor a GPU of CUDA."""
        compare = next(part for part in ast.walk(test) if isinstance(part, ast.Compare))
        devices = [side for side, other in _sides(compare) if self._kind(other) == "cpu"]
        homes = self.devices.variables.of(_bare(devices[0])) if devices else frozenset()
        makers = [maker for home in homes for maker in self.devices.variables.makers(home)]
        return any(self.kinds(maker) - {"cuda", "cpu"} for maker in makers) or (bool(homes) and not makers)

    def kinds(self, node: ast.expr) -> set[object]:
        """The kinds of device that an expression may give; `...` stands for one that is not seen."""
        if isinstance(node, ast.IfExp):
            return self.kinds(node.body) | self.kinds(node.orelse)
        if isinstance(node, ast.Call) and self.module.qualified(node.func) == "torch.device" and node.args:
            return self.kinds(node.args[0])
        text = node.values[0] if isinstance(node, ast.JoinedStr) and node.values else node
        value = self.module.constant(text)
        return {value.partition(":")[0] if isinstance(value, str) else ...}

    def _is_device(self, node: ast.expr) -> bool:
        bare = _bare(node)
        found = self.devices.variables.of(bare) if isinstance(bare, ast.Name) else frozenset()
        return bool(found) and found <= self.devices.held

    def _kind(self, node: ast.expr) -> object:
        if isinstance(node, ast.Call) and self.module.qualified(node.func) == "torch.device" and len(node.args) == 1:
            node = node.args[0]
        return self.module.constant(node)


def _sides(test: ast.Compare) -> tuple[tuple[ast.expr, ast.expr], ...]:
    return (test.left, test.comparators[0]), (test.comparators[0], test.left)


def _bare(node: ast.expr) -> ast.expr:
    return node.value if isinstance(node, ast.Attribute) and node.attr == "type" else node

"""Tests that ask a device for a GPU: `device.type == "cuda"` is known before the Accelerator has a device."""

from __future__ import annotations

import ast

from raymigrate.codemods.to_accelerate.devices import Devices
from raymigrate.facts.syntax.module import Module

IS_THERE = "torch.cuda.is_available()"


class GpuTests:
    """What a module asks its devices.

    Args:
        module: The module.
        devices: Its devices.

    Attributes:
        asks_for_any: Whether it may be asked instead if there is a GPU at all: for fp16, which has no effect on a CPU.
    """

    def __init__(self, module: Module, devices: Devices) -> None:
        self.asks_for_any = False
        self.module = module
        self.devices = devices

    def names(self, expression: ast.expr) -> list[ast.Name]:
        """The names in an expression, without those that it asks for a GPU."""
        asked = {part for test in self._tests(expression) for part in ast.walk(test)}
        return [part for part in ast.walk(expression) if isinstance(part, ast.Name) and part not in asked]

    def source(self, expression: ast.expr) -> str:
        """The code of an expression that says whether there is a GPU where it asks a device for that."""
        text = self.module.source(expression)
        for test in self._tests(expression):
            text = text.replace(self.module.source(test), IS_THERE)
        return text

    def _tests(self, expression: ast.expr) -> list[ast.Compare]:
        parts = ast.walk(expression) if self.asks_for_any else ()
        return [part for part in parts if isinstance(part, ast.Compare) and self._asks(part)]

    def _asks(self, test: ast.Compare) -> bool:
        """Whether a comparison holds on a GPU alone: `device.type == "cuda"`, `device != torch.device("cpu")`."""
        if len(test.ops) != 1 or not isinstance(test.ops[0], (ast.Eq, ast.NotEq)):
            return False
        sides = ((test.left, test.comparators[0]), (test.comparators[0], test.left))
        kind = "cuda" if isinstance(test.ops[0], ast.Eq) else "cpu"
        return any(self._is_device(side) and self._kind(other) == kind for side, other in sides)

    def _is_device(self, node: ast.expr) -> bool:
        bare = node.value if isinstance(node, ast.Attribute) and node.attr == "type" else node
        found = self.devices.variables.of(bare) if isinstance(bare, ast.Name) else frozenset()
        return bool(found) and found <= self.devices.held

    def _kind(self, node: ast.expr) -> object:
        if isinstance(node, ast.Call) and self.module.qualified(node.func) == "torch.device" and len(node.args) == 1:
            node = node.args[0]
        return self.module.constant(node)

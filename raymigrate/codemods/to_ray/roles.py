"""Where a step of a plain script goes on Ray Train, and that it can go to neither side."""

import ast
from enum import Enum


class Role(Enum):
    """Where a step goes."""

    DEFINITION = "definition"
    DRIVER = "driver"
    WORKER = "worker"
    SETTING = "setting"
    LAUNCHER = "launcher"

    @property
    def moves(self) -> bool:
        """Whether a step of this kind moves into the training function."""
        return self in (Role.WORKER, Role.SETTING)


class Mixed(Exception):
    """A step that belongs on both sides; the message says why."""

    def __init__(self, node: ast.AST, message: str) -> None:
        super().__init__(message)
        self.node = node

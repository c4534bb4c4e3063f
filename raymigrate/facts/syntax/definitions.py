"""What a name stands for in the file where it gets its value."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from raymigrate.facts.syntax.module import Module


@dataclass(frozen=True)
class Definition:
    """What a name stands for in the file where it gets its value.

    Args:
        module: That file.
        node: The definition, or the name that is assigned to.
        name: Its name there.
        re_exported: Whether another file stands between this one and the one that uses it.
    """

    module: Module
    node: ast.AST
    name: str
    re_exported: bool = False

    @property
    def function(self) -> ast.FunctionDef | None:
        """The function that it is, if it is one."""
        return self.node if isinstance(self.node, ast.FunctionDef) else None

    @property
    def value(self) -> ast.expr | None:
        """The expression assigned to the name, if it is a variable."""
        if not isinstance(self.node, ast.Name):
            return None
        value = self.module.value(self.node)
        return None if value is self.node else value

"""The batches that expressions of a native PyTorch script are taken from."""

import ast
from collections.abc import Mapping, Sequence

from raymigrate.codemods.to_accelerate.variables import Variable, Variables
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import is_assignment
from raymigrate.facts.values import reaching

# Methods of a tensor, or of a batch, whose result is not on its device.
OFF_DEVICE = frozenset({"cpu", "numpy", "tolist", "item", "keys", "size", "dim", "numel"})


class Batches:
    """What comes from the batches of data loaders.

    Args:
        module: The module.
        variables: Its variables.
        loader_of: The loader that gives a loop its batches, by what gets a batch and by each part of that.
    """

    def __init__(self, module: Module, variables: Variables, loader_of: Mapping[ast.AST, ast.expr]) -> None:
        self._module = module
        self._variables = variables
        self._loader_of = loader_of
        self._found: dict[ast.AST, frozenset[Variable]] = {}

    def of(self, node: ast.AST) -> frozenset[Variable]:
        """The loaders whose batches an expression is taken from; none where it may be something else.

        Each part is asked once: there are many ways back from a name that several branches give a value. What leads
        back to itself is none of a batch, and neither is all that leads there, in whatever order they are asked.
        """
        if node not in self._found:
            self._found[node] = frozenset()
            self._found[node] = self._behind(node)
        return self._found[node]

    def _behind(self, node: ast.AST) -> frozenset[Variable]:
        if isinstance(node, ast.Name):
            return _together([self._bound(binding.node) for binding in reaching(self._module, node)])
        if isinstance(node, ast.arg):
            return self._all([*self._variables.given(node)])  # by all calls of its function
        if isinstance(node, (ast.Subscript, ast.Attribute, ast.Starred)):
            return self.of(node.value)
        if isinstance(node, (ast.DictComp, ast.ListComp, ast.GeneratorExp)):
            return self.of(node.value if isinstance(node, ast.DictComp) else node.elt)
        if isinstance(node, (ast.Tuple, ast.List)):
            return self._all(node.elts)
        if isinstance(node, ast.IfExp):
            return self._all([node.body, node.orelse])
        if not isinstance(node, ast.Call):
            return frozenset()
        if isinstance(node.func, ast.Attribute) and self._module.qualified(node.func) is None:
            return frozenset() if node.func.attr in OFF_DEVICE else self.of(node.func.value)
        is_same = self._module.qualified(node.func) == "torch.autograd.Variable" or (
            isinstance(node.func, ast.Name) and node.func.id in ("tuple", "list", "dict")
        )
        return self.of(node.args[0]) if is_same and node.args else frozenset()

    def _all(self, nodes: Sequence[ast.expr]) -> frozenset[Variable]:
        return _together([self.of(node) for node in nodes])

    def _bound(self, target: ast.AST) -> frozenset[Variable]:
        """The loaders behind what a place gives a name."""
        if isinstance(target, ast.arg):
            return self.of(target)
        if target in self._loader_of:
            return self._variables.of(self._loader_of[target])
        parent = self._module.parent_of.get(target)
        while isinstance(parent, (ast.Tuple, ast.List, ast.Starred)):
            parent = self._module.parent_of[parent]
        if isinstance(parent, (ast.comprehension, ast.For)):
            return self.of(parent.iter)
        value = self._module.assigned(target)
        if value is None and is_assignment(parent):
            value = parent.value
        return self.of(value) if value is not None else frozenset()


def _together(found: Sequence[frozenset[Variable]]) -> frozenset[Variable]:
    """All of some loaders; none where one of the expressions that they are behind may be something else."""
    return frozenset().union(*found) if all(found) else frozenset()

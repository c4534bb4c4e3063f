"""The batches that expressions of a native PyTorch script are taken from."""

import ast
from collections.abc import Mapping, Sequence

from raymigrate.codemods.to_accelerate.variables import Variable, Variables
from raymigrate.facts.syntax.module import Module
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
        self._by_parameter: dict[ast.arg, frozenset[Variable]] = {}
        self._cut = 0  # how often what leads back to itself was not followed

    def of(self, node: ast.AST) -> frozenset[Variable]:
        """The loaders whose batches an expression is taken from; none where it may be something else."""
        return self._behind(node, frozenset())

    def _behind(self, node: ast.AST, seen: frozenset[ast.AST]) -> frozenset[Variable]:
        if node in seen:
            self._cut += 1
            return frozenset()
        seen |= {node}
        if isinstance(node, ast.Name):
            return self._behind_name(node, seen)
        if isinstance(node, (ast.Subscript, ast.Attribute, ast.Starred)):
            return self._behind(node.value, seen)
        if isinstance(node, (ast.DictComp, ast.ListComp, ast.GeneratorExp)):
            return self._behind(node.value if isinstance(node, ast.DictComp) else node.elt, seen)
        if isinstance(node, (ast.Tuple, ast.List)):
            return self._all([*node.elts], seen)
        if isinstance(node, ast.IfExp):
            return self._all([node.body, node.orelse], seen)
        if not isinstance(node, ast.Call):
            return frozenset()
        if isinstance(node.func, ast.Attribute) and self._module.qualified(node.func) is None:
            return frozenset() if node.func.attr in OFF_DEVICE else self._behind(node.func.value, seen)
        is_same = self._module.qualified(node.func) == "torch.autograd.Variable" or (
            isinstance(node.func, ast.Name) and node.func.id in ("tuple", "list", "dict")
        )
        return self._behind(node.args[0], seen) if is_same and node.args else frozenset()

    def _all(self, nodes: Sequence[ast.expr], seen: frozenset[ast.AST]) -> frozenset[Variable]:
        found = [self._behind(node, seen) for node in nodes]
        return frozenset().union(*found) if found and all(found) else frozenset()

    def _behind_name(self, node: ast.Name, seen: frozenset[ast.AST]) -> frozenset[Variable]:
        found = [self._behind_binding(binding.node, seen) for binding in reaching(self._module, node)]
        return frozenset().union(*found) if found and all(found) else frozenset()

    def _behind_binding(self, target: ast.AST, seen: frozenset[ast.AST]) -> frozenset[Variable]:
        if target in seen:
            self._cut += 1
            return frozenset()
        if isinstance(target, ast.arg):
            return self._given(target, seen | {target})
        if target in self._loader_of:
            return self._variables.of(self._loader_of[target])
        parent = self._module.parent_of.get(target)
        while isinstance(parent, (ast.Tuple, ast.List, ast.Starred)):
            parent = self._module.parent_of[parent]
        if isinstance(parent, ast.comprehension):
            return self._behind(parent.iter, seen)
        if isinstance(parent, ast.For):
            return self._behind(parent.iter, seen)
        value = self._module.assigned(target)
        if value is None and isinstance(parent, ast.Assign):
            value = parent.value
        return self._behind(value, seen) if value is not None else frozenset()

    def _given(self, parameter: ast.arg, seen: frozenset[ast.AST]) -> frozenset[Variable]:
        """What all calls of its function give a parameter; asked once, as functions hand batches on to each other."""
        if parameter in self._by_parameter:
            return self._by_parameter[parameter]
        cut = self._cut
        found = self._all(list(self._variables.given(parameter)), seen)
        if cut == self._cut:  # else it may come from more when asked by itself
            self._by_parameter[parameter] = found
        return found

"""Whether a tensor may have a gradient where it is read."""

import ast

from raymigrate.codemods.to_accelerate.sides import Side
from raymigrate.facts.torch.gradients import switches_gradients_off
from raymigrate.facts.values import is_method_call, last_name

# What gives tensors without a gradient, whatever it is given.
WITHOUT = frozenset({"argmax", "argmin", "argsort", "detach", "tensor", "eq", "ne", "long", "int"})
JOINS = ("torch.cat", "torch.concat", "torch.concatenate")
OF_A_LIST = (*JOINS, "torch.stack")
SAME = frozenset({"to", "cuda", "cpu", "contiguous", "clone", "view", "reshape", "squeeze", "unsqueeze", "flatten"})


class Gradients(Side):
    """The gradients of the tensors of a training."""

    def may_have(self, node: ast.expr, seen: frozenset[ast.AST] = frozenset()) -> bool:
        """Whether an expression may give a tensor with a gradient.

        Args:
            node: The expression.
            seen: What is being followed.
        """
        if node in seen:
            return False
        seen |= {node}
        if any(map(switches_gradients_off, self.module.ancestors(node))) or isinstance(
            node, (ast.Compare, ast.Constant)
        ):
            return False
        if isinstance(node, ast.Name):
            return self._name_may(node, seen)
        if isinstance(node, ast.Call):
            if last_name(node.func) in WITHOUT:
                return False
            if self.module.qualified(node.func) in OF_A_LIST and isinstance(node.args[0], ast.Name):
                return self._list_may(node.args[0], seen)
            if is_method_call(node, *SAME):
                return self.may_have(node.func.value, seen)
        return True

    def _name_may(self, name: ast.Name, seen: frozenset[ast.AST]) -> bool:
        variable = self.variables.spelled(name)
        bindings = self.variables.bindings(variable) if variable is not None else []
        values: list[ast.expr | None] = []
        for binding in bindings:
            if isinstance(binding, ast.arg):
                values += self.variables.given_by_all(binding) or [None]
            else:
                values.append(self.module.assigned(binding))
        return not values or any(value is None or self.may_have(value, seen) for value in values)

    def _list_may(self, name: ast.Name, seen: frozenset[ast.AST]) -> bool:
        """Whether a list that is empty at first may get tensors with a gradient."""
        variable = self.variables.spelled(name)
        if variable is None:
            return True
        made = [self.module.assigned(binding) for binding in self.variables.bindings(variable)]
        if not all(isinstance(value, ast.List) and not value.elts for value in made):
            return True
        return any(self._gets_one(read, seen) for read in self.variables.reads(variable) if read is not name)

    def _gets_one(self, read: ast.Name, seen: frozenset[ast.AST]) -> bool:
        """Whether a list may get a tensor with a gradient where it is read."""
        parent = self.module.parent_of[read]
        call = self.module.parent_of[parent] if isinstance(parent, ast.Attribute) else parent
        if not isinstance(call, ast.Call):
            return True
        if call is parent:
            return self.module.qualified(call.func) not in OF_A_LIST and last_name(call.func) != "len"
        return last_name(call.func) != "append" or any(self.may_have(value, seen) for value in call.args)

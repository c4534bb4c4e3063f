"""RM856: whether more than one name stands for a tensor that all_reduce() changes."""

import ast

from raymigrate.codemods.to_accelerate.objects import is_attribute
from raymigrate.codemods.to_accelerate.sides import Side
from raymigrate.facts.syntax.functions import returned_values
from raymigrate.facts.syntax.nodes import names_in, targets_of
from raymigrate.facts.values import called_name, is_call_by_name, is_method_call, reaching

PLACES = (ast.Name, ast.Attribute, ast.Subscript)  # what a new tensor can be put into
LOOPS = (ast.For, ast.AsyncFor)
VIEWS = frozenset(  # methods of a tensor whose result shares its memory, or may
    {"contiguous", "detach", "flatten", "permute", "ravel", "reshape", "squeeze", "transpose", "unsqueeze", "view"}
)
DISPLAYS = (ast.Dict, ast.List, ast.Set, ast.Tuple)
KEEPERS = frozenset({"add", "append", "appendleft", "setdefault"})
PASSING = (ast.Compare, ast.Return, ast.Subscript)
FORGETFUL = frozenset({"len", "print", "str", "sum"})


class HeldTensors(Side):
    """The tensors that other code holds too, so that a new value of the name would be missed.

    Args:
        training: What is trained.
    """

    def is_held(self, tensor: ast.Name) -> bool:
        """Whether more than this name, which all_reduce() gets, stands for a tensor."""
        return self._is_held(tensor, tensor, frozenset())

    def _is_held(self, name: ast.Name, reduced: ast.Name, seen: frozenset[ast.AST], part: str = "") -> bool:
        """Whether others than `reduced` and the names that led to this one can read the tensor of `name`.

        Args:
            name: The name of a tensor, or of an object that has it.
            reduced: The name that all_reduce() gets.
            seen: The places that were looked at.
            part: The attribute of the object that is the tensor; empty for a name of the tensor.
        """
        variable = self.variables.spelled(name)
        if variable is None or is_attribute(variable.name):
            return name is not reduced
        function = self.module.function(name)
        if variable.scope is not self.module.scope_of[self.module.statement(name)]:
            return function is not None or name is not reduced  # of the module, or of a function around this one
        made = self._made(name)
        if any(self._is_made_for_others(node, name, reduced, seen) for node in made):
            return True
        statement = self.module.statement(name)
        for read in self.variables.reads(variable):
            if self.module.inside(read, statement) or made.isdisjoint(self._made(read)):
                continue
            if self._runs_before(read, reduced, made) and self._is_kept(read, reduced, made, part):
                return True
            if name is not reduced and self._runs_before(reduced, read, made):
                return True
        return False

    def _is_made_for_others(self, node: ast.AST, name: ast.Name, reduced: ast.Name, seen: frozenset[ast.AST]) -> bool:
        """Whether what a place makes for a name has another name already."""
        if isinstance(node, ast.arg):
            function = self.module.function(name)
            return not isinstance(function, ast.FunctionDef) or not self._is_handed_back(name.id, function)
        statement, value = self.module.statement(node), self.module.assigned(node)
        if isinstance(statement, LOOPS):
            return True  # one of several that are kept elsewhere
        if value is None or node in seen:
            return False
        if isinstance(statement, ast.Assign) and len(statement.targets) > 1:
            return True
        bare = _without_view(value)
        owner = bare.value if isinstance(bare, ast.Attribute) else None
        if isinstance(bare, ast.Attribute) and isinstance(owner, ast.Name) and self._is_given_by_model(owner):
            return self._is_held(owner, reduced, seen | {node}, bare.attr)  # of an object that is made for this step
        while bare is not value and isinstance(bare, (ast.Attribute, ast.Subscript)):
            bare = bare.value  # a view of what an object holds, whatever that is
        if isinstance(bare, ast.Name):
            return self._is_held(bare, reduced, seen | {node})
        return isinstance(value, PLACES) and not isinstance(self.module.value(value), ast.Call)

    def _is_given_by_model(self, owner: ast.Name) -> bool:
        """Whether a name stands for what a trained model gave."""
        made = [self.module.assigned(node) for node in self._made(owner)]
        models = frozenset(self.training.models)
        return bool(made) and all(isinstance(call, ast.Call) and self.variables.of(call.func) & models for call in made)

    def _is_kept(self, read: ast.Name, reduced: ast.Name, made: set[ast.AST], part: str) -> bool:
        """Whether a read puts a tensor where it can be found later: under another name, or into a list or dict."""
        whole = self._whole(read, part)
        parent = self.module.parent_of[whole]
        if isinstance(parent, (ast.Assign, ast.AnnAssign)):
            targets = targets_of(parent)
            uses = [use for target in targets if isinstance(target, ast.Name) for use in self.module.uses_of(target)]
            return not all(isinstance(target, ast.Name) for target in targets) or any(
                self._runs_before(reduced, use, made) or self._is_put_away(self._whole(use, "")) for use in uses
            )
        return self._is_put_away(whole)

    def _whole(self, read: ast.Name, part: str) -> ast.expr:
        """A tensor that is read with what gives a view of it: `output.loss.detach()`, where `loss` is the part."""
        whole: ast.expr = read
        while True:
            parent = self.module.parent_of[whole]
            call = self.module.parent_of[parent]
            if isinstance(parent, ast.Attribute) and parent.attr in VIEWS and isinstance(call, ast.Call):
                whole = call
            elif isinstance(parent, ast.Attribute) and parent.attr in (part, "data"):
                whole = parent
            else:
                return whole

    def _is_put_away(self, whole: ast.expr) -> bool:
        """Whether a list or a dict gets a tensor."""
        parent = self.module.parent_of[whole]
        outer = self.module.parent_of[parent]
        if isinstance(parent, ast.Call):
            is_keeper = is_method_call(parent, *KEEPERS)
            return is_keeper and whole in parent.args and not self._is_forgetful(parent)
        if isinstance(parent, ast.keyword):
            return is_call_by_name(outer, "dict")
        return isinstance(parent, DISPLAYS) and not self._is_forgetful(outer)

    def _is_forgetful(self, node: ast.AST) -> bool:
        """Whether a list or tuple is not kept by what it stands in: `torch.stack([loss])`, `"%s" % (total,)`."""
        if isinstance(node, ast.Call):
            name = node.func.id if isinstance(node.func, ast.Name) else ""
            return name in FORGETFUL or called_name(self.module, node).startswith("torch.")
        return isinstance(node, PASSING) or (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod))

    def _made(self, use: ast.Name) -> set[ast.AST]:
        """The places that make the tensor that a name stands for; `total += loss` changes one that is there."""
        found, waiting = set[ast.AST](), [use]
        while waiting:
            for node in [binding.node for binding in reaching(self.module, waiting.pop())]:
                if node not in found and isinstance(self.module.parent_of.get(node), ast.AugAssign):
                    assert isinstance(node, ast.Name)
                    waiting.append(node)
                found.add(node)
        return {node for node in found if not isinstance(self.module.parent_of.get(node), ast.AugAssign)}

    def _runs_before(self, node: ast.AST, other: ast.AST, made: set[ast.AST]) -> bool:
        """Whether a node may run before another, in a turn of a loop before too unless the turn makes the tensor."""
        if self.module.function(node) is not self.module.function(other):
            return True
        if (node.lineno, node.col_offset) < (other.lineno, other.col_offset):  # type: ignore[attr-defined]
            return True
        loops = [loop for loop in self.module.ancestors(node) if isinstance(loop, (*LOOPS, ast.While))]
        shared = [loop for loop in loops if self.module.inside(other, loop)]
        return any(not all(self.module.inside(place, loop) for place in made) for loop in shared)

    def _is_handed_back(self, name: str, function: ast.FunctionDef) -> bool:
        """Whether a function returns what becomes of a parameter, and its calls take that."""
        returned = returned_values(self.module, function)
        reads = [names_in(value) for value in returned if value]
        calls = self.module.calls_of(function)
        is_taken = not any(self.module.is_statement(call) for call in calls)
        return bool(reads) and len(reads) == len(returned) and all(name in read for read in reads) and is_taken


def _without_view(value: ast.expr) -> ast.expr:
    """What a value is a view of: `output.loss` of `output.loss.detach()`."""
    while is_method_call(value, *VIEWS) or (isinstance(value, ast.Attribute) and value.attr == "data"):
        value = value.func.value if isinstance(value, ast.Call) else value.value
    return value

"""Where all processes come together, so that they can wait for each other."""

import ast

from raymigrate.codemods.to_accelerate.sides import Side
from raymigrate.codemods.to_accelerate.training import Training
from raymigrate.facts.ray_train.ranks import OF_ONE
from raymigrate.facts.syntax.nodes import FirstOfBlock
from raymigrate.facts.syntax.scopes import FUNCTIONS
from raymigrate.facts.values import is_call_by_name, is_method_call
from raymigrate.facts.values.members import PARSING

CONDITIONS = (ast.If, ast.Try, ast.While, ast.ExceptHandler, ast.Match)
# What a condition may be made of that is the same in all processes, besides names.
OF_SETTINGS = (
    *(ast.Attribute, ast.Constant, ast.Compare, ast.BoolOp, ast.UnaryOp),
    *(ast.cmpop, ast.boolop, ast.Not, ast.expr_context),
)


class Together(Side):
    """What all processes of a training run.

    Args:
        training: What is trained.
    """

    def __init__(self, training: Training) -> None:
        super().__init__(training)
        self._leaving = FirstOfBlock(self._may_leave)

    def is_run_by_all(self, statement: ast.stmt, seen: frozenset[ast.AST] = frozenset()) -> bool:
        """Whether all processes run a statement together, so that they can wait for each other there.

        Args:
            statement: The statement.
            seen: The functions around it that were asked about before.
        """
        if not isinstance(statement, (ast.Expr, ast.Assign, ast.Return)):
            return False
        if any(isinstance(p, CONDITIONS) and not self._is_same_for_all(p) for p in self._around(statement)):
            return False
        if self._others_may_have_left(statement):
            return False
        function = self.module.function(statement)
        calls = self.module.calls_of(function) if function is not None and function not in seen else []
        return all(self.is_run_by_all(self.module.statement(call), seen | {function}) for call in calls)  # type: ignore[arg-type]

    def _others_may_have_left(self, statement: ast.stmt) -> bool:
        """Whether each process decides itself, further up, if it comes here: `if score <= best: continue`."""
        child: ast.AST = statement
        for parent in self.module.ancestors(statement):
            if self._leaving.is_before(parent, child):
                return True
            if isinstance(parent, (*FUNCTIONS, ast.Module)):
                break
            child = parent
        return False

    def _may_leave(self, step: ast.stmt) -> bool:
        """Whether a statement has a `return` or a `continue` in it, under a condition of each process."""
        for leave in ast.walk(step):
            if not isinstance(leave, (ast.Return, ast.Continue)):
                continue
            above = [leave, *self.module.ancestors(leave)]
            around = above[: above.index(step) + 1]
            inner = (*FUNCTIONS, ast.For, ast.While) if isinstance(leave, ast.Continue) else FUNCTIONS
            is_own = any(isinstance(parent, CONDITIONS) and not self._is_same_for_all(parent) for parent in around)
            if is_own and not any(isinstance(parent, inner) for parent in around):
                return True
        return False

    def _is_same_for_all(self, condition: ast.AST) -> bool:
        """Whether a condition asks for settings and numbers of a count alone: `if fold in CFG.folds:`."""
        if not isinstance(condition, ast.If) or OF_ONE.search(self.module.source(condition.test)):
            return False
        for part in ast.walk(condition.test):
            if isinstance(part, ast.Attribute) and self.module.stores(part.attr):
                return False  # `State.is_best = loss < State.best`, by what each process finds
            if isinstance(part, OF_SETTINGS) or (isinstance(part, ast.Name) and self._is_setting(part)):
                continue
            return False
        return True

    def _is_setting(self, name: ast.Name) -> bool:
        """Whether a name stands for a class, a module whose settings are asked, a literal or a number of a count."""
        if isinstance(self.module.parent_of[name], ast.Attribute):
            ends = self.module.origins(name)
            if self.module.qualified(name) or (ends and all(is_method_call(end.node, *PARSING) for end in ends)):
                return True
        if isinstance(self.module.definition(name), ast.ClassDef):
            return True
        bindings = self.module.scope_of[name].lookup(name.id)
        loops = [self.module.parent_of.get(binding.node) for binding in bindings]
        if loops and all(isinstance(loop, ast.For) and _counts(loop.iter) for loop in loops):
            return True
        return len(bindings) == 1 and isinstance(self.module.value(name), ast.Constant)

    def _around(self, node: ast.AST) -> list[ast.AST]:
        found: list[ast.AST] = []
        for parent in self.module.ancestors(node):
            if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Module)):
                break
            if isinstance(parent, ast.If) and "__name__" in ast.unparse(parent.test):
                break
            found.append(parent)
        return found


def _counts(rows: ast.expr) -> bool:
    """Whether a loop goes through numbers: `range(5)`."""
    return is_call_by_name(rows, "range")

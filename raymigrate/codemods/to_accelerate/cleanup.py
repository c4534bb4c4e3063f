"""What a conversion leaves without purpose goes: assignments of a name to itself, blocks without statements."""

import ast

from raymigrate.codemods.to_accelerate.changes import Changes
from raymigrate.codemods.to_accelerate.lasting import does_more
from raymigrate.codemods.to_accelerate.objects import OWN
from raymigrate.codemods.to_accelerate.rules import Refusal
from raymigrate.codemods.to_accelerate.sides import Side
from raymigrate.codemods.to_accelerate.training import Training
from raymigrate.codemods.to_accelerate.variables import Variable
from raymigrate.facts.projects.project_uses import importing_modules
from raymigrate.facts.syntax.nodes import is_assignment, only_target
from raymigrate.facts.values import is_call_by_name, is_method_call, reaching

# Calls that only look, so that they can go with what was made of them.
LOOKS = frozenset(
    {
        *("torch.cuda.is_available", "torch.cuda.device_count", "torch.device", "torch.backends.mps.is_available"),
        *("torch.accelerator.is_available", "torch.xpu.is_available"),
        *("torch.distributed.get_rank", "torch.distributed.get_world_size", "os.environ.get", "os.getenv"),
    }
)
CONTAINERS = ("tuple", "list", "dict")
COMPREHENSIONS = (ast.ListComp, ast.GeneratorExp, ast.SetComp)


class Cleanup(Side):
    """Takes away what has no purpose any more.

    Args:
        training: What is trained.
        changes: The edits so far.
    """

    def __init__(self, training: Training, changes: Changes) -> None:
        super().__init__(training)
        self.changes = changes

    def clean(self) -> None:
        """Goes over the statements until nothing more can go."""
        while True:
            before = len(self.changes.dropped)
            for node in self.module.nodes:
                if isinstance(node, ast.stmt) and node not in self.changes.dropped and self._is_idle(node):
                    self.changes.drop(node)
            self._drop_functions()
            self._drop_unread()
            if len(self.changes.dropped) == before:
                return

    # -- statements ----------------------------------------------------------------------------

    def _is_idle(self, statement: ast.stmt) -> bool:
        if is_assignment(statement):
            target = only_target(statement)
            return target is not None and self._gives_itself(target, statement.value)
        if isinstance(statement, ast.Expr):
            is_changed = any(part in self.changes.expressions for part in ast.walk(statement.value))
            return is_changed and self._is_name(self.residue(statement.value))
        if isinstance(statement, ast.If):
            return self._is_idle_branch(statement)
        if isinstance(statement, ast.Try):  # nothing is left that could fail
            return self._is_empty(statement.body) and not statement.finalbody and not statement.orelse
        if not isinstance(statement, (ast.For, ast.With)):
            return False
        is_empty = self._is_empty(statement.body) and not getattr(statement, "orelse", [])
        return is_empty and not (isinstance(statement, ast.For) and self._is_read_behind(statement))

    def _is_read_behind(self, loop: ast.For) -> bool:
        """Whether a name that a loop binds is read behind it, where it has the last value."""
        for name in ast.walk(loop.target):
            for read in self.module.uses_of(name) if isinstance(name, ast.Name) else ():
                is_left = not self.module.inside(read, loop) and not self._is_dropped(read)
                if is_left and any(binding.node is name for binding in reaching(self.module, read)):
                    return True
        return False

    def _is_name(self, text: str) -> bool:
        return text.removeprefix(OWN).isidentifier()

    def _is_empty(self, block: list[ast.stmt]) -> bool:
        """Whether all statements of a block are dropped, or were `pass`."""
        gone = [statement in self.changes.dropped for statement in block]
        return any(gone) and all(g or isinstance(s, ast.Pass) for g, s in zip(gone, block, strict=True))

    def _is_idle_branch(self, branch: ast.If) -> bool:
        if branch.orelse and not self._is_empty(branch.orelse):
            return False
        if self._is_empty(branch.body):
            return self._only_looks(branch.test)
        told = [s for s in branch.body if self._only_prints(s)]
        rest = [s for s in branch.body if s not in told]
        counts = any(isinstance(n, ast.Attribute) and n.attr == "device_count" for n in ast.walk(branch.test))
        if counts and self._is_empty(rest):
            for statement in told:
                self.changes.drop(statement)
            return True
        return False

    def _only_prints(self, statement: ast.stmt) -> bool:
        call = statement.value if isinstance(statement, ast.Expr) else None
        return is_call_by_name(call, "print")

    def _only_looks(self, node: ast.expr) -> bool:
        """Whether an expression has no effect."""
        calls = [part for part in ast.walk(node) if isinstance(part, ast.Call)]
        return all(self._looks(call) for call in calls)

    def _looks(self, call: ast.Call) -> bool:
        is_plain = isinstance(call.func, ast.Name) and call.func.id in ("int", "str", "hasattr", "isinstance", "len")
        is_tensor = self.module.qualified(call.func) == "torch.is_tensor"
        return is_plain or is_tensor or self.module.qualified(call.func) in LOOKS

    def _gives_itself(self, target: ast.expr, value: ast.expr) -> bool:
        """Whether a name, or several, get what they have already, now that nothing is moved any more."""
        replaced = self.changes.expressions
        if not any(part in replaced for part in ast.walk(value)):
            return False
        if self.residue(value) == ast.unparse(target) or self._is_own_item(target, self.residue(value)):
            return True
        inner = value
        if is_call_by_name(value, *CONTAINERS):
            inner = value.args[0] if len(value.args) == 1 and not value.keywords else value
        source = self._passed_on(inner)
        if source is None:
            return False
        if ast.unparse(source) == ast.unparse(target):
            return True
        is_unpacked = isinstance(target, (ast.Tuple, ast.List))
        if value not in replaced and (is_unpacked or not isinstance(value, ast.GeneratorExp)):
            self.changes.replace(value, "$source", source=source)
        return False

    def _is_own_item(self, target: ast.expr, value: str) -> bool:
        """Whether an item of a dict gets what it has: `for key, value in batch.items(): batch[key] = value`."""
        loop = next((above for above in self.module.ancestors(target) if isinstance(above, ast.For)), None)
        if loop is None or not isinstance(target, ast.Subscript):
            return False
        item = f"({ast.unparse(target.slice)}, {value})"
        if ast.unparse(loop.target) != item or ast.unparse(loop.iter) != f"{ast.unparse(target.value)}.items()":
            return False
        parts = [part for line in loop.body for part in ast.walk(line)]
        changed = [ast.unparse(p) for p in parts if isinstance(getattr(p, "ctx", None), (ast.Store, ast.Del))]
        bound = {value, ast.unparse(target.slice), ast.unparse(target.value)}
        others = [text for text in changed if text in bound or text.startswith(f"{ast.unparse(target.value)}[")]
        return others == [ast.unparse(target)]

    def _passed_on(self, value: ast.expr) -> ast.expr | None:
        """What a comprehension passes on as it is, now that it moves nothing any more."""
        if isinstance(value, ast.DictComp):
            item = f"({self.residue(value.key)}, {self.residue(value.value)})"
        elif isinstance(value, COMPREHENSIONS):
            item = self.residue(value.elt)
        else:
            return None
        first = value.generators[0]
        if len(value.generators) != 1 or first.ifs or ast.unparse(first.target) != item:
            return None
        if not isinstance(value, ast.DictComp):
            return first.iter
        items = first.iter.func if isinstance(first.iter, ast.Call) else None
        return items.value if isinstance(items, ast.Attribute) and items.attr == "items" else None

    def residue(self, node: ast.expr) -> str:
        """The source of an expression with what the plan replaces in it."""
        if node in self.changes.expressions:
            code = self.changes.expressions[node]
            text = code.template
            for name, part in code.parts.items():
                text = text.replace(f"${name}", part if isinstance(part, str) else self.residue(part))
            return text
        if not any(part in self.changes.expressions for part in ast.walk(node)):
            return ast.unparse(node)
        if isinstance(node, (ast.Tuple, ast.List)):
            inner = ", ".join(self.residue(part) for part in node.elts)
            return f"({inner})" if isinstance(node, ast.Tuple) else f"[{inner}]"
        if isinstance(node, ast.IfExp):
            body, orelse = (_owner_of_cpu(part) or self.residue(part) for part in (node.body, node.orelse))
            return body if body == orelse and self._only_looks(node.test) else f"{body} if {orelse}"
        return f"<{ast.dump(node)}>"

    # -- functions and names -------------------------------------------------------------------

    def _drop_functions(self) -> None:
        """Drops functions that do nothing any more, and puts what one of them still does in the place of its calls."""
        for function in self.module.of_type(ast.FunctionDef):
            if function in self.changes.dropped or isinstance(self.module.parent_of[function], ast.ClassDef):
                continue
            uses = self.module.uses_of(function)
            is_unused = all(self._is_dropped(use) or self._is_replaced(use) for use in uses)
            if uses and is_unused and not self._is_imported(function.name):
                self.changes.drop(function)
                continue
            body = function.body[1:] if ast.get_docstring(function, clean=False) is not None else function.body
            left = [statement for statement in body if statement not in self.changes.dropped]
            if len(left) == len(body) and len(body) != 1:
                continue
            calls = self.module.calls_of(function)
            if not left:
                if len(uses) != len(calls) or not all(map(self.module.is_statement, calls)):
                    raise Refusal(function, f"{function.name}() starts the processes, and is used in another way")
                for call in calls:
                    self.changes.drop(self.module.statement(call))
                self.changes.drop(function)
            elif len(left) == 1 and isinstance(left[0], ast.Expr) and len(uses) == len(calls):
                code = self.changes.expressions.get(left[0].value)
                if code is not None and not code.parts:
                    for call in calls:
                        self.changes.replace(call, code.template)
                    self.changes.drop(function)

    def _drop_unread(self) -> None:
        """Drops names whose every read is gone."""
        stored = (name for name in self.module.of_type(ast.Name) if isinstance(name.ctx, ast.Store))
        for variable in dict.fromkeys(map(self.variables.spelled, stored)):  # each once: it may have many bindings
            if variable is None or self._is_public(variable):
                continue
            reads = self.variables.reads(variable)
            if not reads or not all(map(self.changes.is_unread, reads)):
                continue
            statements = [self._plain_assignment(node) for node in self.variables.bindings(variable)]
            if None not in statements:
                for statement in statements:
                    if statement is not None and statement not in self.changes.dropped:
                        self.changes.drop(statement)

    def _plain_assignment(self, node: ast.AST) -> ast.stmt | None:
        """The statement that gives a name a value and does nothing else; None where there is more to it."""
        statement = self.module.parent_of[node]
        if not is_assignment(statement) or only_target(statement) is not node:
            return None
        value = statement.value
        called = self.variables.called(value) if isinstance(value, ast.Call) else None
        is_replaced = value in self.changes.expressions and (called is None or not does_more(self.changes, called))
        return statement if is_replaced or self._only_looks(value) else None

    def _is_dropped(self, use: ast.AST) -> bool:
        """Whether a use goes with its statement: what stands in the place of one that is replaced may name it again."""
        return not self.changes.dropped.isdisjoint(self.module.ancestors(use))

    def _is_replaced(self, use: ast.Name) -> bool:
        """Whether a call of a function is replaced by code that does without it: `device = accelerator.device`."""
        call = self.module.calling(use)
        code = self.changes.expressions.get(call) if call is not None else None
        parts = code.parts.values() if code is not None else ()
        named = (use.id in part if isinstance(part, str) else use in ast.walk(part) for part in parts)
        return code is not None and use.id not in code.template and not any(named)

    def _is_imported(self, name: str) -> bool:
        """Whether other files may use a function."""
        return any(importing_modules(self.module, name)) or name in self.module.exported

    def _is_public(self, variable: Variable) -> bool:
        """Whether other files may read a name: one that is exported, or an attribute that importing files ask for."""
        module, attribute = self.module, variable.name.removeprefix(OWN)
        if attribute == variable.name or module.project is None or not module.path:
            return variable.name in module.exported
        return any(any(other.attributes(attribute)) for other in importing_modules(module, attribute))


def _owner_of_cpu(node: ast.expr) -> str:
    """`model` of `model.cpu()`, which beside `model.cuda()` is for machines without a GPU; empty if it is none."""
    return ast.unparse(node.func.value) if is_method_call(node, "cpu") else ""

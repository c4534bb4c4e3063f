"""A class that trains: the attributes of its one object are seen as names, its methods as functions.

`self.model` in its methods, and `trainer.model` outside of them, stand for one variable. So what holds for loops that
are spread over functions holds for those that are spread over methods.
"""

import ast
from collections.abc import Iterator

from raymigrate.codemods.to_accelerate.rules import Refusal
from raymigrate.facts.syntax.functions import by_position, is_static
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import only_target
from raymigrate.facts.syntax.scopes import Binding, Scope, ScopeBuilder

# Decorators of methods that let them be called as they are written.
PLAIN_DECORATORS = frozenset(
    {"staticmethod", "torch.no_grad", "torch.inference_mode", "torch.enable_grad", "no_grad", "inference_mode"}
)
OWN = "self."


def is_attribute(name: str) -> bool:
    """Whether a name of a view stands for an attribute of the object."""
    return name.startswith(OWN)


class ObjectView(Module):
    """A module in which one class is seen through its object.

    Args:
        module: The module.
        name: The name of the class.

    Attributes:
        owner: The class.
        constructor: Its `__init__`; None where it has none.
        instance: The name that holds its object outside of it; empty where the file makes none.
        unnamed: What makes the object where it gets no name: `Trainer()` of `Trainer().fit()`.

    Raises:
        Refusal: If the class, or what becomes of its object, cannot be followed.
    """

    owner: ast.ClassDef
    constructor: ast.FunctionDef | None
    instance: str
    unnamed: ast.Call | None

    def __init__(self, module: Module, name: str) -> None:
        self._class_name = name
        super().__init__(module.text, module.path, module.project)

    def _scopes(self) -> ScopeBuilder:
        plain = super()._scopes()
        classes = (node for node in plain.order if isinstance(node, ast.ClassDef))
        self.owner = next(node for node in classes if node.name == self._class_name)
        self.constructor = None
        self.instance = ""
        self.unnamed = None
        _check_class(self.owner)
        attributes = [use for method in _methods(self.owner) for use in _attributes_in(plain, self.owner, method)]
        attributes += self._outside(plain)
        self._check_returned(plain)
        for node in attributes:
            name = ast.Name(f"{OWN}{node.attr}", node.ctx)
            _put_in_place(plain.parent_of[node], node, ast.copy_location(name, node))
        for method in _methods(self.owner):
            if not is_static(method):
                del (method.args.posonlyargs or method.args.args)[0]
            if method.name == "__init__":
                self.constructor, method.name = method, self.owner.name
            else:
                method.name = f"{OWN}{method.name}"
        return _Flattened(self.tree, self.owner)

    def _outside(self, plain: ScopeBuilder) -> list[ast.Attribute]:
        """The attributes of the object that are named outside of the class."""
        name, scope = self.owner.name, plain.scope_of[self.owner]
        reads = [node for node in plain.of_type[ast.Name] if isinstance(node, ast.Name) and node.id == name]
        uses = [read for read in reads if plain.scope_of[read].find(name) is scope]
        pairs = zip([plain.parent_of[use] for use in uses], uses, strict=True)
        calls = [parent for parent, use in pairs if isinstance(parent, ast.Call) and parent.func is use]
        types = [use for use in uses if use is getattr(plain.parent_of[use], "annotation", None)]
        if len(scope.bindings[name]) > 1 or len(calls) > 1 or len(calls) + len(types) != len(uses):
            raise Refusal(self.owner, f"`{name}`, a class that trains, is used for more than one object")
        if not calls:
            return []
        method = plain.parent_of[calls[0]]
        outer = plain.parent_of[method] if isinstance(method, ast.Attribute) else None
        if isinstance(method, ast.Attribute) and isinstance(outer, ast.Call) and outer.func is method:
            given = ast.keyword("self", calls[0])  # Trainer().fit() as Trainer.fit(self=Trainer())
            outer.keywords.append(ast.copy_location(given, calls[0]))
            self.unnamed = calls[0]
            return [method]
        target = only_target(plain.parent_of[calls[0]])
        if not isinstance(target, ast.Name):
            raise Refusal(calls[0], f"the object of `{name}` that trains is not kept in a variable")
        home = plain.scope_of[target].find(target.id)
        reads = [node for node in plain.of_type[ast.Name] if isinstance(node, ast.Name) and node.id == target.id]
        found: list[ast.Attribute] = []
        for read in reads:
            if read is target or plain.scope_of[read].find(target.id) is not home:
                continue
            parent = plain.parent_of[read]
            if not isinstance(read.ctx, ast.Load) or not isinstance(parent, ast.Attribute):
                raise Refusal(read, f"what becomes of `{target.id}`, the object that trains, cannot be followed")
            found.append(parent)
        self.instance = target.id
        return found

    def _check_returned(self, plain: ScopeBuilder) -> None:
        """Refuses methods that return the object itself where something is done with that."""
        returning = {
            method.name
            for method in _methods(self.owner)
            if not is_static(method) and any(_returns(part, _own_name(method)) for part in ast.walk(method))
        }
        for call in plain.of_type[ast.Call]:
            func = call.func  # type: ignore[attr-defined]
            if isinstance(func, ast.Attribute) and func.attr in returning:
                if not isinstance(plain.parent_of[call], ast.Expr):
                    raise Refusal(
                        call, f"{func.attr}() returns the object of `{self.owner.name}`, which is not followed"
                    )


class _Flattened(ScopeBuilder):
    """The scopes of a tree in which the attributes of one object are variables that are seen everywhere."""

    def __init__(self, tree: ast.Module, owner: ast.ClassDef) -> None:
        self._owner = owner
        super().__init__(tree)

    def _bind(self, node: ast.AST, scope: Scope) -> None:
        if node is self._owner and any(part.name == self._owner.name for part in _methods(self._owner)):
            return  # its constructor stands for it
        if isinstance(node, ast.Name) and is_attribute(node.id) and not isinstance(node.ctx, ast.Load):
            scope.module.bind(node.id, Binding(node))
        elif isinstance(node, ast.FunctionDef) and is_attribute(node.name):
            scope.module.bind(node.name, Binding(node))
        elif isinstance(node, ast.FunctionDef) and node.name == self._owner.name and scope.node is self._owner:
            self.scope_of[self._owner].bind(node.name, Binding(node))
        else:
            super()._bind(node, scope)


def view_of(module: Module) -> Module:
    """The module as the conversion sees it: through the object of the class that trains, if there is one.

    Raises:
        Refusal: If there are several of that kind, or it cannot be followed.
    """
    owners: dict[ast.ClassDef, ast.Call] = {}
    for call, method in module.method_calls("backward"):
        if not module.qualified(method):
            around = [parent for parent in module.ancestors(call) if isinstance(parent, ast.ClassDef)]
            if around:
                owners.setdefault(around[-1], call)
    if not owners:
        return module
    if len(owners) > 1:
        names = " and ".join(f"`{owner.name}`" for owner in owners)
        raise Refusal(next(iter(owners.values())), f"the training is spread over several classes, {names}")
    owner, call = next(iter(owners.items()))
    if sum(other.name == owner.name for other in module.of_type(ast.ClassDef)) > 1:
        raise Refusal(call, f"there are several classes of the name `{owner.name}`")
    return ObjectView(module, owner.name)


def _methods(owner: ast.ClassDef) -> list[ast.FunctionDef]:
    return [part for part in owner.body if isinstance(part, ast.FunctionDef)]


def _check_class(owner: ast.ClassDef) -> None:
    """Refuses a class whose methods and attributes may be others than those that it shows."""
    if [ast.unparse(base) for base in owner.bases] not in ([], ["object"]) or owner.keywords:
        reason = f"`{owner.name}`, a class that trains, is made from another one, which is not followed"
        raise Refusal(owner, reason)
    if owner.decorator_list:
        raise Refusal(owner, f"`{owner.name}`, a class that trains, has a decorator")
    for part in owner.body:
        if isinstance(part, (ast.AsyncFunctionDef, ast.ClassDef)):
            raise Refusal(part, f"`{part.name}` in `{owner.name}`, a class that trains, is not followed")
    for method in _methods(owner):
        names = [ast.unparse(d.func if isinstance(d, ast.Call) else d) for d in method.decorator_list]
        if any(name not in PLAIN_DECORATORS for name in names):
            raise Refusal(method, f"{method.name}() of `{owner.name}`, a class that trains, has a decorator")


def _own_name(method: ast.FunctionDef) -> str:
    """The name by which a method calls its object."""
    return next((parameter.arg for parameter in by_position(method)), "")


def _returns(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Return) and isinstance(node.value, ast.Name) and node.value.id == name


def _attributes_in(plain: ScopeBuilder, owner: ast.ClassDef, method: ast.FunctionDef) -> Iterator[ast.Attribute]:
    """The attributes of the object that a method names."""
    if is_static(method):
        return
    own = _own_name(method)
    if own != "self":
        raise Refusal(method, f"{method.name}() of `{owner.name}`, a class that trains, does not begin with `self`")
    body = plain.scope_of[method.body[0]]
    for read in plain.of_type[ast.Name]:
        assert isinstance(read, ast.Name)
        if read.id != own or plain.scope_of[read].find(own) is not body:
            continue
        parent = plain.parent_of[read]
        if isinstance(parent, ast.Return) and parent.value is read:
            continue  # see _outside(): nothing is done with what its calls return
        is_plain = isinstance(parent, ast.Attribute) and isinstance(read.ctx, ast.Load)
        if not isinstance(parent, ast.Attribute) or not is_plain or parent.attr.startswith("__"):
            raise Refusal(read, f"what becomes of the object of `{owner.name}` as a whole cannot be followed")
        yield parent


def _put_in_place(parent: ast.AST, old: ast.AST, new: ast.AST) -> None:
    for name, value in ast.iter_fields(parent):
        if value is old:
            setattr(parent, name, new)
        elif isinstance(value, list) and old in value:
            value[value.index(old)] = new

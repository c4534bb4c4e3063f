"""Whether a value may be None, for which a library may take another one."""

import ast

from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import is_assignment
from raymigrate.facts.values import Source, class_named, constant, is_none
from raymigrate.facts.values.arguments import called_name

DISPLAYS = (ast.Dict, ast.List, ast.Tuple, ast.Set, ast.ListComp, ast.SetComp, ast.DictComp, ast.JoinedStr, ast.Lambda)


def may_be_none(module: Module, value: ast.expr) -> bool:
    """Whether an expression may be None.

    An option without a default is None unless it is given. What is not seen, as the value of a caller or of a
    configuration, may be None as well.

    Args:
        module: The module.
        value: The expression.
    """
    sources = module.origins(value)
    for source in sources:
        known = constant(source.module, source.node)
        if known is None or (known is ... and not _makes_object(source.module, source.node)):
            return True
    return not sources


def is_none_in_some_case(module: Module, node: ast.expr) -> bool:
    """Whether a value is None on one of the ways to it, or a parameter that is declared so: `Optional[dict]`."""
    return any(is_none(source.node) or _is_optional(source) for source in module.origins(node))


def is_made_up_for(module: Module, node: ast.expr) -> bool:
    """Whether another value takes the place of None before a name is read, or the name is read only if it is not None.

    `if files is None: files = local()`, `files = files or local()`, `if files is not None: ...`
    """
    if not isinstance(node, ast.Name):
        return False
    child: ast.AST = node
    for parent in module.ancestors(node):
        if isinstance(parent, (ast.If, ast.IfExp)) and child is not parent.test:
            in_body = child is parent.body or (isinstance(parent, ast.If) and child in parent.body)
            if _asks(parent.test, node.id, is_none=not in_body):
                return True
        child = parent
    bindings = (binding.node for binding in module.scope_of[node].lookup(node.id))
    return any(_takes_its_place(module, bound, node) for bound in bindings if isinstance(bound, ast.Name))


def _takes_its_place(module: Module, bound: ast.Name, node: ast.Name) -> bool:
    """Whether a name gets another value above a use of it, where it was None."""
    assign = module.parent_of[bound]
    if not is_assignment(assign) or is_none(assign.value) or module.start(bound) > module.start(node):
        return False
    match assign.value:
        case ast.BoolOp(op=ast.Or(), values=[ast.Name(id=first), *_, last]):
            return first == bound.id and not is_none(last)
    outer = module.parent_of[assign]
    return isinstance(outer, ast.If) and assign in outer.body and _asks(outer.test, bound.id, is_none=True)


def _asks(test: ast.expr, name: str, *, is_none: bool) -> bool:
    """Whether a condition holds for None, or for none but what is not None, of what a name stands for."""
    if is_none:
        return ast.unparse(test) in (f"{name} is None", f"not {name}")
    parts = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
    return any(ast.unparse(part) in (f"{name} is not None", name) for part in parts)


def _is_optional(source: Source) -> bool:
    parameter = source.module.definition(source.node)
    annotation = parameter.annotation if isinstance(parameter, ast.arg) else None
    if isinstance(annotation, ast.BinOp):
        return is_none(annotation.left) or is_none(annotation.right)
    named = annotation.value if isinstance(annotation, ast.Subscript) else None
    return named is not None and source.module.qualified(named) == "typing.Optional"


def may_give_none(node: ast.AST) -> bool:
    """Whether a call asks for what need not be there: `options.get("config")`, `getattr(args, "config", None)`."""
    match node:
        case ast.Call(func=ast.Attribute(attr="get"), args=[_, *default], keywords=[]):
            return not default or is_none(default[0])
        case ast.Call(func=ast.Name(id="getattr"), args=[_, _, default], keywords=[]):
            return is_none(default)
    return False


def _makes_object(module: Module, node: ast.AST) -> bool:
    """Whether an expression calls a class, or is a list, dict or text."""
    if not isinstance(node, ast.Call):
        return isinstance(node, DISPLAYS)
    name = called_name(module, node)
    return class_named(module, node.func) is not None or name.rpartition(".")[2][:1].isupper()

"""Variables that only removed arguments read: they are removed with the last of them."""

import ast

from raymigrate.codemods.context import Context
from raymigrate.codemods.shared.import_cleanup import is_exported
from raymigrate.facts.projects.project_uses import is_named_elsewhere
from raymigrate.facts.syntax.nodes import only_target
from raymigrate.facts.values import fillings, last_name
from raymigrate.facts.values.own_classes import class_of_self

# What reads attributes that it does not name, or names in a text.
ALL_ATTRIBUTES = ("vars", "__dict__", "getattr", "hasattr", "attrgetter", "asdict", "pickle")


def drop_definition(context: Context, given: ast.expr) -> bool:
    """Takes away the assignment of a name, and what fills it, where only arguments that go away read it.

    Args:
        context: The module.
        given: The argument.

    Returns:
        Whether it was removed.
    """
    statements = [_opening(context, statement) for statement in _only_for(context, given)]
    for statement in statements:
        context.plan.statement(statement).removed = True
        for reference in context.module.references:
            if context.module.inside(reference.node, statement):
                context.handle(reference, gone=True)
    return bool(statements)


def _opening(context: Context, statement: ast.stmt) -> ast.stmt:
    """The `with open(path) as file:` around a statement where there is nothing else in it; else the statement."""
    outer = context.module.parent_of[statement]
    if not isinstance(outer, ast.With) or outer.body != [statement]:
        return statement
    calls = [item.context_expr for item in outer.items]
    names = [last_name(call.func) if isinstance(call, ast.Call) else "" for call in calls]
    return outer if set(names) == {"open"} else statement


def is_only_for(context: Context, given: ast.expr) -> bool:
    """Whether an argument is not a name, or is one whose assignment can be removed with it."""
    return not isinstance(given, ast.Name) or bool(_only_for(context, given))


def is_dropped(context: Context, node: ast.AST) -> bool:
    """Whether the plan removes the statement that a node is in, or the argument."""
    plan, module = context.plan, context.module
    for outer in module.ancestors(node):
        if isinstance(outer, ast.stmt) and outer in plan.statements and plan.statements[outer].removed:
            return True
        call = module.parent_of.get(outer)
        if isinstance(outer, ast.keyword) and isinstance(call, ast.Call) and call in plan.calls:
            edit = plan.calls[call]
            if outer.arg in edit.remove or edit.rename.get(outer.arg or "", outer.arg) in edit.values:
                return True
    return False


def _only_for(context: Context, given: ast.expr) -> list[ast.stmt]:
    """The statements that assign a name and fill it, where all they do is for one argument."""
    module = context.module
    if isinstance(given, ast.Attribute):
        return _stored_for(context, given)
    target = module.definition(given)
    statement = module.parent_of[target] if isinstance(target, ast.Name) else None
    if not isinstance(given, ast.Name) or not isinstance(target, ast.Name) or is_exported(module, given.id):
        return []
    if not isinstance(statement, (ast.Assign, ast.AnnAssign)):
        return []
    if isinstance(statement, ast.Assign) and statement.targets != [target]:
        return []
    filling = fillings(module, target)
    uses = module.uses_of(target)
    left = [use for use in uses if module.statement(use) not in filling and not _goes_away(context, use)]
    return [statement, *filling] if uses and set(left) <= {given} else []


def _stored_for(context: Context, given: ast.Attribute) -> list[ast.stmt]:
    """The statement that stores an attribute of `self` that nothing but one argument reads, here or in another file."""
    module, name = context.module, given.attr
    stores = module.stores(name)
    home = class_of_self(module, given.value)
    if home is None or len(stores) != 1 or set(module.attributes(name)) != {given, *stores}:
        return []
    if class_of_self(module, stores[0].value) is not home or any(word in module.text for word in ALL_ATTRIBUTES):
        return []
    statement = module.parent_of[stores[0]]
    is_alone = only_target(statement) is stores[0]
    block = getattr(module.parent_of[statement], "body", [])
    is_alone = is_alone and statement in block and len(block) > 1
    return [statement] if is_alone and not is_named_elsewhere(module, f".{name}".encode()) else []  # type: ignore[list-item]


def _goes_away(context: Context, use: ast.Name) -> bool:
    """Whether a name is part of an argument that the plan takes away or sets anew, or of what it removes."""
    module, within = context.module, set[ast.AST]()
    for outer in module.ancestors(use):
        call = module.parent_of.get(outer)
        edit = context.plan.calls.get(call) if isinstance(call, ast.Call) else None
        if isinstance(outer, ast.keyword) and edit is not None and outer.arg is not None:
            set_to = edit.values.get(edit.rename.get(outer.arg, outer.arg))
            if outer.arg in edit.remove or (set_to is not None and within.isdisjoint(set_to.parts.values())):
                return True
        if isinstance(outer, ast.stmt):
            return outer in context.plan.statements and context.plan.statements[outer].removed
        within.add(outer)
    return False

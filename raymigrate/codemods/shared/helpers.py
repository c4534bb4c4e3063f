"""Where helpers go: into the script, or into a module that scripts of its folder share (`--helpers module`)."""

import ast
from collections.abc import Sequence

from raymigrate.codemods.context import Context
from raymigrate.codemods.shared.already_there import helper_there
from raymigrate.edits.import_runs import root_of
from raymigrate.edits.plan import Code
from raymigrate.facts.projects.helpers import Helper
from raymigrate.facts.syntax.import_places import is_seen
from raymigrate.facts.syntax.module import Module

TAKES_PLACE = ("ray", "mlflow", "wandb")  # whose imports take the place of the legacy one


def take(
    context: Context,
    helper: Helper,
    near: ast.stmt | None = None,
    nested: ast.stmt | None = None,
    name: str = "",
    users: Sequence[ast.AST] = (),
) -> tuple[str, str]:
    """Lets a script have a helper: asks for its imports, or imports it, or uses the one that is there.

    Args:
        context: The module.
        helper: The helper.
        near: An import statement whose place new imports of Ray and of trackers take.
        nested: One in a function, which has to hold all that is new.
        name: What it is to be called, where that is free; else a name is looked for.
        users: Where it is used; without, none is looked for that may be there.

    Returns:
        The helper's name here, and the source to put before its first use; empty where it is imported, or is there.
    """
    there = helper_there(context.module, helper, users) if users else None
    if there is not None:
        return there, ""
    name = name or context.fresh(helper.name)
    if helper.shareable:
        context.helpers.append(helper)
    project = context.module.project
    shared = project.shared.imports.get(project.real(context.path)) if project is not None else None
    if shared is not None and helper in shared.offered:
        imported = helper.name if name == helper.name else f"{helper.name} as {name}"
        context.plan.need_import(shared.module, imported, near=nested)
        return name, ""
    for module, imported_name in helper.imports:
        context.plan.need_import(module, imported_name, near=near if root_of(module) in TAKES_PLACE else nested)
    return name, helper.source(name, context.fresh(helper.inner) if helper.inner else "")


def add(context: Context, helper: Helper, user: ast.AST, near: ast.stmt | None = None) -> str:
    """Lets a script have a helper, before the top-level statement that uses it first; gives its name there.

    Args:
        context: The module.
        helper: The helper.
        user: That statement, or what is part of it.
        near: As for `take`.
    """
    name, source = take(context, helper, near, users=[user])
    if source:
        context.plan.statement(top_level(context.module, user)).before.insert(0, Code(source))
    return name


def add_once(context: Context, helper: Helper, user: ast.AST, near: ast.stmt | None = None) -> str:
    """Lets a script have a helper that it may use in several places, before the first of them; gives its name there.

    Args:
        context: The module.
        helper: The helper.
        user: A part of the statement that uses it.
        near: As for `take`.
    """
    module, plan, place = context.module, context.plan, top_level(context.module, user)
    known = context.placed.get(helper)
    if known is None:
        there = helper_there(module, helper, [user])
        if there is not None:
            return there
        is_near = near is not None and is_seen(module, near, place)  # else in a function, while the helper is in none
        name, source = take(context, helper, near if is_near else None)
        code = Code(source) if source else None
    else:
        name, earlier, code = known
        if module.start(earlier) <= module.start(place):
            return name
        if code is not None:
            plan.statement(earlier).before.remove(code)
    if code is not None:
        plan.statement(place).before.insert(0, code)
    context.placed[helper] = name, place, code
    return name


def top_level(module: Module, node: ast.AST) -> ast.stmt:
    """The statement of the module itself that a node is part of."""
    statement = [node, *module.ancestors(node)][-2]
    assert isinstance(statement, ast.stmt)
    return statement

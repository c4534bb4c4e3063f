"""Moves names to another module: the mechanism behind every rule that is a rename."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.codemods.shared.import_cleanup import AIR, is_attribute, is_passed_on
from raymigrate.facts.syntax.import_places import is_bound_again
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.quoted import quoted_names
from raymigrate.facts.syntax.scopes import Reference


@dataclass(frozen=True)
class Move:
    """Where a name lives now."""

    module: str
    name: str


def move_names(context: Context, rule: Rule, moves: Mapping[str, Move]) -> None:
    """Moves every use of the given names, and the imports that bring them in.

    A name keeps the alias that it was imported under; `air.ScalingConfig` becomes `ray.train.ScalingConfig`.

    Args:
        context: The module to work on.
        rule: The rule to report.
        moves: Old qualified name to new place.
    """
    for statement in context.module.imports:
        if isinstance(statement, ast.ImportFrom) and not statement.level:
            for alias in statement.names:
                if context.module.imported(statement, alias) in moves:
                    _move_import(context, rule, statement, alias, moves)
    for reference in context.references(*moves):
        owner, move = next((old, new) for old, new in moves.items() if reference.is_within(old))
        if reference.binding.qualified == owner:
            continue  # imported by its own name: done above
        place = f"{move.module}.{move.name}"
        package = move.module.partition(".")[0]
        if not context.can_import(package, reference):
            context.leave(rule, reference, f"{owner} is now {place}, but `{package}` is another name here.")
        elif context.converts(rule, reference.node, f"{owner} is now {place}."):
            context.plan.need_import(move.module, near=reference.binding.statement)
            _note(context, reference, owner, move)
            context.replace_reference(reference, place + reference.qualified.removeprefix(owner))


def name_other(context: Context, reference: Reference, old: str, new: str) -> None:
    """Lets one use of a class of a library name another class of it.

    Args:
        context: The module to work on.
        reference: The use, which may go on below the class.
        old: The qualified name of the class.
        new: That of the other one.
    """
    library, _, name = new.rpartition(".")
    if reference.binding.qualified == library:
        source = f"{reference.root.id}.{name}"
    else:
        context.plan.need_import(library, name, near=reference.binding.statement)
        source = name
    context.replace_reference(reference, source + reference.qualified.removeprefix(old))


def drop_unused(context: Context, rule: Rule, name: str) -> None:
    """Takes a name out of `from ... import name` where nothing uses it, or will when the plan is carried out."""
    module = context.module
    for statement in module.imports:
        if not isinstance(statement, ast.ImportFrom) or statement.level:
            continue
        for alias in statement.names:
            local = alias.asname or alias.name
            scope = module.scope_of[statement]
            only = module.meanings(scope, local) == {name}
            if module.imported(statement, alias) != name or not only:
                continue
            if alias in module.references_by_binding or is_passed_on(module, local) or is_attribute(module, statement):
                continue  # goes with its uses, or stays for those of another file
            if name == AIR and local in quoted_names(module):
                continue
            if context.rewritten.issuperset(module.uses(local, scope)) and context.converts(
                rule, statement, f"{name} is imported but not used; removed."
            ):
                context.plan.drop_import(alias, statement)


def _move_import(
    context: Context, rule: Rule, statement: ast.ImportFrom, alias: ast.alias, moves: Mapping[str, Move]
) -> None:
    module = context.module
    old = f"{statement.module}.{alias.name}"
    move = moves[old]
    local = alias.asname or alias.name
    is_clear = len(module.meanings(module.scope_of[statement], local)) == 1 or is_bound_again(module, statement, alias)
    if not is_clear and not goes_one_way(module, statement, alias, moves):
        return  # try: the new place, except ImportError: the old one
    uses = [reference for reference in module.references if reference.binding.node is alias]
    named_besides = is_attribute(module, statement) or local in quoted_names(module)
    may_be_read = module.is_read_unclearly(alias)
    if uses and not (named_besides or may_be_read) and all(use.root in context.rewritten for use in uses):
        context.plan.drop_import(alias, statement)
        return
    if not (uses or may_be_read) and not named_besides and not is_passed_on(module, local):
        if context.converts(rule, statement, f"{old} is imported but not used; removed."):
            context.plan.drop_import(alias, statement)
        return
    if not context.converts(rule, statement, f"{old} is now {move.module}.{move.name}."):
        if context.options.enabled(rule.code):  # the user wants it kept, and need not hear of every use
            for use in uses:
                context.handle(use, gone=False)
        return
    if all(moves.get(f"{statement.module}.{other.name}") == Move(move.module, other.name) for other in statement.names):
        context.plan.import_from(statement, move.module)  # keeps layout and comments
        for use in uses:
            _note(context, use, old, move)
            context.handle(use, gone=False)
        return
    keeps_name = move.name != local and (named_besides or is_passed_on(module, local) or _is_taken(module, move))
    given = local if keeps_name else alias.asname
    name = move.name if given in (None, move.name) else f"{move.name} as {given}"
    context.plan.drop_import(alias, statement)
    context.plan.need_import(move.module, name, near=statement)
    is_renamed = move.name != alias.name and given is None
    for use in uses:  # those of another import of it, in another function, go with that
        if is_renamed:
            context.plan.replace(use.root, move.name)
        _note(context, use, old, move)
        context.handle(use, gone=is_renamed)  # by the same name another import may go on to bring it in


def goes_one_way(module: Module, statement: ast.ImportFrom, alias: ast.alias, moves: Mapping[str, Move]) -> bool:
    """Whether all that binds a name is imports, none of them on a condition or tried, of what is at one place now.

    Sections of a notebook often import one class from several modules that had it.
    """
    bindings = module.scope_of[statement].lookup(alias.asname or alias.name)
    move = moves[f"{statement.module}.{alias.name}"]
    now = f"{move.module}.{move.name}"
    around = (outer for found in bindings if found.statement for outer in module.ancestors(found.statement))
    return all(moves.get(found.qualified or "") == move or found.qualified == now for found in bindings) and not any(
        isinstance(outer, (ast.Try, ast.If)) for outer in around
    )


def _note(context: Context, reference: Reference, old: str, move: Move) -> None:
    """Keeps what is read below a name that moves: the library may have it no longer, where the name is now."""
    below = reference.qualified.removeprefix(old)
    if below and reference.root not in context.handled:
        context.moved[reference.node] = f"{move.module}.{move.name}{below}"


def _is_taken(module: Module, move: Move) -> bool:
    """Whether the module calls something else by the new name."""
    bindings = (binding for scope in module.scopes for binding in scope.bindings.get(move.name, ()))
    return any(binding.qualified != f"{move.module}.{move.name}" for binding in bindings)

"""RM69x: names that the current libraries do not have and that no other rule deals with.

A name is gone if it is not among what they offer (`raymigrate/knowledge/libraries.py`), whether or not they
ever had it.
"""

import ast
from collections.abc import Collection, Mapping, Sequence

from raymigrate.base.findings import Kind, Rule
from raymigrate.base.words import listed
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.shared.import_cleanup import goes_with_uses, is_attribute, is_exported
from raymigrate.codemods.shared.taken_elsewhere import taken_elsewhere
from raymigrate.facts.syntax.guards import goes_on_without, is_guarded, is_ready
from raymigrate.facts.syntax.import_places import is_bound_again, is_last_import, is_replaced
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.named_lines import own_lines
from raymigrate.facts.syntax.optional_imports import given_by_handlers, switched_off
from raymigrate.facts.syntax.quoted import quoted_names
from raymigrate.facts.syntax.scopes import Binding, Reference, Scope, bound_by, import_bindings
from raymigrate.facts.values import is_none
from raymigrate.knowledge.legacy import TORCH_TRAINERS, TRAINERS
from raymigrate.knowledge.libraries import LIBRARIES, look_up
from raymigrate.knowledge.successors import advice_on, raised_by_import

CONDITIONAL = (ast.If, ast.Try, ast.ExceptHandler, ast.While, ast.For, ast.Match)
THERE = "Import it from its library in that file, and run raymigrate again."
OTHER_NAME = "Rename whatever else in the file has its name, and run raymigrate again."
WITHOUT = "Take it out of this block, so that the others are imported, and write yourself what it was used for."
UNREAD = "Take the import away, and the name from there, or write the one of today."
ONE_WAY = "Import it in one way only, without the alternatives, and run raymigrate again."

RM691 = Rule(
    "RM691",
    "an import of a name that is gone, which nothing uses",
    "The import fails on current Ray, transformers, datasets and their companions.",
    "The name is dropped from the import.",
    "https://docs.ray.io/en/latest/train/api/api.html",
)
RM692 = Rule(
    "RM692",
    "a name that is gone",
    "Current Ray, transformers, accelerate, datasets, evaluate, huggingface_hub, peft or trl raise an ImportError or"
    " AttributeError for it; ray.workflow raises a RuntimeError.",
    "Where the library's documentation names no successor, copy what you need of it from the version that the code was"
    " written for.",
    "https://docs.ray.io/en/latest/train/api/api.html",
    errors=(
        *(
            text
            for library in LIBRARIES
            for text in (
                f"cannot import name '*' from '{library}",
                f"No module named '{library}.*'",
                f"module '{library}' has no attribute",
                f"module '{library}.*' has no attribute",
            )
        ),
        "The experimental Ray Workflows library was deprecated",
    ),
)


@codemod("ray", phase=Phase.GONE)
def gone_names(context: Context) -> None:
    """Drops unused imports of names that are gone, and reports those that are left, or the uses that fail.

    Of a script that trains and is left as it is they are only told.
    """
    if context.takes_current_libraries:
        _deal_with(context)
    elif context.stays:
        _deal_with(context.apart, {found.line for found in context.apart.findings if found.kind is Kind.SKIPPED})


def _deal_with(context: Context, kept: Collection[int] = ()) -> None:
    """Does so, in a context whose edits are made or not, but for uses on the lines that the user keeps."""
    context.settle_removed_arguments()
    told, dissolved = _report_uses(context, kept), _dissolve_alternatives(context)
    for statement in context.module.imports:
        if (isinstance(statement, ast.ImportFrom) and statement.level) or statement in dissolved:
            continue
        used = []
        for alias in statement.names:
            origin = context.module.imported(statement, alias)
            name = gone_part(origin)
            if name is None or alias in context.plan.dropped_imports or (statement, name) in told:
                continue
            if _import(context, statement, alias, origin):
                used.append(alias.asname or alias.name)
        if used:
            message = f"This import raises an ImportError as long as the file uses {', '.join(used)}."
            context.note(RM692, statement, message)


def _report_uses(context: Context, kept: Collection[int]) -> set[tuple[ast.stmt, str]]:
    """Reports names that are gone where they fail: at their import, once, or else at each use.

    Returns:
        The imports that were reported, each with what is gone of it.
    """
    failing: dict[tuple[ast.stmt, str], list[str]] = {}  # imports, with what is gone of them, and the names that use it
    for reference in context.module.references:
        name = gone_part(reference.qualified)
        if name is None or reference.root in context.handled or reference.node.lineno in kept:
            continue
        if is_ready(context.module, reference, name.rpartition(".")[2]):
            continue
        context.handle(reference, gone=False)
        statement = _failing_import(context.module, reference)
        if statement is None:
            report_gone(context, reference.node, name, reference.qualified)
        else:
            failing.setdefault((statement, name), []).append(reference.qualified)
    for node, moved in context.moved.items():
        name = gone_part(moved)
        if name is not None and not is_guarded(context.module, node, name.rpartition(".")[2]):
            report_gone(context, node, name, moved)
    _tell_failing(context, failing)
    return set(failing)


def _tell_failing(context: Context, failing: Mapping[tuple[ast.stmt, str], Sequence[str]]) -> None:
    """Reports imports that fail; of names of one import, for which the same is to be done, once."""
    alike: dict[tuple[ast.stmt, str, str], list[str]] = {}
    for (statement, name), used in failing.items():
        advice = " ".join(dict.fromkeys(filter(None, map(advice_on, used))))
        alike.setdefault((statement, advice or name, _error(name)), []).append(name)
    for (statement, advice, error), names in alike.items():
        what = f"{listed(names)} {'is' if len(names) == 1 else 'are'} gone: this import raises {error}"
        context.manual(RM692, statement, f"{what}.", None if advice in names else advice)


def _failing_import(module: Module, reference: Reference) -> ast.stmt | None:
    """The import that fails before a gone name can be used; None where only the use does."""
    if gone_part(reference.binding.qualified or "") is not None:
        return reference.binding.statement
    for statement in module.imports:  # `import ray.ml` binds `ray`
        for alias in statement.names if isinstance(statement, ast.Import) else ():
            if not alias.asname and gone_part(alias.name) is not None and reference.is_within(alias.name):
                return statement
    return None


def _dissolve_alternatives(context: Context) -> set[ast.stmt]:
    """Lets one import take the place of several ways to import a legacy trainer, once nothing uses the class.

    Returns:
        The imports of all the ways.
    """
    module, dissolved = context.module, set[ast.stmt]()
    for outer, arms in module.alternatives.items():
        uses = [
            use
            for statement in arms[0]
            for alias in statement.names  # type: ignore[attr-defined]
            for use in module.references_by_binding.get(alias, ())
        ]
        left = [use for use in uses if use.root not in context.rewritten and gone_part(use.qualified) is not None]
        left += [use for use in uses if module.is_read_unclearly(use.binding.node)]
        if uses and not left and context.converts(RM691, outer, "All of these ways to import it are gone; removed."):
            context.plan.dissolved[outer] = arms
            dissolved |= {statement for arm in arms for statement in arm}
    return dissolved


def report_gone(context: Context, node: ast.AST, name: str, whole: str | None = None) -> None:
    """Reports a use of a name that is gone, with its successor where there is one.

    Args:
        context: The module to work on.
        node: The use.
        name: What is gone.
        whole: The name that is used, which goes on below it.
    """
    what = f"current {name.partition('.')[0]} has no such name"
    if raised_by_import(name) != "ImportError":
        what = f"it raises {_error(name)}"
    is_this = name in (context.module.qualified(node), context.moved.get(node))
    if isinstance(getattr(node, "ctx", None), ast.Store) and is_this:
        what = "the library may no longer read what is set here"
    context.manual(RM692, node, f"{name} is gone: {what}.", advice_on(whole or name))


def _import(context: Context, statement: ast.Import | ast.ImportFrom, alias: ast.alias, origin: str) -> bool:
    """Drops an import that nothing reads; reports one that is guarded, as its uses may be those of either import.

    Returns:
        Whether it stays because of uses that other rules tell of.
    """
    module = context.module
    local = bound_by(alias)
    scope = module.scope_of[statement]
    bindings = scope.lookup(local)
    is_read = bool(module.uses(local, scope))
    used = is_read or is_exported(module, local)
    in_several_ways = len({binding.qualified for binding in bindings}) > 1
    if _is_told_anyway(context, statement, alias, origin):
        return False
    if not (is_read or (used and in_several_ways)) and (named := _named_in_text(module, local)):
        if not is_guarded(module, statement, alias.name) and statement not in context.plan.import_modules:
            context.manual(RM692, statement, f"{_failing(origin)}. Only {named} {local}.", advice_on(origin) or UNREAD)
    elif not used or (in_several_ways and is_replaced(module, statement, alias)):
        if not is_guarded(module, statement, alias.name) and context.converts(
            RM691, statement, f"{origin} is gone, and nothing uses it here; removed."
        ):
            context.plan.drop_import(alias, statement)
    elif in_several_ways and not (
        is_bound_again(module, statement, alias)
        or goes_with_uses(context, statement, alias)
        or is_last_import(module, statement, alias)
    ):
        if not any(_exists(binding) for binding in bindings):
            context.manual(RM692, statement, f"{origin} is gone, and so is what takes its place here.", ONE_WAY)
        elif origin in TRAINERS and _has_no_other_trainer(context, local, scope):
            message = f"{origin} is gone, and what takes its place here is not a trainer."
            context.manual(RM692, statement, message, ONE_WAY)
        elif (use := _unguarded_use(context, alias, bindings)) is not None:
            message = f"{origin} is gone, so that {local} is None here, and {own_lines(module, use)} fails."
            context.manual(RM692, statement, message, advice_on(origin) or ONE_WAY)
        elif not any(isinstance(above, CONDITIONAL) for above in module.ancestors(statement)):
            context.manual(RM692, statement, f"{_failing(origin)}.", OTHER_NAME)
    elif statement not in context.plan.import_modules and not is_guarded(module, statement, alias.name):
        uses = module.references_by_binding.get(alias, [])
        return any(use.root not in context.rewritten for use in uses)
    return False


def _named_in_text(module: Module, name: str) -> str:
    """What names something without reading it, so that its import cannot be taken away."""
    if is_exported(module, name):
        return "__all__ names"
    return "annotations in quotes name" if name in quoted_names(module) else ""


def _has_no_other_trainer(context: Context, local: str, scope: Scope) -> bool:
    """Whether a legacy trainer that may be missing is constructed all the same: `except ImportError: X = None`."""
    module = context.module
    called = any(module.calling(use) is not None for use in module.uses(local, scope))
    others = [binding for binding in scope.lookup(local) if not isinstance(binding.node, (ast.alias, ast.Name))]
    return called and not others and not any(True for _ in module.calls(*TORCH_TRAINERS))


def _is_told_anyway(context: Context, statement: ast.Import | ast.ImportFrom, alias: ast.alias, origin: str) -> bool:
    """Reports an import that fails, or takes others with it, whatever the file itself does with the name."""
    module, local = context.module, bound_by(alias)
    if alias.name == "*":
        context.manual(RM692, statement, f"{origin.removesuffix('.*')} is gone, or has lost names.")
    elif is_attribute(module, statement):
        if statement not in context.plan.import_modules:
            message = f"{_failing(origin)}, and the class has it as an attribute."
            context.manual(RM692, statement, message, "Write a method of that name that does what it did.")
    elif message := _caught(context, statement, alias, origin):
        context.manual(RM692, statement, message, " ".join(filter(None, (advice_on(origin), WITHOUT))))
    elif (where := taken_elsewhere(module, local)) and not _is_one_of_several(module, statement, local):
        context.manual(RM692, statement, f"{_failing(origin)}, and {where}.", THERE)
    elif passes_by(module, statement, alias, origin):
        context.manual(RM692, statement, f"{_failing(origin)}, which nothing catches here.", advice_on(origin))
    else:
        return False
    return True


def _failing(name: str) -> str:
    return f"{name} is gone: this import raises {_error(name)}"


def _error(name: str) -> str:
    error = raised_by_import(name)
    return f"{'an' if error.startswith('I') else 'a'} {error}"


def passes_by(module: Module, statement: ast.stmt, alias: ast.alias, origin: str) -> bool:
    """Whether an import fails in a `try` with an error that its `except ImportError` does not catch."""
    is_tried = isinstance(module.parent_of[statement], ast.Try)
    return is_tried and raised_by_import(origin) != "ImportError" and not is_guarded(module, statement, alias.name)


def _caught(context: Context, statement: ast.Import | ast.ImportFrom, alias: ast.alias, origin: str) -> str:
    """What a gone import in a `try` takes with it; empty where it is in none, or only its own name is concerned."""
    module, local = context.module, bound_by(alias)
    tried = module.parent_of[statement]
    is_caught = isinstance(tried, ast.Try) and statement in tried.body and is_guarded(module, statement, alias.name)
    is_caught = is_caught or goes_on_without(module, statement)
    if not is_caught or not (switched_off(module, statement) or _takes_others_with_it(module, statement)):
        return ""
    given = ", ".join(given_by_handlers(module, statement))
    instead = f"what the handler binds is all that is left: {given}" if given else f"{local} is not imported"
    where, error = taken_elsewhere(module, local), raised_by_import(origin)
    return f"{origin} is gone: the {error} is caught here, and {instead}.{f' {where}.' if where else ''}"


def _takes_others_with_it(module: Module, statement: ast.stmt) -> bool:
    """Whether other files take a name that is imported in the block of a statement: all its imports fail together."""
    block = module.parent_of[statement]
    together = (part for part in getattr(block, "body", ()) if isinstance(part, ast.Import | ast.ImportFrom))
    names = (name for other in together for name, _ in import_bindings(other))
    return any(taken_elsewhere(module, name) for name in names if not _is_one_of_several(module, statement, name))


def _is_one_of_several(module: Module, statement: ast.stmt, name: str) -> bool:
    """Whether a name is imported elsewhere where its import fails: `except ImportError: from ray.train import ...`."""
    found = (each for each in module.scope_of[statement].lookup(name) if isinstance(each.node, ast.alias))
    others = any(each.statement is not statement and _exists(each) for each in found)
    return others and is_guarded(module, statement, name)


def _unguarded_use(context: Context, alias: ast.alias, bindings: Sequence[Binding]) -> ast.Name | None:
    """A use of a name that is None where its import fails, if nothing asks for that: `AdamW = None`, `AdamW(x)`."""
    module = context.module
    others = [binding.node for binding in bindings if binding.node is not alias]
    names = [node for node in others if isinstance(node, ast.Name) and is_none(module.assigned(node))]
    if not names or len(names) < len(others):
        return None
    tried = module.ancestors(alias)
    flags = {
        node.id
        for outer in tried
        if isinstance(outer, (ast.Try, ast.If))
        for node in module.below(outer)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id != names[0].id
    }
    uses = module.uses(names[0].id, module.scope_of[alias])
    if any(module.reads(flag) for flag in flags) or not all(_fails_on_none(module, use) for use in uses):
        return None
    return next((use for use in uses if not is_guarded(module, use, use.id)), None)


def _fails_on_none(module: Module, use: ast.Name) -> bool:
    """Whether a name is called, or an attribute of it is read."""
    return isinstance(module.parent_of[use], ast.Attribute) or module.calling(use) is not None


def _exists(binding: Binding) -> bool:
    """Whether a binding is there: then the module runs on old and new versions, and is left alone."""
    return binding.qualified is None or gone_part(binding.qualified) is None


def gone_part(qualified: str) -> str | None:
    """The shortest part of a dotted name that is gone: `ray.air.Checkpoint` of `ray.air.Checkpoint.from_dict`."""
    return look_up(qualified).gone

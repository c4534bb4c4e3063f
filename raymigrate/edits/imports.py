"""Where new imports go, and which are there already."""

import ast
from collections import defaultdict

from raymigrate.edits.plan import Code, Plan
from raymigrate.facts.module import Module
from raymigrate.facts.scopes import Scope


def place_imports(module: Module, plan: Plan) -> None:
    """Turns the imports that a plan needs into statement edits.

    An import asked for near an old one takes its place, so that an import inside a function stays there; the others
    follow the imports at the head of the module. What the module imports already is not imported again.
    """
    anchors: dict[ast.stmt | None, dict[str, list[str | None]]] = defaultdict(lambda: defaultdict(list))
    have = _present(module, plan)
    at_top = _top_anchor(module, plan)
    # Module-level imports first, and `import ray.train` before the `import ray` that it makes needless.
    for wanted, name, near in sorted(plan.needed_imports, key=lambda entry: (entry[2] is not None, -len(entry[0]))):
        scope = module.scope_of[near] if near is not None else module.scope_of[module.tree]
        if any(_imported(wanted, name, have[outer]) for outer in _outward(scope)):
            continue
        have[scope].add((wanted, name))
        anchors[near if near is not None else at_top][wanted].append(name)
    for anchor, wanted_names in anchors.items():
        code = Code("\n".join(_lines(wanted_names)))
        if anchor is not None and _is_import(anchor):
            plan.statement(anchor).after.insert(0, code)
        elif anchor is not None:  # a docstring to stand after, or a first statement to stand before
            edit = plan.statement(anchor)
            (edit.after if _is_docstring(anchor) else edit.before).insert(0, code)


def _imported(wanted: str, name: str | None, present: set[tuple[str, str | None]]) -> bool:
    if (wanted, name) in present:
        return True
    return name is None and any(other is None and module.startswith(f"{wanted}.") for module, other in present)


def _lines(wanted: dict[str, list[str | None]]) -> list[str]:
    lines = [f"import {name}" for name in sorted(wanted) if None in wanted[name]]
    for name in sorted(wanted):
        names = sorted(n for n in wanted[name] if n)
        if names:
            lines.append(f"from {name} import {', '.join(names)}")
    return lines


def _outward(scope: Scope | None) -> list[Scope]:
    scopes = []
    while scope is not None:
        scopes.append(scope)
        scope = scope.parent
    return scopes


def _present(module: Module, plan: Plan) -> dict[Scope, set[tuple[str, str | None]]]:
    """What each scope imports and keeps importing, unconditionally and under its own name."""
    have: dict[Scope, set[tuple[str, str | None]]] = defaultdict(set)
    for statement in module.imports:
        if isinstance(module.parent_of[statement], (ast.Try, ast.If, ast.ExceptHandler)):
            continue
        for alias in statement.names:
            if alias in plan.dropped_imports or alias.asname:
                continue
            if isinstance(statement, ast.Import):
                have[module.scope_of[statement]].add((alias.name, None))
            elif not statement.level:
                origin = plan.import_modules.get(statement, statement.module or "")
                have[module.scope_of[statement]].add((origin, alias.name))
    return have


def _top_anchor(module: Module, plan: Plan) -> ast.stmt | None:
    """The statement that new module-level imports follow, or stand before where there is no import yet."""
    anchor: ast.stmt | None = None
    for statement in module.tree.body:
        if _is_import(statement):
            anchor = statement
        elif isinstance(statement, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
            break
    if anchor is None and module.tree.body:
        anchor = module.tree.body[0]
    return anchor


def _is_import(statement: ast.stmt) -> bool:
    return isinstance(statement, (ast.Import, ast.ImportFrom))


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)

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
    anchors: dict[ast.stmt, dict[str, list[str | None]]] = defaultdict(lambda: defaultdict(list))
    have = _present(module, plan)
    before_first: dict[str, list[str | None]] = defaultdict(list)
    after_last: dict[str, list[str | None]] = defaultdict(list)
    first, last = _head(module)
    # Module-level imports first, and `import ray.train` before the `import ray` that it makes needless.
    for wanted, name, near in sorted(plan.needed_imports, key=lambda entry: (entry[2] is not None, -len(entry[0]))):
        scope = module.scope_of[near] if near is not None else module.scope_of[module.tree]
        if any(_imported(wanted, name, have[outer]) for outer in _outward(scope)):
            continue
        have[scope].add((wanted, name))
        if near is not None:
            anchors[near][wanted].append(name)
        else:
            (before_first if name is None else after_last)[wanted].append(name)
    for anchor, names in anchors.items():
        plan.statement(anchor).after.insert(0, Code("\n".join(_lines(names))))
    if before_first:
        plan.statement(first).before.insert(0, Code("\n".join(_lines(before_first))))
    if after_last:
        edit = plan.statement(last)
        (edit.after if _is_import(last) or _is_docstring(last) else edit.before).append(Code("\n".join(_lines(after_last))))


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


def _head(module: Module) -> tuple[ast.stmt, ast.stmt]:
    """The statement that plain imports stand before, and the one that `from` imports stand after.

    The first and last import before the first definition; without any, the first statement that is no docstring.
    """
    body = module.tree.body
    imports: list[ast.stmt] = []
    for statement in body:
        if isinstance(statement, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
            break
        if _is_import(statement):
            imports.append(statement)
    ordinary = [s for s in imports if not (isinstance(s, ast.ImportFrom) and s.module == "__future__")]
    start = next((s for s in body if not _is_docstring(s) and s not in imports), body[-1])
    return (ordinary or [start])[0], (imports or [start])[-1]


def _is_import(statement: ast.stmt) -> bool:
    return isinstance(statement, (ast.Import, ast.ImportFrom))


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)

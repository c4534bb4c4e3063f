"""Where new imports go, and which are there already."""

import ast
import re
import sys
from collections import defaultdict

from raymigrate.edits.plan import Code, Plan
from raymigrate.facts.module import Module
from raymigrate.facts.scopes import Scope

Names = dict[str, list[str | None]]  # module -> names to import from it; None is the module itself


def place_imports(module: Module, plan: Plan) -> None:
    """Turns the imports that a plan needs into edits.

    A name goes into an import from the same module where there is one. Else, an import asked for near an old one takes
    its place, so that an import inside a function stays there; modules of the standard library join the others of it
    at the head of the file; the rest follows the last import there, and so does what new code needs before the old
    import. What the module imports already is not repeated, except where cells, or blocks of a page, each had the same
    old import: each of them still stands alone.
    """
    near_old: dict[ast.stmt, Names] = defaultdict(lambda: defaultdict(list))
    last: Names = defaultdict(list)
    standard: list[str] = []
    have = _present(module, plan)
    # Module-level imports first, and `import ray.train` before the `import ray` that it makes needless.
    for wanted, name, near in sorted(plan.needed_imports, key=lambda entry: (entry[2] is not None, -len(entry[0]))):
        scope = module.scope_of[near] if near is not None else module.scope_of[module.tree]
        if any(_imported(wanted, name, have[outer]) for outer in _outward(scope)):
            continue
        have[scope].add((wanted, name))
        same = _from_same_module(module, plan, wanted, scope) if name is not None else None
        if same is not None and name is not None:
            plan.import_additions.setdefault(same, []).append(name)
        elif near is not None and not _comes_too_late(module, plan, near, name):
            near_old[near][wanted].append(name)
        elif name is None and wanted in sys.stdlib_module_names:
            standard.append(wanted)
        else:
            last[wanted].append(name)
    for wanted, name, near in plan.needed_imports:
        for twin in _twins(module, plan, near):
            if name not in near_old[twin][wanted]:
                near_old[twin][wanted].append(name)
    for wanted in sorted(standard):
        _place_standard(module, plan, wanted)
    for anchor, names in near_old.items():
        plan.statement(anchor).after.insert(0, Code("\n".join(_lines(names))))
    if last:
        anchor = (_head(module) or module.tree.body[:1])[-1]
        edit = plan.statement(anchor)
        follows = _is_import(anchor) or _is_docstring(anchor)
        (edit.after if follows else edit.before).append(Code("\n".join(_lines(last))))


def _twins(module: Module, plan: Plan, near: ast.stmt | None) -> list[ast.stmt]:
    """The same old import in other cells: it goes there too, and so the new one has to come."""
    if near is None:
        return []
    return [
        statement
        for statement in module.imports
        if statement is not near
        and all(alias in plan.dropped_imports for alias in statement.names)
        and module.scope_of[statement] is module.scope_of[near]
        and ast.dump(statement) == ast.dump(near)
        and _edge_between(module, *sorted((near.lineno, statement.lineno)))
    ]


def _edge_between(module: Module, first: int, last: int) -> bool:
    """Whether the edge of a cell lies between two lines: a bare name stands for it."""
    between = (statement for statement in module.tree.body if first < statement.lineno < last)
    return any(isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Name) for statement in between)


def _comes_too_late(module: Module, plan: Plan, near: ast.stmt, name: str | None) -> bool:
    """Whether new code that stands before an old import names what is to be imported there: in notebooks it does."""
    if name is None or module.scope_of[near] is not module.scope_of[module.tree]:
        return False
    codes = [
        code
        for statement, edit in plan.statements.items()
        if statement.lineno < near.lineno
        for code in (*edit.before, *edit.after, edit.replacement)
        if code is not None
    ]
    return any(re.search(rf"\b{name}\b", code.template) for code in codes)


def _from_same_module(module: Module, plan: Plan, wanted: str, scope: Scope) -> ast.ImportFrom | None:
    """An import statement in a scope that imports names from a module and will go on to."""
    for statement in module.imports:
        if (
            isinstance(statement, ast.ImportFrom)
            and not statement.level
            and plan.import_modules.get(statement, statement.module) == wanted
            and module.scope_of[statement] is scope
            and not isinstance(module.parent_of[statement], (ast.Try, ast.If, ast.ExceptHandler))
            and any(alias not in plan.dropped_imports for alias in statement.names)
            and statement.names[0].name != "*"
        ):
            return statement
    return None


def _place_standard(module: Module, plan: Plan, wanted: str) -> None:
    """Puts `import os` in its alphabetical place among the imports of the standard library at the head of the file."""
    head = [s for s in _head(module) if not (isinstance(s, ast.ImportFrom) and s.module == "__future__")]
    standard = [s for s in head if _module_name(s).partition(".")[0] in sys.stdlib_module_names]
    before = [s for s in standard if isinstance(s, ast.Import) and _module_name(s) < wanted]
    if before:
        plan.statement(before[-1]).after.append(Code(f"import {wanted}"))
        return
    first = (head or [s for s in module.tree.body if not _is_docstring(s)] or module.tree.body)[0]
    edit = plan.statement(first)
    edit.before.insert(sum(code.template.startswith("import ") for code in edit.before), Code(f"import {wanted}"))
    edit.blank_line = first not in standard


def _module_name(statement: ast.stmt) -> str:
    return statement.names[0].name if isinstance(statement, ast.Import) else str(getattr(statement, "module", ""))


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


def _head(module: Module) -> list[ast.stmt]:
    """The imports of the module before its first definition."""
    imports: list[ast.stmt] = []
    for statement in module.tree.body:
        if isinstance(statement, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
            break
        if _is_import(statement):
            imports.append(statement)
    return imports


def _is_import(statement: ast.stmt) -> bool:
    return isinstance(statement, (ast.Import, ast.ImportFrom))


def _is_docstring(statement: ast.stmt) -> bool:
    """Whether a statement does nothing; a bare name stands for the edge of a cell or for a magic."""
    return isinstance(statement, ast.Expr) and isinstance(statement.value, (ast.Constant, ast.Name))

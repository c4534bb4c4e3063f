"""Where new imports go, and which are there already."""

import ast
import re
import sys
from bisect import bisect
from collections import defaultdict
from collections.abc import Iterator

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
    extended = _to_extend(module, plan)
    first_use = _first_uses(plan)
    # Module-level imports first, and `import ray.train` before the `import ray` that it makes needless.
    for wanted, name, near in sorted(plan.needed_imports, key=lambda entry: (entry[2] is not None, -len(entry[0]))):
        scope = module.scope_of[near] if near is not None else module.scope_of[module.tree]
        if any((wanted, name) in have[outer] for outer in _outward(scope)):
            continue
        have[scope] |= _provided(wanted, name)
        same = extended.get((scope, wanted))
        # In notebooks, new code that stands before an old import may name what is to be imported there.
        at_top = near is not None and scope is module.scope_of[module.tree]
        too_late = near is not None and at_top and first_use.get(name, near.lineno) < near.lineno
        if same is not None and name is not None:
            plan.import_additions.setdefault(same, []).append(name)
        elif near is not None and not too_late:
            near_old[near][wanted].append(name)
        elif name is None and wanted in sys.stdlib_module_names:
            standard.append(wanted)
        else:
            last[wanted].append(name)
    for twin, wanted, name in _for_other_cells(module, plan):
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


def _for_other_cells(module: Module, plan: Plan) -> Iterator[tuple[ast.stmt, str, str | None]]:
    """Where other cells have the same old import: it goes there too, and so what is new in one of them has to come.

    Yields:
        The import of another cell, the module that is needed, and the name from it.
    """
    edges = [s.lineno for s in module.tree.body if isinstance(s, ast.Expr) and isinstance(s.value, ast.Name)]
    if not edges:
        return  # a bare name stands between cells
    twins: dict[tuple[Scope, str], list[ast.stmt]] = defaultdict(list)
    for statement in module.imports:
        if all(alias in plan.dropped_imports for alias in statement.names):
            twins[_sort_of_import(module, statement)].append(statement)
    needed_in: dict[tuple[tuple[Scope, str], str, str | None], set[int]] = defaultdict(set)
    for wanted, name, near in plan.needed_imports:
        if near is not None:
            needed_in[_sort_of_import(module, near), wanted, name].add(bisect(edges, near.lineno))
    for (sort, wanted, name), cells in needed_in.items():
        for twin in twins[sort]:
            if cells - {bisect(edges, twin.lineno)}:
                yield twin, wanted, name


def _sort_of_import(module: Module, statement: ast.stmt) -> tuple[Scope, str]:
    """What imports have in common that are the same but for their place."""
    return module.scope_of[statement], ast.dump(statement)


def _first_uses(plan: Plan) -> dict[str | None, int]:
    """The words of the code that goes before, after or in the place of statements, each with the first line of it."""
    first: dict[str | None, int] = {}
    for statement, edit in plan.statements.items():
        for code in (*edit.before, *edit.after, edit.replacement):
            for word in re.findall(r"\w+", code.template) if code is not None else ():
                first[word] = min(first.get(word, statement.lineno), statement.lineno)
    return first


def _to_extend(module: Module, plan: Plan) -> dict[tuple[Scope, str], ast.ImportFrom]:
    """By scope and module, the first import statement there that imports names from the module and will go on to."""
    found: dict[tuple[Scope, str], ast.ImportFrom] = {}
    for statement in module.imports:
        if (
            isinstance(statement, ast.ImportFrom)
            and not statement.level
            and not isinstance(module.parent_of[statement], (ast.Try, ast.If, ast.ExceptHandler))
            and any(alias not in plan.dropped_imports for alias in statement.names)
            and statement.names[0].name != "*"
        ):
            origin = plan.import_modules.get(statement, statement.module or "")
            found.setdefault((module.scope_of[statement], origin), statement)
    return found


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
                have[module.scope_of[statement]] |= _provided(alias.name, None)
            elif not statement.level:
                origin = plan.import_modules.get(statement, statement.module or "")
                have[module.scope_of[statement]] |= _provided(origin, alias.name)
    return have


def _provided(module: str, name: str | None) -> set[tuple[str, str | None]]:
    """What an import gives: `import ray.train` also `ray`."""
    if name is not None:
        return {(module, name)}
    return {(module[:end], None) for end in (*(dot.start() for dot in re.finditer(r"\.", module)), len(module))}


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

# ruff: noqa: PTH112, PTH118 - works on strings, as project.py does
"""Which files of a project the imports of a file lead to, found without parsing the rest of it."""

import ast
import os
from collections.abc import Iterator
from functools import lru_cache

from raymigrate.base.expressions import lazy_regex
from raymigrate.facts.projects.project import Project

HOLDS_STATEMENTS = ("body", "orelse", "finalbody", "handlers", "cases")
STATEMENTS_KEPT = 1024
# What may be an import statement.
IMPORT = lazy_regex(rb"\b(?:from|import)\b(?:\\\r?\n|\([^)]*\)|[^\n(])*")


def imported_paths(project: Project, path: str, data: bytes) -> frozenset[str] | None:
    """The real paths of the files that imports lead to, with the packages around them; None where that is unclear.

    Args:
        project: The project.
        path: The file that imports.
        data: What it holds.
    """
    imports = _import_statements(data)
    if imports is None:
        return None
    found = set[str]()
    for node in imports:
        found.update(map(project.real, project.files_of_import(path, node)))
        if isinstance(node, ast.Import):
            found.update(map(project.real, _packages_around(project, path, node)))
    return frozenset(found)


def _import_statements(data: bytes) -> list[ast.Import | ast.ImportFrom] | None:
    """The imports in a source; it is parsed whole only where words in it look like the beginning of one."""
    found: list[ast.Import | ast.ImportFrom] = []
    for statement in IMPORT.findall(data):
        imports = _parsed(statement)
        if imports is None:
            if b"(" not in statement:
                continue  # words in a string
            try:  # it may be cut off in the middle
                nodes = _statements(ast.parse(data))
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                return None
            return [node for node in nodes if isinstance(node, (ast.Import, ast.ImportFrom))]
        found += imports
    return found


@lru_cache(STATEMENTS_KEPT)
def _parsed(statement: bytes) -> tuple[ast.Import | ast.ImportFrom, ...] | None:
    """The imports in what may be a statement, None where it is none; the files of a project have many alike."""
    try:
        nodes = ast.parse(statement).body
    except (SyntaxError, ValueError):
        return None
    return tuple(node for node in nodes if isinstance(node, (ast.Import, ast.ImportFrom)))


def _statements(tree: ast.Module) -> Iterator[ast.AST]:
    """The statements of a source, and the clauses that hold some; what they are made of takes ten times as long."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        for name in HOLDS_STATEMENTS:
            inner = getattr(node, name, None)
            waiting += inner if isinstance(inner, list) else ()


def _packages_around(project: Project, path: str, statement: ast.Import) -> Iterator[str]:
    """The packages that `import package.module` binds: their own names can be used behind it too."""
    for alias in statement.names:
        parts = alias.name.split(".")
        for length in range(1, len(parts)):
            file = project.file(path, ".".join(parts[:length]))
            if file is not None:
                yield file
            elif not any(os.path.isdir(os.path.join(root, *parts[:length])) for root in project.roots(path)):
                break  # nothing is below it

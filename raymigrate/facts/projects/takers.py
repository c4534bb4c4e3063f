"""Where other files of a project take a name from a module."""

import ast
from collections.abc import Iterator, Sequence

from raymigrate.facts.projects.project import Project
from raymigrate.facts.projects.project_uses import importing_modules
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.scopes import Binding


def takers(module: Module, name: str) -> Iterator[tuple[Module, ast.AST]]:
    """Where other files take a name from a module that it has imported itself: one place in each of them."""
    project = module.project
    if project is None:
        return
    home = project.real(module.path)
    for other in importing_modules(module, name):
        place = next(_taken(project, other, home, name), None)
        if place is not None:
            yield other, place


def _taken(project: Project, other: Module, home: str, name: str) -> Iterator[ast.AST]:
    """The imports of a name from a file, the uses that a star import gives it, and `module.name`."""

    def is_home(statement: ast.ImportFrom) -> bool:
        file = project.file(other.path, statement.module or "", statement.level)
        return file is not None and project.real(file) == home

    for statement in other.imports:
        if isinstance(statement, ast.ImportFrom) and is_home(statement):
            names = {alias.name for alias in statement.names}
            if name in names:
                yield statement
            elif "*" in names:
                yield from (use for use in other.reads(name) if other.scope_of[use].find(name) is None)
    for node in other.attributes(name):
        if isinstance(node.value, ast.Name):
            bindings = other.scope_of[node.value].lookup(node.value.id)
            if any(file == home for file in _modules_bound(project, other, bindings)):
                yield node


def _modules_bound(project: Project, other: Module, bindings: Sequence[Binding]) -> Iterator[str]:
    """The files of the modules that imports bind: `import helpers`, `from package import helpers`."""
    for binding in bindings:
        statement, alias = binding.statement, binding.node
        if isinstance(statement, ast.Import) and isinstance(alias, ast.alias):
            file = project.file(other.path, alias.name)
        elif isinstance(statement, ast.ImportFrom) and isinstance(alias, ast.alias):
            file = project.file(other.path, f"{statement.module or ''}.{alias.name}".strip("."), statement.level)
        else:
            file = None
        if file is not None:
            yield project.real(file)

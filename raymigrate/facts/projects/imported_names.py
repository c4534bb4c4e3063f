"""What imported names stand for: they are followed through the files of a project, to where they get their value."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from raymigrate.facts.syntax.definitions import Definition
from raymigrate.facts.syntax.scopes import Binding

if TYPE_CHECKING:
    from raymigrate.facts.projects.project import Project
    from raymigrate.facts.syntax.module import Module

RE_EXPORTS = 8


@dataclass
class Search:
    """Follows one name through the files of a project.

    Args:
        project: The project.
    """

    project: Project
    # By how deep the search is, too: it ends at RE_EXPORTS.
    _members: dict[tuple[str, tuple[str, ...], int], Definition | None] = field(default_factory=dict)

    def imported(self, module: Module, binding: Binding, names: list[str], depth: int) -> Definition | None:
        """What a dotted name stands for whose first part is bound by an import."""
        statement, alias = binding.statement, binding.node
        if statement is None or not isinstance(alias, ast.alias) or depth > RE_EXPORTS:
            return None
        ways = ways_of_import(self.project, module.path, statement, alias, names[1:])
        found = (self._member(file, there, depth) for file, there in ways)
        return next((definition for definition in found if definition is not None), None)

    def _member(self, file: str, names: list[str], depth: int) -> Definition | None:
        """What a name of a file stands for; found once, as star imports of each other lead there in many ways."""
        key = file, tuple(names), depth
        if key not in self._members:
            self._members[key] = self._found(file, names, depth)
        return self._members[key]

    def _found(self, file: str, names: list[str], depth: int) -> Definition | None:
        module = self.project.module_binding(file, names[0]) if names else None
        if module is None:
            return None
        bindings = module.scope_of[module.tree].bindings.get(names[0], [])
        if not bindings:
            return self.from_stars(module, names, depth)
        if all(binding.statement is not None for binding in bindings):
            return common([_re_exported(self.imported(module, binding, names, depth + 1)) for binding in bindings])
        if len(bindings) != 1 or len(names) != 1:
            return None
        return Definition(module, bindings[0].node, names[0])

    def from_stars(self, module: Module, names: list[str], depth: int) -> Definition | None:
        """What a name stands for that nothing but a star import can bring in."""
        found = [
            self._member(source, names, depth + 1)
            for statement in (module.star_imports if depth <= RE_EXPORTS else ())
            if (source := self.project.file(module.path, statement.module or "", statement.level))
        ]
        return common([_re_exported(definition) for definition in found if definition is not None])


def ways_of_import(
    project: Project, path: str, statement: ast.stmt, alias: ast.alias, rest: list[str]
) -> Iterator[tuple[str, list[str]]]:
    """Where a dotted name leads whose first part an import binds: files, the likelier one first.

    Args:
        project: The project.
        path: The file with the import.
        statement: The import.
        alias: What of it binds the name.
        rest: The parts behind the first one.

    Yields:
        A file, and what is left of the name there.
    """
    if isinstance(statement, ast.ImportFrom):
        source = statement.module or ""
        below = [(f"{source}.{alias.name}".strip("."), rest)] if rest else []
        for name, there in [(source, [alias.name, *rest]), *below]:
            if (file := project.file(path, name, statement.level)) is not None:
                yield file, there
        return
    bound = alias.name.split(".") if alias.asname else [alias.name.partition(".")[0]]
    parts = [*bound, *rest]
    for length in range(len(parts) - 1, len(bound) - 1, -1):
        if (file := project.file(path, ".".join(parts[:length]))) is not None:
            yield file, parts[length:]
            return


def common(definitions: Iterable[Definition | None]) -> Definition | None:
    """The definition that all of them are."""
    definitions = iter(definitions)
    first = next(definitions, None)
    if first is None or any(other is None or other.node is not first.node for other in definitions):
        return None
    return first


def _re_exported(found: Definition | None) -> Definition | None:
    return None if found is None else Definition(found.module, found.node, found.name, True)

"""Names of libraries that a file takes from another one of its project: `from common import *`, `compat.Checkpoint`.

What that file imports from a library, it passes on. Rules look at what a file itself imports, so that such a name is
one of the project to them.
"""

import ast
import builtins
from dataclasses import dataclass, field

from raymigrate.facts.projects.imported_names import ways_of_import
from raymigrate.facts.projects.project import Project
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.own_modules import LIBRARIES
from raymigrate.facts.syntax.scopes import Binding, Scope

MOST_FILES = 8  # that pass on a name one after the other


@dataclass(frozen=True)
class PassedName:
    """A use of a name of a library that another file of the project imports.

    Args:
        node: The name, with the longest attribute chain on it.
        qualified: What it stands for.
        imported: What that file imports of it.
    """

    node: ast.expr
    qualified: str
    imported: str


@kept
def passed_names(module: Module) -> list[PassedName]:
    """Every use of a name of a library that other files of the project pass on, in source order.

    Args:
        module: The module.
    """
    if module.project is None or not any(_is_of_project(module, statement) for statement in module.imports):
        return []
    search, passed = _Search(module.project), list[PassedName]()
    for root in module.of_type(ast.Name):
        if not isinstance(root.ctx, ast.Load) or hasattr(builtins, root.id):
            continue
        node, rest = _chain(module, root)
        if (found := search.of_name(module, module.scope_of[root], [root.id, *rest], 0)) is not None:
            passed.append(PassedName(node, *found))
    return passed


def _is_of_project(module: Module, statement: ast.Import | ast.ImportFrom) -> bool:
    """Whether an import may be one of the project's files."""
    if isinstance(statement, ast.ImportFrom) and statement.level:
        return True
    names = [module.imported(statement, alias) for alias in statement.names]
    return any(name.startswith(".") or name.partition(".")[0] not in LIBRARIES for name in names)


def _chain(module: Module, root: ast.Name) -> tuple[ast.expr, list[str]]:
    """The longest attribute chain on a name, and the attributes in it."""
    node: ast.expr = root
    rest: list[str] = []
    while isinstance(parent := module.parent_of[node], ast.Attribute):
        node = parent
        rest.append(parent.attr)
    return node, rest


@dataclass
class _Search:
    """Follows names from file to file.

    What a name is in a file is asked once, as files that star-import each other lead to it in many ways; by how deep
    the search is, too, which ends at MOST_FILES.

    Args:
        project: The project.
    """

    project: Project
    _of_files: dict[tuple[str, tuple[str, ...], int], tuple[str, str] | None] = field(default_factory=dict)

    def of_name(self, module: Module, scope: Scope, names: list[str], depth: int) -> tuple[str, str] | None:
        """What a dotted name stands for in a scope, and what of it is imported; None unless a file passes it on."""
        home = scope.find(names[0])
        if home is None:
            stars = module.star_imports if depth <= MOST_FILES else []
            files = (self.project.file(module.path, star.module or "", star.level) for star in stars)
            found = {self._of_file(file, names, depth) if file is not None else None for file in files}
            return found.pop() if len(found) == 1 else None  # with another star import it may be of either
        if len(module.meanings(home, names[0])) != 1:
            return None
        binding = next((found for found in home.bindings[names[0]] if found.statement is not None), None)
        return self._of_import(module, binding, names[1:], depth) if binding is not None else None

    def _of_import(self, module: Module, binding: Binding, rest: list[str], depth: int) -> tuple[str, str] | None:
        statement, alias = binding.statement, binding.node
        assert statement is not None and isinstance(alias, ast.alias)
        qualified = binding.qualified or ""
        if not qualified.startswith(".") and qualified.partition(".")[0] in LIBRARIES:
            return (".".join([qualified, *rest]), qualified) if depth else None
        if depth > MOST_FILES:
            return None
        ways = ways_of_import(self.project, module.path, statement, alias, rest)
        found = (self._of_file(file, names, depth) for file, names in ways)
        return next((passed for passed in found if passed is not None), None)

    def _of_file(self, path: str, names: list[str], depth: int) -> tuple[str, str] | None:
        """What a dotted name stands for in a file."""
        key = path, tuple(names), depth
        if key not in self._of_files:
            home = self.project.module_binding(path, names[0])
            found = self.of_name(home, home.scope_of[home.tree], names, depth + 1) if home is not None else None
            self._of_files[key] = found
        return self._of_files[key]

"""Imports as people group them: runs without a blank line, sorted as isort's black profile does or not at all."""

import ast
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from raymigrate.base.expressions import lazy_regex
from raymigrate.edits.plan import Plan
from raymigrate.facts.syntax.module import Module

ImportStatement = ast.Import | ast.ImportFrom
IMPORTS = (ast.Import, ast.ImportFrom)
FUTURE, STANDARD, INSTALLED, OWN, RELATIVE = range(5)  # sections, in isort's order
EDGE = lazy_regex(r"_+cell_\d+__")  # a line with such a name parts two cells (see raymigrate.documents.cells)
LIBRARIES = ("ray", "torch", "transformers", "accelerate", "datasets")
HELPERS = "ray_train_helpers"  # modules that this tool writes; of others no name tells whether they are installed
SortKey = tuple[int, bool, str, tuple[int, str]]


@dataclass(frozen=True, eq=False)
class Run:
    """Imports that are in one block without a blank line or anything else between them.

    Args:
        statements: The imports; at least one.
    """

    statements: tuple[ImportStatement, ...]

    @property
    def last(self) -> ImportStatement:
        """The last of them."""
        return self.statements[-1]

    @cached_property
    def is_sorted(self) -> bool:
        """Whether they are in isort's order, in one of its two styles."""
        return self._is_sorted(by_name=False) or self._is_sorted(by_name=True)

    @cached_property
    def by_name(self) -> bool:
        """Whether `import a` and `from b import c` are sorted as one; else the former come first."""
        return not self._is_sorted(by_name=False) and self._is_sorted(by_name=True)

    def remains_sorted(self, plan: Plan) -> bool:
        """Whether what a plan leaves of them is in that order, too."""
        return self._is_sorted(by_name=self.by_name, plan=plan)

    def _is_sorted(self, *, by_name: bool, plan: Plan | None = None) -> bool:
        kept = (statement for statement in self.statements if plan is None or stays(statement, plan))
        keys = [key_of(statement, plan, by_name=by_name) for statement in kept]
        return all(first <= second for first, second in pairwise(keys))

    @cached_property
    def sections(self) -> list[int]:
        """The sections that they belong to, in isort's order."""
        return sorted({section_of(module_of(statement)) for statement in self.statements})

    def has_section(self, section: int) -> bool:
        """Whether an import of a section is among them."""
        return section in self.sections

    def has_root(self, root: str) -> bool:
        """Whether one of them imports from a package."""
        return root in self._roots

    @property
    def has_library(self) -> bool:
        """Whether one of them imports from a library that this tool knows."""
        return not self._roots.isdisjoint(LIBRARIES)

    @cached_property
    def _roots(self) -> set[str]:
        return {root_of(module_of(statement)) for statement in self.statements}


def runs_of(module: Module, block: Sequence[ast.stmt]) -> list[Run]:
    """The runs of imports in neighbouring statements of one block."""
    runs: list[list[ImportStatement]] = []
    previous: ast.stmt | None = None
    for statement in block:
        if isinstance(statement, IMPORTS):
            if previous is None or _is_blank_between(module, previous, statement):
                runs.append([])
            runs[-1].append(statement)
            previous = statement
        else:
            previous = None
    return [Run(tuple(run)) for run in runs]


def _is_blank_between(module: Module, first: ast.stmt, second: ast.stmt) -> bool:
    return any(not line.strip() for line in module.lines[first.end_lineno or first.lineno : second.lineno - 1])


def module_of(statement: ImportStatement, plan: Plan | None = None) -> str:
    """The module that a statement imports (from), with its dots where it is relative; by a plan, once that is done."""
    if isinstance(statement, ast.Import):
        return statement.names[0].name
    if plan is not None and statement in plan.import_modules:
        return plan.import_modules[statement]
    return "." * statement.level + (statement.module or "")


def root_of(name: str) -> str:
    """The package of a module."""
    return name.partition(".")[0]


def section_of(name: str) -> int:
    """The section that isort puts a module into, as far as its name tells."""
    if name.startswith("."):
        return RELATIVE
    root = root_of(name)
    if root == "__future__":
        return FUTURE
    if root.startswith(HELPERS):
        return OWN
    return STANDARD if root in sys.stdlib_module_names else INSTALLED


def sort_key(name: str, imported: str | None, *, by_name: bool) -> SortKey:
    """The place of an import among others: by section, `import a` before `from a import b`, by the names in any case.

    Args:
        name: The module.
        imported: The first name that is imported from it; None where it is the module.
        by_name: Whether both kinds are sorted as one.
    """
    is_from = imported is not None
    return section_of(name), is_from and not by_name, name.lower(), name_key(imported) if imported else (-1, "")


def key_of(statement: ImportStatement, plan: Plan | None, *, by_name: bool) -> SortKey:
    """The same for a statement, as it is or by a plan."""
    imported = statement.names[0].name if isinstance(statement, ast.ImportFrom) else None
    return sort_key(module_of(statement, plan), imported, by_name=by_name)


def name_key(name: str) -> tuple[int, str]:
    """The place of a name in a `from` import: constants, classes, the rest."""
    kind = 0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2
    return kind, name.lower()


def stays(statement: ImportStatement, plan: Plan) -> bool:
    """Whether a plan leaves something of an import."""
    return any(alias not in plan.dropped_imports for alias in statement.names)


def has_comment(module: Module, statement: ast.stmt) -> bool:
    """Whether a comment stands inside an import or after it."""
    return any("#" in line for line in module.lines[statement.lineno - 1 : statement.end_lineno])


def cells(module: Module) -> list[list[ast.stmt]]:
    """The top level by cells; a script without cells is one."""
    found: list[list[ast.stmt]] = [[]]
    for statement in module.tree.body:
        if is_edge(statement):
            found.append([])
        else:
            found[-1].append(statement)
    return found


def is_edge(statement: ast.stmt) -> bool:
    """Whether a statement stands for the edge of a cell."""
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Name)
        and EDGE.fullmatch(statement.value.id) is not None
    )


def does_nothing(statement: ast.stmt) -> bool:
    """Whether a statement is a docstring, or stands for a magic."""
    return isinstance(statement, ast.Expr) and isinstance(statement.value, (ast.Constant, ast.Name))


def begins_with_imports(cell: Sequence[ast.stmt]) -> bool:
    """Whether a cell begins with imports: one that does not shows or tries something, and may be left out."""
    first = next((statement for statement in cell if not does_nothing(statement)), None)
    return isinstance(first, (ast.Import, ast.ImportFrom))

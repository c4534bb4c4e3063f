"""The text of new imports, and their places in a run of old ones."""

import ast
from bisect import bisect_left
from collections import defaultdict
from dataclasses import replace

from raymigrate.edits.import_runs import (
    INSTALLED,
    OWN,
    Run,
    SortKey,
    has_comment,
    key_of,
    module_of,
    name_key,
    root_of,
    section_of,
    sort_key,
    stays,
)
from raymigrate.edits.line_length import line_length
from raymigrate.edits.plan import Code, Plan
from raymigrate.facts.syntax.module import Module

Spot = tuple[ast.stmt, bool]  # a statement, and whether new imports come before it


class NewImports:
    """Imports that join a run, or come before a statement where there is none.

    Args:
        run: The run.
        anchor: The statement.
    """

    def __init__(self, run: Run | None, anchor: ast.stmt) -> None:
        self.run = run
        self.anchor = anchor
        self._names: dict[str, dict[str | None, ast.stmt | None]] = defaultdict(dict)

    def add(self, module: str, name: str | None, near: ast.stmt | None) -> None:
        """Adds one; for the arguments see `Plan.need_import`."""
        self._names[module].setdefault(name, near)

    def write(self, module: Module, plan: Plan) -> None:
        """Adds them to the plan."""
        spots: dict[Spot, list[tuple[SortKey, str]]] = defaultdict(list)
        limit = line_length(module.text) - self.anchor.col_offset
        by_name = self.run is not None and self.run.by_name
        for name, names in self._names.items():
            for chosen in _statements(list(names)):
                imported = sorted((n for n in chosen if n and not n.startswith(" ")), key=name_key)
                line = _from_import(name, imported, limit) if imported else f"import {name}{chosen[0] or ''}"
                key = sort_key(name, imported[0] if imported else None, by_name=by_name)
                spots[self._spot(module, plan, key, name, names[chosen[0]])].append((key, line))
        for (anchor, before), entries in spots.items():
            self._write_at(module, plan, anchor, sorted(entries, key=self._order), before=before)

    def _order(self, entry: tuple[SortKey, str]) -> tuple[object, ...]:
        """What new imports in one place are sorted by: where the others are not sorted, each package stays together."""
        key = entry[0]
        unsorted = self.run is not None and not self.run.is_sorted
        return (key[0], root_of(key[2]), *key) if unsorted else key

    def _spot(self, module: Module, plan: Plan, key: SortKey, name: str, near: ast.stmt | None) -> Spot:
        run = self.run
        if run is None:
            return self.anchor, True
        kept = [statement for statement in run.statements if stays(statement, plan)]
        section = section_of(name)
        takes_place = near is not None and near in run.statements and near not in kept and run.has_section(section)
        if near is not None and takes_place and (not run.is_sorted or has_comment(module, near)):
            return near, False  # a comment stays with what takes the place
        if not run.has_section(section):
            return (run.statements[0], True) if kept and section < run.sections[0] else (run.last, False)
        if not run.is_sorted:
            same_root = [statement for statement in run.statements if root_of(module_of(statement)) == root_of(name)]
            same_section = [statement for statement in run.statements if section_of(module_of(statement)) == section]
            return (same_root or same_section)[-1], False
        for statement in kept:
            if key_of(statement, plan, by_name=run.by_name) > key:
                return statement, True
        return run.last, False

    def _write_at(
        self, module: Module, plan: Plan, anchor: ast.stmt, entries: list[tuple[SortKey, str]], *, before: bool
    ) -> None:
        """Writes lines before or after a statement, with blank lines between sections."""
        sections = self.run.sections if self.run is not None else []
        parts = len(sections) < 2  # else the run has them mixed
        lines: list[str] = []
        goes_on = self.run is not None and any(stays(statement, plan) for statement in self.run.statements)
        previous = sections[-1] if goes_on and not before else None
        if entries[0][0][0] == OWN and previous == INSTALLED and self.run is not None and not self.run.has_library:
            previous = OWN  # helpers stand with what are the script's own modules, most likely
        for key, line in entries:
            if parts and previous is not None and key[0] != previous:
                lines.append("")
            lines.append(line)
            previous = key[0]
        edit = plan.statement(_line_head(module, anchor))
        before = before or _has_code_behind(module, anchor)
        code = Code("\n".join(lines))
        if before and self.run is None and edit.before:
            other = edit.before[0]
            edit.before[:1] = [code, replace(other, template=f"\n{other.template}")]
        elif before:
            new_section = previous not in sections
            edit.before.insert(0, code)
            edit.blank_line = parts and new_section
            edit.below_comments = self.run is not None and anchor is self.run.statements[0] and not new_section
        else:
            edit.after.insert(0, code)


def _statements(names: list[str | None]) -> list[list[str | None]]:
    """The names of a module by the statements that import them: `a as b` has one of its own, as with isort."""
    alone = [[name] for name in names if name is None or " as " in name]
    together = [name for name in names if [name] not in alone]
    return [*alone, together] if together else alone


def _from_import(module: str, names: list[str], limit: int) -> str:
    line = f"from {module} import {', '.join(names)}"
    if len(line) <= limit:
        return line
    return f"from {module} import (\n" + "".join(f"    {name},\n" for name in names) + ")"


def _has_code_behind(module: Module, statement: ast.stmt) -> bool:
    """Whether code on the same line may use what a statement imports: `from a import b; b()`."""
    return any(
        other.lineno == statement.end_lineno and not isinstance(other, (ast.Import, ast.ImportFrom))
        for other in module.block_of(statement)
        if other is not statement
    )


def _line_head(module: Module, statement: ast.stmt) -> ast.stmt:
    """The first statement on the line on which a statement starts."""
    siblings = module.block_of(statement)
    return siblings[bisect_left(siblings, statement.lineno, key=lambda other: other.end_lineno or other.lineno)]

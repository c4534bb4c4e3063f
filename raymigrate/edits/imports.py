"""Where new imports go, and which are there already."""

import ast
import re
from bisect import bisect
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from raymigrate.edits.import_names import TOKEN, local_name, rename_imports
from raymigrate.edits.import_runs import (
    ImportStatement,
    Run,
    begins_with_imports,
    cells,
    does_nothing,
    has_comment,
    is_edge,
    module_of,
    root_of,
    runs_of,
    section_of,
    stays,
)
from raymigrate.edits.import_writing import NewImports
from raymigrate.edits.own_names import say_own_names
from raymigrate.edits.plan import Plan
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import blocks
from raymigrate.facts.syntax.optional_imports import guarded_imports
from raymigrate.facts.syntax.scopes import Scope

NEVER = 1 << 60  # behind every line
CONDITIONAL = (ast.Try, ast.If, ast.ExceptHandler)
DEFINITIONS = (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)


def place_imports(module: Module, plan: Plan) -> None:
    """Turns the imports that a plan needs into edits.

    What is imported already, before the code that needs it, is not repeated, and a name goes into an import from the
    same module where there is one. Else an import goes into the cell that needs it, or into the block of the old import
    whose place it takes, among those of its kind. Where cells, or blocks of a page, each had the same old import, each
    of them still stands alone.
    """
    _dissolve_alternatives(plan)
    say_own_names(module, plan)
    rename_imports(module, plan)
    if plan.needed_imports or plan.import_modules:
        _Placing(module, plan).place()


@dataclass(frozen=True)
class _Needed:
    """An import that new code needs.

    Args:
        module: The module.
        name: What is imported from it, perhaps under another name (`a as b`); None for the module itself, or ` as b`.
        near: An old import whose place it takes.
    """

    module: str
    name: str | None
    near: ast.stmt | None

    @property
    def local(self) -> str:
        """The name that it binds."""
        return local_name(self.module, self.name)


_Import = tuple[Scope, str, str | None]  # a scope, a module, and a name from it


class _Placing:
    """Places the imports of one plan."""

    def __init__(self, module: Module, plan: Plan) -> None:
        self.module = module
        self.plan = plan
        self.root = module.scope_of[module.tree]
        self.cells = cells(module)
        self.present: dict[Scope, dict[tuple[str, str | None], list[int]]] = defaultdict(dict)  # with their lines
        self.own: dict[_Import, list[tuple[ast.alias, ImportStatement]]] = defaultdict(list)  # the user's, that stay
        self.functions: dict[tuple[str, str | None], set[Scope]] = defaultdict(set)  # that have such imports
        self.joinable: dict[tuple[Scope, int, str], list[ast.ImportFrom]] = defaultdict(list)
        self.new: dict[Run | ast.stmt, NewImports] = {}  # by the run that they join, or the statement they come before
        self._moved = frozenset(plan.moved())
        self._blocks = {statement: cell for cell in self.cells for statement in cell}
        self._runs: dict[int, list[Run]] = {}
        self._run_with: dict[ast.stmt, Run] = {}

    def place(self) -> None:
        """Places all of them."""
        self._pull_out_moved()
        for statement in filter(self._stays_there, self.module.imports):
            self._note(statement)
        entries = [self._kept_optional(_Needed(*entry)) for entry in self.plan.needed_imports]
        # Module-level imports first, and `import ray.train` before the `import ray` that it makes needless.
        for needed in sorted(entries, key=lambda needed: (needed.near is not None, -len(needed.module))):
            self._place(needed)
        for twin, name, imported in _for_other_cells(self.module, self.plan):
            self._add(_Needed(name, imported, twin), twin, self._siblings(twin), NEVER)
        for new in self.new.values():
            new.write(self.module, self.plan)

    # -- what is there -------------------------------------------------------------------------

    def _pull_out_moved(self) -> None:
        """Lets statements that import from another module than before be placed anew, where they would stand wrong.

        That is where their run is sorted and would not be any more, and where the same block has another import from
        the same module. Those with comments stay.
        """
        sources: Counter[tuple[int, str]] = Counter()
        for statement in self.module.imports if self.plan.import_modules else ():
            if isinstance(statement, ast.ImportFrom) and stays(statement, self.plan):
                sources[id(self._siblings(statement)), module_of(statement, self.plan)] += 1
        for run in {self._run_of(statement): None for statement in self.plan.import_modules}:
            unsorted = run.is_sorted and not run.remains_sorted(self.plan)
            for statement in run.statements:
                if not isinstance(statement, ast.ImportFrom) or statement not in self.plan.import_modules:
                    continue
                name = self.plan.import_modules[statement]
                source = id(self._siblings(statement)), name
                if (unsorted or sources[source] > 1) and not has_comment(self.module, statement):
                    sources[source] -= 1
                    self._place_anew(statement, name)

    def _place_anew(self, statement: ast.ImportFrom, name: str) -> None:
        del self.plan.import_modules[statement]
        for alias in statement.names:
            if alias not in self.plan.dropped_imports:
                self.plan.drop_import(alias, statement)
                imported = f"{alias.name} as {alias.asname}" if alias.asname else alias.name
                self.plan.need_import(name, imported, near=statement)

    def _note(self, statement: ImportStatement) -> None:
        """Notes what a statement goes on to import, if it does so in any case and under its own name."""
        scope = self.module.scope_of[statement]
        if isinstance(self.module.parent_of[statement], CONDITIONAL):
            return
        source = module_of(statement, self.plan)
        for alias in statement.names:
            if alias not in self.plan.dropped_imports and not alias.asname:
                is_from = isinstance(statement, ast.ImportFrom)
                key = scope, source if is_from else alias.name, alias.name if is_from else None
                self._note_name(*key, statement.lineno)
                self.own[key].append((alias, statement))
                if scope is not self.root:
                    self.functions[key[1:]].add(scope)
        if isinstance(statement, ast.ImportFrom) and statement.names[0].name != "*" and stays(statement, self.plan):
            self.joinable[scope, id(self._siblings(statement)), source].append(statement)

    def _note_name(self, scope: Scope, module: str, name: str | None, line: int) -> None:
        """Notes what an import gives: `import ray.train` also `ray`."""
        for given in _given(module, name):
            self.present[scope].setdefault(given, []).append(line)

    def _is_present(self, needed: _Needed, scope: Scope | None) -> bool:
        while scope is not None:
            lines = self.present[scope].get((needed.module, needed.name), ())
            if any(self._is_in_time(line, needed) for line in lines):
                return True
            scope = scope.parent
        return False

    # -- who needs it --------------------------------------------------------------------------

    @cached_property
    def _code(self) -> dict[str, list[int]]:
        """The lines of the statements into which the plan puts code with a name, for each name, in order."""
        found = defaultdict[str, list[int]](list)
        for node, code in self.plan.places():
            for name in TOKEN.findall(code.template):
                found[name].append(node.lineno)  # type: ignore[attr-defined]
        return {name: sorted(lines) for name, lines in found.items()}

    def _needed_at(self, needed: _Needed) -> int:
        """The line of the statement into which the first new code goes that needs an import."""
        return self._code.get(needed.local, [NEVER])[0]

    def _is_in_time(self, line: int, needed: _Needed) -> bool:
        """Whether what an import on a line binds is there for all that needs it."""
        if line >= self._needed_at(needed):
            return False
        if needed.near is None or line <= needed.near.lineno:
            return True
        reads = self.module.uses(needed.local, self.module.scope_of[needed.near])
        return all(line < read.lineno for read in reads)

    # -- places --------------------------------------------------------------------------------

    @cached_property
    def _optional(self) -> dict[str, list[ImportStatement]]:
        """The packages that the module can do without, as it imports them in a `try` only, and these imports.

        None where Ray is not among them: what is converted needs the others with it.
        """
        tried = [each for each in guarded_imports(self.module) if self._is_of_module(each) and self._stays_there(each)]
        known = set(tried)
        certain = {
            root_of(alias.name if isinstance(statement, ast.Import) else statement.module or "")
            for statement in self.module.imports
            if statement not in known and self._is_of_module(statement)
            for alias in statement.names
        }
        found: dict[str, list[ImportStatement]] = {}
        for statement in tried:
            found.setdefault(root_of(module_of(statement)), []).append(statement)
        return {} if "ray" in certain else {root: made for root, made in found.items() if root not in certain}

    def _is_of_module(self, statement: ast.stmt) -> bool:
        return self.module.scope_of[statement] is self.root

    def _stays_there(self, statement: ast.stmt) -> bool:
        """Whether an import is not in a statement of the module that moves into a function."""
        is_of_function = not self._is_of_module(statement)
        return is_of_function or self._moved.isdisjoint((statement, *self.module.ancestors(statement)))

    def _kept_optional(self, needed: _Needed) -> _Needed:
        """An import that goes into the `try` where its package is imported, so that the file still runs without it."""
        if self._hides(needed):
            needed = replace(needed, near=None)
        if needed.near is not None or not (tried := self._optional.get(root_of(needed.module))):
            return needed
        line = self._needed_at(needed)
        in_time = [statement for statement in tried if statement.lineno < line]
        return replace(needed, near=in_time[-1]) if in_time else needed

    def _hides(self, needed: _Needed) -> bool:
        """Whether an import in a function would make its own what the function reads of the module before it."""
        scope = self.module.scope_of[needed.near] if needed.near is not None else self.root
        return scope is not self.root and any(
            read.lineno < needed.near.lineno  # type: ignore[union-attr]
            and self.module.scope_of[read].find(needed.local) is self.root
            and self.module.inside(self.module.statement(read), scope.node)  # and not in its decorators
            for read in self.module.reads(needed.local)
        )

    def _place(self, needed: _Needed) -> None:
        scope = self.module.scope_of[needed.near] if needed.near is not None else self.root
        if scope is self.root:
            self._drop_shadowing(needed)
        if self._is_present(needed, scope):
            return
        line = self._needed_at(needed)
        near = needed.near if needed.near is not None and needed.near.lineno < line else None
        if near is None and scope is not self.root:
            near = needed.near  # in a function, with the code after it
        siblings = self._siblings(near) if near is not None else self._cell_before(line)
        self._note_name(scope, needed.module, needed.name, min(line - 1, siblings[-1].lineno))
        self._drop_repeated(needed, scope, siblings)
        if needed.name is not None and (joined := self._same_module(needed, scope, siblings)) is not None:
            self.plan.import_additions.setdefault(joined, []).append(needed.name)
            return
        self._add(needed, near, siblings, line)

    def _drop_repeated(self, needed: _Needed, scope: Scope, siblings: Sequence[ast.stmt]) -> None:
        """Takes out the user's own import of the same name in the same block or cell, which stands too late."""
        for alias, statement in self.own.pop((scope, needed.module, needed.name), ()):
            if self._siblings(statement) is siblings and statement is not needed.near:
                self._drop(alias, statement)

    def _drop_shadowing(self, needed: _Needed) -> None:
        """Takes out imports of the same in functions with new code above them, which would read a name of no value."""
        lines = self._code.get(needed.local, [])
        for module, name in _given(needed.module, needed.name):
            for scope in self.functions[module, name]:
                first = bisect(lines, scope.node.lineno)  # type: ignore[union-attr]
                for alias, statement in self.own[scope, module, name]:
                    if first < len(lines) and lines[first] <= statement.lineno:
                        self._drop(alias, statement)

    def _drop(self, alias: ast.alias, statement: ImportStatement) -> None:
        """Takes out an import that stands too late, so that no other one goes into its statement either."""
        self.plan.drop_import(alias, statement)
        key = self.module.scope_of[statement], id(self._siblings(statement)), module_of(statement, self.plan)
        if statement in (joinable := self.joinable.get(key, [])):
            joinable.remove(statement)

    def _same_module(self, needed: _Needed, scope: Scope, siblings: Sequence[ast.stmt]) -> ast.ImportFrom | None:
        """An import from the same module, among the statements where the new one would stand."""
        if " as " in str(needed.name):  # isort gives each a statement of its own
            return None
        for statement in self.joinable[scope, id(siblings), needed.module]:
            if not any(alias.asname for alias in statement.names) and self._is_in_time(statement.lineno, needed):
                return statement
        return None

    def _siblings(self, statement: ast.stmt) -> Sequence[ast.stmt]:
        """The statements of the block, or the cell, that a statement is in."""
        if statement not in self._blocks:
            for block in blocks(self.module.parent_of[statement]):
                self._blocks.update(dict.fromkeys(block, block))
        return self._blocks[statement]

    def _run_of(self, statement: ast.stmt) -> Run:
        """The run that an import is in."""
        self._runs_in(self._siblings(statement))
        return self._run_with[statement]

    def _cell_before(self, line: int) -> Sequence[ast.stmt]:
        """The cell that needs an import on a line; without imports, the last before it that begins with or has some."""
        reached = [cell for cell in self.cells if cell and cell[0].lineno <= line] or self.cells[:1]
        with_imports = [cell for cell in reached if any(run.last.lineno < line for run in self._runs_in(cell))]
        if reached[-1] not in with_imports:
            with_imports += [cell for cell in with_imports if begins_with_imports(cell)]
        return with_imports[-1] if with_imports else reached[-1]

    def _runs_in(self, siblings: Sequence[ast.stmt]) -> list[Run]:
        if id(siblings) not in self._runs:
            self._runs[id(siblings)] = runs = runs_of(self.module, siblings)
            self._run_with.update((statement, run) for run in runs for statement in run.statements)
        return self._runs[id(siblings)]

    def _add(self, needed: _Needed, near: ast.stmt | None, siblings: Sequence[ast.stmt], line: int) -> None:
        """Adds an import to the run among these statements that it fits best, or before all of them."""
        run = self._run_of(near) if near is not None else None
        if run is None or not run.has_section(section_of(needed.module)):
            runs = [run for run in self._runs_in(siblings) if run.last.lineno < line]
            first_definition = next((s.lineno for s in siblings if isinstance(s, DEFINITIONS)), NEVER)
            head = [run for run in runs if run.last.lineno < first_definition or near in run.statements] or runs
            run = _best(head, section_of(needed.module), root_of(needed.module)) if head else None
        if run is not None:
            self.new.setdefault(run, NewImports(run, run.last)).add(needed.module, needed.name, near)
            return
        anchor = next((statement for statement in siblings if not does_nothing(statement)), siblings[-1])
        self.new.setdefault(anchor, NewImports(None, anchor)).add(needed.module, needed.name, near)


def _given(module: str, name: str | None) -> Iterator[tuple[str, str | None]]:
    """What an import gives: `import ray.train` also `ray`."""
    ends = [dot.start() for dot in re.finditer(r"\.", module)] if name is None else []
    yield from ((module[:end], name) for end in (*ends, len(module)))


def _dissolve_alternatives(plan: Plan) -> None:
    """Takes out statements that import the same in several ways; what stays of the first way is placed anew."""
    for outer, arms in plan.dissolved.items():
        plan.statement(outer).removed = True
        for statement in arms[0]:
            assert isinstance(statement, (ast.Import, ast.ImportFrom))
            source = module_of(statement, plan)
            for alias in statement.names:
                if alias not in plan.dropped_imports:
                    imported = f"{alias.name} as {alias.asname}" if alias.asname else alias.name
                    plan.need_import(source, imported if isinstance(statement, ast.ImportFrom) else None)
                plan.dropped_imports.pop(alias, None)
            if isinstance(statement, ast.ImportFrom):
                plan.import_modules.pop(statement, None)
        inside = {statement for arm in arms for statement in arm}
        plan.needed_imports = {
            (module, name, None if near in inside else near): None for module, name, near in plan.needed_imports
        }


def _best(runs: list[Run], section: int, root: str) -> Run:
    """The run that an import fits best: that of the same package, or of the same section."""
    same = [run for run in runs if run.has_section(section)]
    if not same:
        before = [run for run in runs if run.sections[-1] < section]
        return before[-1] if before else runs[0]
    with_root = [run for run in same if run.has_root(root)]
    return [*with_root, *[run for run in same if run.has_library], *reversed(same)][0]


def _for_other_cells(module: Module, plan: Plan) -> Iterator[tuple[ast.stmt, str, str | None]]:
    """Where other cells have the same old import: it goes there too, and so what is new in one of them has to come.

    Yields:
        The import of another cell, the module that is needed, and the name from it.
    """
    edges = [statement.lineno for statement in module.tree.body if is_edge(statement)]
    if not edges:
        return
    twins: dict[tuple[Scope, str], list[ast.stmt]] = defaultdict(list)
    for statement in module.imports:
        if all(alias in plan.dropped_imports for alias in statement.names):
            twins[_sort_of_import(module, statement)].append(statement)
    needed_in: dict[tuple[tuple[Scope, str], str, str | None], set[int]] = defaultdict(set)
    for wanted, name, near in plan.needed_imports:
        if near is not None:
            needed_in[_sort_of_import(module, near), wanted, name].add(bisect(edges, near.lineno))
    for (sort, wanted, name), needing in needed_in.items():
        for twin in twins[sort]:
            if needing - {bisect(edges, twin.lineno)}:
                yield twin, wanted, name


def _sort_of_import(module: Module, statement: ast.stmt) -> tuple[Scope, str]:
    """What imports have in common that are the same but for their place."""
    return module.scope_of[statement], ast.dump(statement)

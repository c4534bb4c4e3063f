"""One Python module as the codemods see it: its tree, its names, and what they stand for."""

from __future__ import annotations

import ast
import builtins
import sys
import warnings
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from itertools import accumulate
from typing import TYPE_CHECKING

from raymigrate.facts import values
from raymigrate.facts.syntax.alternatives import Arm, legacy_alternatives
from raymigrate.facts.syntax.nodes import Nodes, Numbered, entries_of, in_order, numbered
from raymigrate.facts.syntax.optional_imports import former_ways, stubs
from raymigrate.facts.syntax.own_modules import own_names
from raymigrate.facts.syntax.scopes import Binding, Reference, Scope, ScopeBuilder, import_before, import_bindings
from raymigrate.files.script import lines_of, lines_with_ends
from raymigrate.knowledge.legacy import are_one
from raymigrate.knowledge.libraries import names_of

if TYPE_CHECKING:
    from raymigrate.facts.projects.project import Project
    from raymigrate.facts.syntax.definitions import Definition

STARS = ("transformers", "accelerate", "datasets", "ray.tune", "ray.tune.schedulers")
FEW = 50  # bindings of one name


class Module(Nodes):
    """Facts about one module, resolved by scope analysis.

    Args:
        text: The source text.
        path: Its file; empty for text without a file.
        project: Finds what the module imports from other files; None: nothing is looked up there.

    Raises:
        SyntaxError: If the text is not Python.
    """

    def __init__(self, text: str, path: str = "", project: Project | None = None) -> None:
        self.text = text
        self.path = path
        self.project = project
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes in somebody's code are not ours to report
            self.tree = ast.parse(text)
        self._is_own = cache(own_names(path, self.tree))
        super().__init__(self._scopes())
        self._imports: dict[tuple[Scope, str], tuple[frozenset[str | None], list[Binding]]] = {}
        self._meanings: dict[tuple[Scope, str], frozenset[str | None]] = {}
        self._unclear: set[ast.AST] = set()  # bindings that are seen by reads which may see others too
        self._offsets_of_lines: dict[int, Sequence[int]] = {}
        self.asked = values.Asked()
        self._as_written: dict[ast.Call, tuple[list[ast.expr], list[ast.keyword]]] = {}
        self.owners: dict[ast.AST, ast.AST] = {}  # of values that `write_out` shows in a call

    def _scopes(self) -> ScopeBuilder:
        """Builds the scopes of the tree; a view of a module may see both in another way."""
        return ScopeBuilder(self.tree, self._is_own)

    @cached_property
    def lines(self) -> list[str]:
        """Source lines without their ends, split as Python's parser splits them."""
        return lines_of(self.text)

    @cached_property
    def lines_with_ends(self) -> list[str]:
        """Source lines with their ends."""
        return lines_with_ends(self.text)

    @cached_property
    def _line_starts(self) -> list[int]:
        """Where each line starts in the text: `ast.get_source_segment` would split all of it for every node."""
        return list(accumulate(map(len, self.lines_with_ends), initial=0))

    def column(self, line: int, byte_offset: int) -> int:
        """Character offset in a line, from the UTF-8 byte offset that `ast` counts."""
        text = self.lines[line - 1]
        return byte_offset if text.isascii() else min(bisect_left(self._byte_offsets(line), byte_offset), len(text))

    def _byte_offsets(self, line: int) -> Sequence[int]:
        """The UTF-8 byte offset of each character of a line that has others than ASCII; it may be long."""
        offsets = self._offsets_of_lines.get(line)
        if offsets is None:
            sizes = (len(character.encode(errors="replace")) for character in self.lines[line - 1])
            offsets = self._offsets_of_lines[line] = array("L", accumulate(sizes, initial=0))
        return offsets

    def start(self, node: ast.AST) -> tuple[int, int]:
        """Line (from 1) and column in characters (from 0) where a node starts."""
        return node.lineno, self.column(node.lineno, node.col_offset)  # type: ignore[attr-defined]

    def end(self, node: ast.AST) -> tuple[int, int]:
        """Line (from 1) and column in characters (from 0) just after a node."""
        return node.end_lineno, self.column(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]

    def offset(self, node: ast.AST) -> int:
        """Where a node starts in the text."""
        line, column = self.start(node)
        return self._line_starts[line - 1] + column

    def source(self, node: ast.AST) -> str:
        """Source text of a node."""
        end_line, end_column = self.end(node)
        return self.text[self.offset(node) : self._line_starts[end_line - 1] + end_column]

    # -- names ---------------------------------------------------------------------------------

    @cached_property
    def references(self) -> list[Reference]:
        """Every use of an imported name, in source order."""
        imported = {name for statement in self.imports for name, _ in import_bindings(statement)}
        names = (node for node in self.of_type(ast.Name) if node.id in imported or self._stars)
        return [found for node in names if (found := self._reference(node))]

    def references_within(self, *names: str) -> list[Reference]:
        """References to these qualified names, or to names below them, in source order."""
        found = entries_of(self._references_within, names)
        if len(found) > 1:
            found = [sorted(dict(entry for entries in found for entry in entries).items())]
        return [reference for entries in found for _, reference in entries]

    @cached_property
    def _references_within(self) -> dict[str, list[tuple[int, Reference]]]:
        """References by their qualified name and every name above it, each with its number in source order."""
        within: dict[str, list[tuple[int, Reference]]] = {}
        for entry in enumerate(self.references):
            name = entry[1].qualified
            while name:
                within.setdefault(name, []).append(entry)
                name = name.rpartition(".")[0]
        return within

    @cached_property
    def reference_at(self) -> dict[ast.AST, Reference]:
        """The reference whose whole chain a node is."""
        return {reference.node: reference for reference in self.references}

    def import_of(self, node: ast.AST) -> ast.stmt | None:
        """The statement that imports the name of a reference: what new code needs beside it is imported there."""
        return self.reference_at[node].binding.statement

    def _reference(self, root: ast.Name) -> Reference | None:
        if not isinstance(root.ctx, ast.Load):
            return None
        scope = self.scope_of[root].find(root.id)
        qualified, bindings = self._meaning(root, scope) if scope is not None else self._of_star(root)
        if qualified is None:
            return None  # not an import, or imported in several ways: try/except for old and new versions
        node: ast.Name | ast.Attribute = root
        while isinstance(parent := self.parent_of[node], ast.Attribute):
            qualified += f".{parent.attr}"
            node = parent
        return Reference(node, root, qualified, import_before(root, bindings))

    def _meaning(self, root: ast.Name, scope: Scope) -> tuple[str | None, list[Binding]]:
        """What a name stands for where it is read, and its bindings that make it so; None where that is not sure.

        A name may have thousands of bindings. Of a few it is asked which of them reach the use: `X = X()`.
        """
        key = scope, root.id
        if key not in self._imports:
            bindings = self._that_count(scope.bindings[root.id])
            self._imports[key] = frozenset(binding.qualified for binding in bindings), bindings
            if len(bindings) > FEW and len(self._imports[key][0]) > 1:
                self._unclear.update(binding.node for binding in bindings)
        names, bindings = self._imports[key]
        if len(names) > 1 and len(bindings) <= FEW:
            bindings = self._that_count(values.reaching(self, root))
            names = frozenset(binding.qualified for binding in bindings)
            if are_one(names) and (len(names) == 1 or not any(map(self._is_one_way, bindings))):
                return import_before(root, bindings).qualified, bindings
            self._unclear.update(binding.node for binding in bindings)
        return (next(iter(names)) if len(names) == 1 else None), bindings

    def _is_one_way(self, binding: Binding) -> bool:
        """Whether a name is imported so in one case, such as that of an older library."""
        return any(isinstance(outer, (ast.Try, ast.If)) for outer in self.ancestors(binding.node))

    def is_read_unclearly(self, alias: ast.AST) -> bool:
        """Whether a name is read where it may stand for what an import binds, or for something else."""
        _ = self.references  # which finds such reads
        return alias in self._unclear or alias in self.former_ways or alias in self.with_former

    def meanings(self, scope: Scope, name: str) -> frozenset[str | None]:
        """What a name stands for in a scope, by all its bindings, perhaps thousands; None: not an import."""
        home = scope.find(name)
        if home is None:
            return frozenset()
        if (home, name) not in self._meanings:
            counting = (found.qualified for found in home.bindings[name] if found.node not in self._stubs)
            self._meanings[home, name] = frozenset(counting)
        return self._meanings[home, name]

    def _that_count(self, bindings: list[Binding]) -> list[Binding]:
        """Some bindings, without those that take over where an import fails."""
        if not (second := self._second_ways):
            return bindings
        return [binding for binding in bindings if second.isdisjoint((binding.statement, binding.node))]

    @cached_property
    def _second_ways(self) -> frozenset[ast.AST | None]:
        return self._stubs.union(self.former_ways)

    @cached_property
    def alternatives(self) -> dict[ast.stmt, list[Arm]]:
        """See `alternatives.legacy_alternatives`."""
        return legacy_alternatives(self.tree)

    @cached_property
    def _stubs(self) -> frozenset[ast.AST | None]:
        return stubs(self).union(s for arms in self.alternatives.values() for arm in arms[1:] for s in arm)

    @cached_property
    def former_ways(self) -> dict[ast.AST, ast.AST]:
        """See `optional_imports.former_ways`."""
        return former_ways(self)

    @cached_property
    def with_former(self) -> frozenset[ast.AST]:
        """The imports of today in whose place another one stands for older libraries."""
        return frozenset(self.former_ways.values())

    def _of_star(self, root: ast.Name) -> tuple[str | None, list[Binding]]:
        """What a name stands for that nothing binds but a star import, and that; None where it is not sure.

        It is that of the last library that has it: of modules, `re` and the like are the file's own. A class that none
        of them has today is taken to come from the star import where the file has no other one.
        """
        if hasattr(builtins, root.id) or root.id in sys.stdlib_module_names:
            return None, []
        having = [star for star in self._stars if root.id in names_of(star.module or "")]
        if not having and len(self._stars) == 1 and root.id[:1].isupper():
            having = self._stars
        if not having:
            return None, []
        star = having[-1]
        return f"{star.module}.{root.id}", [Binding(star.names[0], f"{star.module}.*", star)]

    @cached_property
    def star_imports(self) -> list[ast.ImportFrom]:
        """Every `from module import *`."""
        return [s for s in self.imports if isinstance(s, ast.ImportFrom) and s.names[0].name == "*"]

    @cached_property
    def _stars(self) -> list[ast.ImportFrom]:
        """The star imports of the module, if all of them are of libraries whose classes are known by their names."""
        found = self.star_imports
        return found if all(self.imported(s, s.names[0]).removesuffix(".*") in STARS for s in found) else []

    def imported(self, statement: ast.Import | ast.ImportFrom, alias: ast.alias) -> str:
        """What an import asks for; with a dot in front where it is of the project: `datasets.py` may be its own."""
        if isinstance(statement, ast.Import):
            name = alias.name
        else:
            name = "." * statement.level + (f"{statement.module}." if statement.module else "") + alias.name
        return f".{name}" if self._is_own(name.partition(".")[0]) else name

    @cached_property
    def _qualified(self) -> dict[ast.AST, str]:
        result: dict[ast.AST, str] = {}
        for reference in self.references:
            node: ast.expr = reference.node
            name = reference.qualified
            while True:
                result[node] = name
                if not isinstance(node, ast.Attribute):
                    break
                node, name = node.value, name.rpartition(".")[0]
        return result

    @cached_property
    def qualified(self) -> Callable[[ast.AST], str | None]:
        """What a name or attribute chain stands for, if it starts at an import; else None. No other question is as
        frequent, so that it is that of the dict itself."""
        return self._qualified.get

    def naming(self, node: ast.expr) -> str:
        """The qualified name of an expression, or its code where it has none."""
        return self.qualified(node) or ast.unparse(node)

    def calls(self, *names: str) -> Iterator[ast.Call]:
        """Calls of the objects with these qualified names, in source order."""
        return iter(in_order(self._calls, names))

    def calls_if(self, fits: Callable[[str], object]) -> list[ast.Call]:
        """Calls of the objects whose qualified names fit, in source order; each name is asked about once."""
        return in_order(self._calls, [name for name in self._calls if fits(name)])

    @cached_property
    def _calls(self) -> Numbered[ast.Call]:
        """Calls by the qualified name of what is called."""
        return numbered((self._qualified.get(call.func), call) for call in self.of_type(ast.Call))

    def name_arguments(self, call: ast.Call, names: Sequence[str]) -> None:
        """Shows the positional arguments of a call as keyword arguments from now on."""
        self._as_written[call] = (call.args, call.keywords)
        keywords = [
            ast.copy_location(ast.keyword(name, value), value) for name, value in zip(names, call.args, strict=True)
        ]
        for keyword in keywords:
            self.parent_of[keyword] = call
            self.scope_of[keyword] = self.scope_of[call]
        call.args, call.keywords = [], [*keywords, *call.keywords]

    def write_out(self, call: ast.Call, unpacked: ast.keyword, entries: Mapping[str, ast.expr]) -> None:
        """Shows the entries of a dict that a call unpacks as keyword arguments of it from now on."""
        self._as_written[call] = (call.args, call.keywords)
        place = call.keywords.index(unpacked)
        keywords = [ast.copy_location(ast.keyword(name, value), value) for name, value in entries.items()]
        for keyword in keywords:
            self.owners[keyword.value] = self.parent_of[keyword.value]
            self.parent_of[keyword], self.parent_of[keyword.value] = call, keyword
            self.scope_of[keyword] = self.scope_of[call]
        call.keywords = [*call.keywords[:place], *keywords, *call.keywords[place + 1 :]]

    def parent_in_text(self, node: ast.AST) -> ast.AST:
        """The node around another one where it stands in the text, whatever `write_out` shows."""
        return self.owners.get(node) or self.parent_of[node]

    def as_written(self, call: ast.Call) -> None:
        """Takes back what `name_arguments` and `write_out` did."""
        if call in self._as_written:
            for keyword in call.keywords:
                self.parent_of[keyword.value] = self.owners.pop(keyword.value, self.parent_of[keyword.value])
            call.args, call.keywords = self._as_written.pop(call)

    @cached_property
    def names(self) -> frozenset[str]:
        """Every identifier bound or read anywhere; a new name must not be one of them."""
        found = {name for scope in self.scopes for name in scope.bindings}
        return frozenset(found | {node.id for node in self.of_type(ast.Name)})

    @cached_property
    def spelled(self) -> frozenset[str]:
        """Every word by which the module could mean a key: strings, keywords, parameters and attributes."""
        words = {node.value for node in self.of_type(ast.Constant) if isinstance(node.value, str)}
        words |= {node.arg for node in self.of_type(ast.keyword) if node.arg} | {a.arg for a in self.of_type(ast.arg)}
        return frozenset(words | {node.attr for node in self.of_type(ast.Attribute)})

    @cached_property
    def exported(self) -> frozenset[str]:
        """What `__all__` names, so that other files may import it from here."""
        for node in self.tree.body:
            targets = node.targets if isinstance(node, ast.Assign) else ()
            if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in targets):
                listed = self.constant(node.value)
                names = listed if isinstance(listed, (list, tuple)) else ()
                return frozenset(name for name in names if isinstance(name, str))
        return frozenset()

    @cached_property
    def references_by_binding(self) -> dict[ast.AST, list[Reference]]:
        """References by the `ast.alias` that binds their root name."""
        found: dict[ast.AST, list[Reference]] = {}
        for reference in self.references:
            found.setdefault(reference.binding.node, []).append(reference)
        return found

    # -- values: the functions themselves, as to hand on a million questions takes long -------------

    definition = values.definition
    value = values.value
    assigned = values.assigned
    origins = values.origins
    entries = values.entries

    @cached_property
    def names_of_files(self) -> frozenset[str]:
        """See `Project.names_of_files`: most files have none, and what their names stand for is asked very often."""
        return frozenset(self.project.names_of_files(self)) if self.project is not None else frozenset()

    def elsewhere(self, node: ast.expr) -> Definition | None:
        """What a name or attribute stands for, if another file of the project defines it."""
        return self.project.definition(self, node) if self.project is not None and self.names_of_files else None

    def followed(self, node: ast.expr) -> tuple[Module, ast.expr]:
        """Follows a name to the expression assigned to it, into other files too; with the module of that."""
        value = self.value(node)
        found = self.elsewhere(value)
        return (found.module, found.value) if found is not None and found.value is not None else (self, value)

    def constant(self, node: ast.expr | None) -> object:
        """The value of an expression, followed through names; None where there is none, `...` where it is unknown."""
        return None if node is None else values.constant(self, node)

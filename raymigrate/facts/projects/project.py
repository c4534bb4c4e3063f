# ruff: noqa: PTH100, PTH110, PTH117, PTH118, PTH119, PTH120 - works on strings, as discovery.py does
"""The files of a project as they import each other: where a name that a script imports is defined.

Names are followed as Python would at run time: absolute from the folder of a script, from the root of a package, from
the folder of the project and its `src`; relative; and through the `__init__.py` of packages.
"""

from __future__ import annotations

import ast
import copy
import os
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from raymigrate.base.expressions import lazy_regex
from raymigrate.base.findings import Finding
from raymigrate.base.isolation import working_on
from raymigrate.documents import UndecodableError, open_document
from raymigrate.facts.projects.helpers import NOTHING_SHARED, SharedHelpers
from raymigrate.facts.projects.imported_names import Search, common
from raymigrate.facts.projects.requests import Request
from raymigrate.facts.projects.searched import Paths, Searched, spells
from raymigrate.facts.syntax.attribute_chains import names_of_chain, root_of_chain
from raymigrate.facts.syntax.definitions import Definition
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.own_modules import LIBRARIES, MARKERS, is_own_module
from raymigrate.facts.syntax.packages import is_below, module_file, package_root, upwards
from raymigrate.facts.syntax.scopes import Binding
from raymigrate.facts.values.bindings import reaching
from raymigrate.facts.values.fixtures import CONFTEST, IS_COLLECTED
from raymigrate.files.contents import read_bytes

if TYPE_CHECKING:
    from raymigrate.facts.projects.places import Place

MODULES_KEPT = 64  # at least, and as many more as there is room for
TEXT_KEPT = 5_000_000  # characters of them: with all that is found in it, one takes up to 140 bytes of memory
STAR_IMPORT = lazy_regex(rb"import[\s\\]*\*")


class Project:
    """Finds definitions in other files; each file is read and parsed once, unless there is no room to keep it.

    Args:
        tops: Folders in which imports are looked for although nothing marks them as a project.
        named: Files that have a name already; see `name`.
        may_write: Whether a file may be changed.
        crashed: Real paths of files that end the process when they are parsed.
        shared: The helpers that scripts import from modules which the run writes.
        judge: Tells what there is to say of a file.
        becomes: Gives the new text of a file; None where it stays as it is, or where that is not known.
    """

    def __init__(
        self,
        tops: Sequence[str] = (),
        named: Sequence[str] = (),
        *,
        may_write: Callable[[str], bool] = lambda path: True,
        crashed: Collection[str] = (),
        shared: SharedHelpers = NOTHING_SHARED,
        judge: Callable[[str], Sequence[Finding]] = lambda path: (),
        becomes: Callable[[str], str | None] = lambda path: None,
    ) -> None:
        self.shared = shared
        self.tops = frozenset(os.path.abspath(top) for top in tops)
        self.asked: dict[str, list[Request]] = {}  # what files are asked to change, by real path
        self.refused: set[str] = set()  # real paths of files that could not be changed so
        self.uses: dict[tuple[str, str, str], bool] = {}  # answers of project_uses.py, which cost a search each
        self.kept: dict[object, object] = {}  # for `facts/syntax/kept.py`
        self.searched = Searched()
        self._names = {os.path.realpath(path): path for path in reversed(named)}
        self._name_tops = [(os.path.join(os.path.realpath(top or "."), ""), top) for top in tops]
        self._relative = not all(os.path.isabs(path) for path in (*tops, *named)) or not (tops or named)
        self.places: dict[tuple[str, str], Place] = {}  # answers of callers.py, likewise
        self.callers: dict[tuple[str, str], tuple[set[Place], list[tuple[str, str]]]] = {}  # what they rest on
        self._may_write = may_write
        self._judge = judge
        self.new_text = becomes
        self._crashed = crashed
        self._planned = {real: text.encode() for real, text in shared.texts.items()}  # what files will hold
        self._modules: OrderedDict[str, Module | None] = OrderedDict()
        self._text_kept = 0  # characters in them
        self.paths = Paths()

    def holding(self, planned: Mapping[str, bytes]) -> Project:
        """The same project with what some of its files will hold, by real path."""
        other = copy.copy(self)
        other._planned = {**self._planned, **planned}
        other._modules, other._text_kept = OrderedDict(), 0
        other.asked, other.uses, other.places, other.callers, other.kept = {}, {}, {}, {}, {}
        other.searched = Searched(self.searched.contents, self.searched.room)
        return other

    # -- files ---------------------------------------------------------------------------------

    def read(self, path: str) -> bytes:
        """What a file holds, or will hold.

        Raises:
            OSError: If it cannot be read.
        """
        planned = self.planned(path)
        return read_bytes(path) if planned is None else planned

    def planned(self, path: str) -> bytes | None:
        """What a file will hold; None if that is what it holds."""
        return self._planned.get(self.real(path)) if self._planned else None

    def real(self, path: str) -> str:
        """The path of a file without links; asked of the system once, as the uses of a name ask for it by thousands."""
        known = self.paths.real.get(path)
        if known is None:
            known = self.paths.real[path] = os.path.realpath(path)
        return known

    def name(self, path: str) -> str:
        """The one name of a file or folder, by whatever path it was met: it is reported and compared by this one.

        A file that was named or found has that name, one below a folder that was named begins as that does, and any
        other is relative to the current folder where the user wrote a relative path.
        """
        real = self.real(path)
        if real not in self._names:
            self._names[real] = self._new_name(real)
        return self._names[real]

    def _new_name(self, real: str) -> str:
        for real_top, top in self._name_tops:
            if os.path.join(real, "") == real_top:
                return top.rstrip("/") or top or "."
            if real.startswith(real_top):
                return os.path.join(top, real[len(real_top) :])
        return os.path.relpath(real) if self._relative else real

    def read_others(self, path: str) -> None:
        """Says that others are searched for what a file gets; refused where one at a time may be read."""

    def module(self, path: str) -> Module | None:
        """The module in a file; None if it cannot be read or parsed, which is a finding of its own elsewhere."""
        key = self.real(path)
        if key not in self._modules:
            self._keep(key, self._parse(self.name(path)))
        self._modules.move_to_end(key)
        return self._modules[key]

    def module_binding(self, path: str, name: str) -> Module | None:
        """The module in a file, if it may bind a name: one that has neither its word nor a star import is not parsed.

        A star import of a package leads to hundreds of files, of which one has the name.
        """
        return self.module(path) if self.real(path) in self._modules or self._may_bind(path, name) else None

    def _may_bind(self, path: str, name: str) -> bool:
        try:
            data = self.read(path)
        except OSError:
            return False
        return spells(data, name) or STAR_IMPORT.search(data) is not None

    def module_of(self, text: str, path: str) -> Module:
        """The module with a text: the one of the file, if that has this text.

        Raises:
            SyntaxError: If the text is not Python.
        """
        key = self.real(path)
        known = self._modules.get(key)
        if known is None or known.text != text:
            known = Module(text, self.name(path), self)
            self._keep(key, known)
        return known

    def _keep(self, key: str, module: Module | None) -> None:
        """Keeps a module, and drops those that were not asked for longest, which are parsed again when they are.

        How many are kept goes by their text: files that are gone over in a circle, as the users of one function are
        after those of another, would all be parsed again in each turn, while what was found in one keeps the former
        trees of the others.
        """
        self._text_kept += _length(module) - _length(self._modules.get(key))
        self._modules[key] = module
        while len(self._modules) > MODULES_KEPT and self._text_kept > TEXT_KEPT:
            self._text_kept -= _length(self._modules.popitem(last=False)[1])

    def _parse(self, path: str) -> Module | None:
        if self._crashed and self.real(path) in self._crashed:
            return None
        try:
            with working_on(path):
                return Module(open_document(self.read(path), path).text, path, self)
        except (OSError, UndecodableError, SyntaxError, ValueError, RecursionError, MemoryError):
            return None

    def may_ask(self, path: str) -> bool:
        """Whether another file may be asked to change."""
        return self._may_write(path) and self.real(path) not in self.refused

    def findings(self, path: str) -> Sequence[Finding]:
        """What there is to say of another file."""
        return self._judge(self.name(path))

    def requests(self, path: str) -> list[Request]:
        """What is asked of a file."""
        return self.asked.get(self.real(path), [])

    def folder(self, path: str) -> str:
        """The folder of the project that a file belongs to, absolute."""
        here = os.path.dirname(os.path.abspath(path))
        if here not in self.paths.folders:
            self.paths.folders[here] = self._known_folder(here) or package_root(here)
        return self.paths.folders[here]

    def is_known(self, folder: str) -> bool:
        """Whether a folder is that of a project: something marks it, or the user named it."""
        return self._known_folder(folder) is not None

    def _known_folder(self, here: str) -> str | None:
        marked = (f for f in upwards(here) if any(os.path.exists(os.path.join(f, marker)) for marker in MARKERS))
        named = [folder for folder in upwards(here) if folder in self.tops]
        return next(marked, None) or (named[-1] if named else None)

    def roots(self, path: str) -> list[str]:
        """The folders that absolute imports of a file start at, the nearest first."""
        here = os.path.dirname(os.path.abspath(path))
        if here not in self.paths.roots:
            package, top = package_root(here), self.folder(path)
            between = [folder for folder in upwards(package) if is_below(folder, top)] or [package]
            found = [f for root in between for f in (root, os.path.join(root, "src"))]
            # A script in a package is started from its own folder, but its modules are imported from the root of it.
            found.insert(0 if here == package else len(found), here)
            self.paths.roots[here] = list(dict.fromkeys(found))
        return self.paths.roots[here]

    def file(self, path: str, name: str, level: int = 0) -> str | None:
        """The file that a module's name leads to from a file.

        Args:
            path: The file that imports.
            name: Dotted name; "" for the package itself in `from . import x`.
            level: Number of dots in front of it.
        """
        key = os.path.dirname(path), name, level
        files = self.paths.files
        if key not in files:
            files[key] = self._file(path, name, level)
        return files[key]

    def _file(self, path: str, name: str, level: int) -> str | None:
        parts = [part for part in name.split(".") if part]
        if level:
            folder = os.path.dirname(path)
            for _ in range(level - 1):
                folder = os.path.dirname(folder) if folder else ".."
            here = self._module_file(os.path.join(folder, *parts))
            return None if here is None else self.name(here)
        if not parts or (parts[0] in LIBRARIES and not is_own_module(path, parts[0])):
            return None
        found = (self._module_file(os.path.join(root, *parts)) for root in self.roots(path))
        first = next((file for file in found if file is not None), None)
        return None if first is None else self.name(first)

    def _module_file(self, place: str) -> str | None:
        is_planned = bool(self._planned) and os.path.realpath(f"{place}.py") in self._planned
        return f"{place}.py" if is_planned else module_file(place)

    def imported_files(self, module: Module) -> Iterator[tuple[str, ast.stmt]]:
        """The files of the project that a module imports, with the statement that does so."""
        for statement in module.imports:
            for file in self.files_of_import(module.path, statement):
                yield file, statement

    def files_of_import(self, path: str, statement: ast.Import | ast.ImportFrom) -> Iterator[str]:
        """The files of the project that one import in a file leads to."""
        for alias in statement.names:
            if isinstance(statement, ast.Import):
                names, level = [alias.name], 0
            else:
                source = statement.module or ""
                names, level = [source, f"{source}.{alias.name}".strip(".")], statement.level
            for name in names:
                file = self.file(path, name, level)
                if file is not None:
                    yield file

    # -- definitions -----------------------------------------------------------------------------

    def names_of_files(self, module: Module) -> Iterator[str]:
        """The names that imports bind which may lead to files of the project; "*" for those of a star import.

        What conftest.py has a test gets without an import.
        """
        if IS_COLLECTED.fullmatch(os.path.basename(module.path)):
            yield CONFTEST
        for statement in module.imports:
            is_plain = isinstance(statement, ast.Import)
            is_own = not is_plain and any(self.files_of_import(module.path, statement))
            for alias in statement.names:
                root = alias.name.partition(".")[0]
                if is_own or (is_plain and (root not in LIBRARIES or is_own_module(module.path, root))):
                    yield alias.asname or (root if is_plain else alias.name)

    def definition(self, module: Module, node: ast.expr) -> Definition | None:
        """What a name or an attribute of a module stands for, if another file of the project defines it.

        Several bindings that reach the use have to lead to the same definition: `try: from .m import f`,
        `except ImportError: from m import f`.
        """
        root = root_of_chain(node)
        if root is None or module.names_of_files.isdisjoint((root.id, "*")):
            return None
        names, bindings, search = names_of_chain(node), reaching(module, root), Search(self)
        if not bindings:
            return search.from_stars(module, names, 0)
        return common(search.imported(module, binding, names, 0) for binding in bindings)

    def imported(self, module: Module, binding: Binding) -> Definition | None:
        """What a name stands for that an import binds."""
        return Search(self).imported(module, binding, [""], 0)


def _length(module: Module | None) -> int:
    return len(module.text) if module is not None else 0


def with_imported(module: Module) -> list[Module]:
    """A module, and those of its project that it imports."""
    project = module.project
    files = [project.module(path) for path, _ in project.imported_files(module)] if project is not None else []
    return [module, *(other for other in files if other is not None)]

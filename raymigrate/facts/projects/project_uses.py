# ruff: noqa: PTH100, PTH113, PTH118, PTH119, PTH120 - works on strings, as discovery.py does
"""Every use that a project makes of something that one of its files defines."""

import ast
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from raymigrate.base.expressions import lazy_regex
from raymigrate.facts.projects.import_graph import IMPORT, imported_paths
from raymigrate.facts.projects.project import Project
from raymigrate.facts.projects.searched import dotted, quotes, takes_by_module, word
from raymigrate.facts.syntax.annotations import in_annotation
from raymigrate.facts.syntax.definitions import Definition
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import is_assignment, targets_of
from raymigrate.files.discovery import SKIPPED

SUFFIXES = (".py", ".ipynb")
# Names in such files may name a function too: `_target_: training.init.build`.
CONFIGURATION = (".yaml", ".yml", ".json", ".toml", ".cfg", ".sh")
CONFIGURATION_BYTES = 100_000
# The words of an import.
WORD = lazy_regex(rb"[^\s.,;()\\#]+")


@dataclass
class Uses:
    """What a project does with a definition.

    Args:
        reads: Where it is read, outside the file that defines it or in it.
        imports: The imports that bind it, re-exports included.
        unclear: Files that name it in a way that cannot be followed.
        named: Those of them that name it together with its module.
    """

    reads: list[tuple[Module, ast.expr]] = field(default_factory=list)
    imports: list[tuple[Module, ast.alias]] = field(default_factory=list)
    unclear: list[str] = field(default_factory=list)
    named: list[str] = field(default_factory=list)


def answer(project: Project, question: str, definition: Definition, decide: Callable[[Uses], bool]) -> bool:
    """Answers a question about all uses of a definition, once for all files that ask it.

    Args:
        project: The project.
        question: A word for the question.
        definition: What is used.
        decide: Tells from the uses.
    """
    key = (question, project.real(definition.module.path), definition.name)
    if key not in project.uses:
        project.uses[key] = decide(uses_of(project, definition))
    return project.uses[key]


def uses_of(project: Project, definition: Definition) -> Uses:
    """Finds every use of a definition in the files of its project, by name and then by what the name stands for.

    Only files are parsed that name the definition and the module it comes from, or one that passes it on, and that get
    there by their imports: a folder may hold hundreds of scripts of the same name whose functions have the same name.
    """
    uses = Uses()
    home, name = definition.module, definition.name.encode()
    folder = project.folder(home.path)
    _add(project, uses, home, definition)
    sources, seen = [home.path], {project.real(home.path)}
    while sources:
        source, lost = sources.pop(), set[str]()
        for path in _importers(project, folder, source):
            data = _content(project, folder, path)
            passes_all_on = b"import *" in data
            if not (passes_all_on or (name in data and word(name).search(data))) or project.real(path) in seen:
                continue
            is_named = takes_by_module(data, module_name(source), definition.name)
            if not path.endswith(".py"):  # a notebook or a configuration, in which the name may mean anything
                uses.unclear += [path] if source == home.path else []
                uses.named += [path] if is_named else []
                continue
            seen.add(project.real(path))
            if not _gets_to(project, folder, path, source, lost):
                spelled = quotes(definition.name).search(data) and _may_name(project, path, definition.name)
                uses.unclear += [project.name(path)] if spelled or is_named else []
                uses.named += [project.name(path)] if is_named else []
                continue
            module, passed_on = project.module(path), len(uses.imports)
            if module is None:
                uses.unclear.append(path)  # it cannot be parsed
                uses.named.append(path)
                continue
            known = len(uses.unclear)
            _add(project, uses, module, definition)
            if dotted(definition.name).search(data):
                uses.unclear.append(project.name(path))
            uses.named += uses.unclear[known:]
            if module.star_imports or len(uses.imports) > passed_on:
                sources.append(path)
    return uses


def importing_modules(module: Module, *words: str) -> Iterator[Module]:
    """The other files of its project that import a module, and that hold one of some words or pass all names on."""
    project = module.project
    if project is None or not module.path:
        return
    home, folder = project.real(module.path), project.folder(module.path)
    wanted = [*(word.encode() for word in words), b"import *"] if words else []
    for path in _with_import(project, folder, module.path):
        if project.real(path) == home:
            continue
        if wanted and not any(word in _content(project, folder, path) for word in wanted):
            continue
        if not _leads_to(project, folder, path, home):
            continue  # not parsed: what is asked of a file joins it to this one
        other = project.module(path)
        if other is not None and any(project.real(f) == home for f, _ in project.imported_files(other)):
            yield other


def is_imported(project: Project, path: str) -> bool:
    """Whether another file of a project may import a file."""
    home, folder = project.real(path), project.folder(path)
    others = (other for other in _with_import(project, folder, path) if project.real(other) != home)
    return any(_leads_to(project, folder, other, home) for other in others)


def _leads_to(project: Project, folder: str, path: str, home: str) -> bool:
    """Whether an import in a file may lead to another one. Only the imports of the file are parsed for that."""
    known = project.searched.imported
    if path not in known:
        known[path] = imported_paths(project, path, _content(project, folder, path))
    found = known[path]
    return found is None or home in found


def _gets_to(project: Project, folder: str, path: str, source: str, lost: set[str]) -> bool:
    """Whether the imports of a file, and those of the files that they lead to, may lead to another one.

    Files from which none does are added to `lost`: else each file would follow the same imports again.
    """
    home, known = project.real(source), project.searched.ways
    if (path, home) not in known:
        known[path, home] = _has_way(project, folder, path, home, lost)
    return known[path, home]


def _has_way(project: Project, folder: str, path: str, home: str, lost: set[str]) -> bool:
    left, seen = [path], {path}
    while left:
        here = left.pop()
        if _leads_to(project, folder, here, home):
            return True
        others = (project.searched.imported[here] or frozenset()) - seen - lost
        seen |= others
        left += others
    lost |= seen
    return False


def settings_files(project: Project, folder: str) -> Iterator[tuple[str, bytes]]:
    """The files of a folder that hold settings or command lines, and what is in them."""
    for path in _files(project, folder):
        if path.endswith(CONFIGURATION):
            yield path, _content(project, folder, path)


def is_named_elsewhere(module: Module, name: bytes) -> bool:
    """Whether the text of another file of the project has a name in it."""
    project = module.project
    if project is None or not module.path:
        return False
    found = files_with(project, project.folder(module.path), name)
    return any(project.real(path) != project.real(module.path) for path, _ in found)


def files_with(project: Project, folder: str, *words: bytes) -> Iterator[tuple[str, bytes]]:
    """The files of a folder that hold one of some words, and what is in them."""
    for path in _files(project, folder):
        data = _content(project, folder, path)
        if any(word in data for word in words):
            yield path, data


@kept
def names_any(project: Project, folder: str, *words: str) -> bool:
    """Whether any file of a folder holds one of some words."""
    return any(files_with(project, folder, *(word.encode() for word in words)))


def _with_import(project: Project, folder: str, source: str) -> list[str]:
    """The Python files of a folder that have the name of a file's module in an import, or are part of its package.

    All words in imports are noted at once: a folder may hold hundreds of scripts of one name, in which it is a common
    word besides, such as `train`.
    """
    if folder not in project.searched.importing:
        by_word = project.searched.importing[folder] = {}
        for path in _files(project, folder):
            imports = IMPORT.findall(_content(project, folder, path)) if path.endswith(".py") else ()
            for word in {*WORD.findall(b"\n".join(imports))}:
                by_word.setdefault(word, []).append(path)
    named = project.searched.importing[folder].get(os.fsencode(module_name(source)), [])
    if not source.endswith("__init__.py"):
        return named
    package = os.path.join(os.path.dirname(source), "")
    return sorted({*named, *(path for path in _files(project, folder) if _is_inside(path, package))})


def _is_inside(path: str, package: str) -> bool:
    return path.endswith(".py") and path.startswith(package)


def _importers(project: Project, folder: str, source: str) -> Iterator[str]:
    """The files of a folder that can get a name from one of them: they name its module, or are part of its package."""
    is_package, itself = source.endswith("__init__.py"), os.path.abspath(source)
    # A list for each of hundreds of scripts of one name, in a folder of many thousands, would take much room.
    found = _of_package(project, folder, source) if is_package else _naming(project, folder, module_name(source))
    return (path for path in found if path != itself)


def _of_package(project: Project, folder: str, source: str) -> list[str]:
    """The files of a folder that name a package, or are part of it; looked for once, as it may have many functions."""
    key = folder, source
    if key not in project.searched.of_packages:
        named = frozenset(_naming(project, folder, module_name(source)))
        package = os.path.join(os.path.dirname(source), "")
        found = [path for path in _files(project, folder) if path in named or _is_inside(path, package)]
        project.searched.of_packages[key] = found
    return project.searched.of_packages[key]


def _naming(project: Project, folder: str, name: str) -> list[str]:
    """The files of a folder that hold the name of a module.

    They are looked for once for each name: a folder may hold thousands of files, and hundreds of scripts of one name.
    """
    key = folder, name
    if key not in project.searched.naming:
        text = os.fsencode(name)
        named = word(text)
        project.searched.naming[key] = [
            path
            for path in _files(project, folder)
            if text in (data := _content(project, folder, path)) and named.search(data) is not None
        ]
    return project.searched.naming[key]


def _files(project: Project, folder: str) -> list[str]:
    """The files of a folder that may name a function."""
    if folder not in project.searched.contents:
        project.searched.contents[folder] = dict.fromkeys(
            files_below(folder, only_packages=not project.is_known(folder))
        )
    return list(project.searched.contents[folder])


def _content(project: Project, folder: str, path: str) -> bytes:
    """What a file of a folder holds; read once, as far as there is room to keep it."""
    kept = project.searched.contents[folder]
    data = kept.get(path) if (planned := project.planned(path)) is None else planned
    if data is None:
        data = _read(project, path)
        if len(data) <= project.searched.room:
            project.searched.room -= len(data)
            kept[path] = data
    return data


def _read(project: Project, path: str) -> bytes:
    """What a file holds; nothing if it cannot be read, or is too large for a configuration."""
    try:
        if path.endswith(CONFIGURATION) and os.stat(path).st_size > CONFIGURATION_BYTES:  # noqa: PTH116
            return b""
        return project.read(path)
    except OSError:
        return b""


def module_name(path: str) -> str:
    """The last part of the name by which a file is imported."""
    return os.path.basename(os.path.dirname(path) if path.endswith("__init__.py") else path).removesuffix(".py")


def _add(project: Project, uses: Uses, module: Module, definition: Definition) -> None:
    """Adds the uses in one module."""
    own = module is definition.module
    for node in module.spelling(definition.name):
        if isinstance(node, ast.alias):
            if _imports(project, module, node, definition):
                uses.imports.append((module, node))
        elif isinstance(node, ast.Constant):
            if not _is_harmless(module, node):
                uses.unclear.append(module.path)
        elif own and isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            if module.bound_in(node) is module.scope_of[module.tree]:
                uses.reads.append((module, node))
    for name in () if own else _names_of(uses, module, definition):
        for node in module.spelling(name):
            if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load):
                found = project.definition(module, node)
                if found is not None and _same(project, found, definition):
                    uses.reads.append((module, node))


def _names_of(uses: Uses, module: Module, definition: Definition) -> list[str]:
    """The names under which a module may know the definition."""
    others = (alias.asname for other, alias in uses.imports if other is module and alias.asname)
    return list(dict.fromkeys([definition.name, *others]))


def _imports(project: Project, module: Module, alias: ast.alias, definition: Definition) -> bool:
    statement = module.parent_of[alias]
    if not isinstance(statement, ast.ImportFrom) or alias.name != definition.name:
        return False
    bindings = module.scope_of[statement].bindings.get(alias.asname or alias.name, [])
    found = [project.imported(module, binding) for binding in bindings if binding.node is alias]
    return any(other is not None and _same(project, other, definition) for other in found)


def _same(project: Project, found: Definition, other: Definition) -> bool:
    """Whether two definitions are one: a file may have been parsed again in between, with other lines before them."""
    return _identity(project, found) == _identity(project, other)


def _identity(project: Project, definition: Definition) -> tuple[str, str, object]:
    """What a definition is known by: its file, its name, and its place among those of that name."""
    module, node = definition.module, definition.node
    bound = [binding.node for binding in module.scope_of[module.tree].bindings.get(definition.name, [])]
    place = bound.index(node) if node in bound else module.start(node)
    return project.real(module.path), definition.name, place


def _may_name(project: Project, path: str, name: str) -> bool:
    """Whether a string in a file that does not get at a definition may be its name all the same; true if unknown.

    The strings are noted at once: 'train' stands in every second script, for the split of a dataset.
    """
    known = project.searched.strings
    if path not in known:
        module = project.module(path)
        known[path] = None if module is None else frozenset(_strings(module))
    return (strings := known[path]) is None or name in strings


def _strings(module: Module) -> Iterator[str]:
    for node in module.of_type(ast.Constant):
        if isinstance(node.value, str) and node.value.isidentifier() and not _is_harmless(module, node):
            yield node.value


def _is_harmless(module: Module, node: ast.Constant) -> bool:
    """Whether a string that spells the name is a key, as in `**{"trainer_init_per_worker": f}`, or in `__all__`.

    Or a type: a class that names itself in an annotation can only do so in a string.
    """
    if in_annotation(module, node):
        return True
    parent = module.parent_of.get(node)
    if isinstance(parent, ast.Dict):
        return node in parent.keys
    assigned = module.parent_of.get(parent) if isinstance(parent, (ast.List, ast.Tuple)) else None
    targets = targets_of(assigned) if is_assignment(assigned) else []
    return any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets)


def files_below(folder: str, *, only_packages: bool) -> Iterator[str]:
    """The files of a project that may name a function, without those that no project keeps its own source in.

    Args:
        folder: The folder of the project.
        only_packages: Whether of the folders below it only packages belong to it. So it is where nothing says that
            the folder is a project: a script may lie in a home or temporary folder, beside everything else.
    """
    for directory, folders, names in os.walk(folder):
        folders[:] = sorted(f for f in folders if f not in SKIPPED and not f.startswith("."))
        if only_packages:
            folders[:] = [f for f in folders if os.path.isfile(os.path.join(directory, f, "__init__.py"))]
        if "pyvenv.cfg" in names:
            folders.clear()
            continue
        yield from (os.path.join(directory, n) for n in sorted(names) if n.endswith((*SUFFIXES, *CONFIGURATION)))

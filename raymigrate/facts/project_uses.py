# ruff: noqa: PTH100, PTH118, PTH119, PTH120 - works on strings, as discovery.py does
"""Every use that a project makes of something that one of its files defines."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from raymigrate.discovery import SKIPPED
from raymigrate.facts.module import Module
from raymigrate.facts.project import Definition, Project
from raymigrate.files import read_bytes

SUFFIXES = (".py", ".ipynb")
# Names in such files may name a function too: `_target_: training.init.build`.
CONFIGURATION = (".yaml", ".yml", ".json", ".toml", ".cfg", ".sh")
CONFIGURATION_BYTES = 100_000


@dataclass
class Uses:
    """What a project does with a definition.

    Args:
        reads: Where it is read, outside the file that defines it or in it.
        imports: The imports that bind it, re-exports included.
        unclear: Files that name it in a way that cannot be followed.
    """

    reads: list[tuple[Module, ast.expr]] = field(default_factory=list)
    imports: list[tuple[Module, ast.alias]] = field(default_factory=list)
    unclear: list[str] = field(default_factory=list)


def answer(project: Project, question: str, definition: Definition, decide: Callable[[Uses], bool]) -> bool:
    """Answers a question about all uses of a definition, once for all files that ask it.

    Args:
        project: The project.
        question: A word for the question.
        definition: What is used.
        decide: Tells from the uses.
    """
    key = (question, os.path.realpath(definition.module.path), definition.name)
    if key not in project.uses:
        project.uses[key] = decide(uses_of(project, definition))
    return project.uses[key]


def uses_of(project: Project, definition: Definition) -> Uses:
    """Finds every use of a definition in the files of its project, by name and then by what the name stands for.

    Only files are parsed that name the definition and the module it comes from, or one that passes it on: a folder may
    hold hundreds of scripts whose functions have the same name.
    """
    uses = Uses()
    home = definition.module
    texts = dict(_naming(project, definition))
    waiting = [path for path in texts if path.endswith(".py") and os.path.realpath(path) != os.path.realpath(home.path)]
    _add(project, uses, home, definition)
    sources = [home.path]
    while sources:
        source = sources.pop()
        known = [path for path in waiting if _may_import(project, path, texts[path], source)]
        waiting = [path for path in waiting if path not in known]
        for path in known:
            module, passed_on = project.module(path), len(uses.imports)
            if module is None:
                uses.unclear.append(path)  # it cannot be parsed
                continue
            _add(project, uses, module, definition)
            if len(uses.imports) > passed_on or b"import *" in texts[path]:
                sources.append(path)
    word = _module_word(home.path)
    uses.unclear += [path for path in texts if not path.endswith(".py") and word.search(texts[path]) is not None]
    return uses


def _naming(project: Project, definition: Definition) -> Iterator[tuple[str, bytes]]:
    """The other files that name a definition, or import whatever some module has, and what they hold."""
    home, name = os.path.abspath(definition.module.path), definition.name.encode()
    word = _word(name)
    for path, data in _contents(project, project.folder(definition.module.path)):
        if path != home and (word.search(data) is not None or b"import *" in data):
            yield path, data


def _contents(project: Project, folder: str) -> Iterator[tuple[str, bytes]]:
    """What the files of a folder hold that may name a function; read once, as far as there is room to keep it."""
    kept = project.contents.get(folder)
    if kept is None:
        kept = project.contents[folder] = dict.fromkeys(files_below(folder))
    for path, known in kept.items():
        data = _read(path) if known is None else known
        if known is None and len(data) <= project.room_for_contents:
            project.room_for_contents -= len(data)
            kept[path] = data
        yield path, data


def _read(path: str) -> bytes:
    """What a file holds; nothing if it cannot be read, or is too large for a configuration."""
    try:
        if path.endswith(CONFIGURATION) and os.stat(path).st_size > CONFIGURATION_BYTES:  # noqa: PTH116
            return b""
        return read_bytes(path)
    except OSError:
        return b""


def _may_import(project: Project, path: str, data: bytes, source: str) -> bool:
    """Whether a file can get a name from another one: it names its module, or is part of the package that it is."""
    key = path, source
    if key not in project.may_import:
        inside = source.endswith("__init__.py") and path.startswith(os.path.join(os.path.dirname(source), ""))
        project.may_import[key] = inside or _module_word(source).search(data) is not None
    return project.may_import[key]


def _module_word(path: str) -> re.Pattern[bytes]:
    stem = os.path.basename(os.path.dirname(path) if path.endswith("__init__.py") else path).removesuffix(".py")
    return _word(stem.encode())


def _word(text: bytes) -> re.Pattern[bytes]:
    """Finds a text as a word; what comes before it is looked at last, as a search for a fixed start is much faster."""
    word = re.escape(text)
    return re.compile(word + rb"\b(?<=\b" + word + rb")")


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
            if module.scope_of[node].find(node.id) is module.scope_of[module.tree]:
                uses.reads.append((module, node))
    for name in () if own else _names_of(uses, module, definition):
        for node in module.spelling(name):
            if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load):
                found = project.definition(module, node)
                if found is not None and _same(found, definition):
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
    return any(other is not None and _same(other, definition) for other in found)


def _same(found: Definition, other: Definition) -> bool:
    """Whether two definitions are one: a file may have been parsed again in between."""
    places = [(os.path.realpath(d.module.path), d.module.start(d.node), d.name) for d in (found, other)]
    return places[0] == places[1]


def _is_harmless(module: Module, node: ast.Constant) -> bool:
    """Whether a string that spells the name is a key, as in `**{"trainer_init_per_worker": f}`, or in `__all__`."""
    parent = module.parent_of.get(node)
    if isinstance(parent, ast.Dict):
        return node in parent.keys
    assigned = module.parent_of.get(parent) if isinstance(parent, (ast.List, ast.Tuple)) else None
    targets = assigned.targets if isinstance(assigned, ast.Assign) else []
    return any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets)


def files_below(folder: str) -> Iterator[str]:
    """The files of a project that may name a function, without those that no project keeps its own source in."""
    for directory, folders, names in os.walk(folder):
        folders[:] = sorted(f for f in folders if f not in SKIPPED and not f.startswith("."))
        if "pyvenv.cfg" in names:
            folders.clear()
            continue
        yield from (os.path.join(directory, n) for n in sorted(names) if n.endswith((*SUFFIXES, *CONFIGURATION)))

# ruff: noqa: PTH110, PTH118, PTH119, PTH120 - works on strings, as discovery.py does
"""`--helpers module`: one module with the classes and functions that the converted scripts of a folder need.

Scripts are converted once to see what they need, and again to import it. A module that is there already is never
changed: it serves if it has all that is needed, else the new one gets another name.
"""

from __future__ import annotations

import ast
import os
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING

from raymigrate.base.findings import Finding, Kind
from raymigrate.base.words import listed
from raymigrate.documents import Plain, open_document
from raymigrate.edits.import_runs import HELPERS, sort_key
from raymigrate.facts.projects.helpers import Helper, HelperImport, SharedHelpers, chosen
from raymigrate.facts.projects.project import Project
from raymigrate.facts.projects.project_uses import importing_modules
from raymigrate.files.contents import read_bytes
from raymigrate.run.file_rules import RM909
from raymigrate.run.outcome import FileResult, Summary, by_place, joined

if TYPE_CHECKING:
    from raymigrate.facts.syntax.module import Module
    from raymigrate.files.discovery import Discovery

DOCSTRING = '"""What the scripts of this folder need to train on Ray as before; raymigrate wrote it."""\n\n'
STAYS = "The helpers stay in this script: it cannot be seen how a module beside it has to be imported."


@dataclass
class HelperModules:
    """The modules that a run needs.

    Args:
        imports: By the real path of a script, from where it imports helpers.
        new: The modules that are not there yet: texts by path.
        held: What each of these holds.
        scripts: The scripts that import from each of these.
        unknown: Scripts of which it is not known how they could import one.
    """

    imports: dict[str, HelperImport] = field(default_factory=dict)
    new: dict[str, str] = field(default_factory=dict)
    held: dict[str, list[Helper]] = field(default_factory=dict)
    scripts: dict[str, list[str]] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)

    @property
    def helpers(self) -> SharedHelpers:
        """The same for those who convert."""
        return SharedHelpers(self.imports, {os.path.realpath(path): text for path, text in self.new.items()})


def shared_helpers(results: Sequence[FileResult], found: Discovery) -> HelperModules:
    """The modules for the scripts of a run: one for each folder in which two need helpers, or that has one already.

    Args:
        results: What became of the scripts, each with helpers of its own.
        found: What was named on the command line.
    """
    project = Project(found.roots, (*found.named, *found.candidates))
    modules = HelperModules()
    folders: dict[str, dict[str, str]] = defaultdict(dict)
    by_path = {result.path: result for result in results}
    for path, result in by_path.items():
        if not (result.changes and result.helpers and isinstance(result.document, Plain)) or found.leads_out(path):
            continue
        module = project.module(path)
        package = package_of(project, module) if module is not None else None
        if package is None:
            modules.unknown.append(path)
        else:
            folders[os.path.dirname(path)][path] = package
    for folder, packages in folders.items():
        held = chosen(by_path[path].helpers for path in packages)
        stem, is_new = _free_stem(folder, held)
        if is_new and len(packages) < 2:
            continue
        place = os.path.join(folder, f"{stem}.py")
        for path, package in packages.items():
            modules.imports[os.path.realpath(path)] = HelperImport(f"{package}{stem}", frozenset(held))
        if is_new:
            modules.new[place], modules.held[place], modules.scripts[place] = module_text(held), held, list(packages)
    return modules


def package_of(project: Project, module: Module) -> str | None:
    """What stands before the name of a module beside a script in its import: "", "." or "package.".

    As the script imports its neighbours, or as others import it; a script alone in a plain folder finds them by their
    names, since Python, and Ray on its workers, look in the folder of the script. None where nothing shows it.
    """
    folder = os.path.dirname(os.path.realpath(module.path))
    own = {
        _prefix(statement, file)
        for file, statement in project.imported_files(module)
        if os.path.dirname(os.path.realpath(file)) == folder
    }
    seen = own or {
        _prefix(statement, file)
        for other in importing_modules(module)
        for file, statement in project.imported_files(other)
        if os.path.realpath(file) == os.path.realpath(module.path)
    }
    if not seen:
        return None if os.path.exists(os.path.join(folder, "__init__.py")) else ""
    return seen.pop() if len(seen) == 1 else None


def _prefix(statement: ast.stmt, file: str) -> str:
    """What stands before the name of a file in an import."""
    assert isinstance(statement, (ast.Import, ast.ImportFrom))
    if isinstance(statement, ast.ImportFrom) and statement.level:
        return "."
    stem = os.path.basename(file).removesuffix(".py")
    source = statement.module or "" if isinstance(statement, ast.ImportFrom) else ""
    names = [source, *(f"{source}.{alias.name}".strip(".") for alias in statement.names)]
    if stem == "__init__":
        return f"{source or names[-1]}."
    dotted = next((name for name in names if name.rpartition(".")[2] == stem), stem)
    return dotted.removesuffix(stem)


def _free_stem(folder: str, held: Collection[Helper]) -> tuple[str, bool]:
    """The name of the module for a folder, and whether it is to be written: one that has all of this may be there."""
    for stem in (HELPERS, *(f"{HELPERS}_{number}" for number in range(2, 99))):
        path = os.path.join(folder, f"{stem}.py")
        if not os.path.lexists(path) and not os.path.lexists(path.removesuffix(".py")):
            return stem, True
        try:
            tree = ast.parse(read_bytes(path))
        except (OSError, SyntaxError, ValueError):
            continue
        if all(helper.is_in(tree) for helper in held):
            return stem, False
    return f"{HELPERS}_{next(count(99))}", True


def module_text(helpers: Sequence[Helper]) -> str:
    """The source of a module that holds helpers."""
    names: dict[str, set[str]] = defaultdict(set)
    modules = set()
    for module, name in (needed for helper in helpers for needed in helper.imports):
        if name is None:
            modules.add(module)
        else:
            names[module].add(name)
    lines = [(sort_key(module, None, by_name=False), f"import {module}") for module in modules]
    for module, imported in names.items():
        members = sorted(imported)
        key = sort_key(module, members[0], by_name=False)
        lines.append((key, f"from {module} import {', '.join(members)}"))
    sections: dict[int, list[str]] = defaultdict(list)
    for key, line in sorted(lines):
        sections[key[0]].append(line)
    head = "\n\n".join("\n".join(section) for section in sections.values())
    return f"{DOCSTRING}{head}\n\n\n" + "\n\n".join(helper.source() for helper in helpers)


def with_modules(summary: Summary, modules: HelperModules) -> Summary:
    """What a run found, with the modules that it writes: each together with its scripts, or none of them."""
    summary.results = sorted(
        [*(_told(result, modules) for result in summary.results), *_results(modules)], key=lambda result: result.path
    )
    groups = joined([*map(set, summary.together), *({path, *scripts} for path, scripts in modules.scripts.items())])
    order = [*modules.new, *(path for group in summary.together for path in group)]
    place = {path: number for number, path in enumerate(dict.fromkeys(order))}
    summary.together = [sorted(group, key=lambda path: (place.get(path, len(place)), path)) for group in groups]
    return summary


def _told(result: FileResult, modules: HelperModules) -> FileResult:
    if result.path not in modules.unknown:
        return result
    return result.with_findings([*result.findings, Finding(RM909.code, Kind.NOTE, STAYS, "", path=result.path)])


def _results(modules: HelperModules) -> Iterator[FileResult]:
    """What is said of the new modules."""
    for path, text in modules.new.items():
        names = listed([helper.name for helper in modules.held[path]])
        users = listed([os.path.basename(script) for script in modules.scripts[path]])
        message = f"A new file, from which {users} import what they need: {names}."
        document = open_document(b"", path)
        findings = by_place([Finding(RM909.code, Kind.CONVERTED, message, "", path=path)])
        yield FileResult(path, findings, changes=True, after=text, document=document, is_new=True)

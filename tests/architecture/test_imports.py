"""How the package hangs together. Which folder may import which stands in pyproject.toml; `lint-imports` checks it."""

import ast
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import grimp

import raymigrate
from tests.conftest import FIXTURES, ROOT

PACKAGE = Path(raymigrate.__file__).parent
LONGEST_FILE = 400  # lines
PAGE = ROOT / "docs/how-it-works.md"
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
IMPORTS = (ast.Import, ast.ImportFrom)


# What facts are about: functions take one, and its methods ask them. Imports of these for their types do not count.
ABOUT = {"raymigrate.facts.syntax.module", "raymigrate.facts.projects.project"}


@cache
def graph(*, with_types: bool = True) -> grimp.ImportGraph:
    """What imports what; imports inside functions count."""
    return grimp.build_graph("raymigrate", exclude_type_checking_imports=not with_types, cache_dir=None)


def test_the_root_holds_hardly_a_module() -> None:
    written_by_the_build = "_version.py"
    modules = {path.name for path in PACKAGE.glob("*.py")} - {written_by_the_build}
    assert modules == {"__init__.py", "__main__.py"}


def test_no_file_is_longer_than_a_reader_holds_in_mind() -> None:
    """One that grows beyond that has two subjects, and is split where they part."""
    length = {path: len(path.read_text().splitlines()) for path in PACKAGE.rglob("*.py")}
    assert [path for path, lines in length.items() if lines > LONGEST_FILE] == []


def test_no_module_imports_itself_by_a_detour() -> None:
    at_run_time = graph(with_types=False)
    imported = {
        name: (graph().find_modules_directly_imported_by(name) - ABOUT)
        | at_run_time.find_modules_directly_imported_by(name)
        for name in graph().modules
    }
    TopologicalSorter(imported).prepare()


def test_the_diagram_of_the_layers_is_that_of_the_imports() -> None:
    assert diagram() in PAGE.read_text()


def diagram() -> str:
    """A line for each package with those that it imports, the highest first."""
    imported: dict[str, set[str]] = {path.parent.name: set() for path in PACKAGE.glob("*/__init__.py")}
    for module in graph().modules:
        for other in graph().find_modules_directly_imported_by(module):
            above, below = (name.split(".")[1:2] for name in (module, other))
            if above and below and above != below and above[0] in imported:
                imported[above[0]].update(below)
    sorted_below = {name: sorted(below) for name, below in sorted(imported.items())}
    order = [*TopologicalSorter(sorted_below).static_order()][::-1]
    lines = (f"{name:<11}{' '.join(other for other in order if other in imported[name])}" for name in order)
    return "\n".join(line.rstrip() for line in lines)


def test_every_family_says_what_it_is_about() -> None:
    for family in (PACKAGE / "codemods").glob("*/__init__.py"):
        first = family.read_text().partition("\n")[0]
        assert first.startswith('"""'), family


def test_fixtures_are_in_folders_with_the_names_of_families() -> None:
    of_other_things = {"false_friends", "notebooks", "projects"}
    families = {path.parent.name for path in (PACKAGE / "codemods").glob("*/__init__.py")}
    assert {path.name for path in FIXTURES.iterdir() if path.is_dir()} == (families - {"shared"}) | of_other_things


# Where an import inside a function pays: what it saves most runs, or what they cannot have.
DOORS = {
    "cli.commands": "the rules, which most commands do not name",
    "cli.convert": "all that a run without legacy code does without",
    "cli.suggestions": "difflib",
    "facts.projects.yaml_files": "yaml",
    "knowledge.versions": "packaging",
    "reporting.gitlab": "OpenSSL",
    "reporting.output": "the libraries of the extra `report`",
    "run.engine": "LibCST",
    "run.session": "processes",
}


def test_imports_are_at_the_top_but_for_a_few_doors() -> None:
    """`runtime` is left out: its modules run in the processes of jobs, beside libraries that may be missing."""
    found = {}
    for path in PACKAGE.rglob("*.py"):
        inside = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, FUNCTIONS)]
        imports = {node for function in inside for node in ast.walk(function) if isinstance(node, IMPORTS)}
        module = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        if imports and not module.startswith("runtime."):
            found[module] = len(imports)
    assert found.keys() == DOORS.keys()
    assert sum(found.values()) <= 10

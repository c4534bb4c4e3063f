"""How the package hangs together. Which folder may import which stands in pyproject.toml; `lint-imports` checks it."""

from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import grimp

import raymigrate

PACKAGE = Path(raymigrate.__file__).parent


def test_the_root_holds_hardly_a_module() -> None:
    assert {path.name for path in PACKAGE.glob("*.py")} == {"__init__.py", "__main__.py"}


def test_no_module_imports_itself_by_a_detour() -> None:
    """Imports inside functions count; those of types alone do not: none of them happens when the tool runs."""
    graph = grimp.build_graph("raymigrate", exclude_type_checking_imports=True, cache_dir=None)
    TopologicalSorter({name: graph.find_modules_directly_imported_by(name) for name in graph.modules}).prepare()


def test_every_family_says_what_it_is_about() -> None:
    for family in families():
        first = (family / "__init__.py").read_text().partition("\n")[0]
        assert first.startswith('"""') and len(first) > 20, family.name


def families() -> Iterator[Path]:
    return (path.parent for path in (PACKAGE / "codemods").glob("*/__init__.py"))

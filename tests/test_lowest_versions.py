"""The versions that libraries ask of others agree with the installed libraries, which ask for the same or more."""

from importlib.metadata import PackageNotFoundError, requires

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from raymigrate.knowledge.versions import COMPANIONS, ENDED, LOWEST, LOWEST_VERSIONS, TARGET
from scripts.generate_lowest_versions import EXTRAS, LIBRARIES, bounds, is_asked, lower_bound, newest, short

LINES = [line.split() for line in LOWEST_VERSIONS.read_text().splitlines()]


def installed() -> dict[str, list[str]]:
    """What the installed libraries require; a build of torch for CPUs alone does without triton."""
    found = {}
    for library in LIBRARIES:
        try:
            found[library] = requires(library) or []
        except PackageNotFoundError:
            pytest.skip("needs the libraries")
    return found


@pytest.mark.ray
def test_the_installed_libraries_ask_for_nothing_lower() -> None:
    asked = bounds(installed())
    missing = {name for name, _, _ in LINES} - asked.keys()
    assert missing <= {"triton"}
    assert [line for line in LINES if line[0] in asked and asked[line[0]].version < Version(line[1])] == []


def test_the_table_is_sorted_and_names_libraries() -> None:
    assert [name for name, _, _ in LINES] == sorted({name for name, _, _ in LINES})
    assert {library for _, _, library in LINES} <= {*LIBRARIES}
    assert not {name for name, _, _ in LINES} & {*TARGET, *ENDED}


def test_every_version_is_one() -> None:
    assert [name for name, version in LOWEST.items() if name not in ENDED and not Version(version)] == []
    assert all(name in LOWEST for companions in COMPANIONS.values() for name in companions)
    assert newest().keys() == {*LIBRARIES}


@pytest.mark.parametrize(
    ("specifier", "expected"),
    [
        (">=4.10.0", "4.10"),
        ("==1.13.1", "1.13.1"),
        ("~=2.3", "2.3"),
        ("<3.0,>=1.3.0", "1.3"),
        ("==2.*", "2"),
        ("!=2019.12.17", ""),
        ("<3", ""),
        (">=0.0.29.post2", "0.0.29.post2"),
    ],
)
def test_where_a_range_begins(specifier: str, expected: str) -> None:
    start = lower_bound(SpecifierSet(specifier))
    assert ("" if start is None else short(start)) == expected


@pytest.mark.parametrize(
    ("text", "extras", "expected"),
    [
        ("fsspec", (), True),
        ('pyarrow>=9; extra == "train"', EXTRAS["ray"], True),
        ('vllm==0.29; extra == "llm"', EXTRAS["ray"], False),
        ('pandas; extra == "data"', (), False),
        ('tomli>=1.1; python_version < "3.11"', (), False),
        ('triton==3.2.0; platform_system == "Linux" and platform_machine == "x86_64"', (), True),
        ('pyreadline3; sys_platform == "win32"', (), False),
    ],
)
def test_what_a_library_asks_for_on_a_usual_machine(text: str, extras: tuple[str, ...], *, expected: bool) -> None:
    assert is_asked(Requirement(text), extras) is expected


def test_the_highest_bound_of_all_libraries_counts() -> None:
    required = {"ray": ["numpy>=1.20; extra == 'data'", "click"], "transformers": ["numpy>=1.17"]}
    assert [(name, str(version), library) for name, (version, library) in bounds(required).items()] == [
        ("numpy", "1.20", "ray")
    ]

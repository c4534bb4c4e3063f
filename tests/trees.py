"""Trees of small files for the tests of discovery: to write them, and to search them."""

from pathlib import Path

from raymigrate.files.discovery import Discovery, discover

NEEDLES = (b"import ray", b"from ray", b"ray.train", b"ray.air")
LEGACY = "from ray.air import session\n"
CLEAN = "import numpy\n\narray = numpy.array([1])\n"


def write(*paths: str, text: str = LEGACY) -> None:
    for path in paths:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(text, encoding="utf-8", errors="surrogateescape")


def find(*paths: str, **options: object) -> Discovery:
    return discover(paths or (".",), needles=NEEDLES, **options)  # type: ignore[arg-type]


def found(*paths: str, **options: object) -> list[str]:
    """The candidates of a search that met no problem."""
    result = find(*paths, **options)
    assert result.problems == []
    return result.candidates


def problem(*paths: str) -> str:
    """The message of the only problem of a search."""
    (only,) = find(*paths).problems
    return only.message

"""Other scripts in the folder of a script that accelerate may have launched as well."""

import re
from collections.abc import Iterator
from pathlib import Path

from raymigrate.files.contents import read_bytes

MOST_FILES = 200
MOST_BYTES = 200_000
TRAINS = re.compile(rb"\b(?:Accelerator|PartialState|\w*Trainer)\(")
OF_RAY = re.compile(rb"\bTorchTrainer\(")  # which starts its workers itself
MAIN = re.compile(rb"^if\s+__name__\b", re.MULTILINE)


def other_scripts(script: Path) -> list[str]:
    """The names of files beside a script that train with accelerate or a Trainer, and are no modules of others."""
    texts = dict(_texts(script.parent))
    return [
        path.name
        for path, text in texts.items()
        if path.name != script.name
        and TRAINS.search(text)
        and not OF_RAY.search(text)
        and (MAIN.search(text) or not any(_imports(other, path.stem) for other in texts.values()))
    ]


def _texts(folder: Path) -> Iterator[tuple[Path, bytes]]:
    for path in sorted(folder.glob("*.py"))[:MOST_FILES]:
        try:
            yield path, read_bytes(str(path), at_most=MOST_BYTES)
        except OSError:
            continue


def _imports(text: bytes, module: str) -> bool:
    name = re.escape(module.encode())
    return re.search(rb"^[ \t]*(?:from[ \t]+[\w.]*\b|import[ \t]+)" + name + rb"\b", text, re.MULTILINE) is not None

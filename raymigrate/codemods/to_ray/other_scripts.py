"""Other scripts in the folder of a script that accelerate may have launched as well."""

import re
from collections.abc import Iterator
from pathlib import Path

from raymigrate.base.expressions import lazy_regex
from raymigrate.facts.projects.project import Project
from raymigrate.facts.projects.project_uses import is_imported
from raymigrate.facts.values.fixtures import IS_COLLECTED
from raymigrate.files.contents import read_bytes

MOST_FILES = 200
MOST_BYTES = 200_000
TRAINS = lazy_regex(rb"\b(?:Accelerator|PartialState|\w*Trainer)\(")
OF_RAY = lazy_regex(rb"\bTorchTrainer\(")  # which starts its workers itself
MAIN = lazy_regex(rb"^if\s+__name__\b", re.MULTILINE)
TESTS = lazy_regex(
    rb"^\s*(?:(?:async\s+)?def\s+test|class\s+Test|(?:import|from)\s+(?:pytest|unittest)\b)", re.MULTILINE
)


def other_scripts(script: Path, project: Project | None) -> list[str]:
    """The names of files beside a script that train with accelerate or a Trainer, no modules of others and no tests.

    Those of a folder are looked for once: each of its scripts asks for the others.

    Args:
        script: The script.
        project: That of the script, whose files may import the others.
    """
    project = project or Project()
    known, folder = project.searched.scripts, str(script.parent.absolute())
    if folder not in known:
        known[folder] = list(_scripts_in(script.parent, project))
    return [name for name in known[folder] if name != script.name]


def _scripts_in(folder: Path, project: Project) -> Iterator[str]:
    for path in sorted(folder.glob("*.py"))[:MOST_FILES]:
        try:
            text = read_bytes(str(path), at_most=MOST_BYTES)
        except OSError:
            continue
        if TRAINS.search(text) and not OF_RAY.search(text) and not _is_test(path.name, text):
            if MAIN.search(text) or not is_imported(project, str(path)):
                yield path.name


def _is_test(name: str, text: bytes) -> bool:
    """Whether pytest collects what is in a file; `test_model.py` may be the name of a script too."""
    return IS_COLLECTED.fullmatch(name) is not None and (name == "conftest.py" or TESTS.search(text) is not None)

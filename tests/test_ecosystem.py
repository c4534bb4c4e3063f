"""The current libraries' own sources are looked at with raymigrate; `python -m scripts.ecosystem` does it for all."""

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from scripts.ecosystem import COUNTS, findings, summary
from scripts.generate_library_tables import pinned


@pytest.mark.parametrize("library", ["accelerate", "datasets", "evaluate", "huggingface_hub"])
def test_what_is_told_of_a_current_library_is_what_was_counted(library: str) -> None:
    spec = find_spec(library)
    if spec is None or spec.origin is None:
        pytest.skip(f"{library} is not installed")
    folder = Path(spec.origin).parent
    modules = [(str(path.relative_to(folder.parent)), path.read_text("utf-8")) for path in folder.rglob("*.py")]
    counted = json.loads(COUNTS.read_text("utf-8"))[f"{library} {pinned()[library]}"]
    found = [finding for path, text in sorted(modules) for finding in findings([(path, text)], current=True)]
    assert summary(found, current=True) == counted

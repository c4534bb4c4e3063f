"""RM416: how the Path that log_dir was is spelled."""

import pytest

from tests.rules.scripts import converted

SCRIPT = """
{imports}
from ray import tune

def loop(config):
    tune.report({{"loss": 1.0}})

def show(best):
    {inside}
    print(best.log_dir)

show(tune.Tuner(loop).fit().get_best_result("loss", "min"))
for result in tune.Tuner(loop).fit():
    print(result.log_dir)
"""


@pytest.mark.parametrize(
    ("imports", "inside", "spelled"),
    [
        ("from pathlib import Path", "print(Path)", "print(Path(result.path))"),
        ("import pathlib", "", "print(pathlib.Path(result.path))"),
        ("", "", "print(pathlib.Path(result.path))"),
        ("from click import Path", "print(Path)", "print(pathlib.Path(result.path))"),
        (
            "try:\n    from pathlib import Path\nexcept ImportError:\n    Path = str",
            "",
            "print(pathlib.Path(result.path))",
        ),
        ("", "from pathlib import Path; print(Path)", "print(pathlib.Path(result.path))"),
        (
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from pathlib import Path",
            "",
            "print(pathlib.Path(result.path))",
        ),
    ],
)
def test_a_path_has_the_name_that_the_file_has_for_it(imports: str, inside: str, spelled: str) -> None:
    outcome = converted(SCRIPT.format(imports=imports, inside=inside or "pass"))
    assert spelled in outcome.text
    assert ("import pathlib\n" in outcome.text) is ("pathlib." in spelled)


def test_a_path_that_is_imported_below_is_none_yet() -> None:
    outcome = converted(SCRIPT.format(imports="", inside="pass") + "\nfrom pathlib import Path\nprint(Path)\n")
    assert "print(pathlib.Path(result.path))" in outcome.text

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
    best.log_dir.exists()

show(tune.Tuner(loop).fit().get_best_result("loss", "min"))
for result in tune.Tuner(loop).fit():
    result.log_dir.exists()
"""


@pytest.mark.parametrize(
    ("imports", "inside", "spelled"),
    [
        ("from pathlib import Path", "print(Path)", "Path(result.path).exists()"),
        ("import pathlib", "", "pathlib.Path(result.path).exists()"),
        ("", "", "pathlib.Path(result.path).exists()"),
        ("from click import Path", "print(Path)", "pathlib.Path(result.path).exists()"),
        (
            "try:\n    from pathlib import Path\nexcept ImportError:\n    Path = str",
            "",
            "pathlib.Path(result.path).exists()",
        ),
        ("", "from pathlib import Path; print(Path)", "pathlib.Path(result.path).exists()"),
        (
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from pathlib import Path",
            "",
            "pathlib.Path(result.path).exists()",
        ),
    ],
)
def test_a_path_has_the_name_that_the_file_has_for_it(imports: str, inside: str, spelled: str) -> None:
    outcome = converted(SCRIPT.format(imports=imports, inside=inside or "pass"))
    assert spelled in outcome.text
    assert ("import pathlib\n" in outcome.text) is ("pathlib." in spelled)


def test_a_path_that_is_imported_below_is_none_yet() -> None:
    outcome = converted(SCRIPT.format(imports="", inside="pass") + "\nfrom pathlib import Path\nprint(Path)\n")
    assert "pathlib.Path(result.path).exists()" in outcome.text


@pytest.mark.parametrize(
    "shown", ["print('at', {})", "logger.info('at %s', {})", "raise OSError('none at ' + str({}))"]
)
def test_what_is_only_shown_needs_no_path(shown: str) -> None:
    script = "from ray import tune\n\nresult = tune.Tuner(print).fit()[0]\n" + shown
    outcome = converted(script.format("result.log_dir"))
    assert outcome.text.endswith(shown.format("result.path")) and "pathlib" not in outcome.text

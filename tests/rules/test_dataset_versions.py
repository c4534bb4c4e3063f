"""RM702: load_dataset(version=), which chose a version of the script of a dataset."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

HEAD = "import ray\nfrom datasets import load_dataset, load_dataset_builder\nfrom elsewhere import name, options\n"


@pytest.mark.parametrize(
    ("use", "is_sure"),
    [
        ("load_dataset('stanfordnlp/imdb', version='1.0.0')", True),
        ("load_dataset(path='stanfordnlp/imdb', split='train', version=options.version)", True),
        ("load_dataset_builder('allenai/c4', 'en', version='1.0.0')", True),
        ("import datasets\ndatasets.load_dataset('wmt/wmt16', 'de-en', version='1.0.0')", True),
        ("VERSION = '2.0'\nload_dataset('./folder', version=VERSION)", True),
        ("given = {'version': '1.0.0'}\nload_dataset('stanfordnlp/imdb', **given)", True),
        ("load_dataset(name, version='1.0.0')", False),
        ("load_dataset('csv' if name else 'stanfordnlp/imdb', version='1.0.0')", False),
    ],
)
def test_the_version_of_a_dataset_is_told(use: str, is_sure: bool) -> None:
    outcome = converted(HEAD + use + "\n")
    assert outcome.lines("RM702", Kind.MANUAL)
    [message] = [m for (code, _, _), m in zip(outcome.findings, outcome.messages, strict=True) if code == "RM702"]
    assert "revision=" in message
    assert ("such as csv" in message) is not is_sure


@pytest.mark.parametrize(
    "use",
    [
        "load_dataset('csv', data_files='a.csv', version='1.0.0')",
        "kind = 'json'\nload_dataset(kind, data_files='a.json', version=name)",
        "load_dataset('stanfordnlp/imdb', version=None)",
        "load_dataset('stanfordnlp/imdb', revision='1.0.0')",
        "options.load_dataset('stanfordnlp/imdb', version='1.0.0')",
        "def load_dataset(name, version):\n    return name\n\nload_dataset('a/b', version='1.0.0')",
    ],
)
def test_versions_that_change_nothing_are_left_alone(use: str) -> None:
    assert not [code for code, _, _ in converted(HEAD + use + "\n").findings if code == "RM702"]

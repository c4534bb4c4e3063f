"""docs/usage.md stays true: its settings are settings, its options exist."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from raymigrate.cli.commands import convert, main
from tests.conftest import ROOT

USAGE = (ROOT / "docs/usage.md").read_text()


def test_the_settings_are_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text(re.search(r"```toml\n(.*?)```", USAGE, re.DOTALL)[1])
    assert CliRunner().invoke(main, ["--check", "."]).exit_code == 0


def test_the_options_exist() -> None:
    options = {name for parameter in convert.params for name in (*parameter.opts, *parameter.secondary_opts)}
    assert set(re.findall(r"`(--[a-z-]+)(?!\w)", USAGE)) <= options

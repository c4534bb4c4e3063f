"""`# raymigrate: skip`: what it silences is not converted either, and it is reported when it silences nothing."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from raymigrate.base.findings import Kind
from raymigrate.base.options import Options
from raymigrate.cli import main
from raymigrate.run.engine import convert
from raymigrate.run.outcome import FileResult
from scripts.update_twins import options_of

HEAD = "from ray.air import session\n\n"


def kinds(result: FileResult) -> list[tuple[str, str, int]]:
    return [(finding.code, finding.kind.value, finding.line) for finding in result.findings]


@pytest.mark.parametrize(
    "text",
    [
        "session.report({})  # raymigrate: skip\n",
        "session.report({})  # noqa: E501  # raymigrate:skip[RM302]\n",
        "session.report({})  # raymigrate: skip[RM4, RM3] -- old cluster\n",
        "# raymigrate: skip\nsession.report({})\n",
        "# raymigrate: skip\n# Another comment.\n\nsession.report({})\n",
        "session.report(  # raymigrate: skip\n    {},\n)\n",
        "session.report(\n    {},\n)  # raymigrate: skip\n",
        "print(  # raymigrate: skip\n    session.report({}),\n)\n",
        "print(\n    session.report({}),  # raymigrate: skip\n    1,\n)\n",
        "print(\n    # raymigrate: skip\n    session.report({}),\n)\n",
        "if True:  # raymigrate: skip-file\n    session.report({})\n",
        "session.report({})\r\n# raymigrate: skip-file[RM302]\r\n",
    ],
)
def test_a_skipped_line_is_left_as_it_is(text: str) -> None:
    result = convert(HEAD + text)
    assert result.after is None
    assert {(f.code, f.kind) for f in result.findings} <= {("RM302", Kind.SKIPPED), ("RM906", Kind.MANUAL)}
    assert Kind.SKIPPED in {f.kind for f in result.findings}


def test_other_lines_are_converted() -> None:
    result = convert(HEAD + "session.report({})  # raymigrate: skip\nsession.report({})\n")
    assert result.after.splitlines()[-2:] == ["session.report({})  # raymigrate: skip", "ray.train.report({})"]
    assert "from ray.air import session" in result.after
    again = convert(result.after)
    assert again.after is None
    assert kinds(again) == [("RM302", "skipped", 4)]


def test_a_comment_covers_one_statement_not_the_block_below() -> None:
    result = convert(HEAD + "def f():  # raymigrate: skip\n    session.report({})\n")
    assert kinds(result) == [("RM906", "manual", 3), ("RM302", "converted", 4)]


def test_a_comment_that_silences_nothing_is_reported() -> None:
    assert kinds(convert("import ray\n\nray.init()  # raymigrate: skip\n")) == [("RM906", "manual", 3)]
    assert kinds(convert("# raymigrate: skip-file\nimport os\n")) == [("RM906", "manual", 1)]


def test_a_code_that_silences_nothing_is_named() -> None:
    result = convert(HEAD + "session.report({})  # raymigrate: skip[RM302, RM401]\n")
    assert [f.message for f in result.findings if f.code == "RM906"] == [
        "This comment names RM401, which is not found there."
    ]


def test_a_rule_that_is_left_out_makes_no_comment_stale() -> None:
    text = HEAD + "session.report({})  # raymigrate: skip[RM302]\n"
    assert kinds(convert(text, options=Options(ignore=("RM3",)))) == []
    assert kinds(convert(text, options=Options(select=("RM1",)))) == []


def test_text_in_strings_and_other_words_are_no_comments() -> None:
    text = (
        HEAD + 'print("# raymigrate: skip", session.report({}))\nsession.report({})  # raymigrate skipped it before\n'
    )
    assert {kind for _, kind, _ in kinds(convert(text))} == {"converted"}


def test_a_skipped_file_need_not_be_python(tmp_path: Path) -> None:
    (tmp_path / "template.py").write_text("# raymigrate: skip-file -- a template\nfrom ray.air import {{ name }}\n")
    result = CliRunner().invoke(main, ["-v", str(tmp_path)])
    assert result.exit_code == 0
    assert "RM901 skipped" in result.stdout


def test_reasons_are_shown(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(HEAD + "session.report({})  # raymigrate: skip -- old cluster\n")
    run = CliRunner().invoke
    assert run(main, [str(path)]).stdout == ""
    assert run(main, [str(path)]).exit_code == 0
    assert "RM302 skipped" in run(main, ["-v", str(path)]).stdout
    assert "Reason: old cluster" in run(main, ["-v", str(path)]).stdout
    [finding] = json.loads(run(main, ["--output-format", "json", str(path)]).stdout)["findings"]
    assert (finding["kind"], finding["reason"]) == ("skipped", "old cluster")
    [entry] = json.loads(run(main, ["--output-format", "sarif", str(path)]).stdout)["runs"][0]["results"]
    assert entry["suppressions"] == [{"kind": "inSource", "justification": "old cluster"}]


def test_stale_comments_are_found_where_nothing_else_is(tmp_path: Path) -> None:
    (tmp_path / "plain.py").write_text("import os  # raymigrate: skip\n")
    assert CliRunner().invoke(main, ["--check", str(tmp_path)]).exit_code == 1


def test_every_fixture_can_be_skipped(script: Path) -> None:
    text = script.read_bytes().decode()
    result = convert(f"{text.rstrip()}\n# raymigrate: skip-file\n", str(script), options_of(script))
    assert result.after is None
    assert {finding.kind for finding in result.findings} == {Kind.SKIPPED}


@pytest.mark.parametrize(
    ("comment", "known"),
    [
        ("# raymigrate: ignore", "raymigrate: ignore"),
        ("# raymigrate: disable=RM302", "raymigrate: disable"),
        ("# raymigrate:skip_file", "raymigrate:skip_file"),
        ("# raymigrate: Skip", "raymigrate: Skip"),
        ("# raymigrate: skipped", "raymigrate: skipped"),
        ("# Raymigrate: skip[RM302]", "Raymigrate: skip"),
        ("# raymigrate:", "raymigrate:"),
        ("# raymigrate skip[RM302]", "raymigrate skip"),
        ("# noqa: RM301", "noqa"),
        ("# noqa:RM301,E501", "noqa"),
        ("# noqa: E501,RM301  # why", "noqa"),
        ("# ruff: noqa: RM301", "ruff: noqa"),
        ("# pylint: disable=RM302", "pylint"),
        ("# type: ignore[RM302]", "type"),
    ],
)
def test_a_comment_that_is_not_understood_is_told(comment: str, known: str) -> None:
    result = convert(f"{HEAD}session.report({{}})  {comment}\n")
    [finding] = [finding for finding in result.findings if finding.code == "RM906"]
    assert finding.message == f"raymigrate does not know `{known}`: this comment keeps nothing as it is."
    assert "raymigrate: skip[RM302]" in finding.advice
    assert (finding.kind, finding.line) == (Kind.MANUAL, 3)
    assert result.after is not None and "ray.train.report" in result.after


def test_codes_without_brackets_are_told() -> None:
    result = convert(f"{HEAD}session.report({{}})  # raymigrate: skip RM302\n")
    assert kinds(result) == [("RM302", "skipped", 3), ("RM906", "manual", 3)]


@pytest.mark.parametrize(
    "text",
    [
        "# noqa: E501",
        "# type: ignore[attr-defined]",
        "# see RM302 of raymigrate",
        "# converted by raymigrate",
        "# raymigrate has rules such as RM302",
        "x = '# raymigrate: ignore'",
        "# raymigrate: skip -- as RM302 says",
    ],
)
def test_other_comments_are_not(text: str) -> None:
    result = convert(f"{HEAD}session.report({{}})\n{text}\n")
    assert not [f for f in result.findings if f.code == "RM906" and "not know" in f.message]

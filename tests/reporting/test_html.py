"""The report as an HTML page, and what stands beside each other in it."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from click.testing import CliRunner

from raymigrate.base.findings import Finding, Kind
from raymigrate.base.options import Options
from raymigrate.cli import main
from raymigrate.files.discovery import SUFFIXES, discover
from raymigrate.files.script import decode
from raymigrate.reporting.html import html_text
from raymigrate.reporting.side_by_side import Line, blocks_of
from raymigrate.run.gates import NEEDLES
from raymigrate.run.job import Job
from raymigrate.run.outcome import FileResult, Summary
from raymigrate.run.session import run
from tests.conftest import FIXTURES

LEGACY = FIXTURES / "transformers_trainer/readme_example/before.py"
NOTEBOOK = FIXTURES / "notebooks/gpt2_own_data/before.ipynb"


class Page(HTMLParser):
    """The ids, addresses and elements of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.elements: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.elements.append(tag)
        self.ids += [given["id"] or ""] if "id" in given else []
        if tag == "a":
            self.links.append(given["href"] or "")
        elif "href" in given or "src" in given:
            self.loaded.append(given.get("href") or given.get("src") or "")


def lines_of(path: Path) -> tuple[FileResult, list[Line], list[Line]]:
    """What became of a file, and the lines of both sides in their order."""
    [result] = run(discover([str(path)], needles=NEEDLES, suffixes=SUFFIXES), Job(Options(), write=False)).results
    rows = [row for block in blocks_of(result) for row in block.rows]
    return result, [row.left for row in rows if row.left], [row.right for row in rows if row.right]


def lines_of_file(data: bytes) -> list[str]:
    """The lines of a script."""
    return decode(data).text.removesuffix("\n").split("\n")


@pytest.mark.parametrize(
    "case",
    [
        "transformers_trainer/readme_example",
        "transformers_trainer/windows_line_ends",
        "transformers_trainer/exported_notebook_imports_twice",
        "notebooks/databricks_source",
        "notebooks/percent_with_magics",
    ],
)
def test_all_lines_of_both_texts_are_shown_once(case: str) -> None:
    script = FIXTURES / case / "before.py"
    result, left, right = lines_of(script)
    after = script.read_bytes() if result.after is None else result.new_bytes
    assert [line.text for line in left] == lines_of_file(script.read_bytes())
    assert [line.text for line in right] == lines_of_file(after)


def test_a_cell_of_a_notebook_is_shown_with_its_magics() -> None:
    _, left, right = lines_of(NOTEBOOK)
    assert any(line.text.startswith(("!", "%")) for line in left)
    assert {line.place[0] for line in left} == {line.place[0] for line in right}


def test_the_colours_change_no_character() -> None:
    for line in lines_of(LEGACY)[1]:
        assert (
            re.sub(r"<[^>]*>", "", line.code).replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
            == line.text
        )


def test_every_finding_stands_at_its_line_before_and_after_it_was_written(tmp_path: Path) -> None:
    copy = tmp_path / "train.py"
    copy.write_text(LEGACY.read_text())
    for write in (False, True):
        [result] = run(discover([str(copy)], needles=NEEDLES), Job(Options(), write=write)).results
        page = Page(html_text(Summary([result]), dry_run=not write))
        assert len(page.ids) == len(set(page.ids))
        anchors = {link[1:] for link in page.links if link.startswith("#")}
        assert anchors <= set(page.ids)
        assert sum("-RM" in name for name in page.ids) == len(result.findings)


def test_a_finding_whose_line_is_not_shown_is_not_lost() -> None:
    finding = Finding("RM902", Kind.ERROR, "cannot be read.", "See the message.", 1, 1, "gone.py")
    text = html_text(Summary([FileResult("gone.py", [finding])]), dry_run=False)
    assert text.count("cannot be read.</p>") == 1


def test_nothing_in_a_file_becomes_markup_and_nothing_is_loaded() -> None:
    evil = 'x = "</script><img src=x onerror=alert(1)>"\n'
    path = "<b>bold</b>.py"
    finding = Finding("RM902", Kind.ERROR, "<script>alert(2)</script>", "", 1, 1, path)
    page = Page(html_text(Summary([FileResult(path, [finding], evil)]), dry_run=False))
    assert page.elements.count("script") == 1
    assert "img" not in page.elements
    assert page.loaded == ["data:,"]


def test_the_command_writes_the_page_with_the_new_text_even_where_it_only_checks(tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    assert CliRunner().invoke(main, ["--check", "--report", str(report), str(LEGACY)]).exit_code == 1
    text = report.read_text()
    assert "TorchTrainer" in text
    assert "nothing written" in text


def test_without_its_libraries_the_command_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    copy = tmp_path / "train.py"
    copy.write_text(LEGACY.read_text())
    result = CliRunner().invoke(main, ["--report", str(tmp_path / "page.html"), str(copy)])
    assert result.exit_code == 2
    assert "pip install 'raymigrate[report]'" in result.stderr
    assert copy.read_text() == LEGACY.read_text()

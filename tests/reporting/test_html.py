"""The report as an HTML page, and what stands beside each other in it."""

import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest
from click.testing import CliRunner

from raymigrate.base.findings import Finding, Kind
from raymigrate.base.options import Options
from raymigrate.cli import main
from raymigrate.files.discovery import CONFIGURATION, SUFFIXES, discover
from raymigrate.files.needles import NEEDLES
from raymigrate.files.script import decode
from raymigrate.reporting.html import html_text
from raymigrate.reporting.side_by_side import Line, blocks_of
from raymigrate.run.job import Job
from raymigrate.run.outcome import FileResult, ProjectSummary, Summary
from raymigrate.run.session import run
from tests.conftest import FIXTURES

LEGACY = FIXTURES / "transformers_trainer/readme_example/before.py"
NOTEBOOK = FIXTURES / "notebooks/gpt2_own_data/before.ipynb"


class Page(HTMLParser):
    """The ids, addresses, elements and text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.elements: list[str] = []
        self.attributes: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.elements.append(tag)
        self.attributes += given
        self.ids += [given["id"] or ""] if "id" in given else []
        if tag == "a":
            self.links.append(given["href"] or "")
        elif "href" in given or "src" in given:
            self.loaded.append(given.get("href") or given.get("src") or "")

    def handle_data(self, data: str) -> None:
        self.text += data


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


HOSTILE = (
    "</script><img src=x onerror=alert(1)>",
    "</style><script>alert(2)</script>",
    """" onmouseover="alert(3)" x=\'""",
    "' onfocus='alert(4)' autofocus tabindex=1",
    "--><svg/onload=alert(5)>",
    "{{ 7 * 7 }}{% raw %}{# x #}",
    "javascript:alert(6)",
    "&lt;b&gt;&quot; onclick=alert(7)",
)


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_of_the_user_becomes_markup_or_script(text: str) -> None:
    """Names of files and folders, lines, messages, advice and reasons, on a page that allows its own script only."""
    path = f"{text}/{text}.py"
    finding = Finding("RM902", Kind.ERROR, text, text, 1, 1, path, reason=text)
    source = f"import ray.air  # {text}\nx = {text!r}\n"
    changed = FileResult(path, [finding], source, changes=True, after=source.replace("air", "train"))
    plain = Page(
        html_text(
            Summary([FileResult("a/b.py", [Finding("RM902", Kind.ERROR, "m", "a", path="a/b.py")])]), dry_run=True
        )
    )
    summary = Summary([changed], projects=[ProjectSummary(text, 2, 1, 1, 1)])
    page = Page(html_text(summary, dry_run=False))
    assert page.elements.count("script") == plain.elements.count("script") == 1
    assert not {"img", "svg"} & set(page.elements)
    assert set(page.attributes) <= set(plain.attributes) | {"colspan", "scope"}
    assert page.loaded == ["data:,"]
    assert all(link.startswith(("#", "https://")) for link in page.links)
    assert text in page.text


def test_what_is_read_on_the_page_is_the_text_of_the_user() -> None:
    page = Page(html_text(Summary([FileResult("a.py", [], HOSTILE[0], changes=True, after=HOSTILE[7])]), dry_run=False))
    assert HOSTILE[0] in page.text
    assert HOSTILE[7] in page.text


def test_pins_are_a_list_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(LEGACY.read_text())
    (tmp_path / "requirements.txt").write_text("ray[train]==2.6.3\n")
    summary = run(discover([str(tmp_path)], needles=NEEDLES, suffixes=(*SUFFIXES, *CONFIGURATION)), Job(Options()))
    text = html_text(summary, dry_run=False)
    to_do, pins = (re.search(f'<section id="{name}">(.*?)</section>', text, re.S) for name in ("to-do", "pins"))
    assert to_do and pins
    assert "RM406" in to_do[1]
    assert "RM731" not in to_do[1]
    assert "RM731 ray[train]==2.6.3 excludes" in pins[1]


def test_counts_are_given_by_rule_and_by_file() -> None:
    findings = [Finding("RM604", Kind.MANUAL, f"{line}.", "", line, 1, "a.py") for line in (1, 2)]
    text = html_text(Summary([FileResult("a.py", findings, "x\ny\n")]), dry_run=False)
    buttons = re.findall(r'data-filter="(\w+)" data-value="([^"]+)" data-of="(\w+)"[^>]*>(\d+)<', text)
    assert buttons == [("rule", "RM604", "manual", "2"), ("path", "a.py", "manual", "2")]


@pytest.mark.slow
def test_a_browser_runs_the_script_and_nothing_else(tmp_path: Path) -> None:
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no Chromium here")
    finding = Finding("RM604", Kind.MANUAL, HOSTILE[1], "", 1, 1, HOSTILE[2])
    page = tmp_path / "page.html"
    page.write_text(html_text(Summary([FileResult(HOSTILE[2], [finding], HOSTILE[0])]), dry_run=False))
    command = [browser, "--headless", "--no-sandbox", f"--user-data-dir={tmp_path}", "--dump-dom", page.as_uri()]
    shown = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
    assert "0 of 1 done" in shown
    assert Page(shown).elements.count("script") == 1


def test_the_command_writes_the_page_with_the_new_text_even_where_it_only_checks(tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    assert CliRunner().invoke(main, ["--check", "--report", str(report), str(LEGACY)]).exit_code == 1
    text = report.read_text()
    assert "TorchTrainer" in text
    assert "nothing written" in text


def test_without_its_libraries_the_command_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("raymigrate.reporting.report_file.find_spec", lambda name: None)
    copy = tmp_path / "train.py"
    copy.write_text(LEGACY.read_text())
    result = CliRunner().invoke(main, ["--report", str(tmp_path / "page.html"), str(copy)])
    assert result.exit_code == 2
    assert 'pip install ".[report]" in the checkout of raymigrate' in result.stderr
    assert copy.read_text() == LEGACY.read_text()

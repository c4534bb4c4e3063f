"""The documentation: what it shows is what the tool does, and its links lead somewhere."""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from raymigrate.base.findings import Rule
from raymigrate.cli import main
from raymigrate.run.rules import EXAMPLES, every_rule
from scripts.pages import home, links
from scripts.pages.examples import ROOT, examples
from scripts.pages.prose import markdown
from scripts.update_twins import examples_text
from tests.conftest import FIXTURES
from tests.site_pages import DOCS, FENCED, anchors, site_pages

BLOCK = re.compile(r'^( *)```(\w+) title="(fixtures/[^"]+)"\n(.*?)^\1```$', re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!!)\[(?:[^\[\]]|\[[^\]]*\])+\]\(([^)\s]+)\)")


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return site_pages()


@pytest.mark.parametrize("rule", every_rule(), ids=lambda rule: rule.code)
def test_every_rule_has_a_page_with_what_it_needs(rule: Rule, pages: dict[str, str]) -> None:
    page = pages[f"rules/{rule.code}.md"]
    assert page.startswith(f"# {rule.code}: ")
    for heading in ("What happens at run time", "What to do", "See also"):
        assert re.search(rf"^## {heading}\n\n\S", page, re.MULTILINE)
    assert rule.link.startswith("https://") and f"]({rule.link})" in page
    assert all(part in page for error in rule.errors for part in error.split("*"))
    assert f"({rule.code}.md)" in pages["rules/index.md"]


def test_every_rule_that_a_fixture_meets_has_its_example(pages: dict[str, str]) -> None:
    told = "".join(path.read_text(encoding="utf-8") for path in FIXTURES.rglob("findings.txt"))
    met = set(re.findall(r"^\d+:\d+ (RM\d+) (?!skipped)", told, re.MULTILINE))
    assert met and met == set(examples())
    assert all('title="fixtures/' in pages[f"rules/{code}.md"] for code in met)


def test_explain_shows_the_examples_of_the_fixtures() -> None:
    assert EXAMPLES.read_text(encoding="utf-8") == examples_text(), "run python -m scripts.update_twins"


def in_order(lines: list[str], text: str) -> list[str]:
    """The lines that do not follow each other in a text."""
    rest = iter(text.splitlines())
    return [line for line in lines if line.strip() and not any(line == other for other in rest)]


def written_blocks() -> Iterator[tuple[str, str, str, list[str]]]:
    """The code blocks of docs/ that show a fixture: page, language, title, lines."""
    for path in sorted(DOCS.glob("*.md")):
        for _, language, title, text in BLOCK.findall(path.read_text(encoding="utf-8")):
            yield path.name, language, title, [line for line in text.splitlines() if line.strip() != "..."]


def test_the_code_that_is_shown_stands_in_the_fixtures() -> None:
    blocks = list(written_blocks())
    assert len(blocks) > 20
    for page, language, title, lines in blocks:
        if language != "diff":
            text = (ROOT / title).read_text(encoding="utf-8")
            indents = ("", "    ", "        ")  # a block may begin at the margin
            left = [in_order([indent + line for line in lines], text) for indent in indents]
            assert [] in left, (page, title, left)
            continue
        for sign, twin in (("-", "before.py"), ("+", "after.py")):
            side = [line[1:] for line in lines if line[0] in (sign, " ")]
            assert in_order(side, (ROOT / title / twin).read_text(encoding="utf-8")) == [], (page, title, twin)


def options_of(words: list[str]) -> set[str]:
    """The options of the command that a command line calls."""
    command: click.Command = main
    context = click.Context(main)
    known = {"--help", "-h", "--version"}
    for word in words:
        if not isinstance(command, click.Group) or word not in command.list_commands(context):
            break
        command = command.get_command(context, word) or command
    if command is main:
        command = main.commands["convert"]
    return known.union(*([*p.opts, *p.secondary_opts] for p in command.params))


def test_the_commands_that_are_shown_have_their_options(pages: dict[str, str]) -> None:
    shown = 0
    for path, text in pages.items():
        if path.startswith("verification/"):
            continue  # a record of what was run
        for line in re.findall(r"^ *(?:- run: )?(raymigrate .+)$", "\n".join(FENCED.findall(text)), re.MULTILINE):
            words = shlex.split(line, comments=True)[1:]
            words = words[: words.index("--")] if "--" in words else words
            options = {word.split("=")[0] for word in words if word.startswith("-") and word != "-"}
            if "[" not in line:  # a line of usage
                assert options <= options_of(words), (path, line)
                shown += 1
    assert shown > 10


def test_links_between_pages_lead_somewhere(pages: dict[str, str]) -> None:
    for path, text in pages.items():
        for link in LINK.findall(FENCED.sub("", text)):
            if link.startswith(("https://", "http://")):
                continue
            target, _, fragment = link.partition("#")
            page = str((DOCS / path).parent.joinpath(target).resolve().relative_to(DOCS)) if target else path
            assert page in pages or (DOCS / page).is_file(), (path, link)
            assert not fragment or fragment in anchors(pages[page]), (path, link)


def test_the_readme_gives_the_home_page_without_its_links_into_the_repository() -> None:
    page = home.page()
    assert "(fixtures)" not in page and "(docs/" not in page
    assert "migration-guide.md" in page


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("accelerate >= 1.0 needs use_cpu=True.", "accelerate >= 1.0 needs `use_cpu=True`."),
        ("Use ray.train.report() instead.", "Use `ray.train.report()` instead."),
        (
            "class with __call__(self, batch), or f(a=g(1)) (or not)",
            "class with `__call__(self, batch)`, or `f(a=g(1))` (or not)",
        ),
        ("passed as *args or **kwargs", "passed as `*args` or `**kwargs`"),
        ("see RM701, not RM999", "see [RM701](RM701.md), not RM999"),
        ("PyTorch and <this> of a_b", "PyTorch and &lt;this> of `a_b`"),
        ("ray[train]==2.6.3 excludes ray >= 2.51", "`ray[train]==2.6.3` excludes ray >= 2.51"),
        ('report_to becomes "none"', '`report_to` becomes "none"'),
    ],
)
def test_code_in_a_sentence_is_marked(text: str, expected: str) -> None:
    assert markdown(text, frozenset({"RM701"})) == expected


def test_the_site_builds_without_a_warning_and_without_a_broken_link(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    outcome = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert outcome.returncode == 0, outcome.stderr
    assert list(links.broken(tmp_path)) == []


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text('<a href="b.html#there">1</a><a href="b.html#gone">2</a><a href="c.html">3</a>')
    (tmp_path / "b.html").write_text('<h1 id="there">there</h1>')
    assert list(links.broken(tmp_path)) == ["a.html: b.html#gone (no such anchor)", "a.html: c.html"]

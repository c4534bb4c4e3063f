"""The pages of the site in Markdown, those that are made and those in `docs/`, and their anchors."""

import re
from functools import cache

from scripts.pages import command_line, home, rules
from scripts.pages.examples import ROOT

DOCS = ROOT / "docs"
FENCED = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ (.+?)(?: \{ #([\w-]+) \})?$", re.MULTILINE)


@cache
def site_pages() -> dict[str, str]:
    """Every page of the site in Markdown, by its path below docs."""
    written = {path.relative_to(DOCS).as_posix(): path.read_text(encoding="utf-8") for path in DOCS.rglob("*.md")}
    return {**written, "index.md": home.page(), "command-line.md": command_line.page(), **rules.pages()}


def anchors(text: str) -> set[str]:
    """The anchors of a page, as MkDocs makes them from its headings."""
    found = set()
    for title, given in HEADING.findall(FENCED.sub("", text)):
        plain = re.sub(r"[^\w\s-]", "", title.replace("`", "")).strip().lower()
        found.add(given or re.sub(r"[-\s]+", "-", plain))
    return found

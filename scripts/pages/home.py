"""The home page: the README, with its links made for the site."""

import re
from pathlib import Path

from scripts.pages.examples import ROOT

ALONE = "---\nhide: [navigation]\n---\n\n"  # a page without neighbours needs no list of them
CARDS = """
<div class="grid cards" markdown>

-   :material-map-outline: **[Migration guide](migration-guide.md)**

    What changed, and how to do it by hand.

-   :material-format-list-checks: **[Rules](rules/index.md)**

    A page for each: what happens at run time, what to do, before and after.

-   :material-scale-balance: **[Verify](verify.md)**

    Runs a job before and after, and compares step by step.

-   :material-source-branch-check: **[In pre-commit and CI](ci.md)**

    So that legacy code does not come back.

</div>
"""
LINK = re.compile(r"\[([^\]]+)\]\((?!https?://)([^)#]+)(#[^)]*)?\)")


def page() -> str:
    """Markdown of the home page."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    head, use = text.split("\n## ", 1)
    return ALONE + LINK.sub(_link, f"{head}{CARDS}\n## {use}")


def _link(match: re.Match[str]) -> str:
    """A link inside the site; of what is in the repository only, just its text."""
    text, target, fragment = match[1], match[2], match[3] or ""
    inside = target.removeprefix("docs/")
    path = Path(ROOT / "docs" / inside)
    if path.is_dir():
        return f"[{text}]({inside}/README.md{fragment})"
    if path.is_file() or not (ROOT / target).exists():
        return f"[{text}]({inside}{fragment})"
    return text

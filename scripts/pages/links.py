"""Checks the links of the built site: `python -m scripts.pages.links [--external] [FOLDER]`.

MkDocs checks the links that are written in Markdown. This one reads the pages as a browser does: links of the theme,
pages that are HTML already, and every anchor.
"""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.error import URLError
from urllib.parse import unquote, urlsplit
from urllib.request import Request, urlopen

SITE = Path(__file__).parent.parent.parent / "build" / "site"
TIMEOUT = 20  # seconds for an answer of another host


class Page(HTMLParser):
    """The links and the anchors of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = {"", "top"}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collects what other pages may point to, and what this one points to."""
        for name, value in attrs:
            if value and name in ("id", "name"):
                self.anchors.add(value)
            elif value and (tag, name) in (("a", "href"), ("link", "href"), ("img", "src"), ("script", "src")):
                self.links.append(value)


@cache
def read(path: Path) -> Page:
    """A page of the site."""
    page = Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def broken(site: Path) -> Iterator[str]:
    """Links inside the site that lead nowhere, each with the page on which it stands."""
    for path in sorted(site.rglob("*.html")):
        for link in read(path).links:
            parts = urlsplit(link)
            # 404.html is shown for any address, so its links begin at the root of the host.
            if parts.scheme or parts.netloc or path.name == "404.html":
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            if not target.is_file():
                yield f"{path.relative_to(site)}: {link}"
            elif target.suffix == ".html" and unquote(parts.fragment) not in read(target).anchors:
                yield f"{path.relative_to(site)}: {link} (no such anchor)"


def unreachable(site: Path) -> Iterator[str]:
    """Addresses of other hosts that do not answer."""
    links = {link.split("#")[0] for path in site.rglob("*.html") for link in read(path).links}
    addresses = sorted(link for link in links if link.startswith(("http://", "https://")))
    with ThreadPoolExecutor(8) as pool:
        for address, problem in zip(addresses, pool.map(_problem, addresses), strict=True):
            if problem:
                yield f"{address}: {problem}"


def _problem(address: str) -> str:
    try:
        with urlopen(Request(address, headers={"User-Agent": "raymigrate-docs"}), timeout=TIMEOUT):
            return ""
    except (URLError, OSError) as error:
        return str(error)


def main() -> None:
    """Prints the links that lead nowhere; exits with 1 if there are any."""
    arguments = [argument for argument in sys.argv[1:] if argument != "--external"]
    site = Path(arguments[0]) if arguments else SITE
    if not site.is_dir():
        sys.exit(f"{site} is not a folder; run `mkdocs build` first.")
    found = list(broken(site))
    if "--external" in sys.argv:
        found += unreachable(site)
    print("\n".join(found) or f"All links of {len(list(site.rglob('*.html')))} pages lead somewhere.")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()

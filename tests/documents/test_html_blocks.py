"""Python in HTML on pages: what it costs, however the page is made, and which tags belong together."""

from pathlib import Path

import pytest

from tests.documents.test_regions import convert
from tests.fuzz.cases import Case
from tests.fuzz.checks import check

USE = "from ray.air import session\n"
MANY = {
    "blocks": f'<pre><code class="language-python">{USE}</code></pre>\n\n' * 4_000,
    "blocks without a language": f"<pre>{USE}</pre>\n\n" * 4_000,
    "blocks that nothing closes": "<pre>\n" * 16_000,
    "blocks that something else closes": "<pre class=py></code>" * 8_000,
    "tags that do not end": "<pre class=python " * 8_000,
    "attributes of a tag": f"<pre {'class=' * 30_000}",
    "brackets in a block": f"<pre class=py>{'<' * 40_000}</pre>",
    "classes in a block": f"<pre class=py>{'class A' * 4_000}{'ray.air.' * 4_000}</pre>",
}


@pytest.mark.parametrize("text", MANY.values(), ids=MANY)
def test_many_blocks_of_html_are_soon_read(text: str, tmp_path: Path) -> None:
    check(Case("html", {"page.md": f"See from ray\n\n{text}".encode()}, ["--docs"]), tmp_path)


TAGS = {
    "<pre class=py>\n<code class=py>ray.air</code>\n</pre>\n<code class=py>ray.air</code>": [3, 6],
    "<pre>\nimport ray.air\n<code class=py>ray.air</code>\n</pre>": [5],
    "<pre class=py>\n<code class=py>ray.air</code>": [4],  # nothing closes the first one
    "<pre class=py>\n</code>ray.air</PRE >ray.ml": [3],
    "<pre class=py>\n</pre ray.air><pre>\nimport ray.air</pre>": [3],
    "<pre class=py></pre>\nimport ray.air\n</pre>": [],
    "<pre class=pyre title='a py'>ray.air</pre>\n<prefix class=py>ray.air</prefix>": [],
    "<pre class='a\npy'>ray.air</pre>": [3],
}


@pytest.mark.parametrize(("html", "lines"), TAGS.items())
def test_a_block_of_html_ends_at_its_own_tag(html: str, lines: list[int]) -> None:
    assert [found.line for found in convert(f"See from ray\n\n{html}\n", "page.md")[1]] == lines

"""RM515: methods of `.str`, for columns of Arrow."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
import re

import ray
from ray.air import session

BLANKS = r"\\s+"
TAGS = "<[^>]+>"


def clean(frame):
    frame["text"] = {use}
    return frame


ds = ray.data.read_csv("rows.csv").map_batches(clean, batch_format="pandas")
"""


def _uses(call: str) -> list[str]:
    """A call of `.str` as people write it."""
    column = f'frame["text"].str.{call}'
    return [column, f"frame.text.str.{call}", f'frame["text"].str.lower().str.{call}']


@pytest.mark.parametrize(
    "call",
    [
        r'replace(r"[^\w\s]", "", regex=True)',
        'replace(BLANKS, " ", regex=True)',
        r'replace(r"\d", "0", -1, None, 0, True)',
        'replace(re.compile("a"), "b", regex=True)',
        'replace("a", lambda found: "b", regex=True)',
        'replace("end$", "b", regex=True)',
        'replace(r"(a)\\1", "b", regex=True)',
        'contains("a(?!b)", na=False)',
        'replace("a", "b", flags=re.I, regex=True)',
        "replace(*given)",
        'contains(r"\\bray\\b")',
        'contains("(?i)ray")',
        "match(unseen)",
        'count(r"\\w+")',
        'fullmatch("a", flags=re.I)',
        "split()",
        'split(r"\\s")',
        'split("(a,)")',
        'split(",").str[0]',
        'split(",").copy().str.len()',
        'findall("a").str.len()',
        'partition(" ", expand=False).str[0]',
        'extract("(a)")',
    ],
)
def test_what_differs_keeps_columns_of_numpy(call: str) -> None:
    for use in _uses(call):
        outcome = converted(SCRIPT.format(use=use))
        assert outcome.lines("RM515", Kind.CONVERTED), use
        assert "enable_arrow_backed_pandas_conversion = False\nds = ray.data" in outcome.text


@pytest.mark.parametrize(
    "call",
    [
        'replace("ray", "Ray")',
        'replace(r"\\s", " ", regex=False)',
        'replace(TAGS, "", regex=True)',
        r'replace(r"\t|\n|\.", " ", regex=True)',
        r'replace("(a)(b)", r"\2\1", regex=True)',
        'contains("ray|train", case=False)',
        r'contains("\\d", regex=False)',
        'match("a|b")',
        'count("a")',
        'split(",")',
        'split("::", regex=False)',
        'rsplit("::", n=1)',
        'strip(" .")',
        "slice(0, 512)",
        'startswith("a")',
        "wrap(80)",
        "isdigit()",
        'findall("a")',
        'split(",", expand=True)[0].str.strip()',
        'partition(" ")[2].str.strip()',
        'split(",").map(lambda parts: parts[0]).str.strip()',
    ],
)
def test_what_comes_out_the_same_stays(call: str) -> None:
    for use in _uses(call):
        outcome = converted(SCRIPT.format(use=use))
        assert "RM515" not in [code for code, _, _ in outcome.findings], use
        assert "enable_arrow" not in outcome.text


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ('parts = frame["text"].str.split(",")\n    frame["text"] = parts.str[0]', True),
        ('frame["parts"] = frame["text"].str.split(",")\n    frame["text"] = frame["parts"].str[0]', True),
        ('frame["parts"] = frame.text.str.split(",")\n    frame["number"] = frame.parts.str.len()', True),
        ('frame["text"] = frame["text"].map(lambda text: text.split()).str[0]', True),
        ('frame["text"] = frame["text"].apply(words).str.len()', True),
        ('frame["text"] = frame["text"].map(lambda text: text.strip()).str.lower()', False),
        ('frame["text"] = frame["text"].str.split(",")', False),
        ('frame["parts"] = frame["text"].str.split(",")\n    frame["number"] = frame["parts"].map(len)', False),
        (
            'frame["t"] = frame["t"].str.split(",")\n    frame["t"] = frame["t"].map(len)\n'
            '    frame["t"] = frame["t"].map(str)\n    frame["t"] = frame["t"].str.lower()',
            False,
        ),
    ],
)
def test_a_column_of_lists_has_no_texts(body: str, told: bool) -> None:
    head = "def words(text):\n    return text.split()\n\n\ndef clean"
    script = SCRIPT.replace("def clean", head).replace('frame["text"] = {use}', body)
    assert bool(converted(script).lines("RM515", Kind.CONVERTED)) is told


def test_pandas_has_no_texts_of_lists_with_arrow() -> None:
    pandas, pyarrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    texts = pandas.Series(["a,b"], dtype=pandas.ArrowDtype(pyarrow.string()))
    for lists in (texts.str.split(","), texts.str.findall("a"), texts.map(lambda text: text.split(","))):
        with pytest.raises(AttributeError, match="Can only use"):
            lists.str  # noqa: B018

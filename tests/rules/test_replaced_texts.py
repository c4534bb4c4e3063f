"""RM524: patterns that .str.replace() of pandas takes for plain texts."""

import pytest

from raymigrate.base.findings import Kind
from raymigrate.base.options import Options
from raymigrate.run.engine import convert
from tests.rules.scripts import converted

SCRIPT = """
import re
from functools import partial

import ray
from ray.air import session

BLANKS = re.compile(r"\\s+")
TAGS = "<[^>]+>"


def shorter(found):
    return found[0][:2]


def clean(frame):
    frame["text"] = {use}
    return frame


ds = ray.data.read_csv("rows.csv").map_batches(clean, batch_format="pandas")
"""


@pytest.mark.parametrize(
    "given",
    [
        r'r"\s+", " "',
        r'r"[^\w\s]", ""',
        'TAGS, ""',
        '"[A-Z]", "x"',
        '"(?i)ray", "Ray"',
        r'pat=r"\d", repl="0"',
        r'r"\s+", " ", flags=re.M',
    ],
)
@pytest.mark.parametrize("column", ['frame["text"]', "frame.text", 'frame["text"].str.lower()'])
def test_a_text_is_made_a_pattern_on_request(given: str, column: str) -> None:
    script = SCRIPT.format(use=f"{column}.str.replace({given})")
    outcome = converted(script)
    assert outcome.lines("RM524", Kind.UNSAFE) and f"replace({given})" in outcome.text
    assert any("looks for this very text" in message for message in outcome.messages)
    changed = convert(script, options=Options(unsafe=True))
    assert changed.after is not None and f"{column}.str.replace({given}, regex=True)" in changed.after
    again = convert(changed.after, options=Options(unsafe=True))
    assert again.after is None and "RM524" not in [found.code for found in again.findings]


@pytest.mark.parametrize(
    ("given", "refused"),
    [
        ('BLANKS, " "', "a compiled pattern"),
        ('re.compile("a"), "b"', "a compiled pattern"),
        ('"a|b", lambda found: found[0].upper()', "a function"),
        ('"a|b", shorter', "a function"),
        ('"a", partial(shorter)', "a function"),
        ('pat="a|b", repl=shorter', "a function"),
    ],
)
def test_what_pandas_refuses_is_sure(given: str, refused: str) -> None:
    outcome = converted(SCRIPT.format(use=f'frame["text"].str.replace({given})'))
    assert outcome.lines("RM524", Kind.CONVERTED)
    assert any(f"raises a ValueError for {refused};" in message for message in outcome.messages)
    assert f"str.replace({given}, regex=True)" in outcome.text


@pytest.mark.parametrize(
    "use",
    [
        'frame["text"].str.replace("  ", " ")',
        'frame["text"].str.replace("U.S.", "US")',
        'frame["text"].str.replace("<br />", " ")',
        'frame["text"].str.replace("[SEP]", " ")',
        'frame["text"].str.replace("(c)", "")',
        'frame["text"].str.replace("...", "")',
        r'frame["text"].str.replace(r"\s+", " ", regex=True)',
        r'frame["text"].str.replace(r"\s+", " ", regex=False)',
        r'frame["text"].str.replace(r"\s+", " ", -1, None, 0, True)',
        r'frame["text"].replace(r"\s+", " ")',
        'frame["text"].str.replace(*given)',
        'frame["text"].str.replace(old, new)',
        r'[text.replace(r"\s+", " ") for text in frame["text"]]',
    ],
)
def test_other_texts_stay(use: str) -> None:
    assert "RM524" not in [code for code, _, _ in converted(SCRIPT.format(use=use)).findings]


def test_polars_takes_patterns() -> None:
    script = SCRIPT.format(use=r'pl.Series(frame["text"]).str.replace(r"\s+", " ").to_pandas()')
    assert "RM524" not in [code for code, _, _ in converted(f"import polars as pl\n{script}").findings]


def test_a_script_of_today_means_what_it_says() -> None:
    script = SCRIPT.format(use=r'frame["text"].str.replace(r"\s+", " ")').replace("from ray.air import session\n", "")
    assert not convert(script, options=Options()).findings


@pytest.mark.parametrize("given", [(r"\s+", " "), ("[^a]+", ""), ("(?i)A", "x")])
def test_pandas_finds_no_such_text(given: tuple[str, str]) -> None:
    pandas = pytest.importorskip("pandas")
    texts = pandas.Series(["a  b", "A c"])
    assert texts.str.replace(*given).tolist() == texts.tolist()
    assert texts.str.replace(*given, regex=True).tolist() != texts.tolist()


def test_each_pattern_of_a_loop_is_seen() -> None:
    use = (
        'frame["text"]\n    for old in [r"\\s+", r"\\d"]:\n        frame["text"] = frame["text"].str.replace(old, " ")'
    )
    assert converted(SCRIPT.format(use=use)).lines("RM524", Kind.UNSAFE)


@pytest.mark.parametrize("bound", ['BLANKS = "  "', 'BLANKS = "  " if frame.empty else re.compile("a")'])
def test_a_name_that_may_be_a_text_is_no_compiled_pattern(bound: str) -> None:
    script = SCRIPT.format(use='frame["text"].str.replace(BLANKS, " ")')
    script = script.replace("def clean(frame):", f"def clean(frame):\n    {bound}")
    assert "RM524" not in [code for code, _, _ in converted(script).findings]


CLEANER = """
class Cleaner:
    def low(self, found):
        return found[0].lower()

    def __call__(self, frame):
        return frame.text.str.replace('A', self.low)
"""


def test_a_method_is_a_function_too() -> None:
    outcome = converted(SCRIPT.format(use='frame["text"]') + CLEANER)
    assert "str.replace('A', self.low, regex=True)" in outcome.text

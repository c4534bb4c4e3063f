"""The comments that the syntax tree shows are those that Python's own tokenizer finds."""

import pytest

from raymigrate.comments.tokens import read_comments
from raymigrate.facts.syntax.comments import comments_in
from raymigrate.facts.syntax.module import Module
from tests.conftest import FIXTURES

SPELLINGS = {
    "after a string with a mark": 'a = "# no comment"  # one\n',
    "two marks": "a = 1  # one # the same\n",
    "between the parts of a string": 'a = (\n    "one # no"  # one\n    # two\n    "two"  # "three"\n)  # four\n',
    "behind a string of several lines": 'a = """\n# no\n""" + "#"  # one\n',
    "in an f-string": "a = f\"{b['#']} # no\" f'{c!r:#>10}'  # one\n",
    "in an f-string of several lines": 'a = f"""\n# no {b["#"]}\n# no"""  # one\nc = (f"{d}"  # two\n     f"#")\n',
    "bytes": 'a = b\'#\' b"""\n#\n"""  # one\n',
    "letters of several bytes": 'ä = "ü#"  # ö\nb = "€"; c = f"€ {ä} #"  # é\n',
    "escaped quotes": "a = '\\'#'  # it's\nb = r'\\'  '#'  # \"\n",
    "lines that go on": "a = 1 + \\\n    2  # one\nb = [  # two\n    '#',  # three\n]\n",
    "other ends of lines": 'a = "#"  # one\r\nb = """\r\n# no\r\n"""  # two\r\n',
    "no end of the last line": "a = 1\n    # indented\n# last",
    "a string of nothing but a mark": '"#"\n#\n',
}


@pytest.mark.parametrize("text", SPELLINGS.values(), ids=SPELLINGS)
def test_spellings(text: str) -> None:
    module = Module(text)
    assert comments_in(module) == read_comments("\n".join(module.lines))[0] != []


def test_every_fixture() -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(FIXTURES.rglob("after.py"))}
    found = {path: Module(text) for path, text in texts.items() if "#" in text and "%load_ext" not in text}
    assert len(found) > 100
    assert [path for path, m in found.items() if comments_in(m) != read_comments("\n".join(m.lines))[0]] == []

"""The lines of a code block that a page highlights stay highlighted when others come in between."""

import re

import pytest

from raymigrate.documents.highlights import MovedLines, renumbered
from raymigrate.documents.lines import spliced, split_lines
from tests.documents.test_regions import convert

CODE = """\
from ray.air import session
from ray.train.huggingface.transformers import prepare_trainer
from ray.train.torch import TorchTrainer
from transformers import Trainer, TrainingArguments

def loop(config):
    args = TrainingArguments(
        "out",
        evaluation_strategy="epoch",
    )
    trainer = prepare_trainer(Trainer(make(), args))
    session.report({})
    trainer.train()

TorchTrainer(loop).fit()
"""
SHOWN = {
    "3": ["from ray.train.torch import TorchTrainer"],
    "7-10": ["args = TrainingArguments(", ")"],
    "12": ["ray.train.report({})"],
    "15": ["TorchTrainer(loop).fit()"],
}
RST = ".. code-block:: python\n{options}\n\n{code}\n"
FENCE = "```{options}\n{code}```\n"
PAGES = {
    "sphinx": (RST, "    :emphasize-lines: {numbers}"),
    "sphinx, among others": (
        RST,
        "    :caption: of 99\n    :emphasize-lines: {numbers}\n    :linenos:\n    :lineno-start: 99",
    ),
    "sphinx, an older name": (RST.replace("code-block", "sourcecode"), "    :emphasize-lines: {numbers}"),
    "myst": (FENCE, "{code-block} python\n:emphasize-lines: {numbers}\n"),
    "myst, yaml": (FENCE, "{code-block} python\n---\nlineno-start: 99\nemphasize-lines: {numbers}\n---"),
    "mkdocs": (FENCE, 'python title="99" hl_lines="{numbers}" linenums="99"'),
    "attributes": (FENCE, "{.python hl_lines='{numbers}'}"),
    "docusaurus": (FENCE, "python {{numbers}} showLineNumbers"),
    "vitepress": (FENCE, "python{{numbers}}"),
    "quarto": (FENCE, '{.python code-line-numbers="{numbers}"}'),
}


def page(form: str, numbers: str) -> tuple[str, str]:
    """A page with the code, and its name."""
    frame, options = PAGES[form]
    in_rst = frame.startswith("..")
    code = CODE.replace("\n", "\n    ").rstrip() if in_rst else CODE
    text = frame.replace("{options}", options.replace("{numbers}", numbers)).replace(
        "{code}", f"    {code}" if in_rst else code
    )
    return text, "page.rst" if in_rst else "page.md"


@pytest.mark.parametrize("separator", [", ", ",", " "])
@pytest.mark.parametrize("form", PAGES)
def test_the_same_lines_are_highlighted(form: str, separator: str) -> None:
    before, name = page(form, separator.join(SHOWN))
    after, _ = convert(before, name)
    numbers = re.search(rf"\b3(?:{separator}[\d-]+){{3}}", after)
    assert numbers is not None
    lines = [line.strip() for line in after.splitlines()]
    lines = ["", *lines[lines.index("import ray.train") :]]
    for item, expected in zip(numbers[0].split(separator), SHOWN.values(), strict=True):
        first, _, last = item.partition("-")
        shown = lines[int(first) : int(last or first) + 1]
        assert [shown[0], *shown[1:][-1:]] == expected
    assert numbers[0] != separator.join(SHOWN)
    assert after.count("99") == before.count("99")
    assert convert(after, name)[0] == after


@pytest.mark.parametrize("form", PAGES)
def test_what_highlights_nothing_that_moves_stays(form: str) -> None:
    for numbers in ("3", "1-4", "80-90"):
        before, name = page(form, numbers)
        after, _ = convert(before, name)
        assert after.partition("import ray")[0] == before.partition("from ray")[0]


OLD = ["a", "b", "c", "d", "e = f(1, 2, g=3)", "h"]


@pytest.mark.parametrize(
    ("new", "numbers", "expected"),
    [
        (["a", "x", "b", "c", "d", OLD[4], "h"], "1, 2-3, 6", "1, 3-4, 7"),
        (["a", "b", "x", "c", "d", OLD[4], "h"], "2-3 5", "2-4 6"),
        (["a", "b", "d", OLD[4], "h"], "2, 3, 4", "2, 3"),
        (["a", "b", "d", OLD[4], "h"], "3,4", "3"),
        (["a", "b", "d", OLD[4], "h"], "2-3,6", "2,5"),
        (["a", "b", "c", "d", "e = f(", "    1,", "    2,", "    k=3,", ")", "h"], "5, 6", "5-9, 10"),
        (["a", "b", "c", "d", "e = f(1, 2, k=3)", "h"], "5", "5"),
        (["x", "y", "a", *OLD[1:]], "2-", "4-"),
        (["x", "y", "a", *OLD[1:]], "-2", "-4"),
        (["x", "y", "a", *OLD[1:]], "7, 8", "7, 8"),
    ],
)
def test_numbers_and_ranges(new: list[str], numbers: str, expected: str) -> None:
    for head in (".. code-block:: py\n   :emphasize-lines: {}", 'python hl_lines="{}" x="1"', "py {{{}}}"):
        assert renumbered(head.format(numbers), lines(new)) == head.format(expected)


def test_what_is_gone_altogether_is_highlighted_no_longer() -> None:
    gone = lines(["a", "b", "d", "h"])
    assert (
        renumbered(".. code-block:: py\n   :emphasize-lines: 3\n   :linenos:", gone)
        == ".. code-block:: py\n   :linenos:"
    )
    assert renumbered('```python hl_lines="3" x', gone) == "```python x"
    assert renumbered("```python {3}", gone) == "```python"


@pytest.mark.parametrize(
    ("numbers", "expected"), [('[2,"4-6"]', '[4,"6-8"]'), ("[2, 3]", "[4, 5]"), ('["1-2", 6]', '["3-4", 8]')]
)
def test_lists_of_hugo(numbers: str, expected: str) -> None:
    moved = lines(["x", "y", *OLD])
    assert renumbered(f"```py {{hl_lines={numbers}}}", moved) == f"```py {{hl_lines={expected}}}"
    assert (
        renumbered("```py {hl_lines=[5]}", lines([*OLD[:4], "e = f(", "  1", ")", "h"])) == '```py {hl_lines=["5-7"]}'
    )


@pytest.mark.parametrize(
    "head",
    [
        ".. code-block:: python\n   :lineno-start: 2\n   :caption: 2, 3",
        '```python linenums="2" title="lines 2-3"',
        "```python {cmd=true} # 2",
        ".. code-block:: python\n   :name: emphasize-lines-2\n   :dedent: 2",
    ],
)
def test_other_numbers_stay(head: str) -> None:
    assert renumbered(head, lines(["x", "y", *OLD])) == head


def lines(new: list[str]) -> MovedLines:
    """Where the lines of `OLD` are in new ones."""
    found = spliced(split_lines("".join(f"{line}\n" for line in OLD)), new)
    return MovedLines(OLD, [line.text for _, line in found], [index for index, _ in found])

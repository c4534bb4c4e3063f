"""LibCST sees only the statements that edits touch, and what comes of it is what comes of the whole module."""

import ast
from collections import Counter
from collections.abc import Sequence

import libcst as cst
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raymigrate.base.options import Options
from raymigrate.edits.excerpt import Excerpt, NotFilled
from raymigrate.edits.plan import Code, Plan
from raymigrate.edits.rewriter import rewrite
from raymigrate.edits.stand_ins import NothingHidden, untouched
from raymigrate.facts.syntax.module import Module
from tests.conftest import SCRIPTS
from tests.stress_excerpts import FORMS, OPTIONS, compared, stressed

# The fixtures that a conversion changes: of the others there is nothing to compare.
CHANGED = [
    index
    for index, script in enumerate(SCRIPTS)
    if (after := script.with_name("after.py")).exists() and after.read_bytes() != script.read_bytes()
]
ALL = [(form, index) for form in FORMS for index in range(len(SCRIPTS))]
STRANGE = {"backslashes", "CR", "mixed line ends", "form feeds", "fillers and form feeds"}


def texts(index: int) -> str:
    return SCRIPTS[index].read_bytes().decode()


@pytest.mark.slow
@pytest.mark.rotating(20)
@pytest.mark.parametrize("form", FORMS)
def test_every_rewrite_through_an_excerpt_is_that_of_the_whole_module(form: str) -> None:
    """Of all fixtures in a form, which takes some twenty seconds."""
    check(form, range(len(SCRIPTS)))


@pytest.mark.parametrize("form", FORMS)
def test_a_rewrite_through_an_excerpt_is_that_of_the_whole_module(form: str) -> None:
    """Of a few fixtures in each form."""
    check(form, CHANGED[list(FORMS).index(form) :: len(CHANGED) // 3])


def check(form: str, indices: Sequence[int]) -> None:
    """Compares the rewrites of fixtures in a form; hardly any may need the whole module."""
    results: Counter[str] = Counter()
    for index in indices:
        results += stressed(texts(index), form, Options(), seed=index)
    if form not in STRANGE:
        assert results["equal"] > results["falls back"] * 20, results


@given(st.sampled_from(ALL), st.sampled_from(list(OPTIONS)), st.integers(0, 1000))
@settings(max_examples=25, deadline=None)
def test_any_rewrite_through_an_excerpt_is_that_of_the_whole_module(
    case: tuple[str, int], options: str, seed: int
) -> None:
    form, index = case
    stressed(texts(index), form, OPTIONS[options], seed)


def hidden_of(text: str, line: int) -> list[str]:
    """The text with stand-ins where the statement that starts on a line is replaced, less the name of the stand-ins."""
    module, plan = Module(text), Plan()
    plan.statement(next(n for n in module.nodes if isinstance(n, ast.stmt) and n.lineno == line)).removed = True
    shown = Excerpt(module, untouched(module, plan)).text
    return shown.replace("_raymigrate_hidden_", "H").splitlines()


def test_stand_ins_keep_what_the_rewriter_sees() -> None:
    text = '''"""Text
of it."""
import a
import b
# over f


@decorator
def f():
    x = [
        1,
    ]
    # of f
# of old
old()
# of C
class C:
    """Text
    of it."""
    # inside
# at the end
'''
    assert hidden_of(text, 15) == [
        '"H0_"',
        "import H1_",
        "# over f",
        "",
        "",
        "@decorator",  # the first block of the file tells LibCST its indentation
        "def f():",
        "    H2_",
        "    # of f",
        "# of old",
        "old()",
        "# of C",
        "class H3_:",
        "    pass",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "x = 1\n\f\nold()\n",
        "x = 1\r\nold()\n",
        "x = 1\rold()\r",
        "\\\nf(\n  1,\n  2)\nold()\n",
        "f(\n  1,\n  2) \\\n\nold()\n",
        "def f():\\\n  return (1,\n  2)\nold()\n",
    ],
)
def test_nothing_is_hidden_where_lines_do_not_tell_statements_apart(text: str) -> None:
    module, plan = Module(text), Plan()
    plan.statement(module.tree.body[-1]).removed = True
    with pytest.raises(NothingHidden):
        untouched(module, plan)


def test_a_stand_in_that_moves_is_not_filled() -> None:
    module, plan = Module("f(\n  1,\n  2)\nold()\n"), Plan()
    plan.statement(module.tree.body[-1]).removed = True
    excerpt = Excerpt(module, untouched(module, plan))
    assert excerpt.filled(excerpt.text) == module.text
    with pytest.raises(NotFilled):
        excerpt.filled("if x:\n    " + excerpt.text)
    with pytest.raises(NotFilled):
        excerpt.filled(excerpt.text * 2)
    with pytest.raises(NotFilled):
        excerpt.start(module.tree.body[0])


def test_what_libcst_does_not_read_stops_no_edit_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as the syntax of a Python that is newer than LibCST."""
    parse = cst.parse_module

    def refusing(text: str) -> cst.Module:
        if "unknown" in text:
            raise cst.ParserSyntaxError("unknown", lines=[text], raw_line=1, raw_column=0)
        return parse(text)

    monkeypatch.setattr(cst, "parse_module", refusing)
    module, plan = Module("f(\n  unknown,\n  2)\nold()\n"), Plan()
    plan.statement(module.tree.body[-1]).replacement = Code("new()")
    assert rewrite(module, plan) == "f(\n  unknown,\n  2)\nnew()\n"


def test_a_statement_that_moves_into_a_with_is_shown_whole() -> None:
    text = "def f():\n    for x in y:\n        a = (\n            1)\n        b = 2\n    return x\n"
    module, plan = Module(text), Plan()
    plan.statement(module.tree.body[0].body[0]).within = Code("with run:\n    pass")
    assert compared(module, plan, results := Counter()).startswith("def f():\n    with run:\n        for x in y:\n")
    assert results["equal"] == 1


def test_what_comes_below_a_docstring_comes_right_below_it() -> None:
    text = 'def f():\n    """Says it."""\n    a = (\n        1)\n    b = 2\n    return a\n'
    module, plan = Module(text), Plan()
    plan.function(module.tree.body[0]).body_start.append(Code("new()"))
    assert compared(module, plan, Counter()).startswith('def f():\n    """Says it."""\n    new()\n    a = (\n')


def test_a_long_file_costs_what_is_edited_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    parse = cst.parse_module
    monkeypatch.setattr(cst, "parse_module", lambda text: (read.append(text.count("\n")), parse(text))[1])
    filler = "def f_{0}(a):\n    if a:\n        return [\n            a,\n        ]\n\n\n"
    text = "".join(f"{filler.format(2 * n)}old({n})\n\n\n{filler.format(2 * n + 1)}" for n in range(50))
    module, plan = Module(text), Plan()
    for statement in module.tree.body:
        if isinstance(statement, ast.Expr):
            plan.statement(statement).replacement = Code("new()")
    assert rewrite(module, plan).count("new()") == 50
    assert text.count("\n") > 800
    assert max(read) < 500

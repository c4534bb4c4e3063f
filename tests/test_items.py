"""What the items of collections come from, and what makes a list, dict or set."""

import ast

import pytest

from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import Source, holds_items
from raymigrate.facts.values.items import origins_of_items

MADE = "rows, names = [run(1)], ['a']\nrows = [run(1)]\n"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("for one in rows:\n    use(one)\n", ["run(1)"]),
        ("for name, one in zip(names, rows):\n    use(one)\n", ["run(1)"]),
        ("for one, name in zip(rows, *names):\n    use(one)\n", ["run(1)"]),
        ("for name, one in zip(*names, rows):\n    use(one)\n", []),
        ("for place, one in enumerate(rows):\n    use(one)\n", ["run(1)"]),
        ("for place, one in enumerate(rows):\n    use(place)\n", []),
        ("for one in rows[1:]:\n    use(one)\n", ["run(1)"]),
        ("rows += [run(2)]\nuse(rows[0])\n", ["run(1)", "run(2)"]),
        ("for n in range(2):\n    use(rows[0])\n    rows += [run(2)]\n", ["run(1)", "run(2)"]),
        ("rows.append(run(2))\nuse(max(rows))\n", ["run(1)", "run(2)"]),
        ("first, *others = rows\nuse(first)\n", ["run(1)"]),
        ("table = {'a': run(3)}\nfor name, one in table.items():\n    use(one)\n", ["run(3)"]),
        ("table = {'a': run(3)}\nfor name, one in table.items():\n    use(name)\n", []),
        ("rows = sorted(rows)\nuse(rows.pop())\n", ["run(1)"]),
    ],
)
def test_an_item_comes_from_what_a_collection_holds(text: str, found: list[str]) -> None:
    module = Module(MADE + text)
    [used] = [call.args[0] for call in module.named_calls("use")]
    assert sorted({ast.unparse(origin.node) for origin in origins_of_items(Source(module, used))}) == found


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("[1]", True),
        ("{**a}", True),
        ("dict(a)", True),
        ("a.copy()", True),
        ("a | b", True),
        ("(1, 2)", False),
        ("load(a)", False),
        ("a + b", False),
        ("a.load()", False),
    ],
)
def test_what_makes_a_list_a_dict_or_a_set(text: str, holds: bool) -> None:
    assert holds_items(ast.parse(text, mode="eval").body) is holds

"""Names are resolved by Python's scopes, so that only what really comes from Ray is touched."""

import ast

import pytest

from raymigrate.facts.syntax.module import Module


def resolved(text: str) -> list[str]:
    return [reference.qualified for reference in Module(text).references]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("import ray\nray.air.session\n", ["ray.air.session"]),
        ("import ray.air.session as s\ns.report\n", ["ray.air.session.report"]),
        ("from ray import air as a\na.session.report\n", ["ray.air.session.report"]),
        ("from ray.air import session\ndef f():\n    session.report\n", ["ray.air.session.report"]),
        ("def f():\n    from ray.air import session\n    session\nsession\n", ["ray.air.session"]),
        ("from ray.air import session\ndef f(session):\n    session.report\n", []),
        ("from ray.air import session\n[session for session in x]\n", []),
        ("from ray.air import session\n[session for session in session.all]\n", ["ray.air.session.all"]),
        (
            "from ray.air import session\n[x for x in y if (lambda: session) for y in session]\n",
            ["ray.air.session"] * 2,
        ),
        ("from ray.air import session\n[x for x in y for session in session.all]\n", []),
        (
            "from ray.air import session\nclass C:\n    session = 1\n    a = [session for b in session]\n",
            ["ray.air.session"],
        ),
        ("from ray.air import session\nclass C:\n    session = 1\n    def f(self): session\n", ["ray.air.session"]),
        ("from ray.air import session\nsession = Session()\nsession.report\n", []),
        (
            "try:\n  from ray.train import report\nexcept ImportError:\n  from ray.air.session import report\nreport\n",
            ["ray.train.report"],
        ),
        ("from .air import session\nsession\n", [".air.session"]),
        ("from ray.air import session\ndef f():\n    global session\n    session = 1\nsession\n", []),
        ("from ray.air import session\nf'{session.get_world_rank()}'\n", ["ray.air.session.get_world_rank"]),
        ("from ray.air import session\nlambda: session\n", ["ray.air.session"]),
    ],
)
def test_what_a_name_stands_for(text: str, names: list[str]) -> None:
    assert resolved(text) == names


def test_a_name_imported_twice_belongs_to_the_import_before_its_use() -> None:
    module = Module("from ray.air import session\nsession\nfrom ray.air import session\nsession\n")
    assert [reference.binding.statement.lineno for reference in module.references] == [1, 3]


def test_columns_are_characters_not_bytes() -> None:
    module = Module("é = 1; x = '训练'; y\n")
    name = module.tree.body[-1].value
    assert module.start(name) == (1, 17)


def test_a_value_is_followed_through_names() -> None:
    module = Module("a = {'x': 1}\nb = a\nf(b)\nfor c in d: f(c)\n")
    calls = [node for node in module.nodes if isinstance(node, ast.Call)]
    assert module.constant(calls[0].args[0]) == {"x": 1}
    assert module.constant(calls[1].args[0]) is ...


def test_an_elif_is_no_place_for_another_statement() -> None:
    module = Module("if a:\n    pass\nelif b():\n    pass\n")
    call = next(node for node in module.nodes if isinstance(node, ast.Call))
    assert module.statement(call).lineno == 1


ENDS = ["\n", "\r\n", "\r"]


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize(
    "line",
    [
        "x = f(a)",
        'x = "é" + f("日本", b)',
        "\fx = 1",
        "x = (\n  a,\n\n    b  # \x0b\x1c\u2028 no line end\n)",
        'x = """é\n\n"""',
    ],
)
def test_the_source_of_a_node_is_what_python_says(line: str, end: str) -> None:
    text = f"é = 1\n{line}\n{line}".replace("\n", end)
    module = Module(text)
    located = [node for node in module.nodes if hasattr(node, "lineno")]
    assert [module.source(node) for node in located] == [ast.get_source_segment(text, node) for node in located]

"""Statements that move into new code: as they are, with the edits inside and around them."""

import ast
from collections.abc import Callable

from raymigrate.edits.plan import Code, Plan
from raymigrate.edits.rewriter import rewrite
from raymigrate.facts.syntax.module import Module

FUNCTION = "def train_func():\n    $body\n"


def moved(text: str, wanted: Callable[[ast.stmt], bool], change: Callable[[Module, Plan], None] | None = None) -> str:
    """Moves the wanted statements of a module into a function, which stands where the last one stood."""
    module, plan = Module(text), Plan()
    body = [statement for statement in module.tree.body if wanted(statement)]
    plan.statement(body[-1]).instead.append(Code(FUNCTION, blocks={"body": body}))
    plan.statement(body[-1]).instead.append(Code("run(train_func)"))
    if change is not None:
        change(module, plan)
    return rewrite(module, plan)


def is_assignment(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Assign)


def every(statement: ast.stmt) -> bool:
    return True


def test_statements_move_with_the_comments_over_them_and_the_others_stay() -> None:
    text = "import os\n\n\n# One.\na = 1\nprint()\n\n# Two.\nb = (\n    2,  # two\n)\n# The end.\nprint()\n"
    assert moved(text, is_assignment) == (
        "import os\n\n\nprint()\n\n\ndef train_func():\n    # One.\n    a = 1\n\n    # Two.\n    b = (\n"
        "        2,  # two\n    )\n\n\nrun(train_func)\n# The end.\nprint()\n"
    )


def test_functions_and_strings_over_lines_move_as_they_are() -> None:
    text = 'import os\n\na = """x\n  y\n"""\n\n\n@made\ndef f():\n    if a:\n        return 1\n\n\nb = f()\n'
    assert moved(text, lambda statement: not isinstance(statement, ast.Import)) == (
        'import os\n\n\ndef train_func():\n    a = """x\n  y\n"""\n\n    @made\n    def f():\n        if a:\n'
        "            return 1\n\n    b = f()\n\n\nrun(train_func)\n"
    )


def test_edits_inside_and_around_a_statement_move_with_it() -> None:
    def change(module: Module, plan: Plan) -> None:
        _, second = module.tree.body
        assert isinstance(second, ast.Assign)
        plan.call(module.of_type(ast.Call)[0]).set("cpu", "True")
        plan.statement(second).before.append(Code("before()"))
        plan.statement(second).replacement = Code("new = $value", {"value": second.value})

    assert moved("a = f(1)\nb = g(a)\n", is_assignment, change) == (
        "def train_func():\n    a = f(1, cpu=True)\n    before()\n    new = g(a)\n\n\nrun(train_func)\n"
    )


def test_a_function_may_stand_before_the_statements_that_move_into_it() -> None:
    module, plan = Module("a = 1\nif __name__ == '__main__':\n    b = 2\n    c = 3\n"), Plan()
    guard = module.tree.body[1]
    assert isinstance(guard, ast.If)
    plan.statement(guard).before.append(Code(FUNCTION, blocks={"body": [module.tree.body[0], *guard.body[1:]]}))
    assert rewrite(module, plan) == (
        "def train_func():\n    a = 1\n    c = 3\n\n\nif __name__ == '__main__':\n    b = 2\n"
    )


def test_a_line_that_gets_too_long_is_broken() -> None:
    text = f"value = function({'a' * 40}, {'b' * 28})\nx = 1\n"
    assert f"    value = function(\n        {'a' * 40},\n" in moved(text, is_assignment)


def test_lines_of_a_statement_that_moves_are_not_hidden() -> None:
    body = "".join(f"    x{number} = {number}\n" for number in range(40))
    result = moved(f"def f():\n{body}\n\ny = f()\n", every)
    assert "        x39 = 39\n" in result
    assert "\n    x" not in result

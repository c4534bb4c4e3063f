"""Conditions on the rank, through whatever names they are put together."""

import ast

import pytest

from raymigrate.facts.projects.main_process import asks_for_main, is_for_first_rank
from raymigrate.facts.ray_train.ranks import tests_rank as asks_for_rank
from raymigrate.facts.syntax.module import Module


def last_test(text: str) -> tuple[Module, ast.expr]:
    module = Module(text)
    last = module.tree.body[-1]
    assert isinstance(last, ast.Expr)
    return module, last.value


@pytest.mark.parametrize(("first", "is_rank"), [("session.get_world_rank()", True), ("other()", False)])
def test_a_long_chain_of_values_is_followed(first: str, *, is_rank: bool) -> None:
    chain = "x = f(x)\n" * 2_000
    module, test = last_test(f"from ray.air import session\nx = {first}\n{chain}x == 0\n")
    assert asks_for_rank(module, test) is is_rank
    assert asks_for_rank(module, test) is is_rank  # known by then


def test_a_name_that_leads_to_itself_is_no_rank() -> None:
    module, test = last_test("while True:\n    x = f(y)\n    y = f(x)\nx == y\n")
    assert not asks_for_rank(module, test)


def test_functions_that_call_each_other_are_asked_once_each() -> None:
    calls = "".join(f"def f{n}():\n    f{n - 1}()\n    f{n - 1}()\n\n" for n in range(1, 40))
    module = Module(
        f"import torch.distributed as dist\n\ndef f0():\n    print(1)\n\n{calls}if dist.get_rank() == 0:\n    f39()\n"
    )
    [shown] = module.named_calls("print")
    assert is_for_first_rank(module, shown)  # by 2 ** 39 ways


@pytest.mark.parametrize(
    ("test", "is_alone"),
    [
        ("0 <= rank < 1", True),
        ("-1 < rank <= 0", True),
        ("0 == rank == 0", True),
        ("0 <= rank < 2", False),
        ("0 < rank < 8", False),
        ("0 <= rank < size", False),
        ("rank == local_rank", False),
        ("0 <= other < 1", False),
    ],
)
def test_a_rank_between_two_numbers(test: str, *, is_alone: bool) -> None:
    start = "import torch.distributed as dist\nrank = dist.get_rank()\nlocal_rank = dist.get_node_local_rank()\n"
    module = Module(f"{start}if {test}:\n    print(1)\n")
    [shown] = module.named_calls("print")
    assert is_for_first_rank(module, shown) is is_alone


def test_functions_that_ask_each_other_are_asked_once() -> None:
    """Each by two calls: without a memory these were as many ways as two to the number of functions."""
    functions = "".join(f"def f{i}():\n    return f{i - 1}() or f{i - 1}()\n\n\n" for i in range(1, 40))
    head = "import ray.train\n\n\ndef f0():\n    return ray.train.get_context().get_world_rank() == 0\n\n\n"
    module, test = last_test(f"{head}{functions}f39()\n")
    assert asks_for_main(module, test)
    assert asks_for_rank(module, test)


def test_functions_that_give_the_rank_are_asked_once() -> None:
    functions = "".join(
        f"def f{i}(a):\n    if a:\n        return f{i - 1}(a)\n    return f{i - 1}(1)\n\n\n" for i in range(1, 40)
    )
    head = "import ray.train\n\n\ndef f0(a):\n    return ray.train.get_context().get_world_rank()\n\n\n"
    module, test = last_test(f"{head}{functions}f39(1) == 0\n")
    assert asks_for_main(module, test)


def test_a_function_that_calls_itself_gives_no_rank_for_that() -> None:
    module, test = last_test("def f(a):\n    if a:\n        return f(a - 1)\n    return a\n\n\nf(1) == 0\n")
    assert not asks_for_main(module, test)

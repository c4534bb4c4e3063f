"""RM701: keys that a dict gets only below the call that unpacks it, or loses in another branch."""

import ast

import pytest

from raymigrate.base.findings import Kind
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values.keys import taken_out
from tests.rules.scripts import converted

SCRIPT = """
import ray.train
from transformers import TrainingArguments


def loop(config):
    arguments = {made}
{code}
    ray.train.report({{}})
"""
CALL = "args = TrainingArguments(**arguments)"
KEY = "arguments['evaluation_strategy'] = 'epoch'"


def outcome(*lines: str, made: str = "{'output_dir': 'o'}"):
    return converted(SCRIPT.format(made=made, code="\n".join(f"    {line}" for line in lines)))


@pytest.mark.parametrize(
    "below",
    [
        KEY,
        "arguments.update(evaluation_strategy='epoch')",
        "arguments |= {'evaluation_strategy': 'epoch'}",
        "arguments.setdefault('evaluation_strategy', 'epoch')",
    ],
)
def test_a_key_that_is_set_below_the_call_alone_stays(below: str) -> None:
    found = outcome(CALL, below, "print(arguments['evaluation_strategy'])")
    assert below in found.text and "print(arguments['evaluation_strategy'])" in found.text
    assert not found.lines("RM701", Kind.CONVERTED) and not found.lines("RM701", Kind.MANUAL)


@pytest.mark.parametrize(
    "lines",
    [
        (KEY, CALL),
        (CALL, KEY, "again = TrainingArguments(**arguments)"),
        ("for one in range(2):", f"    {CALL}", f"    {KEY}"),
        (KEY, CALL, KEY, "print(arguments['evaluation_strategy'])"),
        ("if config:", f"    {KEY}", CALL),
    ],
)
def test_a_key_that_a_call_gets_is_renamed_at_all_places(lines: tuple[str, ...]) -> None:
    found = outcome(*lines)
    assert "evaluation_strategy" not in found.text and "eval_strategy" in found.text


def test_an_async_loop_comes_round_too() -> None:
    script = (
        "import ray.train\nfrom transformers import TrainingArguments\n\n\nasync def loop(config):\n"
        f"    arguments = {{}}\n    async for one in config:\n        {CALL}\n        {KEY}\n"
    )
    assert "arguments['eval_strategy'] = 'epoch'" in converted(script).text


def test_a_dict_of_the_file_has_the_key_when_the_function_runs_again() -> None:
    script = (
        "import ray.train\nfrom transformers import TrainingArguments\n\narguments = {'output_dir': 'o'}\n\n\n"
        f"def loop(config):\n    {CALL}\n    {KEY}\n"
    )
    assert "arguments['eval_strategy'] = 'epoch'" in converted(script).text


@pytest.mark.parametrize(
    ("code", "is_out"),
    [
        ("d.pop('k')\nuse(**d)", True),
        ("if d.pop('k'):\n    use(**d)", True),
        ("if a:\n    d.pop('k')\n    use(**d)", True),
        ("try:\n    d.pop('k')\nexcept KeyError:\n    pass\nelse:\n    use(**d)", True),
        ("for x in d.pop('k'):\n    use(**d)", True),
        ("if a:\n    d.pop('k')\nelse:\n    use(**d)", False),
        ("if a:\n    pass\nelif b:\n    d.pop('k')\nelse:\n    use(**d)", False),
        ("x = d.pop('k') if a else use(**d)", False),
        ("try:\n    d.pop('k')\nexcept KeyError:\n    use(**d)", False),
        ("try:\n    a()\nexcept KeyError:\n    d.pop('k')\nexcept ValueError:\n    use(**d)", False),
        ("for x in a:\n    d.pop('k')\nelse:\n    use(**d)", False),
        ("match a:\n    case 1:\n        d.pop('k')\n    case _:\n        use(**d)", False),
    ],
)
def test_a_key_is_out_where_the_code_that_takes_it_has_run(code: str, is_out: bool) -> None:
    module = Module(f"d = {{'k': 1}}\n{code}\n")
    call = next(node for node in module.of_type(ast.Call) if ast.unparse(node.func) == "use")
    assert taken_out(module, call.keywords[0].value) == ({"k"} if is_out else set())


@pytest.mark.parametrize(
    ("grows", "now"),
    [
        ("arguments |= {'no_cuda': True}", "arguments |= {'use_cpu': True}"),
        ("arguments |= dict(no_cuda=True)", "arguments |= dict(use_cpu=True)"),
        ("arguments |= {'seed': 1}", "arguments |= {'seed': 1}"),
        ("arguments |= config", "arguments |= config"),
        ("arguments |= {}\n    arguments |= {'no_cuda': True}", "arguments |= {'use_cpu': True}"),
    ],
)
def test_a_dict_that_grows_by_a_union_keeps_what_it_was_made_of(grows: str, now: str) -> None:
    found = outcome(grows, CALL, made="{'output_dir': 'o', 'evaluation_strategy': 'epoch'}")
    assert "arguments = {'output_dir': 'o', 'eval_strategy': 'epoch'}" in found.text and now in found.text
    assert not found.lines("RM701", Kind.MANUAL)


@pytest.mark.parametrize(
    "more",
    ["arguments |= {'eval_strategy': 'no'}", "arguments = config\n    arguments |= {}", "print(arguments | config)"],
)
def test_it_is_told_where_its_dict_is_not_sure(more: str) -> None:
    found = outcome(more, CALL, made="{'output_dir': 'o', 'evaluation_strategy': 'epoch'}")
    assert "'evaluation_strategy'" in found.text or more.startswith("print")

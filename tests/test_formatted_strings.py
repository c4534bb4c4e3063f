"""Edits in the braces of f-strings: Python 3.10 reads the result, whatever quotes stand around it."""

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raymigrate.base.findings import Kind
from raymigrate.edits.plan import Plan
from raymigrate.edits.rewriter import rewrite
from raymigrate.facts.syntax.module import Module
from raymigrate.run.engine import convert
from tests.rules.scripts import converted

QUOTES = ('"', "'", '"""', "'''")


def deeper(text: str) -> str:
    """The text with another expression in place of each name `old`."""
    module, plan = Module(text), Plan()
    for node in module.of_type(ast.Name):
        if node.id == "old":
            plan.replace(node, 'join($old, "it", "b c")', old=node)
    return rewrite(module, plan)


class _Deeper(ast.NodeTransformer):
    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.parse('join(old, "it", "b c")', mode="eval").body if node.id == "old" else node


def same(text: str, after: str) -> bool:
    """Whether a text is what `deeper` has to make of the other one."""
    return ast.dump(_Deeper().visit(ast.parse(text))) == ast.dump(ast.parse(after))


@st.composite
def formatted(draw: st.DrawFn, around: tuple[str, ...] = ()) -> str:
    """An f-string that Python 3.10 reads, with `old` in some of its braces."""
    ends = {quote[0] for quote in around if len(quote) == 1}
    free = [quote for quote in QUOTES if quote not in around and quote[0] not in ends]
    quote = draw(st.sampled_from(free))
    inside = (*around, quote)
    strings = [q for q in QUOTES if q not in inside and not any(len(i) == 1 and i[0] == q[0] for i in inside)]
    codes = ["old", "other", "f(old)", "f(old, other).x", "old:>10", "old!r", "other:{old}", "[old for x in y]"]
    codes += [f"old[{q}key{q}]" for q in strings if len(q) == 1]
    texts = ["", "a ", "{{}} ", "é", "#"] + (["\\n"] if not around else []) + (["\n"] if len(quote) == 3 else [])
    if not around or len(quote) == 3:
        texts += ["'" if quote[0] == '"' and not {"'", "'''"} & set(around) else ""]
    parts = []
    for _ in range(draw(st.integers(1, 3))):
        parts.append(draw(st.sampled_from(texts)))
        nested = len(around) < 2 and strings and draw(st.integers(0, 4)) == 0
        parts.append(f"{{{draw(formatted(inside)) if nested else draw(st.sampled_from(codes))}}}")
    prefix = draw(st.sampled_from(("f", "F", "rf")))
    return f"{prefix}{quote}{''.join(parts)}{quote}"


@settings(max_examples=150, deadline=None)
@given(st.lists(formatted(), min_size=1, max_size=2))
def test_what_is_put_into_braces_is_read_as_it_was_meant(strings: list[str]) -> None:
    text = f"x = 1\ny = g({' '.join(strings)}, old)\n"
    try:
        module = Module(text)
    except SyntaxError:  # the quotes do not fit: what `formatted` makes is a little more than Python 3.10 reads
        return
    if any(module.source(node) != node.id for node in module.of_type(ast.Name)):
        return  # f-strings of several lines in others: before Python 3.12 ast gives their parts other places
    assert same(text, deeper(text)), text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('f"{old}"', "f\"{join(old, 'it', 'b c')}\""),
        ("f'{old}'", 'f\'{join(old, "it", "b c")}\''),
        ('f"""{old}"""', 'f"""{join(old, "it", "b c")}"""'),
        ("f\"{g('a')} {old}\"", "f\"{g('a')} {join(old, 'it', 'b c')}\""),
        ("f\"{f'{old}'}\"", "f\"{f'''{join(old, 'it', 'b c')}'''}\""),
        ('f"a" "b"', 'f"a" "b"'),
        ('f"\\"{old}"', "f\"\\\"{join(old, 'it', 'b c')}\""),
        ('("a" f"{old}")', "(\"a\" f\"{join(old, 'it', 'b c')}\")"),
    ],
)
def test_strings_in_braces_get_the_other_quotes(before: str, after: str) -> None:
    assert deeper(f"x = {before}\n") == f"x = {after}\n"


def test_a_call_in_braces_stays_on_its_line() -> None:
    long, longer = "a" * 60, "b" * 60
    module, plan = Module(f'x = f"{{g({long}, old)}}"\n'), Plan()
    plan.call(module.of_type(ast.Call)[0]).set("new", f'"{longer}"')
    assert rewrite(module, plan) == f"x = f\"{{g({long}, old, new='{longer}')}}\"\n"


def test_no_line_ends_in_braces_where_a_statement_gets_too_long_in_a_function() -> None:
    name = f"""name = f"{"a" * 46}{{sys.argv[0].replace('/', '-')}}{{sys.argv[1].replace('/', '-')}}"\n"""
    assert 117 <= len(name) <= 121  # fits as it stands, and not where it moves to
    text = f"""import sys
from transformers import AutoModel, Trainer, TrainingArguments

{name}trainer = Trainer(AutoModel.from_pretrained("bert"), TrainingArguments(name))
trainer.train()
"""
    outcome = converted(text, to_ray=True, workers=2)
    assert f"    {name}" in outcome.text


HEAD = """
import os
import ray
from ray.air.config import ScalingConfig
from ray.train.huggingface import TransformersTrainer
from transformers import AutoModel
from job import build, train_ds

trainer = TransformersTrainer(build, scaling_config=ScalingConfig(num_workers=2), datasets={"train": train_ds})
result = trainer.fit()
"""
SHOWN = (
    "with result.checkpoint.as_directory() as d:\n    print(f{q}{{os.listdir(d)}}{q})\n",
    "print(f{q}saved to {{result.checkpoint.to_directory()}}{q})\n",
    "with result.checkpoint.as_directory() as d:\n    print(f{q}{{AutoModel.from_pretrained(d).n:,}}{q})\n",
    "for c, m in result.best_checkpoints:\n    print(f{q}{{c.to_directory()}}: {{m}}{q})\n",
)


@pytest.mark.parametrize("shown", SHOWN)
@pytest.mark.parametrize("quotes", QUOTES)
def test_the_folder_of_a_checkpoint_is_found_in_an_f_string(shown: str, quotes: str) -> None:
    outcome = converted(HEAD + shown.format(q=quotes))
    ast.parse(outcome.text)
    assert outcome.lines("RM602", Kind.CONVERTED)
    assert outcome.text.count("checkpoint'") + outcome.text.count('checkpoint"') > 1
    assert convert(outcome.text).after is None

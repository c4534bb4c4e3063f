"""Planned edits, carried out by LibCST: what is not edited stays byte for byte."""

import ast

import pytest

from raymigrate.edits.plan import Code, Plan, RewriteError, StatementEdit
from raymigrate.edits.rewriter import rewrite
from raymigrate.facts.syntax.module import Module
from raymigrate.run.engine import convert


def edited(text: str, change) -> str:
    """Applies what `change(module, plan)` plans."""
    module, plan = Module(text), Plan()
    change(module, plan)
    return rewrite(module, plan)


def first(module: Module, kind: type) -> ast.AST:
    return next(node for node in module.nodes if isinstance(node, kind))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("f(a)\n", "f(a, new=1)\n"),
        ("f()\n", "f(new=1)\n"),
        ("f(\n    a,\n    b,  # why\n)\n", "f(\n    a,\n    b,  # why\n    new=1,\n)\n"),
        ("f(a,\n  b)\n", "f(a,\n  b,\n  new=1)\n"),
        ("x = f(a,)\n", "x = f(a, new=1,)\n"),
    ],
)
def test_a_new_argument_takes_the_layout_of_the_others(before: str, after: str) -> None:
    assert edited(before, lambda module, plan: plan.call(first(module, ast.Call)).set("new", "1")) == after


def test_a_call_that_grows_long_gets_a_line_for_each_argument() -> None:
    text = f"def f():\n    return g({'a' * 50}, {'b' * 50})\n"
    result = edited(text, lambda module, plan: plan.call(first(module, ast.Call)).set("new", "1"))
    assert result == f"def f():\n    return g(\n        {'a' * 50},\n        {'b' * 50},\n        new=1,\n    )\n"


def test_lines_of_an_argument_that_gets_its_own_line_move_with_it() -> None:
    text = f"x = g({'a' * 50}, h(\n    # one\n    1,\n    [\n        2,\n    ],\n), {{\n    3: 4,\n}}, {'b' * 50})\n"
    result = edited(text, lambda module, plan: plan.call(first(module, ast.Call)).set("new", "1"))
    assert result == (
        f"x = g(\n    {'a' * 50},\n    h(\n        # one\n        1,\n        [\n            2,\n        ],\n    ),\n"
        f"    {{\n        3: 4,\n    }},\n    {'b' * 50},\n    new=1,\n)\n"
    )


def test_calls_that_grow_inside_each_other_are_laid_out_as_one() -> None:
    text = f"def f():\n    return g(x, args=h({'a' * 50}), other={'b' * 50})\n"

    def change(module: Module, plan: Plan) -> None:
        outer, inner = module.of_type(ast.Call)
        plan.call(inner).set("new", f"{'c' * 50}")
        plan.call(outer).set("last", "1")

    assert edited(text, change) == (
        f"def f():\n    return g(\n        x,\n        args=h(\n            {'a' * 50},\n            new={'c' * 50},\n"
        f"        ),\n        other={'b' * 50},\n        last=1,\n    )\n"
    )


def test_a_call_on_one_line_is_broken_where_a_call_inside_it_is() -> None:
    text = f"x = f(1, key=g(h({'a' * 50}), b)).fit()\n"
    result = edited(text, lambda module, plan: plan.call(module.of_type(ast.Call)[3]).set("new", f"{'c' * 50}"))
    assert result == (
        "x = f(\n    1,\n    key=g(\n        h(\n"
        f"            {'a' * 50},\n            new={'c' * 50},\n        ),\n        b,\n    ),\n).fit()\n"
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("f(a=1, b=2)\n", "f(a=1)\n"),
        ("f(b=2)\n", "f()\n"),
        ("f(\n    b=2,\n    a=1,\n)\n", "f(\n    a=1,\n)\n"),
        ("f(\n    a=1, b=2,\n    c=3,\n)\n", "f(\n    a=1,\n    c=3,\n)\n"),
        ("f(\n    a=1,\n    # about b\n    b=2,\n    c=3,\n)\n", "f(\n    a=1,\n    c=3,\n)\n"),
        ("f(\n    # about b\n    b=2,  # why b\n    a=1,\n)\n", "f(\n    a=1,\n)\n"),
        ("f(\n    a=1,  # why a\n    # about\n    # b\n    b=2,  # why b\n)\n", "f(\n    a=1,  # why a\n)\n"),
        ("f(\n    a=1,  # why a\n    b=2  # why b\n)\n", "f(\n    a=1  # why a\n)\n"),
        (
            "f(\n    # about a\n    a=1,\n    # b=3,\n    b=2,\n    # the end\n)\n",
            "f(\n    # about a\n    a=1,\n    # b=3,\n    # the end\n)\n",
        ),
        ("f(\n    # all of it\n\n    # about b\n    b=2,\n    a=1)\n", "f(\n    # all of it\n\n    a=1)\n"),
        ("f(\n    b=2, a=1,  # both\n)\n", "f(\n    a=1,  # both\n)\n"),
        ("f(a=1,\n  b=2)\n", "f(a=1)\n"),
        ("f(b=2, a=1, c=3)\n", "f(a=1, c=3)\n"),
        ("f(a=1, b=2, c=3,)\n", "f(a=1, c=3,)\n"),
        ("f(b=2,\n  a=1,\n  c=3)\n", "f(a=1,\n  c=3)\n"),
    ],
)
def test_an_argument_is_taken_away(before: str, after: str) -> None:
    assert edited(before, lambda module, plan: plan.call(first(module, ast.Call)).remove.add("b")) == after


def test_an_edit_inside_a_moved_part_moves_with_it() -> None:
    def change(module: Module, plan: Plan) -> None:
        statement = first(module, ast.Return)
        plan.replace(first(module, ast.Name), "new")
        plan.statement(statement).replacement = Code("x = $value\nuse(x)", {"value": statement.value})

    text = "def f():\n    return [old,  # kept\n            1]  # also kept\n"
    assert edited(text, change) == "def f():\n    x = [new,  # kept\n            1]  # also kept\n    use(x)\n"


def test_a_part_that_is_replaced_comes_out_replaced_and_one_that_is_hoisted_does_not() -> None:
    def change(module: Module, plan: Plan) -> None:
        unwrapped, hoisted = first(module, ast.Tuple).elts
        plan.replace(unwrapped, "$inside", inside=unwrapped.args[0])
        plan.hoist(hoisted, "name")
        code = Code("x = $unwrapped\nname = $hoisted", {"unwrapped": unwrapped, "hoisted": hoisted})
        plan.statement(module.tree.body[0]).before.append(code)

    assert edited("use((f(a), g(b)))\n", change) == "x = a\nname = g(b)\nuse((a, name))\n"


def test_a_value_on_several_lines_gets_brackets_of_its_own() -> None:
    def change(module: Module, plan: Plan) -> None:
        value = first(module, ast.Call).args[0]
        plan.statement(module.tree.body[0]).replacement = Code("x = $value", {"value": value})

    assert edited("f(\n    a\n    if b\n    else c\n)\n", change) == "x = (\n    a\n    if b\n    else c\n)\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("def f():\n    a = 1\n\n    b = 2\n", "def f():\n    b = 2\n"),
        ("def f():\n\n    a = 1\n\n    b = 2\n", "def f():\n\n    b = 2\n"),
        ("def f():\n    # one\n    a = 1\n\n    b = 2\n", "def f():\n    b = 2\n"),
    ],
)
def test_a_block_begins_with_a_blank_line_only_if_it_did(before: str, after: str) -> None:
    def change(module: Module, plan: Plan) -> None:
        plan.statement(first(module, ast.Assign)).removed = True

    assert edited(before, change) == after


def test_a_block_whose_statements_move_keeps_the_blank_line_at_its_start() -> None:
    text = "def f():\n\n    a = 1\n    b(a)\n"

    def change(module: Module, plan: Plan) -> None:
        step = module.statement(first(module, ast.Call))
        plan.statement(first(module, ast.Assign)).replacement = Code("c = 1")
        plan.statement(step).instead.append(Code("if c:\n    $body", blocks={"body": [step]}))

    assert edited(text, change) == "def f():\n\n    c = 1\n    if c:\n        b(a)\n"


def test_the_blank_line_over_an_import_that_goes_stays() -> None:
    def change(module: Module, plan: Plan) -> None:
        statement = module.imports[0]
        plan.drop_import(statement.names[0], statement)

    assert edited("a = 1\n\nimport old\nimport new\n", change) == "a = 1\n\nimport new\n"
    assert edited("a = 1\n\nimport old\n\nb = 1\n", change) == "a = 1\n\nb = 1\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("# why\nimport old\n", "# why\n"),
        ("a = 1\n\n# why\nimport old\n", "a = 1\n\n# why\n"),
        ("a = 1\n# why\nimport old\n# end\n", "a = 1\n# why\n# end\n"),
        (
            "def f():\n    a = 1\n    # why\n\n    import old\n\n\nb = 1\n",
            "def f():\n    a = 1\n    # why\n\n\nb = 1\n",
        ),
        ("try:\n    # why\n    import old\nfinally:\n    b = 1\n", "try:\n    pass\n    # why\nfinally:\n    b = 1\n"),
        ("a = 1\n\nimport old\n", "a = 1\n"),
    ],
)
def test_comments_over_an_import_that_goes_stay_where_nothing_follows(before: str, after: str) -> None:
    def change(module: Module, plan: Plan) -> None:
        statement = module.imports[0]
        plan.drop_import(statement.names[0], statement)

    assert edited(before, change) == after


def test_loose_parts_get_parentheses() -> None:
    def change(module: Module, plan: Plan) -> None:
        call = first(module, ast.Call)
        plan.replace(call, "{**$config}", config=call.args[0])

    assert edited("x = f(a or b)\n", change) == "x = {**(a or b)}\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("import sys\n\nimport ray\n", "import os\nimport sys\n\nimport ray\n"),
        ("import argparse\n\nimport ray\n", "import argparse\nimport os\n\nimport ray\n"),
        ("import ray\n", "import os\n\nimport ray\n"),
        ('"""Text."""\nx = 1\n', '"""Text."""\nimport os\n\nx = 1\n'),
        ("import os\nx = 1\n", "import os\nx = 1\n"),
        (
            "from __future__ import annotations\n\nimport ray\n",
            "from __future__ import annotations\n\nimport os\n\nimport ray\n",
        ),
    ],
)
def test_imports_of_the_standard_library_join_the_others(before: str, after: str) -> None:
    assert edited(before, lambda module, plan: plan.need_import("os")) == after


def test_a_name_joins_an_import_from_the_same_module() -> None:
    text = "from ray.train import RunConfig, ScalingConfig\n"
    result = edited(text, lambda module, plan: plan.need_import("ray.train", "DataConfig"))
    assert result == "from ray.train import DataConfig, RunConfig, ScalingConfig\n"


SHARED = "# above\nx = 1; y = 2; z = 3  # behind\n"


@pytest.mark.parametrize(
    ("edits", "after"),
    [
        ({1: StatementEdit(replacement=Code("y = 1"))}, "# above\nx = 1\ny = 1\nz = 3  # behind\n"),
        ({1: StatementEdit(removed=True)}, "# above\nx = 1\nz = 3  # behind\n"),
        ({2: StatementEdit(before=[Code("y += 1")])}, "# above\nx = 1\ny = 2\ny += 1\nz = 3  # behind\n"),
        ({0: StatementEdit(after=[Code("x += 1")])}, "# above\nx = 1\nx += 1\ny = 2\nz = 3  # behind\n"),
        ({0: StatementEdit(removed=True)}, "# above\ny = 2\nz = 3  # behind\n"),
        ({2: StatementEdit(removed=True)}, "# above\nx = 1\ny = 2\n"),
        ({n: StatementEdit(removed=True) for n in range(3)}, "# above\n"),
        ({0: StatementEdit(before=[Code("w = 0")])}, "# above\nw = 0\nx = 1; y = 2; z = 3  # behind\n"),
    ],
)
def test_statements_that_share_a_line_part_where_others_come_between_or_one_goes(
    edits: dict[int, StatementEdit], after: str
) -> None:
    def change(module: Module, plan: Plan) -> None:
        plan.statements.update({module.tree.body[number]: edit for number, edit in edits.items()})

    assert edited(SHARED, change) == after


def test_an_import_that_goes_from_a_line_that_parts_takes_no_other_with_it() -> None:
    def change(module: Module, plan: Plan) -> None:
        _, statement, last = module.tree.body
        assert isinstance(statement, ast.Import)
        plan.drop_import(statement.names[0], statement)
        plan.statement(last).before.append(Code("x += 1"))

    assert edited("x = 1; import json; y = x\n", change) == "x = 1\nx += 1\ny = x\n"


@pytest.mark.parametrize(("end", "now"), [(";# end", "  # end"), ("; # end", "  # end"), ("  # end", "  # end")])
def test_a_comment_behind_a_semicolon_that_goes_is_set_off(end: str, now: str) -> None:
    def change(module: Module, plan: Plan) -> None:
        plan.statements[module.tree.body[1]] = StatementEdit(before=[Code("w = 0")])

    assert edited(f"x = 1; y = 2{end}\n", change) == f"x = 1\nw = 0\ny = 2{now}\n"


def test_a_statement_behind_a_magic_of_a_notebook_stays_on_its_line() -> None:
    def change(module: Module, plan: Plan) -> None:
        plan.statement(module.tree.body[2]).replacement = Code("y = 1")
        plan.statement(module.tree.body[2]).after.append(Code("z = 3"))

    assert edited("x = 1\n_cell_mask_1__; y = 2;  # Why.\n", change) == "x = 1\n_cell_mask_1__; y = 1;  # Why.\nz = 3\n"


@pytest.mark.parametrize(
    ("line", "new"),
    [
        ("y = 2", "with x:\n    y = 1"),
        ("y = 2", "y = 1\nz = 1"),
        ("y = 2", "y = f(\n    1,\n)"),
        ("y = 2; z = 3", "y = 1"),
    ],
)
def test_what_takes_more_than_the_line_of_a_magic_is_refused(line: str, new: str) -> None:
    def change(module: Module, plan: Plan) -> None:
        plan.statement(module.tree.body[2]).replacement = Code(new)

    with pytest.raises(RewriteError, match="this line holds several statements") as caught:
        edited(f"x = 1\n_cell_mask_1__; {line}\n", change)
    assert caught.value.line == 2


def test_what_comes_around_a_statement_behind_a_magic_comes_around_its_line() -> None:
    def change(module: Module, plan: Plan) -> None:
        edit = plan.statement(module.tree.body[2])
        edit.before.append(Code("x = 0"))
        edit.after.append(Code("z = 3"))

    assert edited("x = 1\n# Why.\n_cell_mask_1__; y = 2\n", change) == (
        "x = 1\nx = 0\n# Why.\n_cell_mask_1__; y = 2\nz = 3\n"
    )


def test_nothing_comes_between_statements_behind_a_magic() -> None:
    def change(module: Module, plan: Plan) -> None:
        plan.statement(module.tree.body[2]).before.append(Code("x = 0"))

    with pytest.raises(RewriteError, match="this line holds several statements"):
        edited("_cell_mask_1__; y = 2; z = 3\n", change)


def test_statements_that_go_take_no_other_with_them() -> None:
    """LibCST makes and frees nodes all the time: what is distinguished by `id()` alone may be another node later on."""
    text = "".join(f"if x:\n    # Why.\n    a = {n}\n    b = g(1, h(2))\nif y:\n    main()\n" for n in range(100))

    def change(module: Module, plan: Plan) -> None:
        for node in module.nodes:
            if isinstance(node, ast.Assign) and node.targets[0].id == "a":
                edit = plan.statement(node)
                edit.removed = edit.comments_stay = True

    assert edited(text, change) == "".join(f"{line}\n" for line in text.splitlines() if "a = " not in line)


@pytest.mark.parametrize(
    "end",
    [
        "    \n    \n",
        "\n    # in f\n  \n",
        "    # in f\n# behind it\n    ",
        "\t\n\x0c\n   # odd",
        "    \r\n  \r\n",
    ],
)
def test_blanks_and_comments_at_the_end_of_a_file_stay(end: str) -> None:
    def change(module: Module, plan: Plan) -> None:
        plan.replace(first(module, ast.Call).func, "new")

    assert edited(f"def f():\n    if x:\n        old()\n{end}", change) == f"def f():\n    if x:\n        new()\n{end}"


@pytest.mark.parametrize("definition", ["def f():\n    pass\n", "class F:\n    a = 1\n"])
def test_edits_in_a_decorator_are_carried_out(definition: str) -> None:
    text = f"@first\n@given(\n    [\n        g(1),\n    ],\n)\n{definition}"
    result = edited(text, lambda module, plan: plan.call(module.of_type(ast.Call)[-1]).set("new", "1"))
    assert result == text.replace("g(1)", "g(1, new=1)")


ARGUMENTS = """from ray import train
from transformers import TrainingArguments

args = TrainingArguments(
    "out",
    evaluation_strategy="steps",  # evaluation_strategy and logging_strategy agree
    no_cuda=not gpu,  # you need to set no_cuda if you want CPUs; see no_cuda_at_all
    # no_cuda above
    learning_rate=1e-3
)
"""


def test_a_comment_behind_an_argument_names_it_as_it_is_called_now() -> None:
    after = str(convert(ARGUMENTS).after)
    assert '    eval_strategy="steps",  # eval_strategy and logging_strategy agree\n' in after
    assert "    use_cpu=not gpu,  # you need to set use_cpu if you want CPUs; see no_cuda_at_all\n" in after
    assert "    # no_cuda above\n" in after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("TrainingArguments('o', **more)", "TrainingArguments('o', average_tokens_across_devices=False, **more)"),
        ("TrainingArguments(a=1, **b, **c,)", "TrainingArguments(a=1, average_tokens_across_devices=False, **b, **c,)"),
        (
            "TrainingArguments(\n        'o',\n        **more,\n    )",
            "TrainingArguments(\n        'o',\n        average_tokens_across_devices=False,\n        **more,\n    )",
        ),
        (
            "TrainingArguments(\n        'o',\n        **more  # the rest\n    )",
            "TrainingArguments(\n        'o',\n        **more,  # the rest\n"
            "        average_tokens_across_devices=False\n    )",
        ),
    ],
)
def test_a_new_argument_comes_before_those_that_are_unpacked(before: str, after: str) -> None:
    script = f"""from ray.train.huggingface import TransformersTrainer
from transformers import Trainer, TrainingArguments


def init(train_dataset, eval_dataset=None, **config):
    args = {before}
    return Trainer(make(), args, train_dataset=read())


trainer = TransformersTrainer(init, scaling_config=scaling)
"""
    assert f"    args = {after}\n" in str(convert(script).after)


LONG_CHAIN = """from functools import partial
from ray.data.preprocessors import BatchMapper
from ray.train.huggingface import TransformersTrainer
from job import clean, encode, init, datasets

trainer = TransformersTrainer(
    init, datasets={{"train": datasets["train"]}}, scaling_config=scaling, preprocessor={preprocessor}
)
"""
PACKED = """from ray.train.huggingface import TransformersTrainer
from transformers import Trainer, TrainingArguments


def init(train_dataset, eval_dataset=None, **config):
    args = TrainingArguments(
        "output", evaluation_strategy="epoch", save_strategy="epoch",{middle}
        learning_rate=config["learning_rate"], num_train_epochs=config["number_of_epochs"]{end}
    )
    return Trainer(make(), args, train_dataset=read())


trainer = TransformersTrainer(init, scaling_config=scaling)
"""


@pytest.mark.parametrize(
    "preprocessor",
    [
        'BatchMapper(partial(encode, "a/rather-long-name-of-a-model", True), batch_format="pandas", batch_size=64)',
        'Chain(BatchMapper(clean, batch_format="pandas"), BatchMapper(partial(encode, "a/rather-long-name-of-a-model",'
        ' True), batch_format="pandas", batch_size=64))',
    ],
)
def test_a_link_of_a_chain_that_is_too_long_gets_a_line_for_each_argument(preprocessor: str) -> None:
    script = LONG_CHAIN.format(preprocessor=preprocessor).replace("BatchMapper\n", "BatchMapper, Chain\n", 1)
    after = str(convert(script).after)
    assert '        partial(encode, "a/rather-long-name-of-a-model", True),\n' in after
    assert max(map(len, after.splitlines())) <= 120


@pytest.mark.parametrize("middle", ["", " warmup_steps=10,"])
@pytest.mark.parametrize("end", ["", ","])
def test_a_new_argument_gets_a_line_where_the_last_one_is_full(middle: str, end: str) -> None:
    after = str(convert(PACKED.format(middle=middle, end=end)).after)
    assert 'config["number_of_epochs"],\n        use_cpu=' in after
    assert f'"cpu",\n        average_tokens_across_devices=False{end}\n    )' in after


JOINED = """\
def f():
    g = make(
        first, second=2, third="{}"
    )
"""


@pytest.mark.parametrize("remove", [(), ("second",)])
def test_a_line_of_arguments_that_a_new_one_fills_gets_a_line_for_each(remove: tuple[str, ...]) -> None:
    module = Module(JOINED.format("x" * 60))
    plan = Plan()
    edit = plan.call(module.of_type(ast.Call)[0])
    edit.set("fourth", "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]")
    edit.remove |= {*remove}
    lines = [line.strip() for line in rewrite(module, plan).splitlines()]
    assert lines[1:] == [
        "g = make(",
        "first,",
        *([] if remove else ["second=2,"]),
        f'third="{"x" * 60}",',
        "fourth=[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11],",
        ")",
    ]
    assert "\n        first,\n" in rewrite(module, plan) and rewrite(module, plan).endswith("\n    )\n")


def test_a_line_of_arguments_with_room_for_a_new_one_stays() -> None:
    module = Module(JOINED.format("x"))
    plan = Plan()
    plan.call(module.of_type(ast.Call)[0]).set("fourth", "4")
    assert '\n        first, second=2, third="x", fourth=4\n    )\n' in rewrite(module, plan)


@pytest.mark.parametrize(
    ("argument", "laid_out"),
    [
        ("config={ITEMS}", "    config={\n        ITEM,\n    },\n"),
        ("config=dict(ITEMS)", "    config=dict(\n        ITEM,\n    ),\n"),
        ("config=[ITEMS]", "    config=[ITEMS],\n"),
    ],
)
def test_an_argument_of_new_code_that_is_too_long_for_a_line_is_broken_too(argument: str, laid_out: str) -> None:
    sign = "=" if "dict" in argument else '": '
    quote = '"' if '"' in sign else ""
    items = [f"{quote}name_{number}{sign}{number}" for number in range(100, 110)]
    filled = argument.replace("ITEMS", ", ".join(items) if "[" not in argument else ", ".join(["100"] * 30))
    expected = laid_out.replace("ITEMS", ", ".join(["100"] * 30)).replace("ITEM", ",\n        ".join(items))
    code = Code(f"trainer = make(function, {filled}, last=1)")
    text = edited("x = 1\n", lambda module, plan: plan.statement(module.tree.body[0]).after.append(code))
    assert text == f"x = 1\ntrainer = make(\n    function,\n{expected}    last=1,\n)\n"


ON_ONE_LINE = "def f(a): g(a); h(a)  # both\n"


@pytest.mark.parametrize(
    ("edit", "after"),
    [
        (StatementEdit(before=[Code("x = 1")]), "def f(a):\n    g(a)\n    x = 1\n    h(a)  # both\n"),
        (StatementEdit(after=[Code("x = 1")]), "def f(a):\n    g(a)\n    h(a)  # both\n    x = 1\n"),
        (StatementEdit(replacement=Code("x = 1")), "def f(a):\n    g(a)\n    x = 1  # both\n"),
        (StatementEdit(removed=True), "def f(a):\n    g(a)\n"),
    ],
    ids=["before", "after", "instead", "nothing"],
)
def test_a_body_on_the_line_of_its_head_becomes_a_block_where_statements_come_and_go(
    edit: StatementEdit, after: str
) -> None:
    def last(module: Module, plan: Plan) -> None:
        plan.statements[first(module, ast.FunctionDef).body[-1]] = edit

    assert edited(ON_ONE_LINE, last) == after


def test_a_body_on_the_line_of_its_head_stays_there_where_only_expressions_change() -> None:
    def call(module: Module, plan: Plan) -> None:
        plan.call(first(module, ast.Call)).set("new", "1")

    assert edited(ON_ONE_LINE, call) == "def f(a): g(a, new=1); h(a)  # both\n"


GONE_ARGUMENT = """from ray.air import ScalingConfig
from ray.train.huggingface.accelerate import AccelerateTrainer

AccelerateTrainer(
    print,
{lines}
    # The workers.
    scaling_config=ScalingConfig(num_workers=2, use_gpu=True),
).fit()
"""


@pytest.mark.parametrize(
    "lines",
    [
        "    # What follows is accelerate's own configuration.\n    accelerate_config={},",
        "    # accelerate's own\n    # configuration\n    accelerate_config={},  # nothing in it",
        "    accelerate_config={},  # accelerate's own",
        "    # accelerate's own\n    accelerate_config={},\n    # accelerate's preprocessor\n    preprocessor=None,",
    ],
)
def test_a_comment_at_an_argument_that_goes_goes_with_it(lines: str) -> None:
    after = str(convert(GONE_ARGUMENT.format(lines=lines)).after)
    kept = (
        "(\n    print,\n    # The workers.\n    scaling_config=ScalingConfig(num_workers=2, use_gpu=True),\n).fit()\n"
    )
    assert after.endswith(f"TorchTrainer{kept}")


@pytest.mark.parametrize(
    ("moved", "after"),
    [
        ([0], "if a:\n    x = 1\ny = 2\n"),
        ([1], "x = 1\nif a:\n    y = 2\n"),
        ([0, 1], "if a:\n    x = 1\n    y = 2\n"),
    ],
)
def test_a_statement_that_moves_leaves_the_others_of_its_line(moved: list[int], after: str) -> None:
    def change(module: Module, plan: Plan) -> None:
        body = [module.tree.body[number] for number in moved]
        plan.statement(body[0]).instead.append(Code("if a:\n    $body", blocks={"body": body}))

    assert edited("x = 1; y = 2\n", change) == after

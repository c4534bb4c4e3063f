"""Which names are read before anything binds them: in the order in which a module runs, not in that of its lines."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raymigrate.facts.syntax.compiling import compile_error, definitions
from raymigrate.facts.syntax.execution import unbound_names
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.newly_unbound import newly_unbound
from tests.rules.scripts import converted


def unbound(text: str) -> list[str]:
    return [node.id for node in unbound_names(Module(text))]


@pytest.mark.parametrize(
    "text",
    [
        "import os\nos.getcwd()\n",
        "def f():\n    return os.getcwd()\nimport os\nf()\n",
        "class A:\n    def f(self):\n        return helper()\ndef helper(): pass\nA().f()\n",
        "def f(x=1, *a, y=2, **k):\n    return x, a, y, k\nf()\n",
        "def outer():\n    def inner():\n        return late\n    late = 1\n    return inner()\n",
        "if a := len('x'):\n    print(a)\n",
        "if __name__ == '__main__':\n    import os\nif __name__ == '__main__':\n    os.getcwd()\n",
        "try:\n    import new as m\nexcept ImportError:\n    import old as m\nm.f()\n",
        "try:\n    import m\nexcept ImportError:\n    raise SystemExit from None\nm.f()\n",
        "if len('x'):\n    y = 1\nelse:\n    raise ValueError\nprint(y)\n",
        "for x in range(3):\n    y = x\nprint(x, y)\n",
        "with open('f') as stream, open(stream.name) as other:\n    print(other)\n",
        "print([x + y for x in [1] for y in [x] if x])\n",
        "x = [1]\nprint([x for x in x])\n",
        "class A:\n    size = 1\n    other = size\n    def f(self, n=size): return n\n",
        "from __future__ import annotations\ndef f(x: Later) -> Later: pass\nclass Later: pass\n",
        "f = lambda x, *y: (x, y)\n",
        "def f():\n    global count\n    count = 1\nf()\nprint(count)\n",
        "from somewhere import *\nprint(whatever)\n",
        "match len('x'):\n    case 1 as n:\n        print(n)\n    case _:\n        n = 2\nprint(n)\n",
        "import ray.train\nray.train.report({})\n",
        "def f():\n    return g()\ndef g():\n    return f()\nf()\n",
        "raise SystemExit('not yet')\nimport os\ndef f():\n    return os.getcwd()\nf()\n",
        "import sys\nsys.exit()\nimport os\nclass A:\n    def f(self): return os\n",
        "if len('x'):\n    raise ValueError\nelse:\n    exit(1)\nimport os\ndef f(): return os\n",
        "def f():\n    return 1\n    import os\n    def g(): return os\nf()\n",
        "for x in range(3):\n    continue\n    y = x\n    print(y)\n",
        "import sys\ntry:\n    import m\nexcept ImportError:\n    sys.exit('pip install m')\nm.f()\n",
        "from sys import exit as stop\nif len('x'):\n    y = 1\nelse:\n    stop()\nprint(y)\n",
        "import os\nif len('x'):\n    y = 1\nelse:\n    os._exit(1)\nprint(y)\n",
        "def f():\n    return x\ng = f\nx = 1\ng()\n",
        "def f():\n    return x\ng = f\ndel f\nx = 1\ng()\n",
        "def f():\n    return x\ng = {'f': f}\nx = 1\ng['f']()\n",
        "class A:\n    def f(self):\n        return x\ng = [('a', A)]\nx = 1\ng[0][1]().f()\n",
        "def f(): pass\nf()\nimport os\ndef f():\n    return os.getcwd()\nf()\n",
        "def f(flag):\n    if flag:\n        import os\n    if flag:\n        os.getcwd()\nf(True)\n",
        "def f():\n    return x\nf.__name__ = 'g'\nx = 1\nf()\n",
        "def f(a):\n    if a:\n        import os\n    for x in 'x':\n        if a:\n            os.sep\nf(1)\n",
    ],
)
def test_what_is_bound_in_time_is_no_finding(text: str) -> None:
    assert unbound(text) == []


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("os.getcwd()\nimport os\n", ["os"]),
        ("class A(torch.Module): pass\nimport torch\n", ["torch"]),
        ("def f():\n    return os.getcwd()\nf()\nimport os\n", ["os"]),
        ("def f():\n    return g()\ndef g():\n    return os\nrun(f)\nimport os\n", ["run", "os"]),
        ("class A:\n    def f(self):\n        return os\nA()\nimport os\n", ["os"]),
        ("def f(x=size): pass\nsize = 1\n", ["size"]),
        ("def f(x: Later): pass\nclass Later: pass\n", ["Later"]),
        ("@later\ndef f(): pass\ndef later(f): return f\n", ["later"]),
        ("def f():\n    print(x)\n    x = 1\nx = 2\nf()\n", ["x"]),
        ("if len('x'):\n    y = 1\nprint(y)\n", ["y"]),
        ("try:\n    import m\nexcept ImportError:\n    pass\nm.f()\n", ["m"]),
        ("import os\ndel os\nos.getcwd()\n", ["os"]),
        ("raise SystemExit\nos.getcwd()\nimport os\n", ["os"]),
        ("if len('x'):\n    y = 1\nelse:\n    log.exit()\nprint(y)\n", ["log", "y"]),
        ("total += 1\n", ["total"]),
        ("def f():\n    return nowhere\n", ["nowhere"]),
        ("from somewhere import *\nprint(late, other)\nlate = 1\n", ["late"]),
        ("x: int\nprint(x)\n", ["x"]),
        ("def f():\n    return x\ng = f\nh = g\nh()\nx = 1\n", ["x"]),
        ("g = f\ndef f(): pass\n", ["f"]),
        ("def f():\n    return x\ng = {'f': f}\ng['f']()\nx = 1\n", ["x"]),
        ("class A:\n    def f(self):\n        return x\ng = h = [(1, A)]\nprint(h)\nx = 1\n", ["x"]),
        ("g = [f]\ndef f(): pass\n", ["f"]),
        ("def f():\n    return x\ndef main():\n    g = f\n    g()\nmain()\nx = 1\n", ["x"]),
        ("try:\n    pass\nexcept Later as error:\n    print(error)\nclass Later(Exception): pass\n", ["Later"]),
        ("def f():\n    return x\ng = [f()]\nx = 1\n", ["x"]),
        ("def f():\n    def g():\n        return x\n    g()\n    x = 1\nf()\n", ["x"]),
        ("def f():\n    return os\nf()\nimport os\ndef f(): pass\nf()\n", ["os"]),
        ("def f(a, b):\n    if a:\n        import os\n    if b:\n        os.getcwd()\nf(1, 1)\n", ["os"]),
        ("def f(a):\n    if a:\n        import os\n    a = 1\n    if a:\n        os.getcwd()\nf(0)\n", ["os"]),
        ("def f(a):\n    if a:\n        pass\n    else:\n        x = 1\n    if a:\n        print(x)\nf(1)\n", ["x"]),
    ],
)
def test_a_name_that_is_read_too_early_is_found(text: str, names: list[str]) -> None:
    assert unbound(text) == names


def test_no_star_import_brings_in_what_the_module_bound_itself_before_it_was_changed() -> None:
    module = Module("from somewhere import *\nprint(device, other)\n")
    assert [node.id for node in unbound_names(module, {"device"})] == ["device"]


def test_a_name_that_an_if_bound_is_missed_where_nothing_binds_it_any_more() -> None:
    before = Module("if ready():\n    import os\n\n\ndef f():\n    return os.getcwd()\n\n\nready = f()\n")
    after = Module("def g():\n    import os\n\n\ndef f():\n    return os.getcwd()\n\n\nready = f()\n")
    assert newly_unbound(before, before) == set()
    assert newly_unbound(before, after) == {"os"}


TRIED = "try:\n    {}\nexcept ImportError:\n    pass\n\n\ndef f():\n    return {}\n\n\nready = f()\n"


@pytest.mark.parametrize(
    ("after", "names"),
    [
        (TRIED.format("import ray.train", "ray.train.report"), set()),  # of a package that was tried before
        (TRIED.format("import torch", "torch.nn"), {"torch"}),
        (
            "def g():\n    try:\n        import ray.train\n    except ImportError:\n        pass\n\n\n"
            "def f():\n    return ray.train.report\n\n\nready = f()\n",
            {"ray"},
        ),
    ],
)
def test_a_tried_import_may_fail_as_one_of_its_package_did_before(after: str, names: set[str]) -> None:
    before = Module(TRIED.format("from ray.air import session", "session.report"))
    assert newly_unbound(before, Module(after)) == names


@given(st.permutations(["import os\n", "a = os.sep\n", "b = a\n", "def f(): return b\n", "f()\n"]))
@settings(max_examples=120, deadline=None)
def test_the_answer_is_that_of_python(parts: list[str]) -> None:
    text = "".join(parts)
    try:
        exec(compile(text, "script.py", "exec"), {})
    except NameError as error:
        assert error.name in unbound(text)
    else:
        assert unbound(text) == []


def test_deep_expressions_need_no_recursion() -> None:
    assert unbound(f"x = {'-' * 90}late\n") == ["late"]
    assert unbound("x = 0" + " + 1" * 400 + " + late\n") == ["late"]


@pytest.mark.parametrize(
    "stop",
    [
        "raise SystemExit('moved to train2.py')\n",
        "import sys\nsys.exit()\n",
        "if len('x'):\n    raise RuntimeError('too old')\nelse:\n    quit()\n",
    ],
)
def test_a_script_that_stops_before_its_job_is_converted(stop: str) -> None:
    assert "class ReportCallback" in converted(f"{stop}\n{TRAINING}").text


TRAINING = """\
from ray.air import ScalingConfig
from ray.train.huggingface import TransformersTrainer
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments


def build(train_dataset, eval_dataset=None, **config):
    model = AutoModelForCausalLM.from_pretrained("gpt2")
    return Trainer(model=model, args=TrainingArguments("out"), train_dataset=train_dataset)


TransformersTrainer(build, scaling_config=ScalingConfig(num_workers=2), datasets={"train": rows}).fit()
"""


TWICE = "def f(a, a):\n    pass\n"


@pytest.mark.parametrize(
    "text",
    [
        TWICE,
        f"x = 1\n{TWICE}",
        "@f\nclass A:\n    return 1\n",
        "x = 1\nreturn x\n",
        f"from __future__ import a\n{TWICE}",
    ],
)
def test_what_does_not_compile_is_found(text: str) -> None:
    assert compile_error(Module(text))
    assert compile_error(Module(text), definitions(Module("def g():\n    pass\n")))


def test_definitions_that_were_there_before_are_not_compiled_again() -> None:
    known = definitions(Module(TWICE))
    assert not compile_error(Module(f"import os\n{TWICE}"), known)
    assert compile_error(Module(f"@f\n{TWICE}"), known)  # another one
    assert compile_error(Module(f"if x:\n    {TWICE.replace('pass', '    pass')}"), known)
    assert compile_error(Module(f"{TWICE}from __future__ import annotations\n"), known)


def test_only_functions_and_classes_at_the_top_are_known() -> None:
    text = "x = 1\n@f\ndef g(): pass\nclass A:\n    def h(): pass\n"
    assert definitions(Module(text)) == {"@f\ndef g(): pass\n", "class A:\n    def h(): pass\n"}

"""What a value can come from is asked in one place, whatever the spelling."""

import ast

import pytest

from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import all_items, constant, leading_text, origins, reaching, seen_items


def last(text: str, kind: type[ast.AST] = ast.Call) -> tuple[Module, ast.expr]:
    """The module, and the first argument of the last call `f(...)` in it."""
    module = Module(text)
    calls = [n for n in module.of_type(ast.Call) if isinstance(n.func, ast.Name) and n.func.id == "f"]
    return module, calls[-1].args[0]


def comes_from(text: str) -> list[str]:
    module, node = last(text)
    return [ast.unparse(source.node) for source in origins(module, node)]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("x = 1\nx = 2\nf(x)", [2]),
        ("x = 1\nif a:\n  x = 2\nf(x)", [1, 3]),
        ("if a:\n  x = 1\nelse:\n  x = 2\nf(x)", [2, 4]),
        ("if a:\n  x = 1\nelse:\n  raise E\nx and f(x)", [2]),
        ("x = 1\nif a:\n  x = 2\n  raise E\nf(x)", [1]),
        ("x = 1\nx = f(x)", [1]),
        ("x = 1\nfor i in y:\n  f(x)\n  x = 2", [1, 4]),
        ("x = 1\nfor x in y:\n  f(x)\n  x = 2", [2]),
        ("x = 1\nfor i in y:\n  x = 2\nelse:\n  f(x)", [1, 3]),
        ("x = 1\nwhile f(x):\n  x = 2", [1, 3]),
        ("x = 1\ndef g():\n  f(x)\nx = 2", [1, 4]),
        ("x = 1\ng = lambda: f(x)\nx = 2", [1, 3]),
        ("x = 1\nx = 2\ndef g():\n  f(x)", [2]),
        ("x = 1\nif a:\n  x = 2\ndef g():\n  def h():\n    f(x)", [1, 3]),
        ("x = 1\nfor i in y:\n  x = 2\n  def g():\n    f(x)", [1, 3]),
        ("def h():\n  global x\n  x = 1\nx = 2\ndef g():\n  f(x)", [3, 4]),
        ("x = 1\n[f(x) for y in z]\nx = 2", [1]),
        ("x = 1\nclass A:\n  f(x)\nx = 2", [1]),
        ("def g(x=None):\n  x = x or 2\n  f(x)", [2]),
        ("x = 1\ndef g():\n  global x\n  x = 2\nx = 3\nf(x)", [1, 4, 5]),
        ("try:\n  import x\nexcept E:\n  x = None\nf(x)", [2, 4]),
        ("x = 0\ntry:\n  x = 1\nexcept E:\n  f(x)", [1, 3]),
        ("x = 0\ntry:\n  x = 1\nexcept E:\n  raise\nelse:\n  f(x)", [3]),
        ("x = 0\ntry:\n  x = 1\nfinally:\n  f(x)", [1, 3]),
        ("x = 0\nwith o() as x:\n  f(x)", [2]),
        ("x: int\nx = 1\nf(x)", [2]),
        ("def x(): pass\ndef x(): pass\nf(x)", [2]),
        ("x = 0\nif (x := 1):\n  pass\nf(x)", [2]),  # a test is always carried out
        ("x = 0\nif y and (x := 1):\n  pass\nf(x)", [1, 2]),
        ("x = 0\nif (x := 1) and y:\n  pass\nf(x)", [2]),
        ("x = 0\n(x := 1)\nf(x)", [2]),
        ("x = 0\n(x := f(x))", [1]),
        ("x = 0\nwhile (x := f(x)): pass", [1, 2]),
        ("x = 0\n[(x := f(x)) for y in z]", [1, 2]),
        ("x = 0\nassert y, (x := 1)\nf(x)", [1, 2]),
        ("x = 0\ng(x := 1, f(x))", [1, 2]),
        ("x = 0\nif True:\n  x = 1\nf(x)", [3]),
        ("x = 0\nif TYPE_CHECKING:\n  x = 1\nelse:\n  x = 2\nf(x)", [5]),
        ("match y:\n  case x:\n    f(x)\nx = 0", [2]),
        ("x = 0\nmatch y:\n  case x if f(x): pass", [1, 3]),
        ("x = 0\nmatch y:\n  case [x, 1]: pass\n  case _: f(x)", [1, 3]),
        ("x = 0\nif (x := 1):\n  f(x)", [2]),
        ("x = 0\nfor y in (x := 1):\n  f(x)", [2]),
        ("x = 0\nfor y in (x := 1):\n  f(x)\n  x = 2", [2, 4]),
        ("x = 0\nfor y in z or (x := 1):\n  f(x)", [1, 2]),
        ("x = 0\nmatch y:\n  case 1 if (x := 1): f(x)", [3]),
        ("x = 0\nwhile y or (x := 1):\n  f(x)", [1, 2]),
        ("x = 0\ntry:\n  x = 1\nexcept f(x): pass", [1, 3]),
        ("x = 0\nwith f(x) as x: pass", [1]),
        ("x = 0\nwith y as x, f(x): pass", [1, 2]),
        ("x = 0\nif y:\n  x = 1\n  if z: raise E\n  else: raise E\nf(x)", [1]),
    ],
)
def test_a_use_sees_the_bindings_that_reach_it(text: str, lines: list[int]) -> None:
    module, node = last(text)
    assert isinstance(node, ast.Name)
    assert [binding.node.lineno for binding in reaching(module, node)] == lines  # type: ignore[attr-defined]


FIELD = (
    "from dataclasses import field\nfrom transformers import HfArgumentParser\nclass A:\n  x: int = field(default=1)\n"
)
FIELD_READ = [  # the rest of the module, and what is read of an object that may hold another value
    ("def g(a: A): f(a.x)", "a.x"),
    ("def g(config):\n  a: A = config['a']\n  f(a.x)", "a.x"),
    ("a = HfArgumentParser(A).parse_args_into_dataclasses()[0]\nf(a.x)", "a.x"),
    ("p = HfArgumentParser([B, A])\nb, a = p.parse_args_into_dataclasses()\nf(a.x)", "a.x"),
    ("p = HfArgumentParser((A, B))\nif y:\n  a, b = p.parse_json_file(y)\nf(a.x)", "a.x"),
    ("(a,) = HfArgumentParser(dataclass_types=A).parse_dict({})\nf(a.x)", "a.x"),
    (
        "p = HfArgumentParser(A)\nclass C:\n  def __init__(self): self.a = p.parse_dict(d)[0]\n"
        "  def g(self): f(self.a.x)",
        "self.a.x",
    ),
]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a = 1\nb = a\nf(b)", ["1"]),
        ("a, b = 1, 2\nf(b)", ["2"]),
        ("f(1 if a else 2)", ["1", "2"]),
        ("f(a or 2)", ["a", "2"]),
        ("def g(x): f(x)\ng(1)\ng(x=2)", ["1", "2"]),
        ("def g(x=3): f(x)\ng()\ng(1)", ["3", "1"]),
        ("def g(x): f(x)", ["x"]),
        ("def g(x=3): f(x)", ["3", "x"]),
        ("def g(x): f(x)\nother(g)", ["x"]),
        ("def g(x): f(x)\ng(1)\ng(*a)", ["1", "x"]),
        ("def g(): return h(1)\nf(g())", ["h(1)"]),
        ("g = lambda: 1\nf(g())", ["1"]),
        ("(lambda a, /, b: f(b))(1, 2)", ["2"]),
        ("(lambda a, /, b=3: f(a))(1, 2)", ["1"]),
        ("(lambda a, b=3: f(b))(1, b=2)", ["2"]),
        ("(lambda a, b=3: f(b))(1)", ["3"]),
        ("def g():\n  if a:\n    return 1\n  return 2\nf(g())", ["1", "2"]),
        ("def g():\n  yield 1\nf(g())", ["g()"]),
        ("class C:\n  x = 1\nf(C.x)", ["1"]),
        ("class C(B):\n  x = 1\nf(C.x)", ["1", "C.x"]),
        ("class C:\n  x: int = 1\nc = C(x=2)\nf(c.x)", ["2"]),
        ("class C:\n  x: int = 1\nf(C().x)", ["1"]),
        ("class C:\n  x: int = 1\ndef g(c: C): f(c.x)", ["1", "c.x"]),
        ("class C:\n  x: int = 1\nc = C()\nc.x = 3\nf(c.x)", ["3", "1"]),
        ("class C:\n  def __init__(self, x): self.x = x\n  def g(self): f(self.x)\nC(1)\nC(2)", ["1", "2"]),
        ("class C:\n  x = 1\n  def g(self): return self.x\nc = C()\nf(c.g())", ["1"]),
        ("class C:\n  def g(self): return 1\ndef h(c: C): f(c.g())", ["1"]),
        ("class C:\n  @property\n  def x(self): return 1\nf(C().x)", ["1"]),
        ("for a, b in [(1, 2), (3, 4)]: f(b)", ["2", "4"]),
        ("pairs = ((1, 2), [3, 4])\n[f(a) for a, b in pairs]", ["1", "3"]),
        ("for a, b in [(1, 2), (3,)]: f(b)", ["b"]),
        ("for a, *b in [(1, 2), (3, 4)]: f(b)", ["b"]),
        ("for a, b in [(1, 2), c]: f(b)", ["b"]),
        ("pairs = [(1, 2)]\npairs.append((3, 4))\nfor a, b in pairs: f(b)", ["b"]),
        ("class C:\n  x = 1\n  def g(self): f(self.x)\nclass D(C):\n  x = 2", ["1", "2"]),
        ("class C:\n  def g(self): f(self.x)\nclass D(C):\n  def h(self): self.x = 1", ["1", "self.x"]),
        (
            "class C:\n  x = None\n  def g(self): f(self.x)\nclass D(C):\n  @property\n  def x(self): ...",
            ["None", "self.x"],
        ),
        ("class M:\n  def g(self): f(self.x)\nclass C:\n  x = 1\nclass D(C, M): pass", ["1", "self.x"]),
        ("class C:\n  x = 1\nclass D(B, C):\n  def g(self): f(self.x)", ["1", "self.x"]),
        ("class C:\n  x = 1\nclass D(C):\n  x = 2\nf(C().x)", ["1"]),
        ("class C:\n  x = 1\n  def g(self): f(self.x)\nclass D(B):\n  x = 2", ["1"]),
        (
            "class C:\n  def m(self): return 1\n  def g(self): f(self.m())\nclass D(C):\n  def m(self): return 2",
            ["1", "2"],
        ),
        ("class C:\n  def m(self): raise E\n  def g(self): f(self.m())\nclass D(C):\n  def m(self): return 2", ["2"]),
        (
            "class C:\n  def m(self): raise E\n  def g(self): f(self.m())\nclass D(B):\n  def m(self): return 2",
            ["self.m()"],
        ),
        ("class C:\n  @cached\n  def g(self): return 1\nf(C().g())", ["C().g()"]),
        (
            "from argparse import *\np = ArgumentParser()\np.add_argument('-x', '--the-x', default=1)\n"
            "a = p.parse_args()\nf(a.the_x)",
            ["1", "a.the_x"],
        ),
        ("import argparse\na = argparse.Namespace(x=1)\nf(a.x)", ["1"]),
        ("import os\nf(os.environ.get('X', 1))", ["1", "os.environ.get('X', 1)"]),
        ("d = {'x': 1}\nf(d['x'])", ["1"]),
        ("d = {'x': 1}\nf(d.get('x', 2))", ["1"]),
        ("d = {'x': 1}\nd['x'] = 2\nf(d['x'])", ["2"]),
        ("d = {'x': 1}\nif a:\n  d['x'] = 2\nf(d['x'])", ["d['x']"]),
        ("d = {'x': 1}\nd.update(x=2)\nf(d['x'])", ["2"]),
        ("d = dict(x=1)\ne = {**d, 'y': 2}\nf(e['x'])", ["1"]),
        ("from functools import cache\n@cache\ndef g(): return 1\nf(g())", ["1"]),
        ("import ray\n@ray.remote\ndef g(): return 1\nf(ray.get(g.remote()))", ["1"]),
        ("import ray\ndef g(): return 1\nf(ray.get(ray.remote(g).remote()))", ["1"]),
        ("t = (1, 2)\nf(t[1])", ["2"]),
        ("for x in (1, 2): f(x)", ["1", "2"]),
        ("import pytest\n@pytest.mark.parametrize('x', [1, 2])\ndef test(x): f(x)", ["1", "2"]),
        (
            "import pytest\n@pytest.mark.parametrize('a, x', [(1, 2), pytest.param(3, 4)])\ndef test(a, x): f(x)",
            ["2", "4"],
        ),
        ("import pytest\n@pytest.mark.parametrize(('x', 'a'), [(1, 2), c])\ndef test(a, x): f(x)", ["1", "x"]),
        ("import pytest\n@pytest.mark.parametrize('a', [1])\ndef test(a, x): f(x)", ["x"]),
        ("import pytest\n@pytest.mark.parametrize('x', cases())\ndef test(x): f(x)", ["x"]),
        ("t = [1, 2]\n[f(x) for x in t]", ["1", "2"]),
        ("t = [1]\nt.append(2)\nfor x in t: f(x)", ["x"]),
        (
            "from ray.train.torch import TorchTrainer\ndef g(config): f(config['x'])\n"
            "TorchTrainer(g, train_loop_config={'x': 1})",
            ["1"],
        ),
        (
            "from ray.train.torch import TorchTrainer\ndef g(config, /): f(config['x'])\n"
            "TorchTrainer(g, train_loop_config={'x': 1})",
            ["1"],
        ),
        (
            "from ray.train.torch import TorchTrainer\ndef g(*, x): f(x)\nTorchTrainer(g, train_loop_config={'x': 1})",
            ["1"],
        ),
        ("class A:\n  def __init__(self, /):\n    self.x = 1\n  def g(self): f(self.x)", ["1"]),
        (
            "from ray.train.huggingface import TransformersTrainer\ndef g(a, b, **config): f(config.get('x', 0))\n"
            "TransformersTrainer(trainer_init_per_worker=g, trainer_init_config={'x': 1})",
            ["1"],
        ),
        (
            "from ray.train.torch import TorchTrainer\nfrom ray.tune import Tuner\ndef g(config): f(config['x'])\n"
            "Tuner(TorchTrainer(g, train_loop_config={'x': 1}))",
            ["1"],
        ),
        (
            "from ray.train.torch import TorchTrainer\nfrom ray.tune import Tuner\ndef g(config): f(config['x'])\n"
            "Tuner(TorchTrainer(g, train_loop_config={'x': 1}), param_space=space())",
            ["1", "config['x']"],
        ),
        *((f"{FIELD}{text}", ["1", end]) for text, end in FIELD_READ),
        (f"{FIELD}f(A().x)", ["1"]),
        (f"{FIELD}f(A(x=2).x)", ["2"]),
        ("from dataclasses import field\nclass A:\n  x: list = field(default_factory=list)\nf(A().x)", ["A().x"]),
        ("from dataclasses import field\nclass A:\n  x: list = field(default_factory=lambda: [1])\nf(A().x)", ["[1]"]),
        ("from dataclasses import field\nclass A:\n  x: list = field(default_factory=lambda: [1])\nf(A(x=2).x)", ["2"]),
        (f"{FIELD}f(A(**y).x)", ["1", "A(**y).x"]),
        (f"{FIELD}f(A(x=2, **y).x)", ["2"]),
        (f"{FIELD}f(A(*y).x)", ["1", "A(*y).x"]),
        (f"{FIELD}  @classmethod\n  def read(cls):\n    return cls(**y)\nf(A.read().x)", ["1", "A.read().x"]),
        ("from pydantic import Field\nclass A:\n  x: int = Field(1, gt=0)\nf(A().x)", ["1"]),
        ("from pydantic import Field\nclass A:\n  x: int = Field(gt=0)\nf(A().x)", ["A().x"]),
        (
            "class C:\n  size = load()\nclass A:\n  held: C\n  def g(self):\n    f(self.held.size)",
            ["load()", "self.held.size"],
        ),
    ],
)
def test_a_value_comes_from_expressions_or_is_unknown(text: str, found: list[str]) -> None:
    assert comes_from(text) == found


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("a = 1\nf({'x': a})", {"x": 1}),
        ("a = 'b'\nf(f'{a}-c')", "b-c"),
        ("f(f'{a}-c')", ...),
        ("a = 'b'\nf(a + '/c')", "b/c"),
        ("import os\na = 'b'\nf(os.path.join(a, 'c'))", "b/c"),
        ("from pathlib import Path\nf(str(Path('/b') / 'c'))", "/b/c"),
        ("f(not True)", False),
        ("f(-1)", -1),
        ("a = 1\na = 2\nf(a)", 2),
        ("if b:\n  a = 1\nelse:\n  a = 1\nf(a)", 1),
        ("if b:\n  a = 1\nelse:\n  a = 2\nf(a)", ...),
        ("if b:\n  a = 1\nelse:\n  a = True\nf(a)", ...),
        ("a = []\nf(a)", []),
        ("a = []\na.append(1)\nf(a)", ...),
        ("a = {}\na['x'] = 1\nf(a)", {"x": 1}),
        ("a = {'y': 2}\nfor x in z:\n  a[x] = 1\nf(a)", ...),
        ("for a in b:\n  f(a)", ...),
        ("a = a\nf(a)", ...),
        ("def g(x):\n  return g(x)\nf(g(1))", ...),
        ("f(1 / 0)", ...),
        ("f('a' * 10**9)", ...),
    ],
)
def test_a_constant_is_known_only_where_nothing_else_is_possible(text: str, known: object) -> None:
    module, node = last(text)
    assert constant(module, node) == known


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("f('/mnt/a')", "/mnt/a"),
        ("f(f'/mnt/{u}')", "/mnt/"),
        ("a = f'/mnt/{u}'\nf(a + '/b')", "/mnt/"),
        ("import os\nf(os.path.join('/mnt', u))", "/mnt"),
        ("from pathlib import Path\nf(Path('/mnt') / u)", "/mnt"),
        ("f('/mnt/{}'.format(u))", "/mnt/"),
        ("f('/mnt/%s' % u)", "/mnt/"),
        ("a = '/mnt'\nf(f'{a}/{u}')", "/mnt"),
        ("f(f'{u}/a')", ""),
        ("f(u)", ""),
    ],
)
def test_the_start_of_a_text_is_known_although_the_rest_is_not(text: str, start: str) -> None:
    module, node = last(text)
    assert leading_text(module, node) == start


@pytest.mark.parametrize(
    "text",
    [
        "x = first\nwhile x:\n  x = x.parent\nf(x)",
        "class C:\n  def g(self):\n    self.x = self.x.x\n    f(self.x)",
        "def g(a): return h(a)\ndef h(a): return g(a)\nf(g(1))",
        "d = {}\nd = {'x': d['x']}\nf(d['x'])",
        "x = 0\n" + "".join(f"x{n} = x{n - 1 if n else ''}.a.get('b')['c']\n" for n in range(400)) + "f(x399)",
        "def g(a, b): return g(b.a, a.b)\nf(g(g(g(1, 2), 3), g(4, g(5, 6))))",
        "x = a.b.c\nfor i in y:\n  x = x.b(x.c)(x.d).get('e', x)\nf(x)",
    ],
)
def test_values_that_lead_round_in_circles_or_far_away_are_unknown(text: str) -> None:
    module, node = last(text)
    assert constant(module, node) is ...
    assert origins(module, node)


@pytest.mark.parametrize(
    "text", ["d = {**d}\nf(d)", "a = {**b}\nb = {**a}\nf(b)", "d = dict(d)\nf(d)", "d = d + [1]\nf(d)"]
)
def test_dicts_and_lists_made_of_themselves_are_unknown(text: str) -> None:
    module, node = last(text)
    assert module.entries(node) is None
    assert len(seen_items(module, node)) <= 1


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("f(['a', 'b'])", ["a", "b"]),
        ("x = ['a']\nx.append('b')\nx.extend(['c'])\nf(x)", ["a", "b", "c"]),
        ("x = ['a']\nf([*x, 'b'] + y + ['c'])", ["a", "b", "c"]),
        ("x = list()\nx.insert(0, 'a')\nx[0] = 'b'\nx[1:] = ['c']\nf(x)", ["a", "b", "c"]),
        ("class A:\n  x = ['a']\n  def b(self):\n    self.x += ['b']\n    f(self.x)", ["a", "b"]),
        ("class A:\n  x: list = []\ndef b(a):\n  a.x.append('a')\nf(A().x)", ["a"]),
        ("class A:\n  x = []\n  def b(self):\n    x = self.x\n    x.extend(['a'])\n    f(self.x)", ["a"]),
    ],
)
def test_the_items_of_a_list_are_seen_although_there_may_be_more(text: str, found: list[str]) -> None:
    module, node = last(text)
    assert [module.constant(item) for item in seen_items(module, node)] == found
    assert (all_items(module, node) is None) == ("+ y" in text)


@pytest.mark.parametrize(
    "text",
    [
        "x = []\nx.extend(y)\nf(x)",
        "x = [*y]\nf(x)",
        "x = y\nf(x)",
        "class A:\n  def __init__(self, y):\n    self.x = []\n    self.x += y\n    f(self.x)",
    ],
)
def test_a_list_may_hold_items_that_are_not_seen(text: str) -> None:
    module, node = last(text)
    assert all_items(module, node) is None


@pytest.mark.parametrize(
    "filled",
    ["self.x.append(1)", "self.x += [1]", "self.x[0] = 1", "y = self.x; y.append(1)", "A().x.insert(0, 1)"],
)
def test_an_attribute_that_gets_items_is_not_the_empty_list_that_it_starts_as(filled: str) -> None:
    text = f"class A:\n  def __init__(self):\n    self.x = []\n  def b(self):\n    {filled}\n    f(self.x)"
    module, node = last(text)
    assert constant(module, node) is ...
    module, node = last(text.replace(filled, "print(self.x)"))
    assert constant(module, node) == []


def test_methods_that_call_each_other_are_followed_only_so_far() -> None:
    names = [f"m{number}" for number in range(9)]
    body = "\n    ".join(f"if {name}: return self.{name}().{name}()" for name in names)
    methods = "".join(f"  def {name}(self):\n    {body}\n" for name in names)
    module, node = last(f"class A:\n{methods}f(A().m0())")
    assert origins(module, node)
    assert module.asked.steps < 1000  # there are more than 9 ** 6 ways


@pytest.mark.parametrize(
    ("read", "found"),
    [
        ("self.x = 2\nf(self.x)", ["2"]),
        ("self.x = 2\nself.y = 3\nif a:\n  f(self.x)", ["2"]),
        ("self.x: int = 2\nprint(self.x)\nf(self.x)", ["2"]),
        ("self.x: int = 2\nself.w.run()\nf(self.x)", ["1", "2"]),
        ("self.x = 2\nos.makedirs(a)\nf(self.x)", ["2"]),
        ("self.x = 2\nown.swap()\nf(self.x)", ["1", "2"]),
        ("self.x = 2\nfor h in self.hooks:\n  h()\nf(self.x)", ["1", "2"]),
        ("def swap():\n  self.x = 3\nself.x = 2\nswap()\nf(self.x)", ["1", "3", "2"]),
        ("self.x = 2\nfor i in y:\n  f(self.x)", ["2"]),
        ("self.x = 2\ny = 3\nf(self.x)", ["2"]),
        ("self.x = 2\ntry:\n  f(self.x)\n  h()\nexcept E:\n  pass", ["2"]),
        ("self.x = 2\nsetattr(self, 'x', 3)\nf(self.x)", ["1", "2"]),
        ("self.x = 2\nd[h(), f(self.x)] = 3", ["1", "2"]),
        ("self.x = 2\nself.h(f(self.x))", ["2"]),
        ("self.x = 2\nself.x = f(self.x)", ["2"]),
        ("if a:\n  self.x = 2\nf(self.x)", ["1", "2"]),
        ("self.x = 2\nself.h()\nf(self.x)", ["1", "2"]),
        ("self.x = 2\nh(self)\nf(self.x)", ["1", "2"]),
        ("self.x = 2\nh(of=self)\nf(self.x)", ["1", "2"]),
        ("self.x = 2\nsuper().g()\nf(self.x)", ["1", "2"]),
        ("self.x = 2\nif self.h():\n  f(self.x)", ["1", "2"]),
        ("self.x = 2\nfor i in y:\n  f(self.x)\n  self.x = 3", ["1", "2", "3"]),
        ("self.x = 2\ntry:\n  h()\nexcept E:\n  f(self.x)", ["1", "2"]),
        ("self.x = 2\nw = lambda: f(self.x)", ["1", "2"]),
        ("self.x = 2\nawait h()\nf(self.x)", ["1", "2"]),
        ("while f(self.x):\n  self.x = 2", ["1", "2"]),
        ("self.x = 2\nother.x = 3\nf(self.x)", ["3", "1", "2"]),
    ],
)
def test_an_attribute_has_the_value_that_its_method_has_just_stored(read: str, found: list[str]) -> None:
    lines = "".join(f"    {line}\n" for line in read.splitlines())
    text = f"import os\nclass A:\n  def __init__(self):\n    self.x = 1\n  def g(self):\n{lines}"
    assert comes_from(text) == found


@pytest.mark.parametrize("decorator", ["staticmethod", "check"])
def test_the_first_parameter_of_a_decorated_method_is_no_self_unless_it_is_called_so(decorator: str) -> None:
    text = f"class A:\n  def __init__(self):\n    self.x = 1\n  @{decorator}\n  def g(self):\n    f(self.x)"
    assert comes_from(text) == ["1"]
    assert comes_from(text.replace("g(self)", "g(of)").replace("f(self.x)", "f(of.x)")) == ["of.x"]


def test_a_property_may_give_something_else_than_was_stored() -> None:
    methods = "  @property\n  def x(self): return 5\n  @x.setter\n  def x(self, v): self.v = v\n"
    assert comes_from(f"class A:\n{methods}  def g(self):\n    self.x = 1\n    self.x = 2\n    f(self.x)") != ["2"]

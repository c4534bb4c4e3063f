"""What a module tells of a name: where it is bound, read and called, and what is no name of the file."""

import ast
import re
from pathlib import Path

import raymigrate
from raymigrate.facts.syntax.module import Module

PACKAGE = Path(raymigrate.__file__).parent
# Has the nodes of a tree, but no module yet.
WITHOUT_MODULE = PACKAGE / "codemods/to_accelerate/objects.py"
TEXT = """
def train(config):
    model = config
    model = config
    return model

class Job:
    def train(self):
        pass

train(1)
start(train)
Job()
other = lambda train: train()
"""
MODULE = Module(TEXT)


def lines(nodes: list[ast.Call] | list[ast.Name]) -> list[int]:
    return [node.lineno for node in nodes]


def test_a_function_is_bound_read_and_called_where_its_name_means_it() -> None:
    function = MODULE.functions("train")[0]
    scope = MODULE.bound_in(function)
    assert scope is not None
    assert scope.node is MODULE.tree
    assert [binding.node for binding in MODULE.bindings_of(function)] == [function]
    assert lines(MODULE.uses_of(function)) == [11, 12]
    assert lines(MODULE.calls_of(function)) == [11]


def test_a_name_stands_for_the_same_where_it_is_read() -> None:
    read = MODULE.reads("model")[0]
    assert [binding.node.lineno for binding in MODULE.bindings_of(read)] == [3, 4]
    assert MODULE.uses_of(read) == [read]
    assert not MODULE.is_bound_once(read)
    assert MODULE.bound_in(read) is MODULE.scope(MODULE.functions("train")[0])


def test_a_class_is_called_and_its_method_by_no_name() -> None:
    [job] = MODULE.of_type(ast.ClassDef)
    assert lines(MODULE.calls_of(job)) == [13]
    assert MODULE.uses_of(MODULE.functions("train")[1]) == []


def test_what_the_file_does_not_bind_is_nowhere() -> None:
    for node in (MODULE.reads("start")[0], MODULE.tree, None):
        assert MODULE.bound_in(node) is None
        assert MODULE.bindings_of(node) == MODULE.uses_of(node) == MODULE.calls_of(node) == []


def test_nothing_else_looks_names_up_by_hand() -> None:
    by_hand = re.compile(r"scope_of\[(\w+(?:\.\w+)*)\]\.find\(\1\.(?:id|name)\)")
    found = [path for path in PACKAGE.rglob("*.py") if by_hand.search(path.read_text("utf-8"))]
    assert [path for path in found if path.parent != PACKAGE / "facts/syntax"] == [WITHOUT_MODULE]


def test_what_is_asked_by_several_names_comes_once_and_in_source_order() -> None:
    module = Module("import a\nfrom b import c\n\na.f(1)\nc.g(2)\na.f(3)\nx.h(4)\nc(5)\n")
    first, second, third, fourth, fifth = module.of_type(ast.Call)
    assert [*module.calls("b.c", "a.f", "b.c.g", "a.f")] == [first, second, third, fifth]
    assert [*module.calls("a.f")] == [first, third]
    assert [*module.calls("a", "b", "z")] == [*module.calls()] == []
    assert module.calls_if(lambda name: name.startswith("b")) == [second, fifth]
    assert [call for call, _ in module.method_calls("h", "g", "f", "h")] == [first, second, third, fourth]
    found = [module.start(reference.node)[0] for reference in module.references_within("b", "a.f", "b.c")]
    assert found == [4, 5, 6, 8]
    assert [reference.qualified for reference in module.references_within("b.c.g")] == ["b.c.g"]
    assert module.references_within("z", "b.c.g.h") == module.references_within() == []


def test_the_innermost_class_is_around_a_method_and_what_is_in_it() -> None:
    job = MODULE.of_type(ast.ClassDef)[0]
    method = MODULE.functions("train")[1]
    assert MODULE.class_around(method) is MODULE.class_around(method.body[0]) is job
    assert MODULE.class_around(job) is None

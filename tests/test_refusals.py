"""What a library still has and refuses to do: read from its source into the tables, and raised by the installed one."""

import ast
import builtins
import inspect
import pkgutil
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec

import pytest

from raymigrate.knowledge import libraries
from raymigrate.knowledge.libraries import is_module, refusal, refused
from scripts.library_refusals import Refusal, of_class, refusals
from scripts.library_sources import with_parents

ALWAYS = "raise DeprecationWarning('`f` is deprecated. Please use `g` instead. See https://ray.io for more.')"
SOURCES = {
    ALWAYS: [Refusal((), "Use g instead.")],
    f"import os\n    size = 1\n    {ALWAYS}": [Refusal((), "Use g instead.")],
    "raise DeprecationWarning(TEXT)": [Refusal((), "Switch to g.")],
    "if a is not None or b is not None:\n        raise DeprecationWarning(f'Use {a}.')": [Refusal(("a", "b"), "")],
    "if a != _DEPRECATED_VALUE:\n        raise DeprecationWarning('gone')": [Refusal(("a!",), "")],
    "if a is not None:\n        print(a)\n        raise DeprecationWarning('gone')": [Refusal(("a",), "")],
    "if a is not DEFAULT.VALUE:\n        raise ValueError('`a` has been removed.')": [
        Refusal(("a!",), "", "ValueError")
    ],
    "if not _own and a is not DEFAULT.VALUE:\n        raise ValueError('`a` has been removed.')": [
        Refusal(("a!",), "", "ValueError")
    ],
    "if not b and a is not DEFAULT.VALUE:\n        raise ValueError('`a` has been removed.')": [],
    "if a is None:\n        raise ValueError('`a` must be given.')": [],
    "if a is not None and b:\n        raise DeprecationWarning('gone')": [],
    "if a > 1:\n        raise DeprecationWarning('gone')": [],
    "raise NotImplementedError": [],
    "return 1\n    raise DeprecationWarning('never')": [],
    "for x in a:\n        raise DeprecationWarning('perhaps')": [],
}


CLASS = """
class C:
    def __post_init__(self):
        if self.a is not None:
            raise DeprecationWarning("gone")

    def m(self):
        raise DeprecationWarning("gone")

    def _m(self):
        raise DeprecationWarning("gone")
"""


VALIDATED = """
class C(BaseModel):
    @field_validator("a")
    @classmethod
    def refuse(cls, v):
        if v:
            raise ValueError("`a` has been removed.")
        return v

    @field_validator("b")
    @classmethod
    def check(cls, v, info):
        if v > 1:
            raise ValueError("`b` above 1 has been removed.")
        return v
"""


@pytest.mark.parametrize(("body", "found"), SOURCES.items())
def test_what_a_function_refuses_is_read_from_its_source(body: str, found: list[Refusal]) -> None:
    function = ast.parse(f"def f(a=None, b=None):\n    {body}\n").body[0]
    assert isinstance(function, ast.FunctionDef)
    assert list(refusals(function, {"TEXT": "It went. Switch to `g`."}.get)) == found  # type: ignore[arg-type]


def test_a_class_refuses_what_its_constructor_and_its_methods_refuse() -> None:
    node = ast.parse(CLASS).body[0]
    assert isinstance(node, ast.ClassDef)
    assert list(of_class(node, str)) == [("", Refusal(("a",), "")), ("m", Refusal((), ""))]


def test_a_pydantic_class_refuses_what_its_validators_refuse() -> None:
    node = ast.parse(VALIDATED).body[0]
    assert isinstance(node, ast.ClassDef)
    assert list(of_class(node, str)) == [("", Refusal(("a?",), "", "ValueError"))]


def test_checks_of_one_function_keep_their_own_errors() -> None:
    gone, unsupported = Refusal(("a", "b"), "Use c."), Refusal(("d?",), "", "RuntimeError")
    assert gone.beside(gone) == Refusal(("a", "b", "a", "b"), "Use c.")
    both = gone.beside(unsupported)
    assert both == Refusal(("a", "b", "d?"), "Use c.", "DeprecationWarning,DeprecationWarning,RuntimeError")
    assert both.beside(Refusal(("e",), "")).error.endswith(",RuntimeError,DeprecationWarning")
    assert gone.beside(Refusal((), "")) == Refusal((), "")


def test_a_call_raises_the_error_of_the_first_argument_that_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    line = "a,d?,e!\tDeprecationWarning,RuntimeError,ValueError\tUse c."
    monkeypatch.setattr(libraries, "_line", lambda kind, place: line if (kind, place) == ("R", "ray.f") else None)
    found = libraries._refusal("ray.f")
    assert found is not None
    given = [["a"], ["d"], ["e"], ["e", "d"], ["e", "a"]]
    assert [found.error_of(names)[:3] for names in given] == ["Dep", "Run", "Val", "Run", "Dep"]
    assert (found.even_none, found.if_true) == ({"e"}, {"d"})


def test_a_class_inherits_what_its_base_refuses() -> None:
    torch = refusal("ray.train.v2.torch.torch_trainer.TorchTrainer")
    assert torch is not None and "resume_from_checkpoint" in torch.parameters
    assert refusal("ray.train.v2.torch.torch_trainer.TorchTrainer", "restore") is not None
    assert refusal("ray.train.v2.torch.torch_trainer.TorchTrainer", "fit") is None


@pytest.mark.skipif(find_spec("ray") is None, reason="needs ray")
@pytest.mark.ray
@pytest.mark.parametrize("name", refused("ray"))
def test_the_installed_library_raises(name: str) -> None:
    module = max((part for part in with_parents(name) if is_module(part)), key=len)
    try:
        import_module(module)
    except ImportError as error:
        pytest.skip(f"needs a library that is not installed: {error}")
    called = pkgutil.resolve_name(f"{module}:{name.removeprefix(module)[1:]}")
    known = refusal(name)
    assert known is not None
    for parameter in sorted(known.parameters) or [""]:
        with pytest.raises(getattr(builtins, known.error_of([parameter]))):
            call(called.fget if isinstance(called, property) else called, {parameter: "given"} if parameter else {})


def call(called: Callable[..., object], given: dict[str, str]) -> None:
    """Calls something with what it is given, and with None for every other argument that it needs."""
    needed = [
        parameter
        for parameter in inspect.signature(called).parameters.values()
        if parameter.default is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD
    ]
    positional = [None for p in needed if p.kind is p.POSITIONAL_ONLY]
    named = {p.name: None for p in needed if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    called(*positional, **{**named, **given})

"""The classes and functions that converted scripts carry, and the modules that scripts of a folder import them from."""

from __future__ import annotations

import ast
import re
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from raymigrate.base.expressions import lazy_regex
from raymigrate.facts.syntax.module import Module

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
WITH_DOCSTRING = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
TYPED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.arg)
TYPES = ("returns", "annotation")
DOCSTRINGS = lazy_regex(r'"""(.*?)"""', re.DOTALL)
# By what helpers are known again whose placeholders were filled in: their docstrings; the code of those without any.
_marks: set[Hashable] = set()
# How the docstring begins of the class that takes the place of a predictor, which is made anew for each script.
OF_PREDICTOR = "Applies a pipeline with the model of a checkpoint to tables of rows, as Ray's "
# How that ends of the class that applies a predictor of the script's own.
OF_OWN_PREDICTOR = " on an actor and applies it to batches, as Ray's BatchPredictor did."


@dataclass(frozen=True)
class Helper:
    """A class or function that converted scripts need.

    Args:
        name: What it is called where nothing else has that name.
        template: Its source, with `$name` for its name.
        imports: What it needs: a module, and a name from it or None for the module itself.
        inner: What a second definition is called that only the first one uses, `$inner`.
        shareable: Whether it can be in another file: not where the script gives its objects attributes of their own.
    """

    name: str
    template: str
    imports: tuple[tuple[str, str | None], ...] = ()
    inner: str = ""
    shareable: bool = True

    def __post_init__(self) -> None:
        docstrings = DOCSTRINGS.findall(self.template)
        written = [] if docstrings else ast.parse(self.source()).body
        _marks.update(docstrings, (code_of(part) for part in written if isinstance(part, WITH_DOCSTRING)))

    def filled(self, **parts: str) -> Helper:
        """The same with other placeholders filled in."""
        template = self.template
        for key, value in parts.items():
            template = template.replace(f"${key}", value)
        return replace(self, template=template)

    def source(self, name: str = "", inner: str = "") -> str:
        """Its source, by its usual names or by others."""
        text = self.template.strip("\n").replace("$name", name or self.name)
        return text.replace("$inner", inner or self.inner) + "\n"

    def is_in(self, tree: ast.Module) -> bool:
        """Whether a module defines it, by its usual names and with the same code."""
        wanted = [statement for statement in ast.parse(self.source()).body if isinstance(statement, WITH_DOCSTRING)]
        named = {statement.name: statement for statement in tree.body if isinstance(statement, WITH_DOCSTRING)}
        return all(w.name in named and has_code_of(named[w.name], w) for w in wanted)


@dataclass(frozen=True)
class HelperImport:
    """From where a script imports helpers.

    Args:
        module: The module, as an import of the script names it.
        offered: The helpers that are there.
    """

    module: str
    offered: frozenset[Helper]


@dataclass(frozen=True)
class SharedHelpers:
    """The helpers that scripts of a run share.

    Args:
        imports: By the real path of a script, from where it imports them.
        texts: By real path, the modules that the run writes.
    """

    imports: Mapping[str, HelperImport] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)


NOTHING_SHARED = SharedHelpers()


def code_of(definition: Definition) -> Hashable:
    """What a class or function does, for comparison with others, whatever it is called and however it is laid out."""
    return (type(definition), *map(_code, _code_fields(definition, "name")))


def _code(value: object) -> Hashable:
    if isinstance(value, ast.AST):
        return (type(value), *map(_code, _code_fields(value)))
    return tuple(map(_code, value)) if isinstance(value, list) else repr(value)  # which tells 0.0 from -0.0


def has_code_of(definition: Definition, other: Definition) -> bool:
    """Whether two definitions have the same `code_of`: they mostly differ at once, and neither is copied."""
    return definition.__class__ is other.__class__ and _is_same(
        _code_fields(definition, "name"), _code_fields(other, "name")
    )


def _is_same(one: object, other: object) -> bool:
    if one.__class__ is not other.__class__:
        return False
    if isinstance(one, ast.AST) and isinstance(other, ast.AST):
        return _is_same(_code_fields(one), _code_fields(other))
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_is_same, one, other))
    return repr(one) == repr(other)


def has_docstring(node: ast.AST) -> bool:
    """Whether the code of a class or a function begins with a text, which has no effect when it runs."""
    return isinstance(node, WITH_DOCSTRING) and ast.get_docstring(node, clean=False) is not None


def _code_fields(node: ast.AST, *others: str) -> list[object]:
    """The fields of a node that have an effect when code runs, no docstrings and annotations, without some others."""
    left_out = (*TYPES, *others) if isinstance(node, TYPED) else others
    kept = {name: getattr(node, name, None) for name in node._fields if name not in left_out}
    if has_docstring(node):
        kept["body"] = node.body[1:]  # type: ignore[attr-defined]
    return list(kept.values())


def is_helper(definition: Definition) -> bool:
    """Whether an earlier run wrote a class or function: nothing that it says is about the script's own code."""
    docstring = ast.get_docstring(definition, clean=False) or ""
    is_of_predictor = docstring.startswith(OF_PREDICTOR) or docstring.endswith(OF_OWN_PREDICTOR)
    return is_of_predictor or (docstring or code_of(definition)) in _marks


def is_in_helper(module: Module, node: ast.AST) -> bool:
    """Whether a node is, or is in, a class or function that an earlier run wrote."""
    around = (node, *module.ancestors(node))
    return any(isinstance(outer, WITH_DOCSTRING) and is_helper(outer) for outer in around)


def chosen(wanted: Iterable[Iterable[Helper]]) -> list[Helper]:
    """The helpers that one module can hold: of several with one name the one that most scripts need.

    Args:
        wanted: What each script needs.
    """
    counts: dict[Helper, int] = {}
    for helpers in wanted:
        for helper in helpers:
            counts[helper] = counts.get(helper, 0) + 1
    best: dict[str, Helper] = {}
    for helper, count in counts.items():
        if helper.name not in best or count > counts[best[helper.name]]:
            best[helper.name] = helper
    return list(best.values())

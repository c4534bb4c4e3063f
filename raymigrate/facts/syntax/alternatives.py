"""Imports of one legacy class in several ways, as scripts for Ray 2.0 to 2.8 have them.

`try: from ray.train.huggingface import TransformersTrainer`, `except ImportError:` the same under its former name. None
of the ways is left on current Ray, so that the names stand for what the first one imports.
"""

import ast
import re
from collections.abc import Iterator

from raymigrate.base.expressions import lazy_regex
from raymigrate.facts.syntax.scopes import import_bindings
from raymigrate.knowledge.legacy import ACCELERATE_TRAINERS, CONFIG_CLASSES, TRANSFORMERS_TRAINERS

IMPORT_ERRORS = frozenset({"ImportError", "ModuleNotFoundError", "AttributeError", "Exception"})
EXITS = frozenset({"sys.exit", "os._exit", "os.abort", "exit", "quit"})
OF_VERSIONS = lazy_regex(r"version", re.IGNORECASE)
RENAMED = lazy_regex(r"ray\.train\.(huggingface|hf_transformers)\b.*\.(?:HuggingFace|(?:Legacy)?Transformers)(\w+)")
CONFIGURATION = lazy_regex(rf"ray\.(?:air|air\.config|train)\.({'|'.join(CONFIG_CLASSES)})")

Arm = list[ast.stmt]


def legacy_alternatives(tree: ast.Module) -> dict[ast.stmt, list[Arm]]:
    """The statements at the top of a module that import legacy trainers in several ways, with the ways in order."""
    return {
        statement: arms
        for statement in tree.body
        if isinstance(statement, (ast.Try, ast.If)) and _are_alike(arms := list(_arms(statement)))
    }


def _arms(statement: ast.stmt) -> Iterator[Arm]:
    """The ways that a statement tries one after the other, or of which it chooses one by a version."""
    if isinstance(statement, ast.Try) and not (statement.orelse or statement.finalbody):
        yield statement.body
        for handler in statement.handlers:
            yield from _inner(handler.body) if _catches_import_errors(handler) else [[]]
    elif isinstance(statement, ast.If) and OF_VERSIONS.search(ast.unparse(statement.test)):
        yield statement.body
        yield from _inner(statement.orelse)


def _inner(body: Arm) -> Iterator[Arm]:
    nested = list(_arms(body[0])) if len(body) == 1 else []
    yield from nested or [body]


def _catches_import_errors(handler: ast.ExceptHandler) -> bool:
    return all(not kind or kind in IMPORT_ERRORS for kind in kinds_of(handler))


def kinds_of(handler: ast.ExceptHandler) -> list[str]:
    """The names of the errors that a handler catches; an empty one if it catches all."""
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return [ast.unparse(kind) if kind is not None else "" for kind in kinds]


def goes_on(handler: ast.ExceptHandler) -> bool:
    """Whether code goes on after an error that a handler catches: it neither raises again nor ends the program."""
    return goes_on_after(handler.body[-1])


def goes_on_after(last: ast.stmt) -> bool:
    """Whether code goes on after a statement: it neither raises nor ends the program."""
    call = last.value if isinstance(last, ast.Expr) else None
    return not isinstance(last, ast.Raise) and not (isinstance(call, ast.Call) and ast.unparse(call.func) in EXITS)


def _are_alike(arms: list[Arm]) -> bool:
    """Whether all ways import nothing but the same classes, a legacy trainer among them, under the same names."""
    bound = [_bound(arm) for arm in arms]
    first = bound[0] if len(bound) > 1 else None
    if first is None or any(names != first for names in bound):
        return False
    return any(name in ("TransformersTrainer", "AccelerateTrainer") for name in first.values())


def _bound(arm: Arm) -> dict[str, str] | None:
    """The names that a block of imports binds, and the class behind each; None for any other block."""
    if not arm or not all(isinstance(statement, (ast.Import, ast.ImportFrom)) for statement in arm):
        return None
    return {
        name: _class_of(binding.qualified or "")
        for statement in arm
        if isinstance(statement, (ast.Import, ast.ImportFrom))
        for name, binding in import_bindings(statement)
    }


def _class_of(qualified: str) -> str:
    """What has had several names over the versions, under one of them."""
    if qualified in TRANSFORMERS_TRAINERS:
        return "TransformersTrainer"
    if qualified in ACCELERATE_TRAINERS:
        return "AccelerateTrainer"
    if renamed := RENAMED.fullmatch(qualified):
        return f"Transformers{renamed[2]}"
    if moved := CONFIGURATION.fullmatch(qualified):
        return moved[1]
    return qualified

"""Which expressions name a type only: annotations, and what `isinstance()` asks for."""

import ast
import re
from collections.abc import Collection

from raymigrate.facts.syntax.attribute_chains import names_of_chain
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module

# What stands between an annotation and a class in it: `Optional[X]`, `Dict[str, X]`, `Callable[[X], Y]`, `X | None`.
BETWEEN = (ast.Subscript, ast.BinOp, ast.Tuple, ast.List)


def in_annotation(module: Module, node: ast.expr) -> bool:
    """Whether a class is named in the annotation of a parameter, a variable or a returned value."""
    part: ast.AST = node
    for outer in module.ancestors(node):
        if part in (getattr(outer, "annotation", None), getattr(outer, "returns", None)):
            return True
        if not isinstance(outer, BETWEEN) or _is_no_type(module, outer, part):
            return False
        part = outer
    return False


def _is_no_type(module: Module, outer: ast.AST, part: ast.AST) -> bool:
    """Whether part of an annotation names no type: what stands in `Literal[...]`, and behind a type in `Annotated`."""
    if isinstance(outer, ast.Tuple) and part is not outer.elts[0]:
        return _name_of(module.parent_of[outer]) == ["Annotated"]
    return part is getattr(outer, "slice", None) and _name_of(outer) == ["Literal"]


def _name_of(generic: ast.AST) -> list[str]:
    """The last part of the name of what brackets follow."""
    return names_of_chain(generic.value)[-1:] if isinstance(generic, ast.Subscript) else []


@kept
def quoted_annotations(module: Module) -> list[ast.Constant]:
    """The annotations that are written as strings, or the parts of one that are."""
    texts = [text for text in module.of_type(ast.Constant) if isinstance(text.value, str)]
    return [text for text in texts if in_annotation(module, text)]


def names_in_texts(module: Module, without: Collection[ast.AST]) -> frozenset[str]:
    """The names in annotations that are written as strings: `x: "Optional[X]"`.

    Args:
        module: The module.
        without: Annotations that do not count.
    """
    texts = quoted_annotations(module)
    counted = (text.value for text in texts if not any(part in without for part in (text, *module.ancestors(text))))
    return frozenset(name for text in counted for name in re.findall(r"\w+", str(text)))


def in_type_test(module: Module, node: ast.expr) -> bool:
    """Whether a class is one that `isinstance()` or `issubclass()` asks for, alone or among others."""
    part: ast.AST = node
    outer = module.parent_of[node]
    if isinstance(outer, ast.Tuple):
        part, outer = outer, module.parent_of[outer]
    if not isinstance(outer, ast.Call) or not isinstance(outer.func, ast.Name) or len(outer.args) != 2:
        return False
    return outer.func.id in ("isinstance", "issubclass") and outer.args[1] is part

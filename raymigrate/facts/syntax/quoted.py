"""Names in annotations that are written as text: `def load(result: "Result")`, `list["Result"]`."""

import ast

from raymigrate.base.expressions import lazy_regex
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module

WORD = lazy_regex(r"(?<![\w.])[^\W\d]\w*")


@kept
def quoted_names(module: Module) -> frozenset[str]:
    """The names, and the first parts of dotted names, that stand in quotes in the annotations of a module.

    No reference leads from them to what they name, yet typing.get_type_hints() looks each of them up; HfArgumentParser
    calls that. What Literal holds is among them: a name too many only keeps an import.
    """
    annotations: list[ast.expr | None] = [argument.annotation for argument in module.of_type(ast.arg)]
    annotations += [function.returns for function in module.of_type(ast.FunctionDef)]
    annotations += [function.returns for function in module.of_type(ast.AsyncFunctionDef)]
    annotations += [statement.annotation for statement in module.of_type(ast.AnnAssign)]
    parts = (part for annotation in annotations if annotation is not None for part in ast.walk(annotation))
    texts = [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]
    return frozenset(word for text in texts for word in WORD.findall(text))

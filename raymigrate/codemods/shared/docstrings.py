"""The docstring of an init function that becomes a training function."""

import ast
from collections.abc import Sequence

from raymigrate.codemods.context import Context
from raymigrate.edits.docstrings import adapted


def adapt_docstring(context: Context, init: ast.FunctionDef, datasets: Sequence[str]) -> None:
    """Takes out what the docstring says of the datasets and of the Trainer that is returned.

    Args:
        context: The module.
        init: The function.
        datasets: The parameters in which it gets them.
    """
    first = init.body[0]
    if ast.get_docstring(init) is None or not isinstance(first, ast.Expr):
        return
    literal = context.module.source(first.value)
    text = adapted(literal, list(datasets))
    if text is None:
        context.plan.statement(first).removed = True
    elif text != literal and "$" not in text:
        context.plan.replace(first.value, text)

"""What predict() of a predictor is given: a DataFrame, an array or a dict of arrays (Ray 2.6.3, train/predictor.py)."""

import ast

from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import argument, called_name, sources

STEPS = 8  # methods and items in a row: `frame[["text"]].head(1)`


def sources_of_data(module: Module, predict: ast.Call) -> list[ast.expr]:
    """The expressions that the data of a call of predict() can come from."""
    return sources(module, argument(predict, 0, "data"))


def is_array(module: Module, data: ast.expr) -> bool:
    """Whether data is an array or a dict of arrays for sure."""
    made = called_name(module, data).startswith("numpy.")
    return made or isinstance(data, (ast.Dict, ast.List))


def is_frame(module: Module, predict: ast.Call) -> bool:
    """Whether a call of predict() is given a DataFrame, in every way that is seen."""
    found = sources_of_data(module, predict)
    return bool(found) and all(_is_frame(module, data) for data in found)


def _is_frame(module: Module, data: ast.expr) -> bool:
    """Whether a value is a DataFrame, a part of one, or what a method of one gives."""
    for _ in range(STEPS):
        definition = module.definition(data)
        if isinstance(definition, ast.arg):
            annotation = definition.annotation
            return annotation is not None and module.qualified(annotation) == "pandas.DataFrame"
        if called_name(module, data).startswith("pandas."):
            return True
        whole = data.func if isinstance(data, ast.Call) else data
        if not isinstance(whole, (ast.Subscript, ast.Attribute)):
            return False
        data = module.value(whole.value)
    return False

"""Whether a script is ready for the files of weights that transformers writes today."""

import ast

from raymigrate.facts.syntax.module import Module


def reads_new_weights_else(module: Module, node: ast.AST) -> bool:
    """Whether a script reads the weights of today where those are, or where these old ones are not found.

    Args:
        module: The module.
        node: The name of a file of old weights.
    """
    for outer in module.ancestors(node):
        if isinstance(outer, ast.Try):
            arms: list[list[ast.AST]] = [[*outer.body], [*outer.handlers]]
        elif isinstance(outer, ast.If):
            arms = [[outer.test], [*outer.body], [*outer.orelse]]
        elif isinstance(outer, ast.IfExp):
            arms = [[outer.test], [outer.body], [outer.orelse]]
        else:
            continue
        others = [part for arm in arms if not any(module.inside(node, one) for one in arm) for part in arm]
        if any(_names_new_weights(part) for other in others for part in ast.walk(other)):
            return True
    return False


def _names_new_weights(node: ast.AST) -> bool:
    text = node.value if isinstance(node, ast.Constant) else getattr(node, "id", getattr(node, "attr", ""))
    return isinstance(text, str) and text.endswith((".safetensors", "SAFE_WEIGHTS_NAME"))

"""Where torch computes no gradients."""

import ast

from raymigrate.facts.values import last_name

WITHOUT = frozenset({"no_grad", "inference_mode"})


def switches_gradients_off(node: ast.AST) -> bool:
    """Whether a `with` statement, or the decorators of a function, switch gradients off for what is in it."""
    heads = [item.context_expr for item in node.items] if isinstance(node, ast.With) else []
    heads += getattr(node, "decorator_list", [])
    parts = (part for head in heads for part in ast.walk(head))
    return any(last_name(part) in WITHOUT for part in parts)

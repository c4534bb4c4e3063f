"""The comments that belong to code which goes away, so that they can be kept."""

import ast

from raymigrate.facts.module import Module


def comments_of(module: Module, node: ast.expr | ast.stmt) -> str:
    """The comment lines inside a node, and above it where it is a statement; as source for a template, or "".

    Args:
        module: The module.
        node: What goes away.
    """
    first, last = node.lineno, node.end_lineno or node.lineno
    if isinstance(node, ast.stmt):
        while first > 1 and module.lines[first - 2].lstrip().startswith("#"):
            first -= 1
    lines = [line.strip() for line in module.lines[first - 1 : last]]
    found = [line for line in lines if line.startswith("#")]
    return "".join(f"{line}\n" for line in found).replace("$", "$ ")  # "$name" would be a placeholder

"""Names that a statement only gives another one, or puts into a collection: nothing is called by that."""

import ast

COLLECTIONS = (ast.List, ast.Tuple, ast.Set, ast.Dict)
PARTS = (ast.Name, *COLLECTIONS, ast.Constant, ast.Load)


def held_names(node: ast.AST | None) -> list[ast.Name]:
    """The names to which a statement gives a second one, and does no more: `f` of `g = f`, of `g = {"f": f}`."""
    if not isinstance(node, ast.Assign) or not isinstance(node.value, (ast.Name, *COLLECTIONS)):
        return []
    parts = list(ast.walk(node.value)) if isinstance(node.targets[0], ast.Name) else [node.value]
    only_holds = all(isinstance(part, PARTS) for part in parts)
    return [part for part in parts if isinstance(part, ast.Name)] if only_holds else []

"""Code that current Ray never comes to, since a condition on the version of Ray leads past it."""

import ast
from collections.abc import Iterator

from raymigrate.base.expressions import lazy_regex
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.optional_imports import holds_today


def is_for_former_ray(module: Module, node: ast.AST) -> bool:
    """Whether code runs with an older Ray only: `if version.parse(ray.__version__) < version.parse("2.7")`."""
    former = _former(module)
    return bool(former) and not former.isdisjoint((node, *module.ancestors(node)))


# What each condition on a version or a name of Ray holds: most files need no look at theirs.
ASKS = lazy_regex(r"version|distribution|hasattr")


@kept
def _former(module: Module) -> frozenset[ast.AST]:
    """The statements and expressions that a condition leads past."""
    if not ASKS.search(module.text):
        return frozenset()
    branches: list[ast.If | ast.IfExp] = [*module.of_type(ast.If), *module.of_type(ast.IfExp)]
    return frozenset(part for branch in branches for part in _passed(module, branch))


def _passed(module: Module, branch: ast.If | ast.IfExp) -> Iterator[ast.AST]:
    """What is never reached because of a condition: its other branch; what is behind one that always leaves."""
    holds = holds_today(module, branch.test)
    if holds is None:
        return
    if isinstance(branch, ast.IfExp):
        yield branch.orelse if holds else branch.body
        return
    yield from branch.orelse if holds else branch.body
    if any(statement in module.leaving for statement in (branch.body if holds else branch.orelse)):
        block = module.block_of(branch)
        yield from block[block.index(branch) + 1 :]

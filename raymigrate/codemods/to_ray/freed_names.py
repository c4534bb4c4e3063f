"""`del model` behind a training that moves: the driver has no such name any more."""

import ast

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.codemods.to_ray.outline import Outline
from raymigrate.codemods.to_ray.script import DEFINITIONS
from raymigrate.edits.plan import Code
from raymigrate.facts.values import reaching


def drop_deletions(context: Context, rule: Rule, outline: Outline) -> None:
    """Takes names that move out of the `del` statements that stay: they end with the training function.

    Args:
        context: The module.
        rule: The rule of the conversion.
        outline: What becomes of the script.
    """
    module = context.module
    for statement in module.of_type(ast.Delete):
        step = outline.script.step_of(statement)
        if step is None or outline.roles.of[step].moves or isinstance(step, DEFINITIONS):
            continue
        gone = [target for target in statement.targets if _is_of_workers(outline, target)]
        names = ", ".join(f"`{module.source(target)}`" for target in gone)
        if not gone or not context.converts(rule, statement, f"`del` of {names} goes: it ends with the workers."):
            continue
        kept = {f"part_{number}": target for number, target in enumerate(statement.targets) if target not in gone}
        edit = context.plan.statement(statement)
        if kept:
            edit.replacement = Code(f"del {', '.join(f'${name}' for name in kept)}", dict(kept))
        elif len(module.block_of(statement)) > 1:
            edit.removed = True
        else:
            edit.replacement = Code("pass")


def _is_of_workers(outline: Outline, target: ast.expr) -> bool:
    """Whether all that may have given a name its value moves to the workers."""
    if not isinstance(target, ast.Name):
        return False
    known = reaching(outline.module, target)
    given = (b.node for b in known if not isinstance(getattr(b.node, "ctx", None), ast.Del))
    givers = [step for node in given if (step := outline.script.step_of(node)) is not None]
    return bool(givers) and all(outline.roles.of[step].moves for step in givers)

"""Names that only the body of a class reads, in code that goes to the workers.

Ray sends a training function with the names of its module that its code reads as globals. The body of a class that is
made in a function reads them otherwise (LOAD_NAME), and cloudpickle looks for LOAD_GLOBAL
(ray/cloudpickle/cloudpickle.py, GLOBAL_OPS): `name: Optional[str] = field(default=None)` is a NameError on a worker if
no function reads `Optional` and `field` (measured with Ray 2.60).
"""

import ast

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.codemods.to_ray.outline import Outline
from raymigrate.facts.syntax.scopes import FUNCTIONS

READ = "{name} = [{names}]  # Ray does not see what only the body of a class reads"


def send_names_of_classes(context: Context, outline: Outline, rule: Rule) -> None:
    """Lets the training function read what the bodies of its classes read of the module.

    Args:
        context: The module.
        outline: What is planned for it.
        rule: The rule of the conversion.
    """
    in_bodies: dict[str, ast.Name] = {}
    in_functions = set[str]()
    for node in context.module.of_type(ast.Name):
        if isinstance(node.ctx, ast.Load) and outline.is_for_workers(node) and _is_of_module(outline, node):
            scope = context.module.scope_of[node].node
            if _is_in_function(outline, scope):
                if isinstance(scope, ast.ClassDef):
                    in_bodies.setdefault(node.id, node)
                else:
                    in_functions.add(node.id)
    names = sorted(in_bodies.keys() - in_functions)
    if not names:
        return
    them = "them" if len(names) > 1 else "it"
    message = (
        f"On a worker the body of a class would not find {', '.join(names)}: the training function reads {them} too."
    )
    if context.converts(rule, in_bodies[names[0]], message):
        outline.start.append(READ.format(name=context.fresh("read_by_classes"), names=", ".join(names)))


def _is_of_module(outline: Outline, node: ast.Name) -> bool:
    """Whether a name is one of the module that stays there."""
    module = outline.module
    root = module.scope_of[module.tree]
    if module.bound_in(node) is not root:
        return False
    return not any(outline.roles.of[step].moves for step in outline.script.binders(node.id, root))


def _is_in_function(outline: Outline, scope: ast.AST) -> bool:
    """Whether code of a scope is in a function once it is converted."""
    step = outline.script.step_of(scope)
    if step is not None and outline.roles.of[step].moves:
        return True
    return any(isinstance(around, FUNCTIONS) for around in (scope, *outline.module.ancestors(scope)))

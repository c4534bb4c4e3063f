"""An object that trains and has no name, `Trainer().fit()`: it gets one where code outside needs its Accelerator."""

import ast
import re

from raymigrate.codemods.to_accelerate.access import Access
from raymigrate.codemods.to_accelerate.changes import NAME, Changes

VALUES = (ast.Expr, ast.Assign, ast.AnnAssign, ast.Return)  # statements that work out their value first


def name_object(changes: Changes, access: Access) -> None:
    """Gives the object a name, if that can be done.

    Args:
        changes: The edits.
        access: The Accelerator, which is an attribute of the object.
    """
    view, home = access.view, access.home
    if view is None or view.unnamed is None or access.owner is not view.constructor:
        return
    if not any(NAME in template and not home.is_in_class(node) for node, template in changes.templates):
        return
    call = access.module.parent_of[access.module.parent_of[view.unnamed]]  # `fit(self=Trainer())`, as the view has it
    statement = access.module.parent_of[call]
    if not isinstance(statement, VALUES) or statement.value is not call:
        return
    name = changes.context.fresh(re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", view.owner.name).lower())
    view.instance = name
    changes.before(statement, f"{name} = $made", made=view.unnamed)
    changes.hoist(view.unnamed, name)

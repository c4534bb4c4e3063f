"""What scripts do with the class of a legacy trainer other than calling it, and what a person has to do."""

import ast
from collections.abc import Collection

from raymigrate.codemods.context import Context
from raymigrate.facts.module import Reference

STORED = "this stores or passes on the class, so that its arguments cannot be seen"
BY_NAME = (
    "Call {name}(...) by its name where its arguments are given, and run raymigrate again; or write TorchTrainer by"
    " hand, as the migration guide shows."
)
OF_THE_CLASS = "Use TorchTrainer in its place if that has the same; else take it out."
SUBCLASS = (
    "Move what the subclass does into the training function, and call {name}(...) itself; then run raymigrate again."
)
RESTORED = (
    "Build TorchTrainer with the RunConfig(name=, storage_path=) of the first run; fit() then goes on from its last"
    " checkpoint, and begins where there is none."
)


def other_use(context: Context, reference: Reference, classes: Collection[str], name: str) -> tuple[str, str]:
    """What to say of such a use: what happens, and what to do.

    Args:
        context: The module.
        reference: The use.
        classes: The qualified names of the class.
        name: Its name.
    """
    method = reference.qualified.rpartition(".")[2]
    gone = f"Ray >= 2.9 has no {name}"
    if method in ("restore", "can_restore"):
        return f"{gone}: {method}() is gone with it.", RESTORED
    if reference.qualified not in classes:
        return f"{gone}: {method} is gone with it.", OF_THE_CLASS
    if isinstance(context.module.parent_of[reference.node], ast.ClassDef):
        return f"{gone}: a class cannot be made from it.", SUBCLASS.format(name=name)
    return f"{gone}: {STORED}.", BY_NAME.format(name=name)

"""What scripts do with the class of a legacy trainer other than calling it, and what a person has to do."""

import ast
from collections.abc import Collection

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.facts.ray_train.trainers import classes_behind
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.scopes import Reference
from raymigrate.knowledge.legacy import TRAINERS

# What a call of a legacy trainer gives by name, whatever the class is called there.
ARGUMENTS = ("scaling_config", "trainer_init_per_worker", "train_loop_per_worker", "accelerate_config")
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
    " checkpoint, or begins anew where there is none."
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


def tell_calls_of_stored(context: Context, rule: Rule, classes: Collection[str]) -> None:
    """Tells where a class is called that was stored, in this file or in another one: `TRAINERS["hf"](...)`.

    Args:
        context: The module.
        rule: The rule for uses of the class.
        classes: The qualified names of the class.
    """
    module = context.module
    stores = any(module.calling(reference.node) is None for reference in module.references_within(*TRAINERS))
    by_arguments = {call for call, _ in module.keywords(*ARGUMENTS)}
    for call in module.of_type(ast.Call) if stores or by_arguments else ():
        if call not in by_arguments and not (stores and _may_be_stored(module, call.func)):
            continue
        if module.qualified(call.func) in classes:
            continue
        ends = (source.module.qualified(source.node) for source in module.origins(call.func))
        called = {found for found in (*ends, *classes_behind(module, call.func)) if isinstance(found, str)}
        for name in sorted({found.rpartition(".")[2] for found in called.intersection(classes)}):
            message = f"This calls {name}, which Ray >= 2.9 does not have, through what stores the class."
            context.manual(rule, call, message, BY_NAME.format(name=name))


def _may_be_stored(module: Module, called: ast.expr) -> bool:
    """Whether the file may have stored a class in what is called."""
    return module.qualified(called) is None and not isinstance(
        module.definition(called), (ast.FunctionDef, ast.ClassDef)
    )

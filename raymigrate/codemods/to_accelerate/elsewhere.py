"""RM851: loops that are spread over files: what trains is in another file than what it is given."""

import ast

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.to_accelerate.objects import ObjectView, view_of
from raymigrate.codemods.to_accelerate.obstacles import imported, is_native, mentions_accelerator
from raymigrate.codemods.to_accelerate.rules import RM851, Refusal
from raymigrate.codemods.to_accelerate.training import Training
from raymigrate.facts.syntax.definitions import Definition
from raymigrate.facts.syntax.module import Module

DEFINITIONS = (ast.FunctionDef, ast.ClassDef)


@codemod("torch", phase=Phase.POSITIONS, option="to_accelerate")
def tell(context: Context) -> None:
    """Tells of the call by which a script hands what it made to a native loop in another file."""
    module = context.module
    if module.project is None or is_native(Training(module)):
        return
    trainings = dict[Module, Training]()
    for call in module.of_type(ast.Call):
        if not (call.args or call.keywords):
            continue
        definition = module.elsewhere(call.func)
        if definition is not None and _trains(definition, trainings):
            context.stays = True
            context.manual(
                RM851,
                call,
                f"`{definition.name}` trains in {definition.module.path}: a loop is converted only where its model,"
                " optimizer and loaders are made in the same file.",
                "Put them into one file and run raymigrate again, or move the loop by hand.",
            )
            return


def _trains(definition: Definition, trainings: dict[Module, Training]) -> bool:
    """Whether a function or class of another file works out gradients natively, of what it does not make itself.

    Args:
        trainings: What other files train, as far as that was asked; it is added to.
    """
    module: Module = definition.module
    node = definition.node
    roots = {root for root, _ in imported(module)}
    if not isinstance(node, DEFINITIONS) or "torch" not in roots or "ray" in roots or mentions_accelerator([node]):
        return False
    training = trainings[module] = trainings.get(module) or Training(module)
    makers = [maker for optimizer in training.optimizers for maker in training.variables.makers(optimizer)]
    if any(module.inside(maker, node) for maker in makers) or _is_whole(training, node):
        return False  # it is converted where it is, or told there
    native = (call for call in training.backwards if "accelerate" not in roots or not call.args)
    return any(module.inside(call, node) for call in native)


def _is_whole(training: Training, node: ast.AST) -> bool:
    """Whether a class makes the optimizers that it trains with, as attributes of its object."""
    if not isinstance(node, ast.ClassDef) or not is_native(training):
        return False
    try:
        view = view_of(training.module)
    except Refusal:
        return True  # it is told in its file what is in the way
    return isinstance(view, ObjectView) and view.owner.name == node.name and bool(Training(view).optimizers)

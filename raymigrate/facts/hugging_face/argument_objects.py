"""Which objects are TrainingArguments, by all that a project shows of them: their classes, and who gets them."""

import ast
from collections.abc import Iterator

from raymigrate.facts.hugging_face.instances import TRAINER, TRAINING_ARGUMENTS, classes_of, instance_of, parsed_class
from raymigrate.facts.hugging_face.own_arguments import is_training_arguments
from raymigrate.facts.projects.declared import Declared, declared_class, named_class
from raymigrate.facts.ray_train.trainers import is_transformers_trainer
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import is_assignment
from raymigrate.facts.values import argument, class_named, is_method_call, last_name, reaching
from raymigrate.facts.values.parsers import HF_PARSING
from raymigrate.knowledge.libraries import lineage, look_up

ARGUMENTS = "args"  # the parameter of Trainer, and the attribute that holds what it got


def is_arguments_object(module: Module, node: ast.expr) -> bool:
    """Whether an object is a TrainingArguments, or one of a class made from it, for sure.

    Args:
        module: The module.
        node: The object.
    """
    if TRAINING_ARGUMENTS in lineage(instance_of(module, node)):
        return True
    declared = declared_class(module, node)
    if declared is not None and _is_made_from_arguments(declared):
        return True
    parsed = parsed_class(module, node)
    found = named_class(parsed.module, parsed.node) if parsed is not None else None
    if found is not None and _is_made_from_arguments(found):
        return True
    if isinstance(node, ast.Attribute) and node.attr == ARGUMENTS and _is_trainer(module, node.value):
        return True
    return _is_given(module, node, is_sure=True)


def may_be_arguments_object(module: Module, node: ast.expr) -> bool:
    """Whether an object may be a TrainingArguments, for what it is handed to, or as one of what a parser makes.

    Args:
        module: The module.
        node: The object, none for which `is_arguments_object` holds.
    """
    declared = declared_class(module, node)
    if declared is not None and declared.is_training_arguments is False:
        return False
    if TRAINING_ARGUMENTS in {base for kind in classes_of(module, node) for base in lineage(kind)}:
        return True
    return _is_given(module, node, is_sure=False)


def parsed_for_trainers(module: Module) -> list[ast.Call]:
    """The calls of an HfArgumentParser that make what a Trainer is given, of whatever class that is."""
    found = list[ast.Call]()
    for given, is_known in (pair for pairs in _given_to_trainers(module).values() for pair in pairs):
        for bound in reaching(module, given) if is_known else ():
            place = module.parent_of[bound.node]
            assigned = module.parent_of[place] if isinstance(place, (ast.Tuple, ast.List)) else place
            call = assigned.value if is_assignment(assigned) else None
            if is_method_call(call, *HF_PARSING):
                found.append(call)
    return found


def _is_made_from_arguments(found: Declared) -> bool:
    if found.is_training_arguments:
        return True
    return is_training_arguments(found.qualified)


def _is_trainer(module: Module, node: ast.expr) -> bool:
    """Whether an object is a Trainer of transformers or of a class of the project made from it, in whatever file."""
    if TRAINER in lineage(instance_of(module, node)):
        return True
    makers = [source for source in module.origins(node) if isinstance(source.node, ast.Call)]
    return bool(makers) and all(_makes_trainer(source.module, source.node.func) for source in makers)  # type: ignore[attr-defined]


def _makes_trainer(module: Module, function: ast.expr) -> bool:
    own = class_named(module, function)
    if own is not None:
        return is_transformers_trainer(*own)
    return TRAINER in lineage(look_up(module.qualified(function) or "").place)


@kept
def _given_to_trainers(module: Module) -> dict[str, list[tuple[ast.Name, bool]]]:
    """The names that calls are given as `args`, each with whether a Trainer is called; else the call looks like one.

    A class of which not all can be seen looks like a Trainer if it is given a model too.
    """
    found: dict[str, list[tuple[ast.Name, bool]]] = {}
    for given, is_known in _given_as_args(module):
        if isinstance(given, ast.Name):
            found.setdefault(given.id, []).append((given, is_known))
    return found


def _given_as_args(module: Module) -> Iterator[tuple[ast.expr, bool]]:
    for call, keyword in module.keywords(ARGUMENTS):
        if _makes_trainer(module, call.func):
            yield keyword.value, True
        elif "model" in {other.arg for other in call.keywords} and last_name(call.func).endswith("Trainer"):
            yield keyword.value, False
    for call in module.of_type(ast.Call):
        given = (
            argument(call, 1, ARGUMENTS) if len(call.args) > 1 and last_name(call.func).endswith("Trainer") else None
        )
        if given is not None and _makes_trainer(module, call.func):
            yield given, True


def _is_given(module: Module, node: ast.expr, *, is_sure: bool) -> bool:
    """Whether a call gets as `args` what a name has: whatever is bound to one of the two names reaches the other."""
    others = _given_to_trainers(module).get(node.id, ()) if isinstance(node, ast.Name) else ()
    bound = {found.node for found in reaching(module, node)} if isinstance(node, ast.Name) and others else set()
    return bool(bound) and any(
        bound == {found.node for found in reaching(module, other)}
        for other, is_known in others
        if is_known or not is_sure
    )

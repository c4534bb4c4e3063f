"""Annotations with a legacy trainer: `def build() -> TransformersTrainer`. They are TorchTrainers now."""

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.facts.annotations import in_annotation
from raymigrate.facts.module import Reference


def name_as_type(context: Context, rule: Rule, reference: Reference, name: str) -> bool:
    """Names TorchTrainer in an annotation.

    Args:
        context: The module.
        rule: The rule for uses of its class that construct nothing.
        reference: Such a use.
        name: The name of the class, for people.

    Returns:
        Whether the class is named in an annotation.
    """
    if not in_annotation(context.module, reference.node):
        return False
    made = context.converts(rule, reference.node, f"{name} is gone from Ray >= 2.9; now TorchTrainer.")
    if made:
        context.plan.need_import("ray.train.torch", "TorchTrainer", near=reference.binding.statement)
        context.plan.replace(reference.node, "TorchTrainer")
    context.handle(reference, gone=made)
    return True

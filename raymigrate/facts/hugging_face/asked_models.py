"""Models that are loaded to predict something, and are not trained."""

import ast

from raymigrate.facts.syntax.module import Module

PIPELINES = ("transformers.pipeline", "transformers.pipelines.pipeline")
ASKS = frozenset({"eval", "generate"})
# What else is done with a model that nobody trains; a loop over batches calls it too, so that this alone shows nothing.
HARMLESS = frozenset({"config", "cpu", "cuda", "device", "dtype", "generation_config", "half", "name_or_path", "to"})


def is_only_asked(module: Module, made: ast.expr) -> bool:
    """Whether a model is seen to be put to use alone: `model.eval()`, `model.generate(...)`, a pipeline with it.

    Args:
        module: The module.
        made: What loads the model.
    """
    value, found = made, set[bool | None]()
    while (method := _method_of(module, value)) is not None and method.attr in {"eval", *HARMLESS}:
        found.add(True if method.attr == "eval" else None)
        value = module.parent_of[method]  # type: ignore[assignment]
    name = module.name_of(value)
    uses = module.uses_of(name) if name is not None and module.is_bound_once(name) else [value]
    found |= {_asks(module, use) for use in uses}
    return True in found and False not in found


def _method_of(module: Module, value: ast.expr) -> ast.Attribute | None:
    """The method that is called on a value."""
    outer = module.parent_of[value]
    return outer if isinstance(outer, ast.Attribute) and module.calling(outer) is not None else None


def _asks(module: Module, use: ast.expr) -> bool | None:
    """Whether a use of a model asks it for something: None where that is open, False where it may be trained."""
    outer = module.parent_of[use]
    if isinstance(outer, ast.Attribute):
        return True if outer.attr in ASKS else None if outer.attr in HARMLESS else False
    call = module.parent_of[outer] if isinstance(outer, ast.keyword) else outer
    if isinstance(call, ast.Call):
        return None if call.func is use else module.qualified(call.func) in PIPELINES
    return None if isinstance(outer, ast.Expr) else False

"""Models that are loaded to predict something, and are not trained."""

import ast
from collections.abc import Sequence

from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import only_target
from raymigrate.facts.values import is_method_call
from raymigrate.facts.values.lineages import derived
from raymigrate.facts.values.own_classes import class_of_self

PIPELINES = ("transformers.pipeline", "transformers.pipelines.pipeline")
ASKS = frozenset({"eval", "generate", "push_to_hub", "save_pretrained"})
# What else is done with a model that nobody trains; a loop over batches calls it too, so that this alone shows nothing.
HARMLESS = frozenset({"config", "cpu", "cuda", "device", "dtype", "generation_config", "half", "name_or_path", "to"})


def is_only_asked(module: Module, made: ast.expr) -> bool:
    """Whether a model is seen to be put to use alone: `model.eval()`, `model.generate(...)`, a pipeline with it.

    Args:
        module: The module.
        made: What loads the model.
    """
    value, found = made, set[bool | None]()
    while (outer := _gives_it_on(module, value)) is not None:
        found.add(True if is_method_call(outer, "eval") else None)
        value = outer
    found |= {_asks(module, use) for use in _uses(module, value)}
    return True in found and False not in found


def _gives_it_on(module: Module, value: ast.expr) -> ast.Call | None:
    """The call that gives a model back as it was: `model.eval()`, `checkpoint.get_model(model)`."""
    method = _method_of(module, value)
    if method is not None:
        return module.parent_of[method] if method.attr in {"eval", *HARMLESS} else None  # type: ignore[return-value]
    outer = module.parent_of[value]
    if is_method_call(outer, "get_model"):
        return outer if value in outer.args else None
    return None


def _uses(module: Module, value: ast.expr) -> Sequence[ast.expr]:
    """Where a model is read: through its name, or through the attribute that its class keeps it in."""
    name = module.name_of(value)
    if name is not None:
        return [*module.uses_of(name)] if module.is_bound_once(name) else [value]
    kept = only_target(module.parent_of[value])
    home = class_of_self(module, kept.value) if isinstance(kept, ast.Attribute) else None
    if home is None or not isinstance(kept, ast.Attribute) or home.bases or derived(module).get(home) != [home]:
        return [value]
    reads = [*module.attributes(kept.attr)]
    is_own = len(module.stores(kept.attr)) == 1 and all(class_of_self(module, read.value) is home for read in reads)
    return [read for read in reads if read is not kept] if is_own else [value]


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

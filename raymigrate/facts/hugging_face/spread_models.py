"""Models that are loaded on several devices at once: `device_map="auto"`."""

import ast
from collections.abc import Iterable

from raymigrate.facts.hugging_face.models import PIPELINES
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import called_name, is_method_call

SPREADING = ("auto", "balanced", "balanced_low_0", "sequential")
LOADS = ("from_pretrained", "from_config")


def spread_by(module: Module, word: ast.keyword) -> str:
    """The word that lets accelerate spread a model; empty for any other keyword or map."""
    given = module.constant(word.value) if word.arg == "device_map" else None
    return given if isinstance(given, str) and given in SPREADING else ""


def loads_model(module: Module, call: ast.AST) -> bool:
    """Whether a call loads a model, or a pipeline with one."""
    if not isinstance(call, ast.Call):
        return False
    return module.qualified(call.func) in PIPELINES or is_method_call(call, *LOADS)


def makers_of(module: Module, models: Iterable[ast.expr]) -> set[ast.AST] | None:
    """The calls that make models, and those that make what they wrap; None where that is not seen.

    Args:
        module: The module.
        models: The models, or lists of them.
    """
    found = set[ast.AST]()
    waiting = list(models)
    while waiting:
        for source in module.origins(waiting.pop()):
            node = source.node
            if isinstance(node, (ast.List, ast.Tuple)):
                waiting += node.elts
                continue
            if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
                continue  # of a layer: Linear(4, 2)
            if not isinstance(node, ast.Call) or source.module is not module:
                return None
            if node not in found:
                found.add(node)
                if not loads_model(module, node):  # what wraps a model: get_peft_model(model, config)
                    waiting += node.args[:1]
                    waiting += [word.value for word in node.keywords if word.arg == "model"]
                elif called_name(module, node).startswith("peft."):
                    waiting += node.args[:1]
    return found

"""What backward() is called on: tensors with one number, as torch wants no other ones."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import reaching
from raymigrate.facts.values.numbers import is_number

SCALE = "scale"  # scaler.scale(loss).backward()
OF_TORCH = ("torch", "accelerate", "transformers", "ray.train.torch", "ray.train.huggingface")


@dataclass
class Trained:
    """The values of a module that gradients are made for.

    Args:
        nodes: Their expressions: what backward() gets, and what its names are given.
        attributes: Those that are attributes of names, `outputs.loss`: see `key_of`.
        models: The names of what gives such an attribute: `model` of `model(batch).loss`.
    """

    nodes: set[ast.expr] = field(default_factory=set)
    attributes: set[object] = field(default_factory=set)
    models: set[str] = field(default_factory=set)

    def has(self, module: Module, node: ast.expr) -> bool:
        """Whether a value is one of these, perhaps read again."""
        return node in self.nodes or (isinstance(node, ast.Attribute) and key_of(module, node) in self.attributes)


@kept
def trained(module: Module) -> Trained:
    """The values of a module that gradients are made for."""
    found = Trained()
    waiting = list(_given(module)) if _is_for_torch(module) else []
    while waiting:
        node = waiting.pop()
        if node not in found.nodes:
            found.nodes.add(node)
            waiting += _behind(module, node)
    attributes = [node for node in found.nodes if isinstance(node, ast.Attribute)]
    found.attributes = {key for node in attributes if (key := key_of(module, node)) is not None}
    calls = [source.node for node in attributes for source in module.origins(node.value)]
    found.models = {call.func.id for call in calls if isinstance(call, ast.Call) and isinstance(call.func, ast.Name)}
    return found


def key_of(module: Module, node: ast.Attribute) -> object:
    """What is the same for two attributes of one value, as far as the bindings of its name show it."""
    if not isinstance(node.value, ast.Name):
        return None
    bindings = tuple(binding.node for binding in reaching(module, node.value))
    return (node.attr, node.value.id, bindings) if bindings else None


def _is_for_torch(module: Module) -> bool:
    """Whether a module imports torch, or what is made for it: paddle and others have backward() too."""
    for statement in module.imports:
        names = [alias.name for alias in statement.names]
        if isinstance(statement, ast.ImportFrom):
            names = [] if statement.level else [f"{statement.module}.{name}" for name in names]
        if any(f"{name}.".startswith(f"{library}.") for name in names for library in OF_TORCH):
            return True
    return False


def _given(module: Module) -> Iterator[ast.expr]:
    """What `value.backward()`, `accelerator.backward(value)` and `scaler.scale(value).backward()` work on."""
    calls = [(call, method.value) for call, method in module.method_calls("backward")]
    calls += [(call, call.func) for call in module.calls("ray.train.torch.backward")]
    for call, owner in calls:
        value = call.args[0] if call.args else owner
        is_scaled = isinstance(value, ast.Call) and getattr(value.func, "attr", "") == SCALE and value.args
        yield value.args[0] if is_scaled and isinstance(value, ast.Call) else value


def _behind(module: Module, node: ast.expr) -> Iterator[ast.expr]:
    """What is a tensor with one number if a value is: what its name is given, and what is only scaled by numbers."""
    if isinstance(node, ast.Name):
        yield from filter(None, (module.assigned(binding.node) for binding in reaching(module, node)))
    elif isinstance(node, ast.BinOp):
        parts = (node.left, node.right)
        yield from (part for part, other in (parts, parts[::-1]) if is_number(module, other))

"""Which values are tensors of torch for sure, and whether they hold one number, as a loss does."""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from itertools import product

from raymigrate.facts.hugging_face.models import models_in
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import (
    Source,
    argument,
    called_name,
    is_call_by_name,
    is_method_call,
    keyword_argument,
    reaching,
)
from raymigrate.facts.values.items import collected, items_of
from raymigrate.facts.values.numbers import is_number

# Functions of torch.nn.functional, and classes of torch.nn, whose result is one number with reduction="mean" or "sum".
LOSSES = frozenset(
    {
        *("binary_cross_entropy", "binary_cross_entropy_with_logits", "cosine_embedding_loss", "cross_entropy"),
        *("ctc_loss", "gaussian_nll_loss", "hinge_embedding_loss", "huber_loss", "kl_div", "l1_loss", "mse_loss"),
        *("margin_ranking_loss", "multi_margin_loss", "multilabel_margin_loss", "multilabel_soft_margin_loss"),
        *("nll_loss", "poisson_nll_loss", "smooth_l1_loss", "soft_margin_loss", "triplet_margin_loss"),
        "triplet_margin_with_distance_loss",
    }
)
LOSS_CLASSES = frozenset(
    f"{kind}Loss"
    for kind in (
        *("BCE", "BCEWithLogits", "CTC", "CosineEmbedding", "CrossEntropy", "GaussianNLL", "HingeEmbedding", "Huber"),
        *("KLDiv", "L1", "MSE", "MarginRanking", "MultiLabelMargin", "MultiLabelSoftMargin", "MultiMargin", "NLL"),
        *("PoissonNLL", "SmoothL1", "SoftMargin", "TripletMargin", "TripletMarginWithDistance"),
    )
)
MAKERS = frozenset(["arange", "cat", "concat", "empty", "full", "ones", "rand", "randn", "stack", "tensor", "zeros"])
REDUCTIONS = frozenset(["amax", "amin", "max", "mean", "median", "min", "norm", "prod", "std", "sum", "var"])
SAME = frozenset(
    {
        *("abs", "clone", "contiguous", "cpu", "cuda", "detach", "double", "exp", "float", "half", "int", "log"),
        *("long", "pow", "sqrt", "square", "to"),
    }
)
GATHERS = frozenset({"gather", "gather_for_metrics"})  # of an Accelerator, from all workers
MOST_STEPS = 40  # from a value to what it is made of
SCALE = "scale"  # scaler.scale(loss).backward()
OF_TORCH = ("torch", "accelerate", "transformers", "ray.train.torch", "ray.train.huggingface")


class Kind(Enum):
    """What a value is; of a value that is neither, nothing is known."""

    ONE = "a tensor with one number"
    TENSOR = "a tensor"
    NUMBER = "a number"
    UNKNOWN = "something else"


def kinds_of(module: Module, node: ast.expr) -> frozenset[Kind]:
    """Everything that a value may be.

    Args:
        module: The module.
        node: The value.
    """
    return _Search().kinds(module, node) or frozenset({Kind.UNKNOWN})


def as_number(module: Module, node: ast.expr) -> str | None:
    """How to write the number that a value is or holds, with `$value` for the value; None where it may be none."""
    kinds = kinds_of(module, node)
    if not kinds <= {Kind.ONE, Kind.NUMBER}:
        return None
    mixed = "float($value)" if Kind.ONE in kinds else "$value"  # the total of a loop that begins as 0
    return "$value.item()" if kinds == {Kind.ONE} else mixed


class _Search:
    """One question; what leads back to itself adds nothing to the answer."""

    def __init__(self) -> None:
        self.seen: set[ast.AST] = set()

    def kinds(self, module: Module, node: ast.expr) -> frozenset[Kind]:
        found = [origin for origin in module.origins(node) if origin.node not in self.seen]
        self.seen.update(origin.node for origin in found)
        if len(self.seen) > MOST_STEPS:
            return frozenset({Kind.UNKNOWN})
        return frozenset(kind for origin in found for kind in self._of_origin(origin))

    def _of_origin(self, origin: Source) -> frozenset[Kind]:
        module, node = origin.module, origin.node
        found = frozenset({Kind.NUMBER}) if is_number(module, node) else self._made(module, node)
        unknown = found <= {Kind.UNKNOWN, Kind.TENSOR} and bool(found)
        return frozenset({Kind.ONE}) if unknown and _trained(module).has(module, node) else found

    def _made(self, module: Module, node: ast.expr) -> frozenset[Kind]:
        if isinstance(node, ast.BinOp):
            return _combined(self.kinds(module, node.left), self.kinds(module, node.right))
        if isinstance(node, ast.UnaryOp):
            return self.kinds(module, node.operand)
        if isinstance(node, ast.Name):
            return self._added_to(module, node)
        if isinstance(node, ast.Attribute):
            if node.attr == "data":
                return self.kinds(module, node.value) & {Kind.ONE, Kind.TENSOR} or frozenset({Kind.UNKNOWN})
            return frozenset({Kind.ONE if _is_loss_of_model(module, node) else Kind.UNKNOWN})
        return self._called(module, node) if isinstance(node, ast.Call) else frozenset({Kind.UNKNOWN})

    def _added_to(self, module: Module, name: ast.Name) -> frozenset[Kind]:
        """What comes of a name that is added to, `total += loss`, besides the values that it is given."""
        targets = [binding.node for binding in reaching(module, name)]
        steps = [module.parent_of.get(target) for target in targets if module.assigned(target) is None]
        added = [step for step in steps if isinstance(step, ast.AugAssign)]
        if not added or len(added) < len(steps):
            return frozenset({Kind.UNKNOWN})
        found = [self.kinds(module, step.value) for step in added]
        return frozenset(kind for kinds in found for kind in kinds if kind is not Kind.NUMBER)

    def _called(self, module: Module, call: ast.Call) -> frozenset[Kind]:
        home, _, name = called_name(module, call).rpartition(".")
        if home.startswith("torch.nn.functional") and name in LOSSES:
            return frozenset({_reduced(module, call)})
        if home == "torch" and name in MAKERS:
            return frozenset({Kind.ONE if name == "tensor" and _is_one(module, call) else Kind.TENSOR})
        if home == "torch" and name in REDUCTIONS and len(call.args) == 1 and not call.keywords:
            return frozenset({Kind.ONE})
        if is_call_by_name(call, "sum") and len(call.args) == 1:
            collections = collected(Source(module, call.args[0]))
            items = [item for collection in collections for item in items_of(collection)]
            return frozenset(kind for item in items for kind in self.kinds(item.module, item.node)) | {Kind.NUMBER}
        if (makers := [_loss_class(origin) for origin in module.origins(call.func)]) and all(makers):
            return frozenset(_reduced(module, maker) for maker in makers if maker is not None)
        return self._of_method(module, call) if isinstance(call.func, ast.Attribute) else frozenset({Kind.UNKNOWN})

    def _of_method(self, module: Module, call: ast.Call) -> frozenset[Kind]:
        assert isinstance(call.func, ast.Attribute)
        method, first = call.func.attr, call.args[0] if call.args else None
        if method in GATHERS and first is not None:
            return _tensors(self.kinds(module, first), Kind.TENSOR)
        if method in SAME:
            owner = self.kinds(module, call.func.value)
            return owner if owner <= {Kind.ONE, Kind.TENSOR} else frozenset({Kind.UNKNOWN})
        if method in REDUCTIONS and not call.args and not call.keywords:
            return _tensors(self.kinds(module, call.func.value), Kind.ONE)
        return frozenset({Kind.UNKNOWN})


def _tensors(kinds: frozenset[Kind], then: Kind) -> frozenset[Kind]:
    """What a method gives that tensors have: `then` of tensors, which an array of numpy may have as well."""
    return frozenset({then} if kinds and kinds <= {Kind.ONE, Kind.TENSOR} else {Kind.UNKNOWN})


def _combined(left: Iterable[Kind], right: Iterable[Kind]) -> frozenset[Kind]:
    """What an operator of arithmetic gives: a tensor if one of the two is."""
    return frozenset(_of_two({one, other}) for one, other in product(left or {Kind.NUMBER}, right or {Kind.NUMBER}))


def _of_two(kinds: set[Kind]) -> Kind:
    if not kinds & {Kind.ONE, Kind.TENSOR}:
        return Kind.UNKNOWN if Kind.UNKNOWN in kinds else Kind.NUMBER
    return Kind.TENSOR if kinds & {Kind.TENSOR, Kind.UNKNOWN} else Kind.ONE


def _loss_class(origin: Source) -> ast.Call | None:
    """The call that makes an object of a loss of torch.nn, where a value is one: `nn.MSELoss().to(device)` too."""
    module, node = origin.module, origin.node
    while is_method_call(node, *SAME):
        node = node.func.value
    home, _, name = called_name(module, node).rpartition(".")
    is_loss = home.startswith("torch.nn") and name in LOSS_CLASSES
    return node if is_loss and isinstance(node, ast.Call) else None


def gives_mean(module: Module, call: ast.Call) -> bool:
    """Whether a call is of a loss of torch that gives the mean of a batch."""
    home, _, name = called_name(module, call).rpartition(".")
    is_function = home == "torch.nn.functional" and name in LOSSES
    makers = [(module, call)] if is_function else [(o.module, _loss_class(o)) for o in module.origins(call.func)]
    return bool(makers) and all(maker is not None and _is_mean(home, maker) for home, maker in makers)


def _is_mean(module: Module, call: ast.Call) -> bool:
    given = keyword_argument(call, "reduction")
    is_mean = given is None or module.constant(given) == "mean"
    return is_mean and keyword_argument(call, "reduce", "size_average") is None and len(call.args) <= 3


def _reduced(module: Module, call: ast.Call) -> Kind:
    """What a loss gives, by its reduction; `reduce=` and `size_average=` are older ways to say it."""
    old = keyword_argument(call, "reduce", "size_average")
    given = keyword_argument(call, "reduction")
    is_one = given is None or module.constant(given) in ("mean", "sum")
    return Kind.ONE if old is None and is_one and len(call.args) <= 3 else Kind.TENSOR


def _is_one(module: Module, call: ast.Call) -> bool:
    data = argument(call, 0, "data")
    return data is not None and is_number(module, data)


def _is_loss_of_model(module: Module, node: ast.Attribute) -> bool:
    """Whether an attribute is the loss of what a model of transformers gave, or of one whose loss is trained on."""
    calls = [origin for origin in module.origins(node.value) if isinstance(origin.node, ast.Call)]
    return node.attr == "loss" and bool(calls) and all(_is_model(origin) for origin in calls)


def _is_model(origin: Source) -> bool:
    module, call = origin.module, origin.node
    assert isinstance(call, ast.Call)
    name = call.func.id if isinstance(call.func, ast.Name) else ""
    return name in _trained(module).models or bool(models_in(module, call.func))


@dataclass
class _Trained:
    """The values of a module that gradients are made for.

    Args:
        nodes: Their expressions: what backward() gets, and what its names are given.
        attributes: Those that are attributes of names, `outputs.loss`: see `_key_of`.
        models: The names of what gives such an attribute: `model` of `model(batch).loss`.
    """

    nodes: set[ast.expr] = field(default_factory=set)
    attributes: set[object] = field(default_factory=set)
    models: set[str] = field(default_factory=set)

    def has(self, module: Module, node: ast.expr) -> bool:
        """Whether a value is one of these, perhaps read again."""
        return node in self.nodes or (isinstance(node, ast.Attribute) and _key_of(module, node) in self.attributes)


@kept
def _trained(module: Module) -> _Trained:
    """The values of a module that gradients are made for."""
    found = _Trained()
    waiting = list(_given(module)) if _is_for_torch(module) else []
    while waiting:
        node = waiting.pop()
        if node not in found.nodes:
            found.nodes.add(node)
            waiting += _behind(module, node)
    attributes = [node for node in found.nodes if isinstance(node, ast.Attribute)]
    found.attributes = {key for node in attributes if (key := _key_of(module, node)) is not None}
    calls = [source.node for node in attributes for source in module.origins(node.value)]
    found.models = {call.func.id for call in calls if isinstance(call, ast.Call) and isinstance(call.func, ast.Name)}
    return found


def _key_of(module: Module, node: ast.Attribute) -> object:
    """What is the same for two attributes of one value, as far as the bindings of its name show it."""
    if isinstance(node.value, ast.NamedExpr):  # `(outputs := model(batch)).loss.backward()`
        return (node.attr, node.value.target.id, (node.value.target,))
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

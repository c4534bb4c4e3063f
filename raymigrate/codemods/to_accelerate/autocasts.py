"""autocast(): what it is given, and over which code it is."""

import ast
from collections.abc import Callable, Collection, Iterator
from functools import cached_property

from raymigrate.codemods.to_accelerate.conditions import ALWAYS, Condition, Conditions
from raymigrate.codemods.to_accelerate.rules import Refusal, check_nothing_is_unpacked
from raymigrate.codemods.to_accelerate.sides import Side
from raymigrate.codemods.to_accelerate.training import Training
from raymigrate.facts.syntax.annotations import in_annotation, in_type_test
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.scopes import FUNCTIONS
from raymigrate.facts.torch.gradients import switches_gradients_off
from raymigrate.facts.values import called_name, free_name, is_method_call, named_arguments, sources_here

PLACES = ("torch.amp", "torch.cuda.amp", "torch.cpu.amp")
AUTOCASTS = ("torch.autocast", *(f"{p}{m}.autocast" for p in PLACES for m in ("", ".autocast_mode")))
# What they take, in order (torch/amp/autocast_mode.py, torch/cuda/amp/).
BY_DEVICE, BY_NAME = ("device_type", "dtype", "enabled", "cache_enabled"), ("enabled", "dtype", "cache_enabled")
PRECISIONS = {"torch.bfloat16": "bf16", "torch.float16": "fp16", "torch.half": "fp16"}
NOTHING = "contextlib.nullcontext"


class Autocasts(Side):
    """The calls of autocast() in one training.

    Args:
        training: What is trained.
        conditions: The conditions on which they are used.

    Attributes:
        calls: Those that are not off.
        off: Those that always are: they stay around their code.
        chosen: Statements that are in half precision where that is used, though no autocast() is over them.
    """

    def __init__(self, training: Training, conditions: Conditions) -> None:
        super().__init__(training)
        self.conditions = conditions
        found = list(self.module.calls(*AUTOCASTS))
        for call in found:
            check_nothing_is_unpacked(call, "enabled")
        self.off = [call for call in found if self._enabled(call) == ALWAYS.opposite]
        self.calls = [call for call in found if call not in self.off]
        if not self.calls:
            self.calls, self.off = self.off, []
        self.chosen: list[ast.stmt] = []

    def check_names(self) -> None:
        """Checks that the names of autocast() and GradScaler are called, and nothing else.

        Raises:
            Refusal: If one of them is handed on or given another name, so that its calls are not seen.
        """
        for reference in self.module.references:
            name = reference.qualified
            if name not in AUTOCASTS and not (name.startswith("torch.") and name.endswith(".GradScaler")):
                continue
            node, outer = reference.node, self.module.parent_of[reference.node]
            is_type = in_annotation(self.module, node) or in_type_test(self.module, node)
            if is_type or (isinstance(outer, ast.Call) and outer.func is node):
                continue
            short = name.rpartition(".")[2]
            raise Refusal(node, f"what becomes of `{short}` here cannot be followed; call {short}() in place")

    def given(self, call: ast.Call) -> dict[str, ast.expr]:
        """What an autocast() is given."""
        return named_arguments(call, BY_NAME if self._is_of_device(call) else BY_DEVICE)

    def _is_of_device(self, call: ast.Call) -> bool:
        """Whether the name of an autocast() says for which device it is."""
        return called_name(self.module, call).startswith(("torch.cuda.", "torch.cpu."))

    # -- what it is given ----------------------------------------------------------------------

    def _enabled(self, call: ast.Call) -> Condition:
        flag = self.given(call).get("enabled")
        return self.conditions.of_test(flag) if flag is not None else ALWAYS

    def condition(self, call: ast.Call) -> Condition:
        """When an autocast() is used, and on.

        Raises:
            Refusal: If that depends on two conditions.
        """
        enabled, chosen = self._enabled(call), self._choice(call)
        if chosen is None:
            return enabled
        condition = self.conditions.of_test(chosen.test)
        condition = condition if call is chosen.body else condition.opposite
        if enabled != ALWAYS and self.conditions.key(enabled) != self.conditions.key(condition):
            raise Refusal(call, "autocast() is on by two conditions")
        return condition

    def _choice(self, call: ast.Call) -> ast.IfExp | None:
        """`autocast() if amp else nullcontext()` around a call of it."""
        outer = self.module.parent_of[call]
        if not isinstance(outer, ast.IfExp):
            return None
        other = outer.orelse if call is outer.body else outer.body
        is_nothing = called_name(self.module, other) == NOTHING
        return outer if is_nothing and not other.args else None  # type: ignore[attr-defined]

    def whole(self, call: ast.Call) -> ast.expr:
        """The expression in whose place accelerator.autocast() comes."""
        return self._choice(call) or call

    def kind(self, call: ast.Call, *, has_scaler: bool) -> str:
        """The `mixed_precision=` that does the same.

        Raises:
            Refusal: If it cannot be seen.
        """
        given = self.given(call)
        if "dtype" in given:
            kind = PRECISIONS.get(_type_named(self.module, given["dtype"]))
            if kind is None:
                raise Refusal(call, "the type of half precision of autocast() cannot be seen")
            return kind
        place = self._place(call)
        if place == "cpu":
            return "bf16"
        if place == "cuda" or has_scaler:
            return "fp16"
        raise Refusal(call, "the type of half precision of autocast() depends on the device; give its dtype=")

    def depends_on_device(self, call: ast.Call) -> bool:
        """Whether it computes in another type on a CPU than on a GPU."""
        return "dtype" not in self.given(call) and self._place(call) not in ("cpu", "cuda")

    def _place(self, call: ast.Call) -> object:
        if self._is_of_device(call):
            return called_name(self.module, call).split(".")[1]
        place = self.module.constant(self.given(call).get("device_type"))
        return place.partition(":")[0] if isinstance(place, str) else place

    # -- where it is on ------------------------------------------------------------------------

    @cached_property
    def _places(self) -> dict[ast.Call, list[ast.AST]]:
        """The statements and functions that each autocast() is over."""
        found: dict[ast.Call, list[ast.AST]] = {call: [] for call in (*self.calls, *self.off)}
        for node in [*self.module.of_type(ast.With), *self.module.of_type(ast.FunctionDef)]:
            for call in self._over(node):
                found[call].append(node)
        return found

    def _over(self, node: ast.AST) -> Iterator[ast.Call]:
        heads = [item.context_expr for item in node.items] if isinstance(node, ast.With) else []
        heads += getattr(node, "decorator_list", [])
        known = {*self.calls, *self.off}
        for head in heads:
            sources = sources_here(self.module, head)
            found = {part for source in (head, *sources) for part in ast.walk(source) if part in known}
            self._check_sources(head, sources, found)
            yield from found

    def _check_sources(self, head: ast.expr, sources: list[ast.expr], found: Collection[ast.Call]) -> None:
        """Refuses a name that stands for autocast() or for something else, where it is not seen when for which."""
        arms = {arm for call in found if (c := self._choice(call)) is not None for arm in (c, c.body, c.orelse)}
        others = [source for source in sources if source not in arms and not set(ast.walk(source)) & set(found)]
        if found and others:
            text = ast.unparse(head)
            raise Refusal(head, f"`{text}` is autocast() or something else; write autocast(enabled=...) for both")

    def entered(self, call: ast.Call) -> list[ast.expr]:
        """The names in heads of `with` by which an autocast() is entered: `ctx = autocast()`, `with ctx:`."""
        places = [place for place in self._places[call] if isinstance(place, ast.With)]
        heads = [item.context_expr for place in places for item in place.items]
        return [head for head in heads if not isinstance(head, (ast.Call, ast.IfExp)) and call in self._behind(head)]

    def _behind(self, head: ast.expr) -> set[ast.AST]:
        """The parts of all that the head of a `with` can stand for."""
        return {part for source in (head, *(s.node for s in self.module.origins(head))) for part in ast.walk(source)}

    def covers(self, node: ast.AST) -> bool:
        """Whether autocast() is over a piece of code, or over all calls of the function that it is in."""
        return self._is_in(node, self._half, all)

    def switches_off(self, node: ast.AST) -> bool:
        """Whether autocast(enabled=False) is over a piece of code, or over a call of the function that it is in."""
        return self._is_in(node, {place for call in self.off for place in self._places[call]}, any)

    @property
    def _half(self) -> set[ast.AST]:
        return {*self.chosen, *(place for call in self.calls for place in self._places[call])}

    def _is_in(
        self, node: ast.AST, places: set[ast.AST], how: Callable[[Iterator[bool]], bool], depth: int = 6
    ) -> bool:
        for outer in self.module.ancestors(node):
            if outer in places:
                return True
            if isinstance(outer, ast.FunctionDef):
                uses = self.module.uses_of(outer)
                return bool(uses and depth) and how(self._is_in(use, places, how, depth - 1) for use in uses)
        return False

    def trains_without(
        self, node: ast.AST, seen: frozenset[ast.AST] = frozenset(), *, is_in_loop: bool = False
    ) -> bool:
        """Whether code belongs to the steps of a training, with gradients, and no autocast() is over it there.

        Args:
            node: The code.
            seen: The functions that were gone up from.
            is_in_loop: Whether a loop that trains was met on the way.
        """
        for outer in self.module.ancestors(node):
            if outer in self._half or switches_gradients_off(outer):
                return False
            is_in_loop = is_in_loop or outer in self._loops
            if isinstance(outer, FUNCTIONS):
                uses = [] if outer in seen else self.module.uses_of(outer)
                if uses:
                    return any(self.trains_without(use, seen | {outer}, is_in_loop=is_in_loop) for use in uses)
        return is_in_loop

    def trains(self, call: ast.Call) -> bool:
        """Whether an autocast() is over code that trains; True where that cannot be seen."""
        places = self._places[call]
        return not places or any(map(self._is_over_training, places))

    def _is_over_training(self, place: ast.AST) -> bool:
        if switches_gradients_off(place):
            return False
        assert isinstance(place, (ast.With, ast.FunctionDef))
        return self.training.trains(place) or self.is_in_training(place.body[0])

    def is_in_training(self, node: ast.AST) -> bool:
        """Whether code belongs to the steps of a training, with gradients."""
        return self._is_in_training(node, frozenset())

    def _is_in_training(self, node: ast.AST, seen: frozenset[ast.AST]) -> bool:
        for outer in self.module.ancestors(node):
            if switches_gradients_off(outer):
                return False
            if outer in self._loops:
                return True
            if isinstance(outer, FUNCTIONS):
                uses = [] if outer in seen else self.module.uses_of(outer)
                return any(self._is_in_training(use, seen | {outer}) for use in uses)
        return False

    @cached_property
    def _loops(self) -> frozenset[ast.AST]:
        found = [self.training.training_loop(call) for call in self.training.backwards]
        return frozenset(loop.node for loop in found if loop is not None)


def _type_named(module: Module, node: ast.expr) -> str:
    """The type that a value is: `torch.float16`, `getattr(torch, "float16")`, `TYPES["half"]`; empty if unknown."""
    found = module.value(node)
    call = found if isinstance(found, ast.Call) else None
    if call is not None and free_name(module, call.func) == "getattr" and len(call.args) == 2:
        return f"{module.qualified(call.args[0])}.{module.constant(call.args[1])}"
    of_dict = (found.value, found.slice) if isinstance(found, ast.Subscript) else (None, None)
    if call is not None and is_method_call(call, "get") and call.args:
        of_dict = (call.func.value, call.args[0])
    if of_dict[0] is None or of_dict[1] is None:
        return module.qualified(found) or ""
    chosen = (module.entries(of_dict[0]) or {}).get(str(module.constant(of_dict[1])))
    return _type_named(module, chosen) if chosen is not None and chosen is not node else ""

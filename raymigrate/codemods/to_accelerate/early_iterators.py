"""Progress bars and iterators that are made of a DataLoader before that is prepared: they would give what is not."""

import ast
from collections.abc import Iterable, Iterator

from raymigrate.codemods.to_accelerate.item_givers import held
from raymigrate.codemods.to_accelerate.order import Order
from raymigrate.codemods.to_accelerate.rules import Refusal
from raymigrate.codemods.to_accelerate.training import Loop, Training
from raymigrate.codemods.to_accelerate.variables import Variable
from raymigrate.facts.syntax.named_lines import own_lines


def check_iterators(training: Training, order: Order, loaders: Iterable[Variable]) -> None:
    """Looks for loops over prepared loaders that go over something which was made of them before.

    Args:
        training: What is trained.
        order: What runs after things were prepared.
        loaders: The loaders that are.

    Raises:
        Refusal: If there is such a loop.
    """
    prepared = frozenset(loaders)
    for loop in training.loops:
        if not training.loaders_of(loop) & prepared or not order.holds(loop.node):
            continue
        for name, call in _made_of_them(training, loop):
            if not order.holds(call):
                line = own_lines(training.module, call)
                reason = f"`{name.id}` is made in {line} of `{training.module.source(loop.loaders[0][0])}`"
                raise Refusal(call, f"{reason}, before that is prepared; make it right before its loop")


def _made_of_them(training: Training, loop: Loop) -> Iterator[tuple[ast.Name, ast.Call]]:
    """The calls that made what a loop goes over where that has a name, each with this."""
    waiting: list[ast.expr] = [loop.node.iter]
    while waiting:
        for part in ast.walk(waiting.pop()):
            value = held(training.module, part) if isinstance(part, ast.Name) else None
            if isinstance(part, ast.Name) and isinstance(value, ast.Call) and training.unwrapped(part) is not part:
                waiting += value.args
                yield part, value

"""RM858: when processes end a training or lower its rates, each by what it has found itself."""

from __future__ import annotations

import ast

from raymigrate.codemods.to_accelerate.changes import Changes
from raymigrate.codemods.to_accelerate.rules import RM858
from raymigrate.codemods.to_accelerate.step_counters import counts_steps
from raymigrate.codemods.to_accelerate.training import PLATEAU, Loop, Training
from raymigrate.facts.values.bindings import reaching
from raymigrate.facts.values.moments import asks_now, is_agreed

ASKED_BY_EACH = (
    "Each process asks for the time or the disk itself and stops by its own answer: where the answers differ, the"
    " others wait for it for ever."
)
ASK_ONCE = "Let the main process ask, and give its answer to all: accelerate.utils.broadcast_object_list([answer])[0]."


class OwnDecisions:
    """What each process decides for itself.

    Args:
        training: What is trained.
        loops: The loops that train.
    """

    def __init__(self, training: Training, loops: list[Loop]) -> None:
        self.training = training
        self.module = training.module
        self.variables = training.variables
        self.loops = loops

    def tell(self, changes: Changes) -> None:
        """Plans the findings."""
        self._early_ends(changes)
        self._own_rates(changes)

    def _early_ends(self, changes: Changes) -> None:
        """Tells where processes could leave the loop over the epochs one by one, and wait for each other for ever."""
        inner = {loop.node for loop in self.training.loops}
        for end in [*self.module.of_type(ast.Break), *self.module.of_type(ast.Return)]:
            around = list(self.module.ancestors(end))
            loops = [parent for parent in around if isinstance(parent, (ast.For, ast.While))]
            if not loops or not self.training.trains(loops[0]):
                continue
            tests = [parent.test for parent in around[: around.index(loops[0])] if isinstance(parent, ast.If)]
            if any(not is_agreed(self.module, asked) for test in tests for asked in asks_now(self.module, test)):
                changes.manual(RM858, end, ASKED_BY_EACH, ASK_ONCE)
            if loops[0] in inner:
                continue
            names = [part for test in tests for part in ast.walk(test) if isinstance(part, ast.Name)]
            if any(self._is_of_one_process(name) for name in names):
                changes.manual(
                    RM858,
                    end,
                    "Each process decides by its own loss when to stop: the others then wait for it for ever.",
                    "Compare a value that is the same in all of them: accelerator.reduce(loss, reduction='mean').",
                )

    def _own_rates(self, changes: Changes) -> None:
        """Tells where processes could lower their learning rates one by one."""
        for call in self.training.method_calls("step"):
            assert isinstance(call.func, ast.Attribute)
            makers = [m for v in self.variables.of(call.func.value) for m in self.training.schedulers.get(v, ())]
            is_plateau = any((self.module.qualified(maker.func) or "").endswith(PLATEAU) for maker in makers)
            names = [part for value in call.args for part in ast.walk(value) if isinstance(part, ast.Name)]
            if is_plateau and any(self._is_of_one_process(name) for name in names):
                changes.manual(
                    RM858,
                    call,
                    "Each process lowers its learning rate by its own loss, so that the rates differ.",
                    "Give it a value that is the same in all of them: accelerator.reduce(loss, reduction='mean').",
                )

    def _is_of_one_process(self, name: ast.Name) -> bool:
        """Whether a value is made of what a training loop has added up, or of its last loss."""
        sources = [source.node for source in self.module.origins(name) if source.module is self.module]
        parts = [part for node in [name, *sources] for part in ast.walk(node) if isinstance(part, ast.Name)]
        loops = [loop.node for loop in self.loops]
        for part in parts:
            bound = [binding.node for binding in reaching(self.module, part)]  # not those of another use of the name
            added = [node for node in bound if not counts_steps(self.module, node)]
            if any(self.module.inside(node, loop) for node in added for loop in loops if node is not loop.target):
                return True
        return False

"""RM858: when processes end a training or lower its rates, each by what it has found itself."""

import ast
from functools import cached_property

from raymigrate.codemods.to_accelerate.changes import Changes
from raymigrate.codemods.to_accelerate.one_process import ADDS_UP, OneProcess, whole
from raymigrate.codemods.to_accelerate.rules import RM858
from raymigrate.codemods.to_accelerate.sides import Side
from raymigrate.codemods.to_accelerate.training import PLATEAU, Loop, Training
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import is_assignment
from raymigrate.facts.syntax.scopes import Scope
from raymigrate.facts.values import all_arguments, called_name, class_named, free_name, is_method_call, sources_here
from raymigrate.facts.values.bindings import reaching
from raymigrate.facts.values.moments import asks_now, is_agreed

ASKED_BY_EACH = (
    "Each process asks for the time or the disk itself and stops by its own answer: where the answers differ, the"
    " others wait for it for ever."
)
ASK_ONCE = "Let the main process ask, and give its answer to all: accelerate.utils.broadcast_object_list([answer])[0]."


class OwnDecisions(Side):
    """What each process decides for itself.

    Args:
        training: What is trained.
        loops: The loops that train.
        sums: What they add up.
    """

    def __init__(self, training: Training, loops: list[Loop], sums: OneProcess) -> None:
        super().__init__(training)
        self.loops = loops
        self.sums = sums

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
            names = [name for test in tests for name in _names(test)]
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
            is_plateau = any(called_name(self.module, maker).endswith(PLATEAU) for maker in makers)
            names = [name for value in call.args for name in _names(value)]
            if is_plateau and any(self._is_of_one_process(name) for name in names):
                changes.manual(
                    RM858,
                    call,
                    "Each process lowers its learning rate by its own loss, so that the rates differ.",
                    "Give it a value that is the same in all of them: accelerator.reduce(loss, reduction='mean').",
                )

    def _is_of_one_process(self, name: ast.Name) -> bool:
        """Whether a value is made of what a training loop has added up, or of its last loss, or changes by them."""
        waiting, seen = [name], set[ast.AST]()
        while waiting:
            part = waiting.pop()
            bound = [binding.node for binding in reaching(self.module, part)]  # not those of another use of the name
            own = [node for node in bound if not self._is_of_all(part, node)]
            if part in seen or (bound and not own):
                continue
            seen.add(part)
            added = [node for node in own if not _counts_steps(self.module, node)]
            if any(self._is_of_batches(node, loop) for node in added for loop in self.loops):
                return True
            if (part.id, self.module.bound_in(part)) in self._filled and not self._is_counted(part):
                return True
            given = [self.module.statement(node) for node in own]
            sources = [
                *sources_here(self.module, part),
                *(each.value for each in given if is_assignment(each)),
            ]
            conditions = [test for node in own for test in self._conditions(node)]
            waiting += [
                other for node in (*sources, *conditions, *self._told(part), *self._put(part)) for other in _names(node)
            ]
        return False

    def _is_of_batches(self, binding: ast.AST, loop: Loop) -> bool:
        """Whether a loop gives a name something of each batch: not its number, nor what is asked after some batches.

        Where an `if` in the loop gives the name a value, as after an evaluation, what this is made of decides.
        """
        if not self.module.inside(binding, loop.node) or binding in (loop.node.target, loop.index):
            return False
        around = [parent for parent in self.module.ancestors(binding) if isinstance(parent, ast.If)]
        is_chosen = any(self.module.inside(parent, loop.node) for parent in around)
        return not (is_chosen and isinstance(self.module.statement(binding), ast.Assign))

    @cached_property
    def _inner(self) -> list[ast.For]:
        return [loop.node for loop in self.loops]

    @cached_property
    def _filled(self) -> set[tuple[str, Scope | None]]:
        """What a training loop puts its losses into: a list, a slot of a tensor, an object that counts."""
        targets = [whole(target) for loop in self.loops for _, target in self.sums.added(loop)]
        return {(target.id, self.module.bound_in(target)) for target in targets if isinstance(target, ast.Name)}

    def _is_counted(self, name: ast.Name) -> bool:
        """Whether only the number of items is asked for: each process goes through as many batches."""
        call = self.module.parent_of[name]
        return isinstance(call, ast.Call) and free_name(self.module, call.func) == "len"

    @cached_property
    def _puts(self) -> dict[tuple[str, Scope | None], list[tuple[ast.AST, ast.expr | None, list[ast.expr]]]]:
        """What is put into lists and dicts: by the name of those, the place, the key, and what it is."""
        found: dict[tuple[str, Scope | None], list[tuple[ast.AST, ast.expr | None, list[ast.expr]]]] = {}
        for slot in self.module.of_type(ast.Subscript):
            statement = self.module.parent_of[slot]
            if isinstance(slot.ctx, ast.Store) and isinstance(statement, (ast.Assign, ast.AugAssign)):
                if isinstance(root := whole(slot), ast.Name):
                    key = slot.slice if slot.value is root else None
                    found.setdefault((root.id, self.module.bound_in(root)), []).append((slot, key, [statement.value]))
        for call in self.module.of_type(ast.Call):
            if is_method_call(call, "append", "extend") and isinstance(root := whole(call.func.value), ast.Name):
                found.setdefault((root.id, self.module.bound_in(root)), []).append((call, None, call.args))
        return found

    def _put(self, name: ast.Name) -> list[ast.expr]:
        """What is put into a list or dict between the loops over the batches, and the conditions for that."""
        asked = self.module.parent_of[name]
        wanted = self.module.constant(asked.slice) if isinstance(asked, ast.Subscript) else ...
        found = []
        for place, key, values in self._puts.get((name.id, self.module.bound_in(name)), ()):
            written = self.module.constant(key) if key is not None else ...
            if self._is_of_all(name, place) or (... not in (wanted, written) and wanted != written):
                continue
            is_inside = any(self.module.inside(place, loop) for loop in self._inner)  # those are told by `_filled`
            found += [*(() if is_inside or self._is_counted(name) else values), *self._conditions(place)]
        return found

    def _is_of_all(self, name: ast.Name, bound: ast.AST) -> bool:
        """Whether a name holds what the script adds up over all processes: in place, or by a function of its own."""
        here = self.module.function(name)
        for call in self.module.calls(*ADDS_UP):
            if self.module.function(call) is here and any(n.id == name.id for n in _names(call.args[0])):
                return True
        statement = self.module.statement(bound)
        return any(self.sums.adds_up(part) for part in ast.walk(statement) if isinstance(part, ast.Call))

    def _conditions(self, bound: ast.AST) -> list[ast.expr]:
        """The conditions under which a loop over epochs changes a value, such as a counter or a flag."""
        around = list(self.module.ancestors(bound))
        place = next((n for n, parent in enumerate(around) if isinstance(parent, (ast.For, ast.While))), 0)
        return [parent.test for parent in around[:place] if isinstance(parent, ast.If)]

    def _told(self, name: ast.Name) -> list[ast.expr]:
        """What an object of a class of the script is told, where something of it is asked: `stopper(loss)`."""
        parent = self.module.parent_of[name]
        variables = self.variables.of(name)
        makers = [maker for variable in variables for maker in self.variables.makers(variable)]
        if not isinstance(parent, ast.Attribute) or variables & {*self.training.models, *self.training.optimizers}:
            return []
        if not any(isinstance(maker, ast.Call) and class_named(self.module, maker.func) for maker in makers):
            return []
        found = []
        for call in self.module.of_type(ast.Call):
            told = call.func.value if isinstance(call.func, ast.Attribute) else call.func
            if self.variables.of(told) & variables:
                found += all_arguments(call)
        return found


def _names(node: ast.AST) -> list[ast.Name]:
    return [part for part in ast.walk(node) if isinstance(part, ast.Name)]


def _counts_steps(module: Module, binding: ast.AST) -> bool:
    """Whether a name gets a constant, or one more than before: every process counts alike, so that it is equal in all.

    Args:
        binding: Where the name is bound.
    """
    statement = module.parent_of.get(binding)
    if isinstance(statement, ast.AugAssign):
        return isinstance(statement.value, ast.Constant)
    value = module.assigned(binding)
    if isinstance(value, ast.BinOp) and isinstance(binding, ast.Name):  # step = step + 1
        names = {side.id for side in (value.left, value.right) if isinstance(side, ast.Name)}
        return names == {binding.id} and ast.Constant in (type(value.left), type(value.right))
    return isinstance(value, ast.Constant)

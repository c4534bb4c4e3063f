"""What a project shows of an init function: where it is, which Trainers it returns, and which arguments these get."""

import ast
from collections.abc import Iterator
from functools import cached_property

from raymigrate.facts.projects.callees import Callee, callees
from raymigrate.facts.syntax.functions import returned_values
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import Source, argument, class_named, has_unpacking, is_none
from raymigrate.facts.values.keys import unpacked_value
from raymigrate.knowledge.legacy import TRAINING_ARGUMENTS


class InitFunctions:
    """The functions that can be the init function of a trainer, in whatever file of the project they are.

    Args:
        module: The module with the trainer.
        given: What the trainer is given.
        home: The file of the function that is given by its name; the module where there is none.

    Attributes:
        modules: That file, and those of others that it can be.
    """

    def __init__(self, module: Module, given: ast.expr, home: Module) -> None:
        self._called = list(callees(module, given))
        found = (called.module for called in self._called if called.function is not None)
        self.modules = list(dict.fromkeys([home, *found]))

    @cached_property
    def unfound(self) -> list[Callee]:
        """What the project does not show: an init function, or a function that makes the Trainer of one."""
        makers = (maker for made in self._returned for maker in _makers(made))
        called = [*self._called, *(maker for maker in makers if not _is_trainer(maker))]
        return [one for one in called if one.is_unknown]

    @cached_property
    def unseen_arguments(self) -> list[Source]:
        """What is in the place of the Trainer's arguments, or of the Trainer, where these are not seen to be made."""
        found = []
        for made in self._returned:
            makers = list(_makers(made))
            if not makers or not all(_is_trainer(maker) for maker in makers):
                found.append(made)
            else:
                found += _unseen_arguments(made)
        return found

    @cached_property
    def seen_arguments(self) -> list[Source] | None:
        """Where the arguments of every Trainer are made; None unless all are seen, and so come from no parser."""
        if not self._returned or self.unfound or self.unseen_arguments:
            return None
        return [source for made in self._returned for source in _arguments(made)]

    def given(self, position: int, name: str) -> list[Source]:
        """An argument of every Trainer, as it is written there; nothing unless each is seen to get it."""
        found = [(made.module, _given(made, position, name)) for made in self._returned]
        seen = [Source(module, node) for module, node in found if node is not None]
        return seen if len(seen) == len(found) and not self.unfound else []

    @cached_property
    def _returned(self) -> list[Source]:
        """What they return."""
        shown = [(called.module, called.function) for called in self._called if called.function is not None]
        values = [
            (home, value)
            for home, function in shown
            if not isinstance(function, ast.AsyncFunctionDef)
            for value in returned_values(home, function)
            if value is not None
        ]
        return [source for home, value in values for source in home.origins(value) if not is_none(source.node)]


def _makers(made: Source) -> Iterator[Callee]:
    """What a call calls; nothing for any other value."""
    if isinstance(made.node, ast.Call):
        yield from callees(made.module, made.node.func)


def _is_trainer(called: Callee) -> bool:
    """Whether a class is called that the project has, or one that is named as Trainers are."""
    name = called.module.naming(called.node)
    return name.endswith("Trainer") or class_named(called.module, called.node) is not None


def _unseen_arguments(made: Source) -> list[Source]:
    """Where the arguments of a Trainer come from, as far as they are not made in sight."""
    found = _arguments(made)
    if not found and isinstance(made.node, ast.Call) and has_unpacking(made.node):
        return [made]
    return [source for source in found if not _is_made(source)]


def _arguments(made: Source) -> list[Source]:
    """Where the arguments of a Trainer come from; nothing where it is not seen to be given any."""
    return made.module.origins(_given(made, 1, "args"))


def _given(made: Source, position: int, name: str) -> ast.expr | None:
    """An argument of a Trainer, which may be unpacked into its call."""
    trainer = made.node
    if not isinstance(trainer, ast.Call):
        return None
    return argument(trainer, position, name) or unpacked_value(made.module, trainer, name)


def _is_made(arguments: Source) -> bool:
    """Whether arguments are made by a class that is known, or are none at all."""
    module, node = arguments.module, arguments.node
    if not isinstance(node, ast.Call):
        return is_none(node)
    return module.qualified(node.func) in TRAINING_ARGUMENTS or class_named(module, node.func) is not None

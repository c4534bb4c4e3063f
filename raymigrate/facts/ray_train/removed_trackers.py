"""Which TrainingArguments went to Ray's legacy Transformers trainer, which removed all trackers from its Trainer.

It did so whatever report_to said (docs/semantics/legacy-transformers.md), so nothing that its TrainingArguments leave
out was ever logged. What the tool made of such a trainer is known by its callback, which reports when training ends.
"""

import ast
from collections.abc import Iterator
from functools import cached_property

from raymigrate.facts.projects.places import Places, functions_behind
from raymigrate.facts.projects.project_uses import names_any, uses_of
from raymigrate.facts.ray_train.trainers import (
    classes_behind,
    is_named_as_trainer,
    is_transformers_trainer,
    library_bases,
)
from raymigrate.facts.syntax.annotations import in_annotation
from raymigrate.facts.syntax.calls import Grouped, grouped
from raymigrate.facts.syntax.definitions import Definition
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import is_assignment, only_target, targets_of
from raymigrate.facts.syntax.scopes import FunctionNode
from raymigrate.facts.values import all_arguments, argument, class_named, is_method_call
from raymigrate.facts.values.constructors import may_call_own_class
from raymigrate.facts.values.keys import unpacked_value
from raymigrate.knowledge.legacy import HF, TRANSFORMERS_TRAINERS

INIT = "trainer_init_per_worker"
REPORTS = f"{HF}.transformers.RayTrainReportCallback"
# What stands in some file of a project with such a trainer, or with what the tool made of one.
OF_LEGACY_JOBS = (*sorted({name.rpartition(".")[2] for name in TRANSFORMERS_TRAINERS}), "RayTrainReportCallback")
AT_THE_END = {"on_epoch_end", "on_train_end"}  # methods of the callback that converted jobs carry


class TrackerUse:
    """Tells of the TrainingArguments of a module whether the Trainer that got them had trackers.

    Args:
        places: Those of the module.
    """

    def __init__(self, places: Places) -> None:
        self.module = places.module
        self.places = places
        self._others: dict[Module, TrackerUse] = {}

    def had_none(self, arguments: ast.Call) -> bool:
        """Whether the legacy trainer got them, or may have, in this file or in another one of the project."""
        getting = self.getting(arguments)
        if self.runs_legacy(arguments) or any(self.runs_legacy(trainer) for trainer in getting):
            return True
        if self.has_legacy and not getting:
            return True
        return self._handed_to_legacy(arguments) or self._used_by_legacy(arguments)

    def getting(self, arguments: ast.Call) -> list[ast.Call]:
        """The calls of the module that make a Trainer with them."""
        return self._getting.get(arguments, [])

    @cached_property
    def _getting(self) -> Grouped:
        return grouped((trainer, dict.fromkeys(_given(self.module, trainer))) for trainer in self.trainers)

    @cached_property
    def has_legacy(self) -> bool:
        """Whether the module has a legacy Transformers trainer, or what the tool made of one."""
        own = self._calls_of_own_trainers
        return bool(self.module.references_within(*TRANSFORMERS_TRAINERS) or self._converted or own)

    def trains_as_before(self, call: ast.Call) -> bool:
        """Whether a trainer is one that the tool made of a legacy Transformers trainer."""
        given = argument(call, 0, "train_loop_per_worker") or unpacked_value(self.module, call, "train_loop_per_worker")
        return any(function in self._converted for function in functions_behind(self.module, given))

    def runs_legacy(self, node: ast.AST) -> bool:
        """Whether code may run for a legacy trainer of the module."""
        ancestors = list(self.module.ancestors(node))
        is_inside = any(outer in self._of_legacy for outer in ancestors)
        return is_inside or self._hides_functions or any(outer in self._legacy_calls for outer in ancestors)

    @cached_property
    def _legacy_calls(self) -> list[ast.Call]:
        """The calls that make legacy trainers."""
        uses = (reference.node for reference in self.module.references_within(*TRANSFORMERS_TRAINERS))
        calls = ((use, self.module.parent_of[use]) for use in uses)
        return [call for use, call in calls if isinstance(call, ast.Call) and call.func is use]

    @cached_property
    def _calls_of_own_trainers(self) -> list[ast.Call]:
        """The calls that make an object of a class of the project that is derived from a legacy trainer."""
        called = ((call, class_named(self.module, call.func)) for call in may_call_own_class(self.module))
        return [
            call
            for call, own in called
            if own is not None and not TRANSFORMERS_TRAINERS.isdisjoint(library_bases(*own))
        ]

    @cached_property
    def _of_legacy(self) -> set[ast.AST]:
        """The functions of the module that run for legacy trainers, with those that they call."""
        given = [self._init(call) for call in self._legacy_calls]
        for call in self._calls_of_own_trainers:  # which may take the function by any name
            given += all_arguments(call)
        inits = (function for node in given for function in functions_behind(self.module, node))
        return {reached for function in (*inits, *self._converted) for reached in self.places.reached_from(function)}

    @cached_property
    def _hides_functions(self) -> bool:
        """Whether a legacy trainer has a function of which the module does not show what it is."""
        used = [reference.node for reference in self.module.references_within(*TRANSFORMERS_TRAINERS)]
        calling = {call.func for call in self._legacy_calls}
        if any(node not in calling and not in_annotation(self.module, node) for node in used if _is_use(node)):
            return True
        are_seen = all(self._is_seen(self._init(call)) for call in self._legacy_calls)
        return not are_seen or not all(self._is_seen_trainer(callback) for callback in self._callbacks)

    def _is_seen(self, init: ast.expr | None) -> bool:
        """Whether a function is defined in the module, or in another file, which then is asked about its own."""
        if init is None:
            return False
        return any(functions_behind(self.module, init)) or self.module.elsewhere(init) is not None

    def _is_seen_trainer(self, callback: ast.Call) -> bool:
        """Whether the Trainer that is given a callback is made in sight."""
        adding = self.module.parent_of[callback]
        if not isinstance(adding, ast.Call) or not isinstance(adding.func, ast.Attribute):
            return False
        made = self.module.origins(adding.func.value)
        return all(isinstance(one.node, ast.Call) and _is_trainer(one.module, one.node.func) for one in made)

    def _init(self, call: ast.Call) -> ast.expr | None:
        """The function that a legacy trainer is given."""
        restores = is_method_call(call, "restore")
        return argument(call, int(restores), INIT) or unpacked_value(self.module, call, INIT)

    @cached_property
    def _converted(self) -> list[FunctionNode]:
        """The functions that give a Trainer the callback of converted jobs."""
        return [function for call in self._callbacks if (function := self.module.function(call)) is not None]

    @cached_property
    def _callbacks(self) -> list[ast.Call]:
        """The calls that make the callback of converted jobs."""
        return [call for call in may_call_own_class(self.module) if _is_of_converted(self.module, call.func)]

    @cached_property
    def trainers(self) -> list[ast.Call]:
        """The calls that make a Trainer of transformers."""
        own = set(may_call_own_class(self.module))
        calls = ((call, self.module.qualified(call.func)) for call in self.module.of_type(ast.Call))
        return [call for call, name in calls if (name or call in own) and _is_trainer(self.module, call.func)]

    def _handed_to_legacy(self, arguments: ast.Call) -> bool:
        """Whether they go to a function of another file that has a legacy trainer, at once or by a name."""
        target = only_target(self.module.parent_of[arguments])
        places: list[ast.expr] = [arguments]
        if isinstance(target, ast.Name):
            places += self.module.uses_of(target)
        around = (node for place in places for node in self.module.ancestors(place))
        calls = [node for node in around if isinstance(node, ast.Call)]
        found = (self.module.elsewhere(call.func) for call in dict.fromkeys(calls))
        return any(called is not None and self._of(called.module).has_legacy for called in found)

    def _used_by_legacy(self, arguments: ast.Call) -> bool:
        """Whether what other files do with the code may be for a legacy trainer of theirs."""
        project = self.module.project
        if project is None or not self.module.path:
            return False
        if not names_any(project, project.folder(self.module.path), *OF_LEGACY_JOBS):
            return False  # which saves following a name that hundreds of files have
        todo, seen = list(_owners(self.module, arguments)), set[tuple[str, str]]()
        while todo:
            current = todo.pop()
            key = (project.real(current.module.path), current.name)
            if key in seen:
                continue
            seen.add(key)
            if self._extends_legacy(current):
                return True
            uses = uses_of(project, current)
            if any(not path.endswith(".py") for path in uses.unclear):  # a notebook, which may do anything with it
                return True
            for user, read in uses.reads:
                if user.path != self.module.path and self._of(user).may_use(read):
                    return True
                todo += _owners(user, read)
        return False

    def _extends_legacy(self, definition: Definition) -> bool:
        """Whether a class is made from one of another file with a legacy trainer, which may be given its methods."""
        found = [(definition.module, definition.node)]
        for home, own in found:  # which grows meanwhile
            if home is not self.module and home is not definition.module and self._of(home).has_legacy:
                return True
            bases = own.bases if isinstance(own, ast.ClassDef) else []
            behind = (base for node in bases for base in classes_behind(home, node))
            found += [base for base in behind if not isinstance(base, str) and base not in found]
        return False

    def may_use(self, read: ast.expr) -> bool:
        """Whether something that the module imports may be for its legacy trainers: all but a call for its own sake."""
        call = self.module.calling(read)
        is_call = call is not None and self.module.is_statement(call)
        return self.has_legacy and (not is_call or self.runs_legacy(read))

    def _of(self, module: Module) -> "TrackerUse":
        if module not in self._others:
            self._others[module] = TrackerUse(Places(module))
        return self._others[module]


def _is_use(node: ast.AST) -> bool:
    return isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load)


def _given(module: Module, trainer: ast.Call) -> list[ast.expr]:
    """What a Trainer is given, its TrainingArguments among it."""
    given = [*trainer.args, *(keyword.value for keyword in trainer.keywords if keyword.arg)]
    given += [value] if (value := unpacked_value(module, trainer, "args")) is not None else []
    return [source.node for value in given for source in module.origins(value)]


def _is_trainer(module: Module, made: ast.expr) -> bool:
    """Whether a class is a Trainer of transformers or trl, or one derived from it."""
    if is_named_as_trainer(module.qualified(made) or ""):
        return True
    own = class_named(module, made)
    return own is not None and is_transformers_trainer(*own)


def _is_of_converted(module: Module, made: ast.expr) -> bool:
    """Whether a class is the callback that the tool gives a converted job."""
    own = class_named(module, made)
    if own is None or REPORTS not in library_bases(*own):
        return False
    return {node.name for node in own[1].body if isinstance(node, ast.FunctionDef)} >= AT_THE_END


def _owners(module: Module, node: ast.AST) -> Iterator[Definition]:
    """The function, class or variables at the top of a module that a node is part of."""
    around = [node, *module.ancestors(node)]
    top = around[-2] if len(around) > 1 else None
    if isinstance(top, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield Definition(module, top, top.name)
    elif is_assignment(top):
        yield from (Definition(module, target, target.id) for target in targets_of(top) if isinstance(target, ast.Name))

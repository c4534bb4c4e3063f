"""What moving would put into another order: names that get several values, and objects that are changed.

What stays runs before all that moves. So `size = 8`, a loader, `size = 16`, another loader trained with 16 in both, if
the two numbers stayed with the driver: there a name has its last value when the training starts. What gives a name
another value behind a step that moves moves too, and so does what reads an object behind a step that moves and changes
it.
"""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

from raymigrate.codemods.to_ray.own_objects import is_changed, is_handed_on
from raymigrate.codemods.to_ray.roles import Mixed, Role
from raymigrate.codemods.to_ray.script import DEFINITIONS, Script
from raymigrate.codemods.to_ray.statements import Roles
from raymigrate.facts.syntax.scopes import FUNCTIONS, Binding, Scope

IMPORTS = (ast.Import, ast.ImportFrom)
VALUE_LATE = (
    "it gives `{name}` another value after a step that moves and uses the one before, but stays with the driver, which"
    " comes first; use another name"
)
CHANGE_LATE = (
    "it uses `{name}` after a step that moves, and one of the two changes it, but stays with the driver, which comes"
    " first; use an object of its own"
)
END_LATE = (
    "what has to move may return before it, but it stays with the driver, which carries it out all the same; take the"
    " `return` out"
)
GLOBAL = "`{name}` gets its value in what has to move, and a function declares it global; let the function return it"
PARTED = (
    "`{name}` is global here, and gets a value that what reads it elsewhere would not find: a worker has variables of"
    " its own; hand the value over as an argument"
)


def roles_of(script: Script, trains: Iterable[ast.AST]) -> Roles:
    """Where each step of a script goes, so that every step finds the values that it found before.

    Args:
        script: The script.
        trains: What trains: the calls, wherever they are.

    Raises:
        Mixed: If a step cannot be told to belong to one side.
    """
    trains, order, late = list(trains), _Order(script), dict[ast.stmt, str]()
    while True:
        roles = Roles(script, trains, late)
        found = {step: message for step, message in order.late(roles) if step not in late}
        if not script.copied.isdisjoint(found):
            return roles_of(replace(script, copied=frozenset()), trains)
        if not found:
            _refuse_globals(script, roles)
            return roles
        late |= found


def release(script: Script, roles: Roles, trained: ast.stmt | None) -> None:
    """Gives the driver back what comes last, as `Roles.release`, unless it uses what the workers have changed.

    Args:
        script: The script.
        roles: Where each of its steps goes.
        trained: The step that trains.
    """
    before = dict(roles.of)
    roles.release(trained)
    if roles.of != before and (any(_Order(script).late(roles)) or _parted(script, roles)):
        roles.of = before


@dataclass
class _Uses:
    """The steps that have to do with a name.

    Args:
        binds: Those that give it a value.
        changes: Those that change what it stands for.
        reads: Those that read it.
    """

    binds: set[ast.stmt] = field(default_factory=set)
    changes: set[ast.stmt] = field(default_factory=set)
    reads: set[ast.stmt] = field(default_factory=set)

    def kinds(self) -> tuple[set[ast.stmt], ...]:
        """The three, in one order."""
        return self.binds, self.changes, self.reads


class _Order:
    """Knows what each step does with the names of a script, when it runs and by the functions that it calls."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.module = script.module

    def late(self, roles: Roles) -> Iterator[tuple[ast.stmt, str]]:
        """The steps that do not move, and have to: each with why the script cannot be moved if it cannot."""
        last = max(map(self.script.number, roles.moved()), default=0)
        yield from self._behind_end(roles)
        for (name, scope), uses in self._uses.items():
            binders = self._at_once[name, scope].binds
            local = any(roles.of[step].moves and self.script.scope(step) is scope for step in binders)
            bound, read, bound_there, changed = self._is_given(name, scope), False, False, False
            for step in self.script.steps[: self._end(binders)]:
                binds, changes, reads = (step in kind for kind in uses.kinds())
                if roles.of[step].moves:
                    read |= bound and reads
                    bound_there |= binds
                    changed |= bound and changes
                elif roles.of[step] is not Role.LAUNCHER and (binds or changes or reads):
                    is_before = self.script.number(step) < last
                    changed &= is_before or not binds or reads  # else the driver has an object of its own from here on
                    is_split = read or bound_there or changed or (local and not isinstance(step, IMPORTS))
                    if is_before and binds and is_split:
                        yield step, VALUE_LATE.format(name=name)
                    elif (changed and reads) or (is_before and changes and (read or bound_there or changed)):
                        yield step, CHANGE_LATE.format(name=name)
                bound |= binds

    def _end(self, binders: set[ast.stmt]) -> int:
        """Up to where the order counts of steps with a name: where workers have copies, up to their last change."""
        is_copied = bool(binders) and binders <= self.script.copied
        return 1 + max(map(self.script.number, self.script.copied)) if is_copied else len(self.script.steps)

    def _behind_end(self, roles: Roles) -> Iterator[tuple[ast.stmt, str]]:
        """The steps of `main` that the driver would carry out behind the workers, who may have ended it before."""
        moved = [step for step in roles.moved() if self.script.is_in_main(step)]
        if any(map(self.script.may_end_main, moved)):
            for step in roles.staying(Role.DRIVER):
                if self.script.is_in_main(step) and self.script.number(step) > self.script.number(moved[-1]):
                    yield step, END_LATE

    def _is_given(self, name: str, scope: Scope) -> bool:
        """Whether a name has a value before the first step: a parameter of `main`."""
        return any(isinstance(binding.node, ast.arg) for binding in scope.bindings[name])

    @cached_property
    def _uses(self) -> dict[tuple[str, Scope], _Uses]:
        """What the steps do with the names for which their order counts, functions that they call included."""
        found = dict[tuple[str, Scope], _Uses]()
        for key, at_once in self._at_once.items():
            later = self._later[key]
            writes = [step for uses in (at_once, later) for step in uses.binds | uses.changes]
            if len(writes) < 2 or self._is_one_import(*key):  # a name that gets one value has it in any order
                continue
            found[key] = _Uses(
                *(now | self._callers(then) for now, then in zip(at_once.kinds(), later.kinds(), strict=True))
            )
            found[key].changes |= found[key].binds - at_once.binds  # by a function that declares it global
        return found

    def _is_one_import(self, name: str, scope: Scope) -> bool:
        """Whether a name is that of one thing that is imported, be it in several cells."""
        return len({binding.qualified for binding in scope.bindings[name]}) == 1 and self._is_import(name, scope)

    @staticmethod
    def _is_import(name: str, scope: Scope) -> bool:
        return any(binding.qualified is not None for binding in scope.bindings[name])

    def _callers(self, definitions: set[ast.stmt]) -> set[ast.stmt]:
        """The steps that may run code of functions, or of what these steps make of lambdas: by any name they have."""
        callers, waiting, seen = set[ast.stmt](), list(definitions), set(definitions)
        callers |= {step for step in definitions if not isinstance(step, DEFINITIONS)}
        while waiting:
            step = waiting.pop()
            scope = self.script.scope(step)
            for name in self.script.bound(step):
                for reader in self.script.readers(name, scope):
                    if not isinstance(reader, DEFINITIONS):
                        callers.add(reader)
                    if reader not in seen and (isinstance(reader, DEFINITIONS) or not self._only_calls(reader, step)):
                        seen.add(reader)
                        waiting.append(reader)
        return callers

    def _only_calls(self, reader: ast.stmt, definition: ast.stmt) -> bool:
        """Whether a step does no more with a function than to call it: what it binds is a result."""
        if not isinstance(definition, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return False
        uses = self.module.uses(definition.name, self.script.scope(definition))
        inside = [use for use in uses if self.script.step_of(use) is reader]
        parents = [self.module.parent_of[use] for use in inside]
        return all(
            isinstance(parent, ast.Call) and parent.func is use for parent, use in zip(parents, inside, strict=True)
        )

    # -- what stands where ---------------------------------------------------------------------

    @cached_property
    def _at_once(self) -> dict[tuple[str, Scope], _Uses]:
        """What each step does with names when it runs."""
        return self._by_time[0]

    @cached_property
    def _later(self) -> dict[tuple[str, Scope], _Uses]:
        """What the functions do with names that are defined in each step."""
        return self._by_time[1]

    @cached_property
    def _by_time(self) -> tuple[dict[tuple[str, Scope], _Uses], dict[tuple[str, Scope], _Uses]]:
        main = self.script.main
        scopes = [self.module.scope_of[self.module.tree], *([self.module.scope(main)] if main is not None else [])]
        keys = [(name, scope) for scope in scopes for name in scope.bindings]
        imported = {key for key in keys if self._is_import(*key)}
        found = {key: _Uses() for key in keys}, {key: _Uses() for key in keys}
        for name, scope in keys:
            for binding in scope.bindings[name]:
                step = self.script.step_of(binding.node)
                if step is not None:
                    found[self._is_later(binding, step)][name, scope].binds.add(step)
        for node in self.module.of_type(ast.Name):
            home = self.module.bound_in(node)
            step = self.script.step_of(node) if home in scopes else None
            if step is None or home is None:
                continue
            uses = found[_is_deferred(self.script, node, step)][node.id, home]
            if isinstance(node.ctx, ast.Load) or isinstance(self.module.parent_of[node], ast.AugAssign):
                uses.reads.add(step)
                if (node.id, home) not in imported and is_changed(self.module, node):
                    uses.changes.add(step)
                elif is_handed_on(self.module, node):  # from then on by who gets it
                    found[True][node.id, home].changes.add(step)
        return found

    def _is_later(self, binding: Binding, step: ast.stmt) -> bool:
        return binding.node is not step and _is_deferred(self.script, binding.node, step)


def _is_deferred(script: Script, node: ast.AST, step: ast.stmt) -> bool:
    """Whether a node is in the body of a function that a step only defines."""
    child = node
    for parent in script.module.ancestors(node):
        if isinstance(parent, FUNCTIONS):
            body = parent.body if isinstance(parent.body, list) else [parent.body]
            if child in body and (child is not step and parent is not script.main):
                return True
        if parent is step or child is step:
            return False
        child = parent
    return False


def _refuse_globals(script: Script, roles: Roles) -> None:
    """Raises Mixed for a variable of the training function that another function declares global."""
    root = script.module.scope_of[script.module.tree]
    for statement in script.module.of_type(ast.Global):
        for name in statement.names:
            binders = [step for step in script.binders(name, root) if roles.of[step].moves]
            if any(not isinstance(step, (ast.FunctionDef, ast.AsyncFunctionDef)) for step in binders):
                raise Mixed(statement, GLOBAL.format(name=name))
    for statement, name in _parted(script, roles):
        raise Mixed(statement, PARTED.format(name=name))


def _parted(script: Script, roles: Roles) -> list[tuple[ast.Global, str]]:
    """The variables of the module that `main` gives a value which what reads them elsewhere would not find.

    The training function takes `global` along: what stays of `main` would give the value to a variable of its own.
    """
    root = script.module.scope_of[script.module.tree]
    found: list[tuple[ast.Global, str]] = []
    for statement in script.module.of_type(ast.Global) if script.main is not None else ():
        for name in statement.names if script.module.function(statement) is script.main else ():
            given = {roles.of[step].moves for step in script.givers(name, root) if script.is_in_main(step)}
            readers = [step for step in script.readers(name, root) if not script.is_in_main(step)]
            callers = [user for r in readers if isinstance(r, DEFINITIONS) for user in script.readers(r.name, root)]
            late = True in given and any(roles.of[step] is Role.DRIVER for step in (*readers, *callers))
            if late or (readers and False in given):
                found.append((statement, name))
    return found

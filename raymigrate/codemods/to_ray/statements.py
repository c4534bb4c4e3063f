"""Which statement of a plain script goes where on Ray Train.

Under torchrun every process runs the whole script. A worker of Ray Train runs the training function only: what that
does not do itself, and what its module does not define, does not happen there. A worker has no command line of the
script either, and random seeds or log levels that were set on the driver do not reach it. So each step of a script is
one of

* a definition: an import, a function, a literal. It stays; what the training function reads of it goes along.
* work of the driver: the command line, logging in to a hub. It stays.
* work of the workers: whatever makes a dataset, tokenizer, model or trainer, and what reads them. It moves into the
  training function, a function or class that reads such a name with it.
* a setting of the process: seeds, log levels, backends. It moves too, as each worker is a process of its own.
* a task of the launcher, which Ray has taken over: it goes.

`Roles` decides from a `Script` and knows nothing of trainers: a codemod names the calls that train.
"""

import ast
from collections import deque
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import pairwise, takewhile

from raymigrate.codemods.to_ray import sessions
from raymigrate.codemods.to_ray.command_lines import commanded_by, parses
from raymigrate.codemods.to_ray.nested_parsing import fills_parser, make_parser, parser_steps
from raymigrate.codemods.to_ray.own_objects import is_filled
from raymigrate.codemods.to_ray.roles import Mixed, Role
from raymigrate.codemods.to_ray.script import DEFINITIONS, PARSE_METHODS, Script, called, executed, first_trained
from raymigrate.codemods.to_ray.step_kinds import (
    LAUNCHER,
    LIBRARIES,
    OF_DRIVER,
    OF_LAUNCHER,
    SAME_ANYWHERE,
    SETTINGS,
    TRACKING,
    asks_now,
    draws,
    environment_set,
    is_plain,
    is_text,
    names_by_time,
    reads_rank,
    runs_anywhere,
    sets_backend,
    sets_process,
    simple_statements,
    speaks_to_run,
    stands_for_cell,
)
from raymigrate.facts.syntax.optional_imports import is_tried_import
from raymigrate.facts.syntax.scopes import Scope

OF_COMMAND_LINE = "it reads the command line, and is part of the training too"
SIMPLE = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Return, ast.Assert)


class Roles:
    """Decides where each step of a script goes.

    Args:
        script: The script.
        trains: What trains: the calls, wherever they are.
        late: Steps that move because of their place among those that do, with why the script stays if they cannot.

    Raises:
        Mixed: If a step cannot be told to belong to one side.

    Attributes:
        of: The role of each step.
        trained_at: The place of the first step that trains.
        makers: Functions and classes that stay and make what only workers may have, and other names for them: who
            calls them is a worker.
    """

    def __init__(self, script: Script, trains: Iterable[ast.AST], late: Mapping[ast.stmt, str] | None = None) -> None:
        self.script = script
        self.module = script.module
        self.of: dict[ast.stmt, Role] = dict.fromkeys(script.copied, Role.DEFINITION)
        self.makers: set[ast.stmt] = set()
        self._parsers: set[ast.stmt] = set()
        self._waiting: deque[ast.stmt] = deque()
        self._for_workers: deque[ast.stmt] = deque()  # steps that workers run, and that were followed up
        self._followed: set[tuple[str, Scope]] = set()
        self._sessions = sessions.Sessions(script)
        trains = list(trains)
        self.trained_at = first_trained(script, trains)
        for step in script.steps:
            self._begin(step)
        for node in trains:
            found = script.step_of(node)
            if isinstance(found, DEFINITIONS):
                for command in (step for step in script.users(found) if self.of.get(step) is Role.DRIVER):
                    self._add(command)
                self.makers.add(found)
                self._waiting.append(found)
            elif found is not None:
                self._add(found)
        for step, message in (late or {}).items():
            self._move(step, message)
        self._spread()
        self._keep_times()
        self._pull()
        self._settle()
        if (needing := self._sessions.first_of(self.moved_or_makers())) is not None:
            raise Mixed(needing, sessions.MESSAGE)

    def moved(self) -> list[ast.stmt]:
        """The steps that move into the training function, in their order."""
        return [step for step in self.script.steps if self.of[step].moves]

    def release(self, trained: ast.stmt | None) -> None:
        """Gives the driver back what comes last, behind the training, and reads nothing of it: a saved model's use.

        Args:
            trained: The step that trains.
        """
        moved = self.moved()
        last = moved[moved.index(trained) + 1 :] if trained in moved else []
        ends = any(map(self.script.may_end_main, moved))  # what is behind in `main` may not be carried out
        is_tied = [self._speaks_of_process(step) or (ends and self.script.is_in_main(step)) for step in last]
        unresolved: set[tuple[str, Scope]] = set()  # what the last steps read of those before them that move
        first = len(last)
        for number in takewhile(lambda place: not is_tied[place], range(len(last) - 1, -1, -1)):
            scope = self.script.scope(last[number])
            unresolved -= {(name, scope) for name in self.script.bound(last[number])}
            unresolved |= {entry for entry in self.script.read(last[number]) if self._is_bound_by_workers(*entry)}
            first = first if unresolved else number
        shown = [number for number, step in enumerate(last, 1) if number > first and draws(self.module, step)]
        if shown and any(draws(self.module, step) for step in last[:first]):
            first = shown[-1]  # the figure is one of the process that began it
        for step in last[first:]:
            self.of[step] = Role.DRIVER

    @cache  # noqa: B019 - lives as long as the script is looked at
    def _is_bound_by_workers(self, name: str, scope: Scope) -> bool:
        return any(step in self.of and self.of[step].moves for step in self.script.binders(name, scope))

    def _speaks_of_process(self, step: ast.stmt) -> bool:
        """Whether a step is about the process that trains: its tracker, its group, its memory."""
        calls = (called(self.module, node) for node in executed(self.module, step) if isinstance(node, ast.Call))
        return any(name.startswith((*TRACKING, "wandb.", "torch.distributed.", "torch.cuda.")) for name in calls)

    def staying(self, *roles: Role) -> list[ast.stmt]:
        """The steps that have one of these roles, in their order."""
        return [step for step in self.script.steps if self.of[step] in roles]

    # -- first look ----------------------------------------------------------------------------

    def _begin(self, step: ast.stmt) -> None:
        """Notes what a step is by itself, and puts it among those to follow up if it is work of the workers."""
        if isinstance(step, (ast.Import, ast.ImportFrom)) or stands_for_cell(step):
            if stands_for_cell(step) or not self.script.is_in_main(step):
                self.of[step] = Role.DEFINITION
            return
        if is_tried_import(step) and not self.script.is_in_main(step):
            self.of[step] = Role.DEFINITION
            return
        if is_text(step):
            return
        if isinstance(step, DEFINITIONS):
            if parses(self.module, step):
                self._parsers.add(step)
            elif commanded_by(self.module, step) is not None:
                self.of[step] = Role.DRIVER  # another command of the application that trains
            elif self._makes(self.module.below(step)) or sets_process(self.module, step):
                self.makers.add(step)
                self._waiting.append(step)
            return
        kind = self._kind(step)
        if kind is Role.WORKER:
            self._add(step)
        elif kind is not None:
            self.of[step] = kind

    def _kind(self, step: ast.stmt) -> Role | None:
        """What the calls in a step say of it."""
        if step in self._sessions.steps:
            return Role.WORKER if self._makes(executed(self.module, step)) else Role.DRIVER
        if (variable := environment_set(self.module, step)) is not None:
            return Role.LAUNCHER if variable in OF_LAUNCHER else Role.DRIVER
        names = [called(self.module, node) for node in executed(self.module, step) if isinstance(node, ast.Call)]
        names = [name for name in names if not SAME_ANYWHERE.fullmatch(name)]
        if ".add_argument" in names and isinstance(step, ast.Expr) and self._belongs_to_driver(step):
            return Role.DRIVER  # whatever makes its default
        if fills_parser(self.script, step):
            return Role.DRIVER
        if reads_rank(self.module, step):
            return Role.WORKER
        if any(name.startswith(LAUNCHER) for name in names):
            if all(self._is_of_launcher(part) for part in simple_statements(step)):
                return Role.LAUNCHER
            if isinstance(step, SIMPLE) or self._asks_command_line(step):
                raise Mixed(step, "it does what Ray does for its workers, and more; take that out first")
            return Role.WORKER  # what of it is the launcher's goes there
        if sets_process(self.module, step):
            return Role.SETTING if isinstance(step, ast.Expr) or sets_backend(self.module, step) else Role.WORKER
        if any(name.startswith((*LIBRARIES, *TRACKING)) for name in names) or speaks_to_run(self.module, step):
            return Role.WORKER
        if any(name.startswith(OF_DRIVER) or name.rpartition(".")[2] in PARSE_METHODS for name in names):
            return Role.DRIVER
        return None

    def _is_of_launcher(self, statement: ast.stmt) -> bool:
        """Whether a statement is a call by which a launched process joins the others, or nothing."""
        if isinstance(statement, ast.Pass):
            return True
        call = statement.value if isinstance(statement, ast.Expr) else None
        return isinstance(call, ast.Call) and called(self.module, call).startswith(LAUNCHER)

    def _asks_command_line(self, step: ast.stmt) -> bool:
        """Whether a step depends on the command line: on the `--local_rank` that a launcher gave, and Ray does not."""
        binders = (binder for name, scope in self.script.read(step) for binder in self.script.binders(name, scope))
        return any(self.of.get(binder) is Role.DRIVER or self._belongs_to_driver(binder) for binder in binders)

    def _makes(self, nodes: Iterable[ast.AST]) -> bool:
        """Whether code makes what only workers may have."""
        names = (called(self.module, node) for node in nodes if isinstance(node, ast.Call))
        return any(name.startswith((*LIBRARIES, *TRACKING)) and not name.startswith(SETTINGS) for name in names)

    # -- what follows from it ------------------------------------------------------------------

    def _add(self, step: ast.stmt) -> None:
        known = self.of.get(step)
        if known is Role.DRIVER and fills_parser(self.script, step):
            return
        dropped = known is Role.LAUNCHER and environment_set(self.module, step) is not None
        if known is not None and (known.moves or known is Role.DEFINITION or dropped):
            return
        parsers = parser_steps(self.script, step) if known is Role.DRIVER else []
        if step in self._parsers or (known is Role.DRIVER and not parsers and not runs_anywhere(self.module, step)):
            is_of_session = self._sessions.first_of([step]) is not None
            raise Mixed(step, sessions.MESSAGE if is_of_session else OF_COMMAND_LINE)
        self.of.update(dict.fromkeys((*parsers, step), Role.WORKER))
        self.makers.discard(step)
        self._waiting += (*parsers, step)

    def _move(self, step: ast.stmt, message: str) -> None:
        """Moves a step that would have stayed; raises Mixed with the message where it is the driver's or imports."""
        can_move = self.of.get(step, Role.WORKER).moves or runs_anywhere(self.module, step)
        if can_move and not self._belongs_to_driver(step) and step not in self._parsers:
            self._add(step)
        else:
            raise Mixed(step, message)

    def _spread(self) -> None:
        """Follows names: what reads, or also binds, a name that moves has to move; who calls a maker is a worker."""
        while self._waiting:
            step = self._waiting.popleft()
            self._for_workers.append(step)
            scope = self.script.scope(step)
            if step in self.makers:
                for name in self.script.bound(step):
                    for reader in self.script.readers(name, scope):
                        self._called_by(reader)
                continue
            for name in self.script.bound(step):
                if (name, scope) in self._followed:
                    continue
                self._followed.add((name, scope))
                for other in (*self.script.readers(name, scope), *self.script.binders(name, scope)):
                    self._add(other)

    def _called_by(self, reader: ast.stmt) -> None:
        if not isinstance(reader, DEFINITIONS) and (self.script.is_in_main(reader) or not self._is_plain(reader)):
            self._add(reader)
        elif reader not in self.makers and self.of.get(reader) is None and reader not in self._parsers:
            self.makers.add(reader)
            self._waiting.append(reader)

    def _pull(self) -> None:
        """Takes along what makes values that workers read, unless they mean the same in any process."""
        pulled = set[tuple[str, Scope]]()
        while self._for_workers:
            for name, scope in self.script.read(self._for_workers.popleft()):
                if (name, scope) in pulled:
                    continue
                pulled.add((name, scope))
                filled = is_filled(self.module, name, scope)
                for binder in self.script.binders(name, scope):
                    if binder in self.of:
                        continue
                    if isinstance(binder, DEFINITIONS):
                        self._take_along(binder)
                    elif filled or not self._stays(binder):
                        self._add(binder)
            self._spread()

    def _take_along(self, definition: ast.stmt) -> None:
        """Moves a function of `main` that workers read; one of the module is seen from the training function too."""
        if self.script.is_in_main(definition):
            self._add(definition)

    def moved_or_makers(self) -> list[ast.stmt]:
        """The steps that workers run."""
        return [s for s in self.script.steps if s in self.makers or (s in self.of and self.of[s].moves)]

    def _stays(self, step: ast.stmt) -> bool:
        """Whether a step that binds a name can stay: it is a literal of the module, or comes of the command line."""
        if any(self._reads_command_line(name, scope) for name, scope in self.script.read(step)):
            return True
        return self._is_plain(step) and (not self.script.is_in_main(step) or self._names_by_time(step))

    def _names_by_time(self, step: ast.stmt) -> bool:
        """Whether a step before the training makes a name of the time or of chance, which all workers have to share."""
        is_before = self.script.number(step) < self.trained_at
        return is_before and self._is_plain(step) and any(names_by_time(self.module, step))

    def _is_plain(self, step: ast.stmt) -> bool:
        """As `is_plain`; an object of a class of the module that makes nothing of the workers is plain too."""
        made = [node for node in executed(self.module, step) if isinstance(node, ast.Call)]
        return is_plain(self.module, step, [call for call in made if self._makes_settings(call)])

    def _makes_settings(self, call: ast.Call) -> bool:
        definition = self.module.definition(call.func)
        if not isinstance(definition, ast.ClassDef) or definition in self.makers:
            return False
        return self.of.get(definition, Role.DEFINITION) is Role.DEFINITION

    def _reads_command_line(self, name: str, scope: Scope) -> bool:
        return any(s in self._parsers or self.of.get(s) is Role.DRIVER for s in self.script.binders(name, scope))

    def _settle(self) -> None:
        """Decides on the rest: what nothing ties to the training stays before it, and moves with it after."""
        started = False
        for above, step in pairwise((*self.script.steps[:1], *self.script.steps)):
            started = started or self.of.get(step) is Role.WORKER
            if step in self.of or isinstance(step, (ast.Import, ast.ImportFrom, *DEFINITIONS)):
                continue
            if is_text(step):  # code that is commented out goes with what stands above it
                is_beside = above in self.of and self.module.parent_of[above] is self.module.parent_of[step]
                self.of[step] = Role.WORKER if is_beside and self.of[above].moves else Role.DEFINITION
            elif self._belongs_to_driver(step) or (self.script.is_in_main(step) and self._names_by_time(step)):
                self.of[step] = Role.DRIVER
            elif self.script.is_in_main(step):
                self._take(step)
            elif self._is_plain(step) and self.script.bound(step):
                self.of[step] = Role.DEFINITION
            elif started:
                self._take(step)
            else:
                self.of[step] = Role.DRIVER
        self._pull()
        for step in self.script.steps:
            if step not in self.of:
                self.of[step] = Role.DEFINITION if isinstance(step, DEFINITIONS) else self._side_of_import(step)

    def _side_of_import(self, step: ast.stmt) -> Role:
        """Where an import of `main` goes: with what reads its names."""
        scope = self.script.scope(step)
        readers = [reader for name in self.script.bound(step) for reader in self.script.readers(name, scope)]
        moves = {reader in self.of and self.of[reader].moves for reader in readers}
        if moves == {True, False}:
            raise Mixed(step, "both the driver and the workers need it; import it on the level of the module")
        return Role.WORKER if True in moves else Role.DRIVER

    def _belongs_to_driver(self, step: ast.stmt) -> bool:
        """Whether a step makes something of the command line: it calls a function that does, or works on a parser."""
        for node in executed(self.module, step):
            if isinstance(node, ast.Call):
                root: ast.expr = node.func
                while isinstance(root, (ast.Attribute, ast.Call)):
                    root = root.value if isinstance(root, ast.Attribute) else root.func
                scope = self.module.bound_in(root)
                if scope is not None and isinstance(root, ast.Name):
                    binders = self.script.binders(root.id, scope)
                    if not self._parsers.isdisjoint(binders) or make_parser(self.module, binders):
                        return True
        return False

    def _keep_times(self) -> None:
        """Moves what asks for the time, or for what is there, behind something that moves: `start = time.time()`."""
        is_behind = False
        for step in self.script.steps:
            is_behind |= self.of.get(step) is Role.WORKER
            is_late = self.script.number(step) >= self.trained_at
            if is_behind and step not in self.of and asks_now(self.module, step, of_disk=is_late):
                if not self._names_by_time(step):
                    self._take(step)

    def _take(self, step: ast.stmt) -> None:
        self._add(step)
        self._spread()

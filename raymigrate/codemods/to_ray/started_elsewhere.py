"""Files that train in a function or class which another file starts: RM802 for those that wait for it, else RM824."""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from raymigrate.base.words import few
from raymigrate.codemods.context import Context
from raymigrate.codemods.to_ray.all_workers import body_of, leads_to
from raymigrate.codemods.to_ray.launched import RM824, tell_starts
from raymigrate.codemods.to_ray.refusals import RM802, leave
from raymigrate.codemods.to_ray.script import top_definition
from raymigrate.facts.projects.callees import callees
from raymigrate.facts.projects.starts import starts_elsewhere, ways_in
from raymigrate.facts.syntax.definitions import Definition
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.named_lines import line_of_file
from raymigrate.facts.syntax.scopes import FUNCTIONS
from raymigrate.facts.values import argument, last_name
from raymigrate.knowledge.legacy import TORCH_TRAINERS
from raymigrate.pins.needed import RAY

DEEPEST = 4  # files that lead to the training through one another
Leading = tuple[ast.FunctionDef | ast.ClassDef, frozenset[str]]
Read = tuple[Module, ast.expr]
RUN_BY_RAY = "{} gives {}() to a TorchTrainer: it trains on Ray from there, and nothing of this file moves."
UNSTARTED = "No statement of this file starts the training"
START_THERE = (
    "Call {0} there in a function, with all that uses what it gives, and start that with TorchTrainer(function,"
    " train_loop_config=..., scaling_config=...).fit(): {1}. Make relative paths absolute before it, since workers run"
    f" in a folder of their own. A list of packages has to have {RAY.requirement}."
)
CALLED_TOO = "{} {} what trains here with {}: where no worker of Ray runs that, ray.train raises a RuntimeError now."
START_THIS = (
    "Start this file in place of what calls it there, or give it to a TorchTrainer there too. Where it has to go on"
    " without Ray, keep a copy of the code as it was for that."
)


@dataclass(frozen=True)
class Start:
    """A call of what trains in a file, in another file of its project.

    Args:
        name: What is called.
        module: The other file.
        node: What is called, there.
    """

    name: str
    module: Module
    node: ast.AST


def is_left_to_starter(context: Context, trains: ast.Call, each: str) -> bool:
    """Leaves a script whose training another file starts, and says what is to be done there.

    Nothing is said of calls that a TorchTrainer runs: there it was done.

    Args:
        context: The module that trains.
        trains: What trains.
        each: What each worker does then.

    Returns:
        Whether another file is seen that starts it.
    """
    search = _Search()
    starts = search.left(context.module, trains, DEEPEST)
    if starts is None:
        return False
    if search.is_done:  # tests may go on calling it themselves
        starts = [start for start in starts if not _is_test(start.module)]
    if starts:
        first = starts[0]
        place = line_of_file(first.module, first.node)
        message = f"{UNSTARTED}: {place} does, with {first.name}."
        leave(context, trains, message, START_THERE.format(first.name, each))
        for path in dict.fromkeys(start.module.path for start in starts):
            tell_starts(context, trains, path, "once that is done")
    return True


def tell_other_starts(context: Context, trains: Iterable[ast.AST], main: ast.AST | None) -> None:
    """Tells of other files that call a function which speaks to Ray now, and whose name stays what it was.

    Args:
        context: The module, which is converted.
        trains: What speaks to Ray.
        main: The function that starts the workers now; None if there is none. Who calls that one trains on Ray.
    """
    module = context.module
    told = set[str]()
    for node in trains:
        found: list[tuple[str, str]] = []
        for definition, ways in _leading(module, node, main):
            if definition.name not in told:
                told.add(definition.name)
                reads = _starts(module, definition, ways)
                found += [
                    (line_of_file(m, n), last_name(n) or definition.name) for m, n in reads if not _is_run_by_ray(m, n)
                ]
        if found:
            places = few(place for place, _ in found)
            is_one = len({place for place, _ in found}) == 1
            names = few(f"{name}()" for _, name in found)
            verb = "starts" if is_one else "start"
            message = CALLED_TOO.format(f"{places[0].upper()}{places[1:]}", verb, names)
            context.manual(RM824, node, message, START_THIS)


def is_run_by_ray(context: Context, trains: ast.AST, within: ast.AST) -> bool:
    """Tells of a file of which a TorchTrainer of another file runs what trains, or what would start its own workers.

    Args:
        context: The module that trains.
        trains: What trains.
        within: Code of a function: it, and those that lead to it, are what the other file may give its TorchTrainer.

    Returns:
        Whether that is so, and the file stays as it is.
    """
    for definition, ways in _leading(context.module, within, None):
        for module, node in _starts(context.module, definition, ways):
            if _is_run_by_ray(module, node):
                context.stays = True
                place = line_of_file(module, node)
                context.note(RM802, trains, RUN_BY_RAY.format(f"{place[0].upper()}{place[1:]}", definition.name))
                return True
    return False


def _leading(module: Module, node: ast.AST, main: ast.AST | None) -> Iterator[Leading]:
    """The function or class that a node is in, and those of the module that use it, as far as the one named.

    Each comes with its methods that get there (facts/projects/starts.py, `ways_in`).
    """
    waiting, seen = [(top_definition(module, node), node, frozenset[str]())], set[ast.AST]()
    while waiting:
        definition, place, ways = waiting.pop(0)
        if isinstance(definition, (ast.FunctionDef, ast.ClassDef)) and definition is not main:
            is_derived = isinstance(definition, ast.ClassDef) and place in definition.bases
            ways = ways if is_derived else ways_in(definition, module, place)
            if definition not in seen:
                seen.add(definition)
                yield definition, ways
                waiting += [(top_definition(module, use), use, ways) for use in module.uses_of(definition)]


def _starts(module: Module, definition: ast.FunctionDef | ast.ClassDef, ways: frozenset[str]) -> list[Read]:
    """Where other files of the project start a function, or one of some methods of a class; tests come last."""
    found = starts_elsewhere(module, Definition(module, definition, definition.name), ways)
    return sorted(found, key=lambda start: (_is_test(start[0]), start[0].path, start[0].start(start[1])))


class _Search:
    """Looks for the calls in other files by which a script gets to a training.

    Attributes:
        is_done: Whether a TorchTrainer runs one of them.
    """

    def __init__(self) -> None:
        self.is_done = False
        self._known: dict[tuple[str, str], list[Start] | None] = {}

    def left(self, module: Module, node: ast.AST, depth: int) -> list[Start] | None:
        """The calls of the function or class that a node is in, and of those that these are in; the nearest first.

        Those that a TorchTrainer runs are left out, and those that nothing else leads to; None if there are none.
        """
        definition = top_definition(module, node)
        if module.project is None or not depth or not isinstance(definition, (ast.FunctionDef, ast.ClassDef)):
            return None
        key = (module.path, definition.name)
        if key not in self._known:
            self._known[key] = []  # where they call each other
            calls = _starts(module, definition, ways_in(definition, module, node))
            self._known[key] = self._not_done(definition.name, calls, depth) if calls else None
        return self._known[key]

    def _not_done(self, name: str, calls: list[tuple[Module, ast.expr]], depth: int) -> list[Start]:
        near, far = list[Start](), list[Start]()
        for user, read in calls:
            if _is_run_by_ray(user, read):
                self.is_done = True
                continue
            further = self.left(user, read, depth - 1)
            if further is None or further:
                near.append(Start(name, user, read))
                far += further or []
        return near + far


def _is_test(module: Module) -> bool:
    return Path(module.path).name.startswith("test")


def _is_run_by_ray(module: Module, node: ast.AST) -> bool:
    """Whether a TorchTrainer of a file is given some code to run, or a function that gets to it, or one not seen."""
    around = next((a for a in module.ancestors(node) if isinstance(a, FUNCTIONS)), None)
    for call in module.calls(*TORCH_TRAINERS):
        given = argument(call, 0, "train_loop_per_worker")
        if given is None or module.inside(node, call):
            return True
        for callee in callees(module, given):
            function = callee.function
            if function is None or (callee.module is module and module.inside(node, function)):
                return True
            if around is not None and any(leads_to(callee.module, part, around) for part in body_of(function)):
                return True
    return False

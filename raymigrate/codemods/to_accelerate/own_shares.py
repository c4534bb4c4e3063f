"""RM851: a script that gives each process rows of its own: a prepared loader would share these out once more."""

import ast
from collections.abc import Collection, Iterator

from raymigrate.codemods.to_accelerate.process_numbers import MAIN
from raymigrate.codemods.to_accelerate.processes import Processes
from raymigrate.codemods.to_accelerate.rules import Refusal
from raymigrate.codemods.to_accelerate.samplers import SAMPLERS
from raymigrate.codemods.to_accelerate.training import Training
from raymigrate.codemods.to_accelerate.variables import Variable
from raymigrate.facts.syntax.functions import returned_values
from raymigrate.facts.values import argument, keyword_argument, last_name

RANKS = frozenset({"rank", "local_rank", "global_rank", "world_rank"})
# Arguments by which the processes get the same rows all the same.
OTHER_ARGUMENTS = frozenset(
    {"cache_dir", "desc", "device", "disable", "download", "generator", "load_from_cache_file", "position", "seed"}
)
# What draws random numbers, or only tells of the rows.
OTHER_CALLS = frozenset(
    {"manual_seed", "seed", "default_rng", "RandomState", "Random", "print", "info", "debug", "warning"}
)
ADDS = frozenset({"append", "extend", "add"})


def check_shares(training: Training, processes: Processes, loaders: Collection[Variable]) -> None:
    """Looks for rows that the script shares out itself.

    Args:
        training: What is trained.
        processes: Its processes.
        loaders: The loaders that are prepared.

    Raises:
        Refusal: If there are some.
    """
    for loader in loaders:
        processes.samplers.check_elsewhere(loader)
        for maker in training.variables.makers(loader):
            for rows in _rows_of(maker) if isinstance(maker, ast.Call) else ():
                if rows is not None and rows in training.module.parent_of:
                    if (rank := _Search(training, processes).rank_in(rows)) is not None:
                        raise Refusal(
                            maker,
                            f"`{loader.name}` gets other rows in each process, by `{ast.unparse(rank)}` in line"
                            f" {training.module.start(rank)[0]}, and a prepared DataLoader would share these out once"
                            " more; give it all rows",
                        )


def _rows_of(maker: ast.Call) -> Iterator[ast.expr | None]:
    """What decides which rows a loader gives."""
    yield argument(maker, 0, "dataset")
    yield from (keyword_argument(maker, name) for name in ("sampler", "batch_sampler"))


class _Search:
    """Looks for the number of a process in what rows are made of.

    Args:
        training: What is trained.
        processes: Its processes.
    """

    def __init__(self, training: Training, processes: Processes) -> None:
        self.module = training.module
        self.variables = training.variables
        self.processes = processes
        self.seen: set[object] = set()

    def rank_in(self, node: ast.AST) -> ast.AST | None:
        """The number of a process that decides what a value is; None where there is none."""
        if self._is_harmless(node):
            return None
        if isinstance(node, ast.expr) and self._is_rank(node):
            return node
        parts = self._parts(node)
        return next((found for part in parts if (found := self.rank_in(part)) is not None), None)

    def _is_rank(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Attribute):
            return node.attr in RANKS and self.module.calling(node) is None  # frame.rank()
        if isinstance(node, ast.Name):
            return bool(self.variables.of(node) & self.processes.ranks)
        return self.processes.number(node) in MAIN

    def _is_harmless(self, node: ast.AST) -> bool:
        """Whether a part does not choose rows: `download=rank == 0`, `seed=42 + rank`, what a sampler of torch gets."""
        if isinstance(node, ast.Compare):  # the main process alone downloads or prints
            return any(self.module.constant(part) in (0, -1) for part in (node.left, *node.comparators))
        if isinstance(node, ast.keyword):
            return node.arg in OTHER_ARGUMENTS
        if not isinstance(node, ast.Call):
            return False
        name = last_name(node.func)
        return name in OTHER_CALLS or self.module.qualified(node.func) in SAMPLERS

    def _parts(self, node: ast.AST) -> Iterator[ast.AST]:
        if isinstance(node, ast.Name):
            yield from self._of_name(node)
            return
        function = self.variables.called(node) if isinstance(node, ast.Call) else None
        if function is not None:  # its parameters stand for what it is given
            if function not in self.seen:
                self.seen.add(function)
                yield from (end for end in returned_values(self.module, function) if end is not None)
            return
        made = self.module.definition(node.func) if isinstance(node, ast.Call) else None
        if isinstance(made, ast.ClassDef) and made not in self.seen:
            self.seen.add(made)
            yield made
        yield from ast.iter_child_nodes(node)

    def _of_name(self, name: ast.Name) -> Iterator[ast.AST]:
        variable = self.variables.spelled(name)
        if variable is None or variable in self.seen:
            return
        self.seen.add(variable)
        for binding in self.variables.bindings(variable):
            if isinstance(binding, ast.arg):
                yield from self.variables.given(binding)
            elif (value := self.module.assigned(binding)) is not None:
                yield value
        for read in self.variables.reads(variable):
            parent = self.module.parent_of[read]
            if isinstance(parent, ast.Attribute) and parent.attr in ADDS:
                yield from (p.test for p in self.module.ancestors(parent) if isinstance(p, ast.If))

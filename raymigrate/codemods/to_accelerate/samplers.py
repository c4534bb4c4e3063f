"""RM856: DistributedSamplers go: the Accelerator shares the rows out, and twice some would be lost."""

import ast
from collections.abc import Collection, Iterable, Sequence

from raymigrate.codemods.to_accelerate.cases import Case, branches, meaning
from raymigrate.codemods.to_accelerate.changes import Changes
from raymigrate.codemods.to_accelerate.gathered_lists import ALL_GATHER
from raymigrate.codemods.to_accelerate.returned_samplers import ReturnedSamplers
from raymigrate.codemods.to_accelerate.rules import RM856, RM858, Refusal, check_nothing_is_unpacked
from raymigrate.codemods.to_accelerate.sampler_lengths import show_length
from raymigrate.codemods.to_accelerate.sides import Side
from raymigrate.codemods.to_accelerate.training import DATA_LOADERS
from raymigrate.codemods.to_accelerate.variables import Variable
from raymigrate.facts.syntax.nodes import is_assignment, only_target
from raymigrate.facts.torch.random_draws import SEEDS
from raymigrate.facts.values import (
    Source,
    argument,
    called_name,
    class_named,
    is_call_by_name,
    is_none,
    keyword_argument,
    reaching,
    unpacked_dicts,
)
from raymigrate.facts.values.carried import carried

SAMPLERS = ("torch.utils.data.distributed.DistributedSampler", "torch.utils.data.DistributedSampler")
# What a DataLoader makes itself by `shuffle=`.
OWN = {
    **dict.fromkeys(("torch.utils.data.RandomSampler", "torch.utils.data.sampler.RandomSampler"), True),
    **dict.fromkeys(("torch.utils.data.SequentialSampler", "torch.utils.data.sampler.SequentialSampler"), False),
}
# BatchSamplerShard with even_batches (accelerate 1.15, data_loader.py); measured: 10 rows in batches of 4 become 16.
FILLED = (
    "With several processes the Accelerator fills the last batches with rows from the start, and the script counts"
    " these again: of 10 rows in batches of 4 two processes evaluate 16, where a DistributedSampler gave them 10."
    " accelerator.gather_for_metrics() on what each batch gives leaves them out."
)

REORDERED = "The rows come in another order than from the DistributedSampler, which had a seed of its own."
RESUMED = " A run that goes on sees them in the order of the first epochs again, where set_epoch() gave each its own."


class Samplers(Side):
    """The DistributedSamplers of a training.

    Args:
        training: What is trained.
    """

    def is_sampled(self, loader: Variable) -> bool:
        """Whether a loader gives each process a part of the rows already."""
        for maker in self.variables.makers(loader):
            sampler = argument(maker, 3, "sampler") if isinstance(maker, ast.Call) else None
            if sampler is not None and sampler in self.module.scope_of:
                if any(map(self._is_distributed, self.module.origins(sampler))):
                    return True
        return False

    def check_elsewhere(self, loader: Variable) -> None:
        """Looks for a sampler that another file gives a loader, where it stays.

        Raises:
            Refusal: If there is one.
        """
        reads = self.variables.reads(loader)
        for source in self.module.origins(reads[0]) if reads else ():
            sampler = argument(source.node, 3, "sampler") if isinstance(source.node, ast.Call) else None
            if sampler is not None and source.module is not self.module:
                if any(map(self._is_distributed, source.module.origins(sampler))):
                    reason = f"`{loader.name}` gets a DistributedSampler in {source.module.path}, where it would stay"
                    raise Refusal(self.training.made_at(loader), f"{reason}; make the loader in this file")

    def _is_distributed(self, source: Source) -> bool:
        """Whether an expression makes a DistributedSampler, or an object of a class of the project that is one."""
        if not isinstance(source.node, ast.Call):
            return False
        if source.module.qualified(source.node.func) in SAMPLERS:
            return True
        found = class_named(source.module, source.node.func)
        return found is not None and any(found[0].qualified(base) in SAMPLERS for base in found[1].bases)

    # -- edits ---------------------------------------------------------------------------------

    def convert(self, changes: Changes) -> None:
        """Plans the edits.

        Raises:
            Refusal: If a sampler is used in another way than by a DataLoader, or it is not sure how that shuffles.
        """
        kept: dict[Variable, list[ast.stmt]] = {}
        given = [sampler for loader in self._loaders() if (sampler := argument(loader, 3, "sampler")) is not None]
        for call in self.module.calls(*SAMPLERS):
            changes.converted(RM856, call, "The Accelerator splits the data: prepared twice, rows would be lost.")
            check_nothing_is_unpacked(call, "shuffle")
            value = self._chosen(call)
            if value in given:
                continue
            statement = self.module.statement(value)
            target = only_target(statement) if is_assignment(statement) and statement.value is value else None
            variable = self.variables.spelled(target) if target is not None else None
            if variable is None:
                reason = "the DistributedSampler is kept in another place than a variable of its own"
                raise Refusal(call, f"{reason}; write `sampler = DistributedSampler(...)`")
            kept.setdefault(variable, []).append(statement)
        for statement in dict.fromkeys(statement for statements in kept.values() for statement in statements):
            changes.drop(statement)
        kept |= ReturnedSamplers(self.training).take_out(changes, list(kept))
        self._epochs(changes, kept)
        for loader in self._loaders():
            self._sampler_of(changes, loader)
            if any(keyword.arg == "batch_sampler" for keyword in loader.keywords):
                changes.note(
                    RM858,
                    loader,
                    "Batches of unequal sizes need DataLoaderConfiguration(even_batches=False) as dataloader_config="
                    " under several processes.",
                )
        for variable, statements in kept.items():
            self._check_reads(changes, variable, statements)

    def tell_of_filled(self, changes: Changes, loop: ast.AST, loaders: Iterable[Variable]) -> None:
        """Tells of rows that a script counts twice which adds up itself what its processes evaluate.

        Args:
            changes: The edits.
            loop: The evaluation.
            loaders: Its loaders, prepared in place of their samplers.
        """
        makers = [maker for loader in loaders for maker in self.variables.makers(loader)]
        calls = [maker for maker in makers if isinstance(maker, ast.Call)]
        if calls and self._gathers(loop) and all(self._is_cut(call, loop) for call in calls):
            return
        if not calls or any(self.module.constant(keyword_argument(call, "drop_last")) is not True for call in calls):
            changes.note(RM858, loop, FILLED)

    def _gathers(self, loop: ast.AST) -> bool:
        """Whether the script gathers each batch: the rows that fill the last ones then are the last of all."""
        calls = [part for part in ast.walk(loop) if isinstance(part, ast.Call)]
        found = [function for call in calls if (function := self.variables.called(call)) is not None]
        parts = [part for node in (loop, *found) for part in ast.walk(node)]
        return any(called_name(self.module, part) == ALL_GATHER for part in parts)

    def _is_cut(self, maker: ast.Call, loop: ast.AST) -> bool:
        """Whether code below cuts what was gathered to the length of a dataset: `torch.cat(parts)[: len(rows)]`."""
        rows = argument(maker, 0, "dataset")
        for part in self.module.of_type(ast.Slice):
            length = part.upper if part.lower is None and part.step is None else None
            if is_call_by_name(length, "len"):
                measured = length.args[0] if length.args else None
                is_below = self.module.start(part) > self.module.end(loop)
                if is_below and self._is_dataset(measured, rows):
                    return True
        return False

    def _is_dataset(self, node: ast.expr | None, rows: ast.expr | None) -> bool:
        if isinstance(node, ast.Attribute) and node.attr == "dataset":
            makers = [maker for home in self.variables.of(node.value) for maker in self.variables.makers(home)]
            given = [argument(maker, 0, "dataset") for maker in makers if isinstance(maker, ast.Call)]
            return bool(given) and all(other is rows for other in given)
        own = self.variables.of(rows)
        return bool(own) and node is not None and self.variables.of(node) == own

    def _loaders(self) -> Iterable[ast.Call]:
        return self.module.calls(*DATA_LOADERS)

    def _chosen(self, node: ast.expr) -> ast.expr:
        """What an expression is a choice of: `DistributedSampler(rows) if several else None`."""
        parent = self.module.parent_of[node]
        while isinstance(parent, ast.IfExp) and node is not parent.test:
            node, parent = parent, self.module.parent_of[parent]
        return node

    def _epochs(self, changes: Changes, kept: dict[Variable, list[ast.stmt]]) -> None:
        tests: dict[ast.If, None] = {}
        for call in self.training.method_calls("set_epoch"):
            owner = call.func.value if isinstance(call.func, ast.Attribute) else call.func
            is_of_loader = isinstance(owner, ast.Attribute) and owner.attr == "sampler"
            if is_of_loader or self.variables.of(owner) & kept.keys():
                changes.drop_whole(call)
                parent = self.module.parent_of[self.module.statement(call)]
                if isinstance(parent, ast.If) and self._asks_for_sampler(parent, kept.keys()):
                    tests[parent] = None
        for test in tests:
            if changes.dropped.issuperset(test.body):
                changes.drop(test)

    def _asks_for_sampler(self, node: ast.If, samplers: Collection[Variable]) -> bool:
        """Whether all that an `if` asks is whether there is a sampler: `if sampler is not None:`."""
        names = [part for part in ast.walk(node.test) if isinstance(part, ast.Name)]
        others = [name for name in names if self.variables.spelled(name) not in samplers]
        is_alone = not node.orelse and self.module.statement(node) is node
        return is_alone and all(
            self.variables.spelled(name) is None or self.module.qualified(name) in SAMPLERS for name in others
        )

    def _check_reads(self, changes: Changes, variable: Variable, statements: Sequence[ast.stmt]) -> None:
        reads = [read for read in self.variables.reads(variable) if not changes.is_gone(read)]
        for read in reads:
            if any(self.module.statement(binding.node) in statements for binding in reaching(self.module, read)):
                if not show_length(changes, read):
                    raise Refusal(read, f"`{variable.name}`, a DistributedSampler, is used outside of its DataLoader")
        for binding in self.variables.bindings(variable) if not reads else ():
            statement = self.module.statement(binding)
            value = self.module.assigned(binding)
            is_alone = only_target(statement) is binding
            if is_alone and value is not None and self._own(Source(self.module, value)) is not None:
                changes.drop(statement)  # what took its place in one process

    def _own(self, source: Source) -> bool | None:
        """Whether a DataLoader shuffles with what it can make itself; None where it is given something else."""
        node = source.node
        if is_none(node):
            return False
        if not isinstance(node, ast.Call) or len(node.args) != 1 or node.keywords:
            return None
        return OWN.get(called_name(source.module, node))

    # -- what becomes of shuffle= --------------------------------------------------------------

    def _sampler_of(self, changes: Changes, loader: ast.Call) -> None:
        sampler = argument(loader, 3, "sampler")
        sources = self.module.origins(sampler)
        samplers = [source for source in sources if self._is_distributed(source)]
        if sampler is None or not samplers:
            return
        other = next((source.node for source in samplers if not self._is_here(source)), None)
        if other is not None:
            reason = f"`{ast.unparse(other)}`, a DistributedSampler, is made in another file, or by a class of its own"
            raise Refusal(loader, f"{reason}, and would stay; make a DistributedSampler in this file")
        shuffle = self._shuffle(loader, sampler, sources)
        given = argument(loader, 2, "shuffle")
        changes.gone.update(value for value in (sampler, given) if value is not None)
        if given is not None and given in loader.args:
            changes.replace(given, shuffle or "False")
        if sampler in loader.args:
            changes.replace(sampler, "None")

        def edit() -> None:
            call = changes.context.plan.call(loader)
            call.remove.add("sampler")
            if shuffle and given not in loader.args:
                call.set("shuffle", shuffle)
            else:
                call.remove.add("shuffle")

        changes.edits.append(edit)
        if shuffle:
            resumed = RESUMED if self._goes_on() else ""
            changes.note(RM858, loader, f"{REORDERED}{resumed}")

    def _goes_on(self) -> bool:
        """Whether a script with a seed gives a sampler the number of an epoch that it may begin with."""
        around = [parent for call in self.training.method_calls("set_epoch") for parent in self.module.ancestors(call)]
        loops = [loop.iter for loop in around if isinstance(loop, ast.For) and isinstance(loop.iter, ast.Call)]
        starts = [loop.args[0] for loop in loops if len(loop.args) > 1 and ast.unparse(loop.func) == "range"]
        return any(self.module.calls(*SEEDS)) and any(self.module.constant(start) is ... for start in starts)

    def _is_here(self, source: Source) -> bool:
        call = source.node
        assert isinstance(call, ast.Call)
        return source.module is self.module and self.module.qualified(call.func) in SAMPLERS

    def _shuffle(self, loader: ast.Call, sampler: ast.expr, sources: Sequence[Source]) -> str:
        """What a loader without its sampler gets as `shuffle=`; empty where it keeps the order of the rows.

        Args:
            sampler: What it gets.
            sources: What that may be.

        Raises:
            Refusal: If it shuffles in one case only, or that is not sure.
        """
        unpacked = (carried(self.module, given) for given in unpacked_dicts(loader))
        if any(entry.name == "shuffle" for part in unpacked for entry in part.entries):
            raise Refusal(loader, "shuffle= is unpacked here; write it out")
        found = [self._shuffled(loader, sampler, source, sources) for source in sources]
        ways = {way if isinstance(way, bool) else meaning(self.module, way) for way in found}
        if len(ways) > 1:
            if all(isinstance(way, bool) for way in found):
                reason = "whether this DataLoader shuffles depends on which sampler it gets, or on whether it gets one"
            else:
                reason = "it cannot be seen whether this DataLoader shuffles without its DistributedSampler as with it"
            raise Refusal(loader, f"{reason}; give them the same shuffle=")
        if found[0] is False:
            return ""
        written = [argument(call, 3, "shuffle") for s in sources if isinstance(call := s.node, ast.Call)]
        shown = [value for value in written if value is not None and self._means_the_same(value, loader)]
        if found[0] is True:
            return self.module.source(shown[0]) if shown else "True"
        if not shown:
            raise Refusal(loader, f"`{ast.unparse(found[0])}`, by which its sampler shuffles, has no value here")
        return self.module.source(shown[0])

    def _shuffled(
        self, loader: ast.Call, sampler: ast.expr, source: Source, sources: Sequence[Source]
    ) -> ast.expr | bool:
        """Whether a loader shuffles with one of the samplers that it may get; the expression that says so."""
        if self._is_distributed(source):
            assert isinstance(source.node, ast.Call)
            given = argument(source.node, 3, "shuffle")
            return True if given is None else Case(self.module, []).of(given)
        own = self._own(source)
        if own is None:
            reason = "is either a DistributedSampler, which goes, or"
            raise Refusal(loader, f"the sampler of this DataLoader {reason} `{ast.unparse(source.node)}`, which stays")
        given = argument(loader, 2, "shuffle")
        if own or given is None or isinstance(source.node, ast.Call):
            return own
        return Case(self.module, self._without(loader, sampler, source, sources)).of(given)

    def _without(
        self, loader: ast.Call, sampler: ast.expr, source: Source, sources: Sequence[Source]
    ) -> list[tuple[ast.expr, bool]]:
        """What is sure where a loader gets None instead of a sampler."""
        none = ast.Compare(sampler, [ast.Is()], [ast.Constant(None)])
        known: list[tuple[ast.expr, bool]] = [(none, True), (sampler, False)]
        outside = branches(self.module, loader)
        leading = [branch for branch in branches(self.module, source.node) if branch not in outside]
        if leading or source.module is not self.module:
            return [*known, *leading]
        for other in sources:  # None stood before, and stays where the test for another one fails
            is_here = other is not source and other.module is self.module
            tests = [branch for branch in branches(self.module, other.node) if branch not in outside] if is_here else []
            known += [(test, not result) for test, result in tests if len(tests) == 1]
        return known

    def _means_the_same(self, node: ast.expr, loader: ast.Call) -> bool:
        """Whether an expression would give the same behind itself, in a loader."""
        here, start, end = self.module.scope_of[loader], self.module.start(node), self.module.start(loader)
        for name in (part for part in ast.walk(node) if isinstance(part, ast.Name)):
            scope = self.module.bound_in(name)
            bound = self.module.bindings_of(name)
            if here.find(name.id) is not scope or any(start < self.module.start(b.node) < end for b in bound):
                return False
        return True

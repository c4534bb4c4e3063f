"""Lengths of packed sequences that the loop kept on the CPU: torch wants them there, and prepared loaders move them.

They are moved back where the sequence is packed, and not where the model gets them: DistributedDataParallel moves what
it is given to its device.
"""

import ast
from collections.abc import Iterator

from raymigrate.codemods.to_accelerate.changes import Changes
from raymigrate.codemods.to_accelerate.hosts import Hosts
from raymigrate.codemods.to_accelerate.order import Order
from raymigrate.codemods.to_accelerate.rules import RM858
from raymigrate.codemods.to_accelerate.variables import Variable
from raymigrate.facts.values import all_arguments, argument, reaching

PACKS = ("torch.nn.utils.rnn.pack_padded_sequence",)
# What gives lengths that are not on a GPU, whatever they come from.
LEAVES = frozenset({"cpu", "numpy", "tolist", "item"})
SAME_PLACE = ("torch.sort", "torch.clamp")


class Packed:
    """The lengths of packed sequences.

    Args:
        hosts: Knows what the loop moves.
        order: Says what code runs after the loaders were prepared.
        loaders: The loaders that are prepared.
    """

    def __init__(self, hosts: Hosts, order: Order, loaders: frozenset[Variable]) -> None:
        self.hosts = hosts
        self.order = order
        self.loaders = loaders
        self.training = hosts.training
        self.variables = hosts.training.variables
        self.module = hosts.module

    def convert(self, changes: Changes) -> None:
        """Moves lengths to the CPU that came there by no move of the loop, and tells of those in other files."""
        for call in self.module.calls(*PACKS):
            lengths = argument(call, 1, "lengths")
            stayed = [read for read in self._sources(lengths, frozenset()) if self._stayed(read)] if lengths else []
            if not stayed or lengths is None or changes.is_gone(lengths):
                continue
            sure = all(self._gives_tensors(loader) for read in stayed for loader in self.training.batch_of(read))
            changes.wrap(lengths, "$part.cpu()" if sure else 'torch.as_tensor($part, device="cpu")')
            if not sure:
                changes.edits.append(lambda: changes.context.plan.need_import("torch"))
        self._tell_of_others(changes)

    def _stayed(self, read: ast.Name) -> bool:
        """Whether the loop never moved a part of a batch itself."""
        return self.order.holds(read) and not self.hosts.is_moved(read)

    def _gives_tensors(self, loader: Variable) -> bool:
        """Whether numbers of rows come as tensors: those of a collator of one's own may be lists."""
        makers = self.variables.makers(loader)
        return all(isinstance(maker, ast.Call) and argument(maker, 6, "collate_fn") is None for maker in makers)

    # -- where a value comes from --------------------------------------------------------------

    def _sources(self, node: ast.expr, seen: frozenset[ast.AST]) -> Iterator[ast.Name]:
        """The parts of batches that lengths are made of, and that are where these are."""
        if isinstance(node, (ast.Subscript, ast.Attribute)):
            yield from self._sources(node.value, seen)
        elif isinstance(node, ast.Call):
            name = self.module.qualified(node.func)
            if name in SAME_PLACE and node.args:
                yield from self._sources(node.args[0], seen)
            elif name is None and isinstance(node.func, ast.Attribute) and not self._leaves(node):
                yield from self._sources(node.func.value, seen)
        elif isinstance(node, ast.Name):
            batch = self.training.batch_of(node)
            if batch:
                yield from [node] if batch <= self.loaders else []
                return
            for binding in reaching(self.module, node):
                if binding.node not in seen:
                    for value in self._values(binding.node):
                        yield from self._sources(value, seen | {binding.node})

    def _leaves(self, call: ast.Call) -> bool:
        """Whether a method gives what is on the CPU."""
        assert isinstance(call.func, ast.Attribute)
        places = all_arguments(call)
        to_cpu = any("cpu" in ast.unparse(place) for place in places)
        return call.func.attr in LEAVES or (call.func.attr == "to" and to_cpu)

    def _values(self, binding: ast.AST) -> list[ast.expr]:
        """What a name gets: of a parameter what the calls give."""
        if isinstance(binding, ast.arg):
            return self._given(binding)
        value = self.hosts.source(binding)
        return [value] if value is not None else []

    def _given(self, parameter: ast.arg) -> list[ast.expr]:
        function = self.module.parent_of[self.module.parent_of[parameter]]
        owner = self.module.parent_of.get(function)
        if not isinstance(function, ast.FunctionDef) or not isinstance(owner, ast.ClassDef):
            return list(self.variables.given(parameter))
        names = [each.arg for each in (*function.args.posonlyargs, *function.args.args)][1:]
        position = names.index(parameter.arg) if parameter.arg in names else len(names)
        if function.name == "forward":
            calls = [call for call in self.module.of_type(ast.Call) if owner in self._classes(call.func)]
        else:
            calls = self.training.method_calls(function.name)
        values = (argument(call, position, parameter.arg) for call in calls)
        return [value for value in values if value is not None]

    def _makers(self, callee: ast.expr) -> list[ast.expr]:
        """What makes the object that is called: a variable, or an attribute of a module beside it."""
        if isinstance(callee, ast.Name):
            return [maker for variable in self.variables.of(callee) for maker in self.variables.makers(variable)]
        if not isinstance(callee, ast.Attribute) or ast.unparse(callee.value) != "self":
            return []
        around = self.module.class_around(callee)
        stored = [part for part in ast.walk(around) if isinstance(part, ast.Attribute)] if around is not None else []
        stored = [part for part in stored if isinstance(part.ctx, ast.Store) and part.attr == callee.attr]
        values = [self.module.assigned(part) for part in stored]
        return [bare for v in values if v is not None and isinstance(bare := self.variables.bare(v), ast.expr)]

    def _classes(self, callee: ast.expr) -> set[ast.AST | None]:
        makers = self._makers(callee)
        return {self.module.definition(m.func) for m in makers if isinstance(m, ast.Call) and m in self.module.scope_of}

    # -- other files ---------------------------------------------------------------------------

    def _tell_of_others(self, changes: Changes) -> None:
        """Tells of models from other files of the project that pack sequences by lengths which the loop left there."""
        for call in self.module.of_type(ast.Call):
            path = self._packs_in(call.func)  # most calls end here: where their arguments come from is a longer way
            values = all_arguments(call) if path else []
            reads = [v for v in values if isinstance(v, ast.Name) and self.training.batch_of(v) and self._stayed(v)]
            if reads and self.training.batch_of(reads[0]) <= self.loaders:
                changes.manual(
                    RM858,
                    reads[0],
                    f"`{reads[0].id}` stayed on the CPU, and a prepared loader gives it on the device:"
                    f" pack_padded_sequence in {path} raises a RuntimeError where it gets its lengths from there.",
                    "Write lengths.cpu() there.",
                )

    def _packs_in(self, callee: ast.expr) -> str:
        """The file whose class makes the object that is called, if it packs sequences; else empty."""
        for maker in self._makers(callee):
            made = maker.func if isinstance(maker, ast.Call) and maker in self.module.scope_of else None
            definition = self.module.elsewhere(made) if made is not None else None
            if definition is not None and any(definition.module.calls(*PACKS)):
                return definition.module.path
        return ""

"""How an evaluation loop gathers its rows, and the edits for it."""

import ast
from dataclasses import dataclass, field

from raymigrate.codemods.to_accelerate.changes import Changes
from raymigrate.codemods.to_accelerate.training import Loop
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import is_assignment, targets_of
from raymigrate.facts.values import called_name, is_call_by_name, is_method_call

IGNORED = -100  # the label of tokens that do not count, in transformers and in the losses of torch
ON_CPU = frozenset({"cpu", "detach", "numpy", "tolist"})
PAD_OVER_LINES = f"accelerator.pad_across_processes(\n    {{}}, dim=1, pad_index={IGNORED}\n)"
PAD = f"accelerator.pad_across_processes({{}}, dim=1, pad_index={IGNORED})"


@dataclass
class Gathering:
    """How an evaluation loop gathers its rows.

    Args:
        loop: The loop.
        statement: The statement after which, or before which, they are gathered.
        is_after: Whether after it.
        outputs: What the model gave for each row: a name, or an expression that gets one.
        labels: Names and items of the batch that are read from there on, by how they are written.
        texts: Those of them that are no tensors, and gathered as objects.
        losses: Values that stand for a whole batch.
        sizes: Expressions for the number of rows of the model's inputs.
        on_cpu: The outputs, before they were moved to the CPU.
        together: The value of `predictions, references = predictions, batch["labels"]`, which is gathered as a whole.
        is_ragged: Whether rows of different batches can have different lengths, the rest filled with the label -100.
    """

    loop: Loop
    statement: ast.stmt
    is_after: bool
    outputs: list[ast.expr] = field(default_factory=list)
    name: str = ""
    labels: dict[str, list[ast.expr]] = field(default_factory=dict)
    texts: dict[str, list[ast.expr]] = field(default_factory=dict)
    losses: list[ast.expr] = field(default_factory=list)
    sizes: list[ast.expr] = field(default_factory=list)
    on_cpu: ast.Call | None = None
    together: ast.Tuple | None = None
    is_ragged: bool = False


class Gatherer:
    """Plans the edits by which evaluation loops gather their rows.

    Args:
        module: The module.
    """

    def __init__(self, module: Module) -> None:
        self.module = module

    def _leaves_tensors(self, found: Gathering) -> bool:
        """Whether code below needs its rows on the CPU: for NumPy, or in lists that outlive the loop."""
        end = self.module.end(found.statement)
        calls = [node for node in self.module.below(found.loop.node) if isinstance(node, ast.Call)]
        later = [call for call in calls if self.module.start(call) >= end]
        names = {call.func.attr for call in later if isinstance(call.func, ast.Attribute)}
        libraries = {called_name(self.module, call).partition(".")[0] for call in later}
        return bool(names & {"numpy", "tolist", "append", "extend"} or libraries & {"numpy", "sklearn"})

    def convert(self, changes: Changes, found: Gathering) -> None:
        """Plans the edits of one loop."""
        if found.together is not None:
            self._gather_together(changes, found, found.together)
            return
        names, values = [found.name], [found.name]
        parts: dict[str, ast.expr] = {}
        if found.outputs:
            names[0] = changes.context.fresh(found.name, "scores")
            values[0] = self.module.source(found.outputs[0]) if found.is_after else "$output"
            self._name_outputs(changes, found, names[0])
            parts = {} if found.is_after else {"output": found.outputs[0]}
        for items in found.labels.values():
            names.append(self._name_part(changes, items))
            values.append(self.module.source(items[0]))
        for part in found.sizes:
            size = size_of(self.module, part)
            if size is not None and not (isinstance(part, ast.Name) and part.id in names):
                changes.replace(size, f"{names[-1]}.size(0)")
        target, gathered = ", ".join(names), f"({', '.join(values)})" if len(values) > 1 else values[0]
        lines = [f"{target} = accelerator.gather_for_metrics({gathered})"]
        if found.is_ragged:
            again = f"({target})" if len(names) > 1 else target
            padding = f"{target} = {PAD.format(gathered)}"
            if changes.wide(found.statement, padding):
                padding = f"{target} = {PAD_OVER_LINES.format(gathered)}"
            lines = [padding, f"{target} = accelerator.gather_for_metrics({again})"]
        for items in found.texts.values():
            own, value = self._name_part(changes, items), self.module.source(items[0])
            lines.append(f"{own} = accelerator.gather_for_metrics({value}, use_gather_object=True)")
        add = changes.after if found.is_after else changes.before
        add(found.statement, "\n".join(lines), **parts)
        self._stay_on_device(changes, found, names)
        self._reduce_losses(changes, found)

    def _name_part(self, changes: Changes, items: list[ast.expr]) -> str:
        """The name of a part of the batch from there on, where its rows are those of all processes."""
        if isinstance(items[0], ast.Name):
            return items[0].id
        own = changes.context.fresh(_called(items[0]), "references", "targets")
        for item in items:
            changes.replace(item, own)
        return own

    def _gather_together(self, changes: Changes, found: Gathering, value: ast.Tuple) -> None:
        parts = {f"part_{number}": part for number, part in enumerate(value.elts)}
        gathered = f"({', '.join(f'${name}' for name in parts)})"
        assert is_assignment(found.statement)
        if found.is_ragged:
            target = self.module.source(targets_of(found.statement)[0])
            is_wide = changes.wide(found.statement, f"{target} = {PAD.format(self.module.source(value))}()")
            changes.replace(value, (PAD_OVER_LINES if is_wide else PAD).format(gathered), **parts)
            changes.after(found.statement, f"{target} = accelerator.gather_for_metrics(({target}))")
        else:
            changes.replace(value, f"accelerator.gather_for_metrics({gathered})", **parts)
        for part in found.sizes:
            if (size := size_of(self.module, part)) is not None:
                changes.replace(size, f"{found.name}.size(0)")
        [several] = targets_of(found.statement)
        assert isinstance(several, ast.Tuple)
        self._stay_on_device(changes, found, [ast.unparse(name) for name in several.elts])
        self._reduce_losses(changes, found)

    def _reduce_losses(self, changes: Changes, found: Gathering) -> None:
        for loss in found.losses:
            changes.replace(loss, f'accelerator.reduce({self.module.source(loss)}, reduction="mean")')

    def _name_outputs(self, changes: Changes, found: Gathering, name: str) -> None:
        for output in found.outputs:
            if found.is_after:
                changes.replace(output, name)
            else:
                changes.hoist(output, name)

    def _stay_on_device(self, changes: Changes, found: Gathering, names: list[str]) -> None:
        """Moves outputs to the CPU after they are gathered, where code below needs them there."""
        if found.on_cpu is None:
            return
        owner, tail = split_tail(found.on_cpu)
        changes.replace(found.on_cpu, "$owner", owner=owner)
        if tail or self._leaves_tensors(found):
            moved = [f"{name}.cpu(){tail if name == found.name else ''}" for name in names]
            changes.after(found.statement, f"{', '.join(names)} = {', '.join(moved)}")


def _called(part: ast.expr) -> str:
    """A name for an item of a batch: its key, as far as that can be one."""
    item = part.slice if isinstance(part, ast.Subscript) else None
    key = item.value if isinstance(item, ast.Constant) else getattr(part, "attr", None)
    return key if isinstance(key, str) and key.isidentifier() else "labels"


def moved_to_cpu(statement: ast.stmt) -> ast.Call | None:
    """What a statement moves to the CPU as its last step: `x.argmax(1).cpu()`, `x.cpu().detach().numpy()`."""
    value = statement.value if is_assignment(statement) else None
    is_moved = isinstance(value, ast.Call) and split_tail(value)[0] is not value
    return value if is_moved and isinstance(value, ast.Call) else None


def split_tail(call: ast.Call) -> tuple[ast.expr, str]:
    """A tensor before it goes to the CPU, and what is done to it there: `x` and `.detach().numpy()`."""
    steps: list[str] = []
    node: ast.expr = call
    while is_method_call(node, *ON_CPU):
        if node.args or node.keywords:
            break
        steps.insert(0, node.func.attr)
        node = node.func.value
    if not {"cpu", "numpy", "tolist"} & set(steps):
        return call, ""
    tail = "".join(f".{step}()" for step in steps if step != "cpu")
    return node, tail if {"numpy", "tolist"} & set(steps) else ""


def size_of(module: Module, part: ast.expr) -> ast.expr | None:
    """The expression for a number of rows that a tensor is read for: `x.size(0)`, `x.shape[0]`, `len(x)`."""
    parent = module.parent_of[part]
    outer = module.parent_of.get(parent)
    if isinstance(parent, ast.Attribute) and parent.attr == "size" and isinstance(outer, ast.Call):
        return outer if [module.constant(value) for value in outer.args] == [0] else None
    if isinstance(parent, ast.Attribute) and parent.attr == "shape" and isinstance(outer, ast.Subscript):
        return outer if module.constant(outer.slice) == 0 else None
    return parent if is_call_by_name(parent, "len") else None

"""RM303 and RM304: checkpoints made from a dict, and read back as one.

ray.train.Checkpoint is a directory: `from_dict` and `to_dict` raise an AttributeError (Ray issue 37868).
"""

import ast

from raymigrate.codemods import codemod
from raymigrate.codemods.emitted import CHECKPOINT_FILE
from raymigrate.codemods.tuner_config import tune_name
from raymigrate.context import Context
from raymigrate.edits.plan import Code
from raymigrate.facts.module import Reference
from raymigrate.facts.places import Place, Places
from raymigrate.findings import Rule

API = "https://docs.ray.io/en/latest/train/user-guides/checkpoints.html"

RM303 = Rule(
    "RM303",
    "a checkpoint made from a dict",
    "ray.train.Checkpoint has no from_dict: it raises an AttributeError.",
    "Rank 0 writes the dict to a file with torch.save and reports the directory.",
    API,
)
RM304 = Rule(
    "RM304",
    "a checkpoint read as a dict",
    "ray.train.Checkpoint has no to_dict: it raises an AttributeError.",
    "The dict is loaded from the file that the converted code writes. Checkpoints of legacy Ray cannot be read so.",
    API,
)
RM308 = Rule(
    "RM308",
    "a method that Checkpoint no longer has",
    "ray.train.Checkpoint is a directory: other forms raise an AttributeError.",
    "Use Checkpoint(path), .path, as_directory() and to_directory().",
    API,
)

CHECKPOINTS = tuple(
    f"{module}.Checkpoint" for module in ("ray.air", "ray.air.checkpoint", "ray.air.config", "ray.train")
)
REPORTS = ("ray.air.session.report", "ray.train.report")
GET_CHECKPOINT = frozenset({"ray.air.session.get_checkpoint", "ray.train.get_checkpoint"})
GONE = ("from_bytes", "from_object_ref")

REPORT = """
{data} = $data
with tempfile.TemporaryDirectory() as {folder}:
    {checkpoint} = None
    if ray.train.get_context().get_world_rank() == 0:
        torch.save({data}, os.path.join({folder}, "{file}"))
        {checkpoint} = ray.train.Checkpoint.from_directory({folder})
    ray.train.report($metrics, checkpoint={checkpoint})
"""
REPORT_OF_TRIAL = """
{data} = $data
with tempfile.TemporaryDirectory() as {folder}:
    torch.save({data}, os.path.join({folder}, "{file}"))
    {tune}.report($metrics, checkpoint={tune}.Checkpoint.from_directory({folder}))
"""


@codemod("Checkpoint", order=15)
def from_dict(context: Context) -> None:
    """Rewrites `report(metrics, checkpoint=Checkpoint.from_dict(data))`, also with the checkpoint in a variable."""
    for reference in list(context.references(*CHECKPOINTS)):
        method = reference.qualified.rpartition(".")[2]
        if method == "from_uri":
            if context.converts(RM308, reference.node, "Checkpoint.from_uri(uri) is Checkpoint(uri) now."):
                _replace_class(context, reference, "ray.train.Checkpoint")
        elif method in GONE:
            context.manual(RM308, reference.node, f"Checkpoint.{method}() raises an AttributeError.")
            context.handle(reference, gone=False)
        elif method == "from_dict" and not _rewrite_report(context, reference):
            context.manual(RM303, reference.node, "Checkpoint.from_dict() raises an AttributeError on Ray >= 2.7.")
            context.handle(reference, gone=False)


def _replace_class(context: Context, reference: Reference, source: str) -> None:
    context.plan.need_import("ray.train", near=reference.binding.statement)
    context.replace_reference(reference, source)


def _rewrite_report(context: Context, reference: Reference) -> bool:
    """Plans the rewriting; returns whether the call has the expected form."""
    module = context.module
    made = module.parent_of[reference.node]
    if not isinstance(made, ast.Call) or len(made.args) != 1 or made.keywords:
        return False
    report = _report_of(context, made)
    if report is None or not isinstance(module.parent_of[report], ast.Expr) or report.func not in module.reference_at:
        return False
    metrics = report.args[0] if report.args else next((k.value for k in report.keywords if k.arg == "metrics"), None)
    statement = module.statement(report)
    if metrics is None or statement not in _siblings(context, statement):
        return False
    if not context.converts(RM303, reference.node, "Checkpoint.from_dict() raises an AttributeError on Ray >= 2.7."):
        return True
    place = context.plan.statement(statement)
    assigned = module.parent_of[made]
    own = {assigned.targets[0]} if isinstance(assigned, ast.Assign) else set()
    in_trial = Places(module).of(report) is Place.TRIAL
    template = (REPORT_OF_TRIAL if in_trial else REPORT).format(
        file=CHECKPOINT_FILE,
        tune=tune_name(context, reference.node) if in_trial else "",
        checkpoint=_local(context, statement, "checkpoint", own),
        data=_local(context, statement, "checkpoint_data", own),
        folder=_local(context, statement, "checkpoint_dir", own),
    )
    if isinstance(assigned, ast.Assign):
        head, _, template = template.strip("\n").partition("\n")
        context.plan.statement(assigned).replacement = Code(head, {"data": made.args[0]})
    place.replacement = Code(template.lstrip("\n"), {"data": made.args[0], "metrics": metrics})
    for need in ("os", "tempfile", "torch"):
        context.plan.need_import(need)
    if not in_trial:
        context.plan.need_import("ray.train", near=reference.binding.statement)
    context.handle(reference, gone=True)
    context.handle(module.reference_at[report.func], gone=True)
    return True


def _local(context: Context, statement: ast.stmt, name: str, own: set[ast.expr]) -> str:
    """A name for a new local variable: none that the function binds, except by the statement that goes away."""
    scope = context.module.scope_of[statement]
    while any(binding.node not in own for binding in scope.bindings.get(name, [])):
        name = f"new_{name}"
    return name


def _report_of(context: Context, made: ast.Call) -> ast.Call | None:
    """The report call that a checkpoint goes to, directly or through a variable of the same block."""
    module = context.module
    parent = module.parent_of[made]
    if isinstance(parent, ast.keyword):
        call = module.parent_of[parent]
        return call if parent.arg == "checkpoint" and isinstance(call, ast.Call) and _is_report(context, call) else None
    if not isinstance(parent, ast.Assign) or not isinstance(parent.targets[0], ast.Name):
        return None
    name = parent.targets[0]
    scope = module.scope_of[name].find(name.id)
    uses = module.uses(name.id, scope) if scope else []
    if len(uses) != 1 or len(scope.bindings[name.id]) != 1:  # type: ignore[union-attr]
        return None
    keyword = module.parent_of[uses[0]]
    call = module.parent_of[keyword]
    if not isinstance(keyword, ast.keyword) or not isinstance(call, ast.Call) or not _is_report(context, call):
        return None
    return call if module.statement(call) in _siblings(context, parent) else None


def _is_report(context: Context, call: ast.Call) -> bool:
    return context.module.qualified(call.func) in REPORTS and len(call.args) + len(call.keywords) == 2


def _siblings(context: Context, statement: ast.stmt) -> list[ast.stmt]:
    parent = context.module.parent_of[statement]
    for field in ("body", "orelse", "finalbody"):
        block = getattr(parent, field, None)
        if isinstance(block, list) and statement in block:
            return block
    return []


@codemod("to_dict", order=15)
def to_dict(context: Context) -> None:
    """Rewrites `state = checkpoint.to_dict()` where this file also writes the checkpoint from a dict."""
    module = context.module
    for node in module.nodes:
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "to_dict"):
            continue
        owner = module.value(node.func.value)
        source = module.qualified(owner.func) if isinstance(owner, ast.Call) else None
        if source not in GET_CHECKPOINT or node.args or node.keywords:
            continue
        statement = module.statement(node)
        simple = isinstance(statement, ast.Assign) and len(statement.targets) == 1
        writers = [r for r in module.references if r.qualified.endswith("Checkpoint.from_dict")]
        written = bool(writers) and all(writer.root in context.rewritten for writer in writers)
        if not simple or not written:
            context.manual(RM304, node, "Checkpoint.to_dict() raises an AttributeError on Ray >= 2.7.")
        elif context.converts(RM304, node, "Checkpoint.to_dict() raises an AttributeError on Ray >= 2.7."):
            _load(context, statement, node)


def _load(context: Context, statement: ast.stmt, node: ast.Call) -> None:
    assert isinstance(statement, ast.Assign) and isinstance(node.func, ast.Attribute)
    load = f'torch.load(os.path.join(checkpoint_dir, "{CHECKPOINT_FILE}"), weights_only=False)'
    target = context.module.source(statement.targets[0])
    parts: dict[str, ast.expr | str] = {"checkpoint": node.func.value}
    value = load
    if statement.value is not node:
        context.plan.replace(node, load)
        parts["value"], value = statement.value, "$value"
    template = f"with $checkpoint.as_directory() as checkpoint_dir:\n    {target} = {value}"
    context.plan.statement(statement).replacement = Code(template, parts)
    for need in ("os", "torch"):
        context.plan.need_import(need)

"""RM303 and RM308: checkpoints made from a dict, from bytes, from a URI.

ray.train.Checkpoint is a directory: `from_dict` and similar methods raise an AttributeError (Ray issue 37868).
"""

import ast

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.ray_air.dict_reports import Flow, checkpoint_argument, flow_of, metrics_argument
from raymigrate.codemods.ray_air.wrapped_models import take_off_wrappers
from raymigrate.codemods.shared.emitted import CHECKPOINT_FILE
from raymigrate.codemods.shared.local_names import local_name
from raymigrate.codemods.shared.torch_models import FROM_DICT
from raymigrate.codemods.shared.tune_name import tune_name
from raymigrate.edits.plan import Code
from raymigrate.facts.hugging_face.models import models_in
from raymigrate.facts.projects.main_process import is_for_first_rank
from raymigrate.facts.projects.places import Place
from raymigrate.facts.ray_train.own_objects import may_hold_own
from raymigrate.facts.ray_train.results import CHECKPOINTS
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.scopes import Reference
from raymigrate.facts.values import given_by_name, is_method_call, is_none

API = "https://docs.ray.io/en/latest/train/user-guides/checkpoints.html"

RM303 = Rule(
    "RM303",
    "a checkpoint made from a dict",
    "ray.train.Checkpoint has no from_dict: it raises an AttributeError.",
    "Rank 0 writes the dict to a file with torch.save and reports the directory. Objects of classes of the script are"
    " pickled by ray.cloudpickle, as before: by itself torch.save writes the name of a class, which no worker finds.",
    API,
    errors=(
        "`ray.train.Checkpoint` class does not support `from_dict()`",
        "type object 'Checkpoint' has no attribute 'from_dict'",
        "`ray.air.Checkpoint` is deprecated",
    ),
)
RM308 = Rule(
    "RM308",
    "a method that Checkpoint no longer has",
    "ray.train.Checkpoint is a directory: other forms raise an AttributeError.",
    "Use Checkpoint(path), .path, as_directory() and to_directory().",
    API,
    errors=(
        "`ray.train.Checkpoint` class does not support",
        "type object 'Checkpoint' has no attribute",
        "'Checkpoint' object has no attribute",
    ),
)

IN_TRAINING = (
    "Write the dict to a file in a folder with torch.save, on rank 0 only where there are several workers, and report"
    " Checkpoint.from_directory(folder)."
)
ELSEWHERE = (
    "Use the dict itself, for example as fn_constructor_kwargs of map_batches. Where a Checkpoint is needed, write the"
    " dict to a file in a folder with torch.save, and take Checkpoint.from_directory(folder)."
)
ITSELF = (
    "Take the checkpoint itself that gives the dict: both are folders today. Where its folder does not last, copy it"
    " into one that does, with checkpoint.to_directory(path)."
)
# docs/semantics/libraries.md#pickled-models
WITH_MODEL = (
    "Give the name of the model, or write it to a folder that all machines see with save_pretrained(folder), and call"
    " from_pretrained() where it is used, as in __init__: many models of transformers 5 cannot be pickled, or fail when"
    " they were. Use the rest of the dict itself, for example as fn_constructor_kwargs of map_batches. Where a"
    " Checkpoint is needed, take Checkpoint.from_directory(folder)."
)
GONE = ("from_bytes", "from_object_ref")
PATHS = ("local_path", "uri")
CONSTRUCTOR = ("local_path", "data_dict", "uri", "obj_ref")  # one of them was given

REPORT = """
{data} = $data
with tempfile.TemporaryDirectory() as {folder}:
    {checkpoint} = None
    if {condition}:
        torch.save({data}, os.path.join({folder}, "{file}"){pickled})
        {checkpoint} = {module}.Checkpoint.from_directory({folder})
    {module}.report($metrics, checkpoint={checkpoint})
"""
REPORT_ALWAYS = """
{data} = $data
with tempfile.TemporaryDirectory() as {folder}:
    torch.save({data}, os.path.join({folder}, "{file}"){pickled})
    {module}.report($metrics, checkpoint={module}.Checkpoint.from_directory({folder}))
"""
WITH_TORCH = ("torch.", "transformers.", "accelerate.", "lightning.", "pytorch_lightning.", "ray.train.torch.")
NEEDS_TORCH = (
    "What from_dict() kept is saved with torch.save(), and nothing else in this file shows that torch is installed;"
    " {}() and pickle.load() do the same for it."
)
# facts/ray_train/own_objects.py
MADE = "now a file in a directory."
MADE_BY_VALUE = "now a file in a directory, by ray.cloudpickle, as what is in it may be of a class of this script."
BY_VALUE = ", pickle_module=ray.cloudpickle"
WITH_CLASSES = (
    " Give torch.save pickle_module=ray.cloudpickle: by itself it saves classes and functions of this script by their"
    " names, which other processes do not find."
)
ON_RANK_0 = "ray.train.get_context().get_world_rank() == 0"


@codemod("Checkpoint", phase=Phase.TRIALS)
def from_dict(context: Context) -> None:
    """Rewrites `report(metrics, checkpoint=Checkpoint.from_dict(data))`, also with the checkpoint in a variable.

    A TorchCheckpoint had the same method, until Ray 2.6; framework_checkpoints.py tells what is left of it.
    """
    for reference in context.references(*FROM_DICT):
        if reference.is_within("ray.train.torch") and reference.root not in context.handled:
            _rewrite_report(context, reference)
    for reference in context.references(*CHECKPOINTS):
        method = reference.qualified.rpartition(".")[2]
        if reference.root in context.handled:
            continue  # with another one that goes to the same report
        if method == "from_uri":
            if context.converts(RM308, reference.node, "Checkpoint.from_uri(uri) is Checkpoint(uri) now."):
                _construct(context, reference)
        elif method == "Checkpoint":
            constructed(context, reference, reference.is_within("ray.air") or reference.is_within("ray.ml"))
        elif method in GONE:
            context.leave(RM308, reference, f"Checkpoint.{method}() raises an AttributeError.")
        elif method == "from_dict" and not _rewrite_report(context, reference):
            message = "Checkpoint.from_dict() raises an AttributeError on Ray >= 2.7."
            call = context.module.parent_of[reference.node]
            given = call.args[0] if isinstance(call, ast.Call) and len(call.args) == 1 else None
            context.leave(RM303, reference, message, instead_of_dict(context, reference, given))


def instead_of_dict(context: Context, reference: Reference, given: ast.expr | None, kept: str = "") -> str:
    """What to do where a checkpoint is made from a dict.

    Args:
        context: The module.
        reference: What makes it.
        given: The dict; None where it is not seen.
        kept: What the class keeps without a dict.
    """
    if given is not None and is_of_checkpoint(context.module, given):
        return ITSELF
    if given is not None and models_in(context.module, given):
        return WITH_MODEL + kept
    if given is not None and may_hold_own(context.module, given):
        kept = WITH_CLASSES + kept
    return (IN_TRAINING if context.place_of(reference.node) is not Place.UNKNOWN else ELSEWHERE) + kept


def is_of_checkpoint(module: Module, given: ast.expr) -> bool:
    """Whether a dict is what `checkpoint.to_dict()` gives."""
    return is_method_call(module.value(given), "to_dict")


def constructor_arguments(module: Module, call: ast.Call, *, by_position: bool) -> dict[str, ast.expr]:
    """What a call of a checkpoint class is given, by the names of Ray 2.0 to 2.6, None left out (air/checkpoint.py).

    Args:
        module: The module.
        call: The call.
        by_position: Whether positions are those of that Ray for sure.
    """
    names = CONSTRUCTOR if by_position or (call.args and is_none(call.args[0])) else ()
    given = {**dict(zip(names, call.args, strict=False)), **given_by_name(module, call)}
    return {name: value for name, value in given.items() if not is_none(value)}


def constructed(context: Context, reference: Reference, by_position: bool, kept: str = "") -> None:
    """Rewrites `Checkpoint(local_path=folder)` and `Checkpoint(uri=uri)`; reports what was made from a dict.

    Args:
        context: The module.
        reference: The class.
        by_position: Whether its arguments by position are those of old Ray for sure.
        kept: What the class keeps without a dict.
    """
    call = context.module.calling(reference.node)
    if call is None:
        return
    name = reference.qualified.rpartition(".")[2]
    given = constructor_arguments(context.module, call, by_position=by_position)
    if "data_dict" in given or "obj_ref" in given:
        message = f"{name}(data_dict) raises a TypeError, or fails later."
        context.manual(RM303, call, message, instead_of_dict(context, reference, given.get("data_dict"), kept))
        context.handle(reference, gone=False)
    elif len(call.args) > 1 and by_position:
        context.manual(RM308, call, f"{name} takes one path.", "Give it the folder or the URI alone.")
        context.handle(reference, gone=False)
    elif not given.keys().isdisjoint(PATHS) and not call.args:
        message = f"{name} takes a folder or a URI as path= today: anything else raises a TypeError."
        if {keyword.arg for keyword in call.keywords}.isdisjoint(PATHS):
            context.manual(RM308, call, message, "Name it path= in the dict that is unpacked.")
        elif context.converts(RM308, call, message):
            _name_path(context, call)


def _name_path(context: Context, call: ast.AST) -> None:
    """Names the argument that says where a checkpoint is."""
    if isinstance(call, ast.Call):
        edit = context.plan.call(call)
        for keyword in call.keywords:
            if keyword.arg is not None and is_none(keyword.value):
                edit.remove.add(keyword.arg)
            elif keyword.arg in PATHS:
                edit.rename[keyword.arg] = "path"


def _construct(context: Context, reference: Reference) -> None:
    if reference.is_within("ray.train"):
        call_class(context, reference)
        return
    _name_path(context, context.module.parent_of[reference.node])
    context.plan.need_import("ray.train", near=reference.binding.statement)
    context.replace_reference(reference, "ray.train.Checkpoint")


def call_class(context: Context, reference: Reference) -> None:
    """Calls a checkpoint class itself, by the name that it has here, in place of its method `from_uri`."""
    assert isinstance(reference.node, ast.Attribute)
    _name_path(context, context.module.parent_of[reference.node])
    context.plan.replace(reference.node, "$owner", owner=reference.node.value)
    context.handle(reference, gone=False)


def _rewrite_report(context: Context, reference: Reference) -> bool:
    """Plans the rewriting; returns whether the call has the expected form."""
    module = context.module
    made = module.parent_of[reference.node]
    flow = flow_of(context, made) if isinstance(made, ast.Call) else None
    if flow is None:
        return False
    statements = [module.statement(report) for report in flow.reports]
    if any(report.func not in module.reference_at for report in flow.reports):
        return False
    makers = [module.reference_at[call.func] for call in flow.made if call.func in module.reference_at]
    by_value = any(may_hold_own(module, call.args[0]) for call in flow.made)
    if len(makers) != len(flow.made):
        return False
    for maker in makers:
        name = maker.qualified.split(".")[-2]
        gone = f"{name}.from_dict() raises an AttributeError on Ray >= 2.7"
        if not context.converts(RM303, maker.node, f"{gone}; {MADE_BY_VALUE if by_value else MADE}"):
            return True
    data = _carry(context, flow, statements[0])
    for report, statement in zip(flow.reports, statements, strict=True):
        _write(context, flow, report, statement, data, by_value=by_value)
    _add_needed(context, flow, reference, by_value=by_value)
    for handled in (*makers, *(module.reference_at[report.func] for report in flow.reports)):
        context.handle(handled, gone=True)
    return True


def _add_needed(context: Context, flow: Flow, reference: Reference, *, by_value: bool) -> None:
    """Imports what the new code needs, and takes off what legacy trainers of torch took off the dict."""
    for need in ("os", "tempfile", "torch"):
        context.plan.need_import(need)
    if by_value:
        context.plan.need_import("ray.cloudpickle", near=reference.binding.statement)
    if all(_in_trial(context, report) for report in flow.reports):
        if not any(_brings_torch(statement) for statement in context.module.imports):
            pickles = "ray.cloudpickle.dump" if by_value else "pickle.dump"
            context.note(RM303, flow.made[0].func, NEEDS_TORCH.format(pickles))
        return
    context.plan.need_import("ray.train", near=reference.binding.statement)
    for made in flow.made:
        take_off_wrappers(context, RM303, made.args[0])


def _brings_torch(statement: ast.Import | ast.ImportFrom) -> bool:
    """Whether an import shows that torch is installed where the script runs."""
    names = [alias.name for alias in statement.names] if isinstance(statement, ast.Import) else [statement.module or ""]
    return any(f"{name}.".startswith(WITH_TORCH) for name in names)


def _carry(context: Context, flow: Flow, statement: ast.stmt) -> str:
    """Lets the variable of a checkpoint carry its dict; returns the new name of it."""
    data = local_name(context, statement, "checkpoint_data", set(flow.bindings))
    for name in flow.bindings:
        context.plan.replace(name, data)
        if isinstance(assigned := context.module.parent_of[name], ast.AnnAssign):
            context.plan.replace(assigned.annotation, "dict | None" if flow.optional else "dict")
            context.take_out(assigned.annotation)
    values = [checkpoint_argument(report) for report in flow.reports]
    for made in flow.made:
        if made not in values:
            context.plan.replace(made, "$data", data=made.args[0])
    return data


def _write(context: Context, flow: Flow, report: ast.Call, statement: ast.stmt, data: str, *, by_value: bool) -> None:
    """Writes the dict to a file where it is reported.

    Args:
        flow: How the dict gets there.
        statement: The statement that it is.
        data: The variable with the dict.
        by_value: Whether the dict may hold objects of classes that pickle does not find on a worker.
    """
    given, metrics = checkpoint_argument(report), metrics_argument(report)
    assert given is not None and metrics is not None
    if given in flow.made:
        given = flow.made[0].args[0]
    named = given.id if isinstance(given, ast.Name) and not (flow.bindings or flow.optional) else ""
    data = named or data
    in_trial = _in_trial(context, report)  # a trial is one process, and Tune has a report of its own
    conditions = [f"{data} is not None"] if flow.optional else []
    conditions += [] if in_trial or is_for_first_rank(context.module, report) else [ON_RANK_0]
    template = (
        (REPORT if conditions else REPORT_ALWAYS)
        .format(
            file=CHECKPOINT_FILE,
            module=tune_name(context, flow.made[0].func) if in_trial else "ray.train",
            checkpoint=local_name(context, statement, "checkpoint", set(flow.bindings)),
            data=data,
            folder=local_name(context, statement, "checkpoint_dir", set(flow.bindings)),
            condition=" and ".join(conditions),
            pickled=BY_VALUE if by_value else "",
        )
        .lstrip("\n")
    )
    if flow.bindings or named:  # else the first line gives the dict a name
        template = template.partition("\n")[2]
    context.plan.statement(statement).replacement = Code(template, {"data": given, "metrics": metrics})


def _in_trial(context: Context, report: ast.Call) -> bool:
    return context.place_of(report) is Place.TRIAL

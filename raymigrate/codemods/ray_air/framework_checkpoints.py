"""RM303 and RM308, for TorchCheckpoint and others: what the checkpoint classes of the frameworks no longer inherit.

And get_model() of a TorchCheckpoint, which no longer finds the model in a dict (codemods/shared/torch_models.py).

They derive from ray.train.Checkpoint, a directory, whose metaclass raises an AttributeError for from_dict, from_bytes
and from_uri (Ray 2.60 train/_checkpoint.py); so no table of their attributes tells what is gone.
"""

import ast

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.ray_air.ray_checkpoint import (
    GONE,
    PATHS,
    RM303,
    RM308,
    call_class,
    constructed,
    from_dict,
    instead_of_dict,
)
from raymigrate.codemods.shared.emitted import CHECKPOINT_FILE
from raymigrate.codemods.shared.torch_models import TORCH_CHECKPOINTS, lacks_model_file, makes_both
from raymigrate.facts.hugging_face.instances import instance_of
from raymigrate.facts.ray_train.framework_checkpoints import CLASSES
from raymigrate.facts.ray_train.results import class_method, is_any_checkpoint
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import is_call_by_name, sources

TOLD = ("from_dict", "from_checkpoint")  # of which is told where they stand
FILLED = ("from_model", "from_state_dict")
METHODS = ("from_dict", "from_uri", "from_checkpoint", *GONE)
OF_ANOTHER = (
    "{name}(checkpoint.path, checkpoint.filesystem) reads what methods of {name} wrote. Of a checkpoint that was made"
    " from a dict, read the file with the dict, in with checkpoint.as_directory() as folder: what converted code wrote"
    f' with torch.load(os.path.join(folder, "{CHECKPOINT_FILE}"), map_location="cpu", weights_only=False).'
)
# Ray 2.60 train/v2/_internal/execution/storage.py:511
OF_NO_CLASS = (
    "Today the checkpoint of a run is a ray.train.Checkpoint, whatever was reported, as is what was made from a dict:"
    " isinstance(..., {name}) is False."
)
NO_CLASS_ASKED = (
    "Leave the question out where all are {name}s; {name}(checkpoint.path, checkpoint.filesystem) has the methods of"
    " the class. Else ask the folder for its files."
)
NO_MODEL_FILE = (
    "TorchCheckpoint.get_model() reads model.pt, and raises a RuntimeError without it on Ray >= 2.7: what is made from"
    " a dict has no such file."
)
WEIGHTS_ALONE = " Weights alone are kept by TorchCheckpoint.from_state_dict(state_dict)."
MODEL_ALONE = " A model alone is kept by {name}.from_model(model)."


@codemod("(?:Torch|Tensorflow|XGBoost|LightGBM)Checkpoint", phase=Phase.TRIALS, after=[from_dict])
def framework_checkpoints(context: Context) -> None:
    """Makes `TorchCheckpoint.from_uri(uri)` a `TorchCheckpoint(uri)`, and reports what else is gone."""
    for reference in context.references(*(f"{owner}.{method}" for owner in CLASSES for method in METHODS)):
        name, method = reference.qualified.split(".")[-2:]
        gone = f"{name}.{method}() raises an AttributeError on Ray >= 2.7"
        if method == "from_uri":
            if context.converts(RM308, reference.node, f"{gone}; now {name}(uri)."):
                call_class(context, reference)
        elif method == "from_dict":
            call = context.module.parent_of[reference.node]
            given = call.args[0] if isinstance(call, ast.Call) and len(call.args) == 1 else None
            context.manual(RM303, reference.node, f"{gone}.", instead_of_dict(context, reference, given, _kept(name)))
        elif method == "from_checkpoint":
            context.manual(RM308, reference.node, f"{gone}.", OF_ANOTHER.format(name=name))
        else:
            context.manual(RM308, reference.node, f"{gone}.")
    for reference in context.references(*CLASSES):
        if reference.qualified in CLASSES:
            constructed(context, reference, False, _kept(reference.qualified.rpartition(".")[2]))


@codemod("(?:Torch|Tensorflow|XGBoost|LightGBM)Checkpoint", phase=Phase.TRIALS, after=[framework_checkpoints])
def asked_classes(context: Context) -> None:
    """Reports `isinstance(checkpoint, TorchCheckpoint)` of what may be the checkpoint of a run, or made from a dict."""
    module = context.module
    for call in module.of_type(ast.Call):
        if not is_call_by_name(call, "isinstance") or len(call.args) != 2:
            continue
        checkpoint, asked = call.args
        names = {module.qualified(one) or "" for one in (asked.elts if isinstance(asked, ast.Tuple) else (asked,))}
        if names and names <= set(CLASSES) and _may_be_plain(context, checkpoint):
            name = min(names).rpartition(".")[2]
            context.manual(RM308, call, OF_NO_CLASS.format(name=name), NO_CLASS_ASKED.format(name=name))


def _may_be_plain(context: Context, checkpoint: ast.expr) -> bool:
    """Whether a value may be a checkpoint of no framework; of a parameter this is only said of code for legacy Ray."""
    found = sources(context.module, checkpoint)
    makers = [class_method(context.module, source, CLASSES) for source in found]
    if found and all(maker is not None and maker not in TOLD for maker in makers):
        return False
    is_known = "from_dict" in makers or any(is_any_checkpoint(context.module, source) for source in found)
    return is_known or context.of_legacy_job


@codemod("TorchCheckpoint", phase=Phase.TRIALS, after=[framework_checkpoints])
def torch_models(context: Context) -> None:
    """Reports `get_model()` of a TorchCheckpoint that may be made from a dict."""
    calls = context.module.method_calls("get_model")
    found = {call: method.value for call, method in calls if _reads_file(context, method.value)}
    advice = lacks_model_file(context) if found else None
    if advice is None:
        return
    only_old = makes_both(context)  # what is written as today then surely knows what it reads
    for call, checkpoint in found.items():
        if not only_old or any(_is_old(context.module, source) for source in sources(context.module, checkpoint)):
            context.manual(RM303, call, NO_MODEL_FILE, advice)


def _is_old(module: Module, source: ast.expr) -> bool:
    """Whether what makes a TorchCheckpoint is written as no Ray of today takes it."""
    names = {keyword.arg for keyword in source.keywords} if isinstance(source, ast.Call) else set()
    return class_method(module, source, TORCH_CHECKPOINTS) == "from_uri" or not names.isdisjoint(PATHS)


def _reads_file(context: Context, checkpoint: ast.expr) -> bool:
    """Whether a value is a TorchCheckpoint of a folder that this file does not fill by methods of the class."""
    module = context.module
    makers = {class_method(module, source, TORCH_CHECKPOINTS) for source in sources(module, checkpoint)} - {None}
    if not makers.isdisjoint(TOLD) or (makers and makers <= set(FILLED)):
        return False
    return bool(makers & {"", "from_uri", "from_directory"}) or instance_of(module, checkpoint) in TORCH_CHECKPOINTS


def _kept(name: str) -> str:
    """What a class of checkpoints keeps without a dict."""
    return WEIGHTS_ALONE if name == "TorchCheckpoint" else MODEL_ALONE.format(name=name)

"""RM303 and RM308, for TorchCheckpoint and its like: what the checkpoint classes of the frameworks no longer inherit.

They derive from ray.train.Checkpoint, a directory, whose metaclass raises an AttributeError for from_dict, from_bytes
and from_uri (Ray 2.60 train/_checkpoint.py); so no table of their attributes tells what is gone.
"""

import ast

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.ray_air.ray_checkpoint import GONE, RM303, RM308, call_class, constructed, instead_of_dict
from raymigrate.codemods.shared.emitted import CHECKPOINT_FILE

CLASSES = tuple(
    f"ray.train.{framework}{module}.{name}"
    for framework, name in {
        "torch": "TorchCheckpoint",
        "tensorflow": "TensorflowCheckpoint",
        "xgboost": "XGBoostCheckpoint",
        "lightgbm": "LightGBMCheckpoint",
    }.items()
    for module in ("", f".{framework}_checkpoint")
)
METHODS = ("from_dict", "from_uri", "from_checkpoint", *GONE)
OF_ANOTHER = (
    "{name}(checkpoint.path, checkpoint.filesystem) reads what methods of {name} wrote. Of a checkpoint that was made"
    " from a dict, read the file with the dict, in with checkpoint.as_directory() as folder: what converted code wrote"
    f' with torch.load(os.path.join(folder, "{CHECKPOINT_FILE}"), map_location="cpu", weights_only=False).'
)
WEIGHTS_ALONE = " Weights alone are kept by TorchCheckpoint.from_state_dict(state_dict)."
MODEL_ALONE = " A model alone is kept by {name}.from_model(model)."


@codemod("(?:Torch|Tensorflow|XGBoost|LightGBM)Checkpoint", phase=Phase.TRIALS)
def framework_checkpoints(context: Context) -> None:
    """Makes `TorchCheckpoint.from_uri(uri)` a `TorchCheckpoint(uri)`, and reports what else is gone."""
    for reference in list(context.references(*(f"{owner}.{method}" for owner in CLASSES for method in METHODS))):
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
    for reference in list(context.references(*CLASSES)):
        if reference.qualified in CLASSES:
            constructed(context, reference, False, _kept(reference.qualified.rpartition(".")[2]))


def _kept(name: str) -> str:
    """What a class of checkpoints keeps without a dict."""
    return WEIGHTS_ALONE if name == "TorchCheckpoint" else MODEL_ALONE.format(name=name)

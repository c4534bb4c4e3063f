"""How the model of a checkpoint is loaded that a TorchPredictor was made of.

TorchPredictor took the entry "model" of the checkpoint's dict (Ray 2.6.3 train/torch/torch_predictor.py:96,
air/constants.py). TorchCheckpoint.get_model() of today reads model.pt, which TorchCheckpoint itself writes, and raises
a RuntimeError without it (Ray 2.60 train/torch/torch_checkpoint.py:195). Converted code has the dict in another file.
"""

import ast

from raymigrate.codemods.context import Context
from raymigrate.codemods.shared.emitted import CHECKPOINT_FILE
from raymigrate.facts.module import Module
from raymigrate.facts.project_uses import files_with
from raymigrate.facts.results import CHECKPOINTS
from raymigrate.facts.values import seen_entries

BY_CLASS = "TorchCheckpoint(checkpoint.path, checkpoint.filesystem).get_model(model) of ray.train.torch loads it"
OPENED = "in `with checkpoint.as_directory() as folder:`"
READ = f'torch.load(os.path.join(folder, "{CHECKPOINT_FILE}"), map_location="cpu", weights_only=False)["model"]'
OF_STATE = f"The checkpoint is made from a dict: {OPENED}, model.load_state_dict({READ}) loads it."
OF_DICT = f"The checkpoint is made from a dict: {OPENED}, {READ} is the model, or its state_dict for load_state_dict()."
OF_EITHER = (
    f"Where the folder of the checkpoint holds model.pt, {BY_CLASS}; where it holds {CHECKPOINT_FILE}, which converted"
    f" code writes in place of from_dict(), {READ}, {OPENED}, is the model, or its state_dict for load_state_dict()."
)
FROM_DICT = tuple(f"{checkpoint}.from_dict" for checkpoint in CHECKPOINTS)
METHODS = ("from_model", "from_state_dict")
FROM_MODEL = tuple(
    f"ray.train.torch{module}.TorchCheckpoint.{method}" for module in ("", ".torch_checkpoint") for method in METHODS
)
# Words of other files, and whether they make a checkpoint from a dict.
WRITERS = {b"Checkpoint.from_dict": True} | {f"TorchCheckpoint.{method}".encode(): False for method in METHODS}


def loads_model(context: Context) -> str:
    """How the model of a checkpoint is loaded, by what the file, else other files of its project, make checkpoints of.

    Args:
        context: The module.
    """
    module = context.module
    made = list(module.calls(*FROM_DICT))
    ways = {True for _ in made} | {False for _ in module.calls(*FROM_MODEL)}
    if not ways and module.project is not None and module.path:
        folder = module.project.folder(module.path)
        ways = {way for word, way in WRITERS.items() for _ in files_with(module.project, folder, word)}
    if len(ways) != 1:
        return OF_EITHER
    if not ways.pop():
        return f"{BY_CLASS}."
    return OF_STATE if made and all(_is_state(module, call) for call in made) else OF_DICT


def _is_state(module: Module, made: ast.Call) -> bool:
    """Whether a checkpoint is made from a dict with the state of a model."""
    model = seen_entries(module, made.args[0]).get("model") if made.args else None
    values = [source.node for source in module.origins(model)] if model is not None else []
    return bool(values) and all(
        isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "state_dict"
        for value in values
    )

"""How the model of a checkpoint is loaded that a TorchPredictor was made of, or get_model() of a TorchCheckpoint gave.

Both took the entry "model" of the checkpoint's dict (Ray 2.6.3 train/torch/torch_predictor.py:96, torch_checkpoint.py,
air/constants.py). TorchCheckpoint.get_model() of today reads model.pt, which TorchCheckpoint itself writes, and raises
a RuntimeError without it (Ray 2.60 train/torch/torch_checkpoint.py:195). Converted code has the dict in another file.
"""

import ast

from raymigrate.codemods.context import Context
from raymigrate.codemods.shared.emitted import CHECKPOINT_FILE
from raymigrate.facts.projects.project import with_imported
from raymigrate.facts.projects.project_uses import files_with
from raymigrate.facts.ray_train.results import CHECKPOINTS
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import every_origin, is_method_call, seen_entries

TORCH_CHECKPOINTS = ("ray.train.torch.TorchCheckpoint", "ray.train.torch.torch_checkpoint.TorchCheckpoint")
BY_CLASS = "TorchCheckpoint(checkpoint.path, checkpoint.filesystem).get_model(model) of ray.train.torch loads it"
OPENED = "in `with checkpoint.as_directory() as folder:`"
READ = f'torch.load(os.path.join(folder, "{CHECKPOINT_FILE}"), map_location="cpu", weights_only=False)["model"]'
OF_STATE = f"The checkpoint is made from a dict: {OPENED}, model.load_state_dict({READ}) loads it."
OF_DICT = f"The checkpoint is made from a dict: {OPENED}, {READ} is the model, or its state_dict for load_state_dict()."
OF_EITHER = (
    f"Where the folder of the checkpoint holds model.pt, {BY_CLASS}; where it holds {CHECKPOINT_FILE}, which converted"
    f" code writes in place of from_dict(), {READ}, {OPENED}, is the model, or its state_dict for load_state_dict()."
)
# What get_model() of a TorchCheckpoint says where it is not known that the folder holds model.pt.
OF_OLD_FOLDER = (
    f"{OF_EITHER} In a folder that Ray before 2.7 wrote, the dict is in dict_checkpoint.pkl: pickle.load() reads it."
)
FROM_DICT = tuple(f"{checkpoint}.from_dict" for checkpoint in (*CHECKPOINTS, *TORCH_CHECKPOINTS))
METHODS = ("from_model", "from_state_dict")
FROM_MODEL = tuple(f"{checkpoint}.{method}" for checkpoint in TORCH_CHECKPOINTS for method in METHODS)
MODEL_FILE = "model.pt"  # of TorchCheckpoint
# Words of other files, and whether they make a checkpoint from a dict.
WRITERS = {b"Checkpoint.from_dict": True} | {f"TorchCheckpoint.{method}".encode(): False for method in METHODS}
FILES = {CHECKPOINT_FILE: True, MODEL_FILE: False}


def loads_model(context: Context) -> str:
    """How the model of a checkpoint is loaded, by what the file, else other files of its project, make checkpoints of.

    Args:
        context: The module.
    """
    module = context.module
    ways = _ways(module)
    if len(ways) != 1:
        return OF_EITHER
    if not ways.pop():
        return f"{BY_CLASS}."
    made = list(module.calls(*FROM_DICT))
    return OF_STATE if made and all(_is_state(module, call) for call in made) else OF_DICT


def lacks_model_file(context: Context) -> str | None:
    """What to do in place of get_model() of a TorchCheckpoint; None where nothing shows that the file may be missing.

    A file that was converted before writes the dict itself, or imports what does so, and there is the name of the file.

    Args:
        context: The module.
    """
    module = context.module
    texts = [text for home in with_imported(module) for text in _texts(home)]
    named = {is_dict for file, is_dict in FILES.items() if any(text.endswith(file) for text in texts)}
    if ways := _ways(module):
        is_seen = True in ways and not (False in ways and False in named)
        return loads_model(context) if is_seen else None
    if not named and module.project is not None and module.path:
        folder = module.project.folder(module.path)
        words = {f'{quote}{file}"'.encode(): is_dict for file, is_dict in FILES.items() for quote in ('"', "/")}
        named = {is_dict for word, is_dict in words.items() for _ in files_with(module.project, folder, word)}
    if named == {True}:
        return OF_DICT
    return None if named or not context.of_legacy_job else OF_OLD_FOLDER


def makes_both(context: Context) -> bool:
    """Whether some checkpoints are made from a dict, and others by methods of TorchCheckpoint."""
    return len(_ways(context.module)) > 1


def makes_by_class_alone(module: Module) -> bool:
    """Whether checkpoints are made by methods of TorchCheckpoint, in the file or else in its project, and no others."""
    is_converted = any(text.endswith(CHECKPOINT_FILE) for text in _texts(module))  # which wrote a dict before
    return _ways(module) == {False} and not is_converted


def _texts(module: Module) -> list[str]:
    return [node.value for node in module.of_type(ast.Constant) if isinstance(node.value, str)]


def _ways(module: Module) -> set[bool]:
    """Whether checkpoints are made from a dict: True where they are, False where they are made by TorchCheckpoint."""
    ways = {True for _ in module.calls(*FROM_DICT)} | {False for _ in module.calls(*FROM_MODEL)}
    if not ways and module.project is not None and module.path:
        folder = module.project.folder(module.path)
        ways = {way for word, way in WRITERS.items() for _ in files_with(module.project, folder, word)}
    return ways


def _is_state(module: Module, made: ast.Call) -> bool:
    """Whether a checkpoint is made from a dict with the state of a model."""
    model = seen_entries(module, made.args[0]).get("model") if made.args else None
    return every_origin(module, model, lambda _, value: is_method_call(value, "state_dict"))

"""Checkpoints that a file is handed, or reads from a path, and from which it loads a model of Transformers."""

import ast

from raymigrate.facts.hugging_face.model_folders import leads_to_model
from raymigrate.facts.projects.declared import is_declared_item
from raymigrate.facts.projects.helpers import is_in_helper
from raymigrate.facts.projects.project_uses import names_any
from raymigrate.facts.ray_train.checkpoint_folders import name_of_folder
from raymigrate.facts.ray_train.results import (
    CHECKPOINT_CLASSES,
    CHECKPOINTS,
    is_any_checkpoint,
    is_called_checkpoint,
    layout_of_source,
    made_by_script,
    trainers_of,
)
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import Source, all_arguments, argument, called_name, is_none, reaching, sources
from raymigrate.facts.values.items import is_item_of
from raymigrate.knowledge.legacy import TRANSFORMERS_TRAINERS

# Modules whose predictors read the checkpoints of a Transformers trainer, an own subclass of Predictor among them.
PREDICTORS = ("ray.train.predictor", "ray.train.batch_predictor", "ray.train.huggingface")
LEGACY_CHECKPOINTS = tuple(name for name in CHECKPOINTS if not name.startswith("ray.train."))
# What a file that trains with a Trainer of Transformers holds, before and after its conversion; and one with others.
TRANSFORMERS_WORDS = ("HuggingFaceTrainer", "TransformersTrainer", "RayTrainReportCallback")
OTHER_WORDS = ("TorchTrainer(", "AccelerateTrainer(", "LightningTrainer(")
FILES = (
    *("config.json", "pytorch_model.bin", "model.safetensors", "adapter_model.bin", "adapter_config.json"),
    *("tokenizer.json", "tokenizer_config.json", "vocab.txt", "trainer_state.json"),
)
# The ways to a checkpoint of a path.
FROM_PATH = ("", "from_directory", "from_uri")


def is_handed_a_model(module: Module, read: ast.Attribute) -> bool:
    """Whether a model of Transformers is loaded from a checkpoint, or from the path of one, that is not seen made.

    Or its files are copied to where others load it. Such is the from_checkpoint() of an own predictor. Only in a file
    that has to do with no other trainer.
    """
    if not _comes_from_elsewhere(module, read.value) or _has_other_trainers(module):
        return False
    if not _may_be_of_transformers(module):
        return False
    if not is_called_checkpoint(module, read.value) and not is_any_checkpoint(module, read.value):
        return False
    if is_in_helper(module, read):
        return False  # of this tool, which knows what it reads
    if _is_copied_for_others(module, read):
        return True
    name = name_of_folder(module, read)
    folder = [read.value] if name is None else [*module.uses_of(name)]
    used = (*folder, *_reads_of_copy(module, read), read, module.parent_of[read])
    return any(leads_to_model(module, use) or _names_file(module, use) for use in used)


def _has_other_trainers(module: Module) -> bool:
    """Whether a file makes a trainer of Ray that is none of Transformers, of which the checkpoints may be."""
    made = (reference.qualified for reference in module.references_within("ray"))
    return any(name.endswith("Trainer") and name not in TRANSFORMERS_TRAINERS for name in made)


def _is_copied_for_others(module: Module, read: ast.Attribute) -> bool:
    """Whether `checkpoint.to_directory(path)` of legacy Ray puts the files where others look for them.

    Only in a project with a Transformers trainer: elsewhere they may be those of any library.
    """
    call = module.parent_of[read]
    copies = read.attr == "to_directory" and isinstance(call, ast.Call) and bool(call.args or call.keywords)
    is_legacy = copies and any(module.references_within(*LEGACY_CHECKPOINTS, *TRANSFORMERS_TRAINERS))
    return is_legacy and _names_transformers(module)


def _names_file(module: Module, folder: ast.AST) -> bool:
    """Whether the name of a file that Transformers or peft write is put behind a folder."""
    join = module.parent_of[folder]
    if isinstance(join, ast.FormattedValue):
        join = module.parent_of[join]
        parts = join.values if isinstance(join, ast.JoinedStr) else []
    elif isinstance(join, ast.BinOp):
        parts = [join.right]
    else:
        is_join = isinstance(join, ast.Call) and module.qualified(join.func) == "os.path.join"
        parts = join.args[1:] if is_join and isinstance(join, ast.Call) else []
    texts = (part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str))
    return any(text.lstrip("/") in FILES for text in texts)


def _reads_of_copy(module: Module, read: ast.Attribute) -> list[ast.expr]:
    """Where else the folder stands that `checkpoint.to_directory(folder)` copies to: the same text, or its name."""
    call = module.parent_of[read]
    path = argument(call, 0, "path") if isinstance(call, ast.Call) and read.attr == "to_directory" else None
    if isinstance(path, ast.Name):
        return list(module.uses(path.id, module.scope_of[path]))
    if not isinstance(path, ast.Constant) or not isinstance(path.value, str):
        return []
    return [node for node in module.texts(path.value) if node is not path]


def _comes_from_elsewhere(module: Module, checkpoint: ast.expr) -> bool:
    """Whether a checkpoint, or several with it, is handed in, or made of a path that is, or that is written out.

    On other ways it may be that of a run of this file, as where a class has fit() and load(folder); or None.
    """
    if isinstance(module.definition(checkpoint), ast.arg) or is_declared_item(module, checkpoint, CHECKPOINTS):
        return True
    made_in = [made for made in sources(module, checkpoint) if not is_none(made)]
    return bool(made_in) and all(
        _may_be_given(module, made)  # which an attribute keeps
        or _is_made_elsewhere(module, made)
        or is_item_of(Source(module, made), _is_made_elsewhere)
        or layout_of_source(module, made) is not None
        for made in made_in
    )


def _may_be_given(module: Module, made: ast.expr) -> bool:
    """Whether a name may hold what a function is given: `if ckpt is None: ckpt = trainer.fit().checkpoint`."""
    return isinstance(made, ast.Name) and any(isinstance(found.node, ast.arg) for found in reaching(module, made))


def _is_of_handed_result(module: Module, checkpoint: ast.expr) -> bool:
    """Whether a checkpoint is taken out of a parameter, such as `result.checkpoint`; not out of the object itself."""
    if isinstance(checkpoint, ast.Call):
        read, name = checkpoint.func, "get_best_checkpoint"
    elif isinstance(checkpoint, ast.Subscript) and isinstance(checkpoint.value, ast.Subscript):
        read, name = checkpoint.value.value, "best_checkpoints"
    else:
        read, name = checkpoint, "checkpoint"
    if not isinstance(read, ast.Attribute) or read.attr != name:
        return False
    results = [result for result in sources(module, read.value) if not is_none(result)]
    return bool(results) and all(_is_handed_result(module, each) for each in results)


def _is_handed_result(module: Module, result: ast.expr) -> bool:
    """Whether a result is a parameter, or that of a Transformers trainer: `result = result or trainer.fit()`."""
    given = module.definition(result)
    if isinstance(given, ast.arg):
        return given.arg not in ("self", "cls")
    trainers = trainers_of(module, result)
    return bool(trainers) and trainers <= TRANSFORMERS_TRAINERS


def _is_made_elsewhere(module: Module, made: ast.expr) -> bool:
    """Whether a checkpoint is made of a path that is handed in, or written out, or read from somewhere."""
    if _is_of_handed_result(module, made):
        return True
    method = made_by_script(module, made)
    path = argument(made, 0, "path", "uri") if isinstance(made, ast.Call) and method in FROM_PATH else None
    if path is None:
        return False
    value = module.value(path)
    if isinstance(module.definition(value), ast.arg) or isinstance(value, (ast.Attribute, ast.Constant, ast.Subscript)):
        return True
    if method == "from_uri":
        return True
    is_put_together = isinstance(value, (ast.Call, ast.JoinedStr, ast.BinOp))
    return is_put_together and not _may_be_written_here(module, value)


def _may_be_written_here(module: Module, folder: ast.expr) -> bool:
    """Whether a script may put the files into a folder itself: where it saves models, or a function makes the folder.

    Such a function is given what it puts there, or makes a temporary folder.
    """
    if any(module.attributes("save_pretrained", "save_model")):
        return True
    name = called_name(module, folder)
    if not isinstance(folder, ast.Call) or name.startswith("os."):
        return False
    given = all_arguments(folder)
    return name.startswith("tempfile.") or not all(isinstance(each, ast.Constant) for each in given)


def _may_be_of_transformers(module: Module) -> bool:
    """Whether a checkpoint that comes from elsewhere may be one of a Transformers trainer.

    The file, or another one of its project, names such a trainer; or the file reads a checkpoint of legacy Ray, and
    the project shows no trainer that it could be of.
    """
    if _names_transformers(module):
        return True
    is_legacy = any(module.references_within(*LEGACY_CHECKPOINTS))
    if module.project is None or not module.path:
        return is_legacy
    return is_legacy and not names_any(module.project, module.project.folder(module.path), *OTHER_WORDS)


def _names_transformers(module: Module) -> bool:
    """Whether the file, or another one of its project, has to do with a trainer of Transformers."""
    if any(module.references_within(*TRANSFORMERS_TRAINERS, *CHECKPOINT_CLASSES, *PREDICTORS)):
        return True
    if module.project is None or not module.path:
        return False
    return names_any(module.project, module.project.folder(module.path), *TRANSFORMERS_WORDS)

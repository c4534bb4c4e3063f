"""RM601: the checkpoint classes of ray.train.huggingface, and what they can do.

TransformersCheckpoint loaded models and tokenizers itself (Ray 2.6.3, train/huggingface/transformers/
transformers_checkpoint.py:36-115); ray.train.Checkpoint is a folder, from which Transformers loads them.
"""

import ast
from collections.abc import Callable, Mapping
from functools import partial

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.freeze_numerics import MODEL, freeze_model, note_loaded_again
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.ray_air.ray_checkpoint import constructor_arguments, is_of_checkpoint
from raymigrate.codemods.results.loaded_classes import LOADED, is_of_transformers, loaded_before, loaded_class
from raymigrate.codemods.shared.checkpoint_files import (
    METHODS,
    before_statement,
    can_open,
    files_in,
    in_words,
    layout_after,
    opened,
)
from raymigrate.codemods.shared.definitions import drop_definition
from raymigrate.codemods.shared.helpers import add_once
from raymigrate.codemods.shared.torch_models import loads_model
from raymigrate.edits.plan import Code
from raymigrate.facts.hugging_face.instances import has_method
from raymigrate.facts.projects.helpers import Helper
from raymigrate.facts.ray_train.framework_checkpoints import CLASSES, framework_class
from raymigrate.facts.ray_train.results import (
    CHECKPOINT_CLASSES,
    CHECKPOINTS,
    Layout,
    class_method,
    is_any_checkpoint,
    is_called_checkpoint,
)
from raymigrate.facts.ray_train.trainers import library_bases
from raymigrate.facts.syntax.annotations import in_annotation
from raymigrate.facts.syntax.guards import goes_on_without, is_ready
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.scopes import Reference
from raymigrate.facts.values import argument, has_unpacking, is_call_by_name, keyword_argument, named_arguments, sources
from raymigrate.knowledge.error_texts import gone_names
from raymigrate.knowledge.legacy import HF
from raymigrate.knowledge.libraries import look_up, member
from raymigrate.knowledge.successors import LIGHTNING_CHECKPOINT

RM601 = Rule(
    "RM601",
    "a checkpoint class of ray.train.huggingface",
    "Ray >= 2.9 has no such class: the import fails.",
    in_words(
        "Use the Checkpoint that result.checkpoint is: with checkpoint.as_directory() as folder, load the model with"
        " from_pretrained({files})."
    ),
    "https://docs.ray.io/en/latest/train/user-guides/checkpoints.html",
    errors=(
        *gone_names(HF, "TransformersCheckpoint", "HuggingFaceCheckpoint", "LegacyTransformersCheckpoint"),
        *gone_names(f"{HF}.transformers", "TransformersCheckpoint", "LegacyTransformersCheckpoint"),
        f"No module named '{HF}.huggingface_checkpoint'",
        f"No module named '{HF}.transformers.transformers_checkpoint'",
        "`TransformersCheckpoint` will be hard deprecated in Ray 2.8",
        "'Checkpoint' object has no attribute 'get_model'",
        "'Checkpoint' object has no attribute 'get_tokenizer'",
        "'Checkpoint' object has no attribute 'get_training_arguments'",
    ),
)
OPENED = "In with checkpoint.as_directory() as folder, "
# What takes the place of each method; a model that is given as an object brings its class.
TO_LOAD = {
    "get_model": OPENED + "load the model with from_pretrained({files}) of its class.",
    "get_tokenizer": OPENED + "load the tokenizer with from_pretrained({files}) of its class.",
    "get_training_arguments": OPENED
    + 'read them with torch.load(os.path.join({files}, "training_args.bin"), weights_only=False), if that file is'
    " there: the method gave None without it.",
}
# The same for what made one; no result is there then.
TO_MAKE = {
    "from_model": "Save into a folder: model and tokenizer with save_pretrained(folder), of a plain module its"
    " state_dict() with torch.save(), a preprocessor with ray.cloudpickle.dump(preprocessor, file). Then take"
    " ray.train.Checkpoint.from_directory(folder).",
    "from_dict": "Use the dict itself. Where a Checkpoint is needed: it is a folder, and lasts as long as that. Write"
    " the dict with torch.save(), or the files that it carried, into a folder that stays, such as tempfile.mkdtemp(),"
    " and take ray.train.Checkpoint.from_directory(folder).",
    "from_bytes": "Hand the folder of the checkpoint on instead of its bytes, and take"
    " ray.train.Checkpoint.from_directory(folder).",
    "from_object_ref": "Hand the checkpoint itself on: it holds only where its folder is.",
}
CARRIED = (
    "The dict of another checkpoint only carried its folder along, and no checkpoint of today has to_dict(). Take that"
    " checkpoint itself; or, where its folder does not last, save model and tokenizer with save_pretrained(folder) into"
    " one that does, such as folder = tempfile.mkdtemp(), or copy it there with its to_directory(folder), and take"
    " ray.train.Checkpoint.from_directory(folder)."
)
CLASS_ITSELF = "Take ray.train.Checkpoint; of the methods that make one it has from_directory()."
SUBCLASS = in_words(
    "Derive the class from ray.train.Checkpoint, which is a folder: in with self.as_directory() as folder, its methods"
    " load the model and the tokenizer with from_pretrained({files})."
)
PLAIN = (ast.Name, ast.Attribute, ast.Constant)
OF_LIGHTNING = "model_class"  # the same parameter of a LightningCheckpoint
ARGUMENTS_FILE = "training_args.bin"
# A pickled object, which torch.load refuses since 2.6 unless told otherwise.
LOAD_ARGUMENTS = 'torch.load({path}, map_location="cpu", weights_only=False)'
TRAINING_ARGUMENTS = Helper(
    "training_arguments",
    f'''
def $name(checkpoint):
    """Reads the TrainingArguments that a Trainer saved, in a folder of the checkpoint or at its root; None without."""
    with checkpoint.as_directory() as checkpoint_dir:
        for folder in (os.path.join(checkpoint_dir, "checkpoint"), checkpoint_dir):
            path = os.path.join(folder, "{ARGUMENTS_FILE}")
            if os.path.exists(path):
                return {LOAD_ARGUMENTS.format(path="path")}
    return None
''',
    (("os", None), ("torch", None)),
)
# Measured: saved by transformers 4.30.2, read by 5.23.
OLD_ARGUMENTS = (
    "TrainingArguments that transformers 4 saved do not come back whole: torch.load() raises a ValueError where they"
    " hold adamw_hf, the default optimizer of 4.30; else the object lacks what transformers 5 has added."
)
# What the class and its methods take to make a checkpoint, by parameter, the first one also by position; a dict
# (data_dict=) makes no current checkpoint (Ray 2.6.3 air/checkpoint.py).
MAKERS: Mapping[str, Mapping[str | None, str]] = {
    "": {"local_path": "folder", "uri": "uri"},
    "from_directory": {"path": "folder"},
    "from_uri": {"uri": "uri"},
}


@codemod(*METHODS, phase=Phase.RESULTS)
def checkpoint_methods(context: Context) -> None:
    """Loads models, tokenizers and arguments from the folder of a checkpoint, as its methods did."""
    for call, method in context.module.method_calls(*METHODS):
        if not _is_left(context.module, method.value):
            _load(context, call, method)


def _is_left(module: Module, checkpoint: ast.expr) -> bool:
    """Whether a checkpoint is of a class whose import fails today, in a block that ends there without an error."""
    made = [source for source in sources(module, checkpoint) if class_method(module, source) is not None]
    found = [module.reference_at.get(source.func) for source in made if isinstance(source, ast.Call)]
    statements = [reference.binding.statement for reference in found if reference is not None]
    return any(statement is not None and goes_on_without(module, statement) for statement in statements)


def _load(context: Context, call: ast.Call, method: ast.Attribute) -> None:
    gone = f"Checkpoint.{method.attr}() raises an AttributeError on current Ray"
    place = layout_after(context, method.value)
    if place is None:
        if _may_be_checkpoint(context, call, method):
            of_lightning = LIGHTNING_CHECKPOINT if _is_of_lightning(context, call, method) else None
            advice = of_lightning or _by_class_of_framework(context, method.attr) or in_words(TO_LOAD[method.attr])
            context.manual(RM601, call, f"{gone}, if this is a checkpoint.", advice)
        return
    loads_arguments = method.attr not in LOADED
    loaded = loaded_class(context.module, call, method.attr)
    understood = not call.args and not call.keywords if loads_arguments else loaded is not None
    if not understood or not (loads_arguments or can_open(context, call, method.value)):
        context.manual(RM601, call, f"{gone}.", in_words(TO_LOAD[method.attr], place))
    elif context.converts(RM601, call, f"{gone}; now loaded from its folder."):
        if loaded is None:
            _load_arguments(context, call, method.value, place)
        else:
            _load_by_class(context, call, method.value, place, loaded)


def _load_by_class(context: Context, call: ast.Call, checkpoint: ast.expr, place: Layout, loaded: ast.expr) -> None:
    """`checkpoint.get_model(Class)` becomes `Class.from_pretrained(folder)`."""
    edit = context.plan.call(call)
    edit.function = Code("$cls.from_pretrained", {"cls": loaded})
    if loaded_before(context.module, call, "get_model") is loaded:
        drop_definition(context, call.args[0] if call.args else call.keywords[0].value)
    edit.set_first(files_in(context, call, place, opened(context, call, checkpoint)))
    if not MODEL.fullmatch(f"{context.module.qualified(loaded)}.from_pretrained"):
        return
    if context.options.freeze_numerics:
        freeze_model(context, call, loads_weights=True)
    else:
        note_loaded_again(context, call, trained_here=place is Layout.NESTED)


def _load_arguments(context: Context, call: ast.Call, checkpoint: ast.expr, place: Layout) -> None:
    """Reads the arguments from their file, which the Trainer of a converted run has written for sure."""
    if place is Layout.NESTED and can_open(context, call, checkpoint):
        path = files_in(context, call, place, opened(context, call, checkpoint), ARGUMENTS_FILE)
        context.plan.need_import("torch")
        context.plan.replace(call, LOAD_ARGUMENTS.format(path=path))
        return
    context.plan.replace(call, f"{add_once(context, TRAINING_ARGUMENTS, call)}($checkpoint)", checkpoint=checkpoint)
    if place is Layout.UNKNOWN:
        context.note(RM601, call, OLD_ARGUMENTS)


def _by_class_of_framework(context: Context, method: str) -> str | None:
    """What to do where the file names a checkpoint class that still has a method: a result's is none of that class."""
    for reference in context.module.references_within("ray.train"):
        owner, end, _ = reference.qualified.partition("Checkpoint")
        name = owner.rpartition(".")[2] + end
        found = member(look_up(owner + end).place, method) if end else None
        if found is not None and found.parameters is not None:
            if name == "TorchCheckpoint":
                return loads_model(context)
            return f"Make it a {name}, which has the method: {name}(checkpoint.path, checkpoint.filesystem)."
    return None


def _is_of_lightning(context: Context, call: ast.Call, method: ast.Attribute) -> bool:
    """Whether get_model() is that of a LightningCheckpoint: by its parameter, the class it is given, or the imports."""
    if method.attr != "get_model":
        return False
    given = argument(call, 0, OF_LIGHTNING)
    home = context.module.definition(given)
    bases = library_bases(context.module, home) if isinstance(home, ast.ClassDef) else ()
    named = keyword_argument(call, OF_LIGHTNING) is not None or any(base.endswith(".LightningModule") for base in bases)
    return named or any(context.module.references_within("ray.train.lightning"))


def _may_be_checkpoint(context: Context, call: ast.Call, method: ast.Attribute) -> bool:
    """Whether something whose origin cannot be seen looks like a checkpoint: by its name, or by what it is to load.

    Checkpoints of other frameworks have such methods today: that of XGBoost has get_model(), for instance.
    """
    if has_method(context.module, method.value, method.attr):
        return False
    found = sources(context.module, method.value)
    if any(is_any_checkpoint(context.module, each) for each in found):  # whatever an annotation says
        return True
    if _is_of_framework(context.module, method):
        return False
    if any(class_method(context.module, each) is not None for each in found):
        return True
    loaded = loaded_class(context.module, call, method.attr)
    by_class = loaded is not None and (context.module.qualified(loaded) or "").startswith("transformers.")
    return (by_class or is_called_checkpoint(context.module, method.value)) and context.is_ray_script


def _is_of_framework(module: Module, method: ast.Attribute) -> bool:
    """Whether the class of a framework has a method today, also where what made its object is gone."""
    name = framework_class(module, method.value)
    owners = [owner for owner in CLASSES if name and owner.endswith(f".{name}")]
    return any(member(look_up(owner).place, method.attr) is not None for owner in owners)


@codemod("(?:HuggingFace|Transformers|LegacyTransformers)Checkpoint", phase=Phase.RESULTS, after=[checkpoint_methods])
def checkpoint_classes(context: Context) -> None:
    """Replaces every use of the classes by ray.train.Checkpoint, or reports it."""
    for reference in context.references(*CHECKPOINT_CLASSES):
        statement = reference.binding.statement
        if statement is not None and goes_on_without(context.module, statement):
            context.handle(reference, gone=False)
            continue
        owner = next(name for name in CHECKPOINT_CLASSES if reference.is_within(name))
        message = f"{owner} is gone: current Ray raises an ImportError"
        method = reference.qualified[len(owner) + 1 :]
        edit = _replacement(context, reference, method)
        made = False
        if edit is None:
            if not is_ready(context.module, reference, owner.rpartition(".")[2]):
                context.manual(RM601, reference.node, f"{message}.", _instead(context, reference, method))
        elif made := context.converts(RM601, reference.node, f"{message}; now ray.train.Checkpoint."):
            edit()
        context.handle(reference, gone=made)


def _instead(context: Context, reference: Reference, method: str) -> str | None:
    """What to do where a class or a method of it is left; None: what the rule says."""
    if isinstance(context.module.parent_of[reference.node], ast.ClassDef):
        return SUBCLASS
    call = context.module.calling(reference.node)
    if not method and call is None:
        return CLASS_ITSELF
    given = constructor_arguments(context.module, call, by_position=True) if call is not None and not method else {}
    makes = method or ("from_dict" if "data_dict" in given else "from_object_ref" if "obj_ref" in given else "")
    handed = [*call.args, *given.values(), *(k.value for k in call.keywords)] if call is not None else []
    if makes == "from_dict" and any(is_of_checkpoint(context.module, value) for value in handed):
        return CARRIED
    return TO_MAKE.get(makes)


def _replacement(context: Context, reference: Reference, method: str) -> Callable[[], None] | None:
    """What plans the replacement of `Class.method(...)` or of the class; None where nothing can take its place."""
    call = context.module.calling(reference.node)
    spelling = _spelling(context, reference)
    if call is None:
        named = not method and _is_type(context, reference.node)
        return partial(_name_class, context, reference, spelling) if named and spelling else None
    if has_unpacking(call):
        return None
    given = call.args[0] if call.args else call.keywords[0].value if call.keywords else None
    if method == "from_model":
        return _from_model(context, reference, call, spelling)
    if given is None or len(call.args) + len(call.keywords) != 1:
        return None
    if method == "from_checkpoint":
        plain = isinstance(given, (ast.Name, ast.Attribute, ast.Call, ast.Subscript))
        return partial(_checkpoint_itself, context, call, given) if plain else None
    name = call.keywords[0].arg if call.keywords else next(iter(MAKERS.get(method, {})), None)
    kind = MAKERS.get(method, {}).get(name)
    if not spelling or kind is None:
        return None
    return partial(_from_path, context, reference, call, given, spelling, is_uri=kind == "uri")


def _checkpoint_itself(context: Context, call: ast.Call, given: ast.expr) -> None:
    """`from_checkpoint(checkpoint)` becomes the checkpoint."""
    if _names_itself(context, call, given):
        context.plan.statement(context.module.statement(call)).removed = True
    else:
        context.plan.replace(call, "$checkpoint", checkpoint=given)


def _from_path(
    context: Context, reference: Reference, call: ast.Call, given: ast.expr, spelling: str, *, is_uri: bool
) -> None:
    """`Class(folder)` and `Class.from_directory(folder)` become `Checkpoint.from_directory(folder)`.

    What is made from a URI becomes `Checkpoint(uri)`, which finds the file system by it.
    """
    if call.keywords:
        context.plan.call(call).rename[call.keywords[0].arg or ""] = "path"
    if is_uri:
        _name_class(context, reference, spelling)
        return
    _name_class(context, reference, f"{spelling}.from_directory")


def _names_itself(context: Context, call: ast.Call, given: ast.expr) -> bool:
    """Whether a statement is `checkpoint = Class.from_checkpoint(checkpoint)` and no more."""
    target = context.module.name_of(call)
    return target is not None and isinstance(given, ast.Name) and target.id == given.id


def _is_type(context: Context, node: ast.expr) -> bool:
    """Whether a class is named as a type: in an annotation, in isinstance(), or beside type()."""
    parent = context.module.parent_of[node]
    if isinstance(parent, ast.Tuple) and isinstance(context.module.parent_of[parent], ast.Call):
        return _is_type(context, parent)
    if isinstance(parent, ast.Compare):
        return all(isinstance(operator, (ast.Is, ast.IsNot, ast.Eq, ast.NotEq)) for operator in parent.ops)
    if isinstance(parent, ast.Call):
        return is_call_by_name(parent, "isinstance") and parent.args[-1] is node
    return in_annotation(context.module, node)


def _spelling(context: Context, reference: Reference) -> str | None:
    """How ray.train.Checkpoint can be called where a reference stands: by its own name, if nothing else has that."""
    bindings = context.module.scope_of[reference.root].lookup("Checkpoint")
    if all(binding.qualified in CHECKPOINTS for binding in bindings):
        return "Checkpoint"
    return "ray.train.Checkpoint" if context.can_import("ray", reference) else None


def _name_class(context: Context, reference: Reference, source: str) -> None:
    """Replaces a reference by a spelling of ray.train.Checkpoint, or of a method of it, and imports that."""
    name = "Checkpoint" if source.startswith("Checkpoint") else None
    context.plan.need_import("ray.train", name, near=reference.binding.statement)
    context.plan.replace(reference.node, source)


def _from_model(
    context: Context, reference: Reference, call: ast.Call, spelling: str | None
) -> Callable[[], None] | None:
    """`from_model(model, tokenizer, path=folder)` saves both into the folder before it becomes a checkpoint."""
    module = context.module
    given = {**named_arguments(call), **dict(zip(("model", "tokenizer"), call.args, strict=False))}
    model, path, preprocessor = given.get("model"), given.get("path"), given.get("preprocessor")
    saved = [
        value for key in ("model", "tokenizer") if (value := given.get(key)) and module.constant(value) is not None
    ]
    if model is None or path is None or not isinstance(path, PLAIN) or module.constant(preprocessor) is not None:
        return None
    if not all(isinstance(value, PLAIN) for value in saved) or not is_of_transformers(context, model):
        return None
    if not before_statement(context, call) or not spelling:
        return None

    def edit() -> None:
        _name_class(context, reference, f"{spelling}.from_directory")
        before = context.plan.statement(module.statement(call)).before
        before += [Code("$object.save_pretrained($path)", {"object": value, "path": path}) for value in saved]
        context.plan.replace(call, f"{spelling}.from_directory($path)", path=path)

    return edit

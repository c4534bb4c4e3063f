"""Models of transformers that a script makes, and the values that hold one."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from raymigrate.base.expressions import lazy_regex
from raymigrate.facts.syntax.attribute_chains import is_of_self
from raymigrate.facts.syntax.functions import default_of
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import Source, argument, free_name, is_none, known_text, methods, seen_entries
from raymigrate.facts.values.arguments import has_starred
from raymigrate.facts.values.held_methods import calls_of_method
from raymigrate.facts.values.items import collections_of, items_behind
from raymigrate.knowledge.pickled_models import Pickling, pickling

# AutoModelForCausalLM, BertForSequenceClassification, GPT2LMHeadModel, UperNetForSemanticSegmentation, SwinBackbone.
CLASS = lazy_regex(
    r"transformers(?:\.\w+)*\.(?!(?:TF|Flax)[A-Z])(?!\w*(?:Config|Tokenizer|TokenizerFast|Processor|Extractor)$)"
    r"(\w*(?:Model|Backbone|For[A-Z]\w*|HifiGan))"
)
# They hand what they are given to the from_pretrained of the model below the adapter (peft 0.21.2, auto.py:156).
OF_PEFT = r"peft(?:\.auto)?\.AutoPeftModel(?:For\w+)?"
ADAPTED = lazy_regex(OF_PEFT)
MAKERS = ("from_pretrained", "from_config", "_from_config")
MODEL_NAME = "pretrained_model_name_or_path"
GET_MODEL = "get_model"  # of a TransformersCheckpoint
PIPELINES = ("transformers.pipeline", "transformers.pipelines.pipeline")
STATES = ("output_hidden_states", "output_attentions")
# By the task of a pipeline, what makes its model, and its default checkpoint (transformers 5.23 pipelines/__init__.py).
TASKS = {
    "depth-estimation": ("AutoModelForDepthEstimation", "dpt-large"),
    "image-segmentation": ("AutoModelForImageSegmentation", ""),
    "automatic-speech-recognition": ("AutoModelForCTC", "wav2vec2-base-960h"),
    "audio-classification": ("AutoModelForAudioClassification", "wav2vec2-base-superb-ks"),
}
SAME = frozenset({"bfloat16", "cpu", "cuda", "double", "eval", "float", "half", "requires_grad_", "to", "train"})
# What keeps its arguments.
KEEPERS = frozenset(
    {"copy.deepcopy", "dict", "functools.partial", "list", "peft.get_peft_model", "tuple"}
    | {f"ray.tune.{name}" for name in ("with_parameters", "with_resources")}
)


@dataclass(frozen=True)
class MadeModel:
    """A model of transformers.

    Args:
        module: Where it is made.
        call: The call that makes it, or a pipeline with it.
        pickling: What becomes of it in another process.
    """

    module: Module
    call: ast.Call
    pickling: Pickling


def is_model_class(name: str) -> bool:
    """Whether a class of transformers, by its full name, is one of models: no configuration, tokenizer or processor.

    So are those of peft that load such a model with an adapter.
    """
    return CLASS.fullmatch(name) is not None or ADAPTED.fullmatch(name) is not None


def classes_called(module: Module, owner: ast.expr) -> list[str]:
    """The classes whose method is called, by their full names; several where a variable, a dict or an object holds one.

    Args:
        module: The module.
        owner: What the method is of: `AutoModel` of `AutoModel.from_pretrained`.

    Returns:
        The names; "" stands for a class that is none of a library.
    """
    name = module.qualified(owner)
    if name is not None:
        return [name]
    ends = [end for source in module.origins(owner) for end in _one_of_several(source)]
    return [name for end in ends for name in _names(end)]


def calls_of_classes(module: Module, name: str) -> Iterator[tuple[ast.Call, ast.expr, ast.expr, list[str]]]:
    """The calls of a method of classes, as `calls_of_method` gives them, but once, each with all classes it may be of.

    Args:
        module: The module.
        name: The method.
    """
    found: dict[ast.Call, list[tuple[ast.expr, ast.expr]]] = {}
    for call, method, owner in calls_of_method(module, name):
        found.setdefault(call, []).append((method, owner))
    for call, ways in found.items():
        yield call, *ways[0], [class_name for _, owner in ways for class_name in classes_called(module, owner)]


def _one_of_several(source: Source) -> list[Source]:
    """What an item of a dict or list can be, with the value itself where not all of them are written out."""
    items = items_behind(source)
    if not items:
        return [source]
    is_whole = all(_is_written_out(several.node) for several in collections_of(source))
    ends = [end for item in items for end in item.module.origins(item.node)]
    return ends if is_whole else [*ends, source]


def _is_written_out(several: ast.expr) -> bool:
    if isinstance(several, ast.Dict):
        return None not in several.keys
    return isinstance(several, (ast.List, ast.Tuple)) and not has_starred(several.elts)


def _names(source: Source) -> list[str]:
    """The class that a value is; of `getattr(library, name)` the library, with a dot, where its name is not known."""
    module, node = source.module, source.node
    name = module.qualified(node)
    if name is not None or not isinstance(node, ast.Call) or free_name(module, node.func) != "getattr":
        return [name or ""]
    library, asked = [module.qualified(part) for part in node.args[:1]], known_text(module, argument(node, 1))
    defaults = [module.qualified(default) or "" for default in node.args[2:] if not is_none(default)]
    return [*(f"{whole}.{asked}" if whole is not None else "" for whole in library), *defaults]


def is_model(module: Module, node: ast.expr) -> bool:
    """Whether a value is a model that a class of transformers made, wherever it comes from, and on whatever device."""
    sources = module.origins(node)
    return bool(sources) and all(_is_model(source) for source in sources)


def _is_model(value: Source) -> bool:
    call = value.node
    if not isinstance(call, ast.Call) or value.module.qualified(call.func) in PIPELINES:
        return False
    if isinstance(call.func, ast.Attribute) and call.func.attr in SAME:
        return is_model(value.module, call.func.value)
    return _made(value) is not None


def stored_in_self(module: Module, node: ast.expr) -> list[ast.expr | None]:
    """What a class stores in `self.bert`, with None where that is not seen; any other expression stands for itself."""
    if not is_of_self(node):
        return [node]
    owner = module.class_around(node)
    stores = [store for store in module.stores(node.attr) if is_of_self(store)] if owner else []
    return [module.assigned(store) for store in stores if owner is not None and module.inside(store, owner)]


def models_in(module: Module, node: ast.expr) -> list[MadeModel]:
    """The models that a value may be or hold: in a dict or list, in a pipeline, in an object of a class of the script.

    Args:
        module: The module.
        node: The value.
    """
    found: dict[ast.Call, MadeModel] = {}
    waiting, seen = [Source(module, node)] if may_hold_models(module) else [], set[Source]()
    while waiting:
        value = waiting.pop()
        if value in seen:
            continue
        seen.add(value)
        made = _made(value)
        if made is not None:
            found[made.call] = made
        else:
            waiting += _held(value)
    return list(found.values())


@kept
def may_hold_models(module: Module) -> bool:
    """Whether a value of the module can be a model at all: most scripts name no class of models."""
    named = (reference.qualified for reference in module.references)
    return bool(module.names_of_files) or any(CLASS.match(name) or name in PIPELINES for name in named)


def asks_for_states(module: Module, made: MadeModel) -> bool:
    """Whether hidden states or attentions are asked for: where the model is made, in a configuration, or in a call.

    What another model is made with does not count.

    Args:
        module: Where the model is used.
        made: The model.
    """
    return any(_asks(home, made) for home in {module, made.module})


def _asks(module: Module, made: MadeModel) -> bool:
    values = [keyword.value for call, keyword in module.keywords(*STATES) if _concerns(module, call, made)]
    values += [value for name in STATES for store in module.stores(name) if (value := module.assigned(store))]
    for node in module.of_type(ast.Dict):
        keys = [key.value if isinstance(key, ast.Constant) else None for key in node.keys]
        values += [value for key, value in zip(keys, node.values, strict=True) if key in STATES]
    return any(module.constant(value) not in (False, None) for value in values)


def _concerns(module: Module, call: ast.Call, made: MadeModel) -> bool:
    """Whether what a call is given may be for a model: not if it makes another one, or the configuration of others."""
    if call is made.call or _made(Source(module, call)) is not None:
        return call is made.call
    if not (module.qualified(call.func) or "").startswith("transformers."):
        return True
    takers = [
        taker
        for taker in module.of_type(ast.Call)
        if _made(Source(module, taker)) is not None and _is_given(module, taker, call)
    ]
    return not takers or made.call in takers


def _is_given(module: Module, taker: ast.Call, configuration: ast.Call) -> bool:
    given = (*taker.args, *(keyword.value for keyword in taker.keywords))
    return any(source.node is configuration for node in given for source in module.origins(node))


def _made(value: Source) -> MadeModel | None:
    module, call = value.module, value.node
    if not isinstance(call, ast.Call):
        return None
    if name := _class(module, call.func):
        return MadeModel(module, call, pickling(name))
    if isinstance(call.func, ast.Attribute) and call.func.attr in MAKERS and (name := _class(module, call.func.value)):
        return MadeModel(module, call, pickling(name, known_text(module, argument(call, 0, MODEL_NAME))))
    if isinstance(call.func, ast.Attribute) and call.func.attr == GET_MODEL and call.args:
        name = _class(module, call.args[0])
        return MadeModel(module, call, pickling(name)) if name else None
    return _pipeline(module, call) if module.qualified(call.func) in PIPELINES else None


def _pipeline(module: Module, call: ast.Call) -> MadeModel | None:
    """A pipeline that loads its model itself."""
    given = argument(call, 1, "model")
    checkpoint = known_text(module, given)
    if given is not None and not checkpoint:
        return None
    maker, default = TASKS.get(known_text(module, argument(call, 0, "task")), ("AutoModel", ""))
    return MadeModel(module, call, pickling(maker, checkpoint or default))


def _class(module: Module, node: ast.expr) -> str:
    """The class of transformers for models that an expression is; empty if it is none."""
    names = [module.qualified(node)] if module.qualified(node) is not None else []
    if isinstance(node, (ast.Name, ast.Subscript, ast.IfExp)):
        names += [source.module.qualified(source.node) for source in module.origins(node)]
    return next((found[1] for name in names if (found := CLASS.fullmatch(name or ""))), "")


def _held(value: Source) -> Iterator[Source]:
    """What else has to be looked at for what a value holds."""
    module, node = value.module, value.node
    yield from module.origins(node)
    yield from (Source(module, entry) for entry in seen_entries(module, node).values())
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        yield from (Source(module, item) for item in node.elts)
    elif isinstance(node, ast.Name) and isinstance(parameter := module.definition(node), ast.arg):
        arguments = module.parent_of[parameter]
        default = default_of(parameter, arguments) if isinstance(arguments, ast.arguments) else None
        yield from [Source(module, default)] if default is not None else []
    elif isinstance(node, ast.Attribute):
        for method in methods(module, node):  # a bound method goes with its object
            home = module.parent_of[method]
            yield from _attributes(module, home) if isinstance(home, ast.ClassDef) else ()
    elif isinstance(node, ast.Call):
        name = module.qualified(node.func)
        if isinstance(node.func, ast.Attribute) and node.func.attr in SAME:
            yield Source(module, node.func.value)
        elif name in PIPELINES or name in KEEPERS or (isinstance(node.func, ast.Name) and node.func.id in KEEPERS):
            yield from _given(value, node)
        elif isinstance(definition := module.definition(node.func), ast.ClassDef):
            yield from _given(value, node)
            yield from _attributes(module, definition)


def _given(value: Source, call: ast.Call) -> Iterator[Source]:
    yield from (Source(value.module, given) for given in (*call.args, *(keyword.value for keyword in call.keywords)))


def _attributes(module: Module, definition: ast.ClassDef) -> Iterator[Source]:
    """What the methods of a class keep in its objects."""
    for node in module.below(definition):
        if is_of_self(node) and isinstance(node.ctx, ast.Store):
            assigned = module.assigned(node)
            if assigned is not None:
                yield Source(module, assigned)

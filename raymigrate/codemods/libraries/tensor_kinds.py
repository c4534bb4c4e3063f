"""RM705, for `tokenizer(texts, return_tensors="tf")`: transformers 5 makes no tensors of TensorFlow and JAX.

Measured on transformers 5.23: "tf is not a valid TensorType, please select one of ['pt', 'np', 'mlx']" (ValueError).
Collators raise one too when they make a batch; the two default ones return None (data/data_collator.py:46, 88).
"""

import ast
from collections.abc import Iterator

from raymigrate.base.expressions import lazy_regex
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.argument_rules import RM705
from raymigrate.codemods.phases import Phase
from raymigrate.facts.projects.declared import declared_class
from raymigrate.facts.syntax.guards import is_guarded
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import (
    called_name,
    class_named,
    constants,
    is_method_call,
    is_none,
    keyword_named,
    last_name,
    unpacked_dicts,
)
from raymigrate.facts.values.carried import values_given
from raymigrate.facts.values.constructors import (
    constructor_of,
    constructors,
    is_dataclass,
    is_given_object,
    may_call_own_class,
    reaches,
)
from raymigrate.knowledge.libraries import constructor, function_of, look_up

ARGUMENT = "return_tensors"
PARTIAL = "functools.partial"
GONE = ("tf", "jax")
MAKERS = lazy_regex(r"transformers(?:\.\w+)*\.\w*(?:Tokenizer|Processor|FeatureExtractor)\w*(?:\.from_pretrained)?")
COLLATORS = lazy_regex(r"transformers(?:\.\w+)*\.(?:\w*DataCollator\w*)")
DEFAULT_COLLATORS = lazy_regex(r"transformers(?:\.\w+)*\.(?:default_data_collator|DefaultDataCollator)")
METHODS = ("__call__", "apply_chat_template", "batch_encode_plus", "encode", "encode_plus", "pad", "preprocess")
ADVICE = 'Write "np" and make the tensors of the arrays; or "pt" for PyTorch.'


@codemod(ARGUMENT, r"\w*DataCollator\w*", "default_data_collator", phase=Phase.LIBRARIES)
def tensor_kinds(context: Context) -> None:
    """Tells of tokenizers, processors and collators that are asked for tensors that they no longer make."""
    module = context.module
    unpacking = (call for call in module.of_type(ast.Call) if unpacked_dicts(call))
    for call in dict.fromkeys([*(call for call, _ in module.keywords(ARGUMENT)), *unpacking]):
        # What a dict holds is asked last: it is looked for in all that fills it.
        asked = _asked(module, call, None) if _is_of_library(module, _called(module, call)) else None
        if asked is not None:
            kind, place = asked
            context.manual(RM705, place, f'{ARGUMENT}="{kind}" raises a ValueError today.', ADVICE)
    for call, name, position in _collators(module):
        asked = _asked(module, call, position)
        if asked is None:
            continue
        kind, place = asked
        if DEFAULT_COLLATORS.fullmatch(name):
            message = f'With {ARGUMENT}="{kind}" {name.rpartition(".")[2]} gives None today, and no batch.'
        else:
            message = f'A collator with {ARGUMENT}="{kind}" raises a ValueError at its first batch today.'
        context.manual(RM705, place, message, ADVICE)


def _asked(module: Module, call: ast.Call, position: int | None) -> tuple[object, ast.AST] | None:
    """The tensors that are gone and that a call asks for, and where in this file it says so; None where it does not.

    Args:
        module: The module.
        call: The call.
        position: The place of the argument; None where it has a name only.
    """
    for source in values_given(module, call, ARGUMENT, position):
        gone = [kind for _, kind in constants(source.module, source.node) if kind in GONE]
        if gone and not is_guarded(module, call, ARGUMENT):
            place = source.node if source.module is module and module.statement(source.node) else call
            return gone[0], keyword_named(call, ARGUMENT) or place
    return None


def _collators(module: Module) -> Iterator[tuple[ast.Call, str, int | None]]:
    """What makes collators of transformers, or calls one that is a function: with its name and the argument's place."""
    for call in module.calls_if(lambda name: DEFAULT_COLLATORS.fullmatch(name) or COLLATORS.fullmatch(name)):
        name = called_name(module, call)
        yield call, name, _position(name)
    for call in module.calls(PARTIAL):
        name = (module.qualified(call.args[0]) if call.args else None) or ""
        if COLLATORS.fullmatch(name):
            position = _position(name)
            yield call, name, None if position is None else position + 1
    for call in may_call_own_class(module):
        line = constructors(module, call) if _may_make_collator(module, call) else []
        name = next((found for found in line if isinstance(found, str) and COLLATORS.fullmatch(found)), "")
        if not name or not reaches(line, ARGUMENT, lambda found: COLLATORS.fullmatch(found) is not None):
            continue
        if any(_makes_batches(found) for found in line):
            continue
        position = _position(name) if line[0] == name or not any(map(_has_constructor, line)) else None
        yield call, name, None if position is None else position + is_given_object(call)


def _may_make_collator(module: Module, call: ast.Call) -> bool:
    """Whether a call is worth a look: no other file is read for what has another name and is not given the argument."""
    if is_method_call(call, "__init__") or class_named(module, call.func, elsewhere=False) is not None:
        return True
    return keyword_named(call, ARGUMENT) is not None or "Collat" in last_name(call.func)


def _has_constructor(found: object) -> bool:
    return isinstance(found, tuple) and (constructor_of(found[1]) is not None or is_dataclass(found[1]))


def _makes_batches(found: object) -> bool:
    """Whether a class of the project makes batches without those of the collator that it is made from."""
    methods = found[1].body if isinstance(found, tuple) else []
    own = [part for part in methods if isinstance(part, ast.FunctionDef) and part.name == "__call__"]
    return any(not any(is_method_call(part, "__call__") for part in ast.walk(method)) for method in own)


def _position(name: str) -> int | None:
    """The place of the argument among those of a collator of transformers; None where it has none, or is not known."""
    place = look_up(name).place
    function = function_of(place)
    parameters = (function.parameters if function is not None else constructor(place)) or ()
    is_ordered = ARGUMENT in parameters and not any(one.startswith("*") for one in parameters)
    return parameters.index(ARGUMENT) if is_ordered else None


def _called(module: Module, call: ast.Call) -> ast.expr:
    """The object that a call calls, by itself, by a method or by a partial() that it makes."""
    if called_name(module, call) == PARTIAL and call.args:
        called = call.args[0]
        return called.value if isinstance(called, ast.Attribute) and called.attr in METHODS else called
    return call.func.value if is_method_call(call, *METHODS) else call.func


def _is_of_library(module: Module, called: ast.expr) -> bool:
    """Whether an object is a tokenizer or processor of transformers, where it is not None."""
    sources = [source for source in module.origins(called) if not is_none(source.node)]
    return bool(sources) and all(_is_made_by_library(source.module, source.node) for source in sources)


def _is_made_by_library(module: Module, value: ast.expr) -> bool:
    if isinstance(value, ast.Name):  # a parameter that says so: `tokenizer: PreTrainedTokenizerBase`
        declared = declared_class(module, value)
        return declared is not None and MAKERS.fullmatch(declared.qualified) is not None
    return MAKERS.fullmatch(called_name(module, value)) is not None

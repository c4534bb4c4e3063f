"""RM752, for `model.generate()` of a model that a script makes.

transformers 5.23, generation/utils.py, `_prepare_generated_length`: 20 new tokens where neither the call nor the
model's generation_config says how many; 4.30.2, generation/utils.py:1351: 20 with what the decoder begins with.
"""

import ast

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.generation_settings import classes_of_model, generates
from raymigrate.codemods.libraries.old_transformers import is_for_old_transformers
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.shared.generation import LENGTHS, RM752
from raymigrate.facts.hugging_face.models import GET_MODEL
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import (
    Source,
    argument,
    called_name,
    every_origin,
    has_starred,
    is_method_call,
    unpacked_dicts,
)
from raymigrate.facts.values.carried import carried

GENERATE = "generate"
SETTINGS = "generation_config"
# What makes the inputs of a model: tokenizers, processors and feature extractors of transformers.
READERS = ("Tokenizer", "TokenizerFast", "Processor", "FeatureExtractor")
MOVERS = frozenset({"convert_to_tensors", "copy", "to"})
DEEPEST = 8  # of such methods, one after the other
OF_TWO_PARTS = ("Seq2SeqLM", "ForConditionalGeneration", "EncoderDecoderModel")
ADVICE = "Set the length in the call: max_length=20 counts the prompt, as before, and max_new_tokens= does not."


@codemod(GENERATE, phase=Phase.LIBRARIES)
def generating_calls(context: Context) -> None:
    """Reports calls of `generate` of a legacy script where nothing says how much the model writes."""
    module = context.module
    if not is_for_old_transformers(context) or _sets_lengths(module):
        return
    for call, method in module.method_calls(GENERATE):
        names = _classes(module, method.value)
        if not generates(names) or not _leaves_length_open(module, call):
            continue
        message = (
            "Unless the generation_config of the model says otherwise, this writes up to 20 new tokens since"
            " transformers 5. Before, it stopped at 20 with the prompt"
        )
        if all(name and name.endswith(OF_TWO_PARTS) for name in names):
            context.note(
                RM752, call, f"{message}, for an encoder-decoder with its start token: max_length=20 keeps that."
            )
        else:
            context.manual(RM752, call, f"{message}.", ADVICE)


def _sets_lengths(module: Module) -> bool:
    """Whether a file sets a generation_config, or the length in one: which model gets it is not followed."""
    return any(isinstance(node.ctx, ast.Store) for node in module.attributes(*LENGTHS, SETTINGS))


def _classes(module: Module, node: ast.expr) -> list[str | None]:
    """The classes that a model may be of, also one of a legacy checkpoint: `checkpoint.get_model(T5Model)`."""
    value = module.value(node)
    if is_method_call(value, GET_MODEL):
        given = argument(value, 0, "model")
        name = module.qualified(given) if given is not None else None
        return [name.rpartition(".")[2]] if name else classes_of_model(module, given) if given is not None else []
    return classes_of_model(module, node)


def _leaves_length_open(module: Module, call: ast.Call) -> bool:
    """Whether a call is seen to say nothing of how much is written."""
    named = {keyword.arg for keyword in call.keywords}
    if len(call.args) > 1 or has_starred(call.args):
        return False  # the second is the generation_config
    if not named.isdisjoint({*LENGTHS, SETTINGS}):
        return False
    return all(_says_no_length(module, given) for given in unpacked_dicts(call))


def _says_no_length(module: Module, unpacked: ast.expr) -> bool:
    """Whether what is unpacked is what a tokenizer or processor gives, or a dict whose entries are all seen."""
    if _is_read(Source(module, unpacked)):
        return True
    held = carried(module, unpacked)
    return held.whole and {entry.name for entry in held.entries}.isdisjoint({*LENGTHS, SETTINGS})


def _is_read(value: Source, depth: int = 0) -> bool:
    """Whether a value is what a tokenizer or processor of transformers gives, on whatever device."""
    origins = value.module.origins(value.node)
    return bool(origins) and all(_is_given(origin, depth) for origin in origins)


def _is_given(origin: Source, depth: int) -> bool:
    module, node = origin.module, origin.node
    if not isinstance(node, ast.Call) or depth > DEEPEST:
        return False
    if is_method_call(node, *MOVERS):
        return _is_read(Source(module, node.func.value), depth + 1)
    return every_origin(module, node.func, _is_reader)


def _is_reader(module: Module, maker: ast.expr) -> bool:
    """Whether a value is a tokenizer, processor or feature extractor: `AutoTokenizer.from_pretrained(...)`."""
    name = called_name(module, maker).removesuffix(".from_pretrained")
    return name.startswith("transformers.") and name.endswith(READERS)

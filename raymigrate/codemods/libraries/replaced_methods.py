"""RM762: code of transformers' models that a script puts its own in place of, such as a faster attention.

transformers 5.23: LlamaDecoderLayer calls its attention with position_embeddings=, past_key_values= and position_ids=,
and takes two results (models/llama/modeling_llama.py:297); 4.30.2 gave position_ids=, past_key_value= and
output_attentions=, and took three. No class has _prepare_decoder_attention_mask, which 4.30.2 called in LlamaModel:
what is set under that name is never called.
"""

import ast
from collections.abc import Iterator

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.facts.hugging_face.models import is_model_class
from raymigrate.facts.syntax.module import Module
from raymigrate.knowledge.libraries import is_module, look_up

RM762 = Rule(
    "RM762",
    "a method of transformers' models that is replaced",
    "transformers >= 5 calls the parts of its models with other arguments than transformers 4, and takes other results:"
    " an attention gets position_embeddings= and returns two values. A method that took its place then raises a"
    " TypeError or a ValueError in the first step, and one that is not called any more has no effect.",
    "Write it for the installed version, or take it out: most replace an attention, and"
    ' from_pretrained(attn_implementation="flash_attention_2") or "sdpa" chooses one.',
    "https://huggingface.co/docs/transformers/attention_interface",
    unproven="What the models call was read in 4.30.2 and 5.23; the methods that scripts replace need a GPU.",
)
OF_MODELS = "transformers.models."
ADVICE = (
    "Write it for the installed version, or take it out:"
    ' from_pretrained(attn_implementation="flash_attention_2"), or "sdpa", chooses an attention.'
)
OF_ALL = ("forward", "__init__")  # what every model has
TAKES = {"calls": "takes", "may call": "take"}
# Methods that 4.30.2 called, and 5.23 does not have.
GONE = frozenset({"_prepare_decoder_attention_mask", "_expand_mask", "_make_causal_mask"})


@codemod("transformers", phase=Phase.LIBRARIES)
def replaced_methods(context: Context) -> None:
    """Tells of what a script sets in classes and modules of transformers' models."""
    module = context.module
    for node, owner, name in _set(module):
        whole = module.qualified(owner) or ""
        if not (whole.startswith(OF_MODELS) or is_model_class(whole)) or _is_setting(module, node):
            continue
        # RM692 tells of what is gone, which nothing calls any more; not of a name that setattr() sets.
        if look_up(f"{whole}.{name}" if isinstance(node, ast.Attribute) else whole).gone is not None:
            continue
        what = f"{name} of {whole.rpartition('.')[2]} is replaced here"
        if name in GONE:
            context.manual(RM762, node, f"{what}: nothing in transformers 5 calls that, and it has no effect.", ADVICE)
            continue
        if not _is_there(module, whole, name):
            what = f"{name} of {whole.rpartition('.')[2]} is set here, and takes the place of a method if there is one"
        calls = "calls" if name == "forward" and whole.endswith("Attention") else "may call"
        does = f"transformers 5 {calls} it with other arguments than 4 did, and {TAKES[calls]} other results"
        context.manual(RM762, node, f"{what}: {does}.", ADVICE)


def _set(module: Module) -> Iterator[tuple[ast.AST, ast.expr, str]]:
    """What is set as an attribute, in an assignment or by setattr(): where, of what, and its name."""
    for node in module.of_type(ast.Attribute):
        if isinstance(node.ctx, ast.Store) and module.assigned(node) is not None:
            yield node, node.value, node.attr
    for call in module.named_calls("setattr"):
        name = module.constant(call.args[1]) if len(call.args) == 3 else None
        if isinstance(name, str):
            yield call, call.args[0], name


def _is_there(module: Module, owner: str, name: str) -> bool:
    """Whether what is set is seen to be there already; of the methods of a model not all are known."""
    reads = (node for node in module.attributes(name) if isinstance(node.ctx, ast.Load))
    return name in OF_ALL or is_module(owner) or any(module.qualified(node) == f"{owner}.{name}" for node in reads)


def _is_setting(module: Module, node: ast.AST) -> bool:
    """Whether a value is a plain setting, no function: `LlamaModel.supports_gradient_checkpointing = True`.

    A list of names, `_no_split_modules`, and a class of configurations, `config_class`, are such too.
    """
    value = node.args[2] if isinstance(node, ast.Call) else module.assigned(node)
    if value is None:
        return False
    is_config = (module.qualified(value) or "").endswith("Config")
    return is_config or isinstance(module.value(value), (ast.Constant, ast.List, ast.Tuple, ast.Set, ast.Dict))

"""RM705, for `tokenizer(texts, return_tensors="tf")`: transformers 5 makes no tensors of TensorFlow and JAX.

Measured on transformers 5.23: "tf is not a valid TensorType, please select one of ['pt', 'np', 'mlx']" (ValueError).
Collators raise one too when they make a batch; the two default ones return None (data/data_collator.py:46, 88).
"""

import ast

from raymigrate.base.expressions import lazy_regex
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.argument_rules import RM705
from raymigrate.codemods.phases import Phase
from raymigrate.facts.syntax.guards import is_guarded
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import called_name, every_origin, is_method_call

ARGUMENT = "return_tensors"
GONE = ("tf", "jax")
MAKERS = lazy_regex(r"transformers(?:\.\w+)*\.\w*(?:Tokenizer|Processor|FeatureExtractor)\w*(?:\.from_pretrained)?")
COLLATORS = lazy_regex(r"transformers(?:\.\w+)*\.(?:\w*DataCollator\w*)")
DEFAULT_COLLATORS = lazy_regex(r"transformers(?:\.\w+)*\.(?:default_data_collator|DefaultDataCollator)")
METHODS = ("__call__", "apply_chat_template", "batch_encode_plus", "encode", "encode_plus", "pad", "preprocess")
ADVICE = 'Write "np" and make the tensors of the arrays; or "pt" for PyTorch.'


@codemod(ARGUMENT, phase=Phase.LIBRARIES)
def tensor_kinds(context: Context) -> None:
    """Tells of tokenizers, processors and collators that are asked for tensors that they no longer make."""
    module = context.module
    for call, keyword in module.keywords(ARGUMENT):
        kind = module.constant(keyword.value)
        if kind not in GONE or is_guarded(module, keyword, ARGUMENT):
            continue
        if every_origin(module, _called(call), _is_made_by_library):
            context.manual(RM705, keyword, f'{ARGUMENT}="{kind}" raises a ValueError today.', ADVICE)
        elif DEFAULT_COLLATORS.fullmatch(named := module.qualified(call.func) or ""):
            message = f'With {ARGUMENT}="{kind}" {named.rpartition(".")[2]} gives None today, and no batch.'
            context.manual(RM705, keyword, message, ADVICE)
        elif COLLATORS.fullmatch(named):
            message = f'A collator with {ARGUMENT}="{kind}" raises a ValueError at its first batch today.'
            context.manual(RM705, keyword, message, ADVICE)


def _called(call: ast.Call) -> ast.expr:
    """The object that a call calls, by itself or by a method."""
    return call.func.value if is_method_call(call, *METHODS) else call.func


def _is_made_by_library(module: Module, value: ast.expr) -> bool:
    return MAKERS.fullmatch(called_name(module, value)) is not None

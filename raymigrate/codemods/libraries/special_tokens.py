"""RM755, for the tokens with which a model begins, ends and pads: generate() has its own.

transformers 5.23: `generate` reads model.generation_config only (generation/utils.py, `_prepare_special_tokens`). Up to
4.57 it made that anew of the config, unless the checkpoint came with a generation_config.json. Training goes on to read
the config: decoder_start_token_id and pad_token_id make the inputs of a decoder out of the labels.
"""

import ast

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.generation_settings import (
    PARAMETERS,
    RM755,
    classes_of_model,
    config_of_model,
    generates,
)
from raymigrate.codemods.phases import Phase
from raymigrate.edits.plan import Code
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import Assignment, is_assignment, targets_of
from raymigrate.facts.values import called_name, is_method_call

START = "decoder_start_token_id"
TOKENS = (START, "pad_token_id", "eos_token_id", "bos_token_id")
OF_TWO_MODELS = (
    "EncoderDecoderModel"  # VisionEncoderDecoderModel and similar ones, whose checkpoints are made by the script
)
GENERATION = "generation_config"


@codemod(*TOKENS, phase=Phase.LIBRARIES)
def special_tokens(context: Context) -> None:
    """Gives the generation_config of a model the tokens that a script gives its config."""
    module = context.module
    for node in module.attributes(*TOKENS):
        if not isinstance(node.ctx, ast.Store) or _is_given(module, node.attr):
            continue
        config = config_of_model(module, node.value)
        names = classes_of_model(module, config.value) if config is not None else []
        if config is None or not generates(names):
            continue
        owner = module.source(config.value)
        message = f"{node.attr} of the config of a model is not read by generate() since transformers 5"
        sure = all(OF_TWO_MODELS in str(name) for name in names) or _starts(module, owner)
        statement = module.statement(node)
        if sure and is_assignment(statement) and _is_target(statement, node):
            if context.converts(RM755, node, f"{message}; now its generation_config has it too."):
                line = f"{owner}.{GENERATION}.{node.attr} = {module.source(node)}"
                context.plan.statement(statement).after.append(Code(line))
        elif sure:
            context.manual(RM755, node, f"{message}.", f"Set {owner}.{GENERATION}.{node.attr} too.")
        elif _generates_here(module, owner) and not _is_end(module, node):
            context.note(RM755, node, f"{message}: {owner}.{GENERATION}.{node.attr} is what it reads.")


def _is_target(statement: Assignment, node: ast.Attribute) -> bool:
    """Whether a statement sets an attribute as it stands: not in a tuple, nor by a name for the config."""
    return any(target is node for target in targets_of(statement)) and isinstance(node.value, ast.Attribute)


def _is_given(module: Module, token: str) -> bool:
    """Whether the file says a token where generate() looks for it: in a generation_config, or an argument."""
    stores = (node for node in module.attributes(token) if isinstance(node.ctx, ast.Store))
    named = any(GENERATION in ast.unparse(module.value(node.value)) for node in stores)
    return named or any(_is_read(module, call) for call, _ in module.keywords(token))


def _is_read(module: Module, call: ast.Call) -> bool:
    is_method = is_method_call(call, "generate")
    return is_method or called_name(module, call).endswith("GenerationConfig")


def _starts(module: Module, owner: str) -> bool:
    """Whether the file says how the decoder of a model begins: who does so means generate()."""
    stores = (node for node in module.attributes(START) if isinstance(node.ctx, ast.Store))
    return any(module.source(node.value) == f"{owner}.config" for node in stores)


def _generates_here(module: Module, owner: str) -> bool:
    """Whether the file lets a model generate, or says how it is to."""
    if any(module.source(method.value) == owner for _, method in module.method_calls("generate")):
        return True
    if any(module.constant(keyword.value) is not False for _, keyword in module.keywords("predict_with_generate")):
        return True
    stores = (node for node in module.attributes(*PARAMETERS) if isinstance(node.ctx, ast.Store))
    return any(module.source(node.value) == f"{owner}.config" for node in stores)


def _is_end(module: Module, node: ast.Attribute) -> bool:
    """Whether a model pads with its last token: so does generate() where nothing is said."""
    value = module.assigned(node)
    return node.attr == "pad_token_id" and value is not None and "eos_token" in ast.unparse(value)

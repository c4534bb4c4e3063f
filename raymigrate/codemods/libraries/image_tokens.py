"""RM764: texts for BLIP-2 that are made without the tokens in whose place the image goes.

transformers 5.23, models/blip_2/modeling_blip_2.py:1697: what the Q-Former makes of the image is scattered over the
tokens of config.image_token_index; with none of them among the input_ids the image is left out, and nothing says so.
With tiny weights of BLIP-2 the loss was the same for two images then, and not with the tokens; a config without
image_token_index is an AttributeError (run). Blip2Processor writes the tokens where it gets text and images at once.
"""

import ast

from raymigrate.base.expressions import lazy_regex
from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import called_name

RM764 = Rule(
    "RM764",
    "texts for BLIP-2 without tokens for the image",
    "transformers >= 5 puts the image in the place of image tokens, and leaves it out, without an error, where the text"
    " has none: the model trains and answers without images.",
    "Call the processor with images and text at once; it needs num_query_tokens, which checkpoints of the Hub have.",
    "https://huggingface.co/docs/transformers/model_doc/blip-2",
    unproven="No checkpoint of the tests is one of BLIP-2, and the job ends the same way with and without the image.",
)
MODEL = lazy_regex(r"transformers(?:\.\w+)*\.(?:Blip2|InstructBlip)ForConditionalGeneration")
PROCESSOR = lazy_regex(r"transformers(?:\.\w+)*\.(?:Auto|Blip2|InstructBlip)Processor\.from_pretrained")


@codemod("Blip2ForConditionalGeneration", "InstructBlipForConditionalGeneration", phase=Phase.LIBRARIES)
def image_tokens(context: Context) -> None:
    """Tells of texts that the tokenizer of a processor makes by itself, in a script with such a model."""
    module = context.module
    if not any(MODEL.match(reference.qualified) for reference in module.references_within("transformers")):
        return
    for call in module.of_type(ast.Call):
        if _is_tokenizer_of_processor(module, call.func):
            message = "If these are the input_ids for BLIP-2, the model leaves the image out today, without an error"
            context.manual(RM764, call, f"{message}.")


def _is_tokenizer_of_processor(module: Module, function: ast.expr) -> bool:
    """Whether what is called is `processor.tokenizer`."""
    if not isinstance(function, ast.Attribute) or function.attr != "tokenizer":
        return False
    made = [(source.module, source.node) for source in module.origins(function.value)]
    return any(isinstance(n, ast.Call) and PROCESSOR.fullmatch(called_name(home, n)) for home, n in made)

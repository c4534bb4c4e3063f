"""RM769: max_length= of processors whose image tokens count among those of the text today.

docs/semantics/libraries.md#lengths-with-images
"""

import ast
import re

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.facts.module import Module
from raymigrate.facts.values import keyword_named, written

RM769 = Rule(
    "RM769",
    "max_length= of a processor of images and text",
    "transformers >= 5 counts the tokens that stand for the image among those of the text, which were not there before:"
    " BLIP-2's cuts each text shorter by them, without a word, and ends with an OverflowError where max_length is less;"
    " LLaVA's ends with a ValueError where it has to cut them.",
    "Add the number of image tokens to max_length.",
    "https://huggingface.co/docs/transformers/model_doc/blip-2",
    errors=("can't convert negative int to unsigned", "Mismatch in `image` token count between text and `input_ids`"),
    unproven="tests/error_snippets.py makes transformers say it; no checkpoint of the tests is one of these models.",
)
ARGUMENT, COUNT = "max_length", "num_query_tokens"
KINDS = ("InstructBlip", "Blip2", "VipLlava", "LlavaNext", "Llava")
PROCESSOR = re.compile(
    rf"transformers(?:\.\w+)*\.(?P<kind>Auto|{'|'.join(KINDS)})Processor(?P<loads>\.from_pretrained)?"
)
MODEL = re.compile(rf"transformers(?:\.\w+)*\.(?P<kind>{'|'.join(KINDS)})ForConditionalGeneration\b")
BLIP, INSTRUCT = "Blip2", "InstructBlip"
COUNTED = "max_length= counts the tokens of the image too today"
SHORTER = f"{COUNTED}: each text is cut shorter by their number, 32 by default"
CUT = f"{COUNTED}, hundreds in LLaVA: a ValueError where they are cut."
ADD_QUERIES = f"Add processor.{COUNT} to it, or leave it out."
OF_QUESTIONS = " The tokens for the Q-Former are cut at max_length itself."
ADD_PATCHES = "Add to it what an image takes, 576 tokens in LLaVA 1.5, or leave it out together with truncation=."


@codemod(
    *(f"{kind}Processor" for kind in KINDS),
    *(f"{kind}ForConditionalGeneration" for kind in KINDS),
    phase=Phase.LIBRARIES,
)
def image_token_lengths(context: Context) -> None:
    """Lets BLIP-2 cut texts where they were cut, in scripts that are older than its image tokens; tells of others."""
    if not context.of_legacy_job:
        return
    module = context.module
    for call, keyword in module.keywords(ARGUMENT):
        length = keyword.value
        kind = _kind_of(module, call.func)
        if not kind or written(length) is None or COUNT in ast.unparse(length):
            continue
        if kind == BLIP:
            _add_queries(context, call, length)
        elif kind == INSTRUCT:
            context.manual(RM769, length, f"{SHORTER}.", ADD_QUERIES + OF_QUESTIONS)
        elif (cut := keyword_named(call, "truncation")) is not None and written(cut.value) not in (False, None):
            context.manual(RM769, length, CUT, ADD_PATCHES)


def _add_queries(context: Context, call: ast.Call, length: ast.expr) -> None:
    """Adds the number of image tokens to a length that is known to be one."""
    number = context.module.constant(length)
    if not isinstance(call.func, (ast.Name, ast.Attribute)) or not isinstance(number, int):
        context.manual(RM769, length, f"{SHORTER}.", ADD_QUERIES)
        return
    new = f"{context.module.source(length)} + {context.module.source(call.func)}.{COUNT}"
    if context.converts(RM769, length, f"{SHORTER}; now {new}."):
        context.plan.call(call).set(ARGUMENT, f"$length + $processor.{COUNT}", length=length, processor=call.func)


def _kind_of(module: Module, function: ast.expr) -> str:
    """Of which models what is called is the processor; empty where it is none of these."""
    kinds = set[str]()
    for source in module.origins(function):
        made = source.node.func if isinstance(source.node, ast.Call) else None
        found = PROCESSOR.fullmatch(source.module.qualified(made) or "") if made is not None else None
        if found is None:
            return ""
        kinds.add(found["kind"])
    models = (MODEL.match(reference.qualified) for reference in module.references_within("transformers"))
    if kinds == {"Auto"}:
        kinds = {found["kind"] for found in models if found is not None}
    return kinds.pop() if len(kinds) == 1 else ""

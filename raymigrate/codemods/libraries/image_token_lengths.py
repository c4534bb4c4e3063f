"""RM769: max_length= of processors whose image tokens count among those of the text today.

docs/semantics/libraries.md#lengths-with-images
"""

import ast
from collections.abc import Hashable, Iterator

from raymigrate.base.expressions import lazy_regex
from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.facts.hugging_face.models import MODEL_NAME, is_model_class
from raymigrate.facts.syntax.attribute_chains import root_of_chain
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import Source, argument, called_name, has_unpacking, keyword_named, written

RM769 = Rule(
    "RM769",
    "max_length= of a processor of images and text",
    "transformers >= 5 counts the tokens that stand for the image among those of the text, which were not there before:"
    " BLIP-2's cuts each text shorter by them, without an error, and ends with an OverflowError where max_length is"
    " less; LLaVA's ends with a ValueError where it has to cut them.",
    "Add the number of image tokens to max_length.",
    "https://huggingface.co/docs/transformers/model_doc/blip-2",
    errors=("can't convert negative int to unsigned", "Mismatch in `image` token count between text and `input_ids`"),
    unproven="tests/error_snippets.py makes transformers say it; no checkpoint of the tests is one of these models.",
)
ARGUMENT, COUNT = "max_length", "num_query_tokens"
KINDS = ("InstructBlip", "Blip2", "VipLlava", "LlavaNext", "Llava")
PROCESSOR = lazy_regex(
    rf"transformers(?:\.\w+)*\.(?P<kind>Auto|{'|'.join(KINDS)})Processor(?P<loads>\.from_pretrained)?"
)
MODEL = lazy_regex(rf"transformers(?:\.\w+)*\.(?P<kind>{'|'.join(KINDS)})ForConditionalGeneration\b")
BLIP, INSTRUCT, AUTO = "Blip2", "InstructBlip", "Auto"
LOADS = ".from_pretrained"
NAMED_SO = lazy_regex(r"(?i)blip-?2|instruct-?blip|llava")  # checkpoints of these models
QUERIES_PLACE = 2  # of num_query_tokens in Blip2Processor(...)
COUNTED = "max_length= counts the tokens of the image too today"
SHORTER = f"{COUNTED}: each text is cut shorter by their number, 32 by default"
CUT = f"{COUNTED}, hundreds in LLaVA: a ValueError where they are cut."
ADD_QUERIES = f"Add processor.{COUNT} to it, or leave it out."
WITHOUT_QUERIES = f"{COUNTED}, and it may be that {COUNT} of this processor is None, which raises a TypeError."
GIVE_QUERIES = f"Make the processor with {COUNT}=model.config.{COUNT}, and add that to max_length, or leave it out."
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
        if written(length) is None or COUNT in ast.unparse(length):
            continue
        kind, is_sure = _kind_of(module, call.func)
        where = "" if is_sure else f"Where this is a processor of {kind}: "
        if kind == BLIP and is_sure:
            _add_queries(context, call, length)
        elif kind in (BLIP, INSTRUCT):
            of_questions = OF_QUESTIONS if kind == INSTRUCT else ""
            context.manual(RM769, length, f"{where}{SHORTER}.", ADD_QUERIES + of_questions)
        elif kind and (cut := keyword_named(call, "truncation")) is not None:
            if written(cut.value) not in (False, None):
                context.manual(RM769, length, f"{where}{CUT}", ADD_PATCHES)


def _add_queries(context: Context, call: ast.Call, length: ast.expr) -> None:
    """Adds the number of image tokens to a length, where both are known to be numbers."""
    number = context.module.constant(length)
    if not all(_has_queries(source) for source in context.module.origins(call.func)):
        context.manual(RM769, length, WITHOUT_QUERIES, GIVE_QUERIES)
        return
    if not isinstance(call.func, (ast.Name, ast.Attribute)) or not isinstance(number, int):
        context.manual(RM769, length, f"{SHORTER}.", ADD_QUERIES)
        return
    new = f"{context.module.source(length)} + {context.module.source(call.func)}.{COUNT}"
    if context.converts(RM769, length, f"{SHORTER}; now {new}."):
        context.plan.call(call).set(ARGUMENT, f"$length + $processor.{COUNT}", length=length, processor=call.func)


def _has_queries(processor: Source) -> bool:
    """Whether a processor of BLIP-2 has a number of image tokens: of its checkpoint, or one that it is given."""
    made = processor.node
    if not isinstance(made, ast.Call) or has_unpacking(made):
        return False
    is_loaded = called_name(processor.module, made).endswith(LOADS)
    given = argument(made, len(made.args) if is_loaded else QUERIES_PLACE, COUNT)
    return is_loaded if given is None else isinstance(processor.module.constant(given), int)


def _kind_of(module: Module, function: ast.expr) -> tuple[str, bool]:
    """Of which models what is called is the processor, empty where it is none of these, and whether that is sure."""
    kinds = list[tuple[str, bool]]()
    for source in module.origins(function):
        made = source.node if isinstance(source.node, ast.Call) else None
        found = PROCESSOR.fullmatch(called_name(source.module, made)) if made is not None else None
        if made is None or found is None:
            return "", False
        kinds.append(_kind_of_checkpoint(source.module, made) if found["kind"] == AUTO else (found["kind"], True))
    names = {kind for kind, _ in kinds}
    return (names.pop(), all(is_sure for _, is_sure in kinds)) if len(names) == 1 else ("", False)


def _kind_of_checkpoint(module: Module, call: ast.Call) -> tuple[str, bool]:
    """The same for an AutoProcessor, by the model that is loaded from its checkpoint: others may be in the file."""
    given = argument(call, 0, MODEL_NAME)
    checkpoint = _identity(Source(module, given)) if given is not None else None
    loaded = _loaded(module)
    if checkpoint is not None and checkpoint in loaded:
        known = loaded[checkpoint] - {""}
        return (known.pop(), True) if len(known) == 1 else ("", False)
    if isinstance(checkpoint, str) and NAMED_SO.search(checkpoint) is None:
        loaded = {other: kinds for other, kinds in loaded.items() if not isinstance(other, str)}
    possible = set().union(*loaded.values()) - {""}
    return (possible.pop(), False) if len(possible) == 1 else ("", False)


@kept
def _loaded(module: Module) -> dict[Hashable, set[str]]:
    """The kinds of the models that a script loads, by their checkpoints; empty for one that is none of these."""
    found = dict[Hashable, set[str]]()
    for name, checkpoint in _models(module):
        kind = MODEL.match(name)
        key = _identity(checkpoint) if checkpoint is not None else None
        found.setdefault(key, set()).add(kind["kind"] if kind is not None else "")
    return found


def _models(module: Module) -> Iterator[tuple[str, Source | None]]:
    """The classes of models that a script names, except automatic ones, each with the checkpoint if it is seen."""
    for reference in module.references_within("transformers"):
        name = reference.qualified or ""
        call = module.parent_of[reference.node]
        owner = name.removesuffix(LOADS)
        if not is_model_class(owner) or owner.rpartition(".")[2].startswith(AUTO):
            continue
        is_call = owner != name and isinstance(call, ast.Call) and call.func is reference.node
        given = argument(call, 0, MODEL_NAME) if is_call and isinstance(call, ast.Call) else None
        yield owner, Source(module, given) if given is not None else None


def _identity(value: Source) -> Hashable:
    """What two values have in common that are surely the same; a text if it is known."""
    known = value.module.constant(value.node)
    if isinstance(known, str):
        return known
    sources = value.module.origins(value.node)
    source = sources[0] if len(sources) == 1 else value
    root = root_of_chain(source.node)
    scope = source.module.bound_in(root)
    if scope is None or root is None or len(scope.bindings[root.id]) != 1:
        return source
    return ast.dump(source.node).encode(), scope  # the same expression of the same name

"""RM723 and RM701, for the parts of processors: `processor.feature_extractor` of one that prepares images.

Measured on transformers 5.23: TrOCRProcessor, CLIPProcessor, DonutProcessor and their like have no feature_extractor,
and as an argument it is a TypeError; processors of sounds have it. None has current_processor or as_target_processor.

`with processor.as_target_processor():` let calls of the processor, and of its pad(), go to its tokenizer (4.26
models/wav2vec2/processing_wav2vec2.py, and those of Whisper, Speech2Text, TrOCR and Donut), which is called today.
"""

import ast

from raymigrate.base.expressions import lazy_regex
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.image_processors import rename_argument
from raymigrate.codemods.libraries.library_attributes import RM723
from raymigrate.codemods.libraries.tokenizer_calls import own_methods
from raymigrate.codemods.phases import Phase
from raymigrate.edits.plan import Code
from raymigrate.facts.hugging_face.modalities import Modality, modality_of
from raymigrate.facts.projects.declared import declared_class
from raymigrate.facts.syntax.comments import comments_of
from raymigrate.facts.syntax.guards import is_guarded
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import called_name, is_method_call, last_name
from raymigrate.knowledge.processors import AUTO, IMAGES, OF_IMAGES, SOUNDS, part_of

CURRENT, AS_TARGET = "current_processor", "as_target_processor"
PROCESSOR = lazy_regex(r"transformers(?:\.\w+)*\.(\w+Processor)(?:\.from_pretrained)?")
TARGETS = "Call its tokenizer for the labels, also for pad(); the rest of the block stays."
TOKENIZER = "tokenizer"
OF_TOKENIZER = (TOKENIZER, CURRENT, "batch_decode", "decode")  # which give the same where the block is gone
NAMES = (ast.Name, ast.Attribute)
TO_TOKENIZER = "now its tokenizer is called"


@codemod(SOUNDS, CURRENT, AS_TARGET, phase=Phase.LIBRARIES)
def processor_attributes(context: Context) -> None:
    """Reads the part of a processor that took the place of one that is gone, and tells of what cannot be seen."""
    module = context.module
    for node in module.attributes(SOUNDS, CURRENT, AS_TARGET):
        found = _parts(module, node.value)
        if node.attr == CURRENT and found and _is_in_block(module, node):
            found = {TOKENIZER}
        if is_guarded(module, node, node.attr):
            continue
        if node.attr == AS_TARGET:
            _as_target(context, node, known=bool(found))
        elif not found or not isinstance(node.ctx, ast.Load) or found == {node.attr}:
            continue
        elif len(found) == 1 and "" not in found:
            new = next(iter(found))
            message = f"Reading {node.attr} raises an AttributeError today"
            if context.converts(RM723, node, f"{message}; now {new}."):
                context.plan.replace(node, f"$owner.{new}", owner=node.value)
        else:
            _perhaps(context, node)


def _as_target(context: Context, node: ast.Attribute, *, known: bool) -> None:
    """Calls the tokenizer in the block of `with processor.as_target_processor():`, which has no other effect."""
    module = context.module
    calls, message = _calls_in_block(module, node), f"Reading {AS_TARGET} raises an AttributeError today"
    if not known:
        if AS_TARGET not in own_methods(module):
            context.manual(RM723, node, f"{message} if this is a processor of transformers.", TARGETS)
    elif calls is None:
        context.manual(RM723, node, f"{message}.", TARGETS)
    elif context.converts(RM723, node, f"{message}; {TO_TOKENIZER}."):
        owner = module.source(node.value)
        for call in calls:
            method = ".pad" if is_method_call(call, "pad") else ""
            context.plan.call(call).function = f"{owner}.tokenizer{method}"
        block = module.statement(node)
        assert isinstance(block, ast.With)
        is_apart = block.body[0].lineno > node.lineno
        comments = comments_of(module, block.items[0].context_expr, moved=True) if is_apart else ""
        context.plan.statement(block).replacement = Code(f"{comments}$body", blocks={"body": block.body})


def _calls_in_block(module: Module, node: ast.Attribute) -> list[ast.Call] | None:
    """The calls of a processor, and of its pad(), in its block; None where something else may be done to it there."""
    item = module.parent_of[module.parent_of[node]]
    block = module.parent_of.get(item)
    if not isinstance(item, ast.withitem) or not isinstance(block, ast.With) or len(block.items) > 1:
        return None
    if item.optional_vars is not None or ast.unparse(item.context_expr) != f"{ast.unparse(node)}()":
        return None
    owner, found = ast.unparse(node.value), list[ast.Call]()
    parts = [part for statement in block.body for part in ast.walk(statement) if isinstance(part, NAMES)]
    own = [part for part in parts if ast.unparse(part) == owner]
    if not own or any(_may_reach(module, part, node) for part in parts if part not in own):
        return None  # the block is for what the code that it runs does
    for part in own:
        user = module.parent_of[part]
        method = user.attr if isinstance(user, ast.Attribute) else ""
        read = user if method else part
        call = module.parent_of[read]
        if module.function(part) is not module.function(node):
            return None  # of a function, which may be called after the block
        if isinstance(call, ast.Call) and call.func is read and method in ("", "pad"):
            found.append(call)
        elif method not in OF_TOKENIZER:
            return None
    return found


def _may_reach(module: Module, part: ast.Name | ast.Attribute, node: ast.Attribute) -> bool:
    """Whether what is named in the block of a processor may be this by another name, or code that uses it."""
    called = (function for function in module.functions(last_name(part)) if not module.inside(node, function))
    uses = any(last_name(inner) == last_name(node.value) for function in called for inner in ast.walk(function))
    return uses or (isinstance(part.ctx, ast.Load) and bool(_parts(module, part)))


def _is_in_block(module: Module, node: ast.Attribute) -> bool:
    """Whether a processor is read in the block of its as_target_processor(), where the current one is its tokenizer."""
    entered = f"{ast.unparse(node.value)}.{AS_TARGET}()"
    around = (outer for outer in module.ancestors(node) if isinstance(outer, ast.With))
    return any(ast.unparse(item.context_expr) == entered for outer in around for item in outer.items)


@codemod(SOUNDS, phase=Phase.LIBRARIES)
def processor_arguments(context: Context) -> None:
    """Names what a processor of images is made with as it is called today: `TrOCRProcessor(feature_extractor=...)`."""
    for call, keyword in context.module.keywords(SOUNDS):
        found = PROCESSOR.fullmatch(called_name(context.module, call))
        if found is not None and found[1] in OF_IMAGES and not _loads(call.func):
            rename_argument(context, call, keyword, IMAGES, "raises a TypeError today")


def _perhaps(context: Context, node: ast.Attribute) -> None:
    """Tells of a processor of which it is not seen what it prepares."""
    what = context.module.source(node.value)
    if node.attr == CURRENT:
        advice = f"Read {IMAGES} of it if it prepares images, {SOUNDS} if it prepares sounds."
        context.manual(RM723, node, f"Reading {CURRENT} raises an AttributeError today.", advice)
    else:
        message = f"If {what} is a processor of images, reading {SOUNDS} raises an AttributeError today."
        context.manual(RM723, node, message, f"Read {IMAGES} of it then; for sounds it is right as it is.")


def _parts(module: Module, node: ast.expr) -> set[str]:
    """Where the processors that a value may be keep what prepares their inputs; "" for one that is not known.

    Empty if nothing shows that it is a processor of transformers.
    """
    found = [_part(source.module, source.node) for source in module.origins(node)]
    declared = declared_class(module, node) if not any(part is not None for part in found) else None
    if declared is not None and not isinstance(declared.node, ast.ClassDef):
        named = PROCESSOR.fullmatch(declared.module.qualified(declared.node) or "")
        found = [part_of(named[1])] if named is not None else []
    known = {part for part in found if part is not None}
    return known if len(known) == len(set(found)) or not known else {*known, ""}


def _part(module: Module, node: ast.AST) -> str | None:
    """Where a processor that a call makes keeps what prepares its inputs; None if it makes none."""
    if not isinstance(node, ast.Call):
        return None
    named = PROCESSOR.fullmatch(called_name(module, node))
    if named is None or named[1].endswith(("ImageProcessor", "VideoProcessor")):
        return None
    if named[1] != AUTO:
        return part_of(named[1])
    return {Modality.IMAGE: IMAGES, Modality.AUDIO: SOUNDS, None: ""}[modality_of(module, node)]


def _loads(function: ast.expr) -> bool:
    """Whether a call loads a processor, which takes every keyword, and does not make one of its parts."""
    return isinstance(function, ast.Attribute) and function.attr == "from_pretrained"

"""RM721, RM722, and RM701 for is_pretokenized=: methods and arguments of tokenizers that transformers 5 removed.

Measured on transformers 5.23 with the offline hub's bert-base-cased: the methods raise an AttributeError (which classes
keep some of them, `raymigrate/knowledge/tokenizers.py` tells);
`pad_to_max_length=True` is swallowed, and nothing is padded: 4 ids where transformers 4.30 gave `max_length`.
With it transformers 4.30 truncated to `max_length` too, unless truncation= said otherwise, and without `max_length` it
padded to the longest text only (measured on 4.30.2: 12 ids of 21 with max_length=12, and 21 and 3 ids without).
"""

import ast

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.argument_rules import GUIDE, RM701
from raymigrate.codemods.phases import Phase
from raymigrate.edits.plan import Code
from raymigrate.facts.syntax.attribute_chains import is_of_self
from raymigrate.facts.syntax.comments import comments_of
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import is_assignment, only_target
from raymigrate.facts.syntax.scopes import FUNCTIONS
from raymigrate.facts.values import called_name, every_origin, is_method_call, keyword_named, written
from raymigrate.knowledge.tokenizers import KEPT, KEPT_BY_SOME, keeps

CALL_IT = "Call the tokenizer itself: tokenizer(texts, ...), and for labels tokenizer(text_target=texts, ...)."
RM721 = Rule(
    "RM721",
    "a method of tokenizers or models that is gone",
    "transformers >= 5 raises an AttributeError.",
    f"{CALL_IT} Of models, freeze_feature_encoder() and generate() took the place of some.",
    GUIDE,
)
RM722 = Rule(
    "RM722",
    "pad_to_max_length",
    "transformers >= 5 ignores the argument, pads nothing, and no error says so.",
    'padding="max_length" takes its place, with truncation=True where truncation= is not given; padding=True where'
    " there is no max_length.",
    GUIDE,
)

CALLS = {"batch_encode_plus": "batch_text_or_text_pairs", "encode_plus": "text"}  # with their first parameters
AS_TARGET = "as_target_tokenizer"
GONE = frozenset(
    [
        "all_special_tokens_extended",
        "build_inputs_with_special_tokens",
        "create_token_type_ids_from_sequences",
        "prepare_for_model",
        "prepare_seq2seq_batch",
        "sanitize_special_tokens",
        "special_tokens_map_extended",
        "truncate_sequences",
    ]
)
RENAMED = {
    "additional_special_tokens": "extra_special_tokens",
    "additional_special_tokens_ids": "extra_special_tokens_ids",
}
# Where transformers 4 kept what the properties give; stored there, transformers 5 keeps it and never reads it (run).
KEPT_AS = {f"_{name}_token": f"{name}_token" for name in ("bos", "cls", "eos", "mask", "pad", "sep", "unk")}
UNSEEN_CLASS = "AutoTokenizer"  # what it gives, the checkpoint says
FEW_HAVE_IT = ", unless its class is one of the few that still have it"
MAX_BASES = 20  # of a class, one made from the other
PADDING = "pad_to_max_length"
WORDS, SPLIT = "is_pretokenized", "is_split_into_words"
PADDED_CALLS = frozenset({"__call__", "encode", *CALLS})


def is_tokenizer(module: Module, node: ast.expr) -> bool:
    """Whether an expression is a tokenizer for sure: `AutoTokenizer.from_pretrained(...)`, or a name for it.

    A parameter is one where each call that is seen gives one.
    """
    return every_origin(module, node, _makes_tokenizer)


def _makes_tokenizer(module: Module, value: ast.expr) -> bool:
    """Whether a value is `AutoTokenizer.from_pretrained(...)`, or what a class of transformers makes itself."""
    name = called_name(module, value)
    return name.startswith("transformers.") and "Tokenizer" in "".join(name.split(".")[-2:])


def _classes(module: Module, node: ast.expr) -> list[str]:
    """The names of the classes of transformers that an object may be of; empty texts for what is not seen."""
    if isinstance(node, ast.Name) and node.id == "self":
        return [_base(module, module.class_around(node))]
    return [_made(source.module, source.node) for source in module.origins(node)]


def _made(module: Module, node: ast.AST) -> str:
    """The class of tokenizers that `X.from_pretrained(...)` or `X(...)` makes one of."""
    if not isinstance(node, ast.Call):
        return ""
    return _named(module, node.func.value if is_method_call(node, "from_pretrained") else node.func)


def _base(module: Module, node: ast.AST | None, depth: int = 0) -> str:
    """The class of tokenizers that a class of the file is made from, by whatever steps; empty if it is not seen.

    Beside a base that lost a method another one may have it.
    """
    if not isinstance(node, ast.ClassDef) or depth > MAX_BASES:
        return ""
    names = [_named(module, base, depth + 1) for base in node.bases]
    return next((name for name in names if name and (len(names) == 1 or name in KEPT)), "")


def _named(module: Module, node: ast.expr, depth: int = 0) -> str:
    name = module.qualified(node)
    if name is not None:
        last = name.rpartition(".")[2]
        return last if name.startswith("transformers.") and ("Tokenizer" in last or last in KEPT) else ""
    return _base(module, module.definition(node), depth)


def own_methods(module: Module) -> set[str]:
    """The names of the functions that a file defines itself."""
    own = {node.name for node in module.of_type(ast.FunctionDef)}
    return own | {node.name for node in module.of_type(ast.AsyncFunctionDef)}


def uses_transformers(context: Context) -> bool:
    """Whether a file does something with what it imports from transformers."""
    return bool(context.module.references_within("transformers"))


@codemod(*CALLS, AS_TARGET, *GONE, *RENAMED, phase=Phase.LIBRARIES)
def tokenizer_methods(context: Context) -> None:
    """Turns calls of methods that are gone into calls of the tokenizer."""
    if not uses_transformers(context):
        return
    module = context.module
    gone = {*CALLS, AS_TARGET, *GONE, *RENAMED} - own_methods(module)
    for node in module.attributes(*gone):
        call = module.parent_of[node]
        known = is_tokenizer(module, node.value)
        classes = _classes(module, node.value) if node.attr in KEPT_BY_SOME else []
        if classes and all(keeps(name, node.attr) for name in classes):
            continue
        message = f"Tokenizers have no {node.attr} today: this raises an AttributeError"
        if known and node.attr in CALLS and isinstance(call, ast.Call) and call.func is node:
            if context.converts(RM721, node, f"{message}; now a call of the tokenizer."):
                _call_itself(context, call, node, CALLS[node.attr])
        elif known and node.attr in RENAMED:
            if context.converts(RM721, node, f"{message}; now {RENAMED[node.attr]}."):
                context.plan.replace(node, f"$tokenizer.{RENAMED[node.attr]}", tokenizer=node.value)
        elif known and node.attr == AS_TARGET and (body := _target_block(module, node)) is not None:
            if context.converts(RM721, node, f"{message}; now text_target=."):
                _write_as_targets(context, node, body)
        else:
            sure = bool(classes) and all(name and not keeps(name, node.attr) for name in classes)
            sure = sure and UNSEEN_CLASS not in classes
            message += "" if known or sure else ", if this is a tokenizer"
            message += FEW_HAVE_IT if node.attr in KEPT_BY_SOME and not sure else ""
            context.manual(RM721, node, f"{message}.", CALL_IT)


@codemod(*KEPT_AS, phase=Phase.LIBRARIES)
def special_tokens(context: Context) -> None:
    """Turns the attributes that held special tokens into the properties that have always given them."""
    if not uses_transformers(context):
        return
    module = context.module
    for node in module.attributes(*KEPT_AS):
        known = is_tokenizer(module, node.value)
        if not known and _is_of_own_class(module, node):
            continue
        read = isinstance(node.ctx, ast.Load)
        outcome = "reading it raises an AttributeError" if read else "what is stored there has no effect"
        message = f"Tokenizers have no {node.attr} today: {outcome}"
        if known and context.converts(RM721, node, f"{message}; now {KEPT_AS[node.attr]}."):
            context.plan.replace(node, f"$tokenizer.{KEPT_AS[node.attr]}", tokenizer=node.value)
        elif not known:
            advice = f"{KEPT_AS[node.attr]} takes its place: it gives the token, or None, and can be set."
            context.manual(RM721, node, f"{message}, if this is a tokenizer.", advice)


def _is_of_own_class(module: Module, node: ast.Attribute) -> bool:
    """Whether an attribute is one of a class of the file that is not a tokenizer: `self._pad_token`."""
    if is_of_self(node):
        return not any(_classes(module, node.value))
    stored = (one for one in module.stores(node.attr) if one is not node)
    return any(map(is_of_self, stored))


def _call_itself(context: Context, call: ast.Call, method: ast.Attribute, first: str) -> None:
    edit = context.plan.call(call)
    edit.function = context.module.source(method.value)
    if any(keyword.arg == first for keyword in call.keywords):
        edit.rename[first] = "text"


def _target_block(module: Module, method: ast.Attribute) -> list[tuple[str, ast.Call]] | None:
    """The assignments in `with tokenizer.as_target_tokenizer():`, if they are nothing but calls of the tokenizer."""
    item = module.parent_of[module.parent_of[method]]
    block = module.parent_of[item]
    if not isinstance(item, ast.withitem) or not isinstance(block, ast.With):
        return None
    if len(block.items) > 1 or item.optional_vars is not None:
        return None
    found = []
    for statement in block.body:
        target = only_target(statement)
        call = statement.value if is_assignment(statement) and target is not None else None
        if not isinstance(call, ast.Call) or len(call.args) != 1 or isinstance(call.args[0], ast.Starred):
            return None
        if ast.unparse(call.func) != ast.unparse(method.value):
            return None
        assert target is not None
        kind = f": {module.source(statement.annotation)}" if isinstance(statement, ast.AnnAssign) else ""
        found.append((f"{module.source(target)}{kind}", call))
    return found


def _write_as_targets(context: Context, method: ast.Attribute, body: list[tuple[str, ast.Call]]) -> None:
    block = context.module.statement(method)
    lines, parts = [], {}
    for number, (target, call) in enumerate(body):
        context.plan.call(call).names = ["text_target"]
        lines.append(f"{comments_of(context.module, context.module.statement(call))}{target} = $call_{number}")
        parts[f"call_{number}"] = call
    context.plan.statement(block).replacement = Code("\n".join(lines) + "\n", parts)


@codemod(WORDS, phase=Phase.LIBRARIES)
def words(context: Context) -> None:
    """Writes `is_split_into_words=` for `is_pretokenized=`, its name before transformers 4."""
    if not uses_transformers(context):
        return
    module = context.module
    does = f"{WORDS}= has no effect today, and each word is taken for a text"
    for call, keyword in module.keywords(WORDS):
        owner = call.func.value if is_method_call(call, *PADDED_CALLS) else call.func
        own = isinstance(module.definition(call.func), (*FUNCTIONS, ast.ClassDef))
        if own or keyword_named(call, SPLIT) is not None:
            continue
        if not all(_classes(module, owner) or [""]):
            context.manual(RM701, keyword, f"If a tokenizer gets it: {does}.", f"Call it {SPLIT}=.")
        elif context.converts(RM701, keyword, f"{does}; now {SPLIT}=."):
            context.plan.call(call).rename[WORDS] = SPLIT


@codemod(PADDING, phase=Phase.LIBRARIES)
def padding(context: Context) -> None:
    """Writes `padding="max_length"` for `pad_to_max_length=True`."""
    if not uses_transformers(context):
        return
    for call, keyword in context.module.keywords(PADDING):
        _padding(context, call, keyword)


def _padding(context: Context, call: ast.Call, keyword: ast.keyword) -> None:
    module, value = context.module, written(keyword.value)
    method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    owner = call.func.value if isinstance(call.func, ast.Attribute) and method in PADDED_CALLS else call.func
    given = {other.arg for other in call.keywords}
    repeatable = isinstance(keyword.value, (ast.Name, ast.Attribute)) or isinstance(value, bool)
    if not is_tokenizer(module, owner) or not repeatable or {None, "padding"} & given:
        context.manual(RM722, keyword, "A tokenizer ignores pad_to_max_length today and pads nothing.")
    elif value:
        switch = "" if value is True else module.source(keyword.value)
        new = {"padding": switch or "True"}
        if "max_length" in given:
            new["padding"] = f'"max_length" if {switch} else False' if switch else '"max_length"'
        if "max_length" in given and not {"truncation", "truncation_strategy"} & given:
            new["truncation"] = "True"  # max_length alone truncated, as padding= was not given
        arguments = ", ".join(f"{name}={argument}" for name, argument in new.items())
        if context.converts(
            RM722, keyword, f"pad_to_max_length has no effect today: nothing is padded; now {arguments}."
        ):
            context.plan.call(call).rename[PADDING] = "padding"
            for name, argument in new.items():
                context.plan.call(call).set(name, argument)
    elif context.converts(RM722, keyword, "pad_to_max_length has no effect today; deleted."):
        context.plan.call(call).remove.add(PADDING)

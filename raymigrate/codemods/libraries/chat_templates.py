"""RM772: ids of a chat, which a tokenizer gives in a BatchEncoding unless it is told otherwise.

transformers 5.23, tokenization_utils_base.py:3034: `return_dict=True`, where 4.56 has `return_dict=False` (:1531). The
method of processors has `return_dict=False` in both, and makes a text unless `tokenize=True` is given.
"""

import ast

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.argument_rules import GUIDE
from raymigrate.codemods.libraries.old_transformers import is_for_old_transformers
from raymigrate.codemods.libraries.transformers_arguments import keyword_arguments
from raymigrate.codemods.phases import Phase
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import Source, argument
from raymigrate.facts.values.keys import is_unpacked

RM772 = Rule(
    "RM772",
    "apply_chat_template() without return_dict=",
    "transformers 4 gave the ids of a chat, transformers 5 gives a BatchEncoding of which they are an entry: its length"
    " is the number of its entries, and where ids are wanted it raises.",
    "return_dict=False gives the ids, as before.",
    GUIDE,
)
METHOD = "apply_chat_template"
TOKENIZE = 6  # the place of tokenize= among the arguments (4.56 and 5.23)
ENTRIES = frozenset({"input_ids", "attention_mask", "token_type_ids", "items", "keys", "encodings"})
DICT_TODAY = "apply_chat_template() gives a BatchEncoding since transformers 5, and ids before"


@codemod(METHOD, phase=Phase.LIBRARIES, after=[keyword_arguments])
def chat_templates(context: Context) -> None:
    """Gives `return_dict=False` to calls of scripts for transformers 4 that get ids, and tells of those in others."""
    module = context.module
    for call, method in module.method_calls(METHOD):
        if not _gives_ids(module, call, method) or _is_read_as_dict(module, call):
            continue
        if not is_for_old_transformers(context):
            context.note(RM772, call, f"{DICT_TODAY}; return_dict=False keeps that.")
        elif context.converts(RM772, call, f"{DICT_TODAY}; now return_dict=False."):
            context.give(call, "return_dict", "False")


def _gives_ids(module: Module, call: ast.Call, method: ast.Attribute) -> bool:
    """Whether a call is one of a tokenizer, and leaves it to the library what it gives."""
    tokenize = argument(call, TOKENIZE, "tokenize")
    if (tokenize is not None and module.constant(tokenize) is False) or is_unpacked(module, call, "return_dict"):
        return False
    if any(keyword.arg == "return_dict" for keyword in call.keywords):
        return False
    return not any(_makes_other(source) for source in module.origins(method.value))


def _makes_other(source: Source) -> bool:
    """Whether a value is a processor, whose method has other defaults, or an object of a class of the script."""
    if not isinstance(source.node, ast.Call):
        return False
    name = source.module.qualified(source.node.func) or ""
    own = isinstance(source.module.definition(source.node.func), ast.ClassDef)
    return own or any(part.endswith("Processor") for part in name.split("."))


def _is_read_as_dict(module: Module, call: ast.Call) -> bool:
    """Whether what a call gives is read by its entries, as that of transformers 5 is."""
    result: ast.expr = call
    outer = module.parent_of[call]
    while isinstance(outer, ast.Attribute) and outer.attr == "to" and isinstance(module.parent_of[outer], ast.Call):
        result = module.parent_of[outer]  # type: ignore[assignment]
        outer = module.parent_of[result]
    name = module.name_of(result)
    scope = module.bound_in(name) if name is not None else None
    uses = module.uses(name.id, scope) if name is not None and scope is not None else []
    return any(_reads_entry(module, node) for node in (result, *uses))


def _reads_entry(module: Module, node: ast.expr) -> bool:
    outer = module.parent_of[node]
    if isinstance(outer, ast.Subscript):
        return outer.value is node and isinstance(module.constant(outer.slice), str)
    if isinstance(outer, ast.Attribute):
        return outer.attr in ENTRIES
    return isinstance(outer, ast.keyword) and outer.arg is None

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
from raymigrate.facts.hugging_face.instances import classes_of
from raymigrate.facts.projects.callees import callees
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import argument, methods_of_object
from raymigrate.facts.values.held_methods import calls_of_method
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
ENTRIES = frozenset(
    {"input_ids", "attention_mask", "token_type_ids", "data", "encodings", "get", "items", "keys", "pop", "values"}
)
DICT_TODAY = "apply_chat_template() gives a BatchEncoding since transformers 5, and ids before"


@codemod(METHOD, phase=Phase.LIBRARIES, after=[keyword_arguments])
def chat_templates(context: Context) -> None:
    """Gives `return_dict=False` to calls of scripts for transformers 4 that get ids, and tells of those in others."""
    module = context.module
    for call, method, owner in calls_of_method(module, METHOD):
        if not _gives_ids(module, call, method, owner) or _is_read_as_dict(module, call):
            continue
        if not is_for_old_transformers(context):
            context.note(RM772, call, f"{DICT_TODAY}; return_dict=False keeps that.")
        elif context.converts(RM772, call, f"{DICT_TODAY}; now return_dict=False."):
            context.give(call, "return_dict", "False")


def _gives_ids(module: Module, call: ast.Call, method: ast.expr, owner: ast.expr) -> bool:
    """Whether a call is one of a tokenizer, and leaves it to the library what it gives."""
    tokenize = argument(call, TOKENIZE, "tokenize")
    if (tokenize is not None and module.constant(tokenize) is False) or is_unpacked(module, call, "return_dict"):
        return False
    if any(keyword.arg == "return_dict" for keyword in call.keywords):
        return False
    is_own = any(callee.function is not None for callee in callees(module, method))
    return not is_own and not methods_of_object(module, owner, METHOD) and not _is_processor(module, owner)


def _is_processor(module: Module, node: ast.expr) -> bool:
    """Whether the method is that of a processor, which has other defaults."""
    origins = module.origins(node)
    made = [source.module.qualified(s.func) for source in origins if isinstance(s := source.node, ast.Call)]
    named = [node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")] if not made else []
    names = (*classes_of(module, node), *filter(None, made), *named)
    return any("processor" in part.lower() for name in names for part in name.split(".")[-2:])


def _is_read_as_dict(module: Module, call: ast.Call) -> bool:
    """Whether what a call gives is read by its entries, as that of transformers 5 is, under any of its names."""
    waiting, seen = list[ast.expr]([call]), set[ast.expr]()
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        outer = module.parent_of[node]
        moved = module.parent_of[outer] if isinstance(outer, ast.Attribute) and outer.attr == "to" else None
        if isinstance(moved, ast.Call) and moved.func is outer:
            waiting.append(moved)
        elif isinstance(outer, ast.Call) and outer.func is node:  # of what partial() gives
            waiting.append(outer)
        elif _reads_entry(module, node):
            return True
        name = module.name_of(node)
        scope = module.bound_in(name) if name is not None else None
        waiting += module.uses(name.id, scope) if name is not None and scope is not None else ()
    return False


def _reads_entry(module: Module, node: ast.expr) -> bool:
    outer = module.parent_of[node]
    if isinstance(outer, ast.Subscript):
        return outer.value is node and isinstance(module.constant(outer.slice), str)
    if isinstance(outer, ast.Attribute):
        return outer.attr in ENTRIES
    if isinstance(outer, ast.Dict):  # {**node}
        return (None, node) in zip(outer.keys, outer.values, strict=True)
    if isinstance(outer, ast.Compare):
        return isinstance(outer.ops[-1], (ast.In, ast.NotIn)) and isinstance(module.constant(outer.left), str)
    return isinstance(outer, ast.keyword) and outer.arg is None

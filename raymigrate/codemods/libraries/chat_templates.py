"""RM772: ids of a chat, which a tokenizer gives in a BatchEncoding unless it is told otherwise.

transformers 5.23, tokenization_utils_base.py:3034: `return_dict=True`, where 4.56 has `return_dict=False` (:1531). The
method of processors has `return_dict=False` in both, and makes a text unless `tokenize=True` is given.
"""

import ast
from collections.abc import Iterator

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.argument_rules import GUIDE
from raymigrate.codemods.libraries.old_transformers import is_for_old_transformers
from raymigrate.codemods.libraries.transformers_arguments import keyword_arguments
from raymigrate.codemods.phases import Phase
from raymigrate.facts.hugging_face.instances import classes_of
from raymigrate.facts.projects.callees import callees
from raymigrate.facts.projects.starts import is_started
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import argument, last_name, methods_of_object
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
# What Dataset.map() is given beside a function; that has to give a dict, so it never was one that gives ids.
OF_DATASETS = frozenset({"batched", "fn_kwargs", "input_columns", "num_proc", "remove_columns"})
DICT_TODAY = "apply_chat_template() gives a BatchEncoding since transformers 5, and ids before"
PARTIAL = "Handed on as functools.partial(..., return_dict=False), it gives ids"


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
    for method in _handed_on(module):
        if is_for_old_transformers(context):
            context.manual(RM772, method, f"{DICT_TODAY}.", f"{PARTIAL}.")
        else:
            context.note(RM772, method, f"{DICT_TODAY}. {PARTIAL}.")


def _handed_on(module: Module) -> Iterator[ast.Attribute]:
    """The reads of the method that hand it on, unless all that is seen to call it there wants no ids or says so."""
    for method in module.attributes(METHOD):
        name = module.name_of(method)
        scope = module.bound_in(name)
        places = module.uses(name.id, scope) if name is not None and scope is not None else [method]
        if isinstance(method.ctx, ast.Load) and any(_is_handed_on(module, place) for place in places):
            calls = _calls_elsewhere(module, method)
            wanted = [call for call in calls if _leaves_it_open(module, call) and not _is_read_as_dict(module, call)]
            if (wanted or not calls) and _is_of_tokenizer(module, method, method.value):
                yield method


def _is_handed_on(module: Module, place: ast.expr) -> bool:
    """Whether the method is given to what may call it, of which no call in sight is one of this name of it."""
    outer = module.parent_of[place]
    if isinstance(outer, ast.Call):
        of_rows = last_name(outer.func) == "map" and any(keyword.arg in OF_DATASETS for keyword in outer.keywords)
        if outer.func is place or of_rows or module.qualified(outer.func) == "functools.partial":
            return False
    return is_started(module, place)


def _calls_elsewhere(module: Module, method: ast.expr) -> list[ast.Call]:
    """The calls of what the method became: of a parameter, an attribute or an item."""
    calls = (call for call in module.of_type(ast.Call) if last_name(call.func) != METHOD)
    return [call for call in calls if any(source.node is method for source in module.origins(call.func))]


def _gives_ids(module: Module, call: ast.Call, method: ast.expr, owner: ast.expr) -> bool:
    """Whether a call is one of a tokenizer, never of the script's own class, and leaves open what it gives."""
    may_be = _leaves_it_open(module, call) and _is_of_tokenizer(module, method, owner)
    return may_be and not _is_own(module, call.func)


def _leaves_it_open(module: Module, call: ast.Call) -> bool:
    """Whether a call asks for ids, and does not say whether they come in a dict."""
    tokenize = argument(call, TOKENIZE, "tokenize")
    if (tokenize is not None and module.constant(tokenize) is False) or is_unpacked(module, call, "return_dict"):
        return False
    return not any(keyword.arg == "return_dict" for keyword in call.keywords)


def _is_of_tokenizer(module: Module, method: ast.expr, owner: ast.expr) -> bool:
    """Whether a method is that of the library, and of a tokenizer."""
    is_own = _is_own(module, method) or methods_of_object(module, owner, METHOD)
    return not is_own and not _is_processor(module, owner)


def _is_own(module: Module, called: ast.expr) -> bool:
    return any(callee.function is not None for callee in callees(module, called))


def _is_processor(module: Module, node: ast.expr) -> bool:
    """Whether the method is that of a processor, which has other defaults."""
    origins = module.origins(node)
    made = [source.module.qualified(s.func) for source in origins if isinstance(s := source.node, ast.Call)]
    named = [last_name(node)] if not made else []
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
        scope = module.bound_in(name)
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

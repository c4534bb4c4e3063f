"""RM771: attentions that are asked for, of models that have none.

docs/semantics/libraries.md#attentions: transformers 4 computed them beside sdpa, transformers 5 does not.
"""

import ast

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.argument_rules import GUIDE
from raymigrate.codemods.libraries.tokenizer_calls import uses_transformers
from raymigrate.codemods.phases import Phase
from raymigrate.facts.hugging_face.models import is_model, models_in, stored_in_self
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import called_name, has_unpacking, is_method_call, keyword_named

RM771 = Rule(
    "RM771",
    "output_attentions=True",
    "Models take scaled_dot_product_attention by default, which gives no attentions: the tuple of them is empty since"
    " transformers 5, and reading its last one raises an IndexError. Asking for them in model.config raises a"
    " ValueError.",
    'from_pretrained(attn_implementation="eager") makes a model that has them. output_attentions=True there, or in'
    " the configuration that it loads with, does so too.",
    GUIDE,
    errors=("The `output_attentions` attribute is not supported when using the `attn_implementation` set to",),
)
ASKS, CHOOSES = "output_attentions", "attn_implementation"
LOADERS = ("from_pretrained", "from_config")
WHY = 'unless its attention is "eager", which is not the default of most'
ADVICE = f'Give from_pretrained() of the model {CHOOSES}="eager".'


@codemod(ASKS, phase=Phase.LIBRARIES)
def attentions(context: Context) -> None:
    """Lets models have attentions where calls ask for them."""
    module = context.module
    if not uses_transformers(context) or _chooses(module):
        return
    for call, keyword in module.keywords(ASKS):
        if module.constant(keyword.value) is True and not _makes(module, call):
            _tell(context, call, keyword)
    for store in module.stores(ASKS):
        owner, value = store.value, module.assigned(store)
        if isinstance(owner, ast.Attribute) and owner.attr == "config" and module.constant(value) is True:
            message = f"Asking for attentions in the config of a model raises a ValueError since transformers 5, {WHY}."
            context.manual(RM771, store, message, ADVICE)


def _tell(context: Context, call: ast.Call, keyword: ast.keyword) -> None:
    module = context.module
    model = call.func.value if is_method_call(call, "generate") else call.func
    values = stored_in_self(module, model)
    known = bool(values) and all(value is not None and is_model(module, value) for value in values)
    makes = [made for value in values if value is not None for made in models_in(module, value)] if known else []
    if makes and all(made.module is module and _can_choose(made.call) for made in makes):
        message = f'With sdpa, the default, attentions are an empty tuple since transformers 5; now {CHOOSES}="eager".'
        if context.converts(RM771, keyword, message):
            for made in makes:
                context.plan.call(made.call).set(CHOOSES, '"eager"')
        return
    message = f"the attentions of a model are an empty tuple since transformers 5, {WHY}."
    known_to_be = f"T{message[1:]}" if known else f"If a model of transformers gets it: {message}"
    context.manual(RM771, keyword, known_to_be, ADVICE)


def _can_choose(call: ast.Call) -> bool:
    """Whether a call loads a model, and nothing says how else than by what is written there."""
    loads = is_method_call(call, LOADERS[0])
    return loads and not has_unpacking(call) and keyword_named(call, "config") is None and len(call.args) < 2


def _makes(module: Module, call: ast.Call) -> bool:
    """Whether a call makes a model or configuration, which then has an attention that gives them."""
    is_loader = is_method_call(call, *LOADERS)
    return is_loader or called_name(module, call).startswith("transformers.")


def _chooses(module: Module) -> bool:
    """Whether a file says which attention its models have, or asks for attentions where it makes one."""
    made = [call for call, _ in module.keywords(ASKS) if _makes(module, call)]
    chosen = [*module.keywords(CHOOSES), *module.method_calls("set_attn_implementation")]
    return bool(made or chosen or module.stores("_attn_implementation"))

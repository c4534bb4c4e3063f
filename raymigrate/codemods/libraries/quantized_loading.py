"""RM701 and RM702 for load_in_8bit= and load_in_4bit= of `from_pretrained`, which are a BitsAndBytesConfig today.

What they did, after transformers 4.30.2, modeling_utils.py:2236-2253: a quantization_config that is not None beat them;
without one they went into a BitsAndBytesConfig, with every other argument that this class takes, and 8 bits beat 4. A
quantization_config= beside them may well be None: `quantization_config=config_for_4bit, load_in_8bit=load_in_8bit`.
"""

import ast

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.argument_changes import BITS
from raymigrate.codemods.libraries.argument_rules import RM701, RM702
from raymigrate.codemods.libraries.transformers_arguments import keyword_arguments
from raymigrate.codemods.phases import Phase
from raymigrate.edits.plan import Part
from raymigrate.facts.hugging_face.models import ADAPTED, calls_of_classes
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import called_name, every_origin, is_none, named_arguments, written

CONFIG = "quantization_config"
CLASS = "BitsAndBytesConfig"
OPTIONS = ("llm_int8_", "bnb_4bit_")  # how the other arguments of BitsAndBytesConfig begin
REFUSED = "raises a TypeError today"


@codemod(*BITS, phase=Phase.LIBRARIES, after=[keyword_arguments])
def quantized_loading(context: Context) -> None:
    """Writes the configuration that the arguments stood for."""
    for call, method, owner, names in calls_of_classes(context.module, "from_pretrained"):
        given = {keyword.arg: keyword for keyword in call.keywords if keyword.arg}
        if given.keys().isdisjoint(BITS):
            continue
        known = [name for name in names if name.startswith("transformers.") or ADAPTED.fullmatch(name)]
        if known and len(known) == len(names):
            _convert(context, call, method, given)
        for name in BITS if 0 < len(known) < len(names) else ():
            if name in given:
                message = f"{name}= {REFUSED} where {context.module.source(owner)} is a class of transformers"
                context.manual(RM701, given[name], f"{message}; {CONFIG}= took its place.", "")


def _convert(context: Context, call: ast.Call, method: ast.expr, given: dict[str, ast.keyword]) -> None:
    bits = [given[name] for name in BITS if name in given]
    config = given[CONFIG].value if CONFIG in given else None
    asked = [keyword for keyword in bits if written(keyword.value) is ... or written(keyword.value)]
    options = [keyword for name, keyword in given.items() if name.startswith(OPTIONS)]
    edit = context.plan.call(call)
    if not asked or _is_object(context.module, config):
        for keyword in bits:
            if context.converts(RM702, keyword, f"{keyword.arg}= {REFUSED}; deleted."):
                edit.remove.add(str(keyword.arg))
        return
    imported = context.module.scope_of[call].lookup(CLASS)
    taken = any(binding.statement is None or not _is_class(binding.qualified) for binding in imported)
    if taken or (options and len(asked) > 1):
        for keyword in (*asked, *options):
            context.manual(RM701, keyword, f"{keyword.arg}= {REFUSED}; {CONFIG}= took its place.", "")
        return
    for keyword in (*bits, *options):
        if not context.converts(RM701, keyword, f"{keyword.arg}= {REFUSED}; now {CONFIG}=."):
            return
    _import_class(context, call, method)
    template, parts = _configuration(asked, options)
    names = [str(keyword.arg) for keyword in (*bits, *options)]
    if config is None:
        edit.rename[names.pop(0)] = CONFIG  # it stays where it was
    elif not is_none(config):
        template = f"$config or {template if written(asked[0].value) is True else f'({template})'}"
        parts["config"] = config
    edit.remove |= set(names)
    edit.set(CONFIG, template, **parts)


def _import_class(context: Context, call: ast.Call, method: ast.expr) -> None:
    """Imports the class where that of the model is imported; a function that does so in one branch does so at once."""
    near = context.module.import_of(method) if method in context.module.reference_at else None
    scope = context.module.scope_of[call].find(CLASS)
    if scope is not None and isinstance(scope.node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        imported = scope.bindings[CLASS]
        if any(binding.statement is near for binding in imported):
            return
        for binding in imported:
            assert isinstance(binding.node, ast.alias) and binding.statement is not None
            context.plan.drop_import(binding.node, binding.statement)
    context.plan.need_import("transformers", CLASS, near=near)


def _is_class(name: str | None) -> bool:
    return (name or "").startswith("transformers.") and (name or "").endswith(f".{CLASS}")


def _configuration(asked: list[ast.keyword], options: list[ast.keyword]) -> tuple[str, dict[str, Part]]:
    """What the arguments stand for; a switch goes on to decide."""
    template, parts = "", dict[str, Part]()
    more = "".join(f", {keyword.arg}=${keyword.arg}" for keyword in options)
    parts |= {str(keyword.arg): keyword.value for keyword in options}
    for keyword in asked:
        template += f"{CLASS}({keyword.arg}=True{more})"
        if written(keyword.value) is not ...:
            return template, parts  # it is on, and beats what follows
        template += f" if ${keyword.arg} else "
        parts[str(keyword.arg)] = keyword.value
    return f"{template}None", parts


def _is_object(module: Module, config: ast.expr | None) -> bool:
    """Whether a quantization_config= is one for sure, and not None."""
    return every_origin(module, config, lambda home, made: isinstance(made, ast.Dict) or _makes_object(home, made))


def _makes_object(module: Module, node: ast.AST) -> bool:
    """Whether a class is called, by its capital: a function may return None."""
    return called_name(module, node).rpartition(".")[2][:1].isupper()


def is_quantized(module: Module, call: ast.Call) -> bool | None:
    """Whether bitsandbytes quantizes what a call of `from_pretrained` loads; None where that is not sure."""
    given = named_arguments(call)
    asked = [written(given[name]) for name in BITS if name in given]
    if True in asked:  # a quantization_config= beside it quantizes too
        return True
    if is_none(given.get(CONFIG)):
        return None if ... in asked else False
    origins = module.origins(given[CONFIG])
    made = [source.module.qualified(getattr(source.node, "func", source.node)) for source in origins]
    return True if all(_is_class(name) for name in made) else None

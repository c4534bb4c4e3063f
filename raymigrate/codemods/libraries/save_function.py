"""RM707: `model.save_pretrained(..., save_function=accelerator.save)`.

transformers 4 let this function write weights in the format of PyTorch, and that of accelerate does so on the main
process only. transformers 5 writes safetensors itself, and swallows the argument in **kwargs (modeling_utils.py,
`save_pretrained`); 5.23 writes on rank 0 only, and not where is_main_process is False.
"""

import ast

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.argument_rules import GUIDE
from raymigrate.codemods.phases import Phase
from raymigrate.facts.projects.main_process import is_for_main
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import has_starred, is_none, keyword_named
from raymigrate.knowledge.legacy import ACCELERATORS

RM707 = Rule(
    "RM707",
    "save_pretrained(save_function=)",
    "transformers >= 5 never calls the function: it writes the files itself, except where is_main_process= is False.",
    "accelerator.save, which wrote on the main process only, becomes is_main_process=accelerator.is_main_process. What"
    " another function did has to be done after save_pretrained().",
    GUIDE,
    unproven="A job with and without the argument writes the same files.",
)
ARGUMENT = "save_function"
MAIN = "is_main_process"
POSITION = 3  # of save_function in transformers 4; push_to_hub has it now
DEFAULT = "torch.save"


@codemod(ARGUMENT, "save_pretrained", phase=Phase.LIBRARIES)
def save_functions(context: Context) -> None:
    """Replaces accelerate's function by `is_main_process=`, and reports others."""
    for call, _ in context.module.method_calls("save_pretrained"):
        keyword = keyword_named(call, ARGUMENT)
        if keyword is not None:
            _convert(context, call, keyword)
        elif len(call.args) > POSITION and not has_starred(call.args):
            context.manual(
                RM707,
                call.args[POSITION],
                "The fourth argument of save_pretrained(), once save_function, is push_to_hub today.",
                "Drop it, and give those after it by keyword.",
            )


def _convert(context: Context, call: ast.Call, keyword: ast.keyword) -> None:
    module = context.module
    accelerator = _accelerator(module, keyword.value)
    if accelerator is None and not is_none(keyword.value) and module.qualified(keyword.value) != DEFAULT:
        context.manual(
            RM707,
            keyword,
            "save_function= is not called by transformers >= 5, which writes the files itself.",
            f"Drop it, and do what it did after save_pretrained(). Where it wrote on one process only, give {MAIN}=.",
        )
        return
    adds = accelerator is not None and not _is_on_main_process(module, call)
    now = f"; now {MAIN}=" if adds else "; deleted"
    if context.converts(RM707, keyword, f"save_function= is not called by transformers >= 5{now}."):
        edit = context.plan.call(call)
        edit.remove.add(ARGUMENT)
        if accelerator is not None and adds:
            edit.set(MAIN, f"{module.source(accelerator)}.{MAIN}")


def _accelerator(module: Module, function: ast.expr) -> ast.expr | None:
    """The Accelerator whose `save` a function is, where the call can name it too."""
    sources = [source.node for source in module.origins(function, elsewhere=False)]
    saves = sources[0] if len(sources) == 1 else None
    if not isinstance(saves, ast.Attribute) or saves.attr != "save":
        return None
    owner = saves.value
    is_near = saves is function or module.function(saves) is module.function(function)
    return owner if is_near and _is_accelerator(module, owner) else None


def _is_accelerator(module: Module, node: ast.expr) -> bool:
    """Whether an object is an Accelerator: made here, annotated as one, or called so where nothing else is known."""
    parameter = module.definition(node)
    if isinstance(parameter, ast.arg) and parameter.annotation is not None:
        return module.qualified(parameter.annotation) in ACCELERATORS
    sources = module.origins(node)
    if all(isinstance(source.node, ast.Call) for source in sources):
        makers = (source.module.qualified(source.node.func) for source in sources if isinstance(source.node, ast.Call))
        return all(maker in ACCELERATORS for maker in makers)
    return module.source(node).rpartition(".")[2] == "accelerator"


def _is_on_main_process(module: Module, call: ast.Call) -> bool:
    """Whether only one process gets to a call, or the call says itself which does."""
    if len(call.args) > 1 or any(keyword.arg in (MAIN, None) for keyword in call.keywords):
        return True
    return is_for_main(module, call)

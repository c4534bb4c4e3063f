"""RM702, for `model.save_pretrained(folder, safe_serialization=False)`, which asked for pytorch_model.bin.

transformers 5.23 swallows it in **kwargs and writes safetensors (modeling_utils.py:3310, `save_pretrained`; run).
peft, diffusers and accelerate still take it.
"""

import ast

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.argument_rules import RM702
from raymigrate.codemods.phases import Phase
from raymigrate.facts.hugging_face.models import is_model

ARGUMENT = "safe_serialization"
METHODS = ("save_pretrained", "push_to_hub")
OTHERS = ("peft", "diffusers", "sentence_transformers", "optimum")  # whose objects have such methods, and heed it
WRITES = f"{ARGUMENT}=False has no effect today: the weights are written as safetensors, and no pytorch_model.bin"
ADVICE = (
    "Let what reads the folder take model.safetensors, by from_pretrained() or safetensors.torch; where it needs the"
    " other file, write it by torch.save(model.state_dict(), path)."
)


@codemod(ARGUMENT, phase=Phase.LIBRARIES)
def saved_formats(context: Context) -> None:
    """Takes the argument from models of transformers, and tells of it for what may be one."""
    module = context.module
    for call, keyword in module.keywords(ARGUMENT):
        method = call.func
        if not isinstance(method, ast.Attribute) or method.attr not in METHODS or module.constant(keyword.value):
            continue  # True, or what is not known: safetensors may be meant
        if is_model(module, method.value):
            if context.converts(RM702, keyword, f"{WRITES}; deleted."):
                context.plan.call(call).remove.add(ARGUMENT)
                context.note(RM702, keyword, f"{WRITES}.")  # what is converted is not shown after a run
        elif module.references_within("transformers") and not module.references_within(*OTHERS):
            context.manual(RM702, keyword, f"If this is a model of transformers, {WRITES}.", ADVICE)

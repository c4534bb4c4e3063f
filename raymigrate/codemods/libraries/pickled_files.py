"""RM756: torch.load of files with pickled objects, which torch refuses since 2.6 unless told otherwise.

The default of weights_only= is True since torch 2.6 (torch/serialization.py, `load`). optimizer.pt and scheduler.pt of
a Trainer hold plain state and load as before; training_args.bin is a TrainingArguments, and rng_state*.pth has arrays
of numpy (transformers 5.23, trainer.py: `_save`, `_save_rng_state`).
"""

import ast
import re

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.facts.module import Module
from raymigrate.facts.values import sources, trailing_text

RM756 = Rule(
    "RM756",
    "torch.load of a pickled object",
    "torch >= 2.6 loads tensors and plain values only, and raises an UnpicklingError for other objects, such as the"
    " TrainingArguments in training_args.bin or a whole module.",
    "weights_only=False is given where the file is known to hold such an object, or what was loaded is used as a"
    " module.",
    "https://docs.pytorch.org/docs/stable/generated/torch.load.html",
    errors=("Weights only load failed",),
    unproven="tests/error_snippets.py makes torch say it; the jobs that are run save no whole objects.",
)
FILES = re.compile(r"(?:training_args\.bin|rng_state\w*\.pth)$")
OF_MODULES = frozenset({"eval", "train", "state_dict", "parameters", "named_parameters", "save_pretrained", "generate"})
SAME = frozenset({"to", "cuda", "cpu", "half", "float", "double", "bfloat16", "eval", "train", "requires_grad_"})
MAX_STEPS = 20  # of a chain of methods
SWITCHES = ("weights_only", "pickle_module", None)


@codemod("torch", phase=Phase.LIBRARIES)
def pickled_files(context: Context) -> None:
    """Lets torch.load of an old script read the objects that it read."""
    module = context.module
    if not context.of_legacy_job:
        return
    for call in module.calls("torch.load"):
        if not call.args or any(keyword.arg in SWITCHES for keyword in call.keywords):
            continue
        if FILES.search(trailing_text(module, call.args[0])):
            what = "This file holds a pickled object"
        elif _is_module(module, call):
            what = "What is loaded is used as a module"
        else:
            continue
        message = f"{what}, which raises an UnpicklingError on torch >= 2.6; now weights_only=False."
        if context.converts(RM756, call, message):
            context.plan.call(call).set("weights_only", "False")


def _is_module(module: Module, load: ast.Call) -> bool:
    """Whether what was loaded is used as a module: it is called, or a method of modules is."""
    methods = (node for node in module.attributes(*OF_MODULES) if isinstance(module.parent_of[node], ast.Call))
    if any(_is_loaded(module, method.value, load) for method in methods):
        return True
    called = (call.func for call in module.of_type(ast.Call) if isinstance(call, ast.Call))
    return any(_is_loaded(module, function, load) for function in called if module.qualified(function) is None)


def _is_loaded(module: Module, node: ast.expr, load: ast.Call, depth: int = 0) -> bool:
    """Whether a value is what was loaded, on whatever device: `torch.load(path).to(device)`."""
    for found in sources(module, node):
        if found is load:
            return True
        method = found.func if isinstance(found, ast.Call) else None
        if isinstance(method, ast.Attribute) and method.attr in SAME and depth < MAX_STEPS:
            if _is_loaded(module, method.value, load, depth + 1):
                return True
    return False

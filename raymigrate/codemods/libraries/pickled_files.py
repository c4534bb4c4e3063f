"""RM756: torch.load of files with pickled objects, which torch refuses since 2.6 unless told otherwise.

The default of weights_only= is True since torch 2.6 (torch/serialization.py, `load`). optimizer.pt and scheduler.pt of
a Trainer hold plain state and load as before; training_args.bin is a TrainingArguments, and rng_state*.pth has arrays
of numpy (transformers 5.23, trainer.py: `_save`, `_save_rng_state`).
"""

import ast
from collections.abc import Iterator

from raymigrate.base.expressions import lazy_regex
from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.facts.folders.read_back import path_key
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.torch.saved_objects import SAVE, saved_classes
from raymigrate.facts.values import (
    Source,
    argument,
    called_name,
    free_name,
    is_method_call,
    keyword_argument,
    origins,
    sources,
    trailing_text,
)
from raymigrate.facts.values.items import items_of
from raymigrate.facts.values.keys import is_unpacked

RM756 = Rule(
    "RM756",
    "torch.load of a pickled object",
    "torch >= 2.6 loads tensors and plain values only, and raises an UnpicklingError for other objects, such as the"
    " TrainingArguments in training_args.bin or a whole module.",
    "weights_only=False is given where the file is known to hold such an object, or the script saves arrays of NumPy or"
    " objects of its own classes in it, or what was loaded is used as a module.",
    "https://docs.pytorch.org/docs/stable/generated/torch.load.html",
    errors=("Weights only load failed",),
    unproven="tests/error_snippets.py makes torch say it; the jobs that are run save no whole objects.",
)
FILES = lazy_regex(r"(?:training_args\.bin|rng_state\w*\.pth)$")
OF_MODULES = frozenset({"eval", "train", "state_dict", "parameters", "named_parameters", "save_pretrained", "generate"})
SAME = frozenset({"to", "cuda", "cpu", "half", "float", "double", "bfloat16", "eval", "train", "requires_grad_"})
# Functions of NumPy that give values of Python.
PLAIN_OF_NUMPY = frozenset(
    {"ndim", "size", "shape", "isscalar", "allclose", "array_equal", "array_equiv", "issubdtype"}
    | {"array2string", "array_repr", "array_str", "base_repr", "binary_repr"}  # texts
)
PLAIN_METHODS = frozenset({"item", "tolist", "tobytes", "dumps"})  # the same of its arrays and numbers
MAX_STEPS = 20  # of a chain of methods
SWITCHES = ("weights_only", "pickle_module")
SAY = "Say weights_only=False there."


@codemod("torch", phase=Phase.LIBRARIES)
def pickled_files(context: Context) -> None:
    """Lets torch.load of an old script read the objects that it read."""
    module = context.module
    is_of_job = context.of_legacy_job or context.options.part_of_job
    if not (is_of_job or context.joins_ray or context.joins_accelerate):
        return
    with_arrays = {key for path in _paths_with_arrays(module) for key in _keys(module, path)}
    with_objects = {key for path in _paths_with_objects(module) for key in _keys(module, path)}
    used_as_modules: set[ast.expr] | None = None
    for call in module.calls("torch.load"):
        path = argument(call, 0, "f")
        is_said = keyword_argument(call, *SWITCHES) is not None or is_unpacked(module, call, *SWITCHES)
        if path is None or is_said:
            continue
        keys = _keys(module, path) if with_arrays or with_objects else set()
        if FILES.search(trailing_text(module, path)):
            what = "This file holds a pickled object"
        elif keys & with_arrays:
            what = "The script saves arrays or numbers of NumPy in this file"
        elif keys & with_objects:
            what = "The script saves objects of a class of its own in this file"
        else:
            used_as_modules = _used_as_modules(module) if used_as_modules is None else used_as_modules
            if call not in used_as_modules:
                continue
            what = "What is loaded is used as a module"
        fails = f"{what}, which raises an UnpicklingError on torch >= 2.6"
        if is_said is None:
            context.manual(RM756, call, f"{fails}, unless what is unpacked here says weights_only=False.", SAY)
        elif context.converts(RM756, call, f"{fails}; now weights_only=False."):
            context.plan.call(call).set("weights_only", "False")


def _keys(module: Module, path: ast.expr) -> set[str | ast.AST]:
    """What spellings of one path have in common; parameters of one name in two functions have nothing in common."""
    parameter = module.definition(path)
    if not isinstance(parameter, ast.arg):
        return {path_key(module, path)}
    given = [each for each in origins(module, path) if not isinstance(each.module.definition(each.node), ast.arg)]
    return {parameter, *(path_key(each.module, each.node) for each in given)}


def _paths_with_arrays(module: Module) -> Iterator[ast.expr]:
    """The paths under which a script saves a dict that holds something of NumPy: `{"model": ..., "score": np.mean(x)}`.

    torch's unpickler makes no arrays, nor numbers of NumPy (torch 2.13, _weights_only_unpickler.py).
    """
    for call in module.calls(SAVE):
        path = argument(call, 1, "f")
        saved = (module.entries(call.args[0]) if call.args else None) or {}
        if path is not None and any(_is_of_numpy(module, value, {}) for value in saved.values()):
            yield path


def _paths_with_objects(module: Module) -> Iterator[ast.expr]:
    """The paths under which a script saves objects of classes of the project, which torch's unpickler doesn't make."""
    for call, _, _ in saved_classes(module, SAVE):
        path = argument(call, 1, "f")
        if path is not None:
            yield path


def _is_of_numpy(module: Module, value: ast.expr, known: dict[ast.AST, bool]) -> bool:
    """Whether a value surely is an array or a number of NumPy, or a list or dict with one.

    Args:
        module: The module.
        value: The value.
        known: What was found already, by what makes it; here more is added.
    """
    made = module.origins(value)
    for source in made:
        if source.node not in known:
            known[source.node] = False  # a dict may hold itself
            known[source.node] = _is_array(source) or any(
                _is_of_numpy(item.module, item.node, known) for item in items_of(source)
            )
    return bool(made) and all(known[source.node] for source in made)


def _is_array(made: Source) -> bool:
    """Whether a value surely is an array or a number of NumPy: it comes from NumPy alone, by methods of arrays."""
    waiting, seen, is_of_numpy = [made], set[ast.AST](), False
    while waiting:
        module, call = waiting.pop()
        if call in seen:
            continue  # `x = x.copy()` in a loop
        seen.add(call)
        name = called_name(module, call)
        if is_method_call(call, "numpy") and not (name or call.args):
            is_of_numpy = True
        elif name:
            is_of_numpy = name.startswith("numpy.") and name.rpartition(".")[2] not in PLAIN_OF_NUMPY
            if not is_of_numpy:
                return False
        elif (
            isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr not in PLAIN_METHODS
        ):
            waiting += module.origins(call.func.value)
        else:
            return False
    return is_of_numpy


def _used_as_modules(module: Module) -> set[ast.expr]:
    """What is used as a module: it is called, or a method of modules is."""
    methods = [node.value for node in module.attributes(*OF_MODULES) if isinstance(module.parent_of[node], ast.Call)]
    called = [call.func for call in module.of_type(ast.Call) if module.qualified(call.func) is None]
    called = [function for function in called if not free_name(module, function)]  # Python's own are no modules
    return {found for node in (*methods, *called) for found in _loaded(module, node)}


def _loaded(module: Module, node: ast.expr, depth: int = 0) -> Iterator[ast.expr]:
    """What a value may be, on whatever device: `torch.load(path)` of `torch.load(path).to(device)` too."""
    for found in sources(module, node):
        yield found
        method = found.func if isinstance(found, ast.Call) else None
        if isinstance(method, ast.Attribute) and method.attr in SAME and depth < MAX_STEPS:
            yield from _loaded(module, method.value, depth + 1)

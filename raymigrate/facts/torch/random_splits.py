"""Calls that split or shuffle rows by random numbers that nothing fixes: each process then has other rows."""

import ast
from collections.abc import Iterator

from raymigrate.facts.hugging_face.datasets import is_hf_dataset
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import targets_of
from raymigrate.facts.syntax.runs_before import RunsBefore
from raymigrate.facts.torch.iterable_datasets import gives_rows_in_turn
from raymigrate.facts.values import called_name, free_name, is_none, last_name, reaching

SEEDS = frozenset({"seed", "seeds", "generator", "generators", "random_state"})
# By the generator that they draw from where they are given none.
OF_TORCH = ("torch.utils.data.random_split", "torch.utils.data.dataset.random_split", "torch.randperm")
OF_NUMPY = (
    *("numpy.random.permutation", "numpy.random.shuffle", "sklearn.utils.shuffle"),
    *(f"sklearn.model_selection.{name}" for name in ("train_test_split", "ShuffleSplit", "StratifiedShuffleSplit")),
)
FOLDS = ("sklearn.model_selection.KFold", "sklearn.model_selection.StratifiedKFold")  # in order, unless told to shuffle
OF_PYTHON = ("random.shuffle", "random.sample")
OF_FRAMES = "sample"  # of a pandas.DataFrame, with frac=
OF_DATASETS = "shuffle"  # of a datasets.Dataset, without arguments (datasets 5.2, arrow_dataset.py:4950)
# What gives numbers or rows that may also be for something else than a split.
PICKS = ("torch.randperm", "numpy.random.permutation", "random.sample", OF_FRAMES, OF_DATASETS)
EVERY = ("transformers.set_seed", "transformers.trainer_utils.set_seed", "accelerate.utils.set_seed")
SETTERS = {
    "torch": ("torch.manual_seed", "torch.random.manual_seed"),
    "numpy": ("numpy.random.seed",),
    "python": ("random.seed",),
}
SEED_EVERYTHING = ("seed_everything", "set_seed", "seed_all", "fix_seed", "set_random_seed", "setup_seed", "seed_torch")
# What shows pictures or prints: rows that end there are trained on by nobody.
SHOWS = ("matplotlib.", "torchvision.utils.", "PIL.", "wandb.Image", "IPython.display.")
SHOWING = frozenset({"imshow", "add_image", "add_images", "add_figure", "savefig", "print", "display"})
BUILTINS = frozenset({"list", "tuple", "enumerate", "zip", "range", "len", "int", "sorted", "str"})
OF_MODELS = ("parameters", "eval", "state_dict")
LOOPS = (ast.For, ast.While)
INSIDE = (ast.Subscript, ast.Attribute, ast.Tuple, ast.List, ast.Starred, ast.BinOp, ast.ListComp, ast.GeneratorExp)
DEPTH = 12


def unseeded_splits(module: Module) -> Iterator[ast.Call]:
    """The calls that share out rows by random numbers, where the script sets no seed for them, or sets it later."""
    order: RunsBefore | None = None
    for call in module.of_type(ast.Call):
        kind = _drawn_from(module, call)
        given = [k for k in call.keywords if k.arg in SEEDS and not is_none(k.value)]
        if kind is None or given or _is_kept(module, call):
            continue
        seeds = _seeds(module, kind)
        order = order or RunsBefore(module)
        if seeds and not all(order.surely_before(call, seed) for seed in seeds):
            continue
        picks = (module.qualified(call.func) or getattr(call.func, "attr", "")) in PICKS
        if not picks or not _only_picks(module, call):
            yield call


def _only_picks(module: Module, call: ast.Call) -> bool:
    """Whether random numbers pick rows to show, or mix those of one batch, and share out none."""
    name = module.name_of(call)
    is_read = name is None or bool(module.uses_of(name))
    return _is_in_step(module, call) or (is_read and _is_only_shown(module, call))


def _drawn_from(module: Module, call: ast.Call) -> str | None:
    name = called_name(module, call)
    for kind, names in (("torch", OF_TORCH), ("numpy", OF_NUMPY), ("python", OF_PYTHON)):
        if name in names:
            return kind
    if name in FOLDS:
        shuffled = [k for k in call.keywords if k.arg == "shuffle" and module.constant(k.value) is not False]
        return "numpy" if shuffled else None
    if not isinstance(call.func, ast.Attribute):
        return None
    if call.func.attr == OF_FRAMES and any(k.arg == "frac" for k in call.keywords):
        return "numpy"
    if call.func.attr == OF_DATASETS and not call.args and is_hf_dataset(module, call.func.value):
        return None if gives_rows_in_turn(module, call.func.value) else "numpy"
    shuffles = not any(k.arg == "shuffle" and module.constant(k.value) is False for k in call.keywords)
    return "numpy" if call.func.attr == "train_test_split" and shuffles else None  # of datasets.Dataset


def seeds_set(module: Module) -> list[ast.Call]:
    """Where a script sets the seed of any generator."""
    return list(dict.fromkeys(call for kind in SETTERS for call in _seeds(module, kind)))


@kept
def _seeds(module: Module, kind: str) -> list[ast.Call]:
    """Where a script sets the seed of a generator, itself or by a function that is called so."""
    named = (
        call
        for call in module.of_type(ast.Call)
        if getattr(call.func, "id", getattr(call.func, "attr", "")) in SEED_EVERYTHING
    )
    return [*module.calls(*EVERY, *SETTERS[kind]), *named]


def _is_kept(module: Module, call: ast.Call) -> bool:
    """Whether the value is not used: nothing is shared out."""
    return module.is_statement(call) and called_name(module, call) not in (*OF_PYTHON, "numpy.random.shuffle")


def _is_in_step(module: Module, node: ast.AST, depth: int = 4) -> bool:
    """Whether code runs in a loop that works out gradients, itself or in a function that is called there.

    Args:
        depth: How many functions are followed.
    """
    for parent in module.ancestors(node):
        if isinstance(parent, LOOPS) and _is_innermost_training(module, parent):
            return True
        if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef)):
            calls = [module.parent_of[use] for use in module.uses_of(parent)]
            return bool(depth and calls) and all(_is_in_step(module, call, depth - 1) for call in calls)
    return False


def _is_innermost_training(module: Module, loop: ast.AST) -> bool:
    """Whether a loop goes over the steps, and not over epochs, which may each share out rows anew."""
    inside = [*module.below(loop)]
    trains = [n for n in inside if isinstance(n, ast.Attribute) and n.attr == "backward"]
    return bool(trains) and not any(
        isinstance(other, LOOPS) and any(module.inside(node, other) for node in trains)
        for other in inside
        if other is not loop
    )


def _is_only_shown(module: Module, node: ast.AST, depth: int = DEPTH) -> bool:
    """Whether all that is made of a value is shown, and nothing is trained on it.

    Args:
        depth: How far it is followed.
    """
    parent = module.parent_of[node]
    if not depth or isinstance(parent, ast.Return):
        return False
    if isinstance(parent, ast.Expr):
        return True
    if isinstance(parent, ast.keyword):
        return _is_only_shown(module, parent, depth)
    if isinstance(parent, ast.Call):
        return _shows(module, parent) or (_hands_on(module, parent, node) and _is_only_shown(module, parent, depth - 1))
    if isinstance(parent, INSIDE):
        return _is_only_shown(module, parent, depth - 1)
    if isinstance(parent, ast.comprehension):
        return _is_only_shown(module, module.parent_of[parent], depth - 1)
    if isinstance(parent, (ast.Assign, ast.For)):
        targets = targets_of(parent)
        return all(_are_only_shown(module, target, depth - 1) for target in targets)
    return False


def _are_only_shown(module: Module, target: ast.expr, depth: int) -> bool:
    """Whether that holds for all reads of the names that get a value."""
    names = [part for part in ast.walk(target) if isinstance(part, (ast.Name, ast.Attribute, ast.Subscript))]
    if not all(isinstance(name, ast.Name) for name in names):
        return False
    found = [
        use
        for name in names
        if isinstance(name, ast.Name)
        for use in module.uses_of(name)
        if any(binding.node is name for binding in reaching(module, use))
    ]
    return all(_is_only_shown(module, use, depth) for use in found)


def _shows(module: Module, call: ast.Call) -> bool:
    name = module.qualified(call.func)
    own = last_name(call.func)
    return name.startswith(SHOWS) if name is not None else own in SHOWING


def _hands_on(module: Module, call: ast.Call, node: ast.AST) -> bool:
    """Whether what a call gives is made of a value: a method of it, a builtin, what torch computes, a model."""
    name = module.qualified(call.func)
    if name is not None:
        return name.startswith(("torch.", "numpy.")) and not name.startswith("torch.utils.data")
    if call.func is node:
        return True
    if not isinstance(call.func, ast.Name):
        return False
    models = {ast.unparse(read.value) for attr in OF_MODELS for read in module.attributes(attr)}
    return call.func.id in models or free_name(module, call.func) in BUILTINS

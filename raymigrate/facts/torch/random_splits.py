"""Calls that split or shuffle rows by random numbers that nothing fixes: each process then has other rows."""

import ast
from collections.abc import Iterator

from raymigrate.facts.hugging_face.datasets import is_hf_dataset
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.runs_before import RunsBefore
from raymigrate.facts.torch.iterable_datasets import gives_rows_in_turn
from raymigrate.facts.torch.picked_rows import is_in_step, is_only_shown
from raymigrate.facts.values import called_name, is_none

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
    return is_in_step(module, call) or (is_read and is_only_shown(module, call))


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

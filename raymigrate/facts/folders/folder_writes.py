"""Who writes into a folder: every worker under the same names, or each worker what no other one writes."""

import ast
from collections.abc import Iterator

from raymigrate.facts.hugging_face.instances import ACCELERATOR, instance_of
from raymigrate.facts.ray_train.ranks import chosen_by_rank, rank_condition, skipped_by_rank, tests_rank
from raymigrate.facts.syntax.functions import on_every_way
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import (
    Source,
    all_arguments,
    called_name,
    has_unpacking,
    head,
    keyword_argument,
    last_name,
    leading_text,
)

# These write on the main process, or files whose names have the rank (accelerate 1.15 accelerator.py and
# checkpointing.py, transformers 5.23 trainer.py, deepspeed's save_checkpoint).
KNOWS_RANKS = frozenset({"save_state", "save_model", "save_checkpoint"})
KNOWS_RANKS_FUNCTIONS = ("torch.distributed.checkpoint.", "torch.distributed.tensor.")
# What makes a path, makes or removes the folder, looks into it, or makes a checkpoint of it.
NO_FILES = frozenset(
    {
        *(
            "str",
            "fspath",
            "join",
            "Path",
            "PurePath",
            "abspath",
            "realpath",
            "expanduser",
            "exists",
            "isdir",
            "isfile",
        ),
        *("makedirs", "mkdir", "rmtree", "listdir", "print", "info", "from_directory", "Checkpoint", "len", "format"),
    }
)
PATH_MAKERS = frozenset({"str", "fspath", "join", "Path", "PurePath"})
DEEPEST = 8  # so many steps that put a path together are followed


def starts(first: Source) -> set[ast.AST | str]:
    """What a path can begin with: what binds the names, the text of other expressions."""
    found = first.module.origins(first.node)
    return {source.module.definition(source.node) or ast.unparse(source.node) for source in found}


def is_known_by_rank(module: Module, folder: ast.expr) -> bool:
    """Whether all that is seen to go into a folder is written on one rank only, or under a name of the rank's own."""
    found = list(_calls_with(module, folder))
    handed_on = [call for call, _ in found if isinstance(module.definition(call.func), ast.FunctionDef)]
    by_some = [call for call in handed_on if on_some_ranks(module, call)]
    home = module.function(folder)
    if len(by_some) == len(handed_on):  # what functions of the module write they write for these ranks
        found = [(call, path) for call, path in found if module.function(call) is home]
    writes = [_is_by_rank_below(module, call, path, folder) for call, path in found if call not in handed_on]
    return bool(writes or by_some) and all(writes)


def _is_by_rank_below(module: Module, call: ast.Call, path: ast.expr, folder: ast.expr) -> bool:
    """Like `is_by_rank`, but a rank in the name of the folder does not count: its files lose that name."""
    parts, above = _parts(module, path), _parts(module, folder)
    while parts and above and ast.dump(parts[0]) == ast.dump(above[0]):
        parts, above = parts[1:], above[1:]
    return any(tests_rank(module, part) for part in parts) or _writes_by_rank(module, call)


def _parts(module: Module, path: ast.expr, depth: int = 0) -> list[ast.expr]:
    """What a path is put together from, names followed: `base`, `name` of `os.path.join(base, name)`."""
    made = module.value(path)
    parts: list[ast.expr] = []
    if isinstance(made, ast.JoinedStr):
        parts = [part.value if isinstance(part, ast.FormattedValue) else part for part in made.values]
    elif isinstance(made, ast.BinOp) and isinstance(made.op, (ast.Add, ast.Div)):
        parts = [made.left, made.right]
    elif isinstance(made, ast.Call) and last_name(made.func) in PATH_MAKERS and not has_unpacking(made):
        parts = made.args
    if not parts or depth == DEEPEST:
        return [made]
    return [inner for part in parts for inner in _parts(module, part, depth + 1)]


def on_some_ranks(module: Module, node: ast.AST) -> bool:
    """Whether only some of the workers come to a node, also where its function is called by these alone."""

    def asks(place: ast.AST) -> bool:
        return bool(rank_condition(module, place) or skipped_by_rank(module, place) or chosen_by_rank(module, place))

    def function_of(place: ast.AST) -> ast.FunctionDef | None:
        function = next((outer for outer in module.ancestors(place) if isinstance(outer, ast.FunctionDef)), None)
        return function if function is not None and isinstance(module.parent_of[function], ast.Module) else None

    return on_every_way(node, asks, function_of, module.uses_of)


def _calls_with(module: Module, folder: ast.expr) -> Iterator[tuple[ast.Call, ast.expr]]:
    """The calls that are given a path in a folder, with the path, also those in functions that it is handed to."""
    wanted, text = starts(head(module, folder)), leading_text(module, folder)
    for call in module.of_type(ast.Call):
        if last_name(call.func) in NO_FILES:
            continue
        for given in all_arguments(call):
            is_below = bool(text) and leading_text(module, given).startswith(text)
            if is_below or starts(head(module, given)) & wanted:
                yield call, given


def is_by_rank(module: Module, call: ast.Call, path: ast.expr) -> bool:
    """Whether a call writes on one rank only, or to a path that has the rank in its name."""
    return tests_rank(module, path) or _writes_by_rank(module, call)


def _writes_by_rank(module: Module, call: ast.Call) -> bool:
    """Whether a call writes on one rank only, or chooses names by rank itself."""
    if on_some_ranks(module, call):
        return True
    if called_name(module, call).startswith(KNOWS_RANKS_FUNCTIONS):
        return True
    if keyword_argument(call, "is_main_process") is not None:
        return True
    if not isinstance(call.func, ast.Attribute):
        return False
    method = call.func.attr
    return method in KNOWS_RANKS or (method == "save" and instance_of(module, call.func.value) == ACCELERATOR)


def saves_by_accelerate(module: Module, call: ast.Call) -> bool:
    """Whether a call has `save_function=accelerator.save`: RM707 makes it one that writes on the main process only."""
    given = keyword_argument(call, "save_function")
    saves = module.value(given) if given is not None else None
    return isinstance(saves, ast.Attribute) and saves.attr == "save" and instance_of(module, saves.value) == ACCELERATOR

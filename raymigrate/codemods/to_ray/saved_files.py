"""What the first worker saves behind the training and every worker loads again: they wait until it is there.

A script that ran in one process loaded what it had just saved. On Ray the first worker saves, the Trainer's own
save_model() included (transformers 5.23, trainer.py `save_model`: no barrier), while the others go on to load.
"""

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping

from raymigrate.codemods.context import Context
from raymigrate.codemods.to_ray.arrivals import arrivals
from raymigrate.codemods.to_ray.outline import Outline
from raymigrate.codemods.to_ray.repeated import is_often_called
from raymigrate.codemods.to_ray.script import DEFINITIONS
from raymigrate.codemods.to_ray.trainer_calls import Training, arguments_made, is_trainer, makes_arguments
from raymigrate.edits.plan import Code
from raymigrate.facts.folders.read_back import path_keys
from raymigrate.facts.ray_train.ranks import rank_condition
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.scopes import FunctionNode
from raymigrate.facts.values import argument, origins

Place = tuple[int, int]  # line and column
SAVE_MODEL = "save_model"
SAVE_PRETRAINED = "save_pretrained"
# Methods that save, with their argument for the folder. A Trainer that pushes saves into its output_dir before.
FOLDERS = {SAVE_MODEL: "output_dir", SAVE_PRETRAINED: "save_directory", "push_to_hub": ""}
LOOPS = (ast.For, ast.While)
LOADS = ("from_pretrained", "load_adapter")
# How a folder is given to what loads from it: peft's from_pretrained() and pipeline() take it behind what it is for.
GIVEN = ((0, "pretrained_model_name_or_path"), (0, "peft_model_id"), (1, "model_id"), (1, "model"))
PIPELINE = "transformers.pipeline"
WAIT = "ray.train.collective.barrier()  # the first worker may still be saving what all of them load"


def wait_for_files(context: Context, outline: Outline, training: Training) -> None:
    """Lets the workers wait before they load from a folder into which the first of them has saved.

    Args:
        context: The module.
        outline: What becomes of the script.
        training: What trains in it.
    """
    module = context.module
    reached = arrivals(module, training.trains)
    loops: set[ast.AST] = {
        around for train in reached for around in module.ancestors(train) if isinstance(around, LOOPS)
    }
    functions = {function for train in reached if isinstance(function := module.function(train), ast.FunctionDef)}
    loops.update(function for function in functions if is_often_called(module, function))  # which are as a loop
    firsts: dict[FunctionNode | None, Place] = {}  # where the first training of each function stands
    for train in reached:
        function, start = module.function(train), module.start(train)
        firsts[function] = min(start, firsts.get(function, start))
    saves = [
        (save, come)
        for save, come in _reached(module, _methods(module, FOLDERS))
        if rank_condition(module, save) is None and _is_behind(outline, firsts, come)
    ]
    loads = [
        (load, come)
        for load, come in _reached(module, [*_methods(module, LOADS), *module.calls(PIPELINE)])
        if _is_behind(outline, firsts, come) or any(module.inside(come, loop) for loop in loops)
    ]
    waiting: set[ast.stmt] = set()
    for save, saved in saves:
        folder = _folder(module, save)
        after = [
            come
            for load, come in loads
            if come is not saved and _follows(module, come, saved, loops) and _loads_from(module, load, folder)
        ]
        if after and (place := _beside(module, after[0], saved, loops)) is not None and place not in waiting:
            waiting.add(place)
            context.plan.need_import("ray.train.collective")
            context.plan.statement(place).before.append(Code(WAIT))


def _methods(module: Module, names: Iterable[str]) -> list[ast.Call]:
    return [call for call, _ in module.method_calls(*names)]


def _reached(module: Module, calls: Iterable[ast.Call]) -> Iterator[tuple[ast.Call, ast.Call]]:
    """Calls, each with itself and with the calls of the functions that come to it."""
    for call in calls:
        for come in arrivals(module, [call]):
            yield call, come


def _is_behind(outline: Outline, firsts: Mapping[FunctionNode | None, Place], call: ast.Call) -> bool:
    """Whether every worker comes to a call after the training: it is not under a condition on the rank."""
    module = outline.context.module
    if rank_condition(module, call) is not None:
        return False
    first = firsts.get(module.function(call))
    step = outline.script.step_of(call)
    is_for_workers = isinstance(step, DEFINITIONS) or (step is not None and outline.is_for_workers(call))
    return is_for_workers and first is not None and module.start(call) > first


def _folder(module: Module, save: ast.Call) -> ast.expr | None:
    """Where a call saves; None where that is not seen. A Trainer saves in its output_dir if it is given nothing."""
    assert isinstance(save.func, ast.Attribute)
    name = FOLDERS[save.func.attr]
    given = argument(save, 0, name) if name else None
    if given is not None or save.func.attr == SAVE_PRETRAINED or not is_trainer(module, save.func.value):
        return given
    made = arguments_made(module)
    return argument(made[0], 0, "output_dir") if len(made) == 1 else None


def _loads_from(module: Module, load: ast.Call, folder: ast.expr | None) -> bool:
    if folder is None:
        return False
    wanted = _meanings(module, folder)
    for given in (argument(load, *place) for place in GIVEN):
        if isinstance(folder, ast.Name) and isinstance(given, ast.Name):
            parts = (module.definition(folder), module.definition(given))
            if folder.id != given.id and all(isinstance(part, ast.arg) for part in parts):
                return True  # `stage("one", "two")`, `stage("two", "three")`
        if given is not None and not wanted.isdisjoint(_meanings(module, given)):
            return True
    return False


@kept
def _meanings(module: Module, path: ast.expr) -> frozenset[str]:
    """What spellings of one folder have in common, the output_dir of TrainingArguments among them."""
    return frozenset(_found_meanings(module, path))


def _found_meanings(module: Module, path: ast.expr) -> Iterator[str]:
    if isinstance(path, ast.Attribute) and path.attr == "output_dir":
        for source in origins(module, path.value):
            if isinstance(source.node, ast.Call) and makes_arguments(source.module, source.node):
                given = argument(source.node, 0, "output_dir")
                if given is not None:
                    yield from _meanings(source.module, given)
    yield from path_keys(module, path)


def _follows(module: Module, load: ast.Call, save: ast.Call, loops: Collection[ast.AST]) -> bool:
    """Whether a call comes behind another one, be it the next time in the loop that trains."""
    if module.function(load) is not module.function(save):
        return False
    is_next = any(module.inside(load, loop) and module.inside(save, loop) for loop in loops)
    return is_next or module.start(load) > module.start(save)


def _beside(module: Module, load: ast.Call, save: ast.Call, loops: Collection[ast.AST]) -> ast.stmt | None:
    """The statement with a call that loads, or around it, in the block in which all workers come to the other one.

    None where that block is the branch of a condition: not all workers need come there.
    """
    around = {module.statement(save), *module.ancestors(save)}
    for parent in (module.statement(load), *module.ancestors(module.statement(load))):
        outer = module.parent_of[parent]
        if outer in around and isinstance(parent, ast.stmt):
            is_for_all = outer in loops or isinstance(outer, (ast.Module, ast.FunctionDef, ast.With, ast.If))
            return parent if is_for_all else None
    return None

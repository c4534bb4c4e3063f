"""The result of a trainer's fit(), and the checkpoints in it: which expressions stand for them."""

import ast
from collections.abc import Collection, Iterator
from enum import Enum

from raymigrate.facts.projects.declared import is_declared
from raymigrate.facts.projects.handed_on import handed_on, trainer_classes
from raymigrate.facts.ray_data.preprocessors import gets_mapped_rows
from raymigrate.facts.ray_train.best_checkpoints import CHECKPOINT, results_of_part
from raymigrate.facts.ray_train.run_folders import results_of_folder
from raymigrate.facts.ray_tune.trials import is_trial, legacy_trainers_of, may_be_trial, tuners_of
from raymigrate.facts.ray_tune.tune_objects import is_tune_checkpoint
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import is_assignment
from raymigrate.facts.syntax.threads import run_elsewhere, waited_for
from raymigrate.facts.values import Source, argument, is_none, reaching, sources
from raymigrate.facts.values.arguments import all_arguments, called_name, is_method_call, last_name
from raymigrate.facts.values.classes_behind import class_called
from raymigrate.facts.values.items import DEEPEST, is_item_of, items_behind, origins_of_items
from raymigrate.knowledge.legacy import HF, HF_UNRELEASED, IN_ML, TORCH_TRAINERS, TRAINERS, TRANSFORMERS_TRAINERS

CHECKPOINT_CLASSES = tuple(
    f"{module}.{name}"
    for module in (
        HF,
        f"{HF}.transformers",
        f"{HF}.huggingface_checkpoint",
        f"{HF}.transformers.transformers_checkpoint",
        HF_UNRELEASED,
        f"{HF_UNRELEASED}.transformers_checkpoint",
    )
    for name in ("HuggingFaceCheckpoint", "TransformersCheckpoint", "LegacyTransformersCheckpoint")
)
# The Checkpoint of Ray itself, under every path from which Ray 2.0 to 2.9 and current Ray let it be imported.
CHECKPOINTS = tuple(
    f"{module}.Checkpoint"
    for module in ("ray.air", "ray.air.checkpoint", "ray.air.config", "ray.train", *IN_ML["Checkpoint"])
)
RESULTS = ("ray.train.Result", "ray.air.Result", "ray.air.result.Result")
FROM_PATH = tuple(f"{result}.from_path" for result in RESULTS)
RESTORED = FROM_PATH[0]  # in place of the class of a trainer that is not seen
GET_CHECKPOINT = ("ray.air.session.get_checkpoint", "ray.train.get_checkpoint")
MOST_ITEMS = 300  # of the lists through which a checkpoint is followed


class Layout(Enum):
    """Where the files of Transformers are in a checkpoint."""

    NESTED = "in the folder `checkpoint`, where RayTrainReportCallback puts them"
    ROOT = "at its root"
    UNKNOWN = "at either place: it is not known which Ray wrote it"


def is_result(module: Module, node: ast.expr) -> bool:
    """Whether a value is a trainer's result, on every way by which it gets there."""
    trainers = trainers_of(module, node)
    return bool(trainers) and None not in trainers


def trainers_of(module: Module, result: ast.expr) -> set[str | None]:
    """The classes whose `fit()` may have given a value; None among them where it may come from elsewhere.

    None does not count: `self.result = None` before the first run has none of the attributes that are asked for.
    """
    return {name for _, classes in _fits(module, result) for name in classes}


def fitted_trainers(module: Module, result: ast.expr) -> list[Source] | None:
    """The trainers whose `fit()` may have given a value; None where it may come from elsewhere."""
    trainers = [trainer for trainer, _ in _fits(module, result)]
    return None if None in trainers else [trainer for trainer in trainers if trainer is not None]


def _fits(
    module: Module, result: ast.expr, depth: int = 0, seen: set[ast.AST] | None = None
) -> Iterator[tuple[Source | None, set[str | None]]]:
    """For each way to a value: the trainer that gave it, with the classes of which it may be one; None: no trainer.

    Ways that were taken before are left out: lists may be filled with items of their own.
    """
    seen = set() if seen is None else seen
    for source in _but_none(module, result):
        if source in seen:
            continue
        seen.add(source)
        fitted = _fitted(source)
        made: set[str | None] = trainer_classes(module, fitted) if fitted is not None else {None}
        found = made == {None} and depth < DEEPEST
        others = (handed_on(module, source) or items_behind(Source(module, source))) if found else []
        path = _restored_from(module, source)
        others = others or ([Source(module, task) for task in waited_for(module, source)] if found else [])
        others = others or (results_of_folder(Source(module, path)) if path is not None and depth < DEEPEST else [])
        for other in others:
            yield from _fits(other.module, other.node, depth + 1, seen)
        if fitted is not None and made != {None}:
            yield Source(module, fitted), made
        elif not others:
            is_unseen = may_be_trial(module, source) or not is_declared(module, result, RESULTS)
            yield None, ({None} if path is None and is_unseen else {None, RESTORED})


def _fitted(node: ast.expr) -> ast.expr | None:
    """What `fit()` is called on; None for other expressions."""
    if is_method_call(node, "fit"):
        return node.func.value
    run = run_elsewhere(node)
    return run.value if run is not None and run.attr == "fit" else None


def _restored_from(module: Module, node: ast.expr) -> ast.expr | None:
    """The folder that a result is read from: `Result.from_path(path)`. Current Ray reads those of its trainers only."""
    call = node if isinstance(node, ast.Call) and module.qualified(node.func) in FROM_PATH else None
    return argument(call, 0, "path") if call is not None else None


def _but_none(module: Module, node: ast.expr) -> list[ast.expr]:
    return [source for source in sources(module, node) if not is_none(source)]


def results(module: Module, *attributes: str) -> Iterator[tuple[ast.Attribute, set[str | None]]]:
    """Reads of these attributes of what may be a trainer's result, in source order, with what `trainers_of` says."""
    for node in module.attributes(*attributes):
        trainers = trainers_of(module, node.value)
        if trainers - {None}:
            yield node, trainers


def is_checkpoint(module: Module, node: ast.expr) -> bool:
    """Whether a value is a checkpoint of a trainer's result; None, before the first run, does not count."""
    found = _but_none(module, node)
    return bool(found) and all(_is_of_result(module, source) for source in found)


@kept
def is_any_checkpoint(module: Module, node: ast.expr) -> bool:
    """Whether a value is a checkpoint of Ray: of a run, a trial, get_checkpoint(), made here, or annotated as one."""
    parameter = module.definition(node)
    if isinstance(parameter, ast.arg) and parameter.annotation is not None:
        return is_declared(module, node, CHECKPOINTS + CHECKPOINT_CLASSES)
    found = _but_none(module, node)
    known = all(
        _is_known_checkpoint(module, one)
        or _is_given_one(module, one)
        or is_item_of(Source(module, one), _is_known_checkpoint)
        for one in found
    )
    return (bool(found) and known) or is_declared(module, node, CHECKPOINTS)


def _is_known_checkpoint(module: Module, source: ast.expr) -> bool:
    return (
        _is_of_result(module, source)
        or _is_of_declared_result(module, source)
        or _is_of_either(module, source)
        or is_tune_checkpoint(module, source)
        or made_by_script(module, source) is not None
        or class_method(module, source) is not None
        or called_name(module, source) in GET_CHECKPOINT
    )


def _is_given_one(module: Module, source: ast.expr) -> bool:
    """Whether what another file gives is a checkpoint there: a function, an object, a fixture of pytest."""
    given = [origin for origin in module.origins(source) if origin.node is not source and not is_none(origin.node)]
    return bool(given) and all(_is_known_checkpoint(origin.module, origin.node) for origin in given)


def is_called_checkpoint(module: Module, node: ast.expr) -> bool:
    """Whether an expression of which nothing else is known is called a checkpoint; a class or an import is none."""
    if module.qualified(node) is not None or isinstance(module.definition(node), ast.ClassDef):
        return False
    name = last_name(node).lower()
    return "checkpoint" in name or "ckpt" in name


def made_by_script(module: Module, node: ast.expr) -> str | None:
    """How a script makes a checkpoint itself: "from_directory", or "" for `Checkpoint(path)`; None if it does not."""
    name = class_called(module, node, CHECKPOINTS)
    owner = next((c for c in CHECKPOINTS if name == c or (name or "").startswith(f"{c}.")), None)
    return name.removeprefix(owner).removeprefix(".") if name and owner else None


def _is_of_result(module: Module, source: ast.expr) -> bool:
    results = _results_with(module, source)
    return bool(results) and all(is_result(result.module, result.node) for result in results)


def _is_of_declared_result(module: Module, source: ast.expr) -> bool:
    results = _results_with(module, source)
    return bool(results) and all(
        is_declared(result.module, result.node, RESULTS) or _is_read_from_path(result) for result in results
    )


def _is_read_from_path(result: Source) -> bool:
    made = _but_none(result.module, result.node)
    return bool(made) and all(
        _restored_from(result.module, one) is not None
        or is_item_of(Source(result.module, one), lambda module, item: _restored_from(module, item) is not None)
        for one in made
    )


def _is_of_either(module: Module, source: ast.expr) -> bool:
    """Whether a value is a checkpoint of what each way to it shows as the result of a trainer or of a trial."""
    found = [(at.module, way) for at in _results_with(module, source) for way in _but_none(at.module, at.node)]
    return bool(found) and all(is_result(*way) or is_trial(*way) for way in found)


def _results_with(module: Module, checkpoint: ast.expr, seen: frozenset[ast.AST] = frozenset()) -> list[Source]:
    """The values whose `checkpoint` a value is, one of their `best_checkpoints`, or what get_best_checkpoint() gave."""
    if isinstance(checkpoint, ast.Attribute):
        return [Source(module, checkpoint.value)] if checkpoint.attr == "checkpoint" else []
    method = checkpoint.func if isinstance(checkpoint, ast.Call) else None
    if isinstance(method, ast.Attribute) and method.attr == "get_best_checkpoint":
        return [Source(module, method.value)]
    return results_of_part(Source(module, checkpoint), CHECKPOINT) or _results_with_items(module, checkpoint, seen)


def _results_with_items(module: Module, item: ast.expr, seen: frozenset[ast.AST]) -> list[Source]:
    """The same for one of several checkpoints: `for checkpoint in [one.checkpoint for one in results]`."""
    origins = origins_of_items(Source(module, item)) if len(seen) <= MOST_ITEMS else []
    if any(origin.node in seen for origin in origins):
        return []  # a list that is filled with its own items
    seen |= {origin.node for origin in origins}
    results: list[Source] = []
    for origin in origins:
        if not (found := _results_with(origin.module, origin.node, seen)):
            return []
        results += found
    return results


def trainers_behind(module: Module, checkpoint: ast.expr) -> list[Source]:
    """The constructions of the trainers in whose results a checkpoint may be, as far as they are seen."""
    found: list[Source] = []
    for source in sources(module, checkpoint):
        if class_method(module, source) == "from_checkpoint" and isinstance(source, ast.Call) and source.args:
            found += trainers_behind(module, source.args[0]) if source.args[0] is not checkpoint else []
        for result in _results_with(module, source):
            fitted = [_fitted(fit) for fit in _but_none(result.module, result.node)]
            made = [trainer for node in fitted if node is not None for trainer in result.module.origins(node)]
            found += [trainer for trainer in made if isinstance(trainer.node, ast.Call)]
    return found


def tuners_behind(module: Module, checkpoint: ast.expr) -> list[Source]:
    """The constructions of the Tuners of whose trials a value is a checkpoint, as far as they are seen."""
    results = _results_with(module, checkpoint)
    return [tuner for result in results for tuner in tuners_of(result.module, result.node) if tuner is not None]


def class_method(module: Module, call: ast.expr, classes: Collection[str] = CHECKPOINT_CLASSES) -> str | None:
    """The method of a legacy checkpoint class that a call calls: `from_checkpoint`; "" for the class itself."""
    if not (name := called_name(module, call)):
        return None
    owner = next((c for c in classes if f"{name}.".startswith(f"{c}.")), None)
    return name.removeprefix(owner).removeprefix(".") if owner is not None else None


def layout(module: Module, node: ast.expr) -> Layout | None:
    """Where the files lie in a checkpoint of a Transformers model, where it is not None; None where that is unknown."""
    if isinstance(definition := module.definition(node), ast.arg) and definition.annotation is not None:
        if module.qualified(definition.annotation) in CHECKPOINT_CLASSES:
            return Layout.UNKNOWN
    found = {layout_of_source(module, source) for source in _sources(module, node) if not is_none(source)}
    if None in found or not found:
        return None
    return found.pop() if len(found) == 1 else Layout.UNKNOWN


def _sources(module: Module, node: ast.expr) -> list[ast.expr]:
    """Like `sources`, and through a name that is bound again: `checkpoint = Class.from_checkpoint(checkpoint)`.

    Only an object of a checkpoint class has the methods that are asked for, so its other bindings do not matter.
    """
    if isinstance(node, ast.Name):
        bindings = module.scope_of[node].lookup(node.id)
        parents = [module.parent_of[binding.node] for binding in bindings if not isinstance(binding.node, ast.arg)]
        values = [parent.value for parent in parents if is_assignment(parent)]
        if values and len(values) == len(parents) and all(class_method(module, value) is not None for value in values):
            return values
    return sources(module, node)


def layout_of_source(module: Module, node: ast.expr) -> Layout | None:
    """`layout` of one of the expressions that a value may come from."""
    method = class_method(module, node)
    if method == "from_checkpoint" and isinstance(node, ast.Call) and node.args:
        given = node.args[0]
        several = isinstance(given, ast.Name) and len(module.scope_of[given].lookup(given.id)) > 1
        again = several or module.value(given) is node
        return (None if again else layout(module, given)) or Layout.UNKNOWN
    if method is not None:
        return Layout.ROOT if method == "from_model" else Layout.UNKNOWN
    if isinstance(node, ast.Call) and module.qualified(node.func) in GET_CHECKPOINT:
        return _layout_on_worker(module, node)
    results = _results_with(module, node)
    trainers = {name for result in results for name in trainers_of(result.module, result.node)}
    if trainers == {None}:
        trainers = {name for result in results for name in legacy_trainers_of(result.module, result.node)}
    return Layout.NESTED if trainers and trainers <= TRANSFORMERS_TRAINERS else None


def _layout_on_worker(module: Module, get_checkpoint: ast.Call) -> Layout | None:
    """Where the files lie in what get_checkpoint() gives in the init function of a Transformers trainer."""
    function = module.function(get_checkpoint)
    for call in module.calls(*TRANSFORMERS_TRAINERS):
        given = {keyword.arg: keyword.value for keyword in call.keywords}
        init = call.args[0] if call.args else given.get("trainer_init_per_worker")
        if init is not None and function is not None and module.definition(init) is function:
            return Layout.UNKNOWN if "resume_from_checkpoint" in given else Layout.NESTED
    return None


def carries_preprocessor(module: Module, checkpoint: ast.expr, user: ast.AST) -> bool | None:
    """Whether a legacy checkpoint held a preprocessor, which a predictor then applied first.

    Args:
        module: The module.
        checkpoint: The checkpoint.
        user: Where it is used; `checkpoint.set_preprocessor(None)` before it took the preprocessor out.

    Returns:
        None where that cannot be seen.
    """
    return False if _is_taken_out(module, checkpoint, user) else _carries(module, checkpoint, set())


def _is_taken_out(module: Module, checkpoint: ast.expr, user: ast.AST) -> bool:
    """Whether `checkpoint.set_preprocessor(None)` comes before a node, in the same function."""
    return any(
        is_set_to_none(module, method.value)
        and module.start(call) < module.start(user)
        and module.parent_of[module.statement(call)] in module.ancestors(user)
        and _is_same(module, method.value, checkpoint)
        for call, method in module.method_calls("set_preprocessor")
    )


def _is_same(module: Module, one: ast.expr, other: ast.expr) -> bool:
    """Whether two expressions read the same name, the same attribute of it, or what one value was given to."""
    if isinstance(one, ast.Name) and isinstance(other, ast.Name) and one.id == other.id:
        return reaching(module, one) == reaching(module, other)
    if isinstance(one, ast.Attribute) and isinstance(other, ast.Attribute) and one.attr == other.attr:
        return _is_same(module, one.value, other.value)
    first, second = module.value(one), module.value(other)
    return first is second or ((first, second) != (one, other) and _is_same(module, first, second))


def is_set_to_none(module: Module, use: ast.expr) -> bool:
    """Whether a value is read in a statement `value.set_preprocessor(None)`."""
    call = module.calling(module.parent_of[use])
    if not is_method_call(call, "set_preprocessor") or not module.is_statement(call):
        return False
    given = all_arguments(call)
    return len(given) == 1 and module.constant(given[0]) is None


def _carries(module: Module, node: ast.expr, seen: set[ast.AST]) -> bool | None:
    """`carries_preprocessor`, whatever is removed later; through a name that is bound several times too."""
    if isinstance(node, ast.Name) and len(bindings := module.scope_of[node].lookup(node.id)) > 1:
        assignments = [module.parent_of.get(binding.node) for binding in bindings]
        values = [a.value if is_assignment(a) else None for a in assignments]
    else:
        values = list(sources(module, node))
    found = {_source_carries(module, value, seen) for value in values if value is None or value not in seen}
    return True if True in found else None if None in found or not values else False


def _source_carries(module: Module, node: ast.expr | None, seen: set[ast.AST]) -> bool | None:
    if node is None or is_none(node):
        return None if node is None else False
    seen.add(node)
    method = class_method(module, node)
    if method is not None and isinstance(node, ast.Call):
        given = {keyword.arg: keyword.value for keyword in node.keywords}
        if method == "from_checkpoint" and len(node.args) == 1:
            return _carries(module, node.args[0], seen)
        return module.constant(given.get("preprocessor")) is not None if method == "from_model" else None
    if isinstance(node, ast.Name):
        return _carries(module, node, seen)
    fitted = [fitted_trainers(result.module, result.node) for result in _results_with(module, node)]
    made = [origin for trainers in fitted for one in trainers or () for origin in one.module.origins(one.node)]
    found = {_trainer_carries(one.module, one.node, seen) for one in made if not is_none(one.node)}
    return found.pop() if len(found) == 1 and None not in fitted else None


def _trainer_carries(module: Module, trainer: ast.expr, seen: set[ast.AST]) -> bool | None:
    """Whether a trainer gets a preprocessor; None where no class of Ray is called: an own class may give one."""
    if not isinstance(trainer, ast.Call) or module.qualified(trainer.func) not in TRAINERS | TORCH_TRAINERS:
        return None
    keywords = {keyword.arg: keyword.value for keyword in trainer.keywords}
    if module.constant(keywords.get("preprocessor")) is not None or gets_mapped_rows(module, trainer):
        return True
    resumed = keywords.get("resume_from_checkpoint")
    took_over = resumed is not None and _carries(module, resumed, seen)
    return None if None in keywords else took_over

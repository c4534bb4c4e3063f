"""RM423: tensors among the metrics of a report, or in what a training function returns.

Ray 2.0 took them; 2.3 already looked for them and raised a ValueError (2.3.1 train/_internal/session.py:330, 2.60
train/v2/_internal/execution/context.py:427). It looks into dicts, lists and tuples, and sees modules of torch too.
"""

import ast
from collections.abc import Iterator
from enum import Enum, auto

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.facts.hugging_face.models import PIPELINES, SAME, models_in
from raymigrate.facts.projects.callees import callees
from raymigrate.facts.projects.places import TAKE_TRAINABLES, TRAINABLE
from raymigrate.facts.ray_train.reports import REPORTS
from raymigrate.facts.ray_train.trainers import TRAIN_LOOP, library_bases, trainers_with_function
from raymigrate.facts.syntax.functions import returned_values
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.scopes import FunctionNode
from raymigrate.facts.torch.tensors import Kind, as_number, kinds_of
from raymigrate.facts.values import (
    Source,
    all_arguments,
    argument,
    class_named,
    is_call_by_name,
    is_method_call,
    reaching,
    sources_here,
)
from raymigrate.facts.values.own_classes import COPIES

RM423 = Rule(
    "RM423",
    "a tensor that is reported or returned",
    "report() raises a ValueError for tensors of torch among the metrics, also in lists and dicts, which Ray 2.0 took;"
    " so does Ray 2.60 where the training function returns one.",
    "Report the number: loss.item(), or values.tolist() of a tensor that holds several.",
    "https://docs.ray.io/en/latest/train/api/doc/ray.train.report.html",
    errors=("Passing objects containing Torch tensors as metrics is not supported",),
    unproven="The report of one worker is enough to show the error: tests/error_snippets.py makes Ray say it.",
)
OF_TUNE = "ray.tune.report"
ARGUMENTS = ("checkpoint", "checkpoint_dir_name", "checkpoint_upload_mode", "checkpoint_upload_fn", "validation")
SHOWN_BY = frozenset({"print", "log", "info", "debug", "pprint"})  # what a dict is given to besides: numbers do there
PREPARED = ("ray.train.torch.prepare_model",)
REPORTED = "report() raises a ValueError for a tensor"
RETURNED = "Ray 2.60 raises a ValueError for a tensor that the training function returns"
RETURNED_BY_TRIAL = "Ray 2.60 raises a ValueError for a tensor that a Tune function returns"
IN_CHECKPOINT = "Save it into a checkpoint instead."
DEEPEST = 5  # dicts and lists in each other


class Held(Enum):
    """What something of another file holds."""

    NOTHING = auto()
    TENSOR = auto()
    STATE = auto()  # of a model, or a model


@codemod("report", in_ray_scripts=True)
def reported_tensors(context: Context) -> None:
    """Reports the numbers that losses hold; names other tensors."""
    for call in context.module.calls(*REPORTS, OF_TUNE):
        given = [*call.args[:1], *(keyword.value for keyword in call.keywords if keyword.arg not in ARGUMENTS)]
        for metrics in given:
            others = (source for source in context.module.origins(metrics) if source.module is not context.module)
            held = {_held_elsewhere(source) for source in others if _parts(source.node) is not None}
            if held - {Held.NOTHING}:
                what = "which is in what another file makes here"
                context.manual(RM423, metrics, f"{REPORTED}, {what}.", _advice(held))
            for value, elsewhere in _values(context.module, metrics):
                if not _tell_of_model(context, value, REPORTED):
                    _value(context, value, REPORTED, elsewhere=elsewhere)


@codemod("TorchTrainer", "AccelerateTrainer", "tune", in_ray_scripts=True)
def returned_tensors(context: Context) -> None:
    """Deals with what functions return that run on workers or in trials.

    Legacy Ray threw away what a training function gives (2.6.3 train/_internal/utils.py:122); what a Tune function
    gives is reported (2.60 tune/trainable/function_trainable.py:196).
    """
    module = context.module
    told = set[ast.AST]()
    for given, outcome in _handed_over(module):
        for found in callees(module, given):
            function = found.function
            if function is None or function in told:
                continue
            told.add(function)
            if found.module is module:
                _returned(context, function, outcome)
            elif held := _returned_elsewhere(found.module, function) - {Held.NOTHING}:
                context.manual(RM423, given, f"{outcome}, as that of {found.module.path} does.", _advice(held))


def _handed_over(module: Module) -> Iterator[tuple[ast.expr, str]]:
    """The functions that trainers and Tuners get, with what Ray does to a tensor that they return."""
    for trainer in trainers_with_function(module):
        if trainer.first == TRAIN_LOOP and (given := trainer.arguments.get(TRAIN_LOOP)) is not None:
            yield given, RETURNED
    for call in module.calls(*TAKE_TRAINABLES):
        if (given := argument(call, 0, *TRAINABLE)) is not None:
            yield given, RETURNED_BY_TRIAL


def _returned_elsewhere(module: Module, function: FunctionNode) -> set[Held]:
    """What a function of another file returns for sure, at one of its ends."""
    return {_held_elsewhere(Source(module, value)) for value in filter(None, returned_values(module, function))}


def _advice(held: set[Held]) -> str | None:
    """What to do with the tensors that another file gives: a state belongs in a checkpoint."""
    return IN_CHECKPOINT if Held.STATE in held else None


def _returned(context: Context, function: FunctionNode, outcome: str) -> None:
    """Deals with what a function of this module returns."""
    module = context.module
    called = isinstance(function, ast.FunctionDef) and bool(module.calls_of(function))  # who may read what it returns
    for returned in filter(None, returned_values(module, function)):
        for value, elsewhere in _values(module, returned):
            if not _tell_of_model(context, value, outcome):
                _value(context, value, outcome, elsewhere=elsewhere or called)


def _tell_of_model(context: Context, value: ast.expr, outcome: str) -> bool:
    """Tells of a model, or of its state, which is a dict of tensors; whether a value is one."""
    if _is_model(context.module, value):
        context.manual(RM423, value, f"{outcome}, and for a model.", IN_CHECKPOINT)
    elif any(_is_state(source) for source in context.module.origins(value)):
        context.manual(RM423, value, f"{outcome}, as the state of a model holds.", IN_CHECKPOINT)
    else:
        return False
    return True


def _is_state(source: Source) -> bool:
    """Whether a value is the state of a model, or a copy of one."""
    call = source.node if isinstance(source.node, ast.Call) else None
    if call is not None and call.args and source.module.qualified(call.func) in COPIES:
        return any(_is_state(copied) for copied in source.module.origins(call.args[0]) if copied.node is not call)
    method = call.func if call is not None else None
    return isinstance(method, ast.Attribute) and method.attr == "state_dict" and _is_model(source.module, method.value)


def _is_model(module: Module, value: ast.expr, depth: int = 0) -> bool:
    """Whether a value may be a model of torch: one that is prepared, or made by a class of torch or transformers.

    So is a copy of one, and what gives the model itself back: `copy.deepcopy(model).cpu()`.
    """
    if isinstance(value, ast.Attribute) and value.attr == "module":
        value = value.value
    made = [source for source in module.origins(value) if isinstance(source.node, ast.Call)]
    models = {model.call for model in models_in(module, value)} if made else set()
    for home, call in ((source.module, source.node) for source in made):
        assert isinstance(call, ast.Call)
        name, inner = home.qualified(call.func), _same_model(home, call)
        if (_makes_module(name) or call in models or _is_own_model(home, call)) and name not in PIPELINES:
            return True
        if inner is not None and depth < DEEPEST and _is_model(home, inner, depth + 1):
            return True
    return False


def _same_model(module: Module, call: ast.Call) -> ast.expr | None:
    """The model that a call copies, or that its method gives back: `copy.deepcopy(model)`, `model.eval()`."""
    if module.qualified(call.func) in COPIES:
        return call.args[0] if call.args else None
    return call.func.value if is_method_call(call, *SAME) else None


def _is_own_model(module: Module, call: ast.Call) -> bool:
    """Whether a call makes an object of a class of the project that is made from torch.nn.Module."""
    home = class_named(module, call.func)
    return home is not None and any(
        _makes_module(base) or base.endswith(".LightningModule") for base in library_bases(*home)
    )


def _makes_module(name: str | None) -> bool:
    """Whether what is called by this name gives a module of torch: `torch.nn.Linear`, but nothing of functional."""
    home, _, kind = (name or "").rpartition(".")
    return name in PREPARED or (f"{home}.".startswith("torch.nn.") and kind[:1].isupper() and kind != "Parameter")


def _value(context: Context, value: ast.expr, outcome: str, *, elsewhere: bool) -> None:
    """Deals with one value that is handed to Ray.

    Args:
        outcome: What Ray does with a tensor there.
        elsewhere: Whether what holds it is read at other places too, where a tensor may be needed.
    """
    kinds = kinds_of(context.module, value) if value not in context.plan.expressions else frozenset()
    if not kinds & {Kind.ONE, Kind.TENSOR}:
        return
    number = as_number(context.module, value)
    if elsewhere or number is None:
        context.manual(RM423, value, f"{outcome}{'' if kinds <= {Kind.ONE, Kind.TENSOR} else ', which this may be'}.")
    elif context.converts(RM423, value, f"{outcome}; now the number in it."):
        context.plan.replace(value, number, value=value)


def _values(
    module: Module, whole: ast.expr, *, elsewhere: bool = False, depth: int = 0
) -> Iterator[tuple[ast.expr, bool]]:
    """The values in a dict or list, and whether what holds them is read elsewhere; any other value is the only one."""
    parts = _parts(whole)
    held = [(part, False) for part in parts] if parts is not None else list(_held(module, whole))
    if not held or depth > DEEPEST:
        yield whole, elsewhere
        return
    for part, shared in held:
        yield from _values(module, part, elsewhere=elsewhere or shared, depth=depth + 1)


def _held(module: Module, node: ast.expr, depth: int = 0) -> Iterator[tuple[ast.expr, bool]]:
    """What a dict or list holds that has a name or comes from a function, and whether something else may read it."""
    if not isinstance(node, (ast.Name, ast.Call, ast.Attribute)) or depth > DEEPEST:
        return
    made = sources_here(module, node)
    if isinstance(node, ast.Name):
        made += filter(None, (module.assigned(binding.node) for binding in reaching(module, node)))
    made = [whole for whole in dict.fromkeys(made) if _parts(whole) is not None or isinstance(whole, ast.Name)]
    if not any(_parts(whole) is not None or whole is not node for whole in made):
        return  # no dict and no list
    uses = module.uses_of(node)
    shared = isinstance(node, ast.Attribute) or not all(_is_shown(module, use) for use in uses)
    for whole in made:
        home = module.function(whole)
        far = home is not module.function(node) and not _is_used_once(module, home)
        if isinstance(whole, ast.Name) and whole is not node:  # of a function, which fills it
            yield from ((part, shared or far or more) for part, more in _held(module, whole, depth + 1))
        else:
            yield from ((part, shared or far) for part in _parts(whole) or ())
    yield from ((part, shared) for use in uses for part in _put_in(module, use))


def _is_used_once(module: Module, function: ast.AST | None) -> bool:
    """Whether a function is called at one place only, so that nothing else reads what it returns."""
    return isinstance(function, ast.FunctionDef) and len(module.uses_of(function)) == 1


def _held_elsewhere(source: Source) -> Held:
    """Whether something of another file is a tensor or the state of a model, or a dict or list that holds one."""
    module, found = source.module, Held.NOTHING
    for value, _ in _values(module, source.node):
        if _is_model(module, value) or any(_is_state(origin) for origin in module.origins(value)):
            return Held.STATE
        if kinds_of(module, value) & {Kind.ONE, Kind.TENSOR}:
            found = Held.TENSOR
    return found


def _parts(node: ast.expr) -> list[ast.expr] | None:
    """What a dict or list that is written out holds; None for other expressions."""
    if isinstance(node, ast.Dict):
        return list(node.values)
    if isinstance(node, (ast.List, ast.Tuple)):
        return node.elts
    if is_call_by_name(node, "dict"):
        return all_arguments(node)
    return None


def _put_in(module: Module, use: ast.Name) -> Iterator[ast.expr]:
    """What is put into a dict or list at a use of its name: `metrics["loss"] = loss`, `losses.append(loss)`."""
    place = module.parent_of[use]
    outer = module.parent_of.get(place)
    if isinstance(place, ast.Subscript) and isinstance(outer, ast.Assign) and outer.targets == [place]:
        yield outer.value
    elif isinstance(outer, ast.Call) and outer.func is place and _is_append(place):
        yield from outer.args


def _is_append(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "append"


def _is_shown(module: Module, use: ast.expr) -> bool:
    """Whether a dict or list is filled, shown or handed to Ray at a use of its name, and nothing else."""
    outer = module.parent_of[use]
    if isinstance(outer, ast.Subscript):
        return outer.value is use and isinstance(outer.ctx, ast.Store)
    if isinstance(outer, (ast.FormattedValue, ast.Return)) or _is_append(outer):
        return True
    if isinstance(outer, ast.Dict):  # in which it is reported
        return any(isinstance(above, ast.Call) and _is_report(module, above) for above in module.ancestors(outer))
    call = module.taking(use)
    if call is None:
        return False
    name = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
    return name in SHOWN_BY or _is_report(module, call)


def _is_report(module: Module, call: ast.Call) -> bool:
    return module.qualified(call.func) in (*REPORTS, OF_TUNE)

"""RM413 and RM414: what a function that Tune runs calls of Ray.

A Tune function no longer shares its session with the workers of a trainer. Measured on Ray 2.60: in a trial everything
of `ray.train` raises a DeprecationWarning, `ray.air.session` still works, and `ray.tune` has lost the functions that it
had before Ray 2.7.
"""

import ast
from collections.abc import Set

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.shared.tune_name import tune_name
from raymigrate.edits.plan import Part
from raymigrate.facts.projects.places import WORKERS_ONLY, Place
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.scopes import Reference
from raymigrate.facts.values import called_name
from raymigrate.facts.values.keys import is_unpacked
from raymigrate.facts.values.numbers import is_number
from raymigrate.knowledge.legacy import paths_in_ml
from raymigrate.knowledge.successors import NO_METADATA

RM413 = Rule(
    "RM413",
    "ray.air.session or ray.train in a function that Tune runs",
    "On Ray >= 2.51 report(), get_checkpoint() and get_context() of ray.train raise a DeprecationWarning in a Tune"
    " function; ray.air.session still works there, and is kept for old code only.",
    "Use ray.tune.report(), ray.tune.get_checkpoint(), ray.tune.get_context() and ray.tune.Checkpoint.",
    "https://docs.ray.io/en/latest/tune/api/trainable.html",
)
RM414 = Rule(
    "RM414",
    "a function that ray.tune no longer has, or has in another form",
    "report() takes a dict on current Ray, so keywords or a number raise a TypeError; tune.get_trial_*(),"
    " tune.checkpoint_dir() and tune.save_checkpoint() raise an AttributeError. save_checkpoint() of a Trainable that"
    " returns another path than its folder ends in a ValueError.",
    "Use tune.report({...}), tune.get_context().get_trial_*() and tune.report(..., checkpoint=tune.Checkpoint(...))."
    " Return the folder, or nothing.",
    "https://docs.ray.io/en/latest/tune/api/trainable.html",
)

SESSIONS = ("ray.air.session", "ray.train")
CONTEXT = ("get_experiment_name", "get_trial_name", "get_trial_id", "get_trial_dir", "get_trial_resources")
IN_TRIALS = {
    "report": "report",
    "get_checkpoint": "get_checkpoint",
    **{name: f"get_context().{name}" for name in CONTEXT},
}
METADATA = "get_metadata"  # the metadata= of a trainer: Tune has none (2.60 tune/context.py:51)
CHECKPOINTS = (
    "ray.air.Checkpoint",
    "ray.air.checkpoint.Checkpoint",
    "ray.air.config.Checkpoint",
    "ray.train.Checkpoint",
    *paths_in_ml("Checkpoint"),
)
LOST_FROM_CONTEXT = tuple(f"ray.tune.{name}" for name in CONTEXT if name != "get_experiment_name")
REPORTS = ("ray.tune.report", "ray.train.report")  # that of ray.train took keywords up to Ray 2.0
REPORTED = ("metrics", "checkpoint")  # what they take today
METRIC = "_metric"  # how ray.tune called a metric that was given by position
LOST = tuple(f"ray.tune.{name}" for name in ("checkpoint_dir", "save_checkpoint", "load_checkpoint"))


@codemod("session", "report", "get_checkpoint", "get_context", "Checkpoint", phase=Phase.CHECKPOINTS)
def tune_functions(context: Context) -> None:
    """Sends what a Tune function calls to ray.tune; the rest of the module calls ray.train."""
    references = [r for r in context.references(*SESSIONS, *CHECKPOINTS) if _belongs_to_a_session(r)]
    if not references:
        return
    unseen = context.places.unseen_trainables
    on_workers = context.places.asking_for_workers
    for reference in references:
        place = context.place_of(reference.root)
        if place is Place.TRIAL:
            _in_trial(context, reference)
        elif place is Place.BOTH and _session_function(reference):
            message = "This runs in Tune trials and on the workers of a trainer, which need ray.tune and ray.train."
            _undecided(context, reference, message)
        elif place is Place.UNKNOWN and unseen and _session_function(reference):
            if not on_workers.isdisjoint(context.module.ancestors(reference.node)):
                continue
            message = "A Tuner here runs functions that cannot be seen; a Tune function needs ray.tune, not ray.train."
            _undecided(context, reference, message)


def _undecided(context: Context, reference: Reference, message: str) -> None:
    context.leave(RM413, reference, message, "Call ray.tune in Tune functions, and ray.train on workers.")


def _belongs_to_a_session(reference: Reference) -> bool:
    """Whether it matters to a reference where it runs."""
    return bool(_session_function(reference)) or any(reference.is_within(name) for name in CHECKPOINTS)


def _session_function(reference: Reference) -> str:
    """The function of a session that a reference stands for, with what follows it; "" for anything else."""
    for session in SESSIONS:
        name = reference.qualified.removeprefix(f"{session}.")
        if name != reference.qualified and name in (*IN_TRIALS, *WORKERS_ONLY, "get_context", METADATA):
            return name
    return ""


def _in_trial(context: Context, reference: Reference) -> None:
    name = _session_function(reference)
    old, source = reference.qualified.removeprefix("ray."), IN_TRIALS.get(name, name)
    checkpoint = next((c for c in CHECKPOINTS if reference.is_within(c)), None)
    if checkpoint is not None:
        source = "Checkpoint" + reference.qualified.removeprefix(checkpoint)
    # Only a trainer's workers have it: in a trial it raised an error in legacy Ray too.
    if _session_function(reference) in WORKERS_ONLY or _then(context, reference) in WORKERS_ONLY:
        context.leave(RM413, reference, f"{old}() means nothing in a Tune trial, which is one process.")
        return
    if METADATA in (name, _then(context, reference)):
        outcome = "is None in a Tune trial" if name == METADATA else "raises a DeprecationWarning in a Tune trial"
        context.leave(RM413, reference, f"{METADATA}() {outcome}.", NO_METADATA)
        return
    if reference.qualified.startswith("ray.air."):
        message = f"In a Tune function {old} is there for old code only; now ray.tune.{source}."
    elif checkpoint is None:
        message = f"In a Tune function {old}() raises a DeprecationWarning on Ray >= 2.51; now ray.tune.{source}()."
    else:
        message = f"In a Tune function {old} is now ray.tune.{source}."
    _replace(context, RM413, reference, source, message)
    if "get_trial_dir" in (name, _then(context, reference)) and not _is_unused(context.module, reference.node):
        context.manual(
            RM413,
            reference.node,
            "Since Ray 2.7 the folder of a trial lies in Ray's session folder: files there are not among the results.",
            "Write them into a checkpoint, or give the RunConfig sync_config=ray.tune.SyncConfig(sync_artifacts=True).",
        )


def _is_unused(module: Module, node: ast.AST) -> bool:
    """Whether what is asked for only gets a name that nothing reads: `folder = session.get_trial_dir()`."""
    outer = module.parent_of[node]
    while node in (getattr(outer, "func", None), outer.value if isinstance(outer, ast.Attribute) else None):
        node, outer = outer, module.parent_of[outer]
    name = module.name_of(node)
    return name is not None and not module.uses_of(name)


def _then(context: Context, reference: Reference) -> str:
    """What is called on the result of a call: `get_world_rank` in `get_context().get_world_rank()`."""
    parents = context.module.parent_of
    call = parents[reference.node]
    method = parents[call] if isinstance(call, ast.Call) and call.func is reference.node else None
    return method.attr if isinstance(method, ast.Attribute) else ""


def _replace(context: Context, rule: Rule, reference: Reference, source: str, message: str) -> None:
    """Replaces a reference by a name of ray.tune, as the module calls it."""
    if not context.can_import("ray", reference):
        context.leave(rule, reference, f"{message.partition(';')[0]}; `ray` is another name here.")
        return
    if context.converts(rule, reference.node, message):
        name = tune_name(context, reference.node)
        context.plan.replace(reference.node, f"{name}.{source}")
        context.handle(reference, gone=name != reference.root.id)


@codemod("tune", "report", phase=Phase.CHECKPOINTS)
def names_of_tune(context: Context) -> None:
    """Gives the functions of the old ray.tune, and the report() of the old ray.train, their present form."""
    module = context.module
    for reference in context.references(*LOST_FROM_CONTEXT):
        name = reference.qualified.rpartition(".")[2]
        message = f"tune.{name}() raises an AttributeError today; now tune.get_context().{name}()."
        _replace(context, RM414, reference, f"get_context().{name}", message)
    for reference in context.references(*LOST):
        message = f"{reference.qualified.removeprefix('ray.')}() raises an AttributeError today."
        context.leave(RM414, reference, message)
    for call in module.calls(*REPORTS, "ray.air.session.report"):
        given = {keyword.arg for keyword in call.keywords}
        if len(call.args) == 1 and not isinstance(call.args[0], ast.Starred):
            _one_value(context, call, given)
            continue
        if module.qualified(call.func) not in REPORTS:
            continue
        # report(**given) may be the form of today: what is unpacked tells.
        takes_today = is_unpacked(module, call, *REPORTED) if given == {None} else bool(given.intersection(REPORTED))
        if not call.args and given and takes_today is not True:
            _as_dict(context, call, sure=takes_today is False)


def _one_value(context: Context, call: ast.Call, given: Set[str | None]) -> None:
    """Deals with a report that has one argument by position: a dict, as today, or a metric without a name.

    Up to Ray 2.6 ray.tune named it `_metric` (tune/trainable/session.py, `report`). No other report took one; where it
    becomes that of ray.tune it gets the name too.
    """
    is_tunes = context.module.qualified(call.func) == "ray.tune.report" or context.place_of(call) is Place.TRIAL
    of_number = _is_number(context, call.args[0])
    if is_tunes and (of_number or given - {None, *REPORTED}) and given.isdisjoint(REPORTED):
        _as_dict(context, call, sure=True, how="a number by position" if of_number else "keywords beside a value")
    elif of_number:
        message = "report() takes a dict of metrics, and this is a number: it raises a TypeError or AttributeError."
        context.manual(RM414, call, message, 'Give the number a name: {"loss": ...}.')


def _is_number(context: Context, node: ast.expr) -> bool:
    """Whether a value is a number on every way to it; what is divided or multiplied is not a dict either."""
    sources = context.module.origins(node)
    return bool(sources) and all(
        is_number(source.module, source.node)
        or (isinstance(source.node, ast.BinOp) and isinstance(source.node.op, (ast.Mult, ast.Div, ast.Pow)))
        for source in sources
    )


def _as_dict(context: Context, call: ast.Call, *, sure: bool, how: str = "keywords") -> None:
    """Gives a report that has its metrics as keywords a dict of them; that of ray.tune never took another form."""
    module = context.module
    name = called_name(module, call).removeprefix("ray.")
    message = f"{name}() takes a dict today: {how} raise{'s' if how.startswith('a ') else ''} a TypeError"
    by_hand = f"Give it {name}({{...}}) with the same entries."
    if not sure and name.startswith("train.") and context.place_of(call) is not Place.TRIAL:  # where it becomes tune's
        if context.of_legacy_job:
            what = "if it unpacks metrics, and not `metrics` and `checkpoint`"
            context.manual(RM414, call, f"{message}, {what}.", by_hand)
    elif "#" in module.source(call):
        context.manual(RM414, call, f"{message}.", by_hand)
    elif context.converts(RM414, call, f"{message}; now a dict."):
        given = [*((METRIC, value) for value in call.args), *((k.arg, k.value) for k in call.keywords)]
        parts: dict[str, Part] = {f"value_{number}": value for number, (_, value) in enumerate(given)}
        names = zip((name for name, _ in given), parts, strict=True)
        entries = ", ".join(f'"{arg}": ${part}' if arg else f"**${part}" for arg, part in names)
        context.plan.replace(call, f"$function({{{entries}}})", function=call.func, **parts)

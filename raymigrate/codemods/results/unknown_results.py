"""RM604, RM607, RM308 where it is not seen whose result it is: in legacy jobs that choose their trainer at run time.

Ray's fit() takes nothing, unlike that of most other libraries; and few others call anything "time_total_s".
"""

import ast
from collections.abc import Collection, Iterator

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.ray_air.ray_checkpoint import RM308
from raymigrate.codemods.results.checkpoint_readers import OTHER_FORMS
from raymigrate.codemods.results.checkpoint_uris import NO_URI, RM607
from raymigrate.codemods.results.filled_keys import INSTEAD, advice
from raymigrate.codemods.results.results import ATTRIBUTES, RM604
from raymigrate.facts.hugging_face.instances import instance_of
from raymigrate.facts.ray_train.hydra_trainers import made_by_hydra
from raymigrate.facts.ray_train.results import trainers_of
from raymigrate.facts.syntax.guards import is_guarded
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import class_named, is_method_call, sources
from raymigrate.facts.values.calls import called_function
from raymigrate.facts.values.members import methods_of_object

# The keys that Tune put into metrics and that others hardly have.
KEYS = INSTEAD.keys() - {"config", "date", "done", "hostname", "pid", "timestamp"}
BEST = "get_best_result"  # of what a Tuner gives: a trial, which has them
# The attributes that results of other libraries hardly have, with what each does today, and what to do.
OUTCOMES = {
    **{name: ATTRIBUTES[name] for name in ("dataset_stats", "metrics_dataframe")},
    "log_dir": ("raises an AttributeError on Ray >= 2.51.", "result.path is the folder of the run, a str."),
}
PERHAPS = "If this is the result of a trainer"


@codemod("fit", "metrics", "uri", *OUTCOMES, *OTHER_FORMS, phase=Phase.RESULTS)
def unknown_results(context: Context) -> None:
    """Tells of what is gone from results, where a value of which nothing is known may be one."""
    module = context.module
    by_hydra = frozenset(call for call, _, _ in made_by_hydra(module))
    if not context.of_legacy_job and not by_hydra:
        return
    for read in module.attributes(*OUTCOMES):
        is_read = isinstance(read.ctx, ast.Load) and not is_guarded(module, read, read.attr)
        if is_read and any(is_fit_of_unknown(module, source, by_hydra) for source in sources(module, read.value)):
            outcome, what_to_do = OUTCOMES[read.attr]
            context.manual(RM604, read, f"{PERHAPS}: result.{read.attr} {outcome}", what_to_do)
    for read in module.attributes("uri", *OTHER_FORMS):
        checkpoints = [way for way in sources(module, read.value) if isinstance(way, ast.Attribute)]
        owners = [source for way in checkpoints if way.attr == "checkpoint" for source in sources(module, way.value)]
        if any(is_fit_of_unknown(module, owner, by_hydra) for owner in owners):
            gone = f"Checkpoint.{read.attr}() raises an AttributeError on Ray >= 2.7."
            of_form = (RM308, gone, OTHER_FORMS.get(read.attr, ""))
            rule, outcome, what_to_do = of_form if read.attr in OTHER_FORMS else (RM607, f"{NO_URI}.", RM607.fix)
            context.manual(rule, read, f"{PERHAPS}: {outcome}", what_to_do)
    for metrics, keys, outcome in _lookups(module):
        names = (module.constant(key) for key in keys)
        missing = sorted({name for name in names if isinstance(name, str)} & KEYS)
        if missing and any(_may_be_metrics(module, source, by_hydra) for source in sources(module, metrics)):
            listed = " and ".join(f'"{name}"' for name in missing)
            message = f"{PERHAPS}: result.metrics has no {listed} on Ray >= 2.51, and {outcome}."
            context.manual(RM604, metrics, message, advice(missing))


def _lookups(module: Module) -> Iterator[tuple[ast.expr, list[ast.expr], str]]:
    """What is asked for keys, with the keys and what comes of one that is not there."""
    for node in module.of_type(ast.Subscript):
        several = isinstance(node.slice, (ast.List, ast.Tuple))
        yield node.value, node.slice.elts if several else [node.slice], "this raises a KeyError"  # type: ignore[attr-defined]
    for call, method in module.method_calls("get"):
        yield method.value, call.args[:1], "this gives the default"


def _may_be_metrics(module: Module, value: ast.expr, by_hydra: Collection[ast.expr]) -> bool:
    """Whether a value is the `metrics` of something of which nothing is known."""
    if not isinstance(value, ast.Attribute) or value.attr != "metrics":
        return False
    results = sources(module, value.value)
    return any(
        is_fit_of_unknown(module, s, by_hydra) or _is_unknown_argument(module, s) or _is_method_of_unknown(module, s)
        for s in results
    )


def _is_method_of_unknown(module: Module, value: ast.expr) -> bool:
    """Whether a value is what a method gives whose object comes out of a table of classes: `JOBS[name](spec).run()`."""
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute) or value.func.attr == BEST:
        return False
    if not is_unseen_call(module, value):
        return False
    makers = [source.func for source in sources(module, value.func.value) if isinstance(source, ast.Call)]
    tables = [maker.value if isinstance(maker, ast.Attribute) else maker for maker in makers]
    is_unknown = any(isinstance(part, ast.Subscript) for table in tables for part in sources(module, table))
    return is_unknown and trainers_of(module, value) == {None}


def is_unseen_call(module: Module, node: ast.expr) -> bool:
    """Whether a value is what a method gives that is not seen, of an object that no library is seen to have made."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    home = class_named(module, node.func.value)
    is_of_class = home is not None and node.func.attr in home[0].scope(home[1]).bindings  # `Jobs.Outcome()`
    if is_of_class or module.qualified(node.func) is not None:
        return False
    owners = [source.node for source in module.origins(node.func.value)]
    if any(isinstance(owner, ast.Call) and is_of_others(module, owner.func) for owner in owners):
        return False
    if is_fit_of_unknown(module, node, ()):
        return False  # which is told by itself
    function = called_function(module, node, elsewhere=True)[1]
    is_seen = isinstance(function, (ast.FunctionDef, ast.Lambda))
    return not is_seen and methods_of_object(module, node.func.value, node.func.attr) is None


def _is_unknown_argument(module: Module, value: ast.expr) -> bool:
    """Whether a value is a parameter of which neither callers nor an annotation tell what it is."""
    parameter = module.definition(value)
    is_free = isinstance(parameter, ast.arg) and parameter.annotation is None
    return is_free and trainers_of(module, value) == {None}


def is_fit_of_unknown(module: Module, value: ast.expr, by_hydra: Collection[ast.expr]) -> bool:
    """Whether a value is what fit() gives, without arguments, of an object of which nothing is known.

    Args:
        module: The module.
        value: The value.
        by_hydra: The calls by which hydra makes, or may make, a legacy trainer: of these nothing is known either.
    """
    if not isinstance(value, ast.Call) or value.args or value.keywords:
        return False
    if not is_method_call(value, "fit"):
        return False
    owner = value.func.value
    made = [source.func for source in sources(module, owner) if isinstance(source, ast.Call) and source not in by_hydra]
    of_others = any(is_of_others(module, maker) for maker in made)
    return not of_others and not instance_of(module, owner) and trainers_of(module, value) == {None}


def is_of_others(module: Module, maker: ast.expr) -> bool:
    """Whether what makes an object is imported from no file of the project, or a method of a class of the module.

    As in `Own.restore(path)`.
    """
    is_method = isinstance(maker, ast.Attribute) and isinstance(module.definition(maker.value), ast.ClassDef)
    return is_method or (module.qualified(maker) is not None and module.elsewhere(maker) is None)

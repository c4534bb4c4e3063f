"""RM420 for a Tuner that is restored without its trainable, which it was made with and had kept until Ray 2.3.

Ray 2.6.3 and 2.60, tune/tuner.py, `Tuner.restore`: `trainable` is the second parameter, and has no default.
None, which was the default up to Ray 2.5, is "not string nor trainable" (run on 2.60).
"""

import ast

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.torch_trainer.trainer_resume import RM420
from raymigrate.facts.projects.places import OF_RESTORED
from raymigrate.facts.ray_train.trainers import OF_V2, library_bases, trainer_base
from raymigrate.facts.ray_tune.tuned_trainers import may_be_trainer
from raymigrate.facts.ray_tune.tuners import REPORT_TO_TUNE, RESTORED, TUNERS, TunerCall
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import Source, argument, has_unpacking, is_none, keyword_named
from raymigrate.knowledge.legacy import TORCH_TRAINERS, TRAINERS
from raymigrate.knowledge.libraries import look_up

REFUSED = "Tuner.restore() without trainable= raises a TypeError"
REFUSED_NONE = "Tuner.restore() with None as its trainable raises a TuneError"
GIVE = "Give it the trainable that the Tuner was made with: Tuner.restore(path, trainable=...)."
OF_TRAINER = (
    "Give it the function that a Tuner over a trainer is given today (RM405): Tuner.restore(path, trainable=...). A run"
    " of the trainer itself cannot go on."
)
# Run on Ray 2.60: ValueError for a run of a function, "Unknown trainable" from fit() for one of the trainer itself.
BY_NAME = "No trainable is called {name} today: Tuner.restore() raises a ValueError, or fit() a TuneError."
# A TypeError of ray/tune/registry.py, register_trainable(): "Second argument must be convertable to Trainable".
A_CLASS = "{name} itself is no trainable today: Tuner.restore() or fit() raises an error."
NAMES = {trainer.rpartition(".")[2] for trainer in TRAINERS | TORCH_TRAINERS}
SHIFTED = "The second argument of Tuner.restore() is the trainable today: this raises an error."
OLD = OF_RESTORED[0]
GONE = f"Tuner.restore({OLD}=) raises a TypeError since Ray 2.5"
REGISTER = ("ray.tune.register_trainable", "ray.tune.registry.register_trainable")
DEFINED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.alias)


@codemod("restore", phase=Phase.TRIALS)
def restored_tuners(context: Context) -> None:
    """Gives restore() the trainable of the only Tuner in the file, where that has a name; else tells."""
    module = context.module
    for call in module.calls(*RESTORED):
        renamed = keyword_named(call, OLD)
        if renamed is not None and not has_unpacking(call) and not may_be_trainer(module, renamed.value):
            if len(call.args) < 2 and context.converts(RM420, renamed, f"{GONE}; now trainable=."):
                context.plan.call(call).rename[OLD] = "trainable"
            continue
        given_now = argument(call, 1, "trainable")
        if has_unpacking(call) or not is_none(given_now):
            name = module.constant(given_now)
            trainer = next(filter(None, map(_trainer_class, module.origins(given_now))), None)
            if trainer is not None:
                context.manual(RM420, call, A_CLASS.format(name=trainer), OF_TRAINER)
            elif isinstance(name, bool):  # resume_unfinished= of Ray 2.0 to 2.2
                context.manual(RM420, call, SHIFTED, GIVE)
            elif isinstance(name, str) and name in NAMES and not _may_be_registered(module, name):
                context.manual(RM420, call, BY_NAME.format(name=name), OF_TRAINER)
            continue
        refused = REFUSED if given_now is None else REFUSED_NONE
        tuners = [TunerCall(module, tuner) for tuner in module.calls(*TUNERS)]
        given = [tuner.arguments.get("trainable") for tuner in tuners]
        trainable = _shared(module, given, call)
        of_trainer = any(tuner.trainer is not None for tuner in tuners) or any(may_be_trainer(module, n) for n in given)
        of_trainer = of_trainer or any(_is_driver(module, node) for node in given)  # as the first run left it
        if of_trainer or trainable is None:
            context.manual(RM420, call, f"{refused}.", OF_TRAINER if of_trainer else GIVE)
        elif given_now in call.args:
            context.manual(RM420, call, f"{refused}.", GIVE)
        elif context.converts(RM420, call, f"{refused}; now with the one of the Tuner in this file."):
            context.plan.call(call).set("trainable", trainable)


def _trainer_class(source: Source) -> str:
    """The name of a class of trainers, Ray's or one that is made from it; empty of anything else."""
    module, made = source.module, source.module.definition(source.node)
    own = made.name if isinstance(made, ast.ClassDef) else ""
    name = module.qualified(source.node) or ""
    bases = library_bases(module, made) if isinstance(made, ast.ClassDef) else [name]
    is_trainer = any(trainer_base(look_up(base).place) == OF_V2 for base in bases)
    return (own or name.rpartition(".")[2]) if is_trainer else ""


def _may_be_registered(module: Module, name: str) -> bool:
    """Whether the script gives a trainable a name that is this one, or one that is not seen."""
    names = [module.constant(argument(call, 0, "name")) for call in module.calls(*REGISTER)]
    return any(given == name or not isinstance(given, str) for given in names)


def _is_driver(module: Module, trainable: ast.expr | None) -> bool:
    """Whether a function takes the place of a trainer: what an earlier run said of restore() still holds."""
    function = module.definition(trainable)
    return any(module.inside(found.node, function) for found in module.references_within(REPORT_TO_TUNE))


def _shared(module: Module, given: list[ast.expr | None], call: ast.Call) -> str | None:
    """The name, which stands for the same where a Tuner is restored, of what every Tuner of a module is given."""
    texts = {ast.dump(node) if node is not None else None for node in given}
    first = given[0] if len(texts) == 1 else None
    if isinstance(first, ast.Constant) and isinstance(first.value, str):
        return module.source(first)
    if not isinstance(first, ast.Name):
        return None
    names = [node for node in given if isinstance(node, ast.Name)]
    scopes = [module.bound_in(name) for name in names]
    scope = module.scope_of[call].find(first.id)
    if scope is None or any(other is not scope for other in scopes):
        return None
    bindings = scope.bindings[first.id]
    if len(bindings) != 1 or not isinstance(bindings[0].node, DEFINED):
        return None
    is_before = module.scope_of[call] is not scope or module.start(bindings[0].node) < module.start(call)
    return first.id if is_before else None

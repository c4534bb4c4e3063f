"""RM802: plain scripts that are left as they are, with the reason."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import PurePath

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.codemods.to_ray.command_lines import in_the_way, run_with_options
from raymigrate.codemods.to_ray.interactive import asks, shows_between_steps
from raymigrate.codemods.to_ray.roles import Role
from raymigrate.codemods.to_ray.script import DEFINITIONS, Script, live_uses
from raymigrate.codemods.to_ray.statements import Roles
from raymigrate.codemods.to_ray.step_kinds import stands_for_cell
from raymigrate.codemods.to_ray.trainer_calls import Training, given_arguments, makes_arguments
from raymigrate.facts.accelerate.launch_form import NoRayFormError
from raymigrate.facts.projects.project_uses import importing_modules
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.named_lines import own_lines
from raymigrate.facts.syntax.nodes import is_assignment, names_in, only_target, targets_of
from raymigrate.facts.syntax.scopes import FUNCTIONS, import_bindings
from raymigrate.facts.values import methods
from raymigrate.knowledge.legacy import ACCELERATORS

RM802 = Rule(
    "RM802",
    "a plain script that is not converted",
    "Nothing in the script was changed: half converted it would train differently, or not at all.",
    "The message says what is in the way; once that is changed, run raymigrate --to-ray again.",
    "https://docs.ray.io/en/latest/train/getting-started-transformers.html",
)
SEARCHES = (
    "hyperparameter_search starts its own trials; use Ray Tune around TorchTrainer, or leave the search in a script of"
    " its own, and train with what it found in this one."
)
STARTS_PROCESSES = (
    *("torch.multiprocessing.spawn", "torch.multiprocessing.start_processes", "multiprocessing.Process", "ray.init"),
    *("torch.multiprocessing.Process", "multiprocess.Process"),
    *("torch.distributed.elastic.multiprocessing.start_processes", "torch.distributed.elastic.multiprocessing.api"),
    *("subprocess.run", "subprocess.call", "subprocess.Popen", "subprocess.check_call", "os.system"),
    *("torch.distributed.run", "torch.distributed.launch", "torch.distributed.launcher", "torchrunx.Launcher"),
    *("accelerate.notebook_launcher", "accelerate.launchers", "accelerate.debug_launcher"),
    *("accelerate.commands.launch", "deepspeed.launcher", "pyspark.ml.torch.distributor.TorchDistributor"),
    *("pyspark.ml.deepspeed.deepspeed_distributor.DeepspeedTorchDistributor", "sparkdl.HorovodRunner"),
    *("horovod.run", "horovod.spark.run"),
    *("torch_xla.distributed.xla_multiprocessing.spawn", "torch_xla.launch", "submitit"),
)
# Calls to which the function that trains may be given: they call it once where they stand, or not at all.
CALLED_ONCE = (
    *("functools.wraps", "inspect.", "tyro.", "jsonargparse.", "plac.", "chz."),
    *("torch.distributed.elastic.multiprocessing.errors.record", "typing."),
)
SIMPLE = (ast.Assign, ast.AnnAssign, ast.Import, ast.ImportFrom, *FUNCTIONS, ast.ClassDef)
OWN_LAUNCHERS = {
    "TPU": ("torch_xla.",),
    "Megatron-LM": ("accelerate.utils.MegatronLM", "accelerate.utils.megatron_lm.", "megatron."),
    "SageMaker": ("smdistributed.", "sagemaker.huggingface."),
}
TRAINING = ("backward", "prepare", "prepare_model", "prepare_data_loader", "prepare_optimizer")
NUMBERS = {2: "Two", 3: "Three", 4: "Four", 5: "Five", 6: "Six"}
OTHER_TRAINERS = ("pytorch_lightning", "lightning", "fastai", "keras", "tensorflow.keras")


@dataclass(frozen=True)
class Reason:
    """Why a script is left as it is, and where."""

    node: ast.AST
    message: str


def leave(context: Context, node: ast.AST, message: str, advice: str | None = None) -> None:
    """Says why a script that trains is left as it is; of what its libraries changed it is then only told."""
    context.stays = True
    context.manual(RM802, node, message, advice)


def several(module: Module, trainings: Sequence[ast.Call]) -> Reason:
    """That a script trains several times."""
    number = NUMBERS.get(len(trainings), str(len(trainings)))
    lines = own_lines(module, *trainings)
    return Reason(trainings[1], f"{number} trainings in one script ({lines}); convert them one at a time.")


def refusal(context: Context, training: Training, besides: tuple[str, ...] = ()) -> Reason | None:
    """Why a script cannot be converted; None if it can, as far as a first look shows.

    Args:
        context: The module.
        training: What it does with Trainers.
        besides: Names of what starts processes, and is converted.
    """
    module = context.module
    if training.searches:
        return Reason(training.searches[0], SEARCHES)
    if (launcher := _own_launcher(module)) is not None:
        return launcher
    for reference in module.references_within(*STARTS_PROCESSES):
        if reference.qualified not in besides and _starts_training(
            reference.qualified, module.parent_of[reference.node]
        ):
            return Reason(
                reference.node,
                f"The script starts its own processes ({reference.qualified}) around the training; remove that first.",
            )
    if (command_line := in_the_way(module)) is not None:
        return Reason(*command_line)
    starts = training.trains or module.calls(*ACCELERATORS)
    if (handed := next((r for call in starts if (r := _handed_over(module, call, besides))), None)) is not None:
        return handed
    for reference in module.references_within(*OTHER_TRAINERS):
        return Reason(
            reference.node, f"The file is not a plain script: it uses {reference.qualified.partition('.')[0]}."
        )
    for call in training.trains:
        statement = module.statement(call)
        value = getattr(statement, "value", None)
        if not isinstance(statement, (ast.Expr, ast.Assign, ast.AnnAssign, ast.Return)) or value is not call:
            return Reason(call, "train() is called within another expression; give it a statement of its own.")
    return _arguments_made_elsewhere(module, training) or _asks(module)


def _handed_over(module: Module, call: ast.Call, besides: tuple[str, ...]) -> Reason | None:
    """Why a script cannot be converted that gives the function or class which trains to something that starts it."""
    waiting, seen = list[ast.AST | None]([module.function(call)]), set[ast.AST]()
    while waiting:
        definition = waiting.pop()
        if not isinstance(definition, (ast.FunctionDef, ast.ClassDef)) or definition in seen:
            continue
        seen.add(definition)
        waiting.append(module.parent_of[definition])  # who is given a class can call its methods
        for use in _uses(module, definition):
            if isinstance(definition, ast.FunctionDef):
                waiting.append(module.function(use))
            if (taken := _taken(module, use, definition, besides)) is not None:
                return taken
    return None


def _uses(module: Module, definition: ast.FunctionDef | ast.ClassDef) -> list[ast.Attribute] | list[ast.Name]:
    """Where a function, a class or, as `x.method`, a method is used."""
    if isinstance(definition, ast.ClassDef):
        return module.uses_of(definition)
    if not isinstance(module.parent_of[definition], ast.ClassDef):
        return live_uses(module, definition)
    return [node for node in module.attributes(definition.name) if definition in methods(module, node)]


def _taken(
    module: Module, use: ast.expr, definition: ast.FunctionDef | ast.ClassDef, besides: tuple[str, ...]
) -> Reason | None:
    """Why a script cannot be converted in which a library starts what is used here; None if none does.

    It gets it as an argument, or put a method on it by a decorator: `train.remote()`.
    """
    outer, name = module.parent_of[use], definition.name
    while isinstance(outer, (ast.List, ast.Tuple, ast.Set, ast.Dict)):  # Flow(steps=[train])
        outer = module.parent_of[outer]
    taker = module.parent_of[outer] if isinstance(outer, (ast.keyword, ast.Attribute)) else outer
    if not isinstance(taker, ast.Call) or taker.func is use:
        return None
    starts = f"which trains, and starts it in its own way; call {name} in its place."
    if isinstance(outer, ast.Attribute):
        if taker.func is not outer or not definition.decorator_list or isinstance(definition, ast.ClassDef):
            return None
        decorator = module.source(definition.decorator_list[0])
        return Reason(taker, f"{module.source(outer)} comes from @{decorator} of {name}, {starts}")
    if not _is_of_others(module, taker, besides):
        return None
    return Reason(taker, f"{module.source(taker.func)} is given {name}, {starts}")


def _is_of_others(module: Module, call: ast.Call, besides: tuple[str, ...]) -> bool:
    """Whether a call is one of a library, or of an object that is not seen, which may start what it is given."""
    if run_with_options(module, call) is not None:
        return False
    name = module.qualified(call.func)
    if name is not None:
        return name not in besides and not name.startswith(CALLED_ONCE) and module.elsewhere(call.func) is None
    return isinstance(call.func, ast.Attribute) and not list(methods(module, call.func))


def _arguments_made_elsewhere(module: Module, training: Training) -> Reason | None:
    """Why a script cannot be converted whose TrainingArguments another file makes while it is imported."""
    for call in training.makes:
        given = given_arguments(call)
        for source in module.origins(given):
            made = source.node
            if source.module is module or not isinstance(made, ast.Call) or not makes_arguments(source.module, made):
                continue
            if source.module.function(made) is None:
                return Reason(
                    given or call,
                    f"{module.source(given or call)} holds TrainingArguments made in {source.module.path}, outside of"
                    " what runs on the workers: each worker would train alone. Build it in the training function.",
                )
    return None


def accelerator_for_others(context: Context, made: ast.Call) -> Reason | None:
    """Why a file is left that makes an Accelerator while it is imported, for the training in another file."""
    module = context.module
    if module.function(made) is not None:
        return None
    statement = module.statement(made)
    targets = targets_of(statement) if is_assignment(statement) else []
    names = {name for target in targets for name in names_in(target)}
    for other in importing_modules(module):
        for name in sorted(names & _imported_names(other, module)):
            message = f"{name} holds an Accelerator made in {context.path}, which {other.path} imports: made outside of"
            advice = "Build it in the training function."
            return Reason(made, f"{message} what runs on the workers, each worker would train alone. {advice}")
    return None


def keeps_to_itself(module: Module, made: ast.Call) -> bool:
    """Whether an Accelerator prepares nothing in its file, and is handed to nobody who could train with it.

    It is then read for what it prints or knows of the processes only: `accelerator.print(accelerator.state)`.
    """
    if any(module.method_calls(*TRAINING)):
        return False
    name = only_target(module.parent_of[made])
    uses = [*module.uses_of(name)] if isinstance(name, ast.Name) else [made]
    return all(isinstance(module.parent_of[use], (ast.Attribute, ast.Expr)) for use in uses)


def _own_launcher(module: Module) -> Reason | None:
    """Why a script cannot be converted that runs on TPUs or in Megatron-LM, which accelerate starts itself."""
    for statement in module.tree.body:
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            names = [binding.qualified or "" for _, binding in import_bindings(statement)]
            for kind, beginnings in OWN_LAUNCHERS.items():
                if any(f"{name}.".startswith(beginnings) for name in names):
                    return Reason(statement, str(NoRayFormError(kind)))
    return None


def _asks(module: Module) -> Reason | None:
    """Why a script cannot be converted that asks its user something, or shows something between two steps."""
    for call in asks(module):
        return Reason(
            call,
            f"The script asks for input ({module.source(call.func)}), which nobody can give on a worker; pass it as"
            " an argument.",
        )
    for call in shows_between_steps(module):
        return Reason(
            call,
            "Values of the training are used interactively between steps"
            f" ({module.source(call.func)}); save them, or show them after the training.",
        )
    return None


def behind_magic(module: Module, roles: Roles) -> Reason | None:
    """Why a script cannot be converted in which a magic stands before a statement that moves: `%time trainer.train()`.

    Statements that share a line otherwise get a line each.
    """
    for step, following in pairwise(sorted(roles.of, key=lambda step: (step.lineno, step.col_offset))):
        if stands_for_cell(step) and following.lineno == step.lineno and roles.of[following].moves:
            message = f"The statement in {own_lines(module, following)} has to move, and a magic is before it"
            return Reason(following, f"{message}; put the statement on a line of its own, without the magic.")
    return None


def rebinds_import(script: Script, roles: Roles) -> Reason | None:
    """Why a script cannot be converted in which what moves needs an imported name, and gives it another value.

    The name belongs to the training function then, and has no value at its beginning.
    """
    scope = script.module.scope_of[script.module.tree]
    imports = [step for step in roles.staying(Role.DEFINITION) if isinstance(step, (ast.Import, ast.ImportFrom))]
    imported = {name for step in imports for name in script.bound(step)}
    mentioned: set[str] = set()  # by the steps before
    for step in roles.moved():
        read = {name for name, home in script.read(step) if home is scope}
        bound = set(script.bound(step)) if script.scope(step) is scope else set()
        early = mentioned | read | (set() if isinstance(step, SIMPLE) else bound)
        if late := sorted(bound & imported & early):
            message = f"`{late[0]}` is imported by the module, and gets another value in what has to move"
            return Reason(step, f"{message}; give it another name.")
        mentioned |= read
        imported -= bound
    return None


def hidden_by_class(script: Script, roles: Roles) -> Reason | None:
    """Why a script cannot be converted in which a class takes over a name that moves: `device = device` in its body.

    Such a body looks for the value among the names of the module only, and not in a function around it.
    """
    module = script.module
    root = module.scope_of[module.tree]
    for step in roles.moved():
        for node in module.below(step):
            if (
                not isinstance(node, ast.Name)
                or module.scope_of[node] is not root
                or not _is_read_in_class(module, node)
            ):
                continue
            if any(roles.of[binder].moves for binder in script.binders(node.id, root)):
                message = (
                    f"`{node.id}` has to move into a function, and the body of a class that binds such a name itself"
                )
                return Reason(node, f"{message} does not find it there; give one of the two another name.")
    return None


def _is_read_in_class(module: Module, name: ast.Name) -> bool:
    """Whether the body of a class reads a name that it gives a value itself."""
    scopes = (module.scope(a) for a in module.ancestors(name) if isinstance(a, (ast.ClassDef, *FUNCTIONS)))
    around = next(scopes, None)
    return around is not None and isinstance(around.node, ast.ClassDef) and name.id in around.bindings


def needed_behind_main(script: Script, roles: Roles) -> Reason | None:
    """Why a script cannot be converted whose `main` trains, and that goes on with what the training made behind it."""
    for step in script.behind_call:
        if roles.of[step].moves:
            message = "The statement goes on with models or data of the training after the function that trains"
            return Reason(step, f"{message}; move it into that function.")
    return None


def refusal_for_others(context: Context, script: Script, roles: Roles, training: Training) -> Reason | None:
    """Why a script cannot be converted that other files of its project import; None if it can."""
    module, project = context.module, context.module.project
    if project is None or not context.path:
        return None
    project.module(context.path)  # where other files cannot be read now, this file waits
    moved = {name for step in roles.moved() if not script.is_in_main(step) for name in script.bound(step)}
    trained = script.step_of(training.trains[0])
    is_run = trained is not None and not isinstance(trained, DEFINITIONS) and module.parent_of[trained] is module.tree
    at_import = script.main is None and is_run
    for other in importing_modules(module):
        if at_import and roles.of.get(trained) is Role.WORKER:  # type: ignore[arg-type]
            return Reason(
                training.trains[0],
                f"{context.path} trains where its file is imported, and {other.path} imports it: a worker would start"
                " the training again. Put the training into a function.",
            )
        for name in sorted(moved & _imported_names(other, module)):
            return Reason(
                next(step for step in roles.moved() if name in script.bound(step)),
                f"{name} has to move into the training function, but {other.path} imports it.",
            )
    return None


def _imported_names(other: Module, module: Module) -> set[str]:
    """The names by which another file may mean something of a module: what it imports from it, its attributes."""
    stem = PurePath(module.path).stem
    names = set[str]()
    for statement in other.imports:
        if isinstance(statement, ast.ImportFrom) and (statement.module or "").rpartition(".")[2] in (stem, ""):
            names |= {alias.name for alias in statement.names}
    names |= {reference.qualified.rpartition(".")[2] for reference in other.references if stem in reference.qualified}
    return names


def _starts_training(name: str, parent: ast.AST | None) -> bool:
    """Whether a use of something that starts processes is a call that may start the training."""
    if not isinstance(parent, ast.Call):
        return False
    if not name.startswith(("subprocess.", "os.system")):
        return True
    words = [part.value for part in ast.walk(parent) if isinstance(part, ast.Constant) and isinstance(part.value, str)]
    return any(word in text for text in words for word in ("torchrun", "accelerate", "deepspeed", "torch.distributed"))

"""RM801, RM803, RM804, RM806: scripts that train with transformers.Trainer alone."""

import ast
from collections.abc import Sequence

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.shared import plain_callbacks
from raymigrate.codemods.shared.helpers import take
from raymigrate.codemods.to_ray import emitted
from raymigrate.codemods.to_ray.accelerators import give_environment, give_variables, set_cpu, tell_synchronized
from raymigrate.codemods.to_ray.all_workers import tell_alone
from raymigrate.codemods.to_ray.argument_settings import batch_size, tell_settings
from raymigrate.codemods.to_ray.arrivals import arrivals, last_trained
from raymigrate.codemods.to_ray.beside_ray import tell_trainer_beside_ray
from raymigrate.codemods.to_ray.cell_lines import tell_magics
from raymigrate.codemods.to_ray.class_bodies import send_names_of_classes
from raymigrate.codemods.to_ray.clock_names import tell_names_by_time
from raymigrate.codemods.to_ray.command_line_helpers import tell_command_line_helpers
from raymigrate.codemods.to_ray.cpu_options import tell_cpu_option
from raymigrate.codemods.to_ray.decorators import tell_decorators
from raymigrate.codemods.to_ray.device_maps import tell_device_maps, trained_by
from raymigrate.codemods.to_ray.driver_downloads import tell_downloads
from raymigrate.codemods.to_ray.driver_environment import drop_launcher, set_environment
from raymigrate.codemods.to_ray.early_writes import tell_early_writes
from raymigrate.codemods.to_ray.freed_names import drop_deletions
from raymigrate.codemods.to_ray.given_schedules import tell_given_schedules
from raymigrate.codemods.to_ray.import_paths import tell_import_paths
from raymigrate.codemods.to_ray.interactive import tell_exits, tell_interrupts, tell_signals
from raymigrate.codemods.to_ray.launched import LaunchedOutline, tell_importers, tell_lines, tell_start
from raymigrate.codemods.to_ray.launches import plain_starts_of
from raymigrate.codemods.to_ray.log_settings import keep_log_settings
from raymigrate.codemods.to_ray.loss_scale import keep_loss_scale
from raymigrate.codemods.to_ray.made_folders import make_folders_once, tell_raced_downloads
from raymigrate.codemods.to_ray.order import release, roles_of
from raymigrate.codemods.to_ray.outline import Outline
from raymigrate.codemods.to_ray.own_arguments import name_classes, name_saved_classes, send_missing
from raymigrate.codemods.to_ray.own_loaders import OwnLoader, own_loaders, tell_own_loaders, tell_rows_of_own
from raymigrate.codemods.to_ray.own_stops import tell_own_stops
from raymigrate.codemods.to_ray.parsing import read_out_of_reach, reads_command_line
from raymigrate.codemods.to_ray.paths import make_paths_absolute
from raymigrate.codemods.to_ray.process_group import hand_group_to_ray, makes_own_group
from raymigrate.codemods.to_ray.read_variables import tell_read
from raymigrate.codemods.to_ray.refusals import (
    Reason,
    behind_magic,
    hidden_by_class,
    leave,
    needed_behind_main,
    rebinds_import,
    refusal,
    refusal_for_others,
)
from raymigrate.codemods.to_ray.repeated import ANEW as EACH_ANEW
from raymigrate.codemods.to_ray.repeated import repeats, tell_choices, unfit_to_repeat
from raymigrate.codemods.to_ray.results import return_results
from raymigrate.codemods.to_ray.resumed_branches import arms_of, shared_branch
from raymigrate.codemods.to_ray.roles import Mixed
from raymigrate.codemods.to_ray.saved_files import wait_for_files
from raymigrate.codemods.to_ray.saving_functions import tell_late_writes
from raymigrate.codemods.to_ray.script import DEFINITIONS, Script, script_of
from raymigrate.codemods.to_ray.shown_values import tell_shown
from raymigrate.codemods.to_ray.started_elsewhere import is_left_to_starter, is_run_by_ray, tell_other_starts
from raymigrate.codemods.to_ray.statements import Roles
from raymigrate.codemods.to_ray.step_kinds import LOGINS
from raymigrate.codemods.to_ray.streams import BY_ARGUMENTS, tell_data
from raymigrate.codemods.to_ray.trackers import keep_one_run
from raymigrate.codemods.to_ray.trainer_calls import (
    Training,
    arguments_made,
    resume_keyword,
    training_of,
)
from raymigrate.codemods.to_ray.trainer_models import unwrap_in_trainers
from raymigrate.codemods.to_ray.ways_to_launch import UnfitLaunchError, launched_of
from raymigrate.codemods.to_ray.workers import tell_gpus_of_python, tell_rows, tell_seed_of_trainer, tell_threads
from raymigrate.edits.plan import Code
from raymigrate.facts.syntax.nodes import is_assignment, targets_of
from raymigrate.facts.torch.launchers import may_be_launched
from raymigrate.facts.values import argument, has_unpacking
from raymigrate.knowledge.legacy import ACCELERATORS

GUIDE = "https://docs.ray.io/en/latest/train/getting-started-transformers.html"
RM801 = Rule(
    "RM801",
    "a plain Trainer script",
    "transformers.Trainer trains in the processes that it is started in. On Ray the workers run a training function: it"
    " has to make the model, the data and the Trainer itself, and to report what the Trainer saves.",
    "With --to-ray what trains moves into a function that a TorchTrainer runs on each worker; a run that fails goes on"
    " from the last checkpoint. A worker has the command line of Ray: the script's is parsed before, and handed over."
    " What the function returns is result.return_value, from Ray 2.56 on.",
    GUIDE,
    errors=("unrecognized arguments: --node-ip-address", "'Result' object has no attribute 'return_value'"),
)
RM803 = Rule(
    "RM803",
    "a plain Trainer script on CPU workers",
    "accelerate connects CPU workers only when it is told to use the CPU: otherwise every worker trains a model of its"
    " own, and nothing says so.",
    "With --to-ray, use_cpu=True is set where the workers have no GPU, or ACCELERATE_USE_CPU where no call shows the"
    " arguments.",
    "https://huggingface.co/docs/transformers/main_classes/trainer#transformers.TrainingArguments.use_cpu",
)
RM804 = Rule(
    "RM804",
    "workers that the user has to choose",
    "A plain script does not say how many processes train, and on what: the command that starts it does.",
    "Give --workers, and --gpu or --cpu, or change the ScalingConfig that was written.",
    "https://docs.ray.io/en/latest/train/user-guides/using-gpus.html",
)
ANEW = (
    "The class of this Trainer has a train() of its own, which is handed no checkpoint: after a failure it starts with"
    " the first step again."
)
RM806 = Rule(
    "RM806",
    "what several workers change in a plain script",
    "The batch size of a Trainer is that of one process. So each further worker makes the batch of a step larger and"
    " the steps fewer, and no learning rate is scaled.",
    "Divide per_device_train_batch_size by the number of workers to train as one process did. Give a model no"
    ' device_map="auto": each worker needs all of it.',
    GUIDE,
    errors=("You can't train a model that has been loaded with `device_map='auto'` in any distributed mode",),
)
LOGIN = "The login holds on the machine of the driver; on others, workers need the token in worker_runtime_env."
LOGIN_OF_WORKERS = (
    "The login is the workers' now, who have no terminal: without a token it asks there and gets no answer."
)
LOGIN_ADVICE = "Log in above the training, on the driver; or give workers the token in worker_runtime_env, and drop it."
EACH_TRAINER = (
    "each worker makes a Trainer of its own, to which trainer.add_callback(RayTrainReportCallback()) gives what reports"
    " its checkpoints, where it is to have some"
)


@codemod(r"\w*Trainer", phase=Phase.POSITIONS, option="to_ray")
def convert(context: Context) -> None:
    """Moves the training of a plain script to Ray."""
    module = context.module
    training = training_of(module)
    if context.imports_ray:  # it trains on Ray already, or another rule moves it to current Ray
        tell_trainer_beside_ray(context, training)
        return
    if not (training.trains or training.searches):
        return
    reason = refusal(context, training) or unfit_to_repeat(module, training)
    if reason is not None:
        leave(context, reason.node, reason.message)
        return
    try:
        launched = launched_of(context)
        script = script_of(module, training.trains)
        roles = roles_of(script, training.trains)
        release(script, roles, last_trained(script, roles, training.trains))
    except UnfitLaunchError as error:
        leave(context, training.trains[0], str(error))
        return
    except Mixed as mixed:
        leave(context, mixed.node, f"The statement cannot be moved: {mixed}.")
        return
    reason = (
        behind_magic(module, roles)
        or rebinds_import(script, roles)
        or hidden_by_class(script, roles)
        or needed_behind_main(script, roles)
        or refusal_for_others(context, script, roles, training)
    )
    unreached = None if reason is not None else _unreached(script, roles, training)
    if unreached is not None and is_left_to_starter(context, training.trains[0], EACH_TRAINER):
        return
    reason = reason or unreached or read_out_of_reach(roles)
    if reason is not None:
        leave(context, reason.node, reason.message)
        return
    _convert(context, training, LaunchedOutline(context, script, roles, launched))


def _unreached(script: Script, roles: Roles, training: Training) -> Reason | None:
    """Why a file is left that trains in a function which it does not call itself."""
    call = training.trains[0]
    step = script.step_of(call)
    if step is not None and (roles.of[step].moves or any(roles.of[s].moves for s in _behind(roles, step))):
        return None
    message = "The function that trains is not called in this file, so that its arguments cannot be seen."
    return Reason(call, f"{message} Call it here, below `if __name__`, or convert it by hand.")


def _behind(roles: Roles, definition: ast.stmt) -> list[ast.stmt]:
    """The statements that lead to the training in a function: work of the workers that is more than definitions."""
    return [step for step in roles.moved() if not isinstance(step, DEFINITIONS) and step is not definition]


def _convert(context: Context, training: Training, outline: LaunchedOutline) -> None:
    trains, main = training.trains[0], outline.script.main
    if main is not None and is_run_by_ray(context, trains, main.body[0]):
        return  # each of its workers would start workers
    if not context.converts(RM801, trains, outline.message):
        return
    context.joins_ray = True
    loaders = own_loaders(context.module, training)
    _tell_defaults(context, training, outline, loaders)
    if outline.may_be_several:
        tell_own_loaders(context, RM806, loaders)
    tell_given_schedules(context, RM806, training, outline)
    make_folders_once(context, RM806, outline)
    tell_raced_downloads(context, RM806, outline)
    tell_names_by_time(context, RM806, outline, training)
    give_environment(context, outline, training.trains[0])
    give_variables(context, outline, training.trains[0])
    _tell_changes(context, outline)
    tell_device_maps(context, RM806, outline, trained_by(context.module, training), "transformers")
    tell_importers(context, training.trains[0], outline)
    tell_other_starts(context, training.trains, outline.script.main)
    tell_decorators(context, RM806, training.trains)
    hand_group_to_ray(context, outline)
    outline.needs_argv = reads_command_line(outline)
    send_missing(context, outline)
    name_classes(context, outline)
    name_saved_classes(context, outline)
    send_names_of_classes(context, outline, RM801)
    kept = make_paths_absolute(context, outline)
    is_repeated = repeats(context.module, training)
    # One training may find the checkpoints of another in its folder, as in one that is kept.
    callback = _add_callback(context, outline, kept_folder=kept or is_repeated)
    switch = keep_loss_scale(context, training, outline)
    if is_repeated:
        context.note(RM806, training.trains[0], EACH_ANEW)
        if outline.may_be_several:
            tell_choices(context, RM806, training)
    _finish(context, training.trains, {"callback": callback, "switch": switch}, resumes=not is_repeated)
    if not outline.use_gpu:
        _train_together_on_cpu(context, training, outline)
    for call in arguments_made(context.module) if outline.use_gpu else ():
        tell_cpu_option(context, RM803, argument(call, len(call.args), "use_cpu", "no_cuda"), use_gpu=True)
    set_environment(context, RM806, outline)
    tell_read(context, RM806, outline)
    drop_launcher(context, RM801, outline)
    drop_deletions(context, RM801, outline)
    return_results(context, RM801, outline, training, unsaved=RM806)
    keep_log_settings(context, outline)
    _tell_of_all_workers(context, training, outline)
    unwrap_in_trainers(context, outline)
    keep_one_run(context, outline)
    outline.emit()


def _tell_of_all_workers(context: Context, training: Training, outline: LaunchedOutline) -> None:
    """Tells what every worker does that one process did before, or that another process no longer sees."""
    tell_early_writes(context, RM806, outline, training)
    tell_late_writes(context, RM806, outline, training)
    tell_shown(context, RM801, outline, training.trains)
    tell_magics(context, RM801, outline, training.trains)
    tell_interrupts(context, RM806, arrivals(context.module, training.trains))
    if outline.may_be_several:
        tell_own_stops(context, RM806, training.trains[0])
        wait_for_files(context, outline, training)
        tell_data(context, RM806, BY_ARGUMENTS)
        tell_alone(context, RM806, outline)


def _tell_defaults(context: Context, training: Training, outline: LaunchedOutline, loaders: list[OwnLoader]) -> None:
    if outline.placeholders:
        context.note(RM804, training.trains[0], outline.placeholders)
    place, launches = training.trains[0], outline.launched.launches
    batch, own_group = batch_size(context.module), makes_own_group(context.module)
    here = f"; here {batch} x {outline.workers}" if batch and outline.workers > 1 else ""
    is_told = tell_rows_of_own(context, RM806, place, loaders)
    if outline.known_workers is None and not own_group and not launches and not is_told:
        tell_gpus_of_python(context, RM804, place)
    tell_lines(context, place, outline.launched)
    if not launches and own_group:
        tell_start(context, place, "torchrun")
    elif not launches and may_be_launched(context.module) and not plain_starts_of(context.path, context.module):
        tell_start(context, place, "torchrun or accelerate launch")
    if not is_told:
        rows = f"The batch size of {batch} is" if batch else "per_device_train_batch_size is"
        tell_rows(context, RM806, place, rows, here, by_loader=False)
    tell_threads(context, RM806, training.trains[0], outline)
    tell_seed_of_trainer(context, RM806, training.trains[0], outline)


def _tell_changes(context: Context, outline: Outline) -> None:
    """Tells what the settings of a script mean on Ray that they did not mean before."""
    module = context.module
    tell_settings(context, RM806, outline)
    tell_import_paths(context, RM806, outline)
    tell_exits(context, RM806, outline)
    tell_signals(context, RM806, outline)
    tell_downloads(context, RM806, outline)
    tell_command_line_helpers(context, RM806, outline)
    of_workers = outline.roles.moved_or_makers()
    for call in module.calls(*LOGINS):
        if not any(module.inside(call, step) for step in of_workers):
            context.note(RM806, call, LOGIN)
        elif argument(call, 0, "token", "key") is None:
            context.manual(RM806, call, LOGIN_OF_WORKERS, LOGIN_ADVICE)


# -- around train() ------------------------------------------------------------------------------


def _add_callback(context: Context, outline: Outline, *, kept_folder: bool) -> str:
    """Adds the class of the callback that reports checkpoints; gives its name."""
    need = context.plan.need_import
    need("os")
    need("ray.train")
    need("ray.train.huggingface.transformers", "prepare_trainer")
    helper = plain_callbacks.CALLBACK_FOR_KEPT_FOLDER if kept_folder else plain_callbacks.CALLBACK
    name, source = take(context, helper)
    outline.support += [source.strip("\n")] if source else []
    return name


def _finish(context: Context, trains: Sequence[ast.Call], names: dict[str, str], *, resumes: bool) -> None:
    """Lets a Trainer report and resume, around its calls of `train`: one, or one in each branch of an `if`."""
    module = context.module
    branch = shared_branch(module, trains) if resumes else None
    for key in ("checkpoint", "checkpoint_dir"):
        names[key] = key if key not in module.names else f"ray_{key}"
    if branch is not None:
        assert isinstance(trains[0].func, ast.Attribute)
        trainer = module.source(trains[0].func.value)
        set_up = _set_up(trainer, names) + emitted.LAST_CHECKPOINT.format(**names)
        context.plan.statement(branch).before.append(Code(set_up))
        arms, keyword = arms_of(module, branch), resume_keyword(module, trains[0].func.value)
        if arms is not None and keyword and set(arms.calls) == set(trains):
            context.plan.statement(branch).replacement = arms.resumed(trainer, keyword, names)
            return
    for call in trains:
        _resume(context, call, names, is_set_up=branch is not None, resumes=resumes)


def _set_up(trainer: str, names: dict[str, str]) -> str:
    given = {**names, "switch": names["switch"].format(trainer=trainer)}
    return emitted.SET_UP.format(trainer=trainer, **given)


def _resume(context: Context, call: ast.Call, names: dict[str, str], *, is_set_up: bool, resumes: bool) -> None:
    """Lets one call of `train` go on from the checkpoint of a run that failed."""
    module, plan = context.module, context.plan
    statement = module.statement(call)
    assert isinstance(call.func, ast.Attribute)
    target = "return " if isinstance(statement, ast.Return) else ""
    if is_assignment(statement):
        target = "".join(f"{module.source(other)} = " for other in targets_of(statement))
    made = call.func.value
    trainer, text = module.source(made), ""
    if isinstance(statement, ast.AnnAssign):
        text = f"{module.source(statement.target)}: {module.source(statement.annotation)}\n"  # once, for both branches
    parts: dict[str, ast.expr | str] = {"train": call}
    if not isinstance(made, (ast.Name, ast.Attribute)):
        trainer = context.fresh("trainer", "hf_trainer")
        text += f"{trainer} = $made\n"
        parts["made"] = made
        plan.hoist(made, trainer)
    keyword = resume_keyword(module, made) if resumes else ""
    text += "" if is_set_up else _set_up(trainer, names)
    if keyword:
        text += "" if is_set_up else emitted.LAST_CHECKPOINT.format(**names)
        folder = names["checkpoint_dir"]
        text += emitted.RESUME.format(trainer=trainer, target=target, keyword=keyword, folder=folder, **names)
    else:
        if resumes:
            context.note(RM806, call, ANEW)
        text += f"{target}$train\n"
    plan.statement(statement).replacement = Code(text, parts)


# -- what the workers need -----------------------------------------------------------------------


def _train_together_on_cpu(context: Context, training: Training, outline: Outline) -> None:
    """Tells accelerate that the workers have no GPU, without which each would train alone."""
    tell_synchronized(context, RM803)
    module = context.module
    calls = arguments_made(module)
    sure = [call for call in calls if not has_unpacking(call)]
    for call in sure:
        given = argument(call, len(call.args), "use_cpu", "no_cuda")
        if isinstance(given, ast.Constant) and given.value is True:
            continue
        tell_cpu_option(context, RM803, given, use_gpu=False)
        if context.converts(RM803, call, "On CPU workers each would train a model of its own; now use_cpu=True."):
            context.plan.call(call).set("use_cpu", "True")
    set_cpu(context, list(module.calls(*ACCELERATORS)), told=calls)
    if len(sure) < len(calls) or not calls:
        message = "On CPU workers each would train a model of its own; now ACCELERATE_USE_CPU is set for them."
        if context.converts(RM803, training.trains[0], message):
            outline.environment["ACCELERATE_USE_CPU"] = "true"

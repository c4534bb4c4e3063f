"""RM820: scripts that train with accelerate alone."""

import ast

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.to_ray.accelerators import (
    RM821,
    apply_file,
    give_variables,
    set_cpu,
    tell_gpu_settings,
    tell_synchronized,
)
from raymigrate.codemods.to_ray.behind_launchers import tell_behind
from raymigrate.codemods.to_ray.beside_ray import tell_beside_ray
from raymigrate.codemods.to_ray.cell_lines import tell_magics
from raymigrate.codemods.to_ray.class_bodies import send_names_of_classes
from raymigrate.codemods.to_ray.command_line_helpers import tell_command_line_helpers
from raymigrate.codemods.to_ray.copied_frames import with_copies
from raymigrate.codemods.to_ray.cpu_options import tell_cpu_option
from raymigrate.codemods.to_ray.decorators import tell_decorators
from raymigrate.codemods.to_ray.device_maps import tell_device_maps
from raymigrate.codemods.to_ray.driver_downloads import tell_downloads
from raymigrate.codemods.to_ray.driver_environment import drop_launcher, set_environment
from raymigrate.codemods.to_ray.epochs import epochs_of, report_epochs
from raymigrate.codemods.to_ray.freed_names import drop_deletions
from raymigrate.codemods.to_ray.handed_models import tell_handed_models
from raymigrate.codemods.to_ray.import_paths import tell_import_paths
from raymigrate.codemods.to_ray.interactive import tell_exits, tell_signals
from raymigrate.codemods.to_ray.launched import RM825, LaunchedOutline, tell_importers, tell_launch
from raymigrate.codemods.to_ray.log_settings import keep_log_settings
from raymigrate.codemods.to_ray.made_folders import make_folders_once, tell_raced_downloads
from raymigrate.codemods.to_ray.notebook_launchers import (
    STARTED_BY_CALL,
    NotebookLaunch,
    launch_of,
    replace_launch,
    started_by_notebook,
)
from raymigrate.codemods.to_ray.order import release, roles_of
from raymigrate.codemods.to_ray.own_arguments import name_saved_classes, send_missing
from raymigrate.codemods.to_ray.parsing import read_out_of_reach, reads_command_line
from raymigrate.codemods.to_ray.paths import make_paths_absolute
from raymigrate.codemods.to_ray.prepared import RM829, prepares
from raymigrate.codemods.to_ray.process_group import hand_group_to_ray
from raymigrate.codemods.to_ray.read_variables import tell_read
from raymigrate.codemods.to_ray.refusals import (
    RM802,
    Reason,
    accelerator_for_others,
    behind_magic,
    hidden_by_class,
    keeps_to_itself,
    leave,
    rebinds_import,
    refusal,
    refusal_for_others,
)
from raymigrate.codemods.to_ray.roles import Mixed
from raymigrate.codemods.to_ray.script import DEFINITIONS, script_of
from raymigrate.codemods.to_ray.shown_values import tell_shown
from raymigrate.codemods.to_ray.started_elsewhere import UNSTARTED, is_left_to_starter, is_run_by_ray, tell_other_starts
from raymigrate.codemods.to_ray.streams import BY_ACCELERATOR, tell_data
from raymigrate.codemods.to_ray.trackers import keep_one_run
from raymigrate.codemods.to_ray.trainer_calls import Training, training_of
from raymigrate.codemods.to_ray.traps import RM828, tell_traps
from raymigrate.codemods.to_ray.ways_to_launch import UnfitLaunchError, launched_of
from raymigrate.codemods.to_ray.workers import tell_rows, tell_seed, tell_threads, tell_unused
from raymigrate.codemods.to_ray.wrapped import unwrap_prepared
from raymigrate.facts.hugging_face.spread_models import makers_of
from raymigrate.facts.values import argument
from raymigrate.knowledge.legacy import ACCELERATORS

GUIDE = "https://docs.ray.io/en/latest/train/huggingface-accelerate.html"
RM820 = Rule(
    "RM820",
    "a plain Accelerate script",
    "accelerate launch starts the script once for each process. On Ray the workers run a training function: it has to"
    " make the Accelerator, the model and the data itself, and to report its metrics.",
    "With --to-ray what trains moves into a function that a TorchTrainer runs on each worker; what prepare, backward"
    " and gather do stays as it is, since accelerate reads its rank from Ray's environment.",
    GUIDE,
)

ELSEWHERE = (
    "The step is in {path}, which stays as it is. What several workers do otherwise, such as counting without"
    " gather_for_metrics(), is told of this file alone."
)


@codemod("Accelerator", phase=Phase.POSITIONS, option="to_ray")
def convert(context: Context) -> None:
    """Moves the training of a plain Accelerate script to Ray."""
    module = context.module
    made = list(module.calls(*ACCELERATORS))
    if not made or training_of(module).makes:
        return
    if context.is_ray_script:
        if context.imports_ray and any(module.method_calls("backward")):
            tell_beside_ray(context, made[0])
        return
    found = launch_of(module)
    reason = found if isinstance(found, Reason) else refusal(context, Training([], [], []), besides=STARTED_BY_CALL)
    if reason is not None:
        leave(context, reason.node, reason.message)
        return
    notebook = found if isinstance(found, NotebookLaunch) else None
    epochs = epochs_of(module)
    if (epochs.backward is None or epochs.elsewhere) and (
        reason := accelerator_for_others(context, made[0])
    ) is not None:
        leave(context, reason.node, reason.message)
        return
    if epochs.backward is None:
        if all(keeps_to_itself(module, call) for call in made):
            context.note(RM802, made[0], "Nothing trains with this Accelerator, so that nothing moves.")
            return
        message = (
            "No call of accelerator.backward is in this file, so what trains is somewhere else: convert it by hand."
        )
        leave(context, made[0], message)
        return
    trains = [notebook.call] if notebook is not None else made
    try:
        launched = launched_of(context, notebook)
        script = script_of(module, trains)
        started = [node for node in trains if not isinstance(script.step_of(node), DEFINITIONS)]
        roles = roles_of(script if notebook is None else with_copies(script, notebook), started)
        script = roles.script
        if notebook is not None:
            release(script, roles, script.step_of(notebook.call))
    except UnfitLaunchError as error:
        leave(context, made[0], str(error))
        return
    except Mixed as mixed:
        leave(context, mixed.node, f"The statement cannot be moved: {mixed}.")
        return
    if all(isinstance(step, DEFINITIONS) for step in roles.moved()):
        _leave_unstarted(context, made[0])
        return
    reason = behind_magic(script.module, roles) or rebinds_import(script, roles) or hidden_by_class(script, roles)
    reason = reason or refusal_for_others(context, script, roles, Training([], trains, []))
    reason = reason or read_out_of_reach(roles)
    if reason is not None:
        leave(context, reason.node, reason.message)
        return
    _convert(context, made, LaunchedOutline(context, script, roles, launched))


def _leave_unstarted(context: Context, made: ast.Call) -> None:
    """Leaves a script whose training another file starts."""
    functions = [node.name for node in context.module.of_type(ast.FunctionDef)]
    found = started_by_notebook(context.path, functions)
    if found is None:
        if not is_left_to_starter(context, made, "each worker makes an Accelerator of its own"):
            leave(context, made, f"{UNSTARTED}: convert the script that calls it by hand.")
        return
    notebook, name = found
    message = f"A cell of {notebook} starts {name}() with a launcher of accelerate, and no statement of this file does."
    advice = f"Define {name}() in a cell of the notebook, or call it at the end of this file and run that with python."
    leave(context, made, message, f"{advice} Then run raymigrate --to-ray again.")


def _convert(context: Context, made: list[ast.Call], outline: LaunchedOutline) -> None:
    main = outline.script.main
    if main is not None and is_run_by_ray(context, made[0], main.body[0]):
        return  # each of its workers would start workers
    if not context.converts(RM820, made[0], outline.message):
        return
    context.joins_ray = True
    launched, notebook = outline.launched, outline.launched.notebook
    _tell_of_workers(context, made, outline)
    if launched.form is not None:
        apply_file(context, outline, made, launched.form, launched.name)
    give_variables(context, outline, made[0])
    if not outline.use_gpu and not outline.resources:
        set_cpu(context, made)
        tell_gpu_settings(context, made)
        tell_synchronized(context, RM821)
    for call in made if outline.use_gpu else ():
        tell_cpu_option(context, RM821, argument(call, 4, "cpu"), use_gpu=True)
    hand_group_to_ray(context, outline)
    if notebook is not None:
        replace_launch(context, notebook)
        tell_behind(context, outline, notebook)
    outline.needs_argv = reads_command_line(outline)
    send_missing(context, outline)
    name_saved_classes(context, outline)
    send_names_of_classes(context, outline, RM820)
    make_paths_absolute(context, outline)
    set_environment(context, RM820, outline)
    keep_log_settings(context, outline)
    tell_import_paths(context, RM820, outline)
    tell_exits(context, RM828, outline)
    tell_signals(context, RM828, outline)
    tell_downloads(context, RM828, outline)
    tell_raced_downloads(context, RM828, outline)
    tell_command_line_helpers(context, RM828, outline)
    tell_read(context, RM820, outline)
    drop_launcher(context, RM820, outline)
    drop_deletions(context, RM820, outline)
    epochs = epochs_of(context.module)
    if epochs.elsewhere and epochs.backward is not None:
        context.note(RM820, epochs.backward, ELSEWHERE.format(path=epochs.elsewhere))
    report_epochs(context, epochs)
    if epochs.loop is not None and not epochs.elsewhere:
        tell_other_starts(context, [epochs.loop], outline.script.main)
    unwrap_prepared(context, outline)
    tell_handed_models(context, outline)
    tell_traps(context, outline, epochs)
    make_folders_once(context, RM828, outline)
    tell_data(context, RM828, BY_ACCELERATOR)
    keep_one_run(context, outline)
    tell_shown(context, RM820, outline, [epochs.loop] if epochs.loop is not None else made)
    tell_magics(context, RM820, outline, [epochs.loop] if epochs.loop is not None else made)
    outline.tell_return(RM820)
    outline.emit()


def _tell_of_workers(context: Context, made: list[ast.Call], outline: LaunchedOutline) -> None:
    """Tells what several workers, which Ray starts, make of what the script says of processes."""
    tell_launch(context, made[0], outline)
    tell_importers(context, made[0], outline)
    tell_decorators(context, RM828, made)
    known = f"; here N = {outline.known_workers}" if outline.known_workers is not None else ""
    tell_rows(context, RM825, made[0], "The batch_size of a DataLoader is", known)
    tell_threads(context, RM825, made[0], outline)
    tell_seed(context, RM828, outline)
    tell_unused(context, made[0], outline)
    given = [model for prepare in prepares(context.module) for model in prepare.call.args]
    tell_device_maps(context, RM829, outline, makers_of(context.module, given) if given else None, "accelerate")

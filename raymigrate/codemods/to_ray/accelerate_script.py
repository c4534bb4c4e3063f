"""RM820, RM824, RM825: scripts that train with accelerate alone."""

from __future__ import annotations

import ast
from functools import cached_property
from pathlib import Path

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.to_ray.accelerators import apply_file, set_cpu
from raymigrate.codemods.to_ray.epochs import epochs_of, report_epochs
from raymigrate.codemods.to_ray.launches import Launch, file_of, is_launched_one_way, launches_of
from raymigrate.codemods.to_ray.notebook_launchers import STARTED_BY_CALL, NotebookLaunch, launch_of, replace_launch
from raymigrate.codemods.to_ray.outline import Outline, asks_for_gpu
from raymigrate.codemods.to_ray.paths import make_paths_absolute
from raymigrate.codemods.to_ray.plain_trainer import drop_launcher, reads_command_line, set_environment
from raymigrate.codemods.to_ray.refusals import RM802, Reason, refusal
from raymigrate.codemods.to_ray.script import DEFINITIONS, Script, script_of
from raymigrate.codemods.to_ray.statements import Mixed, Roles
from raymigrate.codemods.to_ray.trainer_calls import Training, training_of
from raymigrate.codemods.to_ray.traps import tell_traps
from raymigrate.facts.accelerate_config import read_file
from raymigrate.facts.launch_file import launch_form
from raymigrate.facts.launch_flags import with_flags
from raymigrate.facts.launch_form import LaunchForm, NoRayFormError, RejectedFileError
from raymigrate.facts.legacy import ACCELERATORS

GPU_PLUGINS = ("fsdp_plugin", "deepspeed_plugin", "deepspeed_plugins")
GPU_PRECISIONS = ("fp16", "fp8")  # on CPUs the first does nothing, and the other raises
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
RM824 = Rule(
    "RM824",
    "a line that launches a converted script",
    "A converted script starts its workers itself: under accelerate launch each process would start a run of its own.",
    "Run it with python; the number of workers is in its ScalingConfig.",
    GUIDE,
)
RM825 = Rule(
    "RM825",
    "how a plain Accelerate script was launched",
    "The number of processes, the device and the precision come from accelerate launch: from its flags, from the file"
    " that they name, or from accelerate/default_config.yaml below $HF_HOME of the user who starts it.",
    "Compare `raymigrate config FILE` with the converted script; --workers, --gpu and --cpu win over all of them.",
    GUIDE,
)


class AccelerateOutline(Outline):
    """An outline whose workers are those that the script was launched with.

    Args:
        context: The module.
        script: Its statements.
        roles: Where each of them goes.
        form: What accelerate's file and the flags come to; None where nothing is known of them.
        notebook: The call of notebook_launcher, if there is one.
    """

    def __init__(
        self, context: Context, script: Script, roles: Roles, form: LaunchForm | None, notebook: NotebookLaunch | None
    ) -> None:
        super().__init__(context, script, roles)
        self.form = form
        self.notebook = notebook

    @property
    def known_workers(self) -> int | None:
        """The number of workers, as far as anything says it."""
        launched = self.notebook.processes if self.notebook is not None else None
        of_file = self.form.workers if self.form is not None else None
        return self.context.options.workers or launched or of_file

    @property
    def workers(self) -> int:
        """How many workers train: 1 where nothing says it."""
        return self.known_workers or 1

    @cached_property
    def known_gpu(self) -> bool | None:
        """Whether each worker has a GPU, as far as anything says it."""
        if self.context.options.gpu is not None:
            return self.context.options.gpu
        if self.notebook is not None and self.notebook.on_cpu:
            return False
        return self.form.use_gpu if self.form is not None else None

    @cached_property
    def use_gpu(self) -> bool:
        """Whether each worker has a GPU: what is known, else whether the script shows that it needs one."""
        if self.known_gpu is not None:
            return self.known_gpu
        given = [keyword for call in self.module.calls(*ACCELERATORS) for keyword in call.keywords]
        if any(keyword.arg in GPU_PLUGINS for keyword in given):
            return True
        precisions = (self.module.constant(keyword.value) for keyword in given if keyword.arg == "mixed_precision")
        return any(precision in GPU_PRECISIONS for precision in precisions) or asks_for_gpu(self.context)


@codemod("Accelerator", phase=Phase.POSITIONS, option="to_ray")
def convert(context: Context) -> None:
    """Moves the training of a plain Accelerate script to Ray."""
    module = context.module
    made = list(module.calls(*ACCELERATORS))
    if context.is_ray_script or not made or training_of(module).makes:
        return
    found = launch_of(module)
    reason = found if isinstance(found, Reason) else refusal(context, Training([], [], []), besides=STARTED_BY_CALL)
    if reason is not None:
        context.manual(RM802, reason.node, reason.message)
        return
    notebook = found if isinstance(found, NotebookLaunch) else None
    epochs = epochs_of(module)
    if epochs.backward is None:
        message = (
            "No call of accelerator.backward is in this file, so what trains is somewhere else: convert it by hand."
        )
        context.manual(RM802, made[0], message)
        return
    launches = launches_of(context.path)
    file = file_of(context.path, launches) if notebook is None else None
    try:
        form = _form(file, launches)
        trains: list[ast.AST] = [notebook.call] if notebook is not None else list(made)
        script = script_of(module, trains)
        started = [node for node in trains if not isinstance(script.step_of(node), DEFINITIONS)]
        roles = Roles(script, started)
    except (NoRayFormError, RejectedFileError) as error:
        context.manual(RM802, made[0], _unfit(file, error))
        return
    except Mixed as mixed:
        context.manual(RM802, mixed.node, f"The statement cannot be moved: {mixed}.")
        return
    if all(isinstance(step, DEFINITIONS) for step in roles.moved()):
        message = "No statement of this file starts the training: convert the script that calls it by hand."
        context.manual(RM802, made[0], message)
        return
    _convert(context, made, AccelerateOutline(context, script, roles, form, notebook), file, launches)


def _form(file: Path | None, launches: list[Launch]) -> LaunchForm | None:
    """What the file and the flags of the only line that launches the script come to."""
    flags = launches[0].known_flags if is_launched_one_way(launches) else {}
    try:
        config = read_file(file) if file is not None else {}
    except (OSError, ValueError) as error:
        raise RejectedFileError(str(error)) from error
    if not config and not flags:
        return None
    return launch_form(with_flags(config, flags), file.name if file is not None else "the command")


def _unfit(file: Path | None, error: ValueError) -> str:
    name = file.name if file is not None else "The command"
    if isinstance(error, NoRayFormError):
        return f"{error} is started by accelerate itself (TPU, SageMaker, Megatron-LM); Ray Train has no equal form."
    return f"{name}: accelerate 1.15 rejects this file: {error}"


def _convert(
    context: Context, made: list[ast.Call], outline: AccelerateOutline, file: Path | None, launches: list[Launch]
) -> None:
    count = "1 worker" if outline.workers == 1 else f"{outline.workers} workers"
    message = f"The training moves into a function that Ray runs on {count}"
    if not context.converts(RM820, made[0], f"{message}, each with a GPU." if outline.use_gpu else f"{message}."):
        return
    context.joins_ray = True
    _tell_launch(context, made[0], outline, file, launches)
    if outline.form is not None:
        name = file.name if file is not None else f"{launches[0].file.name}:{launches[0].line}"
        apply_file(context, outline, made, outline.form, name)
    if not outline.use_gpu and not outline.resources:
        set_cpu(context, made)
    if outline.notebook is not None:
        replace_launch(context, outline.notebook)
    outline.needs_argv = reads_command_line(outline)
    make_paths_absolute(context, outline)
    set_environment(context, outline)
    drop_launcher(context, outline)
    epochs = epochs_of(context.module)
    report_epochs(context, epochs)
    tell_traps(context, epochs)
    outline.emit()


def _tell_launch(
    context: Context, place: ast.Call, outline: AccelerateOutline, file: Path | None, launches: list[Launch]
) -> None:
    """Says what the number of workers rests on, and what several workers change."""
    missing = []
    if outline.known_workers is None:
        missing.append("--workers")
    if outline.known_gpu is None:
        missing.append("--gpu or --cpu")
    if missing:
        device = "with" if outline.use_gpu else "without"
        message = f"{' and '.join(missing)} not given: num_workers={outline.workers} and workers {device} a GPU"
        context.note(RM825, place, f"{message} are placeholders.")
    if file is None and outline.notebook is None:
        message = "A default_config.yaml of the user who ran the script may have been in force, which is not seen here."
        context.note(RM825, place, message)
    if launches and not is_launched_one_way(launches):
        context.note(RM825, place, "The lines that launch it differ, so the flags of none of them are written.")
    for launch in launches:
        name = Path(context.path).name
        message = (
            f"{launch.file.name}:{launch.line} says `{launch.text}`; it is `python {name}` now, with the script's own"
        )
        context.note(RM824, place, f"{message} arguments.")
    context.note(
        RM825,
        place,
        "The batch_size of a DataLoader is that of one worker: N workers see N times the rows in each step and"
        f" take 1/N of the steps, at the same learning rate; here N = {outline.workers}.",
    )

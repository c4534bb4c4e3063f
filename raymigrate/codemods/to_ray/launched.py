"""RM824, RM825: how a plain script was started, and the workers that it has on Ray for that."""

import ast
import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from shlex import quote

from raymigrate.base.findings import Rule
from raymigrate.base.options import ACCELERATE_LAUNCH
from raymigrate.base.words import few
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.argument_changes import TRAINING_ARGUMENTS_CHANGES
from raymigrate.codemods.libraries.old_transformers import is_for_old_transformers
from raymigrate.codemods.libraries.settings_keys import KEYS_OF_TRL
from raymigrate.codemods.to_ray.given_datasets import tell_given_datasets
from raymigrate.codemods.to_ray.launch_line import Launch, is_launched_one_way
from raymigrate.codemods.to_ray.launches import (
    NOTEBOOK,
    file_beside,
    is_databricks,
    is_named_for_others,
    launches_of,
    may_read_file,
    named_files,
    plain_starts_of,
    start_without_launcher,
)
from raymigrate.codemods.to_ray.other_scripts import other_scripts
from raymigrate.codemods.to_ray.outline import Outline
from raymigrate.codemods.to_ray.script import Script
from raymigrate.codemods.to_ray.statements import Roles
from raymigrate.codemods.to_ray.ways_to_launch import Launched, UnfitLaunchError, launched_with
from raymigrate.facts.hugging_face.argument_objects import parsed_for_trainers
from raymigrate.facts.projects.indirect import parsings
from raymigrate.facts.projects.takers import takers
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import origins
from raymigrate.facts.values.carried import values_given
from raymigrate.knowledge.legacy import ACCELERATORS, TRAINING_ARGUMENTS

GPU_PLUGINS = ("fsdp_plugin", "deepspeed_plugin", "deepspeed_plugins")
PRECISION = ("mixed_precision", 2)  # of an Accelerator's arguments
GPU_PRECISIONS = ("fp16", "fp8")  # on CPUs the first does nothing, and the other raises
# What a script asks for that reckons with a plugin which accelerate launch made from its configuration.
PLUGIN_READS = {"deepspeed_plugin": "DeepSpeed", "fsdp_plugin": "FSDP"}
TYPES = {"DEEPSPEED": "DeepSpeed", "FSDP": "FSDP"}  # of DistributedType
DUMMIES = ("DummyOptim", "DummyScheduler")
GUIDE = "https://docs.ray.io/en/latest/train/huggingface-accelerate.html"
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

ONE_OF_SEVERAL = (
    "Write what `raymigrate config FILE` shows of the one that is to be in force. Or undo this, let one line name its"
    " file, and convert again."
)
ONE_LINE = (
    "Give the Accelerator, or the TrainingArguments, what the line that is to be in force asked for. Or undo this,"
    " leave one of the lines, and convert again."
)
# Flags by which the same script trains differently, not only elsewhere or on more processes.
HOW_IT_TRAINS = (
    *("mixed_precision", "fp16", "use_deepspeed", "use_fsdp", "dynamo_backend", "gradient_accumulation_steps"),
    "gradient_clipping",
)
NO_CHANGE = ("no", "1")  # --mixed_precision no, --gradient_accumulation_steps 1: as where nothing is asked for
NOT_THERE = "Where that file is found, `raymigrate config FILE` shows what to write for it."


class LaunchedOutline(Outline):
    """An outline whose workers are those that the script was launched with.

    Args:
        context: The module.
        script: Its statements.
        roles: Where each of them goes.
        launched: How it was started.
    """

    def __init__(self, context: Context, script: Script, roles: Roles, launched: Launched) -> None:
        super().__init__(context, script, roles)
        self.launched = launched

    @property
    def known_workers(self) -> int | None:
        """The number of workers, as far as anything says it."""
        notebook, form = self.launched.notebook, self.launched.form
        of_call = notebook.processes if notebook is not None else None
        return self.context.options.workers or of_call or (form.workers if form is not None else None)

    @property
    def workers(self) -> int:
        """How many workers train: 1 where nothing says it."""
        return self.known_workers or 1

    @property
    def may_be_several(self) -> bool:
        """Whether more than one worker may train: a 1 that nothing says is only a placeholder."""
        return self.known_workers != 1

    @property
    def may_grow(self) -> bool:
        """Whether more workers may train than processes did before, as far as it is seen how many these were."""
        notebook, form = self.launched.notebook, self.launched.form
        before = (notebook.processes if notebook is not None else None) or (form.workers if form is not None else None)
        return self.may_be_several and (before is None or (self.known_workers or before) > before)

    @property
    def wraps_anew(self) -> bool:
        """Whether accelerate may wrap a model that it did not wrap before: one CPU worker is enough for that."""
        notebook, form = self.launched.notebook, self.launched.form
        before = notebook.processes if notebook is not None else form.workers if form is not None else None
        on_gpus = notebook is not None or (form is not None and form.use_gpu)
        return self.may_grow or not (self.use_gpu or (on_gpus and (before or 1) > 1))

    @cached_property
    def known_gpu(self) -> bool | None:
        """Whether each worker has a GPU, as far as anything says it."""
        notebook, form = self.launched.notebook, self.launched.form
        if self.context.options.gpu is not None:
            return self.context.options.gpu
        if notebook is not None and notebook.on_cpu:
            return False
        return form.use_gpu if form is not None else None

    @cached_property
    def use_gpu(self) -> bool:
        """Whether each worker has a GPU: what is known, else whether the script shows that it needs one."""
        if self.known_gpu is not None:
            return self.known_gpu
        made = list(self.module.calls(*ACCELERATORS))
        if any(keyword.arg in GPU_PLUGINS for call in made for keyword in call.keywords):
            return True
        if any(precision in GPU_PRECISIONS for call in made for precision in precisions(self.module, call)):
            return True
        return super().use_gpu

    @property
    def placeholders(self) -> str:
        """What of the workers nothing says; empty if all of it is known."""
        chosen = {"--workers": f"num_workers={self.workers}"} if self.known_workers is None else {}
        chosen |= {"--gpu or --cpu": f"use_gpu={self.use_gpu}"} if self.known_gpu is None else {}
        if not chosen:
            return ""
        are = "are placeholders" if len(chosen) > 1 else "is a placeholder"
        told = f"{' and '.join(chosen)} not given: {' and '.join(chosen.values())} {are}."
        if self.known_gpu is None and not self.use_gpu:
            held = "cpu=True" if any(self.module.calls(*ACCELERATORS)) else "use_cpu=True or ACCELERATE_USE_CPU"
            told += f" If you write use_gpu=True, take out {held} too, or the workers train on the CPU all the same."
        return told


def precisions(module: Module, call: ast.Call) -> list[object]:
    """The mixed precisions that an Accelerator may have: `...` for one that is not known, nothing where none is given.

    Args:
        module: The module.
        call: What makes the Accelerator.
    """
    ends = [end for given in values_given(module, call, *PRECISION) for end in origins(*given)]
    return [end.module.constant(end.node) for end in ends]


def tell_launch(context: Context, place: ast.AST, outline: LaunchedOutline) -> None:
    """Says what the number of workers rests on, and which lines have to change."""
    launched = outline.launched
    if outline.placeholders:
        context.note(RM825, place, outline.placeholders)
    launcher = context.options.launcher
    is_unseen = launched.file is None and launched.notebook is None and launcher == ACCELERATE_LAUNCH
    is_unseen = is_unseen and not named_files(context.path, launched.launches)
    if is_unseen and may_read_file(context.path, launched.launches, context.module):
        message = "A default_config.yaml of the user who ran the script may have been in force, which is not seen here."
        context.note(RM825, place, message)
        _tell_plugins(context)
    tell_lines(context, place, launched)
    if not launched.launches and launched.notebook is None and launcher:
        tell_start(context, place, launcher)


def _tell_plugins(context: Context) -> None:
    """Says what workers train without where a script reckons with a plugin, and no configuration of it is seen."""
    module = context.module
    if any(keyword.arg in GPU_PLUGINS for call in module.calls(*ACCELERATORS) for keyword in call.keywords):
        return
    reads: list[tuple[ast.expr, str]] = [(node, PLUGIN_READS[node.attr]) for node in module.attributes(*PLUGIN_READS)]
    types = (node for node in module.attributes(*TYPES) if _is_of_accelerate(module, node))
    reads += [(node, TYPES[node.attr]) for node in types]
    names = (f"accelerate.{where}{name}" for name in DUMMIES for where in ("utils.", "utils.deepspeed.", ""))
    reads += [(reference.node, "DeepSpeed") for reference in module.references_within(*names)]
    for name in dict.fromkeys(name for _, name in reads):
        place = min((node for node, its_name in reads if its_name == name), key=lambda node: node.lineno)
        plugin = "DeepSpeedPlugin" if name == "DeepSpeed" else "FullyShardedDataParallelPlugin"
        message = (
            f"The script expects {name}: where a configuration of accelerate launch asked for it, the workers"
            f" train without. Put that beside the script before it is converted, or give the Accelerator {plugin}(...)."
        )
        context.note(RM825, place, message)


def _is_of_accelerate(module: Module, node: ast.Attribute) -> bool:
    return (module.qualified(node) or "").startswith("accelerate.")


def tell_start(context: Context, place: ast.AST, launcher: str) -> None:
    """Says how a converted script is started, where no line is seen that launched it; no launcher starts a notebook."""
    if is_notebook(context):
        return
    command = start_without_launcher(context.path, context.module)
    message = f"It is started with {command} now: under {launcher} each process would start a run of its own."
    context.note(RM825, place, message)


def is_notebook(context: Context) -> bool:
    """Whether a file is a notebook, whose cells are run one by one."""
    return context.path.endswith(NOTEBOOK) or (context.path != "" and is_databricks(Path(context.path)))


def tell_lines(context: Context, place: ast.AST, launched: Launched) -> None:
    """Names the lines that launch a script, with what replaces them."""
    if launched.file is None and not launched.launches and may_read_file(context.path, [], context.module):
        _tell_passed_over(context, place)
    has_none = launched.file is None and launched.notebook is None
    is_told = has_none and _tell_named(context, place, launched.launches)
    if not is_told and launched.launches and not is_launched_one_way(launched.launches):
        _tell_differing(context, place, launched.launches)
    _tell_each(context, place, launched.launches, context.path)


def _tell_differing(context: Context, place: ast.AST, launches: list[Launch]) -> None:
    """Says that lines differ, and without which of their flags the workers train in another way."""
    message = "The lines that launch it differ, so none of their flags are written"
    given = {flag for launch in launches for flag, value in launch.flags.items() if value not in NO_CHANGE}
    if asked := ", ".join(f"--{flag}" for flag in HOW_IT_TRAINS if flag in given):
        context.manual(RM825, place, f"{message}: the workers train without {asked}.", ONE_LINE)
    else:
        context.note(RM825, place, f"{message}.")


def _tell_named(context: Context, place: ast.AST, launches: list[Launch]) -> bool:
    """Tells of files of accelerate that lines name and that are not taken; whether there are some."""
    names = [file.name if file.is_file() else str(file) for file in named_files(context.path, launches)]
    if len(names) > 1:
        message = f"What launches it names {few(names)}, one of which was in force: the workers train without."
        context.manual(RM825, place, message, ONE_OF_SEVERAL)
    elif names:
        message = f"What launches it names {names[0]}, which is not found: the workers train without."
        context.manual(RM825, place, message, NOT_THERE)
    return bool(names)


def _tell_passed_over(context: Context, place: ast.AST) -> None:
    """Names a file of accelerate that may have been for this script, or for another one in the same folder."""
    file = file_beside(context.path)
    if file is None or is_named_for_others(context.path, file, context.module):
        return
    others = other_scripts(Path(context.path), context.module.project)
    if others:
        beside = f"{file.name} lies beside {few(others)} too"
        message = f"{beside}, and no line says which script it was for: it is not taken."
        context.note(RM825, place, f"{message} {_command(context, file)} shows what to write if it was this one.")


def tell_starts(context: Context, place: ast.AST, path: str, when: str = "now") -> None:
    """Says what each line that launches a script which imports this one has to become; see `_tell_each`."""
    launches = launches_of(path, context.module)
    _tell_each(context, place, launches, path, when)
    _tell_settings(context, place, path, launches)


def _tell_settings(context: Context, place: ast.AST, path: str, launches: list[Launch]) -> None:
    """Says what accelerate launch gave the processes of a script that imports this one, and python does not.

    The conversion of this file writes nothing of the file and the flags that another one is launched with.
    """
    if not launches:
        return
    try:
        launched = launched_with(path, launches, context.module)
    except UnfitLaunchError as error:
        context.note(RM825, place, f"How {Path(path).name} was launched: {error}")
        return
    if launched.form is None:
        return
    asked = _call("ScalingConfig", launched.form.scaling_arguments())
    if given := launched.form.accelerator_arguments():
        asked = f"{_call('Accelerator', given)} and {asked}"
    message = f"{Path(path).name} was launched with {launched.name}, which comes to {asked}: python reads none of it."
    if launched.file is None:
        message += " Write it where the training is started."
    else:
        message += f" {_command(context, launched.file)} shows what to write."
    context.note(RM825, place, message)


def _command(context: Context, file: Path) -> str:
    """The command that shows what is in a file, which it names as the user names files, from where they are."""
    project = context.module.project
    return f"`raymigrate config {quote(project.name(str(file)) if project is not None else _seen(context, file))}`"


def _call(name: str, given: Mapping[str, str]) -> str:
    lines = f"{name}({', '.join(f'{argument}={value}' for argument, value in given.items())})".splitlines()
    return " ".join(map(str.strip, lines)).replace("( ", "(").replace(", )", ")")  # a plugin has several


def _tell_each(context: Context, place: ast.AST, launches: list[Launch], path: str, when: str = "now") -> None:
    """Says what each line that starts a script has to become, and which of its options are refused.

    Args:
        context: The module that trains.
        place: Where.
        launches: The lines that launch the script with a launcher.
        path: The script: that of the module, or one that imports it.
        when: From when on.
    """
    name = Path(path).name
    starts = plain_starts_of(path, context.module)
    # Where the parser itself is told of (RM706), such lines are told by themselves (RM701).
    told = [] if is_for_old_transformers(context) else starts
    by_line: dict[str, list[Launch]] = {}
    for launch in launches:
        by_line.setdefault(_place(context, launch), []).append(launch)
    for where, of_line in by_line.items():  # a line of a page may say it several times
        said = " and ".join(dict.fromkeys(f"`{launch.shown}`" for launch in of_line))
        own = " and ".join(dict.fromkeys(f"`{launch.command(name)}`" for launch in of_line))
        of_line += [start for start in told if _place(context, start) == where]
        refused, who = _refused_options(context.module, of_line, name)
        left = f", but without {', '.join(refused)}, which {who} refuses today" if refused else ""
        context.note(RM824, place, f"{where} says {said}; it is {own} {when}, with the script's own arguments{left}.")
    tell_given_datasets(context, [(start, _place(context, start)) for start in (*launches, *starts)], name)
    refusing: dict[tuple[str, str], list[str]] = {}
    for start in told:
        refused, who = _refused_options(context.module, [start], name)
        if (where := _place(context, start)) not in by_line:
            refusing.setdefault((", ".join(refused), who), []).append(where)
    for (options, who), places in refusing.items():
        if options:
            listed = ", ".join(dict.fromkeys(places))
            context.note(RM824, place, f"{listed}: {who} refuses {options} today.")


def _place(context: Context, launch: Launch) -> str:
    """Where a line stands as seen from the script."""
    return f"{_seen(context, launch.file)}:{launch.place}"


def _seen(context: Context, file: Path) -> str:
    """The way to a file from the script."""
    return os.path.relpath(file, Path(context.path).parent)


def tell_importers(context: Context, place: ast.AST, outline: LaunchedOutline) -> None:
    """Tells of files that import what starts the training: the workers then import this one, where they run it."""
    main = outline.script.main
    if main is None:
        return
    for other, _ in takers(context.module, main.name):
        name = Path(other.path).name
        message = (
            f"{name} starts the training from here. Workers import this file anew: in a folder of their own, where"
            f" relative paths lead elsewhere, and without what {name} did before."
        )
        advice = (
            f"Start this file itself. Otherwise make its paths absolute in {main.name}(), hand them over in"
            f" train_loop_config, and do in the training function what {name} does to set things up."
        )
        context.manual(RM824, place, message, advice)
        tell_starts(context, place, other.path)


def _refused_options(module: Module, starts: list[Launch], script: str) -> tuple[list[str], str]:
    """The options behind the script's name that its parser does not have today, each with its new name; who refuses."""
    parsed = list(parsings(module, TRAINING_ARGUMENTS, parsed_for_trainers(module)))
    own = {name for parsing in parsed for name in parsing.fields}
    taken = [parsing.taken for parsing in parsed]
    seen = frozenset(name for of in taken for name in of or ())
    lost = {name: change for name, change in KEYS_OF_TRL.items() if None not in taken and name not in seen}
    given = [word for start in starts for word in start.own_arguments(script)] if parsed else []
    names = dict.fromkeys(word.removeprefix("--").partition("=")[0] for word in given if word.startswith("--"))
    changes = {name: change for name, change in {**lost, **TRAINING_ARGUMENTS_CHANGES}.items() if name not in own}
    refused = [name for name in names if name in changes]
    shown = [f"--{name}" + (f" (now --{new})" if (new := changes[name].name) else "") for name in refused]
    return shown, "TrainingArguments" if TRAINING_ARGUMENTS_CHANGES.keys() >= {*refused} else "its parser"

"""RM821, RM822: the Accelerator of a plain script on Ray's workers."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.codemods.shared.cpu_workers import states_before
from raymigrate.codemods.to_ray.cpu_options import tell_cpu_option
from raymigrate.codemods.to_ray.launch_line import common_variables
from raymigrate.codemods.to_ray.launched import GPU_PLUGINS, LaunchedOutline, precisions
from raymigrate.codemods.to_ray.outline import Outline
from raymigrate.facts.accelerate.launch_form import LaunchForm, Row
from raymigrate.facts.accelerate.plugins import given_as, is_made
from raymigrate.facts.syntax.literals import shortened
from raymigrate.facts.values import Source, argument, is_none, keyword_argument, unpacked_dicts
from raymigrate.facts.values.nothing import may_be_none

RM821 = Rule(
    "RM821",
    "an Accelerator on CPU workers",
    "accelerate joins CPU workers only when it is told to use the CPU: without that, every worker trains a model of its"
    " own, and nothing says so.",
    "With --to-ray, cpu=True is set where the workers have no GPU.",
    "https://huggingface.co/docs/accelerate/package_reference/accelerator#accelerate.Accelerator.cpu",
)
RM822 = Rule(
    "RM822",
    "a key of accelerate's file",
    "accelerate launch hands the file on as environment variables, which Ray's workers do not have.",
    "With --to-ray each key becomes an argument of Accelerator, ScalingConfig or TorchConfig that has the same effect;"
    " `raymigrate config FILE` shows the table. A KeyError: 1 of torch.distributed.fsdp comes from a strategy that is a"
    ' number: in a script write sharding_strategy="FULL_SHARD" (2 "SHARD_GRAD_OP", 3 "NO_SHARD", 4 "HYBRID_SHARD"),'
    ' with version 2 reshard_after_forward=True or False. In a file write mixed_precision: "no" in quotation marks.',
    "https://huggingface.co/docs/accelerate/package_reference/cli",
    errors=(
        "A `distributed_type` must be specified in the config file",
        "version or fix (and potentially remove) these keys from your config file",
        "When using `deepspeed_config_file`, the following accelerate config variables will be ignored",
        "When using `--fsdp_cpu_ram_efficient_loading` set `--fsdp_sync_module_states` to `True`",
        "You need to manually pass in `--num_processes` using this config yaml",
        "Less than two GPU ids were configured and tried to run on multiple GPUs",
        "This is not supported with FSDP2, please set to a `bool`",
        "'bool' object has no attribute 'lower'",
        *(f"invalid truth value {name}_shard" for name in ("full", "no", "hybrid")),
        *(f"KeyError: {strategy}" for strategy in range(1, 6)),
    ),
)
CONFIG_FILE = "ACCELERATE_DEEPSPEED_CONFIG_FILE"
ABOUT_TRAINERS = "for a Trainer"
WORTH_A_NOTE = ("knows no such key", "the flag's default", "has to be in storage")
OF_ACCELERATE = ("ACCELERATE_", "FSDP_")  # of the variables before a command
SYNCHRONIZED = ("torch.nn.SyncBatchNorm.convert_sync_batchnorm", "torch.nn.SyncBatchNorm")
BEATS_ARGUMENT = "gradient_accumulation_steps"  # the only variable that wins over an argument (accelerator.py:546)
DEEPSPEED, STEPS = "deepspeed_plugin", "gradient_accumulation_steps"
PLACES = {"mixed_precision": 2, STEPS: 3, DEEPSPEED: 6, "fsdp_plugin": 7}  # of an Accelerator's arguments
OTHER_NAMES = {DEEPSPEED: ("deepspeed_plugins",)}  # accelerate takes one of the two, and a dict of plugins by both


def set_cpu(context: Context, made: list[ast.Call], *, told: Sequence[ast.Call] = ()) -> None:
    """Lets every Accelerator join the CPU workers, and a PartialState that is made before them.

    Args:
        context: The module.
        made: The Accelerators.
        told: What else tells accelerate of the CPU.
    """
    for call in (*states_before(context.module, (*made, *told)), *made):
        given = argument(call, 4, "cpu")
        if isinstance(given, ast.Constant) and given.value is True:
            continue
        tell_cpu_option(context, RM821, given, use_gpu=False)
        message = "On CPU workers each would train a model of its own; now cpu=True."
        if context.converts(RM821, call, message):
            context.give(call, "cpu", "True")


def tell_gpu_settings(context: Context, made: list[ast.Call]) -> None:
    """Tells of what an Accelerator on CPU workers has no use for: plugins, and fp16.

    accelerate 1.15 shards a model only where its processes are on GPUs or similar devices (state.py:1010), and scales
    losses and casts for fp16 only there (accelerator.py:566); elsewhere it says nothing.
    """
    for keyword in (keyword for call in made for keyword in call.keywords):
        if keyword.arg in GPU_PLUGINS and not is_none(keyword.value):
            message = f"{keyword.arg}= does nothing on workers without a GPU: each of them holds the whole model."
            context.note(RM821, keyword, message)
    for call in made:
        may_be = precisions(context.module, call)
        if "fp16" in may_be or ... in may_be:
            what = "fp16" if "fp16" in may_be else "If mixed_precision= is fp16, it"
            context.note(RM821, call, f"{what} does nothing on workers without a GPU: they train in float32.")


def tell_synchronized(context: Context, rule: Rule) -> None:
    """Tells of SyncBatchNorm on workers without a GPU: it wants one wherever there is a process group.

    torch/nn/modules/batchnorm.py, 2.13. Ray makes the group for a single worker too.
    """
    for call in context.module.calls(*SYNCHRONIZED):
        message = "A SyncBatchNorm that trains raises a ValueError on workers without a GPU, a single one too."
        context.manual(rule, call, message, "Leave BatchNorm there: it goes by the rows of each worker alone.")


def apply_file(context: Context, outline: Outline, made: list[ast.Call], form: LaunchForm, name: str) -> None:
    """Gives the Accelerators what a file of accelerate said.

    Args:
        context: The module.
        outline: What is planned for it.
        made: The Accelerators.
        form: What the file comes to.
        name: The file's name, for messages.
    """
    form = _for_workers(context, outline, made[0], form, name)
    _read_on_driver(context, outline, form)
    arguments = form.accelerator_arguments()
    outline.environment |= form.variables
    outline.torch_config |= form.torch_config
    outline.resources = form.resources
    beaten, fallbacks = set[str](), set[str]()
    plugins = _OwnPlugins(context, RM822, form, name)
    for call in made:
        is_decided = plugins.complete(call)  # accelerator.py:2216: DeepSpeed's number wins
        given = {name: source for name, source in arguments.items() if not (is_decided and name == BEATS_ARGUMENT)}
        near = context.module.import_of(call.func)
        for parameter, source in given.items():
            value = plugins.value(call, parameter)
            if value is None:
                context.give(call, parameter, source)
            elif is_none(value) or parameter == BEATS_ARGUMENT:
                context.plan.replace(value, source)
            elif may_be_none(context.module, value):
                context.plan.replace(value, f"$value or {source}", value=value)
                fallbacks.add(parameter)
            else:
                if not _is_same_code(value, source):
                    beaten.add(parameter)
                continue
            if parameter in form.plugins:
                plugin = form.plugins[parameter][0]
                context.plan.need_import(form.imports()[plugin], plugin, near=near)
        if BEATS_ARGUMENT in given and plugins.value(call, BEATS_ARGUMENT) is not None:
            message = f"{name} says {BEATS_ARGUMENT}={arguments[BEATS_ARGUMENT]}, which won over the argument"
            context.converts(RM822, call, f"{message}: now it is that.")
    for row in form.rows:
        is_told = row.ray.partition(":")[0] in plugins.unseen & beaten  # as what to give it
        if not is_told and not _tell_of_plugin(context, made[0], row, name, plugins):
            _tell_row(context, made[0], row, name, beaten, fallbacks)


def _tell_of_plugin(context: Context, place: ast.Call, row: Row, name: str, plugins: _OwnPlugins) -> bool:
    """Tells of a key that a plugin of the script got, or did not need; whether it is such a key."""
    parameter, _, given = row.ray.partition(": ")
    argument_name, _, source = given.partition("=")
    key = parameter, argument_name
    what = f"{name}, {row.key}: {shortened(row.value)}"
    if key in plugins.given:
        message = f"{what}: {argument_name}= of the script's own plugin, which had it from the file."
        return context.converts(RM822, place, message) or True
    if key not in plugins.kept:
        return False
    if row.in_file and not plugins.is_same(key, source):
        unless = ", unless that is None" if plugins.may_give_way(key) else ""
        context.note(RM822, place, f"{what}: dropped: the plugin's own argument won, and still does{unless}.")
    return True


def give_environment(context: Context, outline: LaunchedOutline, place: ast.AST) -> None:
    """Gives workers whose Accelerator a Trainer makes what accelerate launch exported."""
    form = outline.launched.form
    if form is None:
        return
    form = _for_workers(context, outline, place, form, outline.launched.name)
    variables = form.worker_variables()
    config = variables.get(CONFIG_FILE)
    if config is not None and not Path(config).is_absolute():
        message = f"{CONFIG_FILE}={config} is a relative path, and workers run in a folder of the Ray session."
        context.manual(RM822, place, message, "Make it absolute in worker_runtime_env.")
    outline.environment |= variables
    outline.torch_config |= form.torch_config
    outline.resources = form.resources
    for row in form.rows:
        exported = [part.partition("=")[0] for part in row.launch.split(", ")]
        if row.in_file and any(name in variables for name in exported):
            message = f"{outline.launched.name}, {row.key}: {shortened(row.value)}: {row.launch} for the workers."
            context.converts(RM822, place, message)
        elif any(words in row.remark for words in WORTH_A_NOTE):
            what = f"{outline.launched.name}, {row.key}: {shortened(row.value)}"
            context.note(RM822, place, f"{what}: {row.remark}.")


def give_variables(context: Context, outline: LaunchedOutline, place: ast.AST) -> None:
    """Gives the workers what stood before the launcher for accelerate: `ACCELERATE_USE_FSDP=1 torchrun train.py`.

    Workers on other machines do not have the environment of the driver. What a file said wins, as under the launcher.
    """
    launches = outline.launched.launches
    for name, value in common_variables(launches).items() if outline.use_gpu else ():
        if name.startswith(OF_ACCELERATE) and name not in outline.environment:
            message = f"{launches[0].file.name}:{launches[0].place} sets {name}={value}: now for the workers too."
            if context.converts(RM822, place, message):
                outline.environment[name] = value


def _for_workers(context: Context, outline: Outline, place: ast.AST, form: LaunchForm, name: str) -> LaunchForm:
    """What a file comes to on the workers that the user wants."""
    if outline.use_gpu or not form.use_gpu:
        return form
    if form.plugins.keys() & set(GPU_PLUGINS):
        context.note(RM822, place, f"{name}: {form.kind} needs GPUs, which these workers do not have: dropped.")
    return form.on_cpu()


def _read_on_driver(context: Context, outline: Outline, form: LaunchForm) -> None:
    """Reads DeepSpeed's own file before the workers start: they have a working directory of their own."""
    plugin = form.plugins.get("deepspeed_plugin", ("", {}))[1]
    source = plugin.get("hf_ds_config")
    if source is not None:
        name = plugin["hf_ds_config"] = context.fresh("DEEPSPEED_CONFIG")
        context.plan.need_import("json")
        context.plan.need_import("pathlib", "Path")
        outline.support.insert(0, f"{name} = {source}")


def _tell_row(context: Context, place: ast.Call, row: Row, name: str, beaten: set[str], fallbacks: set[str]) -> None:
    """Tells where a key goes, if it goes anywhere, or that it never had an effect.

    Args:
        name: The file's name.
        beaten: The arguments of the script that won over the file.
        fallbacks: Those that do so unless they are None.
    """
    what = f"{name}, {row.key}: {shortened(row.value)}"
    if row.key in fallbacks or row.ray.partition(":")[0] in fallbacks:
        context.converts(RM822, place, f"{what}: for the script's own argument where that is None, as before.")
    elif row.key in beaten or row.ray.partition(":")[0] in beaten:
        context.note(RM822, place, f"{what}: dropped: the script's own argument won, and still does.")
    elif row.ray and row.in_file:
        known = row.remark if not row.remark.startswith(ABOUT_TRAINERS) else ""
        context.converts(RM822, place, f"{what}: {'; '.join(filter(None, (row.ray, known)))}.")
    elif any(words in row.remark for words in WORTH_A_NOTE):
        context.note(RM822, place, f"{what}: {row.remark}.")


# Each argument that such a plugin is not given comes from the variables that accelerate launch makes of the file
# (accelerate 1.15, utils/dataclasses.py:1226 and 1829), which Ray's workers do not have.
class _OwnPlugins:
    """The plugins that the Accelerators of a script are given.

    Args:
        context: The module.
        rule: The rule of accelerate's file.
        form: What the file comes to.
        name: The file's name, for messages.

    Attributes:
        kept: The arguments that a plugin has of its own, with the plugin's parameter before them.
        given: Those that one gets from the file.
        unseen: The parameters that are given a plugin of which not all is seen.
    """

    def __init__(self, context: Context, rule: Rule, form: LaunchForm, name: str) -> None:
        self.context = context
        self.rule = rule
        self.plugins = form.plugins
        self.name = name
        self.kept: dict[tuple[str, str], ast.expr] = {}
        self.given: set[tuple[str, str]] = set()
        self.unseen: set[str] = set()
        self._seen: set[ast.AST] = set()

    def value(self, call: ast.Call, parameter: str) -> ast.expr | None:
        """What an Accelerator is given as an argument; None where it is not seen to get it."""
        if len(call.args) > PLACES.get(parameter, len(call.args)):
            return argument(call, PLACES[parameter], parameter)
        return given_as(self.context.module, call, parameter, *OTHER_NAMES.get(parameter, ()))

    def complete(self, call: ast.Call) -> bool:
        """Gives the plugins of an Accelerator what they had from the file.

        Returns:
            Whether a plugin for DeepSpeed has a number of steps of its own.
        """
        numbers: list[bool] = []
        for parameter, (class_name, arguments) in self.plugins.items():
            value = self.value(call, parameter)
            sources = self._sources(value)
            seen = [source.node for source in sources if self._is_seen(source, class_name)]
            if value is not None and len(seen) < len(sources):
                self.unseen.add(parameter)
                self._tell_unseen(value, class_name, arguments)
            for made in seen:
                assert isinstance(made, ast.Call)
                own = self._complete(made, parameter, arguments)
                numbers += [STEPS in own] if parameter == DEEPSPEED else []
        return bool(numbers) and all(numbers) and DEEPSPEED not in self.unseen

    def _complete(self, made: ast.Call, parameter: str, arguments: Mapping[str, str]) -> Collection[str]:
        """Gives one plugin what it lacks; gives back what it has of its own."""
        given = {name: keyword_argument(made, name) for name in arguments}
        own = {name: value for name, value in given.items() if value is not None and not is_none(value)}
        self.kept |= {(parameter, name): value for name, value in own.items()}
        self.given |= {(parameter, name) for name in arguments if name not in own}
        for name, source in arguments.items() if made not in self._seen else ():
            if name not in own:
                self.context.give(made, name, source)
        self._seen.add(made)
        return own.keys()

    def is_same(self, place: tuple[str, str], source: str) -> bool:
        """Whether a plugin says of its own what the file says."""
        return _is_same_code(self.kept[place], source)

    def may_give_way(self, place: tuple[str, str]) -> bool:
        """Whether an argument of a plugin may be None, for which the plugin asked for the variable."""
        return may_be_none(self.context.module, self.kept[place])

    def _sources(self, value: ast.expr | None) -> list[Source]:
        """What a value can be, but for None; of a dict of plugins those in it."""
        found = self.context.module.origins(value)
        inside = [part for source in found if isinstance(source.node, ast.Dict) for part in self._inside(source)]
        found = [source for source in found if not isinstance(source.node, ast.Dict)]
        return [source for source in dict.fromkeys((*found, *inside)) if not is_none(source.node)]

    def _inside(self, source: Source) -> list[Source]:
        assert isinstance(source.node, ast.Dict)
        return [origin for part in source.node.values for origin in source.module.origins(part)]

    def _is_seen(self, source: Source, class_name: str) -> bool:
        """Whether a source is the call that makes a plugin, here, and all that it is given can be seen."""
        if not is_made(source, class_name) or source.module is not self.context.module:
            return False
        return isinstance(source.node, ast.Call) and not source.node.args and not unpacked_dicts(source.node)

    def _tell_unseen(self, value: ast.expr, class_name: str, arguments: Mapping[str, str]) -> None:
        if value not in self._seen and arguments:
            self._seen.add(value)
            listed = ", ".join(f"{name}={source}" for name, source in arguments.items())
            self.context.manual(
                self.rule,
                value,
                f"What this {class_name} is not given came from {self.name}, which workers do not have.",
                f"Where it is made, give it what it lacks of these: {listed}.",
            )


def _is_same_code(node: ast.expr, source: str) -> bool:
    """Whether an expression is what some code says, quotation marks and spaces apart."""
    return ast.unparse(node) == ast.unparse(ast.parse(source, mode="eval").body)

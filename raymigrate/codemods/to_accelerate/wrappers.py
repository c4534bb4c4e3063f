"""RM856: what wraps a model for several processes goes: the Accelerator does so."""

import ast

from raymigrate.codemods.to_accelerate.cases import meaning
from raymigrate.codemods.to_accelerate.changes import Changes
from raymigrate.codemods.to_accelerate.rules import RM856, RM858, Refusal, check_nothing_is_unpacked
from raymigrate.codemods.to_accelerate.sides import Side
from raymigrate.codemods.to_accelerate.training import Training
from raymigrate.documents import NOTEBOOK
from raymigrate.facts.syntax.nodes import is_assignment, targets_of
from raymigrate.facts.values import argument, is_method_call, named_arguments

DDP = ("torch.nn.parallel.DistributedDataParallel", "torch.nn.parallel.distributed.DistributedDataParallel")
DATA_PARALLEL = (
    "torch.nn.DataParallel",
    "torch.nn.parallel.DataParallel",
    "torch.nn.parallel.data_parallel.DataParallel",
)
PREFIX = "module."  # of the weights of a model in a wrapper
ALL_GPUS = "DataParallel used all GPUs"
ONE_GPU = "trains on one of them now"
LAUNCH = (
    "Put what trains, from its Accelerator on, into a function, and start that with"
    " accelerate.notebook_launcher(function, num_processes=...)."
)
# The first parameters of DistributedDataParallel; those behind them have other places in each version of torch.
PARAMETERS = ("module", "device_ids", "output_device", "dim", "broadcast_buffers")
CHOSEN = frozenset({"device_ids", "output_device"})  # which accelerate chooses
# What DistributedDataParallelKwargs takes.
HANDED_ON = frozenset(
    {
        *("bucket_cap_mb", "broadcast_buffers", "check_reduction", "dim", "find_unused_parameters"),
        *("gradient_as_bucket_view", "static_graph"),
    }
)
# What it does not take, with the values that change nothing.
DEFAULTS = {
    **dict.fromkeys(
        ("bucket_cap_mb_list", "delay_all_reduce_named_params", "device_mesh", "forward_sync_buffers"), None
    ),
    **dict.fromkeys(("mixed_precision", "param_to_hook_all_reduce", "process_group"), None),
    **dict.fromkeys(("batched_grad_copy", "skip_all_reduce_unused_params"), False),
    "init_sync": True,
}
# Methods of the wrapper, each with what can be written instead.
METHODS = {
    "_register_builtin_comm_hook": "give the Accelerator DistributedDataParallelKwargs(comm_hook=...) by hand",
    "_register_fused_optim": "leave it out",
    "_set_static_graph": "write static_graph=True in DistributedDataParallel()",
    "join": "write accelerator.join_uneven_inputs() by hand",
    "register_comm_hook": "give the Accelerator DistributedDataParallelKwargs(comm_hook=...) by hand",
}


class Wrappers(Side):
    """The wrappers of the models of a training.

    Args:
        training: What is trained.

    Attributes:
        given: The arguments for DistributedDataParallelKwargs.
    """

    def __init__(self, training: Training) -> None:
        super().__init__(training)
        self.given: dict[str, ast.expr] = {}

    def convert(self, changes: Changes) -> None:
        """Plans the edits.

        Raises:
            Refusal: If a wrapper is given what accelerate's cannot be, or has a method of its own called.
        """
        calls = list(self.module.calls(*DDP))
        for number, call in enumerate(calls):
            changes.converted(RM856, call, "The Accelerator wraps the model for several processes.")
            given = self._handed_on(call)
            if number and self._meanings(given) != self._meanings(self.given):
                reason = "several DistributedDataParallel() are given different arguments, and accelerate has one set"
                raise Refusal(call, f"{reason} for all models; give them the same ones")
            self.given = self.given or given
            changes.moved.update(given.values())
            self._unwrap(changes, call)
        if calls:
            self._check_methods()
        for call in self.module.calls(*DATA_PARALLEL):
            changes.converted(RM856, call, "DataParallel goes: with accelerate each device has a process of its own.")
            changes.note(
                RM858,
                call,
                "DataParallel split each batch over the devices; now each process takes a batch of that size. Pass"
                " DataLoaderConfiguration(split_batches=True) as dataloader_config= to keep the size of the whole.",
            )
            if changes.context.path.endswith(NOTEBOOK):
                changes.manual(RM858, call, f"{ALL_GPUS}: the one process of a notebook {ONE_GPU}.", LAUNCH)
            else:
                start = "`accelerate launch` starts a process for each"
                changes.note(RM858, call, f"{ALL_GPUS}: under python alone the script {ONE_GPU}; {start}.")
            self._unwrap(changes, call)
            self._means_over_devices(changes)
        self._tell_of_old_files(changes, {*calls, *self.module.calls(*DATA_PARALLEL)})

    def _handed_on(self, call: ast.Call) -> dict[str, ast.expr]:
        """The arguments of DistributedDataParallel that accelerate's gets too.

        Raises:
            Refusal: If one of them changes something, and cannot be handed on.
        """
        check_nothing_is_unpacked(call, "find_unused_parameters")
        if len(call.args) > len(PARAMETERS):
            reason = f"what DistributedDataParallel() gets after {PARAMETERS[-1]}= depends on the version of torch"
            raise Refusal(call.args[len(PARAMETERS)], f"{reason}; write the names of these arguments")
        given = named_arguments(call, PARAMETERS)
        for name, value in given.items():
            if name in HANDED_ON or name in CHOSEN or name == PARAMETERS[0]:
                continue
            if name not in DEFAULTS or self.module.constant(value) is not DEFAULTS[name]:
                reason = f"accelerate cannot give {name}= to its DistributedDataParallel"
                raise Refusal(value, f"{reason}; leave it out if the training does without it")
        return {name: value for name, value in given.items() if name in HANDED_ON}

    def _meanings(self, given: dict[str, ast.expr]) -> dict[str, object]:
        return {name: meaning(self.module, value) for name, value in given.items()}

    def _check_methods(self) -> None:
        for attribute in self.module.attributes(*METHODS):
            owners = self.variables.of(attribute.value)
            is_of_model = owners & set(self.training.models) or (not owners and attribute.attr != "join")
            if is_of_model:
                reason = f"`{ast.unparse(attribute)}` is of DistributedDataParallel, which goes"
                raise Refusal(attribute, f"{reason}; {METHODS[attribute.attr]}")

    def _means_over_devices(self, changes: Changes) -> None:
        """Drops `if n_gpu > 1: loss = loss.mean()`: a loss of one process is one number."""
        for branch in self.module.of_type(ast.If):
            values = [self.module.value(part) for part in ast.walk(branch.test) if isinstance(part, ast.expr)]
            calls = [value for value in values if isinstance(value, ast.Call)]
            counts = any(self.module.qualified(call.func) == "torch.cuda.device_count" for call in calls)
            if counts and not branch.orelse and all(self._averages(statement) for statement in branch.body):
                changes.drop(branch)

    def _tell_of_old_files(self, changes: Changes, wrappers: set[ast.Call]) -> None:
        """Tells where states are loaded that came from a model in its wrapper, and whose weights are named for that."""
        if any(PREFIX in str(text.value) for text in self.module.of_type(ast.Constant)):
            return  # the script takes the prefix off, or puts it on
        methods = [call.func for call in self.training.method_calls("state_dict")]
        saved = [m.value for m in methods if isinstance(m, ast.Attribute) and self._is_of_model(m.value)]
        origins = self.module.origins
        if saved and all(any(_is_inner(source.node) for source in origins(node)) for node in saved):
            return  # what the script saves has no prefix
        for call in self.training.method_calls("load_state_dict"):
            assert isinstance(call.func, ast.Attribute)
            loaded = [source.node for source in self.module.origins(call.func.value)]
            if wrappers.isdisjoint(loaded) or any(_is_inner(node) for node in loaded):
                continue  # such files did not fit before either
            strict = self.module.constant(argument(call, 1, "strict"))
            does = "takes nothing out of them" if strict is False else "raises a RuntimeError for them"
            changes.note(
                RM858,
                call,
                f'In files that were saved from the model in its wrapper, "{PREFIX}" stands in front of each name: this'
                f' {does} now. Take it off: {{name.removeprefix("{PREFIX}"): value for name, value in state.items()}}.',
            )

    def _is_of_model(self, node: ast.expr) -> bool:
        """Whether an object is a model that is trained, in its wrapper or the one in that."""
        sources = [source for source in self.module.origins(node) if source.module is self.module]
        found = [node, *(source.node for source in sources)]
        owners = [owner for owner in map(self.variables.bare, found) if isinstance(owner, ast.expr)]
        return any(self.variables.of(owner) & set(self.training.models) for owner in owners)

    def _averages(self, statement: ast.stmt) -> bool:
        value = statement.value if is_assignment(statement) else None
        if not is_method_call(value, "mean"):
            return False
        assert is_assignment(statement)
        return ast.unparse(targets_of(statement)[0]) == ast.unparse(value.func.value) and not value.args

    def _unwrap(self, changes: Changes, call: ast.Call) -> None:
        if not call.args:
            raise Refusal(call, "the model that is wrapped is not seen")
        changes.replace(call, "$model", model=call.args[0])


def _is_inner(node: ast.AST) -> bool:
    """Whether this is the model in a wrapper, which `model.module if hasattr(model, "module") else model` gives."""
    return isinstance(node, ast.Attribute) and node.attr == "module"

"""RM823: what the loop of an Accelerate script tells Ray at the end of each epoch.

`ray.train.report` has to be called on every worker, outside of what only the main process runs, and with numbers: it
raises a ValueError for tensors (docs/semantics/plain-accelerate.md).
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from textwrap import indent

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.codemods.to_ray.carried_values import carried_values
from raymigrate.codemods.to_ray.epoch_ends import Loop, put_report
from raymigrate.codemods.to_ray.epoch_metrics import Metrics, metrics_of
from raymigrate.codemods.to_ray.own_states import state_saved
from raymigrate.codemods.to_ray.save_conditions import save_condition
from raymigrate.codemods.to_ray.script import executed, uses_of_function
from raymigrate.codemods.to_ray.skipped_batches import skipped_batches
from raymigrate.codemods.to_ray.trained_elsewhere import is_backward, trained_elsewhere
from raymigrate.codemods.to_ray.unsaved_states import unsaved_numbers, unsaved_objects
from raymigrate.edits.plan import Code, Part
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import names_in
from raymigrate.facts.values import argument, called_name, has_starred, is_call_by_name, is_method_call
from raymigrate.knowledge.legacy import ACCELERATORS

RM823 = Rule(
    "RM823",
    "an Accelerate loop that reports nothing to Ray",
    "Ray knows of the metrics and checkpoints of a run what ray.train.report tells it: without that, result.metrics is"
    " None, and a run that fails starts again with the first epoch.",
    "With --to-ray every worker reports at the end of each epoch.",
    "https://docs.ray.io/en/latest/train/user-guides/monitoring-logging.html",
    errors=("`ray.train.report` has not been called by all",),
)
NO_LOOP = "No loop over epochs was found around backward"
REPORT = (
    "Import ray.train, and call ray.train.report({...}) on every worker, outside of what only the main process runs,"
    " with numbers."
)
EACH_EPOCH = (
    "The script saves its state here on a condition that the end of the epoch cannot ask again: each epoch reports a"
    " checkpoint, and Ray keeps all of them, unless RunConfig has checkpoint_config=CheckpointConfig(num_to_keep=...)."
)
LEFT_OUT = (
    "The script saves its state here on a condition that the end of the epoch cannot ask again: where it saves nowhere"
    " else in an epoch, Ray gets no checkpoint of that."
)
SAVED = """\
with tempfile.TemporaryDirectory() as {folder}:
    {accelerator}.save_state({folder})
    {new} = ray.train.Checkpoint.from_directory({folder})
    {new}.set_metadata({{{metadata}}})
    ray.train.report({metrics}, checkpoint={new})"""
RESUMED = """\
{start}{checkpoint} = ray.train.get_checkpoint()
if {checkpoint}:
    with {checkpoint}.as_directory() as {folder}:
        {accelerator}.load_state({folder})
    {first} = {checkpoint}.get_metadata()["epoch"] + 1
"""


@dataclass
class Epochs:
    """The loop over epochs.

    Args:
        module: The module.
        loop: The loop; None where none was found.
        backward: The call that it is around.
        around: Loops that train again from the start in each round, the inner ones first: over folds, over settings.
        elsewhere: The file that has the step, where that is another one.
        looped: Whether that has the loop over epochs too.
    """

    module: Module
    loop: Loop | None
    backward: ast.Call | None
    around: list[Loop] = field(default_factory=list)
    elsewhere: str = ""
    looped: bool = False

    @property
    def variable(self) -> str | None:
        """The name that counts the epochs."""
        if isinstance(self.loop, ast.While):
            return _counter(self.loop)
        target = self.loop.target if self.loop is not None else None
        return target.id if isinstance(target, ast.Name) and target.id != "_" else None

    @property
    def counters(self) -> list[str]:
        """The names that count the rounds around the epochs, as far as the epochs see them, and these."""
        seen = [each for each in reversed(self.around) if self.loop is not None and self.module.inside(self.loop, each)]
        names = [_round(each) for each in seen if each is not self.loop]
        return [name for name in (*names, self.variable) if name]


def _round(loop: Loop) -> str | None:
    """The name that counts the rounds of a loop: `for n in range(5)`, `for n, fold in enumerate(folds)`."""
    if isinstance(loop, ast.While):
        return _counter(loop)
    called = getattr(getattr(loop.iter, "func", None), "id", "")
    target = loop.target.elts[0] if called == "enumerate" and isinstance(loop.target, ast.Tuple) else loop.target
    return target.id if called in ("range", "enumerate") and isinstance(target, ast.Name) and target.id != "_" else None


def _counter(loop: ast.While) -> str | None:
    """The name that a `while` compares, and adds to in its body."""
    compared = names_in(loop.test)
    added = (step.target for step in loop.body if isinstance(step, ast.AugAssign) and isinstance(step.op, ast.Add))
    return next((name.id for name in added if isinstance(name, ast.Name) and name.id in compared), None)


def epochs_of(module: Module) -> Epochs:
    """The loop over epochs of a script with an Accelerator.

    It is the outermost one around `accelerator.backward` in which the training does not start anew: what makes the
    Accelerator or an optimizer, or prepares a model, in each round goes over folds or settings.
    """
    backward = next(filter(is_backward, module.of_type(ast.Call)), None)
    other = trained_elsewhere(module) if backward is None else None
    place = other.call if other is not None else backward
    if place is None:
        return Epochs(module, None, None)
    inner = other.loops if other is not None else []
    loops = [*inner, *_loops_around(module, place)][1:]  # a single one goes over batches
    anew = {loop for call in module.of_type(ast.Call) if _starts(module, call) for loop in _loops_around(module, call)}
    epochs = [loop for loop in loops if loop not in anew] or loops
    around = [loop for loop in loops if loop in anew]
    looped = any(loop in inner for loop in loops)
    found = epochs[-1] if epochs and not looped else None
    return Epochs(module, found, place, around, other.path if other is not None else "", looped)


def _starts(module: Module, call: ast.Call) -> bool:
    """Whether a training starts with a call: it makes an optimizer or an Accelerator, or prepares a model."""
    name = called_name(module, call)
    if name in ACCELERATORS or (name.startswith("torch.optim.") and not name.startswith("torch.optim.lr_scheduler.")):
        return True
    if not is_method_call(call, "prepare"):
        return False
    return len(call.args) > 1 or has_starred(call.args)


def _loops_around(module: Module, node: ast.AST) -> Iterator[Loop]:
    """The loops that a node runs in, the inner ones first; also around the only call of its function."""
    seen = set[ast.AST]()
    while node not in seen:
        seen.add(node)
        function = module.function(node)
        for around in module.ancestors(node):
            if around is function:
                break
            if isinstance(around, (ast.For, ast.While)):
                yield around
        if not isinstance(function, ast.FunctionDef):
            return
        uses = uses_of_function(module, function)
        if len(uses) != 1:
            return
        node = uses[0]


# -- emission ------------------------------------------------------------------------------------


def report_epochs(context: Context, epochs: Epochs) -> None:
    """Lets every worker report at the end of each epoch, with a checkpoint if the script saves its state there."""
    loop = epochs.loop
    if loop is None:
        _tell_unknown(context, epochs)
        return
    metrics = metrics_of(epochs.module, loop, epochs.counters)
    savings = _savings(context.module, loop)
    if unnamed := next((saving for saving in savings if _names_its_states(context.module, saving)), None):
        message = (
            "With automatic_checkpoint_naming accelerate chooses the folder of save_state: no checkpoint is reported."
        )
        advice = "Save into a folder of your own, and give that to ray.train.report(..., checkpoint=)."
        context.manual(RM823, unnamed, message, advice)
        savings = []
    if savings and epochs.around:
        message = (
            "The epochs are counted anew in each round of the loop around them, and a run that goes on after a failure"
            " would begin with the first round: no checkpoint is reported."
        )
        advice = "Start a TorchTrainer for each round, and convert the script again."
        context.manual(RM823, savings[0], message, advice)
        savings = []
    first, condition = _first_epoch(loop) if savings else None, None
    left_out: list[ast.Call] = []
    if not metrics.entries and metrics.logged is None:
        message = (
            "Nothing that the script shows at the end of an epoch is known to be a number, so nothing is reported."
        )
        context.manual(RM823, loop, message, REPORT)
        return
    names = ", ".join(key.strip('"*') for key in metrics.entries) or "what the script logs"
    message = f"Every worker reports {names} at the end of each epoch"
    if savings and first is not None and epochs.variable:
        condition, left_out = save_condition(context.module, loop, savings)
        message += ", with its state as the checkpoint that a run goes on from after a failure"
        message += " where the script saves it" if condition else ""
    if not context.converts(RM823, loop, f"{message}."):
        return
    context.plan.need_import("ray.train")
    shown = _name_logged(context, metrics)
    if savings and first is not None and epochs.variable:
        _save(context, epochs, savings[0], first, shown, condition)
        for saving in left_out:
            context.note(RM823, saving, LEFT_OUT)
        return
    put_report(context, RM823, loop, f"ray.train.report({shown})")
    why = "No save_state() of the script ends each epoch, and no checkpoint is reported"
    if saved := state_saved(context.module, loop):
        why = f"The script keeps its state where Ray does not look ({saved})"
    if savings:
        why = "At which epoch the loop could start is not seen"
    if savings or not _savings(context.module, loop):
        context.note(RM823, loop, f"{why}: after a failure {_start_again(epochs.module, loop)}.")


def _skip_nothing(context: Context, loop: ast.For, restored: list[str]) -> str:
    """Lines that let a run which goes on begin with a whole epoch; tells where that is not sure."""
    lines = ""
    for skipped in skipped_batches(context.module, loop, restored):
        if skipped.nothing:
            lines += f"    {skipped.source} = {skipped.nothing}\n"
        elif skipped.skips:
            message = (
                f"A run that goes on after a failure begins with a whole epoch, and this may skip batches of it:"
                f" {skipped.source} is what the script was started with."
            )
            context.manual(RM823, skipped.node, message, "Skip none where ray.train.get_checkpoint() gives one.")
        else:
            message = f"A run that goes on after a failure has {skipped.source} as before the first epoch."
            context.note(RM823, skipped.node, message)
    return lines


def _tell_unknown(context: Context, epochs: Epochs) -> None:
    place = epochs.backward
    if place is None:
        return  # nothing trains here that Ray could hear of
    why = f"The loop over epochs is in {epochs.elsewhere}" if epochs.looped else NO_LOOP
    context.manual(RM823, place, f"{why}: nothing is reported, and result.metrics is None.", REPORT)


def _name_logged(context: Context, metrics: Metrics) -> str:
    """The metrics as source; what the script logs gets a name before."""
    if metrics.logged is None:
        return "{" + ", ".join(f"{key}: {value}" if value else key for key, value in metrics.entries.items()) + "}"
    name = context.fresh("metrics", "epoch_metrics")
    statement = context.module.statement(metrics.logged)
    context.plan.statement(statement).before.append(Code(f"{name} = $logged", {"logged": metrics.logged}))
    context.plan.hoist(metrics.logged, name)
    return name


def _savings(module: Module, loop: Loop) -> list[ast.Call]:
    """The calls of `save_state` at the end of an epoch, from the top."""
    ends = (statement for statement in loop.body if not isinstance(statement, (ast.For, ast.While)))
    calls = (node for end in ends for node in executed(module, end) if isinstance(node, ast.Call))
    found = [call for call in calls if is_method_call(call, "save_state")]
    return sorted(found, key=lambda call: (call.lineno, call.col_offset))


def _names_its_states(module: Module, saving: ast.Call) -> bool:
    """Whether accelerate chooses the folder, whatever `save_state` is given (accelerate/accelerator.py, 1.15)."""
    given = argument(saving, 0, "output_dir")
    keywords = module.keywords("automatic_checkpoint_naming")
    automatic = any(module.constant(keyword.value) is not False for _, keyword in keywords)
    return given is None or automatic


def _start_again(module: Module, loop: Loop) -> str:
    """Where a loop begins after a failure: not at its first epoch where the script may have kept one itself."""
    call = loop.iter if isinstance(loop, ast.For) else None
    if is_call_by_name(call, "range") and len(call.args) > 1 and module.constant(call.args[0]) is ...:
        return f"`{module.source(call.args[0])}` says again where it starts, as in a new run of the script"
    return "the script starts with the first epoch again"


def _first_epoch(loop: Loop) -> ast.expr | str | None:
    """Where the loop starts: a name, or the number 0 as text; None where it cannot start elsewhere."""
    call = loop.iter if isinstance(loop, ast.For) else None
    if not is_call_by_name(call, "range"):
        return None
    if len(call.args) == 1 and not call.keywords:
        return "0"
    return call.args[0] if len(call.args) == 2 and isinstance(call.args[0], ast.Name) else None


def _save(
    context: Context, epochs: Epochs, saving: ast.Call, first: ast.expr | str, metrics: str, condition: str | None
) -> None:
    """Reports the state of the accelerator, where the script saves it, and goes on from it."""
    assert isinstance(epochs.loop, ast.For) and isinstance(epochs.loop.iter, ast.Call)
    assert isinstance(saving.func, ast.Attribute)
    accelerator = context.module.source(saving.func.value)
    folder, checkpoint = context.fresh("checkpoint_dir"), context.fresh("checkpoint", "ray_checkpoint")
    context.plan.need_import("tempfile")
    carried = carried_values(context.module, epochs.loop)
    numbers = [name for name in carried.numbers if name not in (epochs.variable, "epoch")]
    kept = {"epoch": epochs.variable, **{name: name for name in numbers}}
    text = SAVED.format(
        folder=folder,
        accelerator=accelerator,
        new=context.fresh("new_checkpoint"),
        metadata=", ".join(f'"{key}": {name}' for key, name in kept.items()),
        metrics=metrics,
    )
    if condition:
        text = f"if {condition}:\n{indent(text, '    ')}\nelse:\n    ray.train.report({metrics})"
    elif condition is None:
        context.note(RM823, saving, EACH_EPOCH)
    put_report(context, RM823, epochs.loop, text)
    start, name = "", first.id if isinstance(first, ast.Name) else context.fresh("first_epoch", "start_epoch")
    if isinstance(first, str):
        start = f"{name} = 0\n"
        end: dict[str, Part] = {"end": epochs.loop.iter.args[0]}
        context.plan.replace(epochs.loop.iter, f"range({name}, $end)", **end)
    resumed = RESUMED.format(start=start, checkpoint=checkpoint, folder=folder, accelerator=accelerator, first=name)
    resumed += "".join(f'    {name} = {checkpoint}.get_metadata()["{name}"]\n' for name in numbers)
    resumed += _skip_nothing(context, epochs.loop, numbers)
    edit = context.plan.statement(epochs.loop)
    edit.before.append(Code(resumed))
    edit.blank_line = True
    context.note(
        RM823,
        epochs.loop,
        "A run that goes on after a failure shuffles its next epoch as the first one was, where several workers train;"
        " use_seedable_sampler=True and train_loader.iteration = epoch keep the order, which then differs from that"
        " of the script.",
    )
    if others := [*carried.others, *unsaved_numbers(context.module, epochs.loop)]:
        context.note(
            RM823,
            epochs.loop,
            f"A run that goes on after a failure has {', '.join(others)} as before the first epoch: give"
            " set_metadata() the value as a number beside the epoch, and read it back where the epoch is.",
        )
    if objects := unsaved_objects(context.module, epochs.loop):
        context.manual(
            RM823,
            epochs.loop,
            f"A run that goes on after a failure has {', '.join(objects)} as before the first epoch: save_state() saves"
            " what prepare() and register_for_checkpointing() were given.",
            f"Call {accelerator}.register_for_checkpointing(...) with each before this loop; it needs state_dict() and"
            " load_state_dict().",
        )

"""RM121: the short data form of Ray's guide, which --guide asks for although it changes the training.

https://docs.ray.io/en/latest/train/getting-started-transformers.html passes `iter_torch_batches(...)` to the Trainer.
Here the Trainer's own collator makes the batches, and `max_steps` is what the epochs come to; what changes all the same
was measured on Ray 2.60 (docs/semantics/data.md#guide-form), and is reported.
"""

import ast
from functools import cached_property

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.codemods.shared import emitted
from raymigrate.codemods.shared.train_function import TrainFunction
from raymigrate.edits.plan import Code
from raymigrate.facts.projects.helpers import Helper
from raymigrate.facts.values import has_starred
from raymigrate.knowledge.legacy import TRAINING_ARGUMENTS

RM121 = Rule(
    "RM121",
    "the short data form of Ray's guide",
    "With iter_torch_batches() the Trainer sees batches without a length: it counts no epochs, and Ray Data, not the"
    " Trainer, decides what the last batch holds and which rows are evaluated.",
    "Each change is named. Without --guide the exact form is written, which trains as before.",
    "https://docs.ray.io/en/latest/train/getting-started-transformers.html",
)
EPOCHS = "In a run of three epochs the metric epoch is 0.33, 1.33, 2.33, where it was 1, 2, 3: the data have no length."
LAST_BATCH = "The last batch of each pass is short, at times a single row; it was filled up with the first rows."
EVALUATION = "Each worker evaluates an equal part of the evaluation rows; what such a division leaves over is left out."
RESUME = (
    "After a failure a pass over the data starts over, and epoch with it; before, it went on after the batches that"
    " were seen."
)
FIRST_OF_TRAINER = ("model", "args")
# What reads the datasets of a Trainer before prepare_trainer() has prepared it for them.
READS_DATA = ("evaluate", "get_eval_dataloader", "get_train_dataloader", "predict", "train")
# Arguments whose values decide what is written.
DECISIVE = ("dataloader_drop_last", "gradient_accumulation_steps", "max_steps")
DATASETS = ("train_dataset", "eval_dataset")


def guide_form(context: Context, function: TrainFunction) -> TrainFunction:
    """The training function in the form of the guide; the exact one, with a note why, where that cannot be written."""
    if not function.uses_ray_data:
        return function
    guide = GuideFunction(function)
    place = function.call.node
    if obstacle := guide.obstacle:
        context.note(RM121, place, f"The guide's short data form cannot be written, so the exact one is: {obstacle}.")
        return function
    if not context.converts(RM121, place, "The Trainer gets batches of iter_torch_batches(), as in Ray's guide."):
        return function
    for change in guide.changes:
        context.note(RM121, place, change)
    return guide


class GuideFunction(TrainFunction):
    """A training function whose Trainer gets the batches of Ray Data.

    Args:
        function: The training function in its exact form.
    """

    def __init__(self, function: TrainFunction) -> None:
        vars(self).update(vars(function))
        self.counts_rows = not self._has_max_steps
        self.splits_train_only = False

    # -- facts ---------------------------------------------------------------------------------

    @cached_property
    def obstacle(self) -> str:
        """Why the form cannot be written; empty where it can be."""
        keys = self.call.datasets.keys
        if self.call.imported is not None:
            return "the init function is in another file"
        if not self.inline:
            return "the init function stays as it is"
        if keys is None or "train" not in keys:
            return "it cannot be seen which datasets it gets"
        if "dataset_config" in self.call.arguments:
            return "the trainer has a dataset_config, which need not split the evaluation rows"
        if self._arguments is None:
            return "the Trainer and its TrainingArguments are not written out in the init function"
        if not self._only_passed_on:
            return "the init function does more with its datasets than to give them to the Trainer"
        if self._given.get("gradient_accumulation_steps", 1) != 1:
            return "gradients are accumulated, and without a length the last step of a pass is never taken"
        if not isinstance(self._given.get("dataloader_drop_last", False), bool):
            return "dataloader_drop_last is decided at run time, and the number of steps with it"
        return ""

    @cached_property
    def _trainer(self) -> ast.Call | None:
        """The construction of the Trainer that the function returns."""
        last = self.init.body[-1] if self.init is not None else None
        made = self.module.value(last.value) if isinstance(last, ast.Return) and last.value is not None else None
        if not isinstance(made, ast.Call) or not self.module.inside(made, self.init):
            return None
        shown = all(keyword.arg for keyword in made.keywords) and len(made.args) <= len(FIRST_OF_TRAINER)
        return made if shown and not has_starred(made.args) else None

    @cached_property
    def _trainer_arguments(self) -> dict[str, ast.expr]:
        assert self._trainer is not None
        by_position = dict(zip(FIRST_OF_TRAINER, self._trainer.args, strict=False))
        return by_position | {str(keyword.arg): keyword.value for keyword in self._trainer.keywords}

    @cached_property
    def _arguments(self) -> ast.Call | None:
        """The construction of the Trainer's TrainingArguments, if it says all that the number of steps depends on."""
        given = self._trainer_arguments.get("args") if self._trainer is not None else None
        made = self.module.value(given) if given is not None else None
        if not isinstance(made, ast.Call) or self.module.qualified(made.func) not in TRAINING_ARGUMENTS:
            return None
        attributes = [node for node in self.module.of_type(ast.Attribute) if self.module.inside(node, self.init)]
        changed = any(isinstance(node.ctx, ast.Store) and node.attr in DECISIVE for node in attributes)
        if changed or not self.module.inside(made, self.init):
            return None
        return made if len(made.args) <= 1 and all(keyword.arg for keyword in made.keywords) else None

    @cached_property
    def _given(self) -> dict[str, object]:
        """The literal values of the TrainingArguments; `...` where a value is not a literal."""
        keywords = self._arguments.keywords if self._arguments is not None else []
        return {str(keyword.arg): self.module.constant(keyword.value) for keyword in keywords}

    @property
    def _has_max_steps(self) -> bool:
        given = self._given.get("max_steps")
        return isinstance(given, int) and given > 0

    @property
    def drops_last(self) -> bool:
        """Whether the last batch of a pass is left out where it is short."""
        return self._given.get("dataloader_drop_last") is True

    @property
    def evaluates(self) -> bool:
        """Whether evaluation rows reach the Trainer."""
        return self.dataset_parameters[1] in self.read_dataset_parameters and self.call.datasets.has("evaluation")

    @property
    def _only_passed_on(self) -> bool:
        """Whether the datasets are read as arguments of the Trainer only, and not before it is prepared for them."""
        assert self.init is not None
        scope, passed = self.module.scope(self.init), [self._trainer_arguments.get(name) for name in DATASETS]
        train, evaluation = self.dataset_parameters
        names = [given.id if isinstance(given, ast.Name) else given for given in passed]
        return (
            names[0] == train
            and names[1] in (None, evaluation)
            and all(len(scope.bindings[name]) == 1 for name in (train, evaluation))
            and all(use in passed for name in (train, evaluation) for use in self.module.uses(name, scope))
            and not any(
                node.attr in READS_DATA and self.module.inside(node, self.init)
                for node in self.module.of_type(ast.Attribute)
            )
        )

    @property
    def changes(self) -> list[str]:
        """What the form changes in this script."""
        found = {EPOCHS: True, LAST_BATCH: not self.drops_last, EVALUATION: self.evaluates, RESUME: True}
        return [change for change, happens in found.items() if happens]

    # -- emission ------------------------------------------------------------------------------

    def emit(self) -> None:
        """Adds the function to the plan, with the datasets where the Trainer is built."""
        super().emit()
        assert self._trainer is not None and self._arguments is not None
        plan, given = self.context.plan, self._trainer_arguments["args"]
        plan.call(self._arguments).set("ignore_data_skip", "True")
        before = Code(self._batches())
        if not isinstance(given, ast.Name):
            before = Code(f"{self._args} = $arguments\n{before.template}", {"arguments": given})
            plan.hoist(given, self._args)
        plan.statement(self.module.statement(self._trainer)).before.append(before)

    @cached_property
    def _args(self) -> str:
        given = self._trainer_arguments["args"]
        return given.id if isinstance(given, ast.Name) else self.context.fresh("args", "training_args")

    @cached_property
    def _collate(self) -> str:
        return self.context.fresh("collate", "trainer_collate")

    @cached_property
    def _num_rows(self) -> str:
        return self.context.fresh("num_rows", "shard_rows")

    def _data_support(self) -> list[Helper]:
        return [emitted.TRAINER_COLLATE]

    def _need_imports(self) -> None:
        super()._need_imports()
        if self.counts_rows:
            self.context.plan.need_import("math", near=self.nested_import)

    def _datasets(self) -> str:
        lines = ""
        if self.counts_rows:
            workers = "ray.train.get_context().get_world_size()"
            lines += f'{self._num_rows} = {self._config_name()}.pop("{self.rows_key}") // {workers}\n'
        if not self.evaluates and self.dataset_parameters[1] in self.read_dataset_parameters:
            lines += f"{self.dataset_parameters[1]} = None\n"
        return lines

    def _batches(self) -> str:
        """Lines that make the datasets of the Trainer."""
        args, collate, (train, evaluation) = self._args, self._collate, self.dataset_parameters
        rows = self._num_rows
        steps = f"math.ceil({rows} / {args}.train_batch_size)"
        if self.drops_last:
            steps = f"({rows} // {args}.train_batch_size)"
        drop_last = ", drop_last=True" if self.drops_last else ""
        lines = f"{collate} = {self._support_name('TrainerCollate')}()\n"
        lines += emitted.BATCHES.format(
            name=train, key="train", size=f"{args}.train_batch_size{drop_last}", collate=collate
        )
        if self.evaluates:
            lines += emitted.BATCHES.format(
                name=evaluation, key="evaluation", size=f"{args}.eval_batch_size", collate=collate
            )
        if self.counts_rows:
            line = f"{args}.max_steps = math.ceil({args}.num_train_epochs * {steps})\n"
            at_run_time = self._given.get("max_steps") is ...
            lines += f"if {args}.max_steps <= 0:\n    {line}" if at_run_time else line
        return lines

    def _hand_over_data(self, trainer: str) -> str:
        return f"{self._collate}.trainer = {trainer}\n"

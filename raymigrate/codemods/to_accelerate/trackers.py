"""What a script logs with wandb, mlflow and TensorBoard: the main process alone does so."""

import ast
from functools import cached_property

from raymigrate.codemods.shared.wandb_runs import START, disabling, is_disabled, starts_elsewhere, troubles, unkept
from raymigrate.codemods.to_accelerate.access import Access
from raymigrate.codemods.to_accelerate.changes import Changes
from raymigrate.codemods.to_accelerate.processes import Processes
from raymigrate.codemods.to_accelerate.rules import RM857
from raymigrate.codemods.to_accelerate.sides import Side
from raymigrate.codemods.to_accelerate.training import Training
from raymigrate.codemods.to_accelerate.variables import Variable
from raymigrate.facts.syntax.nodes import is_assignment, targets_of
from raymigrate.facts.values import all_arguments, is_method_call

WRITERS = (
    "torch.utils.tensorboard.SummaryWriter",
    "torch.utils.tensorboard.writer.SummaryWriter",
    "tensorboardX.SummaryWriter",
)
OF_WANDB = tuple(f"wandb.{name}" for name in ("log", "finish", "watch", "save"))
OF_MLFLOW = tuple(
    f"mlflow.{name}" for name in ("log_metric", "log_metrics", "log_param", "log_params", "start_run", "end_run")
)
MAIN = "accelerator.is_main_process"
# Says the same where there is no Accelerator yet, under accelerate launch, torchrun and Ray.
FIRST = 'os.environ.get("RANK", "0") == "0"'
NONE = "`{writer}` is None in all processes but the first"
EACH = "Every process of a distributed run logs here, each as a run of its own."
DISABLE = 'Give it mode="disabled" in all processes but the first.'
BELOW_MAIN = "Let it run under `if {main}:`, without code in it that all processes run."


class Trackers(Side):
    """What a training logs.

    Args:
        training: What is trained.
        processes: Its processes.
    """

    def __init__(self, training: Training, processes: Processes) -> None:
        super().__init__(training)
        self.processes = processes

    @cached_property
    def _starts(self) -> list[ast.Call]:
        """The calls that start a run of wandb in every process."""
        return [call for call in self.module.calls(START) if not self.processes.is_main_only(call)]

    @cached_property
    def _writers(self) -> dict[Variable, ast.Call]:
        """The variables that hold a SummaryWriter, each with what makes it."""
        return {v: call for call in self.module.calls(*WRITERS) if (v := self._named(call)) is not None}

    def logs(self) -> list[ast.Call]:
        """The calls that log, or make what logs."""
        methods = [
            call
            for call in self.module.of_type(ast.Call)
            if isinstance(call.func, ast.Attribute)
            and isinstance(call.func.value, ast.Name)
            and self.variables.of(call.func.value) & self._writers.keys()
        ]
        of_wandb = () if self._starts else OF_WANDB  # what all processes have a run for needs no condition
        return [*self.module.calls(*WRITERS, *of_wandb, *OF_MLFLOW), *methods, *self._starts]

    def convert(self, changes: Changes, access: Access) -> None:
        """Lets one process log."""
        for call in self._starts:
            if not changes.is_gone(call) and not is_disabled(self.module, call):
                self._disable(changes, access, call)
        if self._starts:
            self._tell_of_disabled(changes)
        for call, place in starts_elsewhere(self.module):
            if not self.processes.is_main_only(call):
                changes.manual(RM857, call, f"wandb.init() in {place}: {EACH[0].lower()}{EACH[1:]}", DISABLE)
        statements: dict[str, list[ast.stmt]] = {}
        for call in self.logs():
            if call in self._starts or changes.is_gone(call) or self.processes.is_main_only(call):
                continue
            statement, main = self.module.statement(call), self._main(access, call)
            alone = (isinstance(statement, ast.Expr) or is_assignment(statement)) and statement.value is call
            if not alone or self._is_run_of_mlflow(statement, call):
                changes.manual(RM857, call, self._consequence(call), BELOW_MAIN.format(main=main))
                continue
            changes.converted(RM857, call, "The main process alone logs.")
            self._need_os(changes, main)
            if is_assignment(statement):
                changes.replace(call, f"{self.module.source(call)} if {main} else None")
                changes.kept.update(ast.walk(call))
            else:
                statements.setdefault(main, []).append(statement)
                self._unwrap_drawn(changes, access, call)
        for main, below in statements.items():
            self._put_below(changes, below, f"if {main}:")
        self._tell_of_none(changes)

    def _main(self, access: Access, node: ast.AST) -> str:
        """What says at a place whether the main process runs it."""
        return MAIN if access.reaches(node) else FIRST

    def _need_os(self, changes: Changes, main: str) -> None:
        if main == FIRST:
            changes.edits.append(lambda: changes.context.plan.need_import("os"))

    # -- wandb ---------------------------------------------------------------------------------

    def _disable(self, changes: Changes, access: Access, call: ast.Call) -> None:
        """Keeps the run of the main process alone; the others have one that does nothing."""
        main = self._main(access, call)
        found = disabling(self.module, call, main)
        if found is None:
            changes.manual(RM857, call, EACH, DISABLE)
            return
        changes.converted(RM857, call, "The main process alone logs: the run of the others is disabled.")
        part, code = found
        if part is None:
            changes.argument(call, "mode", code)
        else:
            changes.replace(part, code)
            changes.kept.update(ast.walk(part))
        self._need_os(changes, main)

    def _tell_of_disabled(self, changes: Changes) -> None:
        for function in unkept(self.module):
            changes.replace(function, "$owner.run." + function.attr, owner=function.value)
        for trouble in troubles(self.module):
            if not changes.is_gone(trouble.node) and not self.processes.is_main_only(trouble.node):
                shared = "accelerate.utils.broadcast_object_list"
                message = trouble.message.format(others="Each process")
                changes.manual(RM857, trouble.node, message, trouble.advice.format(shared=shared))

    # -- mlflow and TensorBoard ----------------------------------------------------------------

    def _consequence(self, call: ast.Call) -> str:
        """What happens where a call that logs is left."""
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        made = self.variables.of(owner) & self._writers.keys() if isinstance(owner, ast.Name) else ()
        if made and isinstance(owner, ast.Name):
            return f"{NONE.format(writer=owner.id)}: this raises an AttributeError there."
        return EACH

    def _tell_of_none(self, changes: Changes) -> None:
        """Tells where code that is not followed gets a writer that only one process has."""
        for read in self.module.of_type(ast.Name):
            if not isinstance(read.ctx, ast.Load) or not self.variables.of(read) & self._writers.keys():
                continue
            parent = self.module.parent_of[read]
            outer = self.module.parent_of[parent]
            if changes.is_gone(read) or self.processes.is_main_only(read):
                continue
            call = outer if isinstance(parent, ast.keyword) else parent
            if isinstance(parent, ast.Attribute) and not (isinstance(outer, ast.Call) and outer.func is parent):
                message, advice = "this raises an AttributeError there", "Read it in that process alone."
            elif isinstance(call, ast.Call) and not self._follows(call):
                name = ast.unparse(call.func)
                message, advice = f"{name}() gets it", f"Let {name}() do without it there."
            else:
                continue
            changes.manual(RM857, read, f"{NONE.format(writer=read.id)}: {message}.", advice)

    def _follows(self, call: ast.Call) -> bool:
        """Whether it is seen what a call does with a writer, or clear that it only looks at it."""
        return self.variables.called(call) is not None or ast.unparse(call.func) in ("isinstance", "print", "bool")

    def _unwrap_drawn(self, changes: Changes, access: Access, call: ast.Call) -> None:
        """Draws the graph of a model, not of the wrapper, which would wait for the other processes."""
        if is_method_call(call, "add_graph") and access.order.holds(call):
            for model in all_arguments(call):
                if isinstance(model, ast.Name) and self.variables.of(model) & set(self.training.models):
                    changes.replace(model, "accelerator.unwrap_model($model)", model=self.module.source(model))

    def _is_run_of_mlflow(self, statement: ast.stmt, call: ast.Call) -> bool:
        """Whether what starts a run is kept, whose attributes no other process would have."""
        return is_assignment(statement) and self.module.qualified(call.func) == "mlflow.start_run"

    def _named(self, call: ast.Call) -> Variable | None:
        statement = self.module.statement(call)
        if is_assignment(statement) and statement.value is call:
            return self.variables.spelled(targets_of(statement)[0])
        return None

    def _put_below(self, changes: Changes, statements: list[ast.stmt], head: str) -> None:
        """Puts statements below an `if` on the main process, less what in them all processes have to run."""
        shared = {statement: self._run_by_all(statement) for statement in statements}
        for statement, parts in shared.items():
            names = [changes.context.fresh("logged") for _ in parts]
            for name, part in reversed(list(zip(names, parts, strict=True))):  # each comes before the others
                changes.before(statement, f"{name} = $value", value=part)
                changes.hoist(part, name)
            if parts:
                changes.put_into([statement], head)
        for group in self.neighbours([statement for statement, parts in shared.items() if not parts]):
            changes.put_into(group, head)

    def _run_by_all(self, statement: ast.stmt) -> list[ast.expr]:
        """The arguments for which a function of the module or the model is called, where processes may wait."""
        call = statement.value if isinstance(statement, (ast.Expr, ast.Assign)) else None
        assert isinstance(call, ast.Call)
        given = all_arguments(call)
        given = [value.value if isinstance(value, ast.Starred) else value for value in given]
        return [value for value in given if any(map(self._waits, ast.walk(value)))]

    def _waits(self, node: ast.AST) -> bool:
        if not isinstance(node, ast.Call):
            return False
        return self.variables.called(node) is not None or bool(self.variables.of(node.func) & set(self.training.models))

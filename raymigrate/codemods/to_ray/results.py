"""What a training function returns, and which statements show it on the driver.

Metrics of a Trainer are the same on all workers; what the training function of the first worker returns is
`result.return_value` (from Ray 2.56 on; train/v2/api/result.py). Statements behind the training that only show such
values run on the driver, once. What else writes or prints behind it does so on the first worker only; methods of the
Trainer ask for that themselves.
"""

import ast
from bisect import bisect_left

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.codemods.shared.wandb_runs import START
from raymigrate.codemods.to_ray.all_workers import needs_all
from raymigrate.codemods.to_ray.arrivals import arrivals, between, places
from raymigrate.codemods.to_ray.called_back import called_back, written_by_all
from raymigrate.codemods.to_ray.early_writes import SAVE_TO_PATHS
from raymigrate.codemods.to_ray.first_worker import first_worker
from raymigrate.codemods.to_ray.interactive import DISPLAY
from raymigrate.codemods.to_ray.outline import FROM_WORKERS, Outline
from raymigrate.codemods.to_ray.saving_functions import before_no_load, only_saves
from raymigrate.codemods.to_ray.shown_values import ends, is_display
from raymigrate.codemods.to_ray.spread_weights import saves_spread_weights, tell_spread_weights
from raymigrate.codemods.to_ray.step_kinds import TRACKING, changes_something, stands_for_cell
from raymigrate.codemods.to_ray.trackers import FIRST
from raymigrate.codemods.to_ray.trainer_calls import Training, is_trainer
from raymigrate.edits.plan import Code
from raymigrate.facts.folders.opened_files import TABLES, TO_PATHS, is_method_of_path, opens_to_write
from raymigrate.facts.folders.read_back import is_read_back
from raymigrate.facts.ray_train.ranks import rank_condition
from raymigrate.facts.syntax.nodes import is_assignment, only_target
from raymigrate.facts.values import called_name, free_name, is_method_call, last_name, reaching

DUMPS = ("json.dump", "yaml.dump", "yaml.safe_dump", "pickle.dump")
SHOWING = ("print", "pprint.pprint", "click.echo", "click.secho", "typer.echo", "typer.secho", "rich.print", *DUMPS)
# Methods that write, on whatever object but a Trainer, which asks for the rank itself.
WRITING = frozenset({*SAVE_TO_PATHS, *TABLES, *TO_PATHS, "push_to_hub", "savefig"})
ROWS = frozenset({"writelines", "writerow", "writerows", "writeheader"})  # of an open file, or of csv
WRITES = ("torch.save", "joblib.dump", "numpy.save", "shutil.", "matplotlib.")


def return_results(context: Context, rule: Rule, outline: Outline, training: Training, unsaved: Rule) -> None:
    """Lets the training function return its metrics, and the driver show them; guards what else shows or writes.

    Args:
        context: The module.
        rule: The rule that tells which Ray this needs.
        outline: What becomes of the script.
        training: What trains in it.
        unsaved: The rule that tells what has to be saved in another way.
    """
    results = _Results(context, rule, outline, training)
    results.arrange()
    for step in results.spread:
        tell_spread_weights(context, unsaved, step)
    outline.tell_return(rule)


class _Results:
    def __init__(self, context: Context, rule: Rule, outline: Outline, training: Training) -> None:
        self.context = context
        self.rule = rule
        self.module = context.module
        self.outline = outline
        self.script = outline.script
        self.training = training
        self.names: list[str] = []  # variables that hold metrics
        self.spread: list[ast.stmt] = []  # what saves weights that are spread over the workers
        self.hoisted: dict[str, ast.expr] = {}  # by the name that each gets, evaluations within what shows them
        self.ends = ends(context, self.script.steps)
        self._before_no_load = before_no_load(self.module, outline.roles.moved())
        self._moved = outline.roles.moved()
        self._reached = places(self.script, self._moved, training.trains)
        self._run = outline.roles.moved_or_makers()

    def arrange(self) -> None:
        for step in self.outline.roles.moved():
            if self._starts_tracking(step):
                self._put_below(FIRST, step)
        self._guard_inside()
        self._guard_called_back()
        self._arrange_behind()
        for step in self.outline.roles.moved():
            if self._is_display(step) and step not in self.outline.behind | self.outline.displayed:
                self.context.plan.statement(step).removed = True

    def _arrange_behind(self) -> None:
        """What is shown behind the training is shown on the driver, where that has all it takes."""
        for step in between(self._moved, self._reached):
            match step:  # `wait_for_files` lets the others wait where they load it
                case ast.Expr(ast.Call(ast.Attribute(attr="save_pretrained"))) if self._writes(step):
                    self._guard(step)
        behind = self._behind()
        returns = any(isinstance(step, ast.Return) or self.script.may_end_main(step) for step in self._moved)
        shown: list[tuple[ast.stmt, str]] = []  # with the name that an evaluation in it gets
        for step in behind:
            if self._is_evaluation(step):
                target = only_target(step)
                assert isinstance(target, ast.Name)
                self.names.append(target.id)
            elif not returns and (call := self._evaluation_shown(step)) is not None:
                name = (
                    self.context.fresh("metrics", "evaluation") if not self.hoisted else self.context.fresh("metrics")
                )
                self.hoisted[name] = call
                shown.append((step, name))
            elif not returns and self._only_shows(step):
                shown.append((step, ""))
            elif self._writes(step):
                self._guard(step)
        if shown:
            self._return(shown)

    def _behind(self) -> list[ast.stmt]:
        """The steps behind the training that move."""
        return self._moved[max(self._reached) + 1 :] if self._reached else []

    def _is_display(self, step: ast.stmt) -> bool:
        """Whether a statement does nothing but show a value at the end of a cell."""
        value = step.value if isinstance(step, ast.Expr) else None
        while isinstance(value, (ast.Attribute, ast.Subscript)):
            value = value.value
        return isinstance(value, ast.Name)

    def _starts_tracking(self, step: ast.stmt) -> bool:
        """Whether a statement starts a run of a tracker, which one worker does for all; of wandb see `trackers`."""
        name = called_name(self.module, step.value if isinstance(step, ast.Expr) else None)
        return name != START and name.startswith(TRACKING)

    # -- kinds of statements -------------------------------------------------------------------

    def _is_evaluation(self, step: ast.stmt) -> bool:
        if not is_assignment(step) or not isinstance(only_target(step), ast.Name):
            return False
        return self._evaluates(step.value) or self._is_log_history(step.value)

    def _evaluates(self, node: ast.AST) -> bool:
        match node:
            case ast.Call(ast.Attribute(trainer, "evaluate")):
                return is_trainer(self.module, trainer)
        return False

    def _is_log_history(self, node: ast.AST) -> bool:
        match node:
            case ast.Attribute(ast.Attribute(trainer, "state"), "log_history"):
                return is_trainer(self.module, trainer)
        return False

    def _is_of_prediction(self, node: ast.AST) -> bool:
        """Whether something is the metrics of a prediction: numbers, which are the same on all workers."""
        if not (isinstance(node, ast.Attribute) and node.attr == "metrics"):
            return False
        match self.module.value(node.value):
            case ast.Call(ast.Attribute(trainer, "predict")):
                return is_trainer(self.module, trainer)
        return False

    def _evaluation_shown(self, step: ast.stmt) -> ast.expr | None:
        """The one evaluation in a call of print, or at the end of a cell, that reads nothing else of the workers."""
        if not isinstance(step, ast.Expr):
            return None
        is_end = step.value in self.ends  # the cell shows it
        if not is_end and not self._shows(step.value):
            return None
        found = [node for node in ast.walk(step) if self._evaluates(node) or self._is_log_history(node)]
        found += [node for node in ast.walk(step) if is_end and self._is_of_prediction(node)]
        if len(found) != 1:
            return None
        inside = set(ast.walk(found[0]))
        outside = [n for n in ast.walk(step) if isinstance(n, ast.Name) and n not in inside and self._moves(n)]
        return found[0] if not outside else None  # type: ignore[return-value]

    def _only_shows(self, step: ast.stmt) -> bool:
        """Whether a statement prints or writes metrics, and reads nothing else of the workers."""
        if isinstance(step, ast.With):
            body = (part.value if isinstance(part, ast.Expr) else None for part in step.body)
            shows = self._opens_to_write(step) and all(self._shows(value) for value in body)
        else:
            shows = isinstance(step, ast.Expr) and (self._shows(step.value) or step.value in self.ends)
        read = [name for name, _ in self.script.read(step) if name in self.names]
        bound = self.script.bound(step)
        others = [n for n in ast.walk(step) if isinstance(n, ast.Name) and n.id not in (*self.names, *bound)]
        return shows and bool(read) and not any(self._moves(node) for node in others)

    def _shows(self, node: ast.AST | None) -> bool:
        if not isinstance(node, ast.Call):
            return False
        if is_display(self.module, node):
            return True
        name = self.module.qualified(node.func) or (node.func.id if isinstance(node.func, ast.Name) else "")
        return name in SHOWING or is_method_call(node, "write", "info")

    def _opens_to_write(self, step: ast.stmt) -> bool:
        if not isinstance(step, ast.With):
            return False
        return all(self._is_opened_to_write(item.context_expr) for item in step.items)

    def _is_opened_to_write(self, node: ast.expr) -> bool:
        """Whether this opens a file to write it: `open(path, "w")`, or `path.open("w")` of a pathlib.Path."""
        if not isinstance(node, ast.Call):
            return False
        is_open = free_name(self.module, node.func) == "open" and bool(node.args)
        is_method = is_method_of_path(self.module, node) and last_name(node.func) == "open"
        return (is_open or is_method) and opens_to_write(self.module, node)

    def _writes(self, step: ast.stmt) -> bool:
        """Whether every worker would write or print the same."""
        if isinstance(step, ast.With):
            writes = self._is_written(step)
        else:
            writes = isinstance(step, ast.Expr) and (self._writes_by_call(step.value) or self._saves(step))
        if not writes or needs_all(self.module, step) or self._is_read_back(step):
            return False
        return all(reader is step for name in self.script.bound(step) for reader in self._readers(name, step))

    def _saves(self, step: ast.Expr) -> bool:
        """Whether a statement calls a function of the script that only saves, and nothing is loaded behind it."""
        is_late = step in self._before_no_load
        return is_late and only_saves(self.module, step.value, lambda p: self._is_writing(p) or self._is_written(p))

    def _is_written(self, part: ast.stmt) -> bool:
        return isinstance(part, ast.With) and self._opens_to_write(part) and self._only_writes(part.body)

    def _is_read_back(self, step: ast.stmt) -> bool:
        """Whether the workers read a file that a statement opens to write: each then reads what it wrote itself."""
        opened = [node for node in ast.walk(step) if isinstance(node, ast.Call) and self._is_opened_to_write(node)]
        paths = [call.func.value if isinstance(call.func, ast.Attribute) else call.args[0] for call in opened]
        return any(is_read_back(self.module, path, self._run, set(opened)) for path in paths)

    def _writes_by_call(self, call: ast.expr) -> bool:
        if not isinstance(call, ast.Call):
            return False
        return self._shows(call) or self._writes_files(call)

    def _writes_files(self, call: ast.Call) -> bool:
        if called_name(self.module, call).startswith(WRITES):
            return True
        return is_method_call(call, *WRITING)

    def _readers(self, name: str, step: ast.stmt) -> list[ast.stmt]:
        return list(self.script.readers(name, self.script.scope(step)))

    def _moves(self, node: ast.Name) -> bool:
        """Whether a name gets its value in the training function."""
        scope = self.module.bound_in(node)
        binders = self.script.binders(node.id, scope) if scope is not None else ()
        return any(self.outline.roles.of[binder].moves for binder in binders)

    # -- changes -------------------------------------------------------------------------------

    def _guard_inside(self) -> None:
        """Guards what is written behind the training within a step: in a function that trains, or in a branch."""
        inside: dict[ast.AST | None, list[ast.Call]] = {}  # the calls that train by the function that they are in
        for call in arrivals(self.module, self.training.trains):
            if self.module.statement(call) is not self.script.step_of(call):
                inside.setdefault(self.module.function(call), []).append(call)
        ends = {function: sorted(calls, key=self._end_of_training) for function, calls in inside.items()}
        steps: list[ast.With | ast.Expr] = [*self.module.of_type(ast.With), *self.module.of_type(ast.Expr)]
        for step in steps if ends else ():
            calls = ends.get(self.module.function(step), [])
            before = bisect_left(calls, step.lineno, key=self._end_of_training)
            is_behind = before > 0 and step not in self.outline.roles.of
            if is_behind and rank_condition(self.module, step) is None and self._is_for_one(step):
                self._put_below(first_worker(self.module, self.training, calls[before - 1], step), step)

    def _end_of_training(self, call: ast.Call) -> int:
        """The last line of the statement that trains."""
        return self.module.statement(call).end_lineno or 0

    def _guard_called_back(self) -> None:
        """Guards what a Trainer's callbacks, methods and metrics write."""
        for function, test in called_back(self.module, self.training):
            for step in filter(self._is_for_one, written_by_all(self.module, function)):
                self._put_below(test, step)

    def _is_for_one(self, step: ast.With | ast.Expr) -> bool:
        return self._writes_inside(step) and not needs_all(self.module, step) and not self._is_read_back(step)

    def _writes_inside(self, step: ast.With | ast.Expr) -> bool:
        """Whether a statement of a function writes a file, does nothing for others, and is in none that does so."""
        around = (node for node in self.module.ancestors(step) if isinstance(node, ast.With))
        if any(self._opens_to_write(node) for node in around):
            return False
        stored = (node for node in ast.walk(step) if isinstance(getattr(node, "ctx", None), ast.Store))
        if not all(self._is_read_within(step, node) for node in stored):
            return False
        if isinstance(step, ast.Expr):
            return isinstance(step.value, ast.Call) and self._writes_one(step.value)
        return self._opens_to_write(step) and self._only_writes(step.body)

    def _only_writes(self, body: list[ast.stmt]) -> bool:
        """Whether a block does nothing but write: it is not left early, and changes nothing that is read behind it."""
        return all(isinstance(part, ast.Pass) or self._is_writing(part) for part in body)

    def _is_writing(self, part: ast.stmt) -> bool:
        if isinstance(part, (ast.For, ast.If)):
            head = part.iter if isinstance(part, ast.For) else part.test
            return not changes_something(head) and self._only_writes([*part.body, *part.orelse])
        value = part.value if isinstance(part, ast.Expr) else None
        inside = value.elt if isinstance(value, ast.ListComp) else value
        if not isinstance(inside, ast.Call):
            return False
        writes = self._writes_by_call(inside) or is_method_call(inside, *ROWS)
        return writes and not changes_something(part)

    def _writes_one(self, call: ast.Call) -> bool:
        """Whether a call writes a file: `json.dump(metrics, open(path, "w"))` and `open(path, "w").write(text)` too."""
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        is_written = owner is not None and self._is_opened_to_write(owner)
        return is_written or self.module.qualified(call.func) in DUMPS or self._writes_files(call)

    def _is_read_within(self, step: ast.With | ast.Expr, stored: ast.AST) -> bool:
        """Whether what a statement gives a value is a name that is read in it alone, or several of them."""
        if not isinstance(stored, ast.Name):
            return isinstance(stored, (ast.Tuple, ast.List, ast.Starred))  # whose names are looked at too
        uses = self.module.uses_of(stored)
        outside = (use for use in uses if not self.module.inside(use, step))
        return not any(self.module.inside(b.node, step) for use in outside for b in reaching(self.module, use))

    def _guard(self, step: ast.stmt) -> None:
        call = self.training.trains[0]
        here = self.script.step_of(call) is self.module.statement(call)
        is_name = isinstance(call.func.value, ast.Name)  # type: ignore[attr-defined]
        self._put_below(first_worker(self.module, self.training, call, step) if here and is_name else FIRST, step)

    def _put_below(self, test: str, step: ast.stmt) -> None:
        if saves_spread_weights(self.module, self.outline, step):
            self.spread.append(step)
            return
        self.context.plan.statement(step).within = Code(f"if {test}:\n    pass\n")

    def _return(self, shown: list[tuple[ast.stmt, str]]) -> None:
        returned = f"{self.outline.result}.return_value"
        self.context.note(self.rule, shown[0][0], FROM_WORKERS.format(returned))
        read = {name for step, _ in shown for name, _ in self.script.read(step)}
        names = [*(name for name in self.names if name in read), *self.hoisted]
        single = len(names) == 1
        self.outline.returned = names[0] if single else "{" + ", ".join(f'"{name}": {name}' for name in names) + "}"
        values = {name: returned if single else f'{returned}["{name}"]' for name in names}
        self.outline.read_back = [f"{name} = {values[name]}" for name in names if name not in self.hoisted]
        for number, (step, name) in enumerate(shown, 1):
            is_end = isinstance(step, ast.Expr) and step.value in self.ends and not self._shows(step.value)
            text = "$shown"
            if is_end and not (number == len(shown) and self._ends_cell()):
                text = f"{DISPLAY}($shown)"
            if name:
                assert isinstance(step, ast.Expr)
                call = self.hoisted[name]
                self.context.plan.hoist(call, values[name])
                self.context.plan.statement(step).replacement = Code(f"{name} = $call", {"call": call})
                self.outline.displayed.add(step)
                part = values[name] if step.value is call else step.value
                self.outline.shown.append(Code(text, {"shown": part}))
            else:
                self.outline.behind.add(step)
                if text == "$shown":
                    self.outline.shown.append(Code(text, blocks={"shown": [step]}))
                else:
                    assert isinstance(step, ast.Expr)
                    self.context.plan.statement(step).removed = True
                    self.outline.shown.append(Code(text, {"shown": step.value}))

    def _ends_cell(self) -> bool:
        """Whether the trainer takes its place at the end of a cell."""
        following = self.script.steps[self.script.number(self.outline.roles.moved()[-1]) + 1 :]
        return not following or stands_for_cell(following[0])

"""RM857: files of plain values, such as the metrics of a training, which the main process alone writes."""

import ast
from collections.abc import Iterator
from functools import cached_property

from raymigrate.codemods.to_accelerate.access import Access
from raymigrate.codemods.to_accelerate.changes import Changes, shares_line
from raymigrate.codemods.to_accelerate.own_code import methods_behind
from raymigrate.codemods.to_accelerate.processes import SET_UP, Processes
from raymigrate.codemods.to_accelerate.rules import RM857
from raymigrate.codemods.to_accelerate.sides import Side
from raymigrate.codemods.to_accelerate.trackers import MAIN
from raymigrate.codemods.to_accelerate.training import Training
from raymigrate.codemods.to_accelerate.wrappers import DDP
from raymigrate.facts.folders.opened_files import TABLES, TO_PATHS, WRITERS, written_files, written_path
from raymigrate.facts.folders.read_back import is_missed
from raymigrate.facts.folders.removals import is_own_path, removes_files
from raymigrate.facts.projects.callees import functions_run
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import blocks
from raymigrate.facts.values import called_name, free_name, reaching

# What computes with plain values, and waits for no other process.
FUNCTIONS = frozenset(
    {
        *("open", "str", "int", "float", "bool", "len", "list", "dict", "tuple", "set", "sorted", "zip", "enumerate"),
        *("range", "round", "sum", "min", "max", "abs", "repr", "format", "print", "isinstance", "vars"),
    }
)
PACKAGES = (
    "json.",
    "pickle.",
    "csv.",
    "yaml.",
    "pathlib.",
    "os.path.",
    "datetime.",
    "time.",
    "dataclasses.",
    "pandas.",
    "numpy.",
)
DRAWING = "numpy.random."  # which would draw in the main process alone
# What is gone through once, and may compute meanwhile: the other processes would be left with the rest.
LAZY = frozenset({"map", "filter", "zip", "enumerate", "iter", "reversed", "csv.reader", "csv.DictReader"})
METHODS = frozenset(
    {
        *("write", "writelines", "writerow", "writerows", "writeheader", "flush"),
        *("items", "keys", "values", "get", "format", "join", "strip", "isoformat", "strftime", "dump", "dumps"),
        *("tolist", "item", "cpu", "detach", "numpy", "mean", "to_dict", "as_posix", "joinpath", "with_suffix"),
    }
)
EVERY_WRITES = "Every process of a distributed run writes this file."
EVERY_REMOVES = (
    "Every process of a distributed run removes or moves this: one may find it gone, which raises a FileNotFoundError,"
    " or take away what the main process has written since."
)
BY_MAIN = "Let it run under `if accelerator.is_main_process:`, without code in it that all processes run."
# Code that goes on elsewhere, or leaves something behind.
LEAVING = (
    *(ast.Return, ast.Yield, ast.YieldFrom, ast.Await, ast.Break, ast.Continue, ast.Raise, ast.Delete),
    *(ast.Global, ast.Nonlocal, ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef),
)


class PlainFiles(Side):
    """The files that a script writes itself.

    Args:
        training: What is trained.
        processes: Its processes.
    """

    def __init__(self, training: Training, processes: Processes) -> None:
        super().__init__(training)
        self.processes = processes

    def write(self, changes: Changes, access: Access) -> None:
        """Lets the main process alone write, and tells of what else every process would write, remove or move.

        Args:
            changes: The edits.
            access: The Accelerator.
        """
        told = dict.fromkeys(self._writers, EVERY_WRITES)
        told |= dict.fromkeys(self._removals(), EVERY_REMOVES)
        had_several = any(self.module.calls(*DDP, *SET_UP))  # and decided itself who writes
        alone: dict[ast.stmt, None] = {}
        for call, message in told.items():
            is_there = access.order.holds(call) or access.reaches(call)
            if not is_there or self.processes.runs_in_main_only(call) or changes.is_gone(call):
                continue
            can_be = message is EVERY_WRITES and access.reaches(call) and not had_several
            statement = self._statement(call) if can_be else None
            if statement is None:
                changes.manual(RM857, call, message, BY_MAIN)
            elif alone.keys().isdisjoint(self.module.ancestors(call)):
                changes.converted(RM857, call, "The main process alone writes this file.")
                alone[statement] = None
        for group in self.neighbours(list(alone)):
            changes.put_into(group, f"if {MAIN}:")

    def _removals(self) -> Iterator[ast.Call]:
        """The calls that remove or move files which the other processes know too."""
        for call in self.module.of_type(ast.Call):
            if removes_files(self.module, call) and not any(is_own_path(self.module, path) for path in call.args):
                yield call

    def _statement(self, call: ast.Call) -> ast.stmt | None:
        """The statement that writes a file, if one process can run it without the others; None if that is not seen."""
        found = self._around(call)
        path = written_path(self.module, call)
        if found is None or path is None or is_own_path(self.module, path):
            return None
        block = next(each for each in blocks(self.module.parent_of[found]) if found in each)
        if shares_line(found, block) or not self._is_for_one(found) or self._is_of_process(path):
            return None
        inside = {part for part in ast.walk(found) if isinstance(part, ast.Call)}
        return None if is_missed(self.module, path, inside.union(self._writers)) else found

    @cached_property
    def _writers(self) -> list[ast.Call]:
        return list(written_files(self.module))

    def _around(self, call: ast.Call) -> ast.stmt | None:
        """The statement that a call is in: `with open(path, "w") as file:`, `json.dump(x, open(path, "w"))`."""
        item = self.module.parent_of[call]
        around = self.module.parent_of[item] if isinstance(item, ast.withitem) else self.module.statement(call)
        return around if isinstance(around, (ast.With, ast.Expr)) else None

    def _is_for_one(self, statement: ast.stmt) -> bool:
        """Whether code computes with plain values alone, is the same in all processes, and leaves nothing behind."""
        parts = list(ast.walk(statement))
        if any(isinstance(part, LEAVING) for part in parts):
            return False
        calls = [part for part in parts if isinstance(part, ast.Call)]
        if any(map(self.processes.is_named_in, calls)) or not self._are_plain(self.module, parts, set()):
            return False
        targets = [part for part in parts if isinstance(getattr(part, "ctx", None), ast.Store)]
        if any(isinstance(t, (ast.Attribute, ast.Subscript)) or self._is_read_behind(t, statement) for t in targets):
            return False
        return not any(self._is_of_training(part) for part in parts if isinstance(part, (ast.Name, ast.Attribute)))

    def _is_of_process(self, path: ast.expr) -> bool:
        """Whether the number of the process may be in a path: `Path(f"log_{rank}.txt")`."""
        calls = [part for part in ast.walk(self.module.value(path)) if isinstance(part, ast.Call)]
        return any(map(self.processes.is_named_in, calls))

    def _are_plain(self, module: Module, parts: list[ast.AST], seen: set[ast.AST]) -> bool:
        """Whether code computes with plain values alone, and so do the methods that run without a call of theirs."""
        if not all(self._is_plain(module, part) for part in parts if isinstance(part, ast.Call)):
            return False
        read = [
            part for part in parts if isinstance(part, (ast.Attribute, ast.Name)) and isinstance(part.ctx, ast.Load)
        ]
        for home, method in (found for part in read for found in methods_behind(module, part)):
            inside = list(home.below(method))
            is_kept = any(isinstance(p, ast.Attribute) and isinstance(p.ctx, ast.Store) for p in inside)
            if method in seen:
                continue
            seen.add(method)
            if is_kept or not self._are_plain(home, inside, seen):
                return False
        return True

    def _is_plain(self, module: Module, call: ast.Call) -> bool:
        if any(functions_run(module, call)):
            return False  # of the project
        name = module.qualified(call.func)
        if name is not None:
            return name in WRITERS or (name.startswith(PACKAGES) and not name.startswith(DRAWING))
        if isinstance(call.func, ast.Name):
            return free_name(module, call.func) in FUNCTIONS
        return isinstance(call.func, ast.Attribute) and call.func.attr in (*METHODS, *TABLES, *TO_PATHS, "open")

    def _is_read_behind(self, target: ast.AST, statement: ast.stmt) -> bool:
        """Whether a name that a statement binds may be read behind it."""
        if not isinstance(target, ast.Name):
            return False
        outside = (use for use in self.module.uses_of(target) if not self.module.inside(use, statement))
        return any(self.module.inside(b.node, statement) for use in outside for b in reaching(self.module, use))

    def _is_of_training(self, part: ast.expr) -> bool:
        """Whether something is trained, or gives what a loop goes through."""
        training = self.training
        trained = {*training.models, *training.optimizers}
        homes = self.variables.of(part)
        return bool(homes & trained) or training.is_loaders(homes) or self._is_lazy(part)

    def _is_lazy(self, part: ast.expr) -> bool:
        """Whether what a name holds is computed when it is gone through, perhaps by the model."""
        if not isinstance(part, ast.Name) or not isinstance(part.ctx, ast.Load):
            return False
        ends = [(end.module, end.node) for end in self.module.origins(part)]
        calls = [(module, node) for module, node in ends if isinstance(node, ast.Call)]
        if any((called_name(module, call) or free_name(module, call.func)) in LAZY for module, call in calls):
            return True
        made = [function for module, call in calls for _, function in functions_run(module, call)]
        yields = any(isinstance(node, (ast.Yield, ast.YieldFrom)) for function in made for node in ast.walk(function))
        return yields or any(isinstance(node, ast.GeneratorExp) for _, node in ends)

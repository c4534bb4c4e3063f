"""What a script prints and saves: the main process alone does so."""

import ast

from raymigrate.base.expressions import lazy_regex
from raymigrate.codemods.to_accelerate.access import Access
from raymigrate.codemods.to_accelerate.changes import Changes
from raymigrate.codemods.to_accelerate.home import blocks_around
from raymigrate.codemods.to_accelerate.log_lines import prints
from raymigrate.codemods.to_accelerate.plain_files import PlainFiles
from raymigrate.codemods.to_accelerate.processes import Processes
from raymigrate.codemods.to_accelerate.reached import INNER, OF_WRAPPED, reached
from raymigrate.codemods.to_accelerate.rules import RM856, RM857, RM858, Refusal
from raymigrate.codemods.to_accelerate.saves import save_in_main
from raymigrate.codemods.to_accelerate.sides import Side
from raymigrate.codemods.to_accelerate.together import Together
from raymigrate.codemods.to_accelerate.trackers import MAIN
from raymigrate.codemods.to_accelerate.training import Training
from raymigrate.codemods.to_accelerate.variables import SAME
from raymigrate.facts.folders.read_back import path_keys
from raymigrate.facts.syntax.functions import parameter_for
from raymigrate.facts.syntax.nodes import blocks
from raymigrate.facts.torch.gradients import switches_gradients_off
from raymigrate.facts.values import all_arguments, argument, called_name, is_method_call, methods, methods_of_object

# What gives names too, which begin with "module." on the wrapper: `if name.startswith("encoder.")` holds for none.
NAMED = frozenset({"named_parameters", "named_modules", "named_buffers"})
# Methods that give, take or write the state of a model.
STATES = frozenset({"state_dict", "load_state_dict", "save_pretrained", "push_to_hub", "named_children", "children"})
SAVE, IN_MAIN = "accelerator.save", "if accelerator.is_main_process:"
WAIT = "accelerator.wait_for_everyone()"
BARRIER = "torch.distributed.barrier"  # which becomes that
TOO_EARLY = "A process that comes here first reads a {} that the main one has not written yet."
PIPELINES = ("transformers.pipeline", "transformers.pipelines.pipeline")
WAIT_FIRST = f"Call {WAIT} before, where all processes come."
# Packages whose functions take a wrapped model as it is.
KNOWN = frozenset(
    {*("torch", "torchvision", "transformers", "peft", "accelerate", "torchinfo", "torchsummary", "wandb", "copy")}
)
# What asks a model for its class and its configuration, which the wrapper has not.
PIPELINE = lazy_regex(r"transformers\.(pipelines\.)?(\w+\.)?(pipeline|\w+Pipeline)")
MOVES = frozenset({"to", "cuda", "cpu", "float", "train"})  # they give the model itself
SWITCHES = frozenset({"requires_grad", "requires_grad_"})
FREEZES = lazy_regex(r"(un)?freeze(_\w+)?|requires_grad_")  # by their names, where a library has the method
OF_WRAPPED_WEIGHTS = (
    "in several processes a weight that prepare() found free and that is frozen later raises a RuntimeError, and the"
    " gradients of one that it found frozen are not averaged once it is free"
)
GENERATING = ("transformers.", "peft.")  # packages whose models generate without gradients


class Output(Side):
    """What a training prints and saves.

    Args:
        training: What is trained.
        processes: Its processes.
    """

    def __init__(self, training: Training, processes: Processes) -> None:
        super().__init__(training)
        self.processes = processes
        self.together = Together(training)
        self.files = PlainFiles(training, processes)

    # -- the model -----------------------------------------------------------------------------

    def unwrap(self, changes: Changes, access: Access) -> None:
        """Reaches through the wrapper of a prepared model where something else is wanted than the wrapper has."""
        models = set(self.training.models)
        for asked in self.module.of_type(ast.IfExp):  # model.module if hasattr(model, "module") else model
            for wrapped, whole in ((asked.body, asked.orelse), (asked.orelse, asked.body)):
                inner = wrapped.value if isinstance(wrapped, ast.Attribute) and wrapped.attr == "module" else None
                if inner is None or not self.variables.of(whole) & models or ast.unparse(inner) != ast.unparse(whole):
                    continue
                is_prepared = access.order.holds(asked)  # else the model has no wrapper: its own goes
                changes.replace(asked, "accelerator.unwrap_model($model)" if is_prepared else "$model", model=whole)
        for node in self.module.of_type(ast.Attribute):
            if changes.is_gone(node) or not isinstance(node.ctx, ast.Load):
                continue
            is_prepared = access.order.holds(node)
            if node.attr == "module" and self.variables.of(node) and self.variables.of(node) <= models:
                inside = "accelerator.unwrap_model($model)" if is_prepared else "$model"  # whose own wrapper goes
                changes.replace(node, inside, model=node.value)
                continue
            if not is_prepared:
                continue
            homes = self.variables.of(node.value) if isinstance(node.value, ast.Name) else frozenset()
            if homes and homes <= models and self._is_without_sync(changes, node):
                continue
            is_same = node.attr in (*OF_WRAPPED, "to", "cuda", "module") or self._gives_no_names(node)
            if homes and homes <= models and not is_same:
                self._check_forward(node)
                changes.replace(node.value, "accelerator.unwrap_model($model)", model=self.module.source(node.value))
        for read in self.module.of_type(ast.Name):
            if self.variables.of(read) & models and isinstance(read.ctx, ast.Load) and not changes.is_gone(read):
                self._hand_to_other_file(changes, read, access.order.holds(read))

    def _gives_no_names(self, node: ast.Attribute) -> bool:
        """Whether nobody reads the names that come with the parts of a model: `for _, p in net.named_parameters()`."""
        loop = self.module.parent_of[self.module.parent_of[node]]
        target = loop.target if isinstance(loop, (ast.For, ast.comprehension)) else None
        first = target.elts[0] if isinstance(target, ast.Tuple) and target.elts else None
        return node.attr in NAMED and isinstance(first, ast.Name) and not self.module.uses_of(first)

    def _hand_to_other_file(self, changes: Changes, model: ast.Name, is_prepared: bool) -> None:
        """Hands the model without its wrapper to functions of other files that reach into it."""
        value = self._given_on(model)
        call = self.module.taking(value)
        if call is None:
            return
        if is_prepared and PIPELINE.fullmatch(self.module.qualified(call.func) or ""):
            changes.replace(model, "accelerator.unwrap_model($model)", model=self.module.source(model))
            return
        definition = self.module.elsewhere(call.func)
        function = definition.function if definition is not None else None
        if definition is None or function is None:
            if is_prepared:
                self._tell_of_unseen(changes, call, model)
            return
        parameter = parameter_for(function, call, value)
        attributes = reached(function, parameter)
        if not (is_prepared and attributes) and INNER not in attributes:
            return
        if INNER in attributes:
            changes.manual(
                RM858,
                call,
                f"{definition.name}(), in {definition.module.path}, reads `{parameter}.{INNER}`, which a model"
                " that accelerate prepared has under several processes alone: in one this raises an AttributeError.",
                f"Write `{parameter}` there, and give it accelerator.unwrap_model({model.id}) here.",
            )
            return
        if any(map(switches_gradients_off, ast.walk(function))):
            changes.replace(model, "accelerator.unwrap_model($model)", model=self.module.source(model))
            return
        changes.manual(
            RM858,
            call,
            f"{definition.name}(), in {definition.module.path}, uses attributes of the model, which under several"
            " processes is wrapped in DistributedDataParallel and has others.",
            f"Give it accelerator.unwrap_model({model.id}), unless gradients are worked out of what it returns.",
        )

    def _tell_of_unseen(self, changes: Changes, call: ast.Call, model: ast.Name) -> None:
        """Tells of functions that are imported from elsewhere, and may reach into the model."""
        name = self.module.qualified(call.func) or ""
        is_function = "." in name and name.rpartition(".")[2].islower()
        if is_function and name.partition(".")[0] not in KNOWN:
            changes.note(
                RM858,
                call,
                f"What {name.rpartition('.')[2]}() does with the model is not seen: under several processes it is"
                " wrapped in DistributedDataParallel, and attributes of its own are those of"
                f" accelerator.unwrap_model({model.id}).",
            )

    def _given_on(self, model: ast.Name) -> ast.expr:
        """The model, or what gives it on: `model.to("cpu").eval()`."""
        value: ast.expr = model
        while isinstance(method := self.module.parent_of[value], ast.Attribute) and method.attr in SAME:
            call = self.module.calling(method)
            if call is None:
                break
            value = call
        return value

    def _is_without_sync(self, changes: Changes, node: ast.Attribute) -> bool:
        """Whether a model is asked not to synchronize its gradients; in one process it has no method for that."""
        call = self.module.calling(node)
        if node.attr != "no_sync" or call is None or call.args:
            return False
        changes.converted(RM856, call, "no_sync() of DistributedDataParallel is accelerator.no_sync() now.")
        changes.replace(call, "accelerator.no_sync($model)", model=node.value)
        return True

    def _check_forward(self, node: ast.Attribute) -> None:
        """Refuses what trains by another method than forward(): no gradients would be averaged over the processes."""
        if self.module.calling(node) is None or node.attr in (*STATES, *NAMED):
            return
        if node.attr == "generate" and self._generates_without_gradients(node):
            return
        statement = self.module.statement(node)
        loops = {loop.node for c in self.training.backwards if (loop := self.training.training_loop(c)) is not None}
        around = [statement, *self.module.ancestors(statement)]
        untrained = any(map(switches_gradients_off, around))
        function = self.module.function(node)
        if not untrained and (loops & set(around) or function in self.training.training_functions):
            called = ast.unparse(node)
            if called in {ast.unparse(each.value) for each in self.module.attributes("parameters")}:
                raise Refusal(node, f"`{called}` is what trains, and is no name to which prepare() can give it back")
            reason = f"`{called}()` is called where it trains"
            if self._switches_weights(node):
                raise Refusal(node, f"{reason}, and changes requires_grad: {OF_WRAPPED_WEIGHTS}")
            raise Refusal(node, f"{reason}: accelerate averages the gradients of forward() alone")

    def _switches_weights(self, node: ast.Attribute) -> bool:
        """Whether a method of a model freezes or frees weights, and computes nothing."""
        found: list[ast.AST] = []  # the methods that it can be
        for source in self.module.origins(node.value):
            made = source.node
            while is_method_call(made, *MOVES):
                made = made.func.value  # Net().to(device)
            methods = methods_of_object(source.module, made, node.attr) if isinstance(made, ast.Call) else None
            found += [method for _, method in methods or []]
        names = [{part.attr for part in ast.walk(each) if isinstance(part, ast.Attribute)} for each in found]
        if not names:
            return FREEZES.fullmatch(node.attr) is not None
        return all(attributes & SWITCHES and "forward" not in attributes for attributes in names)

    def _generates_without_gradients(self, node: ast.Attribute) -> bool:
        """Whether `generate` is that of transformers, which is under no_grad (generation/utils.py), or is so itself."""
        makers = [maker for variable in self.variables.of(node.value) for maker in self.variables.makers(variable)]
        calls = [maker.func for maker in makers if isinstance(maker, ast.Call)]
        own = methods(self.module, node)
        if own or len(calls) < len(makers):
            return bool(own) and all(map(switches_gradients_off, own))
        return bool(calls) and all((self.module.qualified(call) or "").startswith(GENERATING) for call in calls)

    # -- files ---------------------------------------------------------------------------------

    def save(self, changes: Changes, access: Access) -> None:
        """Lets the main process alone write what torch.save() writes."""
        for call in self.module.calls("torch.save"):
            if not access.order.holds(call) or changes.is_gone(call) or self.processes.are_chosen(call):
                continue
            statement = self.module.statement(call)
            is_saved = save_in_main(changes, self.module, call, SAVE, IN_MAIN)
            if is_saved and self.together.is_run_by_all(statement):
                self._wait(changes, statement)
                is_left = isinstance(statement, ast.Return)
                if not is_left and any(self.module.calls("torch.load")):  # else it may be read before it is written
                    self._wait(changes, statement, behind=True)
        saves = [(c, ast.unparse(p)) for c in self.module.calls("torch.save") if (p := argument(c, 1, "f")) is not None]
        for call in self.module.calls("torch.load"):
            statement, path = self.module.statement(call), argument(call, 0, "f")
            if not access.order.holds(call) or self.processes.is_main_only(call):
                continue
            if self.together.is_run_by_all(statement):
                self._wait(changes, statement)
            elif path is not None and any(
                text == ast.unparse(path) and not (self._comes_first(call, save) or self._is_waited_for(call, save))
                for save, text in saves
            ):
                changes.manual(RM857, call, TOO_EARLY.format("file"), WAIT_FIRST)
        folders = [
            call
            for call in self.training.method_calls("save_pretrained")
            if access.order.holds(call) and not self.processes.are_chosen(call)
        ]
        for call in folders:
            self._save_pretrained(changes, call)
        self._wait_for_folders(changes, access, folders)

    def _wait_for_folders(self, changes: Changes, access: Access, saves: list[ast.Call]) -> None:
        """Lets all processes wait before they read from a folder that the main one alone writes now."""
        reads: set[ast.stmt] = set()
        writes: set[ast.stmt] = set()
        for save in saves:
            written = self.module.statement(save)
            for load in self._read_back(save):
                runs_there = access.order.holds(load)
                is_unseen = not runs_there and self.module.function(load) is not None  # a method, a callback
                if not (runs_there or is_unseen) or self.processes.is_main_only(load):
                    continue
                if runs_there and self.together.is_run_by_all(self.module.statement(load)):
                    reads.add(self.module.statement(load))
                elif self.together.is_run_by_all(written) and not isinstance(written, ast.Return):
                    writes.add(written)
                elif runs_there and not self._is_waited_for(load, save):
                    changes.manual(RM857, load, TOO_EARLY.format("folder"), WAIT_FIRST)
        for statement in sorted(writes, key=self.module.start):
            self._wait(changes, statement, behind=True)
        for statement in sorted(reads, key=self.module.start):
            if not any(self._is_next_read(other, statement, saves) for other in reads):
                self._wait(changes, statement)

    def _wait(self, changes: Changes, statement: ast.stmt, *, behind: bool = False) -> None:
        """Lets all processes wait before a statement or behind it, where the script does not do so itself."""
        parent = self.module.parent_of[statement]
        block = next((block for block in blocks(parent) if statement in block), [])
        place = block.index(statement) + (1 if behind else -1) if block else -1
        if not (0 <= place < len(block) and self._waits(block[place])):
            (changes.after if behind else changes.before)(statement, WAIT)

    def _waits(self, statement: ast.stmt) -> bool:
        return isinstance(statement, ast.Expr) and called_name(self.module, statement.value) == BARRIER

    def _is_waited_for(self, load: ast.Call, save: ast.Call) -> bool:
        """Whether the script itself has all processes wait between a save and a load, whatever is around the load."""
        start = self.module.start(save)
        above = [one for block, place in blocks_around(self.module, load) for one in block[:place]]
        is_same = self.module.function(load) is self.module.function(save)
        return is_same and any(self._waits(one) and self.module.start(one) > start for one in above)

    def _is_next_read(self, first: ast.stmt, second: ast.stmt, saves: list[ast.Call]) -> bool:
        """Whether a statement follows another one, in the same block, and nothing is saved in between."""
        start, end = self.module.start(first), self.module.start(second)
        is_behind = start < end and self.module.parent_of[first] is self.module.parent_of[second]
        return is_behind and not any(start < self.module.start(save) < end for save in saves)

    def _comes_first(self, load: ast.Call, save: ast.Call) -> bool:
        """Whether a file is read before this run writes any: to go on from another one."""
        function = self.module.function(load)
        if function is not self.module.function(save) or self.module.start(load) > self.module.start(save):
            return False
        is_called_again = function is not None and len(self.module.calls_of(function)) > 1
        return not is_called_again and set(self.variables.loops_around(load)).isdisjoint(
            self.variables.loops_around(save)
        )

    def save_others(self, changes: Changes, access: Access) -> None:
        """Lets the main process alone write before the training, and tells of files that every process would write."""
        for call in self.module.calls("torch.save"):
            if self._is_early(call, changes, access):
                save_in_main(changes, self.module, call, SAVE, IN_MAIN)
        for call in self.training.method_calls("save_pretrained"):
            if self._is_early(call, changes, access) and not self._read_back(call):
                self._save_pretrained(changes, call)
        self.files.write(changes, access)

    def _is_early(self, save: ast.Call, changes: Changes, access: Access) -> bool:
        """Whether all processes would write something before the models are prepared, with the Accelerator there."""
        beside = self.module.function(save) is access.home.function is not access.owner  # which has it for prepare()
        is_early = (beside or access.reaches(save)) and not access.order.holds(save)
        return is_early and not changes.is_gone(save) and not self.processes.are_chosen(save)

    def _save_pretrained(self, changes: Changes, call: ast.Call) -> None:
        assert isinstance(call.func, ast.Attribute)
        if self.processes.are_chosen(call):
            return
        statement = self.module.statement(call)
        changes.converted(RM857, call, "The main process alone saves.")
        if self.variables.of(call.func.value) & set(self.training.models):
            changes.argument(call, "is_main_process", "accelerator.is_main_process")
        elif isinstance(statement, ast.Expr):
            changes.put_into([statement], f"if {MAIN}:")

    def _read_back(self, save: ast.Call) -> list[ast.Call]:
        """The calls further down that read from the folder that something is saved in."""
        folder = argument(save, 0, "save_directory")
        keys = set(path_keys(self.module, folder)) if folder is not None else set()
        readers = [*self.training.method_calls("from_pretrained"), *self.module.calls(*PIPELINES)]
        return [
            call
            for call in readers
            if self._may_follow(call, save)
            and any(not keys.isdisjoint(path_keys(self.module, given)) for given in all_arguments(call))
        ]

    def _may_follow(self, load: ast.Call, save: ast.Call) -> bool:
        """Whether a call may come behind another one: further down, or in a function that may run there."""
        start, function = self.module.start(save), self.module.function(load)
        if function is self.module.function(save):
            return self.module.start(load) > start
        calls = self.module.calls_of(function) if function is not None else [load]
        is_unseen = self.module.function(save) is not None or not calls
        return is_unseen or any(self.module.start(call) > start for call in calls)

    # -- screens -------------------------------------------------------------------------------

    def show(self, changes: Changes, access: Access) -> None:
        """Lets one process print and show progress, and do what needs the Accelerator to be placed."""
        for call in self.module.of_type(ast.Call):
            if changes.is_gone(call) or not access.reaches(call) or self.processes.are_chosen(call):
                continue
            if prints(self.module, call):
                if not self.processes.is_named_in(call):  # `print(f"rank {rank} has ...")` is a line of each process
                    changes.replace(call.func, "accelerator.print")
            elif self.training.is_bar(call) and not any(k.arg in ("disable", None) for k in call.keywords):
                changes.argument(call, "disable", "not accelerator.is_local_main_process")
            elif self.training.is_bar(call):
                continue

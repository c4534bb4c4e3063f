"""What a native PyTorch script trains, with what, and on which data: the facts that the conversion rests on."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from raymigrate.codemods.to_accelerate.batches import Batches
from raymigrate.codemods.to_accelerate.item_givers import ITERATORS, gives_items, held
from raymigrate.codemods.to_accelerate.rules import Refusal
from raymigrate.codemods.to_accelerate.trained_parameters import parameters_in, trained_by
from raymigrate.codemods.to_accelerate.variables import Variable, Variables, in_order
from raymigrate.facts.ray_train.trainers import is_transformers_trainer, library_bases
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.torch.optimizers import is_scheduler
from raymigrate.facts.values import argument, called_name, class_named, free_name

DATA_LOADERS = ("torch.utils.data.DataLoader", "torch.utils.data.dataloader.DataLoader")
PLATEAU = "ReduceLROnPlateau"
BARS = ("tqdm", "trange")


@dataclass(frozen=True)
class Loop:
    """A loop over the batches of data loaders.

    Args:
        node: The loop.
        loaders: What it iterates over, each with the target that gets its batches.
        index: The target that counts batches; None where nothing does.
        start: Where that starts to count.
    """

    node: ast.For
    loaders: tuple[tuple[ast.expr, ast.expr], ...]
    index: ast.Name | None
    start: object


class Training:
    """The training of one module.

    Args:
        module: The module.
    """

    def __init__(self, module: Module) -> None:
        self.module = module
        self.variables = Variables(module)

    def method_calls(self, *names: str) -> list[ast.Call]:
        """Calls of methods with these names, of any object; those of one name after those of another."""
        return [call for name in names for call, _ in self.module.method_calls(name)]

    @cached_property
    def backwards(self) -> list[ast.Call]:
        """The calls that work out gradients, less those of a transformers.Trainer, which accelerate runs already."""
        calls = [call for call in self.method_calls("backward") if self.module.qualified(call.func) is None]
        return [call for call in calls if not self._is_of_trainer(call)]

    def _is_of_trainer(self, node: ast.AST) -> bool:
        classes = (parent for parent in self.module.ancestors(node) if isinstance(parent, ast.ClassDef))
        return any(is_transformers_trainer(self.module, definition) for definition in classes)

    # -- what is trained -----------------------------------------------------------------------

    def _steppers(self) -> Iterator[tuple[Variable, ast.Call, list[ast.expr]]]:
        for call in self.method_calls("step"):
            assert isinstance(call.func, ast.Attribute)
            for variable in in_order(self.variables.of(call.func.value)):
                makers = self.variables.makers(variable)
                if makers and all(map(self.is_scaler, makers)) and call.args:  # scaler.step(optimizer)
                    for stepped in in_order(self.variables.of(call.args[0])):
                        yield stepped, call, self.variables.makers(stepped)
                else:
                    yield variable, call, makers

    @cached_property
    def optimizers(self) -> list[Variable]:
        """The variables that hold optimizers which take steps."""
        found = [v for v, _, makers in self._steppers() if makers and all(map(self.makes_optimizer, makers))]
        return list(dict.fromkeys(found))

    def makes_optimizer(self, node: ast.expr) -> bool:
        """Whether an expression makes an optimizer: by its name, or by the parameters that it is given."""
        if not isinstance(node, ast.Call):
            return False
        home = self.variables.home_of(node)
        name = called_name(home, node)
        if ".lr_scheduler." in name:
            return False
        if name.startswith("torch.optim."):
            return True
        first = argument(node, 0, "params", "parameters")
        if first is None or not name.rpartition(".")[2][:1].isupper() or not any(parameters_in(home, first)):
            return False
        return not self._is_schedule(home, node, first)

    def _is_schedule(self, home: Module, call: ast.Call, first: ast.expr) -> bool:
        """Whether a class that may get an optimizer is a schedule of it: by its bases, or since both take steps.

        `Lookahead(SGD(...))` takes the steps of both: nobody calls step() of what it holds.
        """
        found = class_named(home, call.func)
        if found is not None and any(map(is_scheduler, library_bases(*found))):
            return True
        stepped = {maker for makers in self._stepped if call not in makers for maker in makers}
        return any(source.node in stepped for source in home.origins(first))

    @cached_property
    def _stepped(self) -> list[list[ast.expr]]:
        """What makes each variable whose step() is called."""
        return [makers for _, _, makers in self._steppers()]

    @cached_property
    def schedulers(self) -> dict[Variable, list[ast.Call]]:
        """The variables that hold learning rate schedulers, each with the calls that make them."""
        found: dict[Variable, list[ast.Call]] = {}
        for variable, _, makers in self._steppers():
            calls = [maker for maker in makers if isinstance(maker, ast.Call)]
            if calls and len(calls) == len(makers) and all(map(self._makes_scheduler, calls)):
                found[variable] = calls
        return found

    def _makes_scheduler(self, call: ast.Call) -> bool:
        home = self.variables.home_of(call)
        if is_scheduler(called_name(home, call)):
            return True
        given = [*call.args[:1], *(k.value for k in call.keywords if k.arg == "optimizer")]
        if home is not self.module:  # a class of the project, made where another file makes the schedule
            made = {maker for optimizer in self.optimizers for maker in self.variables.makers(optimizer)}
            return not self.makes_optimizer(call) and any(s.node in made for v in given for s in home.origins(v))
        return not self.makes_optimizer(call) and any(self.variables.of(v) & set(self.optimizers) for v in given)

    @cached_property
    def scalers(self) -> list[Variable]:
        """The variables that hold a GradScaler."""
        found = {
            variable: None
            for call in self.method_calls("scale", "step", "update")
            if isinstance(call.func, ast.Attribute)
            for variable in in_order(self.variables.of(call.func.value))
            if any(self.is_scaler(maker) for maker in self.variables.makers(variable))
        }
        return list(found)

    def loaders_of(self, *loops: Loop) -> set[Variable]:
        """The loaders that loops go over."""
        return {v for loop in loops for loader, _ in loop.loaders for v in self.variables.of(loader)}

    def is_scaler(self, node: ast.expr) -> bool:
        """Whether an expression makes a GradScaler."""
        name = called_name(self.module, node)
        return name.startswith("torch.") and name.endswith("GradScaler")

    @cached_property
    def models(self) -> list[Variable]:
        """The variables that hold the models which the optimizers train, in the order of the optimizers.

        Raises:
            Refusal: If it cannot be seen which these are.
        """
        found: dict[Variable, None] = {}
        for optimizer in self.optimizers:
            roots = [
                root
                for maker in self.variables.makers(optimizer)
                for root in trained_by(self.variables, optimizer, maker)
            ]
            if not roots:
                raise Refusal(self.made_at(optimizer), f"which model `{optimizer.name}` trains cannot be seen")
            for root in roots:
                if isinstance(root, ast.Name) and root.id == "self":
                    raise Refusal(root, "the model is kept in an attribute of an object, where it is not followed")
                homes = self.variables.of(root)
                if not homes:
                    raise Refusal(root, f"which model `{optimizer.name}` trains cannot be seen")
                homes = frozenset(self._returned_as(home, optimizer) for home in homes)
                found.update(dict.fromkeys(in_order(homes)))
        return list(found)

    def _returned_as(self, model: Variable, optimizer: Variable) -> Variable:
        """The variable beside an optimizer that gets a model which the function returns that made both."""
        if model.scope in (optimizer.scope, optimizer.scope.module):
            return model
        made = set(self.variables.makers(model))
        for name in optimizer.scope.bindings:
            beside = Variable(optimizer.scope, name)
            is_parameter = any(isinstance(node, ast.arg) for node in self.variables.bindings(beside))
            if made and not is_parameter and set(self.variables.makers(beside)) == made:
                return beside
        return model

    def made_at(self, variable: Variable) -> ast.AST:
        """Where a variable is bound first."""
        return self.variables.bindings(variable)[0]

    # -- the data ------------------------------------------------------------------------------

    def is_loader(self, variable: Variable) -> bool:
        """Whether a variable holds a DataLoader, and nothing else."""
        makers = self.variables.makers(variable)
        return bool(makers) and all(self.makes_loader(maker) or self._makes_loaders(maker) for maker in makers)

    def holds_loaders(self, variable: Variable) -> bool:
        """Whether a variable holds a dict of DataLoaders: `loaders[phase]`."""
        makers = self.variables.makers(variable)
        return bool(makers) and all(map(self._makes_loaders, makers))

    def _makes_loaders(self, node: ast.expr) -> bool:
        if isinstance(node, ast.DictComp):
            values = [node.value]
        elif isinstance(node, ast.Dict) and None not in node.keys:
            values = node.values
        else:
            return False
        sources = [source for value in values for source in self.module.origins(value)]
        return bool(sources) and all(self.makes_loader(source.node) for source in sources)

    def makes_loader(self, node: ast.expr) -> bool:
        """Whether an expression makes a DataLoader."""
        if not isinstance(node, ast.Call):
            return False
        if node not in self.module.scope_of:  # in another file of the project
            return ast.unparse(node.func).rpartition(".")[2] == "DataLoader"
        return self.module.qualified(node.func) in DATA_LOADERS

    @cached_property
    def loops(self) -> list[Loop]:
        """The loops over data loaders, in source order."""
        return [loop for node in self.module.of_type(ast.For) if (loop := self._loop(node)) is not None]

    def _loop(self, node: ast.For) -> Loop | None:
        iterated, target = self.unwrapped(node.iter), node.target
        index, start = None, object()
        if self._is_builtin(iterated, "enumerate"):
            assert isinstance(iterated, ast.Call)
            if not isinstance(target, (ast.Tuple, ast.List)) or len(target.elts) != 2 or not iterated.args:
                return None
            given = argument(iterated, 1, "start")
            start = 0 if given is None else self.module.constant(given)
            index, target = target.elts
            iterated = self.unwrapped(iterated.args[0])
        pairs = [(self.container(iterated), target)]
        if self._is_builtin(iterated, "zip") and isinstance(iterated, ast.Call) and isinstance(target, ast.Tuple):
            values = [self.container(self.unwrapped(value)) for value in iterated.args]
            pairs = list(zip(values, target.elts, strict=False))
        loaders = [(value, to) for value, to in pairs if self.is_loaders(self.variables.of(value))]
        if not loaders or len(loaders) != len(pairs):
            return None
        return Loop(node, tuple(loaders), index if isinstance(index, ast.Name) else None, start)

    def container(self, node: ast.expr) -> ast.expr:
        """The dict that a loader is taken from, `loaders` of `loaders[phase]`; else the loader itself."""
        if isinstance(node, ast.Subscript):
            homes = self.variables.of(node.value)
            if homes and all(map(self.holds_loaders, homes)):
                return node.value
        return node

    def is_loaders(self, variables: frozenset[Variable]) -> bool:
        """Whether all of these variables hold DataLoaders; False if there are none."""
        return bool(variables) and all(map(self.is_loader, variables))

    def unwrapped(self, node: ast.expr) -> ast.expr:
        """What a progress bar shows, perhaps one that has a name; an iterator for its name."""
        value = held(self.module, node) if isinstance(node, ast.Name) else node
        given = value.args[0] if isinstance(value, ast.Call) and value.args else None
        if (
            given is not None
            and isinstance(value, ast.Call)
            and (self.is_bar(value) or gives_items(self.module, value))
        ):
            return self.unwrapped(given)
        return value if any(self._is_builtin(value, name) for name in ITERATORS) else node

    def is_bar(self, call: ast.Call) -> bool:
        """Whether a call makes a progress bar of tqdm."""
        name = called_name(self.module, call)
        return name.partition(".")[0] == "tqdm" and name.rpartition(".")[2] in BARS

    def _is_builtin(self, node: ast.expr, name: str) -> bool:
        return isinstance(node, ast.Call) and bool(node.args) and free_name(self.module, node.func) == name

    def trains(self, node: ast.AST) -> bool:
        """Whether gradients are worked out in a statement, or in the functions that it calls."""
        if node in self.around_backwards:
            return True
        calls = (part for part in ast.walk(node) if isinstance(part, ast.Call))
        return any(self.variables.called(call) in self.training_functions for call in calls)

    @cached_property
    def around_backwards(self) -> dict[ast.AST, bool]:
        """What is around the calls that work gradients out: whether one of them is under a condition in it."""
        found: dict[ast.AST, bool] = {}
        for call in self.backwards:
            is_conditional = False
            for parent in self.module.ancestors(call):
                found[parent] = found.get(parent, False) or is_conditional
                is_conditional = is_conditional or isinstance(parent, ast.If)
        return found

    @cached_property
    def training_functions(self) -> frozenset[ast.AST]:
        """The functions in which gradients are worked out, and those that call them."""
        found: set[ast.AST] = set()
        waiting = [self.module.function(call) for call in self.backwards]
        while waiting:
            function = waiting.pop()
            if function is None or function in found:
                continue
            found.add(function)
            waiting += [self.module.function(call) for call in self.module.calls_of(function)]
        return frozenset(found)

    def training_loop(self, backward: ast.Call) -> Loop | None:
        """The innermost loop over a loader around a call, followed to the callers of its function."""
        return self._training_loop(backward, frozenset())

    def _training_loop(self, node: ast.AST, seen: frozenset[ast.AST]) -> Loop | None:
        by_node: dict[ast.AST, Loop] = {loop.node: loop for loop in self.loops}
        for parent in self.module.ancestors(node):
            if parent in by_node:
                return by_node[parent]
            if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
                if parent in seen:
                    return None
                found = [self._training_loop(call, seen | {parent}) for call in self.module.calls_of(parent)]
                return found[0] if found and all(found) else None
        return None

    @cached_property
    def _batches(self) -> Batches:
        pairs = [pair for loop in self.loops for pair in loop.loaders]
        loader_of = {part: loader for loader, to in reversed(pairs) for part in ast.walk(to)}
        return Batches(self.module, self.variables, loader_of)

    def batch_of(self, node: ast.AST) -> frozenset[Variable]:
        """The loaders whose batches an expression is taken from; none where it may be something else."""
        return self._batches.of(node)

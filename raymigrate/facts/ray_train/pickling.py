"""What Ray cannot send with a function: modules of torch that are objects of a class of their own, loguru's logger.

Ray pickles what `__main__` and notebooks define by value, with the modules that it names: those of its globals, and
each submodule that is loaded and whose names all stand in its code (`_find_imported_submodules` in
ray/cloudpickle/cloudpickle.py, 2.60). Only plain modules can be pickled. A function that imports the module itself has
no such global. The logger of loguru is pickled with all that it writes to: with a file, that is a PicklingError (loguru
0.7.3, measured).
"""

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from raymigrate.facts.projects.places import TAKE_TRAINABLES, TRAINABLE, TRAINING_FUNCTION, Places
from raymigrate.facts.ray_data.datasets import MAPPERS, is_dataset
from raymigrate.facts.ray_data.preprocessors import BATCH_MAPPERS
from raymigrate.facts.ray_train.loguru_files import LOGURU, bound_by, files_of_loguru
from raymigrate.facts.syntax.functions import decorators_of
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.scopes import FUNCTIONS, Binding, FunctionNode, Scope, children
from raymigrate.facts.values import (
    all_arguments,
    argument,
    is_none,
    keyword_argument,
    methods,
    seen_entries,
    seen_items,
)
from raymigrate.knowledge.legacy import LOOP_CONFIGS, TORCH_TRAINERS, TRAINERS

# Those that torch 2.13, transformers 5.23, accelerate 1.15 and datasets 5.2 load, by pickling every loaded module.
NOT_PICKLED = (
    "huggingface_hub.utils",
    "torch._VF",
    "torch._dynamo.config",
    "torch._functorch.config",
    "torch._inductor.config",
    "torch.backends",
    "torch.backends.cudnn",
    "torch.backends.miopen",
    "torch.backends.mkldnn",
    "torch.backends.opt_einsum",
    "torch.backends.quantized",
    "torch.classes",
    "torch.compiler.config",
    "torch.distributed.config",
    "torch.ops",
    "torch.utils.deterministic",
)
PACKAGES = frozenset(name.partition(".")[0] for name in (*NOT_PICKLED, LOGURU))
REMOTE = "ray.remote"
SENDING = ("remote", "bind")
OF_FUNCTIONS = ("fn_args", "fn_constructor_args")
BY_NAME = ("fn_kwargs", "fn_constructor_kwargs", *LOOP_CONFIGS)
NESTED = (*FUNCTIONS, ast.ClassDef)
NAMED = (ast.FunctionDef, ast.AsyncFunctionDef)


@kept
def sent_functions(module: Module, places: Places) -> frozenset[FunctionNode]:
    """The functions and methods of a module that Ray sends to other processes, with those that go with them.

    Args:
        module: The module.
        places: Where its functions run.
    """
    given = [*given_functions(module), *_configurations(module), *_remote(module)]
    return frozenset(sent_with(module, [*places.workers, *places.trials, *given]))


def sent_values(module: Module) -> Iterator[ast.expr]:
    """What goes to other processes: arguments of remote calls, ray.put(), functions of Ray Data and training."""
    for call in (*(call for call, _ in module.method_calls(*SENDING)), *module.calls("ray.put")):
        yield from (node for node in call.args if not isinstance(node, ast.Starred))
        yield from (keyword.value for keyword in call.keywords if keyword.arg)
    for _, keyword in module.keywords(*OF_FUNCTIONS):
        yield from seen_items(module, keyword.value)
    for _, keyword in module.keywords(*BY_NAME):
        yield from seen_entries(module, keyword.value).values()


def sent_with(module: Module, nodes: Iterable[ast.AST]) -> set[FunctionNode]:
    """The functions that are pickled with some code: those that it names, and those in the values of its globals.

    Functions in a function are part of it, unless the function is called before it is sent: then what it makes goes.

    Args:
        module: The module.
        nodes: Functions, classes and statements that are sent, or expressions whose values are.
    """
    sent = _Sent(module)
    sent.follow(nodes)
    functions = {node for node in sent.found if isinstance(node, FUNCTIONS)}
    return {function for function in functions if functions.isdisjoint(module.ancestors(function))}


class _Sent:
    """Follows what is sent to all that goes with it.

    Args:
        module: The module.

    Attributes:
        found: Code, and expressions whose values are sent.
    """

    def __init__(self, module: Module) -> None:
        self.module = module
        self.found: set[ast.AST] = set()
        self._names: set[tuple[Scope, str]] = set()  # each is followed once, however often it is bound and read

    def follow(self, nodes: Iterable[ast.AST]) -> None:
        """Adds nodes and what goes with them."""
        waiting = list(nodes)
        while waiting:
            node = waiting.pop()
            if node not in self.found:
                self.found.add(node)
                is_code = isinstance(node, (*NESTED, ast.stmt))
                waiting += self._with_code(node) if is_code else self._with_value(node)

    def _with_code(self, node: ast.AST) -> Iterator[ast.AST]:
        """What the globals of some code, and the names of the functions around it, stand for."""
        code = [node]
        if isinstance(node, FUNCTIONS):
            code = [node.body] if isinstance(node, ast.Lambda) else list(node.body)
            yield from (*node.args.defaults, *filter(None, node.args.kw_defaults))
        elif isinstance(node, ast.ClassDef):
            code = [part for part in (*node.bases, *node.body) if not isinstance(part, FUNCTIONS)]
            yield from (method for method in node.body if isinstance(method, FUNCTIONS))
        for decorator in getattr(node, "decorator_list", ()):  # what it returns is sent, and may be a function in it
            yield from self._made_by(decorator.func if isinstance(decorator, ast.Call) else decorator)
        for inner in (inner for part in code for inner in (part, *self.module.below(part))):
            if isinstance(inner, ast.Name):
                yield from self._meant(inner, outside=node)

    def _with_value(self, value: ast.AST) -> Iterator[ast.AST]:
        """What the value of an expression holds: functions by name, instances of classes, what a factory makes."""
        waiting = [value]
        while waiting:
            node = waiting.pop()
            if isinstance(node, ast.Lambda):
                yield node
            elif isinstance(node, ast.Name):
                yield from self._meant(node)
            elif isinstance(node, ast.Attribute) and any(methods(self.module, node)):
                yield from methods(self.module, node)
            elif isinstance(node, ast.Call) and isinstance(self.module.definition(node.func), FUNCTIONS):
                yield from self._made_by(node.func)
                waiting += all_arguments(node)
            else:
                waiting += ast.iter_child_nodes(node)

    def _made_by(self, called: ast.expr) -> Iterator[ast.AST]:
        """The functions that are defined in a function of the module that is called, or that decorates."""
        factory = self.module.definition(called)
        if isinstance(factory, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from (inner for inner in self.module.below(factory) if isinstance(inner, FUNCTIONS))

    def _meant(self, name: ast.Name, outside: ast.AST | None = None) -> Iterator[ast.AST]:
        """The definitions and values that a name stands for; those outside of some code only, where it is given."""
        scope = self.module.bound_in(name) if isinstance(name.ctx, ast.Load) else None
        if scope is None or (scope, name.id) in self._names:
            return
        self._names.add((scope, name.id))
        if outside is not None and (scope.node is outside or self.module.inside(scope.node, outside)):
            return
        for binding in scope.bindings.get(name.id, ()):
            if isinstance(binding.node, NESTED):
                yield binding.node
            elif (value := self.module.assigned(binding.node)) is not None:
                yield value


def given_functions(module: Module) -> Iterator[ast.expr]:
    """What trainers, Tuners and datasets are given to run: functions, objects, what is made of them with arguments."""
    for call in module.calls(*TRAINERS, *TORCH_TRAINERS):
        if (given := argument(call, 0, *TRAINING_FUNCTION)) is not None:
            yield given
    for call in module.calls(*TAKE_TRAINABLES):
        if (given := argument(call, 0, *TRAINABLE)) is not None:
            yield given
    for call, method in module.method_calls(*MAPPERS):
        if (given := argument(call, 0, "fn")) is not None and is_dataset(module, method.value):
            yield given
    for call in module.calls(*BATCH_MAPPERS):
        if (given := argument(call, 0, "fn")) is not None:
            yield given


def _configurations(module: Module) -> Iterator[ast.expr]:
    for call in module.calls(*TRAINERS, *TORCH_TRAINERS):
        yield from filter(None, (keyword_argument(call, name) for name in (*LOOP_CONFIGS, "preprocessor")))


def _remote(module: Module) -> Iterator[ast.AST]:
    for definition in (*module.of_type(ast.FunctionDef), *module.of_type(ast.ClassDef)):
        assert isinstance(definition, (ast.FunctionDef, ast.ClassDef))
        decorators = decorators_of(definition)
        if any(module.qualified(decorator) == REMOTE for decorator in decorators):
            yield definition
    yield from (call.args[0] for call in module.calls(REMOTE) if call.args)


@dataclass(frozen=True)
class LocalImport:
    """An import that a function needs of its own.

    Args:
        source: The statement.
        reads: Where the code uses what it binds.
        not_pickled: The module that cannot be pickled with the code.
    """

    source: str
    reads: list[ast.Name]
    not_pickled: str

    @property
    def place(self) -> ast.Name:
        """The first use."""
        return self.reads[0]


def local_imports(module: Module, body: Sequence[ast.AST], sent: Iterable[ast.AST]) -> list[LocalImport]:
    """The imports that the code of one function needs of its own.

    Args:
        module: The module.
        body: The statements, or the expression, of the function.
        sent: What else goes to the other process.
    """
    imported: dict[str, list[ast.Name]] = {}
    reads_in = _reads_of_packages(module)
    not_pickled = [*NOT_PICKLED, *([LOGURU] if any(files_of_loguru(module, [*body, *sent])) else [])]
    for node in (read for outer in body for read in reads_in.get(outer, ())):
        packages = {bound_by(module, binding).partition(".")[0] for binding in _imports(module, node)}
        if packages & PACKAGES:
            imported.setdefault(node.id, []).append(node)
    names = {name for node in body for name in _own_names(module, node)} if imported else set()
    found: dict[str, LocalImport] = {}
    while True:
        for reads in imported.values():
            for needed in _needed(module, reads, names, not_pickled):
                found.setdefault(needed.source, needed)
        own = {name for source in found for name in _names_of_import(ast.parse(source).body[0])}
        if own <= names:  # an import asks for names itself, by which another global may take along what it did not
            return [found[source] for source in sorted(found)]
        names |= own


@kept
def _reads_of_packages(module: Module) -> dict[ast.AST, list[ast.Name]]:
    """The reads of names by which the module imports something of these packages, in source order.

    They are found by each node that they are in or are: functions are asked one by one, and are part of others.
    """
    bound = module.scope_of[module.tree].bindings.items()
    of = {name: {bound_by(module, binding).partition(".")[0] for binding in bindings} for name, bindings in bound}
    found: dict[ast.AST, list[ast.Name]] = {}
    for read in module.of_type(ast.Name):
        if isinstance(read.ctx, ast.Load) and of.get(read.id, set()) & PACKAGES:
            for outer in (read, *module.ancestors(read)):
                found.setdefault(outer, []).append(read)
    return found


def _needed(
    module: Module, reads: list[ast.Name], names: set[str], not_pickled: Sequence[str]
) -> Iterator[LocalImport]:
    """The imports that code with these names needs of its own because it reads a name."""
    bindings = _imports(module, reads[0])
    taken = next(
        filter(None, (_takes_along(bound_by(module, binding), names, not_pickled) for binding in bindings)), ""
    )
    for binding in bindings if taken else ():
        if _is_needed(binding, names, len(bindings)):
            yield LocalImport(_source(binding), reads, taken)


def values_not_pickled(module: Module, body: Sequence[ast.AST]) -> Iterator[tuple[ast.Name, str]]:
    """Where code takes such a module from outside by a name of the script's own, and which module that is."""
    if not module.references_within(*NOT_PICKLED):
        return  # no value is one
    for node in (inner for outer in body for inner in (outer, *module.below(outer))):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            definition = module.definition(node)
            given = module.assigned(definition) if definition is not None else None
            name = module.qualified(given) if given is not None else None
            if given is not None and name in NOT_PICKLED and not any(module.inside(given, outer) for outer in body):
                yield node, name


def defaults_not_pickled(module: Module, function: FunctionNode) -> Iterator[tuple[ast.expr, str]]:
    """The defaults of a function that are such a module."""
    for value in (*function.args.defaults, *filter(None, function.args.kw_defaults)):
        if (name := module.qualified(value) or "") in NOT_PICKLED:
            yield value, name


def _imports(module: Module, node: ast.Name) -> list[Binding]:
    """The imports of the module that a name stands for; none where it may be something else than those or None."""
    scope = module.bound_in(node)
    bindings = scope.bindings[node.id] if scope is not None and isinstance(scope.node, ast.Module) else []
    if not any(binding.qualified for binding in bindings):
        return []
    others = [module.assigned(binding.node) for binding in bindings if not binding.qualified]
    known = all(value is not None and is_none(value) for value in others)
    return [binding for binding in bindings if binding.qualified] if known else []


def _takes_along(bound: str, names: set[str], not_pickled: Sequence[str]) -> str:
    """The module that is pickled with code that has these names, by what an import binds, and cannot be."""
    for module in not_pickled:
        if module == bound or (module.startswith(f"{bound}.") and names.issuperset(_below(module, bound))):
            return module
    return ""


def _below(module: str, package: str) -> list[str]:
    return module[len(package) + 1 :].split(".")


def _is_needed(binding: Binding, names: set[str], count: int) -> bool:
    """Whether code needs an import: of several that bind the package, those whose submodule it names."""
    assert isinstance(binding.node, ast.alias)
    name = binding.node.name
    return count == 1 or binding.node.asname is not None or "." not in name or names.issuperset(name.split(".")[1:])


def _source(binding: Binding) -> str:
    assert isinstance(binding.node, ast.alias)
    name = ast.unparse(binding.node)
    if isinstance(binding.statement, ast.ImportFrom):
        return f"from {'.' * binding.statement.level}{binding.statement.module or ''} import {name}"
    return f"import {name}"


def _own_names(module: Module, node: ast.AST) -> Iterator[str]:
    """The names in the code of a function that are not variables of it, less those of functions in it."""
    if isinstance(node, NESTED):
        return
    if isinstance(node, ast.Attribute):
        yield node.attr
    elif isinstance(node, (ast.Import, ast.ImportFrom)):
        yield from _names_of_import(node)
    elif isinstance(node, ast.Name):
        scope = module.bound_in(node)
        if scope is None or isinstance(scope.node, ast.Module):
            yield node.id
    for child in children(node):
        yield from _own_names(module, child)


def _names_of_import(statement: ast.stmt) -> Iterator[str]:
    """The names that an import asks a module for: `import a.b as c` asks a for b."""
    if isinstance(statement, ast.ImportFrom):
        yield from (alias.name for alias in statement.names)
    elif isinstance(statement, ast.Import):
        yield from (part for alias in statement.names if alias.asname for part in alias.name.split(".")[1:])

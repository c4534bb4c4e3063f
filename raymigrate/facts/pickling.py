"""What Ray cannot send with a function: modules of torch that are objects of a class of their own.

Ray pickles what `__main__` and notebooks define by value, with the modules that it names: those of its globals, and
each submodule that is loaded and whose names all stand in its code (`_find_imported_submodules` in
ray/cloudpickle/cloudpickle.py, 2.60). Only plain modules can be pickled. A function that imports the module itself has
no such global.
"""

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from raymigrate.facts.batch_functions import BatchFunction
from raymigrate.facts.module import Module
from raymigrate.facts.places import Places, functions_behind
from raymigrate.facts.ray_data import is_dataset
from raymigrate.facts.scopes import FUNCTIONS, Binding, FunctionNode
from raymigrate.facts.values import argument

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
ROW_METHODS = ("filter", "flat_map", "map", "map_batches")
REMOTE = "ray.remote"
NESTED = (*FUNCTIONS, ast.ClassDef)


def sent_functions(module: Module, places: Places) -> set[FunctionNode]:
    """The functions and methods of a module that Ray sends to other processes, with those that they name.

    Args:
        module: The module.
        places: Where its functions run.
    """
    return with_those_named(module, [*places.workers, *places.trials, *_given_to_datasets(module), *_remote(module)])


def with_those_named(module: Module, nodes: Iterable[ast.AST]) -> set[FunctionNode]:
    """Functions among nodes, and those that the nodes name, one through the other; classes go with their methods.

    Args:
        module: The module.
        nodes: Functions, classes or statements.
    """
    found, waiting = set[ast.AST](), list(nodes)
    while waiting:
        node = waiting.pop()
        if node in found:
            continue
        found.add(node)
        names = [name for name in module.below(node) if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Load)]
        named = (module.definition(name) for name in names)
        waiting += [definition for definition in named if isinstance(definition, NESTED)]
        if isinstance(node, ast.ClassDef):
            waiting += [method for method in node.body if isinstance(method, FUNCTIONS)]
    functions = {node for node in found if isinstance(node, FUNCTIONS)}
    return {function for function in functions if functions.isdisjoint(module.ancestors(function))}


def _given_to_datasets(module: Module) -> Iterator[ast.AST]:
    for call, method in module.method_calls(*ROW_METHODS):
        given = argument(call, 0, "fn")
        if given is not None and is_dataset(module, method.value):
            function = BatchFunction(module, given)
            if function.node is not None and not function.elsewhere:
                yield function.node


def _remote(module: Module) -> Iterator[ast.AST]:
    for definition in (*module.of_type(ast.FunctionDef), *module.of_type(ast.ClassDef)):
        assert isinstance(definition, (ast.FunctionDef, ast.ClassDef))
        decorators = (d.func if isinstance(d, ast.Call) else d for d in definition.decorator_list)
        if any(module.qualified(decorator) == REMOTE for decorator in decorators):
            yield definition
    for call in module.calls(REMOTE):
        yield from functions_behind(module, argument(call, 0, "function_or_class"))


@dataclass(frozen=True)
class LocalImport:
    """An import that a function needs of its own.

    Args:
        source: The statement.
        place: Where the code uses what it binds.
        not_pickled: The module that cannot be pickled with the code.
    """

    source: str
    place: ast.Name
    not_pickled: str


def local_imports(module: Module, body: Sequence[ast.AST]) -> list[LocalImport]:
    """The imports that the code of one function needs of its own.

    Args:
        module: The module.
        body: The statements, or the expression, of the function.
    """
    found: dict[str, LocalImport] = {}
    names = {name for node in body for name in _own_names(module, node)}
    for node in (inner for outer in body for inner in (outer, *module.below(outer))):
        if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Load):
            continue
        bindings = _imports(module, node)
        taken = next(filter(None, (_takes_along(binding, names) for binding in bindings)), "")
        for binding in bindings if taken else ():
            if _is_needed(binding, names, len(bindings)):
                source = _source(binding)
                found.setdefault(source, LocalImport(source, node, taken))
    return [found[source] for source in sorted(found)]


def _imports(module: Module, node: ast.Name) -> list[Binding]:
    """The imports of the module that a name stands for; none where it may be something else."""
    scope = module.scope_of[node].find(node.id)
    bindings = scope.bindings[node.id] if scope is not None and isinstance(scope.node, ast.Module) else []
    return bindings if all(binding.qualified for binding in bindings) else []


def _takes_along(binding: Binding, names: set[str]) -> str:
    """The module that is pickled with code that has these names, by what an import binds, and cannot be."""
    bound = binding.qualified or ""
    for module in NOT_PICKLED:
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
    """The names in the code of a function that are no variables of it, those of functions in it apart."""
    if isinstance(node, (*NESTED, ast.Lambda)):
        return
    if isinstance(node, ast.Attribute):
        yield node.attr
    elif isinstance(node, ast.ImportFrom):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.Name):
        scope = module.scope_of[node].find(node.id)
        if scope is None or isinstance(scope.node, ast.Module):
            yield node.id
    for child in ast.iter_child_nodes(node):
        yield from _own_names(module, child)

"""Variables of the environment that a script sets: for itself, for its tests, for workers that it starts."""

import ast
from collections.abc import Collection, Iterator

from raymigrate.base.expressions import lazy_regex
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import is_assignment, targets_of
from raymigrate.facts.values import is_call_by_name, is_method_call

ENVIRON = "os.environ"
VISIBLE = "CUDA_VISIBLE_DEVICES"
SETTERS = ("os.putenv", "os.environ.setdefault")
GETTERS = ("os.getenv", "os.environ.get")
OF_PYTEST = "setenv"  # the method of the fixture monkeypatch
PATCH = ("unittest.mock.patch.dict", "mock.patch.dict")
ENV_VARS = "env_vars"  # of a runtime_env
RUNTIME_ENV = ("ray.runtime_env.RuntimeEnv", "ray.runtime_env.runtime_env.RuntimeEnv")
# What srun or mpirun gives each of its processes: their place among the others, and how many they are.
OF_PROCESSES = lazy_regex(
    r"SLURM_(?:PROCID|LOCALID|NTASKS|NPROCS)|(?:OMPI|MV2)_COMM_WORLD_(?:LOCAL_)?(?:RANK|SIZE)|PMI_(?:RANK|SIZE)|PMIX_RANK"
)


def variable_read(module: Module, node: ast.AST) -> str | None:
    """The variable that an expression reads: `os.environ["A"]`, `os.environ.get("A")`; None where it reads none.

    Args:
        module: The script.
        node: The expression.
    """
    name = module.constant(key_read(module, node))
    return name if isinstance(name, str) else None


def key_read(module: Module, node: ast.AST) -> ast.expr | None:
    """What names the variable that an expression reads; None where it reads none."""
    if isinstance(node, ast.Subscript):
        return node.slice if isinstance(node.ctx, ast.Load) and module.qualified(node.value) == ENVIRON else None
    is_get = isinstance(node, ast.Call) and bool(node.args) and module.qualified(node.func) in GETTERS
    return node.args[0] if is_get and isinstance(node, ast.Call) else None


def variables_set(module: Module, *names: str) -> Iterator[tuple[ast.AST, str]]:
    """Where a script gives a value to one of these variables of the environment: the place of its name, and the name.

    Args:
        module: The script.
        names: The variables.
    """
    for name, key in _named_keys(module):
        if name in names and _is_set(module, key):
            yield key, name
    for call, keyword in module.keywords(*names):
        is_dict = is_call_by_name(call, "dict")
        if _takes_variables(module, call) or (is_dict and goes_to_environment(module, call)):
            yield keyword, str(keyword.arg)


@kept
def all_variables_set(module: Module) -> list[tuple[ast.AST, str]]:
    """Where a script gives a variable of the environment a value: the place of its name, and the name."""
    found: list[tuple[ast.AST, str]] = [(key, name) for name, key in _named_keys(module) if _is_set(module, key)]
    updates = (call for call in module.of_type(ast.Call) if call.keywords and _takes_variables(module, call))
    return [*found, *((word, word.arg) for call in updates for word in call.keywords if word.arg)]


@kept
def all_variables_set_within(module: Module) -> dict[ast.AST, list[tuple[ast.AST, str]]]:
    """What `all_variables_set` found, by each node that it is in: every step of a script is asked about."""
    found: dict[ast.AST, list[tuple[ast.AST, str]]] = {}
    for place, name in all_variables_set(module):
        for node in module.ancestors(place):
            found.setdefault(node, []).append((place, name))
    return found


@kept
def _named_keys(module: Module) -> list[tuple[str, ast.expr]]:
    """What names a variable by its place alone, with the name; it is asked for by several rules."""
    keys = (
        (key.value if isinstance(key, ast.Constant) else module.constant(key), key)
        for key in _keys(module)
        if isinstance(key, ast.Constant) or _is_set(module, key)  # what a name stands for costs more
    )
    return [(name, key) for name, key in keys if isinstance(name, str)]


def value_set(module: Module, place: ast.AST) -> ast.expr | None:
    """What a variable is given at a place that `variables_set` found; None where that is not seen."""
    holder = module.parent_of[place]
    if isinstance(place, ast.keyword):
        return place.value
    if isinstance(holder, ast.Dict):
        return next(value for key, value in zip(holder.keys, holder.values, strict=True) if key is place)
    if isinstance(holder, ast.Call):
        return holder.args[1] if len(holder.args) > 1 else None
    return module.assigned(holder) if isinstance(holder, ast.Subscript) else None


def gpus_shown(module: Module) -> list[tuple[ast.AST, bool | None]]:
    """Where a script says which GPUs its process sees, and whether they are several; None where that is not seen."""
    found = []
    for place, _ in variables_set(module, VISIBLE):
        value = value_set(module, place)
        devices = module.constant(value)
        found.append((place, "," in devices if isinstance(devices, str) else None))
    return found


def set_by_call(module: Module, step: ast.stmt, names: Collection[str]) -> list[str]:
    """Which of some variables a statement gives values to, if it is a call that does nothing else.

    Args:
        module: The script.
        step: The statement.
        names: The variables.
    """
    call = step.value if isinstance(step, ast.Expr) else None
    if not isinstance(call, ast.Call) or module.qualified(call.func) not in (*SETTERS, f"{ENVIRON}.update"):
        return []
    keys = [key for given in call.args if isinstance(given, ast.Dict) for key in given.keys]
    found = [name for place, name in variables_set(module, *names) if module.inside(place, step)]
    return found if len(found) == max(1, len(keys) + len(call.keywords)) else []


def _keys(module: Module) -> Iterator[ast.Constant | ast.Name]:
    """What may name a variable where it is given a value, by its place alone."""
    stored = (node.slice for node in module.of_type(ast.Subscript) if isinstance(node.ctx, ast.Store))
    entries = (key for node in module.of_type(ast.Dict) for key in node.keys)
    arguments = (call.args[0] for call in module.of_type(ast.Call) if call.args)
    yield from (key for key in (*stored, *entries, *arguments) if isinstance(key, (ast.Constant, ast.Name)))


def copies_variable(module: Module, place: ast.AST, name: str) -> bool:
    """Whether what `variables_set` found gives a variable the value that it has already: `{name: os.environ[name]}`.

    Args:
        module: The script.
        place: The place.
        name: The variable.
    """
    value = value_set(module, place)
    return value is not None and _reads(module, module.value(value), name)


def _reads(module: Module, node: ast.expr, name: str) -> bool:
    """Whether an expression reads a variable of the environment."""
    if isinstance(node, ast.Subscript):
        return _is_environ(module, node.value) and module.constant(node.slice) == name
    is_get = isinstance(node, ast.Call) and module.qualified(node.func) in GETTERS
    return is_get and isinstance(node, ast.Call) and bool(node.args) and module.constant(node.args[0]) == name


def goes_to_environment(module: Module, variables: ast.expr) -> bool:
    """Whether a dict goes to `os.environ.update()` or to the `env_vars` of a runtime_env, under its name too.

    Args:
        module: The module.
        variables: The dict.
    """
    parent = module.parent_of[variables]
    if isinstance(parent, ast.Dict):
        place = parent.values.index(variables) if variables in parent.values else -1
        key = parent.keys[place] if place >= 0 else None
        return key is not None and module.constant(key) == ENV_VARS
    if isinstance(parent, ast.keyword):
        return parent.arg == ENV_VARS
    if isinstance(parent, ast.Call):
        return variables in parent.args and _takes_variables(module, parent)
    if isinstance(parent, ast.AugAssign):
        return _is_environ(module, parent.target)
    uses = module.uses_of(targets_of(parent)[0] if is_assignment(parent) else None)
    return bool(uses) and all(goes_to_environment(module, use) for use in uses)


def _is_set(module: Module, key: ast.expr) -> bool:
    """Whether what stands in a place of `_keys` is given a value in the environment."""
    parent = module.parent_of[key]
    if isinstance(parent, ast.Subscript):
        return _is_environ(module, parent.value)
    if isinstance(parent, ast.Dict):
        return goes_to_environment(module, parent)
    if not isinstance(parent, ast.Call):
        return False
    return is_method_call(parent, OF_PYTEST) or module.qualified(parent.func) in SETTERS


def _takes_variables(module: Module, call: ast.Call) -> bool:
    """Whether a call puts the entries of a dict, or its keyword arguments, into the environment."""
    is_patch = module.qualified(call.func) in PATCH and bool(call.args) and _is_environ(module, call.args[0])
    return is_patch or module.qualified(call.func) == f"{ENVIRON}.update"


def _is_environ(module: Module, node: ast.expr) -> bool:
    return any(source.module.qualified(source.node) == ENVIRON for source in module.origins(node))

"""What a statement of a plain script is by itself, as far as its calls and names show it."""

import ast
import re
from collections.abc import Collection, Iterator

from raymigrate.base.expressions import lazy_regex
from raymigrate.codemods.shared.wandb_runs import OF_RUN, start_elsewhere
from raymigrate.codemods.to_ray.script import DEFINITIONS, PARSE_METHODS, executed
from raymigrate.documents.cells import STAND_INS
from raymigrate.facts.projects.environment import VISIBLE, set_by_call
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import names_in
from raymigrate.facts.values import called_name, class_named, free_name, is_method_call, last_name
from raymigrate.facts.values.config_objects import is_bare_dataclass
from raymigrate.facts.values.moments import CLOCKS, ON_DISK, TIMES

LIBRARIES = (
    *("transformers.", "datasets.", "evaluate.", "accelerate.", "peft.", "trl.", "tokenizers.", "torch."),
    *("torchvision.", "sentence_transformers.", "bitsandbytes.", "diffusers.", "timm."),
)
# Settings of a process, by the beginning of their qualified names.
SETTINGS = (
    *("transformers.set_seed", "transformers.enable_full_determinism", "transformers.logging.", "accelerate.logging."),
    *("transformers.utils.logging.", "transformers.trainer_utils.set_seed", "accelerate.utils.set_seed"),
    *("datasets.logging.", "datasets.utils.logging.", "datasets.disable_", "datasets.enable_", "evaluate.logging."),
    *("torch.manual_seed", "torch.cuda.manual_seed", "torch.set_", "torch.use_deterministic", "random.seed"),
    *("numpy.random.seed", "logging.basicConfig", "warnings.filterwarnings", "warnings.simplefilter"),
    *("logging.disable", "logging.captureWarnings", "logging.config.", "numpy.seterr", "numpy.set_printoptions"),
    *("sys.setrecursionlimit", "nltk.data.path.", "pandas.set_option", "pandarallel.pandarallel.initialize"),
    # progress_apply() and the like, which it gives to the frames of pandas
    *(
        f"tqdm.{where}pandas"
        for where in ("", "tqdm.", "auto.tqdm.", "notebook.tqdm.", "autonotebook.tqdm.", "std.tqdm.")
    ),
)
TRACKING = ("wandb.init", "mlflow.", "comet_ml.", "neptune.", "swanlab.init", "trackio.init")
LOGINS = ("huggingface_hub.login", "huggingface_hub.notebook_login", "wandb.login")
OF_DRIVER = (*LOGINS, "argparse.ArgumentParser", "click.")
ECHOES = ("click.echo", "click.secho", "click.style", "click.unstyle")  # of click, but they only show something
LAUNCHER = (
    *("torch.distributed.init_process_group", "torch.distributed.destroy_process_group", "torch.cuda.set_device"),
    "deepspeed.init_distributed",
)
# Variables that tell a process its place among the others, and those by which a launcher sets up each process.
RANKS = frozenset({"RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "NODE_RANK", "GROUP_RANK"})
OF_LAUNCHER = RANKS | {"CUDA_VISIBLE_DEVICES", "MASTER_ADDR", "MASTER_PORT"}
# Of a library, but the same in any process: loggers, which are made by name, tables of its classes, checks of versions.
SAME_ANYWHERE = lazy_regex(
    r".*\.get_?logger|transformers\.(\w+\.)*MODEL_\w*MAPPING\w*\..*"
    r"|(transformers|diffusers|datasets)\.(\w+\.)*(check_min_version|require_version(_core)?|send_example_telemetry)",
    re.IGNORECASE,
)
# Calls of these make values that mean the same in any process.
PLAIN = (
    *("os.environ.get", "os.getenv", "os.path.", "pathlib.", "dataclasses.", "collections.", "typing.", "logging."),
    *("datetime.", "time.", "functools.partial", "re.", "string.", "uuid.", "enum."),
)
# Methods of a path or a moment that make another one of it, or a text: they read no file.
OF_PLAIN = frozenset(
    {
        *("resolve", "absolute", "expanduser", "joinpath", "with_suffix", "with_name", "with_stem", "as_posix"),
        *("relative_to", "strftime", "isoformat", "date", "time", "timestamp", "astimezone", "format"),
    }
)
STAMPS = ("time.strftime", "time.ctime", "time.asctime", "uuid.uuid", "secrets.token_")
OF_PATHS_AND_MOMENTS = ("pathlib.", "datetime.", "time.")
PLAIN_BUILTINS = frozenset(
    {
        *("abs", "bool", "dict", "enumerate", "float", "frozenset", "int", "len", "list", "max", "min", "range"),
        *("round", "set", "sorted", "str", "sum", "tuple", "zip"),
    }
)
DRAWING_METHODS = (".plot", ".hist", ".boxplot", ".scatter")  # of pandas too
FILLING = frozenset({"append", "extend", "insert", "add", "update", "setdefault", "pop", "clear", "remove"})

# Methods of texts, lists and dicts that change nothing.
READING = frozenset(
    {
        *("items", "keys", "values", "get", "copy", "index", "count", "join", "format", "replace", "split", "rsplit"),
        *("splitlines", "strip", "lstrip", "rstrip", "upper", "lower", "title", "capitalize", "casefold", "zfill"),
        *("startswith", "endswith", "removeprefix", "removesuffix", "union", "intersection", "difference"),
    }
)
CONTAINERS = (ast.Dict, ast.List, ast.Tuple, ast.Set, ast.DictComp, ast.ListComp, ast.SetComp, ast.GeneratorExp)

DEPTH = 3  # functions that call each other
GIVES_VALUES = (ast.Assign, ast.AnnAssign, ast.AugAssign)
DEFINES = (*DEFINITIONS, ast.Import, ast.ImportFrom)
ARMS = (ast.ExceptHandler, ast.match_case)


def is_plain(module: Module, step: ast.stmt, besides: Collection[ast.Call] = ()) -> bool:
    """Whether a step gives names values that mean the same in any process: literals, paths, environment variables.

    An `if` or a `try` does so too, which imports or defines something instead of what stands before it.

    Args:
        module: The module.
        step: The step.
        besides: Calls in it that make such values.
    """
    if isinstance(step, (ast.If, ast.Try)):
        kinds: tuple[type, ...] = (*GIVES_VALUES, *DEFINES, ast.Pass)
    else:
        kinds = GIVES_VALUES
    if not all(isinstance(statement, kinds) for statement in simple_statements(step)):
        return False
    if isinstance(getattr(step, "value", None), ast.GeneratorExp):
        return False  # which cannot be sent to a worker
    for node in executed(module, step):
        if isinstance(node, (ast.Await, ast.Yield, ast.YieldFrom)):
            return False
        if isinstance(node, ast.Call) and node not in besides and not _is_plain_call(module, node):
            return False
    return True


def names_by_time(module: Module, step: ast.AST) -> Iterator[ast.Call]:
    """The calls in some code that make text of the time or of chance, for names: another text in each process."""
    for node in executed(module, step):
        if not isinstance(node, ast.Call):
            continue
        name = called_name(module, node)
        if name.startswith(STAMPS) or (name in CLOCKS and _becomes_text(module, node)):
            yield node
        elif is_method_call(node, "strftime", "isoformat"):
            if _is_path_or_moment(module, node.func.value, {}) and _asks_clock(module, node.func.value):
                yield node


def _asks_clock(module: Module, node: ast.expr) -> bool:
    """Whether a moment is that at which the code runs: `datetime.now()`, and not one of a file or of a text."""
    parts = [*ast.walk(node), *ast.walk(module.value(node))]
    return any(called_name(module, part) in CLOCKS for part in parts)


def _becomes_text(module: Module, call: ast.Call) -> bool:
    """Whether a moment is put into a text where it stands: `f"run-{int(time.time())}"`, `str(datetime.now())`."""
    for parent in module.ancestors(call):
        if isinstance(parent, ast.stmt):
            return False
        is_str = isinstance(parent, ast.Call) and free_name(module, parent.func) == "str"
        is_format = isinstance(parent, ast.Call) and getattr(parent.func, "attr", "") == "format"
        if is_str or is_format or isinstance(parent, ast.JoinedStr):
            return True
    return False


def asks_now(module: Module, step: ast.stmt, *, of_disk: bool) -> bool:
    """Whether a step asks what time it is, or what is on the disk: another answer at another place of the script."""
    asked = CLOCKS | TIMES | (ON_DISK if of_disk else frozenset())
    calls = (node for node in executed(module, step) if isinstance(node, ast.Call))
    return any(called_name(module, call) in asked for call in calls)


@kept
def sets_process(module: Module, code: ast.AST, depth: int = DEPTH) -> bool:
    """Whether some code changes settings of the process, itself or by what it calls: `seed_everything`.

    Of what a step calls, the functions of its own file are looked at by themselves.

    Args:
        module: The module.
        code: A step, or a function.
        depth: How many functions may still call each other.
    """
    is_function = isinstance(code, DEFINITIONS)
    for node in module.below(code) if is_function else executed(module, code):
        if isinstance(node, ast.Assign) and sets_backend(module, node):
            return True
        if not isinstance(node, ast.Call):
            continue
        name = called_name(module, node)
        if name.startswith(SETTINGS) and not SAME_ANYWHERE.fullmatch(name):
            return True
        found = _function_called(module, node, of_file=is_function) if depth else None
        if found is not None and sets_process(*found, depth - 1):
            return True
    return False


def _function_called(module: Module, call: ast.Call, *, of_file: bool) -> tuple[Module, ast.FunctionDef] | None:
    """The function that a call runs, of another file of the project, and of its own where that is asked for."""
    own = module.definition(call.func) if of_file else None
    if isinstance(own, ast.FunctionDef):
        return module, own
    other = module.elsewhere(call.func)
    return (other.module, other.function) if other is not None and other.function is not None else None


def changes_something(part: ast.AST) -> bool:
    """Whether some code fills or empties something, takes the next of an iterator, or waits for something."""
    for node in ast.walk(part):
        if isinstance(node, (ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr)):
            return True
        if isinstance(node, ast.Call):
            called = last_name(node.func)
            if called == "next" or called in FILLING:
                return True
    return False


def simple_statements(step: ast.stmt) -> Iterator[ast.stmt]:
    """A statement, or those in the blocks below it that have no block; a definition is one statement."""
    blocks = [child for child in ast.iter_child_nodes(step) if isinstance(child, (ast.stmt, *ARMS))]
    if not blocks or isinstance(step, DEFINITIONS):
        yield step
        return
    for block in blocks:
        yield from simple_statements(block)  # type: ignore[arg-type]


def _is_plain_call(module: Module, call: ast.Call) -> bool:
    found = class_named(module, call.func)
    if found is not None and found[0] is not module:
        return _makes_values(*found)
    name = module.qualified(call.func)
    if name is not None:
        return name.startswith(PLAIN) or SAME_ANYWHERE.fullmatch(name) is not None
    if isinstance(call.func, ast.Name):
        return free_name(module, call.func) in PLAIN_BUILTINS
    if not isinstance(call.func, ast.Attribute):
        return False
    method, known = call.func, dict[ast.AST, bool]()
    of_path = method.attr in OF_PLAIN and _is_path_or_moment(module, method.value, known)
    return of_path or _is_read_of_literal(module, method, {})


def _makes_values(home: Module, definition: ast.ClassDef, depth: int = DEPTH) -> bool:
    """Whether a class of another file is a dataclass whose fields are values that mean the same in any process."""
    values = [s.value for s in definition.body if isinstance(s, ast.AnnAssign) and s.value is not None]
    return is_bare_dataclass(home, definition) and all(_is_same_anywhere(home, value, depth) for value in values)


def _is_same_anywhere(home: Module, value: ast.expr, depth: int) -> bool:
    """Whether plain calls make a value, and it does not say which process it is in: `int(os.environ["RANK"])`."""
    for part in ast.walk(value) if depth else ():
        factory = part.value if isinstance(part, ast.keyword) and part.arg == "default_factory" else None
        maker = part.func if isinstance(part, ast.Call) else factory
        if maker is not None and (found := class_named(home, maker)) is not None:
            if not _makes_values(*found, depth - 1):
                return False
        elif factory is not None:
            if not isinstance(factory, ast.Lambda) and free_name(home, factory) not in PLAIN_BUILTINS:
                return False
        elif isinstance(part, ast.Call):
            if not _is_plain_call(home, part):
                return False
        elif isinstance(part, ast.Name):
            ends = [source for source in home.origins(part) if source.node is not part]
            if not all(_is_same_anywhere(source.module, source.node, depth - 1) for source in ends):
                return False
        elif isinstance(part, ast.Constant) and part.value in RANKS:
            return False
    return depth > 0


def _is_path_or_moment(module: Module, node: ast.expr, known: dict[ast.AST, bool]) -> bool:
    """Whether a value is a path or a moment, or is made of one: `Path(__file__).resolve().parent`, `datetime.now()`."""
    if node not in known:
        known[node] = False  # while it is asked about
        value = module.value(node)
        if isinstance(value, (ast.Attribute, ast.Subscript)):
            known[node] = _is_path_or_moment(module, value.value, known)
        elif isinstance(value, ast.BinOp):
            known[node] = _is_path_or_moment(module, value.left, known)
        elif isinstance(value, ast.Call):
            is_made = called_name(module, value).startswith(OF_PATHS_AND_MOMENTS)
            owner = value.func.value if is_method_call(value, *OF_PLAIN) else None
            known[node] = is_made or (owner is not None and _is_path_or_moment(module, owner, known))
    return known[node]


def _is_read_of_literal(module: Module, method: ast.Attribute, known: dict[ast.AST, bool]) -> bool:
    """Whether a method is one of a text, list or dict that the file writes out: `ID2LABEL.items`, `", ".join`."""
    if isinstance(method.value, (ast.Constant, ast.JoinedStr)):
        return True
    return method.attr in READING and _is_literal(module, method.value, known)


def _is_literal(module: Module, node: ast.expr, known: dict[ast.AST, bool]) -> bool:
    """Whether a value is written out in the file, or made of one that is without a change of it.

    Args:
        known: What is known of others: each is asked about once, however often sums of sums lead to it.
    """
    if node not in known:
        known[node] = False  # while it is asked about: what leads to itself is none
        known[node] = _is_made_of_literals(module, module.value(node), known)
    return known[node]


def _is_made_of_literals(module: Module, value: ast.expr, known: dict[ast.AST, bool]) -> bool:
    if isinstance(value, (ast.JoinedStr, *CONTAINERS)) or module.constant(value) not in (..., None):
        return True
    if isinstance(value, ast.Subscript):
        return _is_literal(module, value.value, known)
    if isinstance(value, ast.BinOp):
        return _is_literal(module, value.left, known) and _is_literal(module, value.right, known)
    if isinstance(value, ast.Name):
        return any(_is_literal(module, iterable, known) for iterable in _looped_over(module, value))
    if not isinstance(value, ast.Call):
        return False
    if isinstance(value.func, ast.Attribute):
        return _is_read_of_literal(module, value.func, known)
    return free_name(module, value.func) in PLAIN_BUILTINS


def _looped_over(module: Module, name: ast.Name) -> Iterator[ast.expr]:
    """What the comprehension goes through whose variable a name is."""
    for parent in module.ancestors(name):
        for part in getattr(parent, "generators", ()):
            if name.id in names_in(part.target):
                yield part.iter
                return


def runs_anywhere(module: Module, step: ast.stmt) -> bool:
    """Whether a statement of the driver may run on workers too: it logs in, shows or sets a thing, and parses nothing.

    It may do so in any process: `if accelerator.is_main_process: wandb.login()`, `login(token=arguments.token)`,
    `click.echo(trainer.state.best_metric)`, `os.environ["WANDB_PROJECT"] = settings["project"]`.
    """
    asked = _asks_driver_for(module, step)
    return asked <= {*LOGINS, *ECHOES} and (bool(asked) or environment_set(module, step) is not None)


def _asks_driver_for(module: Module, step: ast.stmt) -> set[str]:
    """What the driver does in a statement: the qualified names of such calls, or those of methods that parse."""
    calls = [node for node in executed(module, step) if isinstance(node, ast.Call)]
    names = {name for call in calls if (name := called_name(module, call)).startswith(OF_DRIVER)}
    methods = {call.func.attr for call in calls if isinstance(call.func, ast.Attribute)}
    return names | (methods & set(PARSE_METHODS))


def draws(module: Module, step: ast.stmt) -> bool:
    """Whether a statement draws into the current figure of matplotlib, or shows it: there is one in each process."""
    for node in executed(module, step):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            name = module.qualified(node.func) or f".{node.func.attr}"
            if name.startswith(("matplotlib.", "pylab.", "seaborn.")) or name in DRAWING_METHODS:
                return True
    return False


def stands_for_cell(step: ast.stmt) -> bool:
    """Whether a statement stands for what is not Python in a notebook: the edge of a cell, a magic."""
    if not (isinstance(step, ast.Expr) and isinstance(step.value, ast.Name)):
        return False
    return STAND_INS.fullmatch(step.value.id) is not None


def is_text(step: ast.stmt) -> bool:
    """Whether a statement is a docstring, or text that stands alone."""
    return isinstance(step, ast.Expr) and isinstance(step.value, ast.Constant)


def environment_set(module: Module, step: ast.stmt) -> str | None:
    """The variable that `os.environ["..."] = ...` sets, or a call of those of the launcher; None for any other."""
    if of_launcher := set_by_call(module, step, OF_LAUNCHER - {VISIBLE}):  # which one is the user's own choice
        return of_launcher[0]
    target = step.targets[0] if isinstance(step, ast.Assign) else None
    if not isinstance(target, ast.Subscript) or module.qualified(target.value) != "os.environ":
        return None
    return str(module.constant(target.slice))


def reads_rank(module: Module, step: ast.stmt) -> bool:
    """Whether a statement reads a variable by which each process knows its place among the others."""
    names = {node.value for node in executed(module, step) if isinstance(node, ast.Constant)}
    if names.isdisjoint(RANKS):
        return False
    read = {module.qualified(node) for node in executed(module, step) if isinstance(node, ast.Attribute)}
    return not read.isdisjoint({"os.environ", "os.getenv"})


def speaks_to_run(module: Module, step: ast.stmt) -> bool:
    """Whether a statement needs or starts the run of wandb, which workers have: `config = wandb.config`."""
    if any(isinstance(node, ast.Call) and start_elsewhere(module, node) for node in executed(module, step)):
        return True
    read = (module.qualified(node) or "" for node in executed(module, step) if isinstance(node, ast.Attribute))
    return any(name.startswith("wandb.") and name.split(".")[1] in OF_RUN for name in read)


def sets_backend(module: Module, step: ast.stmt) -> bool:
    """Whether this is an assignment to something of `torch.backends`."""
    targets = step.targets if isinstance(step, ast.Assign) else ()
    return any((module.qualified(target) or "").startswith("torch.backends.") for target in targets)

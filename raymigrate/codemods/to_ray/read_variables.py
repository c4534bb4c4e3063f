"""Environment variables of the user's own that workers read: those of a cluster that runs already do not have them."""

import ast
from collections.abc import Iterator

from raymigrate.base.expressions import lazy_regex
from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.codemods.to_ray.cell_lines import run_by_workers
from raymigrate.codemods.to_ray.driver_environment import GIVE, called_functions
from raymigrate.codemods.to_ray.outline import Outline
from raymigrate.codemods.to_ray.step_kinds import OF_LAUNCHER
from raymigrate.facts.projects.environment import ENVIRON, OF_PROCESSES, all_variables_set, variable_read
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module

# What each machine has of its own, and what libraries, launchers and services read or set by themselves.
OF_OTHERS = lazy_regex(
    r"(?:ACCELERATE|AWS|AZURE|CI|CLEARML|COLAB|COMET|CONDA|CUDA|DATABRICKS|DEEPSPEED|FSDP|GITHUB|GOOGLE|HF|HUGGING\w*|"
    r"JAX|KAGGLE|KMP|LC|LOCAL|MASTER|MKL|MLFLOW|NCCL|NEPTUNE|NVIDIA|OMP|OMPI|OPENAI|PBS|PYTHON\w*|PYTORCH|RAY|SAGEMAKER|"
    r"SLURM|SM|TENSORBOARD|TF|TOKENIZERS|TORCH\w*|TPU|TRANSFORMERS|WANDB|WORLD|XDG|XLA)_\w+"
    r"|HOME|PATH|PWD|USER|USERNAME|LOGNAME|HOSTNAME|SHELL|LANG|TERM|DISPLAY|TMP|TEMP|TMPDIR|APPDATA|PYTHON\w*|RANK|CI"
    r"|VIRTUAL_ENV|OS|COLUMNS|LOCALAPPDATA|USERPROFILE"
)

PLACE = (
    "{name}: read by the workers. srun or mpirun gives each of its processes its own; workers of Ray find that of the"
    " process that started Ray on their machine, the same for all of them, or none."
)
READ = "Read RANK, LOCAL_RANK or WORLD_SIZE there, which Ray Train gives each worker."


def tell_read(context: Context, rule: Rule, outline: Outline) -> None:
    """Tells of the variables that the workers read and nothing gives them.

    Args:
        context: The file.
        rule: The rule of the conversion.
        outline: What becomes of the script.
    """
    module = context.module
    if "environ" not in module.text and "getenv" not in module.text:
        return
    given = {*OF_LAUNCHER, *outline.environment, *(name for _, name in all_variables_set(module))}
    found = dict[str, ast.AST]()
    of_processes = dict[str, ast.AST]()
    for node, name in _read_by_workers(module, outline):
        if OF_PROCESSES.fullmatch(name) is not None and name not in given:
            of_processes.setdefault(name, node)
        if name not in given and OF_OTHERS.fullmatch(name) is None:
            found.setdefault(name, node)
    for name, node in of_processes.items():
        context.manual(rule, node, PLACE.format(name=name), READ)
    if found:
        message = (
            f"{', '.join(found)}: read by the workers. Those of a cluster that runs already, or of another machine,"
            f" have what {GIVE} says, and not what this script was started with."
        )
        context.note(rule, next(iter(found.values())), message)


def _read_by_workers(module: Module, outline: Outline) -> Iterator[tuple[ast.AST, str]]:
    """Where code that the workers run reads a variable, with its name; of another file, the step that calls it."""
    script, roles = outline.script, outline.roles
    steps = run_by_workers(outline)
    for node, name in _reads(module):
        step = script.step_of(node)
        if step in steps and (roles.of[step].moves or module.function(node) is not None):
            yield node, name
    for step in script.steps:
        if step in steps and roles.of[step].moves:
            for home, function, _ in called_functions(module, step):
                if home.text != module.text:
                    yield from ((step, name) for node, name in _reads(home) if home.inside(node, function))


@kept
def _reads(module: Module) -> list[tuple[ast.AST, str]]:
    """Where a file reads variables: `os.environ["A"]`, `os.environ.get("A")`, `os.getenv("A")`, `"A" in os.environ`."""
    nodes = (*module.of_type(ast.Subscript), *module.of_type(ast.Call))
    asked = [node for node in module.of_type(ast.Compare) if module.qualified(node.comparators[0]) == ENVIRON]
    names = ((node, variable_read(module, node)) for node in nodes)
    tested = ((node, module.constant(node.left)) for node in asked)
    return [(node, name) for node, name in (*names, *tested) if isinstance(name, str)]

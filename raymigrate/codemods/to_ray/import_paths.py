"""RM806, RM820: folders that a script puts on sys.path for itself.

Ray gives its workers the folder of the script and the current one (ray 2.60, _private/worker.py:2694). What the
training function names of another file is imported on a worker before it begins, so that nothing it does helps.
"""

import ast
from collections.abc import Iterator

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.codemods.to_ray.outline import Outline
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import argument, called_name

ADDS = {"sys.path.append": 0, "sys.path.insert": 1, "sys.path.extend": 0, "site.addsitedir": 0}
# What leads to the folder of the script or to the current one, which workers have.
HERE = (".", "./", "", "os.getcwd()", "os.path.abspath('.')", "os.path.curdir", "os.curdir", "str(Path.cwd())")
OF_SCRIPT = (
    *("os.path.dirname(__file__)", "os.path.dirname(os.path.abspath(__file__))", "Path(__file__).parent"),
    *("os.path.dirname(os.path.realpath(__file__))", "os.path.abspath(os.path.dirname(__file__))"),
    *("Path(__file__).resolve().parent", "Path(__file__).absolute().parent", "sys.path[0]"),
)
MESSAGE = "sys.path is changed on the driver only: workers raise a ModuleNotFoundError for what they import from there."
ADVICE = 'Give them the absolute path: RunConfig(worker_runtime_env={"env_vars": {"PYTHONPATH": ...}}).'


def tell_import_paths(context: Context, rule: Rule, outline: Outline) -> None:
    """Tells of folders that only the driver imports from.

    Args:
        context: The file.
        rule: The rule of the conversion.
        outline: What becomes of the script.
    """
    module, workers = context.module, set(outline.roles.moved())
    for place, folder in _added(module):
        if outline.script.step_of(place) not in workers and not _is_here(module, folder):
            context.manual(rule, place, MESSAGE, ADVICE)


def _added(module: Module) -> Iterator[tuple[ast.AST, ast.expr | None]]:
    """What adds to sys.path, each with what it adds, where that is one folder."""
    for call in module.calls(*ADDS):
        yield call, argument(call, ADDS[called_name(module, call)])
    assigned: list[tuple[ast.stmt, list[ast.expr]]] = [(made, made.targets) for made in module.of_type(ast.Assign)]
    assigned += [(made, [made.target]) for made in module.of_type(ast.AugAssign)]
    for statement, targets in assigned:
        if any(module.qualified(target) == "sys.path" for target in targets):
            yield statement, None


def _is_here(module: Module, folder: ast.expr | None) -> bool:
    """Whether a folder is one that workers import from anyway."""
    if folder is None:
        return False
    text = ast.unparse(module.value(folder)).replace("pathlib.", "").removeprefix("str(")
    return module.constant(folder) in HERE or text in HERE or text.removesuffix(")") in OF_SCRIPT or text in OF_SCRIPT

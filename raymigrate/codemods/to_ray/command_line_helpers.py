"""RM806, RM828: helpers of other files that ask hydra or click, which speak of the process that they started alone."""

import ast
import builtins

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.codemods.to_ray.cell_lines import run_by_workers
from raymigrate.codemods.to_ray.command_lines import CURRENT_FOLDER
from raymigrate.codemods.to_ray.outline import Outline
from raymigrate.facts.projects.callees import lead_to
from raymigrate.facts.projects.project import with_imported
from raymigrate.facts.syntax.guards import SUPPRESS, heads_of
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.scopes import Reference
from raymigrate.facts.values import argument

# What raises where its library did not start the process; others of hydra, such as ConfigStore, hold anywhere.
ASKS = ("hydra.core.hydra_config.HydraConfig.get", CURRENT_FOLDER, "click.get_current_context")
INITIALIZED = "initialized"
RAISES = {"hydra": ValueError, "click": RuntimeError}
ADVICE = "Ask on the driver, before the training function, and give this what comes of it; or call it behind fit()."


def tell_command_line_helpers(context: Context, rule: Rule, outline: Outline) -> None:
    """Tells of calls by which workers come to such a question.

    Args:
        context: The file.
        rule: The rule of the conversion.
        outline: What becomes of the script.
    """
    module = context.module
    if not any(map(_asked, with_imported(module)[1:])):
        return
    steps = run_by_workers(outline)
    calls = [call for call in module.of_type(ast.Call) if outline.script.step_of(call) in steps]
    for call, home, asked in lead_to(module, calls, _asked_in):
        if not _expects(module, call, _error(asked)):
            library = asked.qualified.partition(".")[0]
            message = (
                f"{home.path}:{home.start(asked.node)[0]} calls {asked.qualified}(), which holds in the process of"
                f" {library} only: on a worker it raises a {_error(asked).__name__}."
            )
            context.manual(rule, call, message, ADVICE)


def _asked_in(module: Module, code: ast.AST) -> Reference | None:
    return next((asked for asked in _asked(module) if module.inside(asked.node, code)), None)


@kept
def _asked(module: Module) -> list[Reference]:
    """Where a file asks, and does not reckon with another process."""
    found = (reference for reference in module.references if reference.qualified in ASKS)
    return [r for r in found if not _is_silent(module, r.node) and not _expects(module, r.node, _error(r))]


def _error(asked: Reference) -> type[Exception]:
    """What a question raises in another process."""
    return RAISES[asked.qualified.partition(".")[0]]


def _is_silent(module: Module, asked: ast.AST) -> bool:
    """Whether click gives None in place of an error: `get_current_context(silent=True)`."""
    call = module.calling(asked)
    silent = argument(call, 0, "silent") if call is not None else None
    return silent is not None and module.constant(silent) is not False


def _expects(module: Module, node: ast.AST, error: type[Exception]) -> bool:
    """Whether code asks `HydraConfig.initialized()` in its function, or takes care of the error around it."""
    function = module.function(node) or module.tree
    if any(module.inside(asked, function) for asked in module.attributes(INITIALIZED)):
        return True
    child = node
    for around in module.ancestors(node):
        if isinstance(around, ast.Try) and child in around.body:
            caught = [handler.type for handler in around.handlers]
        elif isinstance(around, (ast.With, ast.AsyncWith)):
            caught = [kind for head in heads_of(module, around, (SUPPRESS,)) for kind in head.args]
        else:
            caught = []
        if any(kind is None or _holds(kind, error) for kind in caught):
            return True
        child = around
    return False


def _holds(kinds: ast.expr, error: type[Exception]) -> bool:
    """Whether an error is one of those that a handler names."""
    named = kinds.elts if isinstance(kinds, ast.Tuple) else [kinds]
    found = (getattr(builtins, kind.id, None) for kind in named if isinstance(kind, ast.Name))
    return any(isinstance(kind, type) and issubclass(error, kind) for kind in found)

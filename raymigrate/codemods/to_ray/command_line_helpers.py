"""RM806, RM828: helpers of other files that ask hydra or click, which speak of the process that they started alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.codemods.to_ray.cell_lines import run_by_workers
from raymigrate.codemods.to_ray.command_lines import CURRENT_FOLDER
from raymigrate.codemods.to_ray.outline import Outline
from raymigrate.facts.projects.callees import reached_elsewhere
from raymigrate.facts.projects.project import with_imported
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.scopes import Reference

# What raises where its library did not start the process; others of hydra, such as ConfigStore, hold anywhere.
ASKS = ("hydra.core.hydra_config.HydraConfig.get", CURRENT_FOLDER, "click.get_current_context")
INITIALIZED = "initialized"
RAISES = {"hydra": "a ValueError", "click": "a RuntimeError"}
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
    for call in module.of_type(ast.Call):
        found = next(_asked_behind(module, call), None) if outline.script.step_of(call) in steps else None
        if found is not None:
            home, asked = found
            library = asked.qualified.partition(".")[0]
            message = (
                f"{home.path}:{home.start(asked.node)[0]} calls {asked.qualified}(), which holds in the process of"
                f" {library} only: on a worker it raises {RAISES[library]}."
            )
            context.manual(rule, call, message, ADVICE)


def _asked_behind(module: Module, call: ast.Call) -> Iterator[tuple[Module, Reference]]:
    for home, function in reached_elsewhere(module, [call]):
        yield from ((home, asked) for asked in _asked(home) if home.inside(asked.node, function))


@kept
def _asked(module: Module) -> list[Reference]:
    """Where a file asks, and does not reckon with another process: `if HydraConfig.initialized()`, `try`."""
    found = (reference for reference in module.references if reference.qualified in ASKS)
    return [reference for reference in found if not any(_expects(module, p) for p in module.ancestors(reference.node))]


def _expects(module: Module, around: ast.AST) -> bool:
    return isinstance(around, ast.Try) or (isinstance(around, ast.If) and INITIALIZED in module.source(around.test))

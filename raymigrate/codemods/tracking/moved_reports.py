"""RM761: reports of Weights & Biases, which are in a package of their own.

wandb 0.31: apis/reports/v1 and v2 take all names from wandb_workspaces.reports; without that package they print an
error and have none.
"""

import ast

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.facts.syntax.guards import is_guarded

RM761 = Rule(
    "RM761",
    "reports of wandb.apis.reports",
    "They are in the package wandb_workspaces today: without it, importing their names raises an ImportError, and"
    " reading one an AttributeError.",
    "pip install wandb-workspaces, and import wandb_workspaces.reports.v2 in place of wandb.apis.reports, which has"
    " the classes of its version 2; those of wandb.apis.reports.v1 are in wandb_workspaces.reports.v1.",
    "https://docs.wandb.ai/guides/reports/create-a-report",
    unproven="The import alone fails, and the package that has the names is not among those of the tests.",
)
GONE = "wandb.apis.reports"


@codemod(GONE, "reports", phase=Phase.GONE, in_ray_scripts=True)
def moved_reports(context: Context) -> None:
    """Reports the imports of that module."""
    module = context.module
    for statement in module.imports:
        if isinstance(statement, ast.ImportFrom) and statement.level:
            continue
        names = [module.imported(statement, alias) for alias in statement.names]
        found = next((name for name in names if f"{name}.".startswith(f"{GONE}.")), None)
        if found is not None and not is_guarded(module, statement, found.rpartition(".")[2]):
            context.manual(RM761, statement, f"What {GONE} had is in the package wandb_workspaces today.")

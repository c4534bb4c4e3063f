"""RM692, for modules of Ray that are there, and whose own imports fail today (looked for in all of Ray 2.60)."""

import ast
from collections.abc import Iterator, Mapping

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.gone.gone_names import RM692
from raymigrate.codemods.phases import Phase
from raymigrate.facts.syntax.guards import is_guarded
from raymigrate.knowledge.successors import advice_on

# By the module, the first name that it imports and does not find.
BROKEN: Mapping[str, str] = {
    "ray.train.examples.tf.tensorflow_autoencoder_example": "ray.data.datasource.SimpleTensorFlowDatasource",
    "ray.tune.examples.pbt_transformers.pbt_transformers": "transformers.GlueDataset",
    "ray.tune.examples.pbt_transformers.utils": "transformers.glue_compute_metrics",
}


@codemod("pbt_transformers", "tensorflow_autoencoder_example", phase=Phase.GONE)
def broken_modules(context: Context) -> None:
    """Reports the imports of modules whose own imports fail today."""
    for statement in context.module.imports:
        for name in _modules(statement):
            missing = BROKEN.get(name)
            if missing is None or is_guarded(context.module, statement, name):
                continue
            library, _, _ = missing.partition(".")
            if library == "transformers" and context.keeps_transformers:
                continue
            message = f"{name} cannot be imported: it takes {missing} itself, which is gone (ImportError)."
            context.manual(RM692, statement, message, f"Copy what you need of the module. {advice_on(missing) or ''}")
            break


def _modules(statement: ast.Import | ast.ImportFrom) -> Iterator[str]:
    """The modules that an import may run."""
    if isinstance(statement, ast.ImportFrom):
        if statement.level:
            return
        yield statement.module or ""
    home = f"{statement.module}." if isinstance(statement, ast.ImportFrom) else ""
    yield from (f"{home}{alias.name}" for alias in statement.names)

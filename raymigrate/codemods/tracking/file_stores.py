"""RM760: an address of MLflow that is a folder of files.

Measured with mlflow 3.17: the first call that needs the store raises an MlflowException, unless the variable
MLFLOW_ALLOW_FILE_STORE is true where it is made (store/tracking/file_store.py, FileStore.__init__). A path without a
scheme is such an address too (tracking/_tracking_service/utils.py); "databricks" and "uc" are none.
"""

import ast
from collections.abc import Iterator

from raymigrate.base.expressions import lazy_regex
from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.tracking.tracking_setup import SETUP_MLFLOW
from raymigrate.codemods.tracking.user_callbacks import LOGGERS
from raymigrate.facts.projects.environment import value_set, variables_set
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import argument, head, is_none, leading_text

ALLOW = "MLFLOW_ALLOW_FILE_STORE"
VARIABLES = ("MLFLOW_TRACKING_URI", "MLFLOW_REGISTRY_URI")
RM760 = Rule(
    "RM760",
    "runs of MLflow in a folder of files",
    "MLflow 3.17 raises an MlflowException where runs are kept in a folder, file:///path or a path alone, unless the"
    f" variable {ALLOW} is true.",
    'Give it a database, "sqlite:////absolute/path/mlflow.db", into which mlflow migrate-filestore takes the runs that'
    f' are there; or set {ALLOW}="true" on the driver and, by env_vars of its runtime_env, on the workers.',
    "https://mlflow.org/docs/latest/self-hosting/migrate-from-file-store",
    errors=("The filesystem tracking backend (e.g., './mlruns') is in maintenance mode",),
    unproven="One call is enough to show the error: tests/error_snippets.py makes MLflow say it.",
)
MESSAGE = "This is a folder, in which MLflow 3.17 keeps no runs: an MlflowException."
PLACES = ("tracking_uri", "registry_uri")
# Functions, with the names of the argument that is an address, the first one of them; those of Ray take it by name.
FUNCTIONS = {
    "mlflow.set_tracking_uri": ("uri",),
    "mlflow.set_registry_uri": ("uri",),
    **{f"mlflow.{place}MlflowClient": PLACES for place in ("", "tracking.", "client.", "tracking.client.")},
}
OF_RAY = (SETUP_MLFLOW, *(name for name, service in LOGGERS.items() if service == "mlflow"))
SCHEME = lazy_regex(r"[A-Za-z][\w+.-]*:")
NO_PATHS = lazy_regex(r"databricks|uc$|databricks-uc")


@codemod("mlflow", *VARIABLES, phase=Phase.TRAINERS, in_ray_scripts=True)
def file_stores(context: Context) -> None:
    """Reports the addresses that name a folder, each once, in scripts that do not allow it."""
    module = context.module
    if ALLOW in module.text:
        return
    told = set[ast.AST]()  # what the addresses begin with: one may be given to many calls
    for address in sorted(dict.fromkeys(_addresses(module)), key=module.start):
        first = head(module, address).node
        if _is_folder(module, address) and first not in told:
            told.add(first)
            context.manual(RM760, address, MESSAGE)


def _addresses(module: Module) -> Iterator[ast.expr]:
    for name, arguments in FUNCTIONS.items():
        for call in module.calls(name):
            if (given := argument(call, 0, *arguments)) is not None:
                yield given
    for call in module.calls(*OF_RAY):
        yield from (keyword.value for keyword in call.keywords if keyword.arg in PLACES)
    for place, _ in variables_set(module, *VARIABLES):
        if (value := value_set(module, place)) is not None:
            yield value


def _is_folder(module: Module, address: ast.expr) -> bool:
    """Whether an address begins with `file:`, or is a path, as far as its beginning is seen."""
    if is_none(address):
        return False
    text = leading_text(module, address)
    scheme = SCHEME.match(text)
    if scheme is not None and len(scheme[0]) > 2:  # C: is a drive
        return scheme[0].lower() == "file:"
    is_whole = module.constant(address) == text
    return bool(text) and ("/" in text or is_whole) and not NO_PATHS.match(text)

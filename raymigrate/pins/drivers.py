"""What a script needs itself, and what only the workers need that it starts."""

import ast
from pathlib import PurePath

from raymigrate.facts.projects.places import Place, Places
from raymigrate.facts.projects.submitted_jobs import submissions
from raymigrate.facts.syntax.module import Module
from raymigrate.knowledge.legacy import HF_TRAINERS, TRAINING_ARGUMENTS
from raymigrate.pins.environments import package_lists
from raymigrate.pins.needed import ACCELERATE, Needed, listed


def needs_itself(module: Module, needed: Needed) -> bool:
    """Whether code needs a package that runs where the script is started.

    accelerate is needed where the Trainer and its arguments are made, or where it is imported. Modules that training
    functions use are imported at the top of a script, so all else is needed there.
    """
    if needed != ACCELERATE:
        return True
    places = Places(module)
    imports = [s for s in module.imports if any(name.partition(".")[0] == needed.name for name in _imported(s))]
    using = [*imports, *module.calls(*TRAINING_ARGUMENTS, *HF_TRAINERS)]
    return any(places.of(node) is not Place.WORKER for node in using)


def _imported(statement: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(statement, ast.ImportFrom):
        return [] if statement.level else [statement.module or ""]
    return [alias.name for alias in statement.names]


def worker_packages(module: Module) -> set[str]:
    """The packages that the lists of a module's own runtime environments name: its workers have them."""
    return {name for job, packages in package_lists(module) if job is None for name in _names(packages)}


def has_own_packages(module: Module, script: str) -> bool:
    """Whether a module submits a script as a job with a list of packages: what else is installed is not for it."""
    jobs = [job for _, job, _ in submissions(module) if job.runs(PurePath(script).name)]
    listing = {job for job, packages in package_lists(module) if packages}
    return bool(jobs) and listing.issuperset(jobs)


def _names(packages: list[ast.Constant]) -> set[str]:
    return {name for package in packages for name in listed(str(package.value))}

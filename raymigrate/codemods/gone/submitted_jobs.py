"""RM698: a script whose job has a runtime environment as well (docs/semantics/traps.md#t42)."""

import ast
from collections.abc import Iterator

from raymigrate.base.findings import Rule
from raymigrate.base.submitted_jobs import SubmittedJob
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.facts.projects.project_uses import importing_modules
from raymigrate.facts.projects.submitted_jobs import fields_of, submitted_beside
from raymigrate.facts.values import argument, given_by_name, keyword_argument, leading_text

RM698 = Rule(
    "RM698",
    "a runtime environment of a script and of its job",
    "A script that is submitted as a job, and gives ray.init() a field of the runtime environment that the job has as"
    " well, ends with a ValueError on Ray >= 2.9. Before 2.8 Ray took the job's environment and warned.",
    "Take it out of ray.init(), as Ray did in effect; or set RAY_OVERRIDE_JOB_RUNTIME_ENV to 1 in the env_vars of the"
    " job's runtime_env: then the script's takes the place of the job's.",
    "https://docs.ray.io/en/latest/cluster/running-applications/job-submission/sdk.html",
    errors=("Failed to merge the Job's runtime env",),
    unproven="It takes a cluster with its dashboard. By hand, with the variable that a job gets it by: the ValueError.",
)
OVERRIDES = "RAY_OVERRIDE_JOB_RUNTIME_ENV"
LAST_WARNING, RAISES = (2, 8), (2, 9)  # 2.7.2 warns, 2.9.3 raises (_private/worker.py)


@codemod("runtime_env", phase=Phase.RESULTS)
def runtime_env_of_a_job(context: Context) -> None:
    """Reports what a script and the job that runs it both say."""
    module = context.module
    if OVERRIDES in module.text:
        return
    own_fields: dict[ast.Call, frozenset[str]] = {}
    for call in module.calls("ray.init"):
        given, address = given_by_name(module, call), argument(call, 0, "address")
        if "runtime_env" in given and not (address is not None and leading_text(module, address).startswith("ray://")):
            own_fields[call] = fields_of(module, given["runtime_env"])
    jobs = list(_jobs(context)) if any(own_fields.values()) else []
    for call, own in own_fields.items():
        both = sorted({field for job in jobs for field in job.fields & own})
        if both and context.from_ray.version <= LAST_WARNING:
            named = " and ".join(both)
            message = f"The job that runs this script has {named} too: current Ray ends it with a ValueError."
            place = keyword_argument(call, "runtime_env")
            context.manual(RM698, call if place is None else place, message)


def _jobs(context: Context) -> Iterator[SubmittedJob]:
    """The jobs that run the script, or one that imports it, as far as they did so with a Ray that only warned.

    That is known of a project of which something is legacy, or which pins such a Ray. A script of today may be
    submitted by nothing that is read here.
    """
    module = context.module
    paths = [context.path, *(other.path for other in importing_modules(module))]
    is_old = context.of_legacy_job or context.from_ray.surely_before(RAISES)
    for job in [*context.options.submitted, *submitted_beside(module)]:
        overrides = f"{OVERRIDES} in env_vars" in job.fields
        if (is_old or job.is_for_older_ray) and not overrides and any(map(job.runs, paths)):
            yield job

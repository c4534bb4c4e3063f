"""RM693 in the configuration files of Ray Serve beside the scripts of a job.

Nothing in such a file is changed. `serve run` and `serve deploy` take a list of applications today; until Ray 2.7 the
file could describe a single one (docs/semantics/names.md#configuration-of-ray-serve). Keys that a deployment no longer
has are left out without a word.
"""

from collections.abc import Callable, Collection, Iterator

from raymigrate.base.expressions import lazy_regex
from raymigrate.base.findings import Finding, Kind
from raymigrate.base.options import Options
from raymigrate.codemods.gone.rescan import RM693
from raymigrate.codemods.gone.served_autoscaling import INSTEAD as INSTEAD_OF_AUTOSCALING
from raymigrate.codemods.gone.served_autoscaling import OLD as OF_AUTOSCALING
from raymigrate.facts.projects.project import Project
from raymigrate.facts.projects.settings import Key, mappings
from raymigrate.pins.evidence import is_legacy
from raymigrate.run.configuration_names import told_beside
from raymigrate.run.outcome import FileResult

FILES = (".yaml", ".yml")
SERVE = lazy_regex(r"\bfrom ray import [^\n#]*\bserve\b|\bray\.serve\b|\bfrom ray import \([^)]*\bserve\b")
PATH, APPLICATIONS = "import_path", "applications"
# What the file of one application could hold (Ray 2.3 to 2.7, serve/schema.py, ServeApplicationSchema).
OF_APPLICATION = frozenset(
    [
        *("name", "route_prefix", PATH, "runtime_env", "host", "port", "deployments"),
        *("args", "docs_path", "logging_config", "autoscaling_policy"),
    ]
)
APPLICATION = lazy_regex(r"(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*[:.][A-Za-z_]\w*")  # "module:app"
SINGLE = (
    'serve run and serve deploy refuse a file without "applications" today: they raise a ValidationError.',
    "Put the application into a list: applications: [{name: ..., route_prefix: /, import_path: ..., runtime_env: ...,"
    " deployments: [...]}]. host and port go under http_options, beside it.",
)
IGNORED = "{} of a deployment is ignored today, and no error says so."
INSTEAD = {
    "max_concurrent_queries": "max_ongoing_requests took its place. Without it a replica gets 5 requests at once, which"
    " were 100.",
    "route_prefix": "Give it to the application.",
    OF_AUTOSCALING: INSTEAD_OF_AUTOSCALING,  # the others stand beside the name of a deployment
}


def serves(result: FileResult) -> bool:
    """Whether a script for Serve is changed, or a person has to change something in it."""
    return "serve" in result.before and SERVE.search(result.before) is not None and is_legacy(result.findings)


def told_in_serve_configs(
    jobs: Collection[FileResult], project: Project, options: Options, covers: Callable[[str], bool]
) -> Iterator[FileResult]:
    """What there is to say of the configuration files of Serve beside jobs.

    See `told_beside` for the arguments.
    """
    return told_beside(jobs, project, options, covers, PATH, _told)


def _told(text: str, path: str) -> Iterator[Finding]:
    found = list(mappings(text)) if path.endswith(FILES) else []
    root = {key.name: key for key in found[0]} if found else {}
    if _is_application(root) and root.keys() <= OF_APPLICATION:
        yield _finding(root[PATH], path, *SINGLE)
    elif APPLICATIONS not in root or not any(_is_application({key.name: key for key in keys}) for keys in found[1:]):
        return
    for keys in found[1:]:
        names = {key.name for key in keys}
        for key in keys:
            if key.name in INSTEAD and PATH not in names and ("name" in names or key.name == OF_AUTOSCALING):
                yield _finding(key, path, IGNORED.format(key.name), INSTEAD[key.name])


def _is_application(keys: dict[str, Key]) -> bool:
    """Whether a mapping says where an application of Serve is: `import_path: "app:graph"`."""
    return PATH in keys and APPLICATION.fullmatch(keys[PATH].value or "") is not None


def _finding(key: Key, path: str, message: str, advice: str) -> Finding:
    return Finding(RM693.code, Kind.MANUAL, message, advice, key.line, key.column, path)

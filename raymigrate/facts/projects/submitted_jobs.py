"""Jobs that are submitted to a cluster: which script each runs, and what its runtime environment says.

By `JobSubmissionClient.submit_job(entrypoint=, runtime_env=)` or `ray job submit --runtime-env-json ... -- python x.py`
(ray/dashboard/modules/job/sdk.py and cli.py).
"""

import ast
import json
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import PurePath

from raymigrate.base.expressions import lazy_regex
from raymigrate.base.submitted_jobs import SubmittedJob
from raymigrate.facts.projects.environment import ENV_VARS, RUNTIME_ENV
from raymigrate.facts.projects.project import Project
from raymigrate.facts.projects.project_uses import files_with
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.older_ray import is_for_older_ray
from raymigrate.facts.values import given_by_name, named_arguments, seen_entries

METHOD = "submit_job"
OBJECTS = ("codeflare_sdk.RayJob", "codeflare_sdk.ray.RayJob", "codeflare_sdk.ray.rayjobs.RayJob")
COMMAND = "ray job submit"
LINE = lazy_regex(rf"\b{COMMAND}\b((?:\\\r?\n|[^\n])*)")


def entries_of(module: Module, environment: ast.expr) -> dict[str, ast.expr]:
    """The fields that a runtime environment is seen to have, with their values."""
    entries = dict(seen_entries(module, environment))
    for source in module.origins(environment):
        if isinstance(source.node, ast.Call) and source.module.qualified(source.node.func) in RUNTIME_ENV:
            entries |= named_arguments(source.node)
    return entries


def fields_of(module: Module, environment: ast.expr) -> frozenset[str]:
    """The fields that a runtime environment is seen to have."""
    entries = entries_of(module, environment)
    variables = seen_entries(module, entries.pop(ENV_VARS)) if ENV_VARS in entries else {}
    return frozenset([*entries, *(f"{name} in {ENV_VARS}" for name in variables)])


def submitted_by_code(module: Module) -> Iterator[SubmittedJob]:
    """The jobs that a module submits."""
    yield from (job for _, job, _ in submissions(module))


def submissions(module: Module) -> Iterator[tuple[ast.Call, SubmittedJob, ast.expr | None]]:
    """The calls of a module that submit a job, or describe one for Kubernetes, with its runtime environment."""
    for call in (*(call for call, _ in module.method_calls(METHOD)), *module.calls(*OBJECTS)):
        given = given_by_name(module, call)
        if "entrypoint" in given:
            environment = given.get("runtime_env")
            fields = fields_of(module, environment) if environment is not None else frozenset[str]()
            command = " ".join(_texts(module, given["entrypoint"]))
            yield call, SubmittedJob(command, fields, folder=_folder_of(module, environment)), environment


def _folder_of(module: Module, environment: ast.expr | None) -> str:
    working = entries_of(module, environment).get("working_dir") if environment is not None else None
    path = module.constant(working)
    return PurePath(path).name if isinstance(path, str) and "://" not in path else ""


def _texts(module: Module, command: ast.expr) -> Iterator[str]:
    """The strings that a command is put together of, in no order."""
    for source in module.origins(command):
        parts = [node for node in ast.walk(source.node) if isinstance(node, (ast.Constant, ast.Name))]
        for end in [end for part in parts for end in source.module.origins(part)]:
            if isinstance(end.node, ast.Constant) and isinstance(end.node.value, str):
                yield end.node.value


def submitted_by_commands(text: str) -> Iterator[SubmittedJob]:
    """The jobs that the lines of a shell submit."""
    for line in LINE.finditer(text):
        try:
            words = shlex.split(re.sub(r"\\\r?\n", " ", line[1]))
        except ValueError:
            continue
        options, entrypoint = words, words
        if "--" in words:
            options, entrypoint = words[: words.index("--")], words[words.index("--") + 1 :]
        given = dict(pairwise([*options, ""]))
        given |= dict(word.split("=", 1) for word in options if word.startswith("--") and "=" in word)
        fields = set(_fields_of_json(given.get("--runtime-env-json", "")))
        fields |= {"working_dir"} if "--working-dir" in given else set()
        yield SubmittedJob(" ".join(entrypoint), frozenset(fields))


def _fields_of_json(text: str) -> Iterator[str]:
    try:
        environment = json.loads(text)
    except ValueError:
        return
    for name, value in environment.items() if isinstance(environment, dict) else ():
        if name == ENV_VARS and isinstance(value, dict):
            yield from (f"{variable} in {ENV_VARS}" for variable in value)
        else:
            yield name


def submitted_beside(module: Module) -> Iterator[SubmittedJob]:
    """The jobs that other files of the project submit: scripts, the code of notebooks, and shell scripts."""
    project = module.project
    if project is None:
        return
    for path, data in files_with(project, project.folder(module.path), METHOD.encode(), COMMAND.encode()):
        is_old = False
        if path.endswith(".sh"):
            jobs = list(submitted_by_commands(data.decode("utf-8", "replace")))
        elif METHOD.encode() in data and path.endswith((".py", ".ipynb")):
            other = _module(project, module, path)
            jobs = list(submitted_by_code(other)) if other is not None else []
            is_old = other is not None and is_for_older_ray(other)
        else:
            continue
        is_old = is_old or (bool(jobs) and _run_for_older_ray(project, module, jobs))
        yield from (replace(job, is_for_older_ray=is_old) for job in jobs)


def files_run_by(module: Module, job: SubmittedJob) -> list[str]:
    """The files of the project that are the script of a job, those in the folder of what submits it before others.

    A file elsewhere is none if the job has it in a folder of another name: that may be code of others, cloned there.
    """
    project = module.project
    if project is None or not job.entrypoint:
        return []
    folder, here = project.folder(module.path), PurePath(project.real(module.path)).parent
    paths = [path for path, _ in files_with(project, folder, b"import") if path.endswith(".py") and job.runs(path)]
    near = [path for path in paths if here in PurePath(project.real(path)).parents]
    return near or [path for path in paths if not job.folder or job.folder in PurePath(project.real(path)).parts]


def _run_for_older_ray(project: Project, module: Module, jobs: Sequence[SubmittedJob]) -> bool:
    """Whether one of some jobs runs a script of the project that was written for an older Ray."""
    for path, _ in files_with(project, project.folder(module.path), b"ray"):
        if path.endswith(".py") and any(job.runs(path) for job in jobs):
            script = _module(project, module, path)
            if script is not None and is_for_older_ray(script):
                return True
    return False


def _module(project: Project, module: Module, path: str) -> Module | None:
    """The module in a file; a given one has the text that it will have, if it is of that file."""
    return module if project.real(path) == project.real(module.path) else project.module(path)

"""The scripts that a module's lists of packages are for: a list is anybody's concern only if one of them is.

The list of a job is for the script that the job runs, whatever submits it; any other list is for the module itself.
"""

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePath

from raymigrate.base.expressions import lazy_regex
from raymigrate.base.submitted_jobs import JobScript, SubmittedJob
from raymigrate.codemods.context import Context
from raymigrate.facts.projects.project import Project
from raymigrate.facts.projects.submitted_jobs import files_run_by
from raymigrate.pins.environments import jobs_by_package

SCRIPT = lazy_regex(r"\.py\b|-m\s+\w")  # in a command


@dataclass
class ListedFor:
    """Finds the scripts of each list.

    Args:
        context: The module.
    """

    context: Context

    def __post_init__(self) -> None:
        """Looks at the jobs that the module submits."""
        self.own = JobScript(self.context.path, self.context.module.text, tuple(self.context.found))
        self._jobs = jobs_by_package(self.context.module)
        self._known: dict[SubmittedJob | None, list[JobScript]] = {}

    def scripts(self, nodes: Iterable[ast.Constant]) -> list[JobScript]:
        """The scripts that the packages in some strings are for, with the files that these import."""
        found: list[JobScript] = []
        for job in dict.fromkeys(job for node in nodes for job in self._jobs.get(node, {None})):
            if job not in self._known:
                self._known[job] = self._of(job)
            found += [script for script in self._known[job] if script not in found]
        return found

    def _of(self, job: SubmittedJob | None) -> list[JobScript]:
        cells = self.context.options.cell_scripts
        if job is None:
            return _with_imported([self.own], cells)
        if SCRIPT.search(job.entrypoint) is None:
            return [self.own, *cells]  # any of them
        run = [script for script in cells if job.runs(script.path)]
        if run:
            return _with_imported(run, cells)
        project = self.context.module.project
        files = files_run_by(self.context.module, job)
        return self._files(project, files) if project is not None and files else [self.own]

    def _files(self, project: Project, paths: list[str]) -> list[JobScript]:
        """Files of the project, with those that they import."""
        found: list[JobScript] = []
        for path in paths:  # which grows meanwhile
            if project.real(path) == project.real(self.context.path):
                found.append(self.own)
                continue
            module = project.module(path)
            if module is not None:
                found.append(JobScript(path, module.text, tuple(project.findings(path))))
                imported = (other for other, _ in project.imported_files(module))
                paths += [other for other in dict.fromkeys(imported) if other not in paths]
        return found


def _with_imported(scripts: list[JobScript], cells: Iterable[JobScript]) -> list[JobScript]:
    """Scripts, with those that other cells of the notebook write and that they import."""
    for script in scripts:  # which grows meanwhile
        for other in cells:
            name = re.escape(PurePath(other.path).stem)
            if other not in scripts and re.search(rf"^\s*(?:from|import)\s+(?:[\w.]+\.)?{name}\b", script.text, re.M):
                scripts.append(other)
    return scripts

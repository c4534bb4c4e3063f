"""A job that is submitted to a cluster, and what it runs."""

import re
from dataclasses import dataclass
from pathlib import PurePath

from raymigrate.base.findings import Finding


@dataclass(frozen=True)
class SubmittedJob:
    """One job.

    Args:
        entrypoint: What is known of its command.
        fields: The fields of its runtime environment that are seen; a variable as "NAME in env_vars".
        is_for_older_ray: Whether what submits it was written for an older Ray, or another script that it submits.
        folder: The name of the folder that its working_dir says the script is in; empty where it is not seen.
    """

    entrypoint: str
    fields: frozenset[str]
    is_for_older_ray: bool = False
    folder: str = ""

    def runs(self, path: str) -> bool:
        """Whether its command names a script, as a file or as a module."""
        return re.search(rf"(?<!\w){re.escape(PurePath(path).stem)}(?:\.py\b|(?![\w.]))", self.entrypoint) is not None


@dataclass(frozen=True)
class JobScript:
    """A script that a job runs, or a file that such a script imports.

    Args:
        path: Its name.
        text: What it holds.
        findings: What was found in it.
    """

    path: str
    text: str
    findings: tuple[Finding, ...]

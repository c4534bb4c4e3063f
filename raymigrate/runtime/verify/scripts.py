"""Puts the scripts of the arms into scratch folders: original, respelled for current libraries, converted."""

from __future__ import annotations

import ast
import io
import os
import subprocess
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from raymigrate.base.families import Family
from raymigrate.base.findings import Finding, Kind
from raymigrate.base.options import Options
from raymigrate.codemods.context import Context
from raymigrate.documents import NOTEBOOK, UndecodableError, open_document
from raymigrate.documents.cells import STAND_INS
from raymigrate.documents.magics import syntax_error
from raymigrate.facts.projects.project import Project
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import argument
from raymigrate.files.discovery import SUFFIXES, Discovery, discover
from raymigrate.files.needles import needles
from raymigrate.files.script import decode
from raymigrate.pins.written_for import WrittenFor
from raymigrate.run.job import Job
from raymigrate.run.session import run
from raymigrate.runtime.verify.copies import copied, left_out
from raymigrate.runtime.verify.errors import VerifyError

# Arm O runs with the old transformers, accelerate and datasets, so their names stay as they were.
OF_LIBRARIES = Family.LIBRARIES.value
SCALING_CONFIG = ("ray.train.ScalingConfig", "ray.air.ScalingConfig", "ray.air.config.ScalingConfig")


@dataclass(frozen=True)
class Sources:
    """Where the two versions of a job come from.

    Args:
        original: The legacy script; the files of its folder travel along.
        converted: The converted script, or None to convert the original; of two scripts as they are, the other one.
    """

    original: Path
    converted: Path | None = None

    @property
    def name(self) -> str:
        """Name of the script that the user verifies."""
        return (self.converted or self.original).name

    @property
    def left_out(self) -> str:
        """One sentence on what lies beside the scripts and does not travel along; empty if there is nothing to tell."""
        return left_out([self.original, *([self.converted] if self.converted else [])])

    def put_original(self, folder: Path) -> Path:
        """Copies the legacy script and its folder; returns the script there."""
        return copied(self.original, folder)

    def put_other(self, folder: Path) -> Path:
        """Copies the other of two scripts as they are and its folder; returns the script there."""
        return copied(self.converted or self.original, folder)

    def put_converted(self, folder: Path, options: Options) -> tuple[Path, list[Finding]]:
        """Copies the converted script, or converts a copy of the original.

        Returns:
            The script, and what is worth telling of its conversion: see `converted_in_place`.

        Raises:
            VerifyError: If a file of the job cannot be converted.
        """
        if self.converted is not None and not options.ignore:
            return copied(self.converted, folder), []
        ray = self.written_for(options)
        if ray.lowest == ray.highest:  # the pins may be in a folder above, which does not travel along
            options = replace(options, from_ray=f"{ray.lowest[0]}.{ray.lowest[1]}")
        script = copied(self.original, folder)
        return script, converted_in_place(script, options)

    def written_for(self, options: Options) -> WrittenFor:
        """The Ray that the legacy script was written for, as far as it is known."""
        try:
            module = Module(open_document(self.original.read_bytes(), str(self.original)).text)
        except (UndecodableError, SyntaxError, ValueError):  # told where it is converted
            module = Module("")
        return Context(module, options, str(self.original)).from_ray

    def put_respelled(self, folder: Path) -> tuple[Path, list[str]]:
        """Copies the original and updates only what it spells of transformers, datasets and accelerate (rules RM7xx).

        Returns:
            The script, and the codes of the rules that changed it.
        """
        script = copied(self.original, folder)
        changed = [*_changed_by_conversion(script)]
        job = Job(Options(select=OF_LIBRARIES, part_of_job=True))
        project = Project([str(script.parent)])
        findings = [finding for path in changed for finding in job(path, project).findings]
        return script, sorted({finding.code for finding in findings if finding.kind is Kind.CONVERTED})


def runnable(script: Path) -> Path:
    """What Python can run of a script.

    Of a notebook, and of a script with magics, that is a script beside it without what only IPython runs: magics and
    shell lines do nothing, and what would be their output is None.
    """
    data = script.read_bytes()
    try:
        text = open_document(data, str(script)).text
        as_it_is = None if script.suffix == NOTEBOOK else decode(data).text
    except UndecodableError:
        return script  # Python tells what is wrong with it
    if (as_it_is is not None and syntax_error(as_it_is) is None) or syntax_error(text) is not None:
        return script
    names = [f"{name} = None\n" for name in sorted(set(STAND_INS.findall(text)))]
    if "display(" in text:
        names.append("display = print\n")
    path = script.with_name(f"{script.stem}_as_script.py")
    path.write_text("".join(names) + text, encoding="utf-8")
    return path


def converted_in_place(script: Path, options: Options) -> list[Finding]:
    """Converts every file of a script's scratch folder as `raymigrate FOLDER` does.

    Returns:
        What is left for a person in the files of the job, and the errors in files that it does not import.

    Raises:
        VerifyError: If a file of the job cannot be converted.
    """
    folder = script.parent
    job = job_files(script)
    told = []
    for finding in run(_found(folder, script, options), Job(options)).findings:
        path = Path(finding.path).relative_to(folder)
        belongs = os.path.realpath(finding.path) in job
        if finding.kind is Kind.ERROR and belongs:
            raise VerifyError(f"{path} {finding.message}")
        if finding.kind is Kind.ERROR or (belongs and finding.kind in (Kind.MANUAL, Kind.UNSAFE)):
            told.append(replace(finding, path=str(path)))
    return told


def job_files(script: Path) -> set[str]:
    """The real paths of a script and of the files that its imports run, as far as its code names them."""
    project = Project([str(script.parent)])
    found: set[str] = set()
    waiting = [str(script)]
    while waiting:
        path = waiting.pop()
        if os.path.realpath(path) in found:
            continue
        found.add(os.path.realpath(path))
        package = Path(path).with_name("__init__.py")
        waiting += [str(package)] if package.is_file() else []
        module = project.module(path)
        waiting += [file for file, _ in project.imported_files(module)] if module is not None else []
    return found


def uses_ray(script: Path) -> bool:
    """Whether a script, or a file beside it that it imports, imports Ray: it starts its workers itself then."""
    modules = filter(None, map(Project([str(script.parent)]).module, job_files(script)))
    return any(name.partition(".")[0] == "ray" for module in modules for name in _imported(module))


def _imported(module: Module) -> Iterator[str]:
    for statement in module.imports:
        if isinstance(statement, ast.Import):
            yield from (alias.name for alias in statement.names)
        elif not statement.level and statement.module:
            yield statement.module


def _found(path: Path, script: Path, options: Options) -> Discovery:
    """The files of a folder that a conversion looks at; notebooks belong to the job of a notebook only."""
    wanted = needles(to_ray=options.to_ray, to_accelerate=options.to_accelerate)
    return discover([str(path)], needles=wanted, suffixes=SUFFIXES if script.suffix == NOTEBOOK else (".py",))


def _changed_by_conversion(script: Path) -> Iterator[str]:
    """The files beside a script that a full conversion would change: those that belong to the job."""
    summary = run(_found(script.parent, script, Options()), Job(Options(), rewrite=False, write=False))
    for result in summary.results:
        if result.changes:
            yield result.path


def workers_of(script: Path) -> int | None:
    """How many workers a converted script starts, as far as it says so in a literal."""
    module = Module(open_document(script.read_bytes(), str(script)).text)
    given = (argument(call, 1, "num_workers") for call in module.calls(*SCALING_CONFIG))
    known = [module.constant(number) for number in given if number is not None]
    return known[0] if len(known) == 1 and isinstance(known[0], int) else None


def is_converted_with(script: Path, options: Options) -> bool:
    """Whether a conversion changes anything in a script or what it imports."""
    summary = run(_found(script, script, options), Job(options, rewrite=False, write=False))
    return any(finding.kind is Kind.CONVERTED for finding in summary.findings)


def is_legacy(script: Path) -> bool:
    """Whether a conversion has something to say of a script or of a file beside it that it imports.

    What it leaves for a person counts too: perhaps somebody has converted it by hand.
    """
    told = (Kind.CONVERTED, Kind.UNSAFE, Kind.MANUAL)
    job = Job(Options(), rewrite=False, write=False)
    summaries = (run(_found(path, path, Options()), job) for path in map(Path, sorted(job_files(script))))
    return any(finding.kind in told for summary in summaries for finding in summary.findings)


def at_revision(script: Path, revision: str, folder: Path) -> Path:
    """Takes a script and its folder out of a git revision.

    Raises:
        VerifyError: If git does not have them.
    """
    try:
        archive = subprocess.run(
            ["git", "-C", str(script.parent), "archive", "--format=tar", revision, "."], capture_output=True, check=True
        )
    except FileNotFoundError:
        raise VerifyError("git is not installed; give the original with --original FILE.") from None
    except subprocess.CalledProcessError as error:
        reason = error.stderr.decode(errors="replace").strip().splitlines()[-1:]
        raise VerifyError(f"{script.parent} cannot be read at revision {revision}: {' '.join(reason)}") from None
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        files.extractall(folder, filter="data")
    if not (folder / script.name).exists():
        raise VerifyError(f"{script.name} is not in revision {revision}; give the original with --original FILE.")
    return folder / script.name

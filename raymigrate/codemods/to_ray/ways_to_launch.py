"""How a script was started: the lines that launch it, the file of accelerate, and what both come to."""

from dataclasses import dataclass, field, replace
from pathlib import Path

from raymigrate.codemods.context import Context
from raymigrate.codemods.to_ray.launch_line import Launch, is_launched_one_way
from raymigrate.codemods.to_ray.launches import file_of, launches_of, may_read_file, named_files
from raymigrate.codemods.to_ray.notebook_launchers import NotebookLaunch
from raymigrate.facts.accelerate.accelerate_config import read_file
from raymigrate.facts.accelerate.launch_file import launch_form
from raymigrate.facts.accelerate.launch_flags import with_flags
from raymigrate.facts.accelerate.launch_form import LaunchForm, NoRayFormError, RejectedFileError
from raymigrate.facts.syntax.module import Module


class UnfitLaunchError(ValueError):
    """The way in which the script was started has no form on Ray; the message says why."""


@dataclass(frozen=True)
class Launched:
    """How a script was started.

    Args:
        launches: The lines that launch it.
        file: The file of accelerate that they name, or that lies with the script.
        form: What the file and the flags come to; None where nothing is known of them.
        notebook: The call of notebook_launcher, if there is one.
    """

    launches: list[Launch] = field(default_factory=list)
    file: Path | None = None
    form: LaunchForm | None = None
    notebook: NotebookLaunch | None = None

    @property
    def name(self) -> str:
        """The file, or the line, that the form comes from."""
        if self.file is not None:
            return self.file.name
        return f"{self.launches[0].file.name}:{self.launches[0].place}" if self.launches else ""


def launched_of(context: Context, notebook: NotebookLaunch | None = None) -> Launched:
    """How a script was started.

    Raises:
        UnfitLaunchError: If that has no form on Ray.
    """
    launches = launches_of(context.path, context.module)
    if notebook is not None:  # which reads no file
        return Launched(launches, notebook=notebook)
    return launched_with(context.path, launches, context.module)


def launched_with(path: str, launches: list[Launch], module: Module) -> Launched:
    """How lines start a script: by their flags, and the file of accelerate that is in force.

    Args:
        path: The script.
        launches: The lines that launch it.
        module: What is converted.

    Raises:
        UnfitLaunchError: If that has no form on Ray.
    """
    file = file_of(path, launches, module) if may_read_file(path, launches, module) else None
    flags = launches[0].known_flags if is_launched_one_way(launches) else {}
    name = file.name if file is not None else "the command"
    is_unseen = file is None and bool(named_files(path, launches))
    if is_unseen:
        flags = {flag: value for flag, value in flags.items() if flag != "config_file"}
    try:
        config = read_file(file) if file is not None else {}
        form = launch_form(with_flags(config, flags), name) if config or flags else None
    except NoRayFormError as error:
        raise UnfitLaunchError(str(error)) from error
    except RejectedFileError as error:
        raise UnfitLaunchError(f"{name}: {error}") from error
    except (OSError, ValueError) as error:
        raise UnfitLaunchError(f"{name} cannot be read: {error}") from error
    if is_unseen and form is not None:  # that file may say what the flags do not
        workers = form.workers if "num_processes" in flags else None
        form = replace(form, workers=workers, rows=[row for row in form.rows if row.key in flags])
    return Launched(launches, file, form)

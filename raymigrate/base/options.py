"""What a user can choose."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from raymigrate.base.submitted_jobs import JobScript, SubmittedJob


ACCELERATE_LAUNCH = "accelerate launch"


@dataclass(frozen=True)
class Options:
    """Choices of the user that change what is converted.

    Args:
        select: Codes or prefixes of the rules to apply; empty means all.
        ignore: Codes or prefixes of the rules not to apply.
        unsafe: Also make edits that can change behaviour.
        freeze_numerics: Also write out the defaults of transformers that changed since 4.30.
        todo: Also leave a comment in the code at everything that is left for a person.
        accepted: The only edits to make: code, message and line of their findings; None for all (see
            `raymigrate.cli.interactive`).
        part_of_job: Whether the module belongs to a Ray training job although it may not import ray itself.
        part_of_loop: Whether a native loop that goes to accelerate imports it.
        shows_gpu: Whether the script ran on GPUs before a step that took the lines away which say so.
        launcher: What may have started the script in several processes, before a step that made it what it is now;
            "" for nothing.
        later: Whether it is asked what a run says after this one, which finds the other files converted.
        from_ray: The Ray that the code was written for, such as "2.6" or "2.7.1"; "" to look for it.
        guide: Also where it changes the training, write the short data form of Ray's guide.
        style: Form of the converted init function: "auto", "inline" or "adapter".
        helpers: Where classes and functions go that converted scripts need: "inline", or "module" for one that the
            scripts of a folder share.
        to_ray: Also move plain scripts, which train with Hugging Face libraries alone, to Ray Train.
        to_accelerate: Also move plain PyTorch training loops to accelerate.
        workers: How many workers train in what `to_ray` converts; None where the user does not say.
        gpu: Whether each of them has a GPU; None where the user does not say.
        submitted: The jobs that the notebook submits whose cell writes the script.
        cell_scripts: The scripts that cells of the notebook write.
        cell_settings: The files with settings that they write, by name, and what is in each; None where that is not
            known.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    unsafe: bool = False
    freeze_numerics: bool = False
    style: str = "auto"
    helpers: str = "inline"
    todo: bool = False
    accepted: frozenset[tuple[str, str, str]] | None = None
    part_of_job: bool = False
    part_of_loop: bool = False
    shows_gpu: bool = False
    launcher: str = ACCELERATE_LAUNCH
    later: bool = False
    from_ray: str = ""
    guide: bool = False
    to_ray: bool = False
    to_accelerate: bool = False
    workers: int | None = None
    gpu: bool | None = None
    submitted: tuple["SubmittedJob", ...] = ()
    cell_scripts: tuple["JobScript", ...] = ()
    cell_settings: tuple[tuple[str, str | None], ...] = ()

    def of_later_runs(self) -> "Options":
        """With which options a later run looks at the file: once a job is converted, its modules belong to none of
        ours, and nor do the scripts that cells write.
        """
        return replace(
            self,
            part_of_job=False,
            part_of_loop=False,
            shows_gpu=False,
            launcher=ACCELERATE_LAUNCH,
            cell_scripts=(),
            later=True,
        )

    def names(self, code: str) -> bool:
        """Whether the user selects a rule by its own code, and not among others."""
        return code in self.select and self.enabled(code)

    def enabled(self, code: str) -> bool:
        """Whether the user wants to hear of a rule."""
        return code.startswith(self.select or "RM") and not self.ignores(code)

    def ignores(self, code: str) -> bool:
        """Whether the user does not want a rule to be applied."""
        return bool(self.ignore) and code.startswith(self.ignore)


def nothing_found(*, to_ray: bool = False, to_accelerate: bool = False) -> str:
    """What is said where nothing is found; see `Options` for the arguments."""
    return "nothing to move, and nothing legacy found" if to_ray or to_accelerate else "nothing legacy found"

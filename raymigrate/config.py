"""What a user can choose."""

from dataclasses import dataclass


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
            `raymigrate.interactive`).
        part_of_job: Whether the module belongs to a Ray training job although it may not import ray itself.
        from_ray: The Ray that the code was written for, such as "2.6" or "2.7.1"; "" to look for it.
        guide: Also where it changes the training, write the short data form of Ray's guide.
        style: Form of the converted init function: "auto", "inline" or "adapter".
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    unsafe: bool = False
    freeze_numerics: bool = False
    style: str = "auto"
    todo: bool = False
    accepted: frozenset[tuple[str, str, str]] | None = None
    part_of_job: bool = False
    from_ray: str = ""
    guide: bool = False

    def enabled(self, code: str) -> bool:
        """Whether the user wants to hear of a rule."""
        return code.startswith(self.select or "RM") and not (self.ignore and code.startswith(self.ignore))

"""Why an arm did not run to its end: the error itself first, what is known of it, and where all of the log is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice, takewhile
from pathlib import Path

from raymigrate.knowledge.error_texts import RAY_PREFIX
from raymigrate.run.rules import rules_by_text
from raymigrate.runtime.verify.processes import log_lines, log_tail

FRAME = re.compile(r'\s+File "(?P<path>[^"]+)", line (?P<line>\d+), in (?P<function>.+)')
# The last line of a traceback: `KeyError: 'date'`, `ray.train.WorkerGroupError: ...`.
RAISED = re.compile(r"(?P<name>[A-Za-z_][\w.]*)(?:\(\w+\))?(?:: .*)?")
# What Ray raises on the driver, and torchrun and accelerate, because of an error elsewhere; its traceback comes before
# or in the text.
BECAUSE_OF_ANOTHER = {
    *("WorkerGroupError", "ControllerError", "TrainingFailedError", "TuneError", "RayTaskError"),
    *("ChildFailedError", "CalledProcessError"),
}
LOGGED = re.compile(r"[IWEF]\d{4} \d\d:\d\d:\d\d\.")  # how a line of torch's loggers begins
MOST_LINES = 12  # of an error's text
NEAR = 50  # lines in which a frame's code follows it, though other processes write between
STANDIN = "raymigrate_standin"
UNKNOWN_TO_STANDIN = "raymigrate's stand-in"


@dataclass(frozen=True)
class Raised:
    """An error, as a log shows it.

    Args:
        text: Class and message.
        frames: Where it was raised, the innermost last: path, line, function and code.
    """

    text: str
    frames: tuple[tuple[str, int, str, str], ...]

    @property
    def in_standin(self) -> bool:
        """Whether the stand-in raised it as the old trainer would have, and not because it lacks something."""
        if not self.frames or UNKNOWN_TO_STANDIN in self.text:
            return False
        path, _, _, code = self.frames[-1]
        return STANDIN in Path(path).parts and code.startswith("raise ")  # a call that fails is a fault of its own

    def place_in(self, folder: Path) -> str:
        """Where the job itself was then: the innermost line of its own code; empty if none is among the frames."""
        for path, line, function, code in reversed(self.frames):
            if Path(path).is_relative_to(folder):
                return f'  File "{Path(path).relative_to(folder)}", line {line}, in {function}\n    {code}'.rstrip()
        return ""


def last_error(log: Path) -> Raised | None:
    """The error that ended a run, or None if its log shows none."""
    lines = [_parted(line) for line in log_lines(log)]
    found = None
    frames: dict[str, list[tuple[str, int, str, str]]] = {}  # by process, as several write to one log
    for number, (process, line) in enumerate(lines):
        known = frames.setdefault(process, [])
        if frame := FRAME.fullmatch(line):
            after = next((text for other, text in lines[number + 1 : number + NEAR] if other == process), "")
            code = after.strip() if after[:1].isspace() and not FRAME.fullmatch(after) else ""
            known.append((frame["path"], int(frame["line"]), frame["function"], code))
        elif known and line and not line[0].isspace():
            raised = RAISED.fullmatch(line)
            if raised and raised["name"].rpartition(".")[2] not in BECAUSE_OF_ANOTHER:
                found = Raised(_message(lines[number : number + NEAR]), tuple(known))
            frames[process] = []
    return found


def _parted(line: str) -> tuple[str, str]:
    """The process that wrote a line, as Ray tells it, empty for the driver; and the line."""
    prefix = RAY_PREFIX.match(line)
    return (prefix[0], line[prefix.end() :]) if prefix else ("", line)


def _message(lines: list[tuple[str, str]]) -> str:
    """An error's text, which begins the lines and may go on below the first, as long as the same process writes."""
    process = lines[0][0]
    goes_on = takewhile(lambda part: part[0] == process and part[1].strip() and not _is_another(part[1]), lines)
    return "\n".join(text for _, text in islice(goes_on, MOST_LINES))


def _is_another(line: str) -> bool:
    return line.startswith("Traceback ") or LOGGED.match(line) is not None


def explained(log: Path, folder: Path, old_ray: str) -> str:
    """What a person needs to know of a run that failed.

    Args:
        log: Its output.
        folder: Where its script lay.
        old_ray: The Ray that the stand-in stood in for; empty if there was none.

    Returns:
        The error, the line of the job and the rules that know it; the end of the log if it shows no error.
    """
    raised = last_error(log)
    if raised is None:
        return f"The end of its log:\n\n{log_tail(log)}"
    parts = [raised.text + "\n" + raised.place_in(folder)]
    if old_ray and raised.in_standin:
        parts.insert(0, f"The original would have stopped here on Ray {old_ray} as well:")
    parts += [f"{rule.code}: {rule.title}. {rule.fix}" for rule in rules_by_text(raised.text)]
    return "\n\n".join(part.rstrip() for part in parts)

"""Whether two runs of a job are equal in all that can be seen of them, without the gates of verify.

What the recorder wrote, event by event, the bytes of every checkpoint and the lines that were printed are compared as
they are. What measures the machine or names a run is found by running one script twice: what differs then is no sign.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Seen = dict[str, list[Any]]  # what is seen of a run -> its values, in order
OF_WORKERS = re.compile(r"\x1b\[[0-9;]*m|^\([^)]*pid=[^)]*\) ")  # what Ray puts before the lines of a worker
OF_RAY = re.compile(r"\t(INFO|WARNING|ERROR) \w+\.py:\d+ -- |/ray/session_")  # its own log, with names made up
# Of a date, a process, a run, a name made up for one, or a speed, which may have no digits behind its point.
NUMBER = re.compile(r"\w*\d\w*(?:\.\d\w*)*(?:(?<=e)[-+]\d+)?")


def seen(folder: Path, *, last: bool = False) -> Seen:
    """All that can be seen of a run; of one in which a worker was killed not the log, which is full of that.

    Args:
        folder: The run's; it holds the trace, the log and, as "storage", the results.
        last: Whether a worker's last attempt alone counts, as where one was killed at a moment of chance.
    """
    found: Seen = {}
    for event in _events(folder / "trace", last=last):
        for path, value in _leaves(event):
            found.setdefault(f"{event['kind']} of {event['rank']}: {path}", []).append(value)
    for file in sorted((folder / "storage").rglob("*")):
        if file.is_file() and "checkpoint" in str(file.relative_to(folder)):
            _add_file(found, file, NUMBER.sub("#", str(file.relative_to(folder / "storage"))))
    for line in () if last else _printed(folder):
        found[f"printed: {line}"] = []
    return {name: sorted(map(str, values)) if name.startswith("file ") else values for name, values in found.items()}


def unlike(left: Seen, right: Seen) -> list[str]:
    """What is not the same in two runs, by name."""
    return sorted(name for name in left.keys() | right.keys() if left.get(name) != right.get(name))


def _printed(folder: Path) -> Iterator[str]:
    """The lines of the log, without numbers; what Ray says is not the script's."""
    for line in (folder / "log.txt").read_text(encoding="utf-8", errors="replace").splitlines():
        if str(folder) not in line and not OF_RAY.search(line):
            yield NUMBER.sub("#", OF_WORKERS.sub("", OF_WORKERS.sub("", line)))


def _events(trace: Path, *, last: bool) -> Iterator[dict[str, Any]]:
    """The events of all processes, each process after the other in the order in which they began."""
    processes = []
    for path in trace.glob("events-*.jsonl"):
        events = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.endswith("}")]
        processes += [events] if events else []
    processes.sort(key=lambda events: events[0]["time"])
    if last:
        latest = {events[0]["rank"]: events for events in processes}
        processes = [events for events in processes if events[0]["rank"] is None or latest[events[0]["rank"]] is events]
    for events in processes:
        yield from events


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(item, f"{path}.{key}")
    elif isinstance(value, list):
        yield path, len(value)
        for item in value:
            yield from _leaves(item, path)
    else:
        yield path, value


def _add_file(found: Seen, file: Path, name: str) -> None:
    """Of JSON the values, of anything else a hash."""
    if file.suffix == ".json":
        try:
            leaves = list(_leaves(json.loads(file.read_text(encoding="utf-8"))))
        except ValueError:
            leaves = [("", "not JSON")]
        for path, value in leaves:
            found.setdefault(f"file {name}: {path}", []).append(value)
    else:
        found.setdefault(f"file {name}", []).append(hashlib.sha256(file.read_bytes()).hexdigest())

"""RM9xx: what there is to say of a document itself: cells and code blocks that cannot be read, or that were left."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from raymigrate.base.expressions import lazy_regex
from raymigrate.base.findings import Finding, Kind, Rule
from raymigrate.documents.install_commands import install_commands
from raymigrate.documents.lines import Places
from raymigrate.knowledge.error_texts import gone_names
from raymigrate.knowledge.versions import keeps_out

if TYPE_CHECKING:
    from raymigrate.knowledge.versions import Pin

CELL_MAGICS = "https://ipython.readthedocs.io/en/stable/interactive/magics.html#cell-magics"

RM901 = Rule(
    "RM901",
    "a file that is not Python as it stands",
    "The file cannot be parsed by the Python that runs raymigrate.",
    "Correct the file, or exclude it with --exclude.",
    "https://docs.python.org/3/reference/",
)
RM904 = Rule(
    "RM904",
    "a cell that is not Python",
    "Python's parser does not accept the cell. It does not mention Ray, so it was left, and the others converted.",
    "Nothing, unless it was meant to be Python.",
    "https://docs.python.org/3/reference/",
)
RM905 = Rule(
    "RM905",
    "legacy code in a cell of another kind, or in a file of settings",
    "What stands below a cell magic such as %%bash is not read, nor what %%writefile adds to a file (-a) or writes to"
    " one that is not called .py, and a script that cannot be converted is left alone: the code in it stays as it is."
    " So does a script in a YAML file, such as a ConfigMap of Kubernetes.",
    "Write the file by hand and run raymigrate on it, or remove the magic.",
    CELL_MAGICS,
)
RM907 = Rule(
    "RM907",
    "a code block of a page that was left",
    "The page shows old and new code side by side, or the block cannot be parsed, or is written in HTML.",
    "Change it by hand if it should not show the legacy form.",
    "https://docs.ray.io/en/latest/train/getting-started-transformers.html#transformerstrainer-migration-guide",
)
RM731 = Rule(
    "RM731",
    "a pinned version that the converted code does not run on",
    "With the pinned version installed the converted code fails: it uses names and arguments that came later. Beside"
    " the libraries of the converted code an older version of what they require cannot be installed, or imported.",
    "--unsafe raises the range to the lowest version that the converted code needs, or that goes with its libraries."
    " Lock files, hashes, addresses, images, and versions given to functions of the project are for a person.",
    "https://docs.ray.io/en/latest/ray-core/handling-dependencies.html",
    errors=(
        "Pydantic v1 is no longer supported in Ray",
        "Dataset requires pyarrow >=",
        *gone_names("torch.distributed.elastic.agent.server.api", "log", "_get_socket_with_port"),
        "module 'huggingface_hub.hf_api' has no attribute 'HfFolder'",
        "'DownloadConfig' object has no attribute 'use_auth_token'",
    ),
    unproven="Ray would have pip install the pinned versions into the job's environment, gigabytes for each run. By"
    " hand, on Ray 2.6.3: converted scripts end with ImportError: cannot import name 'ScalingConfig' from 'ray.train'.",
)
RULES = (RM904, RM905, RM907)

LEGACY_CODE = lazy_regex(
    r"^\s*(?:from|import)\s+ray\.(?:air|train\.huggingface|ml)\b|\b(?:HuggingFace|Transformers|Accelerate)Trainer\("
    r"|^\s*from ray import air\b",
    re.MULTILINE,
)
PROSE = {"md", "markdown", "html"}
ON_SPARK = "setup_ray_cluster"
TODAYS_CLUSTER = "2.10"  # from it on it takes max_worker_nodes= (util/spark/cluster_init.py of 2.9.3 and 2.10.0)
USES_TRAIN = lazy_regex(r"\bray\.(?:train|air|ml)\b|\bfrom ray import .*\b(?:train|air)\b")


class Place(NamedTuple):
    """A place as a reader of the file counts: the cell from 1 (0 where a file has none), line, column."""

    cell: int
    line: int
    column: int


def uses_train(text: str) -> bool:
    """Whether a module uses Ray Train or AIR; only then does it matter what else its document holds."""
    return bool(USES_TRAIN.search(text))


def concerns(pin: Pin, *texts: str, for_ray: bool) -> bool:
    """Whether an old version matters to the code of a document.

    Args:
        pin: The version.
        texts: The code of the document, and that of scripts which it writes.
        for_ray: Whether the document uses Ray Train; else a cluster on Spark alone may need a newer Ray.
    """
    if for_ray:
        return pin.matters_to(texts)
    if pin.name != "ray" or not any(ON_SPARK in text for text in texts):
        return False

    return keeps_out(pin.versions, TODAYS_CLUSTER)


def remark(rule: Rule, kind: Kind, message: str, place: Place) -> Finding:
    """A finding at a place of a document."""
    advice = "" if kind is Kind.NOTE else rule.fix
    return Finding(rule.code, kind, message, advice, place.line, place.column, cell=place.cell)


def not_parsed(reason: str, place: Place, *, concerns: bool) -> Finding:
    """Says of a cell that it cannot be parsed: an error if it mentions Ray, else a note."""
    cell = f"cell {place.cell}" if place.cell else "the cell"
    if concerns:
        message = f"{cell} cannot be parsed ({reason}), and it mentions Ray: nothing was converted."
        advice = "Correct the cell, or take it out, and run raymigrate again."
        return Finding(RM901.code, Kind.ERROR, message, advice, place.line, place.column, cell=place.cell)
    return remark(RM904, Kind.NOTE, f"{cell} is not Python ({reason}) and was left as it is.", place)


def other_language(magic: str, body: Sequence[str], place: Place) -> Iterator[Finding]:
    """Says of a cell of another kind that it holds legacy code; prose may well refer to it."""
    if magic.lstrip("%") not in PROSE and LEGACY_CODE.search("\n".join(body)):
        yield remark(RM905, Kind.MANUAL, f"The legacy code below {magic} is not read, and stays as it is.", place)


def shell_text(lines: Sequence[str]) -> str:
    """Lines as one text in which the commands of a Databricks source are not comments, with every place as it is."""
    return "\n".join(line.replace("# MAGIC ", " " * len("# MAGIC "), 1) for line in lines)


def old_pins(lines: Sequence[str]) -> Iterator[tuple[int, Pin]]:
    """The versions that lines install and that converted code does not run on, each with the index of its line.

    A command may go on after a backslash.
    """
    text = shell_text(lines)
    if "install" not in text:
        return

    places = Places(text)
    for pin in install_commands(text):
        if pin.is_too_low:
            line, column = places.place(pin.start)
            start = pin.start - column + 1
            first, last = pin.place
            yield line - 1, replace(pin, start=pin.start - start, place=(first - start, last - start))


def pin_remark(pin: Pin, place: Place, *, changes: bool = False) -> Finding:
    """Says what comes of such a version.

    Args:
        pin: The version.
        place: The start of its line.
        changes: Whether it is changed; else --unsafe changes it, unless it has an obstacle.
    """
    kind, advice = Kind.UNSAFE, "Run with --unsafe --select RM731 to change it; then reinstall and verify the job."
    if not pin.replaceable:
        kind, advice = Kind.MANUAL, pin.obstacle or RM731.fix
    elif changes:
        kind, advice = Kind.CONVERTED, ""
    column = place.column + pin.start
    return Finding(RM731.code, kind, pin.message, advice, place.line, column, cell=place.cell)


def commented_pin_remark(pin: Pin, place: Place) -> Finding:
    """Says what comes of such a version in a command that is a comment, which nobody changes but a person."""
    message = f"{pin.message} The command is a comment: change it before you uncomment it."
    return Finding(RM731.code, Kind.NOTE, message, "", place.line, place.column + pin.start, cell=place.cell)

"""The gates that keep files without legacy code from being read any further, the cheapest first."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from raymigrate.base.options import Options

# Our own comments: one may refer to something that is gone.
COMMENTS = (b"raymigrate:", b"(raymigrate)")
# Every way to import ray holds one of these; files without any are never read further (see tests/test_gates.py).
NEEDLES = (b"import ray", b"from ray", b"ray.train", b"ray.air", *COMMENTS)


# What plain scripts import: looked for only if the user asks for their conversion.
PLAIN_TO_RAY = (b"transformers", b"accelerate", b"from trl", b"import trl")
PLAIN_TO_ACCELERATE = (b"import torch", b"from torch")


def needles(*, to_ray: bool = False, to_accelerate: bool = False) -> tuple[bytes, ...]:
    """What a file has to hold to be read any further; see `Options` for the arguments."""
    return (*NEEDLES, *(PLAIN_TO_RAY if to_ray else ()), *(PLAIN_TO_ACCELERATE if to_accelerate else ()))


def concerns(data: bytes, path: str = "", options: Options | None = None) -> bool:
    """Whether the bytes of a file that holds a needle hold a word that some codemod looks for, or a comment of ours."""
    from raymigrate.codemods import word_pattern  # noqa: PLC0415 - most runs never get here

    if path.endswith(".ipynb"):
        data = data.replace(b"\\n", b" \n")  # in JSON the first word of a line may follow the letter n
    return word_pattern(options).search(data) is not None or any(comment in data for comment in COMMENTS)

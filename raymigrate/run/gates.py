"""The second gate: a file that holds a needle concerns no rule unless it holds one of its words too."""

from raymigrate.base.options import Options
from raymigrate.codemods import concerns_codemods
from raymigrate.files.needles import COMMENTS, PINS
from raymigrate.pins.files import reader_by_path


def concerns(data: bytes, path: str = "", options: Options | None = None) -> bool:
    """Whether the bytes of a file that holds a needle hold a word that some codemod looks for, or a comment of ours."""
    if options is not None and options.names(PINS):
        return (
            reader_by_path(path) is None
        )  # what a notebook installs stands in no Python; lists have a way of their own
    if path.endswith(".ipynb"):
        data = data.replace(b"\\n", b" \n")  # in JSON the first word of a line may follow the letter n
    return concerns_codemods(data, options) or any(comment in data for comment in COMMENTS)

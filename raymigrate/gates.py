"""The gates that keep files without legacy code from being read any further, the cheapest first."""

# Our own comments: one may refer to something that is gone.
COMMENTS = (b"raymigrate:", b"(raymigrate)")
# Every way to import ray holds one of these; files without any are never read further (see tests/test_gates.py).
NEEDLES = (b"import ray", b"from ray", b"ray.train", b"ray.air", *COMMENTS)


def concerns(data: bytes, path: str = "") -> bool:
    """Whether the bytes of a file that imports ray hold a word that some codemod looks for, or a comment of ours."""
    from raymigrate.codemods import word_pattern  # noqa: PLC0415 - most runs never get here

    if path.endswith(".ipynb"):
        data = data.replace(b"\\n", b" \n")  # in JSON the first word of a line may follow the letter n
    return word_pattern().search(data) is not None or any(comment in data for comment in COMMENTS)

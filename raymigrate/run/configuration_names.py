"""RM695 in YAML: settings from which a job makes its objects by name, as Hydra does."""

import re
from collections.abc import Iterable

from raymigrate.base.findings import Finding, Kind
from raymigrate.base.options import Options
from raymigrate.codemods.gone.names_in_strings import LEGACY, RM695, advice, message
from raymigrate.comments.skips import comment_at, skipped_whole
from raymigrate.documents import Plain
from raymigrate.documents.lines import Places
from raymigrate.pins.files import decode
from raymigrate.run.outcome import FileResult

COMMENT = re.compile(r"(?:^|[ \t])#[^\n]*", re.MULTILINE)
NAME = re.compile(rf"(?<![\w./-])(?:{LEGACY.pattern})(?![\w/-])")


def legacy_names(path: str, data: bytes, options: Options) -> FileResult:
    """Reports the names of legacy Ray in a YAML file, comments left out; nothing in it is changed.

    Args:
        path: The file.
        data: Its bytes.
        options: What the user asked for.
    """
    script = decode(data)
    bare = COMMENT.sub(lambda found: " " * len(found[0]), script.text)
    places = Places(bare)
    found = [
        Finding(RM695.code, Kind.MANUAL, message(name[0]), advice(name[0]), *places.place(name.start()), path)
        for name in NAME.finditer(bare)
    ]
    return FileResult(path, heeded(found, script.text, options), script.text, document=Plain(script))


def heeded(findings: Iterable[Finding], text: str, options: Options) -> list[Finding]:
    """The findings in a settings file that the user wants, with those marked that a comment there silences."""
    lines, found = text.split("\n"), list[Finding]()
    for finding in findings:
        skip = comment_at(lines, finding.line, finding.code) or skipped_whole(text, finding.code)
        if options.enabled(finding.code):
            found.append(finding if skip is None else finding.skipped(skip.reason))
    return found

"""RM695 in YAML: settings from which a job makes its objects by name, as Hydra does."""

import re

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
    findings = []
    if options.enabled(RM695.code):
        lines, whole = script.text.split("\n"), skipped_whole(script.text, RM695.code)
        bare = COMMENT.sub(lambda found: " " * len(found[0]), script.text)
        places = Places(bare)
        for found in NAME.finditer(bare):
            line, column = places.place(found.start())
            name = found[0]
            finding = Finding(RM695.code, Kind.MANUAL, message(name), advice(name), line, column, path)
            skip = comment_at(lines, line, RM695.code) or whole
            findings.append(finding if skip is None else finding.skipped(skip.reason))
    return FileResult(path, findings, script.text, document=Plain(script))

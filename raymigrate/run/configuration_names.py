"""RM695, RM401 and RM402 in YAML: settings from which a job makes its objects by name, as Hydra does."""

import re
from collections.abc import Iterable, Iterator

from raymigrate.base.findings import Finding, Kind
from raymigrate.base.options import Options
from raymigrate.codemods.gone.names_in_strings import LEGACY, RM695
from raymigrate.codemods.gone.names_in_strings import advice as advice_of
from raymigrate.codemods.gone.names_in_strings import message as message_of
from raymigrate.codemods.torch_trainer.storage import RM401, RM402
from raymigrate.codemods.torch_trainer.train_v2_arguments import REFUSED, STOP, STORAGE_ADVICE
from raymigrate.comments.skips import comment_at, skipped_whole
from raymigrate.documents import Plain
from raymigrate.documents.lines import Places
from raymigrate.facts.settings import TARGET, mappings
from raymigrate.facts.tuners import config_names
from raymigrate.pins.files import decode
from raymigrate.run.outcome import FileResult

COMMENT = re.compile(r"(?:^|[ \t])#[^\n]*", re.MULTILINE)
CONFIGURATIONS = {path: name for name in REFUSED for path in config_names(name)}
STORES = {"local_dir": (RM402, STORAGE_ADVICE), "sync_config": (RM402, STORAGE_ADVICE)}
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
        Finding(RM695.code, Kind.MANUAL, message_of(name[0]), advice_of(name[0]), *places.place(name.start()), path)
        for name in NAME.finditer(bare)
    ]
    found += _refused(script.text, path)
    return FileResult(path, heeded(found, script.text, options), script.text, document=Plain(script))


def _refused(text: str, path: str) -> Iterator[Finding]:
    """What the configuration that is named by `_target_` refuses among the keys beside it."""
    for keys in mappings(text) if TARGET in text else ():
        named = next((key.value for key in keys if key.name == TARGET), None)
        configuration = CONFIGURATIONS.get(named or "")
        if configuration is None:
            continue
        for key in keys:
            if key.name in REFUSED[configuration]:
                rule, advice = STORES.get(key.name, (RM401, STOP if key.name == "stop" else "Take it out."))
                message = f"{configuration}({key.name}=) raises on Ray >= 2.51."
                yield Finding(rule.code, Kind.MANUAL, message, advice, key.line, key.column, path)


def heeded(findings: Iterable[Finding], text: str, options: Options) -> list[Finding]:
    """The findings in a settings file that the user wants, with those marked that a comment there silences."""
    lines, found = text.split("\n"), list[Finding]()
    for finding in findings:
        skip = comment_at(lines, finding.line, finding.code) or skipped_whole(text, finding.code)
        if options.enabled(finding.code):
            found.append(finding if skip is None else finding.skipped(skip.reason))
    return found

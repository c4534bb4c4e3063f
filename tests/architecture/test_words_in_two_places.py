"""Words that one part of the tool writes and another one reads: changed in one place, they are found no more."""

import ast
import re
from pathlib import Path

import raymigrate
from raymigrate.pins.evidence import CONVERTED

PACKAGE = Path(raymigrate.__file__).parent
RECORDER = PACKAGE / "runtime/inject/raymigrate_recorder"
TRACE = PACKAGE / "runtime/verify/trace.py"
# The last event of a process, for a person who looks at its trace.
NOT_READ = {"killed", "stopped"}


def test_comments_by_which_converted_code_is_known_are_written() -> None:
    written = "\n".join(path.read_text("utf-8") for path in (PACKAGE / "codemods/shared").glob("*.py"))
    phrases = CONVERTED.pattern.decode().split("|")
    assert len(phrases) > 1
    assert [phrase for phrase in phrases if phrase not in written] == []


def test_events_of_the_recorder_are_those_that_verify_reads() -> None:
    recorder = "\n".join(path.read_text("utf-8") for path in RECORDER.glob("*.py"))
    emitted = set(re.findall(r'\bemit\)?\(\s*"([^"]+)"', recorder))
    nodes = [*ast.walk(ast.parse(TRACE.read_text("utf-8")))]
    compared = {
        node.comparators[0].value
        for node in nodes
        if isinstance(node, ast.Compare) and ast.unparse(node.left) in ("kind", "event['kind']")
        if isinstance(node.comparators[0], ast.Constant)
    }
    (listed,) = (
        ast.literal_eval(node.value)
        for node in nodes
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "kinds"
    )
    assert compared | set(listed) | NOT_READ == emitted

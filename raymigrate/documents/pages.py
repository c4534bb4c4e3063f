"""Markdown and reStructuredText pages: their Python code blocks, as the cells of one module.

Fences: https://spec.commonmark.org/0.31.2/#fenced-code-blocks; directives:
https://www.sphinx-doc.org/en/master/usage/restructuredtext/directives.html#directive-code-block. Doctests, literal
blocks without a language and differences are left alone.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from html import unescape
from itertools import takewhile

from raymigrate.base.expressions import lazy_regex
from raymigrate.base.findings import Finding, Kind
from raymigrate.documents.lines import Places, split_lines
from raymigrate.documents.regions import Head, Regions
from raymigrate.documents.remarks import RM907, Place, concerns, old_pins, pin_remark, remark, uses_train
from raymigrate.files.script import Script
from raymigrate.knowledge.versions import Pin

FENCE = lazy_regex(r"([ \t>]*)(`{3,}|~{3,})[ \t]*(.*?)[ \t]*$")
LANGUAGE = lazy_regex(r"\{?\.?(?:python3?|py|ipython3?|code-cell|testcode|code-block)\b(?:\}[ \t]*(?:i?python3?|py)?)?")
DIRECTIVE = lazy_regex(
    r"([ \t]*)\.\.[ \t]+(?:(?:code-block|code|sourcecode)::[ \t]*(?:i?python3?|py)|testcode::.*)[ \t]*$"
)
SHELLS = r"(?:bash|sh|shell|zsh|console|terminal|shell-session)"
SHELL = lazy_regex(rf"(?:\{{?\.?{SHELLS}\b|\{{code-block\}}[ \t]*{SHELLS}\b|$)")  # what is not named may be one
SHELL_DIRECTIVE = lazy_regex(rf"([ \t]*)\.\.[ \t]+(?:code-block|code|sourcecode)::[ \t]*{SHELLS}[ \t]*$")
OPTION = lazy_regex(r"([ \t]*):[\w-]+:")
IS_DIRECTIVE = lazy_regex(r"[ \t]*\.\.[ \t]|[ \t>]*[`~]{3,}[ \t]*\{\w")  # of reStructuredText, or of MyST
HEADING = lazy_regex(r"#{1,6}[ \t]|.*\n[ \t]*([=~^\"'*+#.-])\1{2,}[ \t]*$")
LEGACY_TRAINER = lazy_regex(r"\b(?:HuggingFace|Transformers|Accelerate)Trainer\b")
NEW_TRAINER = lazy_regex(r"\bTorchTrainer\(")
# Words of legacy code. A page shortens what it shows, `TorchTrainer(train, scaling_config=..., ...)`, which Python's
# parser does not take: of such a block only its words can be seen.
LEGACY_WORDS = lazy_regex(
    r"\b(?:HuggingFace|Transformers|Accelerate)(?:Trainer|Checkpoint|Predictor)\b|\bBatch(?:Mapper|Predictor)\b"
    r"|\bray\.(?:air|ml)\b|\bimport air\b|\bair\.|\bsession\b|\.to_dict\(|\.from_dict\(|\.restore\(|\bTuner\("
    r"|\b(?:trainer_init_\w+|accelerate_config|preprocessor|resume_from_checkpoint|trainer_resources|local_dir|sync_config"
    r"|verbose|stop|progress_reporter|log_to_file|fail_fast|checkpoint_frequency|checkpoint_at_end)="
    r"|\b(?:evaluation_strategy|no_cuda|tokenizer|use_auth_token)=|\bload_metric\b"
)
# Of these those that nobody else uses: a block with none of the page's names from Ray may well be about something else.
SURELY_LEGACY = lazy_regex(
    r"\b(?:HuggingFace|Transformers|Accelerate)(?:Trainer|Checkpoint|Predictor)\b|\bBatch(?:Mapper|Predictor)\b"
    r"|\bray\.(?:air|ml)\b|\b(?:evaluation_strategy|no_cuda|use_auth_token)=|\bload_metric\b"
)
# Python in HTML, as in `.. raw:: html`: its characters are escaped, so it is not converted. Where nothing names the
# language (`<div class="highlight-python"><pre>`), an import in it does, but in a traceback.
TAG = lazy_regex(r"<(?P<end>/?)(?P<name>pre|code)\b(?P<attributes>[^<>]{0,1000})>", re.IGNORECASE)
OF_PYTHON = lazy_regex(r"\b(?:class|lang)=[\"']?[^\"']*\b(?:lang(?:uage)?-)?(?:python3?|py)\b", re.IGNORECASE)
IMPORT = lazy_regex(r"^(?:>>>)?[ \t]*(?:from[ \t]+[\w.]+[ \t]+)?import[ \t]+\w", re.MULTILINE)
OF_HTML = "Copy the code into a file, run raymigrate on that, and write the result here, unless the old form is meant."
# Words over a block that shows the legacy form on purpose.
ON_PURPOSE = lazy_regex(
    r"\b(?:old|before|legacy|deprecated|previous(?:ly)?|migrat\w+|instead of|no longer|removed|used to)\b"
    r"|\bRay (?:<|2\.\d\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Block:
    """A code block of a page: its lines, as indices, what comes before each, what opens it, and the prose over it."""

    start: int
    stop: int
    indent: int
    head: Head
    code: str
    prose: str


def page(script: Script, filename: str, *, for_ray: bool = False) -> Regions:
    """The Python code blocks of a page, less those that show the legacy form on purpose, and what its commands install.

    Args:
        script: The text of the page.
        filename: Its name.
        for_ray: See `Document.for_ray`.
    """
    lines = [line.text for line in split_lines(script.text)]
    is_rst = filename.lower().endswith(".rst")
    found = _directives(lines, DIRECTIVE) if is_rst else _fences(lines, LANGUAGE)
    blocks = _blocks(lines, found)
    shows_new = any(NEW_TRAINER.search(block.code) and not LEGACY_TRAINER.search(block.code) for block in blocks)
    left = [b for b in blocks if LEGACY_TRAINER.search(b.code) and (shows_new or ON_PURPOSE.search(b.prose))]
    starts = {block.start for block in left}
    read = [block for block in blocks if block.start not in starts]
    document = Regions(script, [(block.start, block.stop, block.indent) for block in read])
    document.heads = {index: block.head for index, block in enumerate(read)}
    document.remarks = [told for finding in document.remarks if (told := _unreadable(finding, blocks))]
    document.remarks += _in_html(script.text)
    for block in left:
        message = "The page shows old and new code side by side, so this block was left."
        document.remarks.append(remark(RM907, Kind.NOTE, message, Place(0, block.start + 1, block.indent + 1)))
    document.for_ray = for_ray or (not left and uses_train(document.text))
    if document.for_ray:
        shell = list(_directives(lines, SHELL_DIRECTIVE) if is_rst else _fences(lines, SHELL))
        document.shell_rows = frozenset(index for start, stop, _, _ in shell for index in range(start, stop))
        document.pins = list(_pins(lines, document.shell_rows, document.text))
        document.remarks += [pin_remark(pin, place) for place, pin in document.pins]
    return document


def _pins(lines: list[str], read: Collection[int], code: str) -> Iterator[tuple[Place, Pin]]:
    """The old versions that shell commands of a page install.

    Args:
        read: The indices of its lines in blocks of shell commands.
    """
    for index, pin in old_pins([line if index in read else "" for index, line in enumerate(lines)]):
        if concerns(pin, code, for_ray=True):
            yield Place(0, index + 1, 1), pin


def _in_html(text: str) -> Iterator[Finding]:
    """Says of each block of Python in HTML, which is not read, that it holds legacy code."""
    tags, places = list(TAG.finditer(text)), Places(text)
    named = list(_between(tags, lambda tag: OF_PYTHON.search(tag["attributes"]) is not None))
    starts = [start.start() for start, _ in named]
    blocks = [(start.start(), start.end(), end.start(), True) for start, end in named]
    for start, end in _between(tags, lambda tag: tag["name"].lower() == "pre"):
        if bisect_left(starts, start.start()) == bisect_left(starts, end.start()):  # none of the named is in it
            blocks.append((start.start(), start.end(), end.start(), False))
    for place, begin, stop, is_named in sorted(blocks):
        code = unescape(re.sub(r"<[^<>]*>", "", text[begin:stop]))  # without what colours it
        if not is_named and ("Traceback" in code or not IMPORT.search(code)):
            continue
        own = {*re.findall(r"\bclass\s+(\w+)", code)}
        found = (name for match in SURELY_LEGACY.finditer(code) if (name := match[0].strip(".(=")) not in own)
        if (first := next(found, None)) is not None:
            line, column = places.place(place)
            message = f"Code in HTML is not read and stays as it is; this block mentions {first}."
            yield replace(remark(RM907, Kind.MANUAL, message, Place(0, line, column)), advice=OF_HTML)


def _between(
    tags: list[re.Match[str]], opens: Callable[[re.Match[str]], bool]
) -> Iterator[tuple[re.Match[str], re.Match[str]]]:
    """Tags that open a block, each with the next one that closes it; a block in a block is part of it."""
    last = {tag["name"].lower(): tag.start() for tag in tags if _closes(tag)}
    opened = None
    for tag in tags:
        name = tag["name"].lower()
        if opened is None and not tag["end"] and tag.start() < last.get(name, 0) and opens(tag):
            opened = tag
        elif opened is not None and _closes(tag) and name == opened["name"].lower():
            yield opened, tag
            opened = None


def _closes(tag: re.Match[str]) -> bool:
    return bool(tag["end"]) and not tag["attributes"].strip()


def _unreadable(finding: Finding, blocks: Iterable[Block]) -> Finding | None:
    """What to say of a block that cannot be parsed and is left while others are converted: a page is not a program.

    Nothing where it shows no legacy name: much of what pages show is no whole Python.
    """
    code = next((block.code for block in blocks if block.start < finding.line <= block.stop), "")
    words = LEGACY_WORDS if finding.kind is Kind.ERROR else SURELY_LEGACY
    found = words.search(code)
    if found is None:
        return None
    message = f"This code block cannot be parsed, and it mentions {found[0].strip('.(=')}: it was left."
    return replace(finding, code=RM907.code, kind=Kind.MANUAL, message=message, advice=RM907.fix)


def _blocks(lines: list[str], places: Iterable[tuple[int, int, int, int]]) -> list[Block]:
    """Blocks, from their first line, the line after the last, their indentation, and the line that opens them."""
    blocks: list[Block] = []
    heading, seen = "", 0
    for start, stop, indent, head in places:
        heading = next((line for line in reversed(lines[seen:head]) if HEADING.match(line)), heading)
        seen = head
        code = "\n".join(line[indent:] for line in lines[start:stop])
        opening = Head(head, skips_blank=bool(IS_DIRECTIVE.match(lines[head])))
        blocks.append(Block(start, stop, indent, opening, code, "\n".join([heading, *_paragraph(lines, head)])))
    return blocks


def _paragraph(lines: list[str], head: int) -> list[str]:
    """Lines of the paragraph right over a block, from the last one upwards."""
    end = head
    while end and not lines[end - 1].strip():
        end -= 1
    return list(takewhile(str.strip, reversed(lines[max(0, end - 4) : end])))


def _fences(lines: list[str], language: re.Pattern[str]) -> Iterator[tuple[int, int, int, int]]:
    """Fenced blocks of a language: first line, line after the last, indentation, line of the fence."""
    index = 0
    while index < len(lines):
        fence = FENCE.match(lines[index])
        head = index
        index += 1
        if fence is None:
            continue
        closing = re.compile(rf"[ \t>]*{fence[2][0]}{{{len(fence[2])},}}[ \t]*$")
        while index < len(lines) and not closing.match(lines[index]):
            index += 1
        if language.match(fence[3]) and index < len(lines):
            yield from _without_options(lines, head + 1, index, len(fence[1]), head)
        index += 1


def _directives(lines: list[str], opening: re.Pattern[str]) -> Iterator[tuple[int, int, int, int]]:
    """Blocks of code directives of a language: first line, line after the last, indentation, line of the directive."""
    for head, line in enumerate(lines):
        directive = opening.match(line)
        if directive is None:
            continue
        stop = head + 1
        while stop < len(lines) and (not lines[stop].strip() or _indent(lines[stop]) > len(directive[1])):
            stop += 1
        content = [line for line in lines[head + 1 : stop] if line.strip()]
        if content:
            indent = min(_indent(line) for line in content)
            while not lines[stop - 1].strip():
                stop -= 1
            yield from _without_options(lines, head + 1, stop, indent, head)


def _without_options(
    lines: list[str], start: int, stop: int, indent: int, head: int
) -> Iterator[tuple[int, int, int, int]]:
    """A block less the options of its directive; none if its lines do not share the indentation."""
    start = _after_options(lines, start, stop)
    if len({line[:indent] for line in lines[start:stop] if line.strip()}) <= 1:
        yield start, stop, indent, head


def _after_options(lines: list[str], start: int, stop: int) -> int:
    """The line after options, `:name: value` or, in MyST, YAML between dashes; a value may go on further indented."""
    if start < stop and lines[start].strip() == "---":
        return next((line + 1 for line in range(start + 1, stop) if lines[line].strip() == "---"), start)
    while start < stop and (option := OPTION.match(lines[start])):
        start += 1
        while start < stop and lines[start].strip() and _indent(lines[start]) > len(option[1]):
            start += 1
    return start


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())

"""Programs that a script starts, and that download or unpack into the working directory: wget, curl, git, unzip."""

import ast
import re
import shlex
from collections.abc import Iterator

from raymigrate.base.expressions import lazy_regex
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import argument, keyword_argument, leading_text

# What starts programs, and the argument that is the command.
STARTERS = frozenset(
    {
        *("os.system", "os.popen", "subprocess.run", "subprocess.call", "subprocess.check_call"),
        *("subprocess.check_output", "subprocess.Popen", "subprocess.getoutput", "subprocess.getstatusoutput"),
    }
)
COMMAND = ("args", "command", "cmd")
# Programs, with the options that name where they write, and whether the last of several words does so without one.
PROGRAMS = {
    "wget": (("-P", "-O", "--directory-prefix", "--output-document"), False),
    "curl": (("-o", "--output", "--output-dir"), False),
    "gdown": (("-O", "--output"), False),
    "unzip": (("-d",), False),
    "tar": (("-C", "--directory"), False),
    "git": ((), True),
    "aws": ((), True),
    "gsutil": ((), True),
}
# How the words begin without which they write no file.
SAVES = {
    "curl": lazy_regex(r"-[a-zA-Z]*[oO]|--output|--remote-name"),
    "git": lazy_regex(r"clone$"),
    "aws": lazy_regex(r"s3$"),
    "gsutil": lazy_regex(r"(?:cp|rsync)$"),
}
UNPACKS = lazy_regex(r"--extract\b|--get\b|^-?[a-zA-Z]*x")  # of tar
ELSEWHERE = ("/", "~", "$", "-")  # the last one is the standard output
ADDRESS = lazy_regex(r"[\w+.-]+://|\w+@[\w.]+:")
OPEN = "\0"  # in place of what is decided at run time


def shell_downloads(module: Module) -> Iterator[tuple[ast.Call, str]]:
    """The calls that start such a program in the working directory, each with the program, in source order."""
    for call in module.calls(*STARTERS):
        if keyword_argument(call, "cwd") is not None:
            continue
        for words in _commands(module, argument(call, 0, *COMMAND)):
            if words and (program := words[0].rpartition("/")[2]) in PROGRAMS and _is_here(program, words[1:]):
                yield call, program
                break


def _commands(module: Module, command: ast.expr | None) -> Iterator[list[str]]:
    """The commands of a line for a shell, or the one of a list of words, as far as they can be seen."""
    if command is None:
        return
    listed = module.value(command)
    if isinstance(listed, (ast.List, ast.Tuple)):
        values = [module.constant(word) for word in listed.elts]
        yield [value if isinstance(value, str) else OPEN for value in values]
        return
    text = module.constant(command)
    line = text if isinstance(text, str) else f"{leading_text(module, command)}{OPEN}"
    try:
        words = shlex.split(re.sub(r"(&&|\|\||[;|\n])", r" \1 ", line))
    except ValueError:  # a quote that the part which is seen leaves open
        words = line.split()
    found: list[str] = []
    for word in [*words, ";"]:
        if word not in ("&&", "||", ";", "|"):
            found.append(word)
        elif found[:1] == ["cd"]:
            return  # where that leads is not followed
        else:
            yield found
            found = []


def _is_here(program: str, words: list[str]) -> bool:
    """Whether a program writes to the working directory, or below it."""
    options, by_place = PROGRAMS[program]
    if program in SAVES and not any(SAVES[program].match(word) for word in words):
        return False
    if program == "tar" and not any(UNPACKS.search(word) for word in words[:1]):
        return False
    target = _target(options, words)
    if target is None and by_place:
        named = [word for word in words if not word.startswith("-") and not ADDRESS.match(word)]
        target = named[-1] if len(named) > 1 else ""
    return target is None or not (target.startswith(ELSEWHERE) or OPEN in target)


def _target(options: tuple[str, ...], words: list[str]) -> str | None:
    """What the first of some options is given, `-d data`, `-ddata` or `--directory=data`; None where there is none."""
    for number, word in enumerate(words):
        for option in options:
            is_long = option.startswith("--")
            if match := re.fullmatch(rf"{option}=?(.*)" if is_long else rf"-[a-zA-Z]*{option[1:]}(.*)", word):
                return match[1] or (words[number + 1] if number + 1 < len(words) else OPEN)
    return None

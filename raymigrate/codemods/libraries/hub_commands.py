"""RM775: the command huggingface-cli, which huggingface_hub has no more.

docs/semantics/libraries.md#the-command-of-the-hub
"""

import ast
import re
from collections.abc import Iterator

from raymigrate.base.expressions import lazy_regex
from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.facts.folders.read_back import COMMANDS
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import argument, called_name, is_method_call, known_text

RM775 = Rule(
    "RM775",
    "the command huggingface-cli",
    "The huggingface_hub that transformers >= 5 needs has no huggingface-cli: the shell does not find it. A cell of a"
    " notebook goes on all the same, without the login or the download.",
    "The command is hf: `hf auth login`, `hf download`.",
    "https://huggingface.co/docs/huggingface_hub/guides/cli",
    unproven="The shell tells of it before Python starts, or a cell goes on; the job prints the same.",
)
COMMAND = "huggingface-cli"
OF_TOKENS = ("login", "logout", "whoami")
KEPT = ("download", "upload", "upload-large-folder", "env", "version")
# Where a command begins: not `echo "run huggingface-cli login"`.
BEGIN = r"(?:^[ \t]*(?:-[ \t]+)?|[;&|(`!]|%%?(?:sh|bash|system|sx)\b|\b(?:if|then|else|do|sudo|exec|RUN)\b)"
GIVEN = lazy_regex(
    rf"{BEGIN}[ \t]*(?:\w+=\S*[ \t]+)*(?P<command>{COMMAND})(?![\w-])(?:[ \t]+(?P<word>[a-z-]+))?", re.MULTILINE
)
OF_TEXT = ("format", "split", "strip")
SHELLS = ("sh", "bash", "zsh")


@codemod("huggingface", phase=Phase.LIBRARIES)
def hub_commands(context: Context) -> None:
    """Tells where a script starts the command."""
    for node, command in _started(context.module):
        for word, _ in commands(command):
            context.manual(RM775, node, *told_of_command(word))


def commands(text: str) -> Iterator[tuple[str, int]]:
    """The words behind the command, with where it begins, in text for a shell, without comments."""
    for given in GIVEN.finditer(text):
        yield given["word"] or "", given.start("command")


def told_of_command(word: str) -> tuple[str, str]:
    """What there is to say of the command, by the word behind it, and what to write."""
    message = f"The huggingface_hub of transformers >= 5 has no {COMMAND}: the command is not found."
    if word in OF_TOKENS:
        return message, f"Write hf auth {word}."
    return message, f"Write hf {word}." if word in KEPT else "The command is hf; `hf --help` lists what it does."


def _started(module: Module) -> Iterator[tuple[ast.expr, str]]:
    """The commands that a script starts and that are written out at their beginning."""
    for call in module.calls(*COMMANDS):
        given = argument(call, 0, "args", "command", "cmd")
        for text in dict.fromkeys(_command(source.module, source.node) for source in module.origins(given)):
            yield call, text


def _takes_command(module: Module, call: ast.Call) -> bool:
    return called_name(module, call) == "shlex.split" or is_method_call(call, "join")


def _command(module: Module, given: ast.expr) -> str:
    """A command, as a shell would get it, as far as it is written out: `_` stands for what is not."""
    while not isinstance(given, (ast.List, ast.Tuple)):
        if isinstance(given, ast.BinOp) and module.constant(given) is ...:
            given = given.left  # "huggingface-cli login --token " + token
        elif isinstance(given, ast.Call) and given.args and _takes_command(module, given):
            given = given.args[0]
        elif isinstance(given, ast.Call) and isinstance(given.func, ast.Attribute) and given.func.attr in OF_TEXT:
            given = given.func.value
        elif isinstance(given, ast.JoinedStr):
            return "".join(str(part.value) if isinstance(part, ast.Constant) else "_" for part in given.values)
        else:
            return known_text(module, given)
    words = [known_text(module, word) or "_" for word in given.elts]
    is_of_shell = len(words) > 2 and words[0].rpartition("/")[2] in SHELLS and words[1] in ("-c", "-lc")
    return words[2] if is_of_shell else " ".join(words)

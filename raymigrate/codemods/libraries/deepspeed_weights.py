"""RM768: weights that zero_to_fp32 of DeepSpeed puts together, in a folder where it wrote a file.

docs/semantics/libraries.md#weights-of-deepspeed
"""

import ast
import re
import shlex
from collections.abc import Iterator
from heapq import heapify, heappop, heappush

from raymigrate.base.expressions import lazy_regex
from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.documents.python_commands import UNKNOWN, shell_of_python
from raymigrate.facts.syntax.guards import is_guarded
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import argument, keyword_argument, trailing_text, written

RM768 = Rule(
    "RM768",
    "weights that zero_to_fp32 of DeepSpeed puts together",
    "zero_to_fp32.py and convert_zero_checkpoint_to_fp32_state_dict() of DeepSpeed >= 0.15.3 make a folder where they"
    " wrote a file: the weights lie in it as pytorch_model.bin, in parts if they take more than 5 GB. Loading the"
    " folder as a file raises an IsADirectoryError.",
    "Read pytorch_model.bin in that folder; max_shard_size=None keeps it whole.",
    "https://deepspeed.readthedocs.io/en/latest/model-checkpointing.html",
    unproven="DeepSpeed writes such checkpoints on GPUs; what it does with them was read in 0.15.2, 0.15.3 and 0.19.8.",
)
FUNCTION = "convert_zero_checkpoint_to_fp32_state_dict"
FUNCTIONS = (f"deepspeed.utils.zero_to_fp32.{FUNCTION}", f"zero_to_fp32.{FUNCTION}")
SCRIPT = "zero_to_fp32"
FORMER, PLACE = "output_file", 1
# The positions of what stood behind it up to 0.15.2, with the names then and now, and what comes of the old one.
MOVED = {
    2: ("tag", "max_shard_size", "raises a ValueError"),
    3: ("exclude_frozen_parameters", "safe_serialization", "writes model.safetensors, with frozen parameters"),
}
SIZE = lazy_regex(r"(?i)\s*[\d.]+\s*[kmgt]i?b\s*")
RENAMED = f"DeepSpeed >= 0.15.3 has no {FORMER}= here: it raises a TypeError. It takes output_dir=, a folder."
MAKES_FOLDER = "DeepSpeed >= 0.15.3 makes a folder of this path, with the weights as pytorch_model.bin in it."
MAY_MAKE_FOLDER = f"If this is the path of a file: {MAKES_FOLDER}"
ADVICE = (
    "Name a folder, and let what loads the weights take pytorch_model.bin in it. Above 5 GB they come in parts, with an"
    " index, which from_pretrained() reads; max_shard_size=None keeps one file."
)
OF_COMMAND = (
    "Name a folder, and let what loads the weights take pytorch_model.bin in it. Above 5 GB they come in parts, with an"
    " index, which from_pretrained() reads; a larger --max_shard_size keeps one file. A zero_to_fp32.py that an older"
    " DeepSpeed has put into its checkpoint still writes a file."
)
COMMAND = lazy_regex(rf"\b{SCRIPT}\.py[\"']?[ \t]+(?P<words>(?:[^\n;&|#<>\\]|\\\n|\\.)*)")
TAKES_VALUE = frozenset({"-t", "--tag"})
OF_TODAY = ("--max_shard_size", "--safe_serialization", "--dtype")  # options that came with the folder
OF_FILES = lazy_regex(r"\.(?:bin|pth?|ckpt|safetensors)$")
OF_FOLDERS = lazy_regex(r"(?i)[/.]$|dir|folder")


@codemod(SCRIPT, phase=Phase.LIBRARIES)
def deepspeed_weights(context: Context) -> None:
    """Tells where a script has weights put together at a path that was a file."""
    module = context.module
    for call in module.calls(*FUNCTIONS):
        if keyword_argument(call, FORMER) is not None:
            if not is_guarded(module, call, FORMER):
                context.manual(RM768, call, RENAMED, ADVICE)
            continue
        if _is_of_today(module, call):
            continue
        _tell_moved(context, call)
        if (given := argument(call, PLACE, "output_dir")) is not None:
            _tell(context, call, trailing_text(module, given) or ast.unparse(given).replace(".", " "), ADVICE)
    for node, command in _commands(module):
        for _, path in written_paths(command):
            _tell(context, node, path, OF_COMMAND)


def _is_of_today(module: Module, call: ast.Call) -> bool:
    """Whether a call knows of sizes: by position or by name, or by one argument more than there were."""
    size = argument(call, min(MOVED))
    by_name = size is not None and keyword_argument(call, MOVED[min(MOVED)][0]) is not None
    by_name |= keyword_argument(call, "max_shard_size", "safe_serialization") is not None
    return by_name or len(call.args) > max(MOVED) + 1 or (size is not None and _is_size(module, size) is True)


def _is_size(module: Module, given: ast.expr) -> bool | None:
    """Whether an argument is a size for parts of the weights; None where that is not known, or it says nothing."""
    known = module.constant(given)
    if known is None or known is ...:
        return None
    return isinstance(known, int) or (isinstance(known, str) and SIZE.fullmatch(known) is not None)


def _tell_moved(context: Context, call: ast.Call) -> None:
    """Tells of arguments by position that stand for something else today."""
    module = context.module
    if is_guarded(module, call, FUNCTION):
        return
    is_old = False  # a tag that is no size tells of what follows it too
    for position, (old, new, outcome) in MOVED.items():
        given = argument(call, position)
        if given is None or written(given) in (None, False):
            continue
        is_old |= position == min(MOVED) and _is_size(module, given) is False
        if is_old or context.of_legacy_job:  # others may know the order of today
            where = "" if is_old else f"If this is the {old}: "
            message = f"{where}DeepSpeed >= 0.15.3 takes it for {new}, and {outcome}."
            context.manual(RM768, given, message, f"Write {old}={module.source(given)}.")


def _tell(context: Context, node: ast.AST, path: str, advice: str) -> None:
    message = told_of_path(path)
    if message == MAKES_FOLDER or (message and context.of_legacy_job):  # others may know that it is a folder
        context.manual(RM768, node, message, advice)


def told_of_path(path: str) -> str:
    """What there is to say of the path that the weights go to; empty where it names a folder."""
    if OF_FILES.search(path):
        return MAKES_FOLDER
    return "" if OF_FOLDERS.search(path) else MAY_MAKE_FOLDER


def written_paths(text: str) -> Iterator[tuple[int, str]]:
    """The paths that commands have the weights written to, each with where its command begins.

    Args:
        text: Commands for a shell, without comments.
    """
    for command in COMMAND.finditer(text):
        try:
            words = shlex.split(command["words"].replace("\\\n", " "))
        except ValueError:  # a quote around the whole command
            words = command["words"].replace('"', " ").replace("'", " ").split()
        if any(word.startswith(OF_TODAY) for word in words):
            continue
        places = [
            word
            for before, word in zip(["", *words], words, strict=False)
            if not word.startswith("-") and before not in TAKES_VALUE
        ]
        if len(places) > PLACE and not re.fullmatch(r"\d", places[PLACE]):
            yield command.start(), places[PLACE]


def _commands(module: Module) -> Iterator[tuple[ast.AST, str]]:
    """The commands that a script starts, each with the expression that it is written in."""
    if f"{SCRIPT}.py" not in module.text:
        return
    kinds = (ast.Constant, ast.JoinedStr, ast.List, ast.Tuple, ast.BinOp)
    nodes = (node for kind in kinds for node in module.of_type(kind))
    begin = [(node.lineno, node.col_offset, number, node) for number, node in enumerate(nodes)]
    heapify(begin)
    inside = list[tuple[int, int, int, ast.expr]]()  # that began at or above a line, the one that began last first
    for line, command in enumerate(shell_of_python(module.text).split("\n"), 1):
        if SCRIPT not in command:
            continue
        while begin and begin[0][0] <= line:
            start, column, number, node = heappop(begin)
            heappush(inside, (-start, column, number, node))
        while inside and (inside[0][3].end_lineno or line) < line:
            heappop(inside)
        if inside:
            yield inside[0][3], command.replace(UNKNOWN, "$value")

"""RM732: packages that converted code needs in addition.

Here are those that a script's own runtime environments lack. Those that requirements and other files lack are found by
`raymigrate.run.pins`, after the scripts.
"""

import ast
import re

from raymigrate.base.expressions import lazy_regex
from raymigrate.base.findings import Rule
from raymigrate.base.submitted_jobs import JobScript
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.pins.listed_for import ListedFor
from raymigrate.facts.values import keyword_argument
from raymigrate.pins.environments import package_lists
from raymigrate.pins.evidence import is_legacy, may_be_converted
from raymigrate.pins.needed import Needed, listed, missing, needed_by, needed_still

RM732 = Rule(
    "RM732",
    "a package that the converted code needs in addition",
    "transformers >= 5 trains only with accelerate, which transformers 4 did without: ImportError: Using the `Trainer`"
    " with `PyTorch` requires `accelerate>=1.1.0`. The metrics of datasets are in the package evaluate now, and"
    " datasets >= 4 decodes audio with torchcodec. A native loop that moves runs with accelerate, and what moves to Ray"
    " with ray[train].",
    "Add the package to the list.",
    "https://huggingface.co/docs/accelerate/basic_tutorials/install",
    errors=(
        "Using the `Trainer` with `PyTorch` requires `accelerate",
        "No module named 'accelerate'",
        "No module named 'evaluate'",
    ),
    unproven="It takes an environment without accelerate, and the tests have one.",
)

AUDIO_CLASSES = ("datasets.Audio", "datasets.features.Audio", "datasets.features.audio.Audio")

# The block at the top of a script by which uv and pipx make its environment (PEP 723).
METADATA = lazy_regex(r"^# /// script[ \t]*\r?\n((?:#[^\n]*\n)*?)# ///[ \t]*\r?$", re.MULTILINE)


def uncommented(block: re.Match[str]) -> str:
    """The TOML of such a block, with all in its place."""
    return re.sub(r"^# ?", lambda sign: " " * len(sign[0]), block[1], flags=re.MULTILINE)


def message(needed: Needed) -> str:
    """What a list of packages lacks."""
    return f"{needed.why}, which is not listed here."


def advice(needed: Needed) -> str:
    """What to add to it."""
    return f"Add {needed.requirement}, unless the environment has it from elsewhere."


def _needs(script: JobScript, *, legacy: bool) -> list[Needed]:
    """What a script needs; of one that nobody has to convert, what it may need since that was done."""
    if legacy:
        return needed_by(script.text, script.findings)
    return needed_still(script.text) if may_be_converted(script.text.encode()) else []


@codemod("runtime_env", "worker_runtime_env", "RuntimeEnv", phase=Phase.PINS)
def runtime_environments(context: Context) -> None:
    """Reports packages that the lists of runtime environments lack."""
    listed_for = ListedFor(context)
    for _, strings in package_lists(context.module):
        scripts = listed_for.scripts(strings)
        legacy = any(is_legacy(script.findings) for script in scripts) or (
            listed_for.own in scripts and context.is_legacy_script
        )
        nodes: dict[str, ast.Constant] = {}
        for node in strings:
            for name in listed(str(node.value)):
                nodes.setdefault(name, node)
        needed = dict.fromkeys(need for script in scripts for need in _needs(script, legacy=legacy))
        for lacking, node in missing(needed, nodes):
            context.manual(RM732, node, message(lacking), advice(lacking))


@codemod("/// script", phase=Phase.PINS)
def dependencies_of_script(context: Context) -> None:
    """Reports packages that the dependencies at the top of a script lack."""
    module = context.module
    block = METADATA.search(module.text)
    if block is None or not is_legacy(context.findings):
        return
    names = listed(uncommented(block))
    for lacking, _ in missing(needed_by(module.text, context.findings), names):
        text = f"{lacking.why}, which the dependencies of the script, at its top, do not list."
        context.manual(RM732, module.tree.body[0], text, advice(lacking))


@codemod("Audio", phase=Phase.PINS)
def audio(context: Context) -> None:
    """Notes which package a column of audio needs; where packages are listed, that is told there."""
    if not context.takes_current_libraries:
        return
    for call in context.module.calls(*AUDIO_CLASSES):
        decoded = keyword_argument(call, "decode")
        if decoded is None or context.module.constant(decoded) is not False:
            text = "datasets >= 4 decodes audio with torchcodec: without it, no row can be read (ImportError)."
            context.note(RM732, call, text)

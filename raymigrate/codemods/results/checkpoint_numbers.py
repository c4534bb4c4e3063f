"""RM609: folders of checkpoints that are looked for by their number.

docs/semantics/results.md#files-of-a-run: Ray 2.60, train/v2/_internal/execution/storage.py. Trials of Tune still count
theirs.
"""

import ast

from raymigrate.base.expressions import lazy_regex
from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import called_name, leading_text
from raymigrate.knowledge.legacy import TORCH_TRAINERS, TRAINERS

RM609 = Rule(
    "RM609",
    "the folder of a checkpoint, looked for by its name",
    "Ray >= 2.51 names the folder of a checkpoint by the time: checkpoint_2026-01-31_12-00-00.123456. What looks for"
    " checkpoint_000000 in the results of a new run finds nothing. What looks for checkpoint_* finds a file too:"
    " checkpoint_manager_snapshot.json.",
    "Take result.checkpoint.path, or look for names that have a digit after checkpoint_, such as checkpoint_[0-9]*;"
    ' the last one in their order is the newest. Files of Transformers are in the folder "checkpoint" in it.',
    "https://docs.ray.io/en/latest/train/user-guides/results.html",
)
BY_TIME = "No new run has a checkpoint_000000: Ray >= 2.51 names the folders of checkpoints by the time."
# The first one is that of any run; another number is known of a run that there was.
SCHEME = lazy_regex(r"\w[\w+.-]*://")
NUMBERED = lazy_regex(r"(?:^|/)checkpoint_000000(?:/|$)")
# The name of a trial with its id, or a time: this is a run that there was.
ONE_RUN = lazy_regex(r"_[0-9a-f]{5}_\d{5}|\d{4}-\d{2}-\d{2}_\d{2}-\d{2}")


@codemod("checkpoint_000000", in_ray_scripts=True)
def numbered_checkpoints(context: Context) -> None:
    """Reports strings with such a name, unless they name a run that is over."""
    module = context.module
    has_trainer = any(True for _ in module.calls(*TRAINERS, *TORCH_TRAINERS))
    if not has_trainer and module.references_within("ray.tune"):
        return
    for node in module.of_type(ast.Constant):
        text = node.value
        if isinstance(text, str) and NUMBERED.search(text) and not ONE_RUN.search(_whole(module, node)):
            if not module.is_statement(node):
                context.manual(RM609, node, BY_TIME, RM609.fix + _other_form(module, node, text))


def _whole(module: Module, node: ast.Constant) -> str:
    """The text of a string with the other parts of its f-string or path."""
    outer = module.parent_of[node]
    return ast.unparse(outer) if isinstance(outer, ast.JoinedStr | ast.BinOp | ast.Call) else str(node.value)


def _other_form(module: Module, node: ast.Constant, text: str) -> str:
    """What the path of a checkpoint lacks that the path which it takes the place of has: "/" at its end, a scheme."""
    path: ast.expr = node
    while isinstance(outer := module.parent_of[path], ast.JoinedStr | ast.BinOp) or _joins(module, outer):
        path = outer  # type: ignore[assignment]
    last = path.values[-1] if isinstance(path, ast.JoinedStr) else path.right if isinstance(path, ast.BinOp) else path
    last = last.args[-1] if isinstance(last, ast.Call) else last
    said = ""
    if scheme := SCHEME.match(leading_text(module, path)):
        said += f' Its URI is "{scheme[0]}" + result.checkpoint.path: the path has no scheme in front.'
    if last is node and text.endswith("/"):
        said += " The path has no / at its end: add one where others take it for that of a folder, or join to it."
    return said


def _joins(module: Module, node: ast.AST) -> bool:
    """Whether a node is `os.path.join(...)`."""
    return called_name(module, node) == "os.path.join"

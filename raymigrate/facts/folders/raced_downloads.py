"""Datasets that several processes download at once: `MNIST(folder, download=True)`, here or in another file."""

import ast
from collections.abc import Iterator

from raymigrate.facts.folders.downloads import is_in_turn
from raymigrate.facts.projects.callees import lead_to
from raymigrate.facts.projects.project import with_imported
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import called_name

DATASETS = ("torchvision.datasets.", "torchaudio.datasets.", "torchtext.datasets.")
DOWNLOAD = "download"
RACE = (
    "Several {} download this{} into the same files, where it is not there yet, and one may read what another is still"
    " writing: that raises a RuntimeError. Download it once before{}."
)


def raced_downloads(module: Module) -> Iterator[tuple[ast.Call, ast.AST, str]]:
    """The calls by which a script downloads a dataset, in source order.

    Args:
        module: The module.

    Returns:
        Each with the place to tell it at, and where it does so, if that is another file: `" (data.py:12)"`.
    """
    for call in _downloads(module):
        yield call, next(keyword for keyword in call.keywords if keyword.arg == DOWNLOAD), ""
    others = [other for other in with_imported(module) if other is not module and other.text != module.text]
    if not any(map(_downloads, others)):
        return
    for call, home, download in lead_to(module, module.of_type(ast.Call), _first):
        if not is_in_turn(module, call):
            yield call, call, f" ({home.path}:{download.lineno})"


def _first(module: Module, code: ast.AST) -> ast.Call | None:
    return next((call for call in _downloads(module) if module.inside(call, code)), None)


@kept
def _downloads(module: Module) -> list[ast.Call]:
    """The calls of a file itself, but for those that one process comes to after the other."""
    datasets = (
        call
        for call, keyword in module.keywords(DOWNLOAD)
        if module.constant(keyword.value) is True and called_name(module, call).startswith(DATASETS)
    )
    return [call for call in datasets if not is_in_turn(module, call)]

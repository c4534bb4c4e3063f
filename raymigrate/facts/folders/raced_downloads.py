"""Datasets that several processes download at once: `MNIST(folder, download=True)`, here or in another file."""

import ast
import itertools
from collections.abc import Iterator

from raymigrate.facts.folders.downloads import is_in_turn
from raymigrate.facts.projects.callees import reached_elsewhere
from raymigrate.facts.projects.project import with_imported
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module

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
    for call in module.of_type(ast.Call):
        reached = ((home, d) for home, code in reached_elsewhere(module, [call]) for d in _downloads(home, code))
        for home, download in itertools.islice(reached, 1):
            if not is_in_turn(module, call):
                yield call, call, f" ({home.path}:{download.lineno})"


@kept
def _downloads(module: Module, code: ast.AST | None = None) -> list[ast.Call]:
    """The calls in some code of a file, or all, but for those that one process comes to after the other."""
    datasets = (
        call
        for call, keyword in module.keywords(DOWNLOAD)
        if module.constant(keyword.value) is True and (module.qualified(call.func) or "").startswith(DATASETS)
    )
    found = [call for call in datasets if not is_in_turn(module, call)]
    return [call for call in found if code is None or module.inside(call, code)]

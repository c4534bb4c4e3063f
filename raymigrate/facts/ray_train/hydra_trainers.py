"""Legacy trainers that hydra makes of settings: `_target_: ray.train.huggingface.AccelerateTrainer` in a YAML file."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING

from raymigrate.base.findings import named_line
from raymigrate.facts.projects.indirect import INSTANTIATES
from raymigrate.facts.projects.project_uses import files_with, settings_files
from raymigrate.facts.projects.settings import TARGET, targets
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.values import argument, known_text, last_name
from raymigrate.files.discovery import CONFIGURATION
from raymigrate.knowledge.legacy import TRAINERS

if TYPE_CHECKING:
    from raymigrate.facts.projects.project import Project
    from raymigrate.facts.syntax.module import Module


@dataclass(frozen=True)
class NamedTrainer:
    """A legacy trainer that a settings file names.

    Args:
        qualified: Its qualified name.
        names: What a script may call the settings: the key, the file, and its folder, which is a group of hydra.
        line: The line of the name.
        path: The file.
    """

    qualified: str
    names: frozenset[str]
    line: int
    path: str

    @property
    def place(self) -> str:
        """Where it is named."""
        return f"{named_line(self.path, self.line)} of {self.path}"


def named_in(text: str, path: str) -> Iterator[NamedTrainer]:
    """The legacy trainers that a settings file names.

    Args:
        text: The text of the file.
        path: Its name.
    """
    file = PurePath(path)
    for name, key in targets(text) if TARGET in text else ():
        if key.value in TRAINERS:
            names = {name} if name else {file.stem, file.parent.name}
            yield NamedTrainer(key.value, frozenset(names), key.line, path)


def made_by_hydra(module: Module) -> Iterator[tuple[ast.Call, list[NamedTrainer], bool]]:
    """The calls of hydra that make a legacy trainer, or may make one.

    Args:
        module: The module.

    Yields:
        The call, the trainers, and whether the settings have the name of one of them.
    """
    calls = list(module.calls(*INSTANTIATES))
    trainers = _trainers_of(module.project, module.path) if calls and module.project is not None else []
    fitted: set[ast.AST] | None = None
    for call in calls if trainers else ():
        name = _name_of_settings(module, call)
        found = [trainer for trainer in trainers if name in trainer.names]
        if found:
            yield call, found, True
        elif not name:
            fitted = _fitted(module) if fitted is None else fitted
            if call in fitted:
                yield call, trainers, False


def makers_of(project: Project, trainer: NamedTrainer) -> Iterator[tuple[Module, ast.Call]]:
    """The first call of hydra in each script of a project that makes a trainer."""
    project.read_others(trainer.path)
    for path, _ in files_with(project, project.folder(trainer.path), b"instantiate", b"utils.call"):
        module = project.module(path) if path.endswith(".py") else None
        for call in module.calls(*INSTANTIATES) if module is not None else ():
            if _name_of_settings(module, call) in trainer.names:  # type: ignore[arg-type]
                yield module, call  # type: ignore[misc]
                break


def _trainers_of(project: Project, path: str) -> list[NamedTrainer]:
    project.read_others(path)
    return _trainers_below(project, project.folder(path))


@kept
def _trainers_below(project: Project, folder: str) -> list[NamedTrainer]:
    return [
        trainer
        for file, data in settings_files(project, folder)
        if file.endswith(CONFIGURATION) and TARGET.encode() in data
        for trainer in named_in(data.decode(errors="replace"), project.name(file))
    ]


def _name_of_settings(module: Module, call: ast.Call) -> str:
    """What a script calls the settings of which hydra makes something: "trainer" of `cfg.trainer`; else empty."""
    given = argument(call, 0, "config")
    value = module.value(given) if given is not None else None
    if isinstance(value, ast.Subscript):
        return known_text(module, value.slice)
    return last_name(value) if isinstance(value, ast.Attribute) else ""


def _fitted(module: Module) -> set[ast.AST]:
    """What is called to make the objects whose fit() is called, also by way of a partial; Ray's fit() takes nothing."""
    fitted = [method.value for call, method in module.method_calls("fit") if not call.args and not call.keywords]
    made = {source.node for value in fitted for source in module.origins(value)}
    partial = {s.node for node in made if isinstance(node, ast.Call) for s in module.origins(node.func)}
    return made | partial
